//! What cannot be right in a guard, whatever the events carry: operations that never have a value.
//!
//! Variables may hold anything, so only what follows from constants and operators is found: `x && 1`,
//! `"a" < 2`, `length({1, 2})`, a guard that is a number.

use super::super::Slot;
use super::{Condition, Guard};
use crate::expr::{Dialect, Function, Node, Operator, Place, UnaryOperator};
use crate::time;
use crate::value::{Term, Value};

/// An operation that never has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The operand that does not suit.
    pub place: Place,
    /// The operator, function or construct, as it is written.
    pub operation: &'static str,
    /// The kinds it takes, in the users' words.
    pub expected: &'static str,
    /// The kind the operand has.
    pub found: String,
}

/// A set of kinds, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kinds(u16);

const NULL: Kinds = Kinds(1);
const BOOL: Kinds = Kinds(1 << 1);
const INT: Kinds = Kinds(1 << 2);
const FLOAT: Kinds = Kinds(1 << 3);
const TEXT: Kinds = Kinds(1 << 4);
const ATOM: Kinds = Kinds(1 << 5);
const IDENTIFIER: Kinds = Kinds(1 << 6);
const TUPLE: Kinds = Kinds(1 << 7);
const LIST: Kinds = Kinds(1 << 8);
const RECORD: Kinds = Kinds(1 << 9);
const BYTES: Kinds = Kinds(1 << 10);
const TIME: Kinds = Kinds(1 << 11);
const DURATION: Kinds = Kinds(1 << 12);
const ANYTHING: Kinds = Kinds((1 << 13) - 1);
const NUMBER: Kinds = INT.or(FLOAT);

impl Kinds {
    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn names(self) -> String {
        let names = [
            "null",
            "bool",
            "int",
            "float",
            "string",
            "atom",
            "identifier",
            "tuple",
            "list",
            "record",
            "bytes",
            "time",
            "duration",
        ];
        let present: Vec<_> =
            names.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0).map(|(_, n)| *n).collect();
        present.join(" or ")
    }
}

impl Guard {
    /// Every operation that cannot have a value, from left to right; one per place. The slots `times` hold times.
    #[must_use]
    pub fn mistakes(&self, times: &[Slot]) -> Vec<Mistake> {
        let mut checker = Checker { dialect: self.dialect, times, mistakes: Vec::new() };
        checker.expect(&self.condition, BOOL, "when", "a condition");
        checker.mistakes
    }
}

struct Checker<'a> {
    dialect: Dialect,
    times: &'a [Slot],
    mistakes: Vec<Mistake>,
}

