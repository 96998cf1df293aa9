//! Numbers from a seed, the same on every machine.

/// A generator of numbers; xorshift.
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// One of `0..options`.
    pub(crate) fn below(&mut self, options: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % options
    }

    /// One of `options`.
    pub(crate) fn pick<'a, T>(&mut self, options: &'a [T]) -> &'a T {
        &options[self.below(options.len())]
    }

    /// True `numerator` times out of `denominator`.
    pub(crate) fn chance(&mut self, numerator: usize, denominator: usize) -> bool {
        self.below(denominator) < numerator
    }
}
