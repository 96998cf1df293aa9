//! Exact equality with its hash, numeric equality, the order of numbers, Erlang's order of all terms.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Fields, Term};

impl<'b> PartialEq<Term<'b>> for Term<'_> {
    fn eq(&self, other: &Term<'b>) -> bool {
        match (*self, *other) {
            (Term::Absent, Term::Absent) | (Term::Null, Term::Null) => true,
            (Term::Bool(left), Term::Bool(right)) => left == right,
            (Term::Int(left), Term::Int(right))
            | (Term::Time(left), Term::Time(right))
            | (Term::Duration(left), Term::Duration(right)) => left == right,
            (Term::Float(left), Term::Float(right)) => left == right || (left.is_nan() && right.is_nan()),
            (Term::Big(left), Term::Big(right))
            | (Term::Text(left), Term::Text(right))
            | (Term::Opaque(left), Term::Opaque(right))
            | (Term::Atom(left), Term::Atom(right))
            | (Term::Pid(left), Term::Pid(right))
            | (Term::Reference(left), Term::Reference(right)) => left == right,
            (Term::Bytes(left), Term::Bytes(right)) => left == right,
            (Term::Tuple(left), Term::Tuple(right)) | (Term::List(left), Term::List(right)) => {
                left.len() == right.len() && left.iter().zip(right.iter()).all(|(l, r)| l == r)
            }
            (Term::Record(left), Term::Record(right)) => same_members(left, right, |l, r| l == r),
            _ => false,
        }
    }
}

impl Eq for Term<'_> {}

/// Whether both have the same names with equal values. In the same order, as is usual, without sorting.
fn same_members<'a, 'b>(
    left: Fields<'a>,
    right: Fields<'b>,
    equal: impl Fn(Term<'a>, Term<'b>) -> bool,
) -> bool {
    if left.len() != right.len() {
        return false;
    }
    if left.iter().zip(right.iter()).all(|((l, _), (r, _))| l == r) {
        return left.iter().zip(right.iter()).all(|((_, l), (_, r))| equal(l, r));
    }
    let (mut left, mut right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
    left.sort_by_key(|(name, _)| *name);
    right.sort_by_key(|(name, _)| *name);
    left.iter().zip(&right).all(|((l, left), (r, right))| l == r && equal(*left, *right))
}

impl Hash for Term<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match *self {
            Self::Absent | Self::Null => {}
            Self::Bool(value) => value.hash(state),
            Self::Int(value) | Self::Time(value) | Self::Duration(value) => value.hash(state),
            // Zeros are equal whatever their sign, and so must be their hashes.
            Self::Float(value) => (if value == 0.0 { 0 } else { value.to_bits() }).hash(state),
            Self::Big(text)
            | Self::Text(text)
            | Self::Opaque(text)
            | Self::Atom(text)
            | Self::Pid(text)
            | Self::Reference(text) => text.hash(state),
            Self::Bytes(bytes) => bytes.hash(state),
            Self::Tuple(items) | Self::List(items) => {
                items.len().hash(state);
                items.iter().for_each(|item| item.hash(state));
            }
            Self::Record(members) => {
                // Order must not matter.
                let sum = members.iter().fold(0u64, |sum, member| {
                    let mut hasher = DefaultHasher::new();
                    member.hash(&mut hasher);
                    sum.wrapping_add(hasher.finish())
                });
                sum.hash(state);
            }
        }
    }
}

/// Erlang's `==` and the native language's: like equality, but numbers are compared by value, `1` to `1.0` too, and an
/// atom equals the string that spells it, also inside tuples, lists and records.
#[must_use]
pub(crate) fn loosely_equal(left: Term<'_>, right: Term<'_>) -> bool {
    match (left, right) {
        (Term::Int(_) | Term::Big(_) | Term::Float(_), Term::Int(_) | Term::Big(_) | Term::Float(_)) => {
            number_order(left, right) == Some(Ordering::Equal)
        }
        (Term::Tuple(left), Term::Tuple(right)) | (Term::List(left), Term::List(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(l, r)| loosely_equal(l, r))
        }
        (Term::Record(left), Term::Record(right)) => same_members(left, right, loosely_equal),
        (Term::Atom(left), Term::Text(right)) | (Term::Text(left), Term::Atom(right)) => left == right,
        _ => left == right,
    }
}

/// How two numbers compare by value; `None` if one of them is no number.
#[must_use]
pub fn number_order(left: Term<'_>, right: Term<'_>) -> Option<Ordering> {
    match (left, right) {
        (Term::Int(left), Term::Int(right)) => Some(left.cmp(&right)),
        (Term::Float(left), Term::Float(right)) => left.partial_cmp(&right),
        (Term::Int(left), Term::Float(right)) => int_float(left, right),
        (Term::Float(left), Term::Int(right)) => int_float(right, left).map(Ordering::reverse),
        (Term::Big(left), Term::Big(right)) => Some(big(left, right)),
        (Term::Big(left), Term::Int(_)) => Some(sign(left)),
        (Term::Int(_), Term::Big(right)) => Some(sign(right).reverse()),
        (Term::Big(left), Term::Float(right)) => big_float(left, right),
        (Term::Float(left), Term::Big(right)) => big_float(right, left).map(Ordering::reverse),
        _ => None,
    }
}