impl Checker<'_> {
    /// The kinds `condition` may have, of those in `allowed`; if none, that is a mistake, reported once.
    fn expect(
        &mut self,
        condition: &Condition,
        allowed: Kinds,
        operation: &'static str,
        expected: &'static str,
    ) -> Kinds {
        let found = self.kinds(condition);
        let common = found.and(allowed);
        if common.is_empty() && !found.is_empty() {
            let (place, found) = (condition.place(), found.names());
            self.mistakes.push(Mistake { place, operation, expected, found });
        }
        common
    }

    /// The kinds `condition` may have; none if it never has a value and that has been said.
    fn kinds(&mut self, condition: &Condition) -> Kinds {
        match condition.node() {
            Node::Literal(term) => kind_of(term),
            Node::Variable(slot) if self.times.contains(slot) => TIME,
            Node::Variable(_) => ANYTHING,
            Node::List(parts) => self.built(parts, LIST),
            Node::Tuple(parts) => self.built(parts, TUPLE),
            Node::Unary(UnaryOperator::Not, operand) => self.expect(operand, BOOL, "!", "a bool"),
            Node::Unary(UnaryOperator::Negate, operand) => {
                self.expect(operand, NUMBER.or(DURATION), "-", "a number")
            }
            Node::And(parts) => self.connective(parts, "&&"),
            Node::Or(parts) => self.connective(parts, "||"),
            Node::AndAlso(parts) => self.connective(parts, "andalso"),
            Node::OrElse(parts) => self.connective(parts, "orelse"),
            Node::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.expect(condition, BOOL, "?", "a bool");
                let then = self.kinds(then);
                then.or(self.kinds(otherwise))
            }
            Node::Binary(operator, operands) => self.binary(*operator, operands),
            Node::Member(record, _) => {
                self.expect(record, RECORD, ".", "a record");
                ANYTHING
            }
            Node::Index(parts) => {
                let [container, index] = &**parts;
                self.expect(container, LIST.or(TUPLE).or(RECORD), "[]", "a list, tuple or record");
                self.expect(index, INT.or(TEXT), "[]", "an int or a string");
                ANYTHING
            }
            Node::Matches(text, _) => {
                self.expect(text, TEXT, "matches", "a string");
                BOOL
            }
            Node::Call(function, args) => self.call(*function, args),
            // Guards know no predicates of a protocol.
            Node::External { args, .. } => self.built(args, ANYTHING),
        }
    }

    fn built(&mut self, parts: &[Condition], kind: Kinds) -> Kinds {
        for part in parts {
            self.kinds(part);
        }
        kind
    }

    fn connective(&mut self, parts: &[Condition], operation: &'static str) -> Kinds {
        for part in parts {
            self.expect(part, BOOL, operation, "a bool");
        }
        BOOL
    }

    fn binary(&mut self, operator: Operator, [left, right]: &[Condition; 2]) -> Kinds {
        use Operator as Op;
        let symbol = operator.symbol_in(self.dialect);
        match operator {
            Op::Equal | Op::NotEqual | Op::Identical | Op::NotIdentical => {
                self.kinds(left);
                self.kinds(right);
                BOOL
            }
            Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
                if self.dialect == Dialect::Native {
                    let ordered = NUMBER.or(TEXT).or(ATOM).or(BOOL).or(TIME).or(DURATION);
                    let left = self.expect(left, ordered, symbol, "numbers, strings or bools");
                    let same = if left.and(NUMBER).is_empty() { left } else { left.or(NUMBER) };
                    let same = if left.is_empty() { ordered } else { same };
                    self.expect(right, same, symbol, "two of one kind");
                } else {
                    self.kinds(left);
                    self.kinds(right);
                }
                BOOL
            }
            Op::In => {
                self.kinds(left);
                self.expect(right, LIST.or(RECORD), symbol, "a list or a record");
                BOOL
            }
            Op::StrictAnd | Op::StrictOr | Op::StrictXor => {
                self.expect(left, BOOL, symbol, "a bool");
                self.expect(right, BOOL, symbol, "a bool");
                BOOL
            }
            Op::Append => {
                self.expect(left, LIST, symbol, "a list");
                self.expect(right, LIST, symbol, "a list")
            }
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide if self.dialect != Dialect::Erlang => {
                let (one, two) = match operator {
                    Op::Add => ("numbers, strings or lists", "two of one kind"),
                    _ => ("a number", "a number"),
                };
                let all = || (0..13).map(|bit| Kinds(1 << bit));
                let fits =
                    |left: Kinds| all().filter(move |right| !result(operator, left, *right).is_empty());
                let some = |kinds: Kinds, kind: Kinds| !kinds.and(kind).is_empty();
                let lefts = all().filter(|left| fits(*left).next().is_some()).fold(NONE, Kinds::or);
                let left = self.expect(left, lefts, symbol, one);
                let known = if left.is_empty() { lefts } else { left };
                let rights = all().filter(|kind| some(known, *kind)).flat_map(fits).fold(NONE, Kinds::or);
                let right = self.expect(right, rights, symbol, two);
                let pairs = all().flat_map(|l| all().map(move |r| (l, r)));
                pairs
                    .filter(|(l, r)| some(left, *l) && some(right, *r))
                    .fold(NONE, |found, (l, r)| found.or(result(operator, l, r)))
            }
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide => {
                let left = self.expect(left, NUMBER, symbol, "a number");
                left.or(self.expect(right, NUMBER, symbol, "a number"))
            }
            Op::FloatDivide => {
                self.expect(left, NUMBER, symbol, "a number");
                self.expect(right, NUMBER, symbol, "a number");
                FLOAT
            }
            Op::IntDivide | Op::Remainder => {
                self.expect(left, INT, symbol, "an int");
                self.expect(right, INT, symbol, "an int");
                INT
            }
        }
    }

    fn call(&mut self, function: Function, args: &[Condition]) -> Kinds {
        use Function as F;
        let name = function.name_in(self.dialect);
        let (allowed, expected, result) = match function {
            F::Size => (TEXT.or(LIST).or(TUPLE).or(RECORD), "a string, list, tuple or record", INT),
            F::Length => (LIST, "a list", INT),
            F::TupleSize => (TUPLE, "a tuple", INT),
            F::Head => (LIST, "a list", ANYTHING),
            F::Tail => (LIST, "a list", LIST),
            F::Element => {
                if let [index, tuple] = args {
                    self.expect(index, INT, name, "an int");
                    self.expect(tuple, TUPLE, name, "a tuple");
                }
                return ANYTHING;
            }
            F::StartsWith | F::EndsWith | F::Contains | F::Matches => (TEXT, "a string", BOOL),
            F::Int => (NUMBER.or(TEXT), "a number or a string", INT),
            F::Round => (NUMBER, "a number", INT),
            F::Float => (NUMBER.or(TEXT), "a number or a string", FLOAT),
            F::String => (BOOL.or(NUMBER).or(TEXT), "a bool, number or string", TEXT),
            F::Abs => (NUMBER, "a number", NUMBER),
            F::Min | F::Max if self.dialect == Dialect::Native => {
                (NUMBER.or(TEXT).or(BOOL), "numbers, strings or bools", ANYTHING)
            }
            F::Min | F::Max => (ANYTHING, "anything", ANYTHING),
            F::Time if args.len() == 2 => {
                if let [time, format] = args {
                    self.expect(time, NUMBER.or(TEXT), name, "a number or a string");
                    self.expect(format, TEXT, name, "the name of a format, or directives");
                    if let Node::Literal(Value::String(text)) = format.node()
                        && !time::is_format(text)
                    {
                        self.mistakes.push(Mistake {
                            place: format.place(),
                            operation: name,
                            expected: time::NAMED,
                            found: "string".to_owned(),
                        });
                    }
                }
                return TIME;
            }
            F::Time => (NUMBER.or(TEXT).or(TIME), "a number or a string", TIME),
            F::IsAtom
            | F::IsBoolean
            | F::IsText
            | F::IsRecord
            | F::IsInteger
            | F::IsFloat
            | F::IsNumber
            | F::IsList
            | F::IsTuple
            | F::IsPid
            | F::IsReference => (ANYTHING, "anything", BOOL),
        };
        for arg in args {
            self.expect(arg, allowed, name, expected);
        }
        result
    }
}

