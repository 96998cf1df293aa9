//! The protocols that are measured, built without text so that the figures are those of this crate alone.

use std::sync::Arc;

use referee_monitor::{Monitor, Registry};
use referee_theory::expr::{Expr, Literal, Node, Operator, Place};
use referee_theory::{
    Action, Field, MachineBuilder, MessageSpec, Origin, Role, State, Transition, Type, Vocabulary,
};

/// What the messages of a protocol assert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asserts {
    /// Nothing.
    Nothing,
    /// `n > 0` of the request's own field.
    Own,
    /// `m == n` between the reply and the request: `n` is kept.
    Kept,
}

/// `rec X.!Add(n: T).&{?Sum(m: T).X, ?Error(code: int).X}` with a few more labels around, and `Quit` to end.
pub(crate) fn calculator(ty: &Type, asserts: Asserts) -> Monitor {
    let mut vocabulary = Vocabulary::new();
    let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
    let compare = |operator, left, right| {
        let node = Node::Binary(operator, Box::new([left, right]));
        Expr::new(node, Place::NONE).ok().map(Arc::new)
    };
    let own = compare(Operator::Greater, Expr::variable("n"), Expr::literal(Literal::Int(0)));
    let kept = compare(Operator::Equal, Expr::variable("m"), Expr::variable("n"));
    let mut message = |label: &str, field: Option<(&str, &Type)>, assertion: Option<Arc<Expr>>| {
        let label = vocabulary.add_label(label);
        let fields = field.map(|(name, ty)| Field { name: Some(name.into()), ty: ty.clone() });
        vocabulary.add_message(MessageSpec::new(label, fields.into_iter().collect(), assertion))
    };
    let add = message("Add", Some(("n", ty)), own.filter(|_| asserts == Asserts::Own));
    let subtract = message("Subtract", Some(("n", ty)), None);
    let quit = message("Quit", None, None);
    let sum = message("Sum", Some(("m", ty)), kept.filter(|_| asserts == Asserts::Kept));
    let error = message("Error", Some(("code", &Type::Int)), None);
    let mut machine = MachineBuilder::new(client);
    let (ask, answer, end) = (machine.add_state(), machine.add_state(), machine.add_state());
    let mut step = |source: State, action, peer: Role, message, target| {
        machine.add_transition(source, Transition { action, peer, message, target, origin: Origin::NONE });
    };
    step(ask, Action::Send, server, add, answer);
    step(ask, Action::Send, server, subtract, answer);
    step(ask, Action::Send, server, quit, end);
    step(answer, Action::Receive, server, sum, ask);
    step(answer, Action::Receive, server, error, ask);
    match Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new()) {
        Ok(monitor) => monitor,
        Err(error) => unreachable!("{error}"),
    }
}
