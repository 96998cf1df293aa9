//! Sums of variables, and what divides them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::NotLinear;

/// `Σ coefficient · variable + constant ≤ 0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    // INVARIANT: no coefficient is 0.
    pub(super) coefficients: BTreeMap<Arc<str>, i128>,
    pub(super) constant: i128,
}

impl Linear {
    pub(super) fn constant(constant: i128) -> Self {
        Self { coefficients: BTreeMap::new(), constant }
    }

    pub(super) fn variable(name: &Arc<str>) -> Self {
        Self { coefficients: BTreeMap::from([(Arc::clone(name), 1)]), constant: 0 }
    }

    /// Its value, if it has no variables.
    pub(super) fn as_constant(&self) -> Option<i128> {
        self.coefficients.is_empty().then_some(self.constant)
    }

    /// How often it counts `variable`.
    pub(super) fn coefficient(&self, variable: &str) -> i128 {
        self.coefficients.get(variable).copied().unwrap_or(0)
    }

    /// Without `variable`.
    pub(super) fn rest(&self, variable: &str) -> Self {
        let mut rest = self.clone();
        rest.coefficients.remove(variable);
        rest
    }

    pub(super) fn times(&self, factor: i128) -> Result<Self, NotLinear> {
        let mut product = Self::constant(self.constant.checked_mul(factor).ok_or(NotLinear)?);
        for (variable, coefficient) in &self.coefficients {
            let coefficient = coefficient.checked_mul(factor).ok_or(NotLinear)?;
            if coefficient != 0 {
                product.coefficients.insert(Arc::clone(variable), coefficient);
            }
        }
        Ok(product)
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, NotLinear> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant).ok_or(NotLinear)?;
        for (variable, coefficient) in &other.coefficients {
            let entry = sum.coefficients.entry(Arc::clone(variable)).or_insert(0);
            *entry = entry.checked_add(*coefficient).ok_or(NotLinear)?;
        }
        sum.coefficients.retain(|_, coefficient| *coefficient != 0);
        Ok(sum)
    }

    /// The same for integers, with the smallest coefficients.
    pub(super) fn tightened(mut self) -> Self {
        let divisor = self.coefficients.values().fold(0, |divisor, c| gcd(divisor, c.saturating_abs()));
        if divisor > 1 {
            self.coefficients.values_mut().for_each(|coefficient| *coefficient /= divisor);
            self.constant = -(-self.constant).div_euclid(divisor);
        }
        self
    }

    /// What holds where this does not: `1 - self ≤ 0`.
    pub(super) fn negated(&self) -> Result<Self, NotLinear> {
        self.times(-1)?.plus(&Self::constant(1)).map(Self::tightened)
    }
}

/// `modulus` divides `sum`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Congruence {
    // INVARIANT: at least 2. Coefficients and constant are below it and not negative; only 1 divides it and all coefficients.
    pub(super) modulus: i128,
    pub(super) sum: Linear,
}

impl Congruence {
    /// That `modulus` divides `sum`; `Ok(None)` if it always does, and `Err` if it never does.
    pub(super) fn new(modulus: i128, mut sum: Linear) -> Result<Option<Self>, Never> {
        sum.coefficients.values_mut().for_each(|coefficient| *coefficient = coefficient.rem_euclid(modulus));
        sum.coefficients.retain(|_, coefficient| *coefficient != 0);
        let common = sum.coefficients.values().fold(modulus, |common, coefficient| gcd(common, *coefficient));
        if sum.constant % common != 0 {
            return Err(Never);
        }
        let modulus = modulus / common;
        sum.coefficients.values_mut().for_each(|coefficient| *coefficient /= common);
        sum.constant = (sum.constant / common).rem_euclid(modulus);
        Ok((modulus > 1).then_some(Self { modulus, sum }))
    }

    /// What holds where this does not: something else remains.
    pub(super) fn others(&self) -> impl Iterator<Item = Self> {
        (1..self.modulus).map(|left| {
            let constant = (self.sum.constant + left) % self.modulus;
            Self { modulus: self.modulus, sum: Linear { constant, ..self.sum.clone() } }
        })
    }
}

/// Something never holds.
pub(super) struct Never;

/// The greatest common divisor of two numbers that are not negative.
pub(super) fn gcd(left: i128, right: i128) -> i128 {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// The least common multiple of two positive numbers.
pub(super) fn lcm(left: i128, right: i128) -> Result<i128, NotLinear> {
    (left / gcd(left, right)).checked_mul(right).ok_or(NotLinear)
}
