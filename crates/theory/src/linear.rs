//! Whether conditions over integers and truth values can hold: linear arithmetic, by elimination of variables.
//!
//! A condition becomes a disjunction of conjunctions of `a₁x₁ + … + c ≤ 0`, divided by the greatest common divisor of the
//! coefficients and rounded (so `2x = 1` cannot hold). A variable is eliminated by combining its lower with its upper
//! bounds (Fourier and Motzkin). That is exact for integers where one of two combined coefficients is 1; otherwise "cannot
//! hold" is still right, and "can hold" is [`Answer::Undecided`]. What is not linear is undecided, and so is what gets too
//! large. Integers are unbounded here: overflow is not looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expr::{Expr, Literal, Node, Operator, UnaryOperator};
use crate::payload::Type;

/// More alternatives than this are not looked at, nor more inequalities in one.
const MAX_ALTERNATIVES: usize = 256;
const MAX_INEQUALITIES: usize = 256;

/// Whether something can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// For some values.
    Yes,
    /// For none.
    No,
    /// This is not decided here.
    Undecided,
}

/// `Σ coefficient · variable + constant ≤ 0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Linear {
    // INVARIANT: no coefficient is 0.
    coefficients: BTreeMap<Arc<str>, i128>,
    constant: i128,
}

/// Inequalities and truth values that hold together.
#[derive(Clone, Debug, Default)]
struct Alternative {
    inequalities: Vec<Linear>,
    truths: BTreeMap<Arc<str>, bool>,
    /// Whether no elimination was only an approximation.
    inexact: bool,
}

/// A condition in disjunctive form.
#[derive(Clone, Debug)]
pub struct Condition {
    alternatives: Vec<Alternative>,
}

/// A condition is not linear, or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLinear;

impl Condition {
    /// What always holds.
    #[must_use]
    pub fn always() -> Self {
        Self { alternatives: vec![Alternative::default()] }
    }

    /// The condition `expr`, whose variables have the types that `types` gives.
    ///
    /// # Errors
    /// [`NotLinear`].
    pub fn of(expr: &Expr, types: &dyn Fn(&str) -> Option<Type>) -> Result<Self, NotLinear> {
        truth(expr, types, true)
    }

    /// Both.
    ///
    /// # Errors
    /// [`NotLinear`] if there are too many alternatives.
    pub fn and(&self, other: &Self) -> Result<Self, NotLinear> {
        let mut alternatives = Vec::new();
        for left in &self.alternatives {
            alternatives.extend(other.alternatives.iter().filter_map(|right| left.and(right)));
            if alternatives.len() > MAX_ALTERNATIVES {
                return Err(NotLinear);
            }
        }
        Ok(Self { alternatives })
    }

    fn or(mut self, other: Self) -> Result<Self, NotLinear> {
        self.alternatives.extend(other.alternatives);
        if self.alternatives.len() > MAX_ALTERNATIVES { Err(NotLinear) } else { Ok(self) }
    }

    /// What must hold of the others for `variables` to have values with which this holds.
    ///
    /// # Errors
    /// [`NotLinear`] if it is not exact.
    pub fn without(mut self, variables: &[Arc<str>]) -> Result<Self, NotLinear> {
        for alternative in &mut self.alternatives {
            for variable in variables {
                alternative.truths.remove(variable);
                alternative.eliminate(variable)?;
            }
            if alternative.inexact {
                return Err(NotLinear);
            }
        }
        Ok(self)
    }

    /// The opposite.
    ///
    /// # Errors
    /// [`NotLinear`] if there are too many alternatives.
    pub fn not(&self) -> Result<Self, NotLinear> {
        let mut all = Self::always();
        for alternative in &self.alternatives {
            let mut some = Vec::new();
            for inequality in &alternative.inequalities {
                some.push(Alternative {
                    inequalities: vec![inequality.negated()?],
                    ..Alternative::default()
                });
            }
            for (variable, value) in &alternative.truths {
                let truths = BTreeMap::from([(Arc::clone(variable), !value)]);
                some.push(Alternative { truths, ..Alternative::default() });
            }
            all = all.and(&Self { alternatives: some })?;
        }
        Ok(all)
    }

