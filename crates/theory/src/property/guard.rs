//! Guards: conditions over the variables of a property.
//!
//! What an event carries has no declared type, so guards are evaluated over terms as they come, in one of two
//! dialects: the assertion language (CEL), or Erlang's guards. Both are expressions over slots, [`Condition`].
//! Where an operation does not apply to what it is given, the guard has no value, and a guard without a value does not
//! hold: the event does not match. [`Guard::mistakes`] finds the operations that cannot apply to anything.
//!
//! | written | assertion language | Erlang |
//! |---|---|---|
//! | equality | `==` `!=`: numbers by value | `=:=` `=/=` exact; `==` `/=` numbers by value |
//! | order | `<` …: two numbers, two strings, two bools; else no value | `<` …: Erlang's order of all terms |
//! | connectives | `&&` <code>&#124;&#124;</code>: an operand that decides does, whatever the others are | `andalso` `orelse`: left to right; `and` `or`: both; `,` and `;` as in Erlang |
//! | arithmetic | ints and floats mix; `/` of ints is integral | ints and floats mix; `/` is a float; `div`, `rem`; `band`, `bor`, `bxor`, `bsl`, `bsr` are not known |
//! | atoms | equal the strings that spell them: `x == "ok"` | `ok`, `'ok'` |
//! | tuples | none | `{A, B}` |
//!
//! Integers are computed with 128 bits; what needs more has no value.

mod mistakes;

pub use mistakes::Mistake;

use super::Slot;
use super::pattern::Environment;
use crate::expr::{self, Computed, Dialect, Expr, Function, Node, Variables};
use crate::value::Value;

/// A condition over slots, and how it is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// Whose rules apply.
    pub dialect: Dialect,
    /// What must hold.
    pub condition: Condition,
}

/// An expression over slots.
pub type Condition = Expr<Slot>;

/// Slots as the variables of an expression.
struct Slots<'e, E: ?Sized>(&'e E);

impl<E: Environment + ?Sized> Variables<Slot> for Slots<'_, E> {
    #[inline]
    fn value(&self, variable: &Slot) -> Option<Computed<'_>> {
        self.0.get(*variable).map(Computed::Term)
    }

    fn name(&self, variable: &Slot) -> std::sync::Arc<str> {
        variable.0.to_string().into()
    }
}

/// What `condition` is, if that depends on no variable.
#[must_use]
pub fn constant(condition: &Condition) -> Option<Value> {
    let nothing: &[Option<Value>] = &[];
    expr::guard_value(Dialect::Native, condition, &Slots(nothing)).map(Computed::into_value)
}

impl Guard {
    /// Whether the guard is true under `environment`; nothing if it has no value.
    #[inline]
    #[must_use]
    pub fn truth(&self, environment: &(impl Environment + ?Sized)) -> Option<bool> {
        expr::truth(self.dialect, &self.condition, &Slots(environment))
    }

    /// Whether it computes with times or durations.
    #[must_use]
    pub fn is_about_time(&self, times: &[Slot]) -> bool {
        fn any(condition: &Condition, times: &[Slot]) -> bool {
            let own = match condition.node() {
                Node::Literal(Value::Time(_) | Value::Duration(_)) | Node::Call(Function::Time, _) => true,
                Node::Variable(slot) => times.contains(slot),
                _ => false,
            };
            own || condition.node().children().iter().any(|part| any(part, times))
        }
        any(&self.condition, times)
    }

    /// Whether the guard has the value `true` under `environment`.
    #[must_use]
    pub fn holds(&self, environment: &(impl Environment + ?Sized)) -> bool {
        expr::truth(self.dialect, &self.condition, &Slots(environment)) == Some(true)
    }

    /// Whether the guard is `false` whatever the slots hold that `environment` does not know.
    #[must_use]
    pub(crate) fn is_refuted(&self, environment: &dyn Environment) -> bool {
        expr::truth(self.dialect, &self.condition, &Slots(environment)) == Some(false)
    }

    /// Adds the slots it reads to `slots`.
    pub fn slots(&self, slots: &mut Vec<Slot>) {
        self.condition.variables(&mut |slot| slots.push(*slot));
    }
}
