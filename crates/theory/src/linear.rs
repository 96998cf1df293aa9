//! Whether conditions over integers and truth values can hold: linear arithmetic with remainders, by elimination of variables.
//!
//! A condition becomes a disjunction of conjunctions of `a₁x₁ + … + c ≤ 0`, divided by the greatest common divisor of the
//! coefficients and rounded (so `2x = 1` cannot hold), and of `m divides a₁x₁ + … + c`, which is what `%` by a constant comes
//! to. Variables are eliminated as `eliminate` says: exactly, or "cannot hold" is still right and "can hold" is
//! [`Answer::Undecided`]. What is not linear is undecided, and so is what gets too large. Integers are unbounded here: overflow
//! is not looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expr::{Expr, Literal, Node, Operator, UnaryOperator};
use crate::payload::Type;

mod eliminate;
mod sum;

use eliminate::Alternative;
use sum::Linear;

/// More alternatives than this are not looked at, nor more inequalities in one.
const MAX_ALTERNATIVES: usize = 256;
const MAX_INEQUALITIES: usize = 256;

/// So many sums are looked at to decide a condition, in all conjunctions that are tried.
const MAX_SUMS: usize = 1 << 14;

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
        for variable in variables {
            let mut left = Vec::new();
            for mut alternative in self.alternatives {
                alternative.truths.remove(variable);
                for found in alternative.eliminate(variable)? {
                    if !left.contains(&found) {
                        left.push(found);
                    }
                }
                if left.len() > MAX_ALTERNATIVES {
                    return Err(NotLinear);
                }
            }
            self.alternatives = left;
        }
        if self.alternatives.iter().any(|alternative| alternative.inexact) {
            Err(NotLinear)
        } else {
            Ok(self)
        }
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
            for congruence in &alternative.congruences {
                for other in congruence.others() {
                    some.push(Alternative { congruences: vec![other], ..Alternative::default() });
                    if some.len() > MAX_ALTERNATIVES {
                        return Err(NotLinear);
                    }
                }
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
        let (mut answer, mut left) = (Answer::No, MAX_SUMS);
        for alternative in &self.alternatives {
            match alternative.clone().can_hold(&mut left) {
                Answer::Yes => return Answer::Yes,
                Answer::No => {}
                Answer::Undecided => answer = Answer::Undecided,
            }
        }
        answer
    }
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
            let minus = |value: Linear| value.times(-1);
            let differences = joined(sums(left, types)?, each(sums(right, types)?, minus)?, Linear::plus)?;
            let mut alternatives = Vec::new();
            for Case { given, value: over } in differences {
                for inequalities in compared(*operator, wanted, &over)? {
                    let made = Alternative { inequalities, ..Alternative::default() };
                    alternatives.extend(given.and(&made));
                }
            }
            if alternatives.len() > MAX_ALTERNATIVES {
                return Err(NotLinear);
            }
            Ok(Condition { alternatives })
        }
        _ => Err(NotLinear),
    }
}

/// When `left operator right` is `wanted`, of which `over` is `left - right`: one of these lists of inequalities holds.
fn compared(operator: Operator, wanted: bool, over: &Linear) -> Result<Vec<Vec<Linear>>, NotLinear> {
    let under = over.times(-1)?;
    let below = |difference: &Linear| difference.plus(&Linear::constant(1)).map(Linear::tightened);
    let at_most = |difference: &Linear| difference.clone().tightened();
    Ok(match (operator, wanted) {
        (Operator::Less, true) | (Operator::GreaterEqual, false) => vec![vec![below(over)?]],
        (Operator::LessEqual, true) | (Operator::Greater, false) => vec![vec![at_most(over)]],
        (Operator::Greater, true) | (Operator::LessEqual, false) => vec![vec![below(&under)?]],
        (Operator::GreaterEqual, true) | (Operator::Less, false) => vec![vec![at_most(&under)]],
        (Operator::Equal, true) | (Operator::NotEqual, false) => vec![vec![at_most(over), at_most(&under)]],
        (Operator::NotEqual, true) | (Operator::Equal, false) => {
            vec![vec![below(over)?], vec![below(&under)?]]
        }
        _ => return Err(NotLinear),
    })
}