    /// Whether it can hold.
    #[must_use]
    pub fn can_hold(&self) -> Answer {
        let mut answer = Answer::No;
        for alternative in &self.alternatives {
            match alternative.clone().can_hold() {
                Ok(Answer::Yes) => return Answer::Yes,
                Ok(Answer::No) => {}
                Ok(Answer::Undecided) | Err(NotLinear) => answer = Answer::Undecided,
            }
        }
        answer
    }
}

impl Alternative {
    /// Both; `None` if they contradict each other.
    fn and(&self, other: &Self) -> Option<Self> {
        let mut both = self.clone();
        for (variable, value) in &other.truths {
            if *both.truths.entry(Arc::clone(variable)).or_insert(*value) != *value {
                return None;
            }
        }
        both.inequalities.extend(other.inequalities.iter().cloned());
        both.inexact |= other.inexact;
        Some(both)
    }

    fn can_hold(mut self) -> Result<Answer, NotLinear> {
        while let Some(variable) =
            self.inequalities.iter().find_map(|i| i.coefficients.keys().next()).cloned()
        {
            self.eliminate(&variable)?;
        }
        let contradicts = self.inequalities.iter().any(|inequality| inequality.constant > 0);
        Ok(match (contradicts, self.inexact) {
            (true, _) => Answer::No,
            (false, false) => Answer::Yes,
            (false, true) => Answer::Undecided,
        })
    }

    fn eliminate(&mut self, variable: &Arc<str>) -> Result<(), NotLinear> {
        let (mut uppers, mut lowers, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for inequality in std::mem::take(&mut self.inequalities) {
            match inequality.coefficients.get(variable) {
                Some(coefficient) if *coefficient > 0 => uppers.push(inequality),
                Some(_) => lowers.push(inequality),
                None => others.push(inequality),
            }
        }
        for upper in &uppers {
            for lower in &lowers {
                let (a, b) = (upper.coefficients[variable], -lower.coefficients[variable]);
                self.inexact |= a != 1 && b != 1;
                let sum = upper.times(b)?.plus(&lower.times(a)?)?;
                others.push(sum.tightened());
                if others.len() > MAX_INEQUALITIES {
                    return Err(NotLinear);
                }
            }
        }
        self.inequalities = others;
        Ok(())
    }
}

impl Linear {
    fn constant(constant: i128) -> Self {
        Self { coefficients: BTreeMap::new(), constant }
    }

    fn times(&self, factor: i128) -> Result<Self, NotLinear> {
        let mut product = Self::constant(self.constant.checked_mul(factor).ok_or(NotLinear)?);
        for (variable, coefficient) in &self.coefficients {
            let coefficient = coefficient.checked_mul(factor).ok_or(NotLinear)?;
            if coefficient != 0 {
                product.coefficients.insert(Arc::clone(variable), coefficient);
            }
        }
        Ok(product)
    }