const NONE: Kinds = Kinds(0);

/// The kind of what arithmetic makes of two kinds, each a single one; none if it does not apply.
fn result(operator: Operator, left: Kinds, right: Kinds) -> Kinds {
    use Operator as Op;
    let is_number = |kind: Kinds| !kind.and(NUMBER).is_empty();
    match operator {
        _ if is_number(left) && is_number(right) => left.or(right),
        Op::Add if left == right && (left == TEXT || left == LIST) => left,
        Op::Add if (left, right) == (TIME, DURATION) || (left, right) == (DURATION, TIME) => TIME,
        Op::Subtract if (left, right) == (TIME, DURATION) => TIME,
        Op::Subtract if (left, right) == (TIME, TIME) => DURATION,
        Op::Add | Op::Subtract if (left, right) == (DURATION, DURATION) => DURATION,
        Op::Multiply if left == DURATION && is_number(right) || is_number(left) && right == DURATION => {
            DURATION
        }
        Op::Divide if left == DURATION && is_number(right) => DURATION,
        _ => NONE,
    }
}

fn kind_of(term: &Value) -> Kinds {
    match term.view() {
        Term::Absent | Term::Null => NULL,
        Term::Bool(_) => BOOL,
        Term::Int(_) | Term::Big(_) => INT,
        Term::Float(_) => FLOAT,
        Term::Text(_) => TEXT,
        Term::Bytes(_) | Term::Opaque(_) => BYTES,
        Term::Atom(_) => ATOM,
        Term::Pid(_) | Term::Reference(_) => IDENTIFIER,
        Term::Tuple(_) => TUPLE,
        Term::List(_) => LIST,
        Term::Record(_) => RECORD,
        Term::Time(_) => TIME,
        Term::Duration(_) => DURATION,
    }
}
