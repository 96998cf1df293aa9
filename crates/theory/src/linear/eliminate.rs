//! Elimination of variables from conjunctions: those of Fourier and Motzkin where that is exact for integers, otherwise Cooper's.
//!
//! Fourier and Motzkin combine each lower bound with each upper one, which loses nothing if one of the two has the coefficient 1
//! and no remainder of the variable is asked for. Cooper tries, for each lower bound, the values from there on until
//! remainders repeat (or, for each upper bound, downwards). Where those are too many, the variable is eliminated by the first
//! way, remainders are forgotten, and the result is marked as inexact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::sum::{Congruence, Linear, lcm};
use super::{Answer, MAX_ALTERNATIVES, MAX_INEQUALITIES, NotLinear};

/// Inequalities, congruences and truth values that hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Alternative {
    pub(super) inequalities: Vec<Linear>,
    pub(super) congruences: Vec<Congruence>,
    pub(super) truths: BTreeMap<Arc<str>, bool>,
    /// Whether an elimination was only an approximation.
    pub(super) inexact: bool,
}

impl Alternative {
    /// What never holds.
    fn never() -> Self {
        Self { inequalities: vec![Linear::constant(1)], ..Self::default() }
    }

    /// That `modulus` divides `sum`.
    pub(super) fn dividing(modulus: i128, sum: Linear) -> Self {
        match Congruence::new(modulus, sum) {
            Ok(congruence) => Self { congruences: congruence.into_iter().collect(), ..Self::default() },
            Err(_) => Self::never(),
        }
    }

    /// Both; `None` if they contradict each other.
    pub(super) fn and(&self, other: &Self) -> Option<Self> {
        let mut both = self.clone();
        for (variable, value) in &other.truths {
            if *both.truths.entry(Arc::clone(variable)).or_insert(*value) != *value {
                return None;
            }
        }
        both.inequalities.extend(other.inequalities.iter().cloned());
        both.congruences.extend(other.congruences.iter().cloned());
        both.inexact |= other.inexact;
        both.plain()
    }

    /// Without what always holds; `None` if something never does.
    fn plain(mut self) -> Option<Self> {
        let contradicts =
            self.inequalities.iter().any(|sum| sum.as_constant().is_some_and(|value| value > 0));
        self.inequalities.retain(|sum| sum.as_constant().is_none());
        (!contradicts).then_some(self)
    }

    /// Whether it can hold, found by looking at as many sums as `left` says at the most.
    pub(super) fn can_hold(self, left: &mut usize) -> Answer {
        let (mut pending, mut answer) = (vec![self], Answer::No);
        while let Some(alternative) = pending.pop() {
            let sums = alternative.inequalities.len() + alternative.congruences.len();
            let Some(fewer) = left.checked_sub(1 + sums) else { return Answer::Undecided };
            *left = fewer;
            match alternative.easiest().map(|variable| alternative.eliminate(&variable)) {
                None if !alternative.inexact => return Answer::Yes,
                None | Some(Err(NotLinear)) => answer = Answer::Undecided,
                Some(Ok(cases)) => pending.extend(cases),
            }
        }
        answer
    }

    /// The variable whose elimination leaves the fewest alternatives.
    fn easiest(&self) -> Option<Arc<str>> {
        let sums = self.inequalities.iter().chain(self.congruences.iter().map(|congruence| &congruence.sum));
        let variables: BTreeSet<&Arc<str>> = sums.flat_map(|sum| sum.coefficients.keys()).collect();
        let count = |variable: &Arc<str>| self.bounds(variable).count().unwrap_or(i128::MAX);
        let mut best: Option<(i128, &Arc<str>)> = None;
        for variable in variables {
            let count = count(variable);
            if count == 0 {
                return Some(Arc::clone(variable));
            }
            best = best.filter(|(least, _)| *least <= count).or(Some((count, variable)));
        }
        best.map(|(_, variable)| Arc::clone(variable))
    }

    /// What is said of `variable`.
    fn bounds(&self, variable: &Arc<str>) -> Bounds {
        let with_sign = |sign: i128| {
            let sums = self.inequalities.iter().filter(|sum| sum.coefficient(variable).signum() == sign);
            sums.cloned().collect()
        };
        let congruences = self.congruences.iter().filter(|one| one.sum.coefficient(variable) != 0);
        Bounds {
            variable: Arc::clone(variable),
            lowers: with_sign(-1),
            uppers: with_sign(1),
            congruences: congruences.cloned().collect(),
        }
    }

    /// When `variable` has a value with which this holds: in one of these cases.
    pub(super) fn eliminate(&self, variable: &Arc<str>) -> Result<Vec<Self>, NotLinear> {
        let (bounds, mut rest) = (self.bounds(variable), self.clone());
        rest.inequalities.retain(|sum| sum.coefficient(variable) == 0);
        rest.congruences.retain(|congruence| congruence.sum.coefficient(variable) == 0);
        let count = bounds.count()?;
        if count == 0 || count > MAX_ALTERNATIVES as i128 {
            rest.inexact |= count != 0;
            rest.inequalities.extend(bounds.combined()?);
            return Ok(rest.plain().into_iter().collect());
        }
        let mut cases = Vec::new();
        for case in bounds.tried()? {
            cases.extend(rest.and(&case));
        }
        Ok(cases)
    }
}

