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
        truth(expr, types).holds
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

/// When an expression is true, and when it is false. Either may be too large without the other being so.
struct Truth {
    holds: Result<Condition, NotLinear>,
    fails: Result<Condition, NotLinear>,
}

impl Truth {
    fn constant(value: bool) -> Self {
        let never = Condition { alternatives: Vec::new() };
        let (holds, fails) = if value { (Condition::always(), never) } else { (never, Condition::always()) };
        Self { holds: Ok(holds), fails: Ok(fails) }
    }

    fn variable(name: &Arc<str>) -> Self {
        let is = |value| {
            let truths = BTreeMap::from([(Arc::clone(name), value)]);
            Ok(Condition { alternatives: vec![Alternative { truths, ..Alternative::default() }] })
        };
        Self { holds: is(true), fails: is(false) }
    }

    fn not_linear() -> Self {
        Self { holds: Err(NotLinear), fails: Err(NotLinear) }
    }

    fn not(self) -> Self {
        Self { holds: self.fails, fails: self.holds }
    }

    fn and(self, other: Self) -> Self {
        Self { holds: both(&self.holds, &other.holds), fails: either(self.fails, other.fails) }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    fn equals(&self, other: &Self) -> Self {
        let when = |one, other, opposite, unlike| either(both(one, other), both(opposite, unlike));
        Self {
            holds: when(&self.holds, &other.holds, &self.fails, &other.fails),
            fails: when(&self.holds, &other.fails, &self.fails, &other.holds),
        }
    }
}

type Linearised = Result<Condition, NotLinear>;

fn both(left: &Linearised, right: &Linearised) -> Linearised {
    match (left, right) {
        // Whatever the other says.
        (Ok(never), _) | (_, Ok(never)) if never.alternatives.is_empty() => Ok(never.clone()),
        (Ok(left), Ok(right)) => left.and(right),
        _ => Err(NotLinear),
    }
}

fn either(left: Linearised, right: Linearised) -> Linearised {
    left?.or(right?)
}

/// When `expr` is true, and when it is false. Each part is looked at once: recursion is bounded, as expressions are.
fn truth(expr: &Expr, types: &dyn Fn(&str) -> Option<Type>) -> Truth {
    match expr.node() {
        Node::Literal(Literal::Bool(value)) => Truth::constant(*value),
        Node::Variable(name) if types(name) == Some(Type::Bool) => Truth::variable(name),
        Node::Unary(UnaryOperator::Not, operand) => truth(operand, types).not(),
        Node::And(operands) => {
            operands.iter().fold(Truth::constant(true), |found, operand| found.and(truth(operand, types)))
        }
        Node::Or(operands) => {
            operands.iter().fold(Truth::constant(false), |found, operand| found.or(truth(operand, types)))
        }
        Node::Binary(operator @ (Operator::Equal | Operator::NotEqual), operands)
            if operands.iter().any(|operand| is_truth(operand, types)) =>
        {
            let [left, right] = &**operands;
            let equal = truth(left, types).equals(&truth(right, types));
            if *operator == Operator::Equal { equal } else { equal.not() }
        }
        Node::Binary(operator, operands) => match differences(operands, types) {
            Ok(differences) => Truth {
                holds: comparison(*operator, true, &differences),
                fails: comparison(*operator, false, &differences),
            },
            Err(NotLinear) => Truth::not_linear(),
        },
        _ => Truth::not_linear(),
    }
}

/// Whether the value of `expr` is a truth value, seen from its outermost operator.
fn is_truth(expr: &Expr, types: &dyn Fn(&str) -> Option<Type>) -> bool {
    match expr.node() {
        Node::Literal(Literal::Bool(_)) | Node::And(_) | Node::Or(_) => true,
        Node::Variable(name) => types(name) == Some(Type::Bool),
        Node::Unary(operator, _) => *operator == UnaryOperator::Not,
        Node::Binary(operator, _) => matches!(
            operator,
            Operator::Equal
                | Operator::NotEqual
                | Operator::Less
                | Operator::LessEqual
                | Operator::Greater
                | Operator::GreaterEqual
        ),
        _ => false,
    }
}

/// What is left of two operands if the second is subtracted from the first, case by case.
fn differences(operands: &[Expr; 2], types: &dyn Fn(&str) -> Option<Type>) -> Result<Vec<Case>, NotLinear> {
    let [left, right] = operands;
    let minus = |value: Linear| value.times(-1);
    joined(sums(left, types)?, each(sums(right, types)?, minus)?, Linear::plus)
}

/// When a comparison of two values with these `differences` is `wanted`.
fn comparison(operator: Operator, wanted: bool, differences: &[Case]) -> Linearised {
    let mut alternatives = Vec::new();
    for Case { given, value: over } in differences {
        for inequalities in compared(operator, wanted, over)? {
            let made = Alternative { inequalities, ..Alternative::default() };
            alternatives.extend(given.and(&made));
        }
    }
    if alternatives.len() > MAX_ALTERNATIVES {
        return Err(NotLinear);
    }
    Ok(Condition { alternatives })
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
                // Where nothing else ever remains, what never holds is among the inequalities.
                let mut made = Alternative::dividing(by, sum);
                made.inequalities.extend(inequalities);
                let value = Linear::constant(left);
                cases.extend(given.and(&made).map(|given| Case { given, value }));
            }
        }
    }
    Ok(cases)
}
