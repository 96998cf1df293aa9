//! Which part of an assertion is to blame for its being false, found with the slow evaluator.

use referee_theory::expr::{Bindings, Expr, Externals, Node, UnaryOperator, Value, eval, written_name};
use referee_theory::{Field, Transition};

use super::AssertionFailure;
use crate::event::{FieldValue, Payload};
use crate::monitor::Monitor;
use crate::registry::Argument;
use crate::session::Session;

impl Monitor {
    /// What is wrong with the assertion of `transition`, a message of `state`; nothing if it holds after all.
    pub(super) fn assertion_failure(
        &self,
        session: &Session,
        transition: &Transition,
        state: u32,
        payload: &Payload<'_>,
    ) -> Option<AssertionFailure> {
        let spec = self.vocabulary.spec(transition.message);
        let known = Known { monitor: self, session, state, own: &spec.fields, payload };
        let asserted =
            spec.assertion.as_ref().and_then(|assertion| Some((assertion, locate(assertion, &known)?)));
        // Otherwise recursion data have no value.
        let (assertion, failing) = asserted.or_else(|| {
            let mut values = spec.updates.iter().map(|update| &update.value);
            values.find_map(|value| {
                let error = eval(value, &known, &known).err()?;
                Some((value, source(value, &known, &error)))
            })
        })?;
        let error = eval(failing, &known, &known).err().map(|error| error.to_string());
        let values = failing.free_variables().into_iter();
        Some(AssertionFailure {
            assertion: assertion.to_string(),
            place: assertion.place(),
            failing: failing.to_string(),
            failing_place: failing.place(),
            error,
            values: values
                .filter_map(|name| Some((written_name(name).into(), known.variable(name)?)))
                .collect(),
        })
    }
}

/// The smallest part of `expr` that makes it not true: a false conjunct, a branch that was taken, the
/// operation that has no value.
fn locate<'a>(expr: &'a Expr, known: &Known<'_>) -> Option<&'a Expr> {
    match eval(expr, known, known) {
        Ok(Value::Bool(true)) => None,
        Err(error) => Some(source(expr, known, &error)),
        Ok(_) => match expr.node() {
            Node::And(operands) => {
                let is_false = |operand: &&Expr| eval(operand, known, known) == Ok(Value::Bool(false));
                operands.iter().find(is_false).and_then(|operand| locate(operand, known)).or(Some(expr))
            }
            Node::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                let taken =
                    if eval(condition, known, known) == Ok(Value::Bool(true)) { then } else { otherwise };
                locate(taken, known).or(Some(expr))
            }
            Node::Unary(UnaryOperator::Not, operand) => match operand.node() {
                // What is wrong with `!!a` is what is wrong with `a`.
                Node::Unary(UnaryOperator::Not, inner) => locate(inner, known).or(Some(expr)),
                _ => Some(expr),
            },
            _ => Some(expr),
        },
    }
}

/// The deepest part of `expr` that fails with `error`.
fn source<'a>(expr: &'a Expr, known: &Known<'_>, error: &referee_theory::expr::EvalError) -> &'a Expr {
    let fails = |child: &&Expr| eval(child, known, known).as_ref() == Err(error);
    match expr.node().children().iter().find(fails) {
        Some(child) => source(child, known, error),
        None => expr,
    }
}

/// The values that the assertion saw.
struct Known<'a> {
    monitor: &'a Monitor,
    session: &'a Session,
    state: u32,
    own: &'a [Field],
    payload: &'a Payload<'a>,
}

impl Bindings for Known<'_> {
    fn variable(&self, name: &str) -> Option<Value> {
        if let Some(index) = self.own.iter().position(|field| field.name.as_deref() == Some(name)) {
            let field = &self.own[index];
            let value = self.payload.field(index, field.name.as_ref()).unwrap_or(&FieldValue::Unit);
            return value.to_value(&field.ty);
        }
        let variable = self.monitor.layout.live(self.state).find(|variable| *variable.name == *name)?;
        Some(self.session.value(variable.slot, &variable.ty))
    }
}

impl Externals for Known<'_> {
    fn call(&self, name: &str, args: &[Value]) -> Result<Value, String> {
        let index = self.monitor.predicate_names.iter().position(|known| **known == *name);
        let predicate = index.and_then(|index| self.monitor.predicates.get(index)).ok_or("it is missing")?;
        let args: Vec<_> = args
            .iter()
            .map(|value| match value {
                Value::Opaque(text) => Argument::Text(text),
                other => other.view(),
            })
            .collect();
        let answer = predicate.call(&args)?;
        let wanted = &predicate.signature().result;
        if answer.has_type(wanted) {
            Ok(answer)
        } else {
            Err(format!("it answered with a {} instead of `{wanted}`", answer.kind()))
        }
    }
}