/// What is said of one variable.
struct Bounds {
    variable: Arc<str>,
    lowers: Vec<Linear>,
    uppers: Vec<Linear>,
    congruences: Vec<Congruence>,
}

impl Bounds {
    fn coefficient(&self, sum: &Linear) -> i128 {
        sum.coefficient(&self.variable).saturating_abs()
    }

    /// Whether there are values as large, or as small, as one likes.
    fn is_open(&self) -> bool {
        self.lowers.is_empty() || self.uppers.is_empty()
    }

    /// How many values have to be tried; none if bounds can be combined instead.
    fn count(&self) -> Result<i128, NotLinear> {
        let is_one = |sum: &Linear| self.coefficient(sum) == 1;
        let combine = self.is_open() || self.lowers.iter().all(is_one) || self.uppers.iter().all(is_one);
        if self.congruences.is_empty() && combine {
            return Ok(0);
        }
        let starts = if self.is_open() { 1 } else { self.lowers.len().min(self.uppers.len()) };
        self.period(self.factor()?)?.checked_mul(starts as i128).ok_or(NotLinear)
    }

    /// What every coefficient of the variable divides.
    fn factor(&self) -> Result<i128, NotLinear> {
        let sums = self.lowers.iter().chain(&self.uppers).filter(|_| !self.is_open());
        let sums = sums.chain(self.congruences.iter().map(|congruence| &congruence.sum));
        sums.map(|sum| self.coefficient(sum)).try_fold(1, lcm)
    }

    /// When the remainders of `factor` times the variable repeat.
    fn period(&self, factor: i128) -> Result<i128, NotLinear> {
        self.congruences.iter().try_fold(factor, |period, congruence| {
            let by = factor / self.coefficient(&congruence.sum);
            lcm(period, congruence.modulus.checked_mul(by).ok_or(NotLinear)?)
        })
    }

    /// What Fourier and Motzkin make of it.
    fn combined(&self) -> Result<Vec<Linear>, NotLinear> {
        let mut sums = Vec::new();
        for upper in &self.uppers {
            for lower in &self.lowers {
                let (a, b) = (self.coefficient(upper), self.coefficient(lower));
                sums.push(upper.times(b)?.plus(&lower.times(a)?)?.tightened());
                if sums.len() > MAX_INEQUALITIES {
                    return Err(NotLinear);
                }
            }
        }
        Ok(sums)
    }

    /// What Cooper makes of it: `factor` times the variable is one of the values that are tried.
    fn tried(&self) -> Result<Vec<Alternative>, NotLinear> {
        let factor = self.factor()?;
        let period = self.period(factor)?;
        let scaled = |sum: &Linear| -> Result<Linear, NotLinear> {
            sum.rest(&self.variable).times(factor / self.coefficient(sum))
        };
        // −y + t ≤ 0 and y + t ≤ 0: y begins at t, or ends at −t.
        let starts: Vec<Linear> = match (self.is_open(), self.lowers.len() <= self.uppers.len()) {
            (true, _) => vec![Linear::constant(0)],
            (false, true) => self.lowers.iter().map(scaled).collect::<Result<_, _>>()?,
            (false, false) => {
                self.uppers.iter().map(|upper| scaled(upper)?.times(-1)).collect::<Result<_, _>>()?
            }
        };
        let direction = if self.lowers.len() <= self.uppers.len() { 1 } else { -1 };
        let mut cases = Vec::new();
        for start in &starts {
            for step in 0..period {
                let value = start.plus(&Linear::constant(step * direction))?;
                cases.extend(self.with(&value, factor)?);
            }
        }
        Ok(cases)
    }

    /// What holds if `factor` times the variable is `value`.
    fn with(&self, value: &Linear, factor: i128) -> Result<Option<Alternative>, NotLinear> {
        let mut all = Some(Alternative::dividing(factor, value.clone()));
        let mut add = |one: Alternative| all = all.take().and_then(|all| all.and(&one));
        for sum in self.lowers.iter().chain(&self.uppers).filter(|_| !self.is_open()) {
            let coefficient = sum.coefficient(&self.variable);
            let by = factor / coefficient.saturating_abs();
            let sum =
                value.times(coefficient.signum())?.plus(&sum.rest(&self.variable).times(by)?)?.tightened();
            add(Alternative { inequalities: vec![sum], ..Alternative::default() });
        }
        for Congruence { modulus, sum } in &self.congruences {
            let by = factor / self.coefficient(sum);
            let sum = value.plus(&sum.rest(&self.variable).times(by)?)?;
            add(Alternative::dividing(modulus.checked_mul(by).ok_or(NotLinear)?, sum));
        }
        Ok(all.and_then(Alternative::plain))
    }
}
