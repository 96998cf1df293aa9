//! One numbering for configurations that several owners have numbered each for itself: in turns, so that those found at
//! about the same time have numbers close to each other, and without gaps where one owner has more than another.

/// Owners and how many configurations each has. Configuration `own` of `owner` is *called* `own * owners + owner`; its
/// *number* is how many have smaller names, which is its name as long as all owners have as many.
#[derive(Clone, Debug)]
pub(crate) struct Numbering {
    lengths: Vec<u32>,
    /// Below this, names and numbers are the same.
    even: u32,
}

impl Numbering {
    pub(crate) fn new(lengths: Vec<u32>) -> Self {
        let least = lengths.iter().copied().min().unwrap_or(0);
        // With one owner there are no other names.
        let even = if lengths.len() == 1 { u32::MAX } else { least * lengths.len() as u32 };
        Self { lengths, even }
    }

    /// The number of what is called `name`.
    #[inline]
    pub(crate) fn number(&self, name: u32) -> u32 {
        if name < self.even { name } else { self.below(name) }
    }

    /// The owner of `number`, and its number there.
    #[inline]
    pub(crate) fn place(&self, number: u32) -> (usize, u32) {
        match self.lengths.len() as u32 {
            1 => (0, number),
            owners if number < self.even => ((number % owners) as usize, number / owners),
            owners => {
                // The only name that has this number and is one of a configuration is the largest that has it.
                let (mut low, mut high) = (u64::from(self.even), u64::from(owners) << u32::BITS);
                while high - low > 1 {
                    let middle = low.midpoint(high);
                    if self.below_wide(middle) <= number { low = middle } else { high = middle }
                }
                ((low % u64::from(owners)) as usize, (low / u64::from(owners)) as u32)
            }
        }
    }

    /// How many configurations have smaller names than `name`.
    #[cold]
    fn below(&self, name: u32) -> u32 {
        self.below_wide(u64::from(name))
    }

    fn below_wide(&self, name: u64) -> u32 {
        let owners = self.lengths.len() as u64;
        let (own, owner) = (name / owners, name % owners);
        let before =
            |(other, &length): (u64, &u32)| u64::from(length).min(own + u64::from(other < owner)) as u32;
        (0..).zip(&self.lengths).map(before).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_that_of_one_configuration() {
        for lengths in
            [vec![5], vec![3, 3], vec![4, 7], vec![7, 4], vec![2, 9, 5], vec![6, 1, 0, 4], vec![0, 3]]
        {
            let numbering = Numbering::new(lengths.clone());
            let owners = lengths.len() as u32;
            let mut names: Vec<u32> = (0..owners)
                .flat_map(|owner| (0..lengths[owner as usize]).map(move |own| own * owners + owner))
                .collect();
            names.sort_unstable();
            for (number, &name) in (0..).zip(&names) {
                assert_eq!(numbering.number(name), number, "{lengths:?}");
                assert_eq!(numbering.place(number), ((name % owners) as usize, name / owners), "{lengths:?}");
            }
        }
    }
}
