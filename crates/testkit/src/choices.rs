//! Choices: all of them in turn, or random ones from a seed.

/// Answers the questions that describe an input.
pub trait Choices {
    /// One of `0..options`; there is at least one option.
    fn choose(&mut self, options: usize) -> usize;

    /// True `numerator` times out of `denominator`.
    fn chance(&mut self, numerator: usize, denominator: usize) -> bool {
        self.choose(denominator) < numerator
    }

    /// One of `options`.
    fn pick<'a, T>(&mut self, options: &'a [T]) -> &'a T {
        &options[self.choose(options.len())]
    }
}

/// Gives every sequence of answers once. What is described may depend on the answers, as long as equal
/// answers give equal questions.
#[derive(Clone, Debug, Default)]
struct Exhaustive {
    /// The answers of this round, each with the number of its options.
    taken: Vec<(usize, usize)>,
    position: usize,
}

impl Exhaustive {
    /// Moves on to the next sequence; false when there is none.
    fn advance(&mut self) -> bool {
        self.position = 0;
        while let Some((answer, options)) = self.taken.pop() {
            if answer + 1 < options {
                self.taken.push((answer + 1, options));
                return true;
            }
        }
        false
    }
}

impl Choices for Exhaustive {
    fn choose(&mut self, options: usize) -> usize {
        if self.position == self.taken.len() {
            self.taken.push((0, options));
        }
        self.position += 1;
        self.taken[self.position - 1].0
    }
}

/// Calls `visit` with all that `describe` can give, each once, and says how many there were.
pub fn for_each<T>(
    mut describe: impl FnMut(&mut dyn FnMut(usize) -> usize) -> T,
    mut visit: impl FnMut(T),
) -> usize {
    let mut choices = Exhaustive::default();
    let mut count = 0;
    loop {
        visit(describe(&mut |options| choices.choose(options)));
        count += 1;
        if !choices.advance() {
            return count;
        }
    }
}

impl Choices for &mut dyn FnMut(usize) -> usize {
    fn choose(&mut self, options: usize) -> usize {
        self(options)
    }
}

/// Random answers: SplitMix64, so that a seed means the same everywhere and for ever.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The answers that belong to `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

impl Choices for Random {
    fn choose(&mut self, options: usize) -> usize {
        // The bias is below 2⁻³² for any number of options a test can have.
        usize::try_from(self.next() % (options.max(1) as u64)).unwrap_or(0)
    }
}

/// How much larger than usual the laws are asked to go: the environment variable `REFEREE_LAW_SIZE`, a
/// number added to every exhaustive size (and tenfold as many random cases for each). 0 if it is not set.
#[must_use]
pub fn law_size() -> usize {
    std::env::var("REFEREE_LAW_SIZE").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// How many random cases to run where `usual` are run by default.
#[must_use]
pub fn law_cases(usual: usize) -> usize {
    usual * 10_usize.pow(u32::try_from(law_size()).unwrap_or(0))
}

/// The seeds of `law_cases(usual)` random cases. When larger runs were asked for, they start elsewhere each
/// time (`REFEREE_LAW_SEED` repeats a run); what fails must print its seed.
#[must_use]
pub fn law_seeds(usual: usize) -> std::ops::Range<u64> {
    let from_clock = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |now| now.as_secs() << 20)
    };
    let asked = std::env::var("REFEREE_LAW_SEED").ok().and_then(|text| text.parse().ok());
    let first = asked.unwrap_or_else(|| if law_size() > 0 { from_clock() } else { 0 });
    first..first + law_cases(usual) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_is_given_once() {
        let mut all = Vec::new();
        let describe = |mut choose: &mut dyn FnMut(usize) -> usize| match choose.choose(3) {
            0 => vec![0],
            first => vec![first, choose.choose(2)],
        };
        let count = for_each(describe, |sequence| all.push(sequence));
        assert_eq!(all, [vec![0], vec![1, 0], vec![1, 1], vec![2, 0], vec![2, 1]]);
        assert_eq!(count, 5);
    }

    #[test]
    fn a_seed_means_the_same_for_ever() {
        let mut random = Random::new(42);
        let drawn: Vec<usize> = (0..8).map(|_| random.choose(100)).collect();
        let mut again = Random::new(42);
        assert_eq!(drawn, (0..8).map(|_| again.choose(100)).collect::<Vec<_>>());
        assert_eq!(drawn[..4], [Random::new(42).next() as usize % 100, drawn[1], drawn[2], drawn[3]]);
    }
}