/// A value under conditions. The cases of an expression exclude one another, and one of them always holds.
struct Case {
    given: Alternative,
    value: Linear,
}

fn each(
    cases: Vec<Case>,
    change: impl Fn(Linear) -> Result<Linear, NotLinear>,
) -> Result<Vec<Case>, NotLinear> {
    cases.into_iter().map(|case| Ok(Case { value: change(case.value)?, ..case })).collect()
}

/// Each case of `left` with each of `right`.
fn joined(
    left: Vec<Case>,
    right: Vec<Case>,
    join: impl Fn(&Linear, &Linear) -> Result<Linear, NotLinear>,
) -> Result<Vec<Case>, NotLinear> {
    if left.len() * right.len() > MAX_ALTERNATIVES {
        return Err(NotLinear);
    }
    let mut cases = Vec::new();
    for one in &left {
        for other in &right {
            let value = join(&one.value, &other.value)?;
            cases.extend(one.given.and(&other.given).map(|given| Case { given, value }));
        }
    }
    Ok(cases)
}

/// `expr` as a sum, case by case.
fn sums(expr: &Expr, types: &dyn Fn(&str) -> Option<Type>) -> Result<Vec<Case>, NotLinear> {
    let always = |value| Ok(vec![Case { given: Alternative::default(), value }]);
    match expr.node() {
        Node::Literal(Literal::Int(value)) => always(Linear::constant((*value).into())),
        Node::Variable(name) if types(name) == Some(Type::Int) => always(Linear::variable(name)),
        Node::Unary(UnaryOperator::Negate, operand) => each(sums(operand, types)?, |sum| sum.times(-1)),
        Node::Binary(operator, operands) => {
            let (left, right) = (sums(&operands[0], types)?, sums(&operands[1], types)?);
            match operator {
                Operator::Add => joined(left, right, Linear::plus),
                Operator::Subtract => joined(left, each(right, |sum| sum.times(-1))?, Linear::plus),
                Operator::Multiply => {
                    joined(left, right, |left, right| match (left.as_constant(), right.as_constant()) {
                        (Some(factor), _) => right.times(factor),
                        (_, Some(factor)) => left.times(factor),
                        _ => Err(NotLinear),
                    })
                }
                Operator::Remainder => match &right[..] {
                    [only] => only.value.as_constant().ok_or(NotLinear).and_then(|by| remainders(left, by)),
                    _ => Err(NotLinear),
                },
                _ => Err(NotLinear),
            }
        }
        _ => Err(NotLinear),
    }
}

/// What remains of `dividends` divided by `by`: it has the sign of what is divided.
fn remainders(dividends: Vec<Case>, by: i128) -> Result<Vec<Case>, NotLinear> {
    let by = by.checked_abs().filter(|by| *by != 0).ok_or(NotLinear)?;
    if by > MAX_ALTERNATIVES as i128 || dividends.len() * by as usize > MAX_ALTERNATIVES {
        return Err(NotLinear);
    }
    let mut cases = Vec::new();
    for Case { given, value } in dividends {
        for left in 0..by {
            let (positive, negative) = (vec![value.times(-1)?], vec![value.plus(&Linear::constant(1))?]);
            let signs =
                if left == 0 { vec![(0, Vec::new())] } else { vec![(left, positive), (-left, negative)] };
            for (left, inequalities) in signs {
                let sum = value.plus(&Linear::constant(-left))?;
                let made = Alternative { inequalities, ..Alternative::dividing(by, sum) };
                let value = Linear::constant(left);
                cases.extend(given.and(&made).map(|given| Case { given, value }));
            }
        }
    }
    Ok(cases)
}