fn int_float(left: i64, right: f64) -> Option<Ordering> {
    // 2⁶³ is a float; what is at least that is above every int, what is below −2⁶³ below every int.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if right.is_nan() {
        None
    } else if right >= LIMIT {
        Some(Ordering::Less)
    } else if right < -LIMIT {
        Some(Ordering::Greater)
    } else {
        let whole = right.trunc();
        let fraction = 0.0f64.partial_cmp(&(right - whole))?;
        Some(left.cmp(&(whole as i64)).then(fraction))
    }
}

/// Exactly: a float of this size has no fraction, so that its digits are those of an integer.
fn big_float(left: &str, right: f64) -> Option<Ordering> {
    if right.is_nan() {
        None
    } else if right.is_infinite() {
        0.0f64.partial_cmp(&right)
    } else if right.abs() < 1e18 {
        Some(sign(left))
    } else {
        Some(big(left, &format!("{right:.0}")))
    }
}

/// What does not fit 64 bits is above all that does if it is positive, and below it if it is negative.
fn sign(digits: &str) -> Ordering {
    if digits.starts_with('-') { Ordering::Less } else { Ordering::Greater }
}

fn big(left: &str, right: &str) -> Ordering {
    let magnitude = |left: &str, right: &str| left.len().cmp(&right.len()).then_with(|| left.cmp(right));
    match (left.strip_prefix('-'), right.strip_prefix('-')) {
        (Some(left), Some(right)) => magnitude(right, left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => magnitude(left, right),
    }
}

/// Erlang's order of all terms: number < atom < reference < pid < tuple < list, numbers by value, tuples by size
/// first. Kinds that Erlang lacks come last. A total preorder: `1` and `1.0` are neither above the other.
#[must_use]
pub(crate) fn erlang_order(left: Term<'_>, right: Term<'_>) -> Ordering {
    if let Some(order) = number_order(left, right) {
        return order;
    }
    match (left, right) {
        (Term::Tuple(l), Term::Tuple(r)) => l.len().cmp(&r.len()).then_with(|| sequence(l.iter(), r.iter())),
        (Term::List(l), Term::List(r)) => sequence(l.iter(), r.iter()),
        (Term::Record(l), Term::Record(r)) => l.len().cmp(&r.len()).then_with(|| members(l, r)),
        (Term::Text(left), Term::Text(right)) => left.cmp(right),
        (Term::Time(left), Term::Time(right)) | (Term::Duration(left), Term::Duration(right)) => {
            left.cmp(&right)
        }
        (Term::Pid(left), Term::Pid(right)) | (Term::Reference(left), Term::Reference(right)) => {
            numbered(left, right)
        }
        _ => match (atom(left), atom(right)) {
            (Some(left), Some(right)) => left.cmp(right),
            _ => rank(left).cmp(&rank(right)),
        },
    }
}

fn sequence<'a, 'b>(
    mut left: impl Iterator<Item = Term<'a>>,
    mut right: impl Iterator<Item = Term<'b>>,
) -> Ordering {
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(left), Some(right)) => match erlang_order(left, right) {
                Ordering::Equal => {}
                order => return order,
            },
        }
    }
}

fn members(left: Fields<'_>, right: Fields<'_>) -> Ordering {
    let sorted = |fields: Fields<'_>| {
        let mut names: Vec<_> = fields.iter().map(|(name, _)| name.to_owned()).collect();
        names.sort_unstable();
        names
    };
    let (left_names, right_names) = (sorted(left), sorted(right));
    left_names.cmp(&right_names).then_with(|| {
        let value = |fields: Fields<'_>, name: &String| fields.get(name).map(Term::to_owned);
        left_names
            .iter()
            .map(|name| match (value(left, name), value(right, name)) {
                (Some(left), Some(right)) => erlang_order(left.view(), right.view()),
                _ => Ordering::Equal,
            })
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

/// Identifiers by the numbers in them, from left to right: `<0.9.0>` is below `<0.10.0>`.
fn numbered(left: &str, right: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(left).cmp(&numbers(right)).then_with(|| left.cmp(right))
}

fn atom(term: Term<'_>) -> Option<&str> {
    match term {
        Term::Atom(name) => Some(name),
        Term::Bool(true) => Some("true"),
        Term::Bool(false) => Some("false"),
        _ => None,
    }
}

fn rank(term: Term<'_>) -> u8 {
    match term {
        Term::Int(_) | Term::Big(_) | Term::Float(_) => 0,
        Term::Atom(_) | Term::Bool(_) => 1,
        Term::Reference(_) => 2,
        Term::Pid(_) => 3,
        Term::Tuple(_) => 4,
        Term::Record(_) => 5,
        Term::List(_) => 6,
        Term::Text(_) => 7,
        Term::Null => 8,
        Term::Bytes(_) => 9,
        Term::Opaque(_) => 10,
        Term::Time(_) => 11,
        Term::Duration(_) => 12,
        Term::Absent => 13,
    }
}