    fn plus(&self, other: &Self) -> Result<Self, NotLinear> {
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
    fn tightened(mut self) -> Self {
        let divisor = self.coefficients.values().fold(0, |divisor, c| gcd(divisor, c.unsigned_abs()));
        if let Ok(divisor) = i128::try_from(divisor)
            && divisor > 1
        {
            self.coefficients.values_mut().for_each(|coefficient| *coefficient /= divisor);
            self.constant = -(-self.constant).div_euclid(divisor);
        }
        self
    }

    /// What holds where this does not: `1 - self ≤ 0`.
    fn negated(&self) -> Result<Self, NotLinear> {
        self.times(-1)?.plus(&Self::constant(1)).map(Self::tightened)
    }
}

fn gcd(left: u128, right: u128) -> u128 {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// When `expr` is `wanted`. Recursion is bounded: expressions are.
fn truth(expr: &Expr, types: &dyn Fn(&str) -> Option<Type>, wanted: bool) -> Result<Condition, NotLinear> {
    match expr.node() {
        Node::Literal(Literal::Bool(value)) if *value == wanted => Ok(Condition::always()),
        Node::Literal(Literal::Bool(_)) => Ok(Condition { alternatives: Vec::new() }),
        Node::Variable(name) if types(name) == Some(Type::Bool) => {
            let truths = BTreeMap::from([(Arc::clone(name), wanted)]);
            Ok(Condition { alternatives: vec![Alternative { truths, ..Alternative::default() }] })
        }
        Node::Unary(UnaryOperator::Not, operand) => truth(operand, types, !wanted),
        Node::And(operands) | Node::Or(operands) => {
            let all = matches!(expr.node(), Node::And(_)) == wanted;
            let none = Condition { alternatives: Vec::new() };
            operands.iter().try_fold(if all { Condition::always() } else { none }, |found, operand| {
                let operand = truth(operand, types, wanted)?;
                if all { found.and(&operand) } else { found.or(operand) }
            })
        }
        Node::Binary(operator, operands) => {
            let [left, right] = &**operands;
            let (left, right) = (linear(left, types)?, linear(right, types)?);
            // left − right and right − left.
            let (over, under) = (left.plus(&right.times(-1)?)?, right.plus(&left.times(-1)?)?);
            let below = |difference: &Linear| difference.plus(&Linear::constant(1)).map(Linear::tightened);
            let at_most = |difference: &Linear| Ok(difference.clone().tightened());
            let alternatives: Vec<Vec<Linear>> = match (operator, wanted) {
                (Operator::Less, true) | (Operator::GreaterEqual, false) => vec![vec![below(&over)?]],
                (Operator::LessEqual, true) | (Operator::Greater, false) => vec![vec![at_most(&over)?]],
                (Operator::Greater, true) | (Operator::LessEqual, false) => vec![vec![below(&under)?]],
                (Operator::GreaterEqual, true) | (Operator::Less, false) => vec![vec![at_most(&under)?]],
                (Operator::Equal, true) | (Operator::NotEqual, false) => {
                    vec![vec![at_most(&over)?, at_most(&under)?]]
                }
                (Operator::NotEqual, true) | (Operator::Equal, false) => {
                    vec![vec![below(&over)?], vec![below(&under)?]]
                }
                _ => return Err(NotLinear),
            };
            let made = |inequalities| Alternative { inequalities, ..Alternative::default() };
            Ok(Condition { alternatives: alternatives.into_iter().map(made).collect() })
        }
        _ => Err(NotLinear),
    }
}

/// `expr` as a sum.
fn linear(expr: &Expr, types: &dyn Fn(&str) -> Option<Type>) -> Result<Linear, NotLinear> {
    match expr.node() {
        Node::Literal(Literal::Int(value)) => Ok(Linear::constant((*value).into())),
        Node::Variable(name) if types(name) == Some(Type::Int) => {
            Ok(Linear { coefficients: BTreeMap::from([(Arc::clone(name), 1)]), constant: 0 })
        }
        Node::Unary(UnaryOperator::Negate, operand) => linear(operand, types)?.times(-1),
        Node::Binary(operator, operands) => {
            let [left, right] = &**operands;
            let (left, right) = (linear(left, types)?, linear(right, types)?);
            match operator {
                Operator::Add => left.plus(&right),
                Operator::Subtract => left.plus(&right.times(-1)?),
                Operator::Multiply if left.coefficients.is_empty() => right.times(left.constant),
                Operator::Multiply if right.coefficients.is_empty() => left.times(right.constant),
                _ => Err(NotLinear),
            }
        }
        _ => Err(NotLinear),
    }
}
