//! Assertions of a protocol: each way to be wrong, and whose monitor enforces what.

use std::sync::Arc;

use referee_theory::assertion::{AssertionError, Assertions, Enforcement};
use referee_theory::expr::{Expr, Literal, Node, Operator, Place, Scope};
use referee_theory::global::{Call, Exchange, Parameter, Rec};
use referee_theory::{
    Branch, Field, Global, GlobalType, GlobalTypeBuilder, Message, MessageSpec, NodeId, Origin, Role, Type,
    Vocabulary,
};

/// Builds a protocol from the back. Each message has its own origin.
struct Protocol {
    names: Vocabulary,
    builder: GlobalTypeBuilder,
}

const NONE: Origin = Origin::NONE;

fn variable(name: &str) -> Expr {
    Expr::variable(name)
}

fn int(value: i64) -> Expr {
    Expr::literal(Literal::Int(value))
}

fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    Expr::new(Node::Binary(operator, Box::new([left, right])), Place::NONE).unwrap()
}

fn equal(left: Expr, right: Expr) -> Expr {
    binary(Operator::Equal, left, right)
}

impl Protocol {
    fn new() -> Self {
        let mut names = Vocabulary::new();
        for role in ["a", "b", "c", "d"] {
            names.add_role(role);
        }
        Self { names, builder: GlobalTypeBuilder::new() }
    }

    fn role(&self, name: &str) -> Role {
        self.names.find_role(name).unwrap()
    }

    fn message(&mut self, label: &str, fields: &[(&str, Type)], assertion: Option<Expr>) -> Message {
        let label = self.names.add_label(label);
        let field = |(name, ty): &(&str, Type)| Field { name: Some((*name).into()), ty: ty.clone() };
        let fields = fields.iter().map(field).collect();
        self.names.add_message(MessageSpec::new(label, fields, assertion.map(Arc::new)))
    }

    /// `label(fields) from … to … where assertion`, its origin `origin`.
    fn send(
        &mut self,
        (from, to): (&str, &str),
        (label, origin): (&str, u32),
        fields: &[(&str, Type)],
        assertion: Option<Expr>,
        next: NodeId,
    ) -> NodeId {
        let message = self.message(label, fields, assertion);
        let branch = Branch { receiver: self.role(to), message, next, origin: Origin(origin) };
        self.choice(from, vec![branch])
    }

    fn choice(&mut self, from: &str, branches: Vec<Branch>) -> NodeId {
        let sender = self.role(from);
        self.builder.exchange(sender, branches, NONE)
    }

    fn branch(
        &mut self,
        to: &str,
        label: &str,
        origin: u32,
        fields: &[(&str, Type)],
        next: NodeId,
    ) -> Branch {
        let message = self.message(label, fields, None);
        Branch { receiver: self.role(to), message, next, origin: Origin(origin) }
    }

    fn end(&mut self) -> NodeId {
        self.builder.end()
    }

    /// `rec X [name<roles>: ty = initial] { … }`.
    fn rec(&mut self, node: NodeId, parameters: Vec<Parameter>, body: NodeId) {
        let rec = Rec { name: "X".into(), level: 0, parameters, body, origin: Origin(900) };
        self.builder.set(node, Global::Rec(rec));
    }

    fn continue_with(&mut self, target: NodeId, arguments: Vec<Expr>) -> NodeId {
        let arguments = arguments.into_iter().map(Arc::new).collect();
        self.builder.add(Global::Call(Call { target, arguments, origin: Origin(901) }))
    }

    fn finish(self, root: NodeId) -> GlobalType {
        self.builder.finish(Arc::new(self.names), root).unwrap()
    }

    fn check(self, root: NodeId) -> (GlobalType, Assertions) {
        let global = self.finish(root);
        let checked = global.check_assertions(&Scope::new());
        (global, checked)
    }
}

fn parameter(name: &str, roles: &[Role], ty: Type, initial: Expr) -> Parameter {
    Parameter {
        name: name.into(),
        roles: roles.to_vec(),
        ty,
        initial: Arc::new(initial),
        refinement: None,
        origin: Origin(800),
    }
}

/// The only enforcement there is, as (sender, receiver).
fn enforcement(checked: &Assertions) -> (bool, bool) {
    assert!(checked.errors.is_empty(), "{:?}", checked.errors);
    let [Enforcement { sender, receiver, .. }] = checked.enforcement.as_slice() else {
        panic!("{:?}", checked.enforcement);
    };
    (*sender, *receiver)
}

#[test]
fn both_know_what_the_message_itself_carries() {
    let mut p = Protocol::new();
    let end = p.end();
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], Some(equal(variable("x"), int(1))), end);
    assert_eq!(enforcement(&p.check(root).1), (true, true));
}

#[test]
fn only_the_sender_knows() {
    // a to b: x; then a to c, over x.
    let mut p = Protocol::new();
    let end = p.end();
    let then = p.send(("a", "c"), ("m", 1), &[], Some(equal(variable("x"), int(1))), end);
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], None, then);
    let (global, checked) = p.check(root);
    assert_eq!(enforcement(&checked), (true, false));
    let (node, branch) = checked.enforcement[0].branch;
    let Global::Exchange(Exchange { branches, .. }) = global.node(node) else { panic!("no exchange") };
    assert_eq!(branches[branch].origin, Origin(1));
}

#[test]
fn only_the_receiver_knows() {
    let mut p = Protocol::new();
    let end = p.end();
    let then = p.send(("c", "b"), ("m", 1), &[], Some(equal(variable("x"), int(1))), end);
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], None, then);
    assert_eq!(enforcement(&p.check(root).1), (false, true));
}

#[test]
fn nobody_can_check() {
    let mut p = Protocol::new();
    let end = p.end();
    let then =
        p.send(("c", "d"), ("m", 1), &[("y", Type::Int)], Some(equal(variable("x"), variable("y"))), end);
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], None, then);
    let (c, d) = (p.role("c"), p.role("d"));
    let (_, checked) = p.check(root);
    let [AssertionError::NobodyCanCheck { sender, receiver, .. }] = checked.errors.as_slice() else {
        panic!("{:?}", checked.errors);
    };
    assert_eq!((sender, receiver), (&(c, vec!["x".into()]), &(d, vec!["x".into()])));
    assert!(checked.enforcement.is_empty());
}

/// The sender lacks one variable, the receiver another.
#[test]
fn each_knows_half() {
    let mut p = Protocol::new();
    let end = p.end();
    let both = equal(variable("x"), variable("y"));
    let then = p.send(("a", "b"), ("n", 2), &[], Some(both), end);
    let then = p.send(("b", "c"), ("m", 1), &[("y", Type::Int)], None, then);
    let root = p.send(("a", "c"), ("l", 0), &[("x", Type::Int)], None, then);
    let (_, checked) = p.check(root);
    let [AssertionError::NobodyCanCheck { sender, receiver, .. }] = checked.errors.as_slice() else {
        panic!("{:?}", checked.errors);
    };
    assert_eq!((sender.1.clone(), receiver.1.clone()), (vec!["y".into()], vec!["x".into()]));
}

#[test]
fn ill_typed() {
    let mut p = Protocol::new();
    let end = p.end();
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::String)], Some(equal(variable("x"), int(1))), end);
    let (_, checked) = p.check(root);
    assert!(matches!(checked.errors.as_slice(), [AssertionError::Type(_)]), "{:?}", checked.errors);
}

#[test]
fn not_a_condition() {
    let mut p = Protocol::new();
    let end = p.end();
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], Some(variable("x")), end);
    assert!(matches!(p.check(root).1.errors.as_slice(), [AssertionError::Type(_)]));
}

#[test]
fn a_variable_that_is_never_bound() {
    let mut p = Protocol::new();
    let end = p.end();
    let root = p.send(("a", "b"), ("l", 0), &[], Some(equal(variable("x"), int(1))), end);
    assert!(matches!(p.check(root).1.errors.as_slice(), [AssertionError::Type(_)]));
}

/// A message binds its variables after it is sent: what comes before does not see them.
#[test]
fn a_variable_that_is_bound_later() {
    let mut p = Protocol::new();
    let end = p.end();
    let later = p.send(("a", "b"), ("m", 1), &[("x", Type::Int)], None, end);
    let root = p.send(("a", "b"), ("l", 0), &[], Some(equal(variable("x"), int(1))), later);
    assert!(matches!(p.check(root).1.errors.as_slice(), [AssertionError::Type(_)]));
}

/// Two branches, one of which binds x, then a message over x.
fn bound_in_branches(left: &[(&str, Type)], right: &[(&str, Type)]) -> Assertions {
    let mut p = Protocol::new();
    let end = p.end();
    let then = p.send(("a", "b"), ("n", 9), &[], Some(equal(variable("x"), int(1))), end);
    let left = p.branch("b", "l", 1, left, then);
    let right = p.branch("b", "r", 2, right, then);
    let root = p.choice("a", vec![left, right]);
    p.check(root).1
}

#[test]
fn bound_on_one_way_only() {
    let checked = bound_in_branches(&[("x", Type::Int)], &[]);
    let [AssertionError::MaybeUnbound { variable, bound, .. }] = checked.errors.as_slice() else {
        panic!("{:?}", checked.errors);
    };
    assert_eq!((&**variable, *bound), ("x", Origin(1)));
}

#[test]
fn bound_with_different_types() {
    let checked = bound_in_branches(&[("x", Type::Int)], &[("x", Type::String)]);
    let [AssertionError::Ambiguous { variable, left, right, .. }, ..] = checked.errors.as_slice() else {
        panic!("{:?}", checked.errors);
    };
    assert_eq!(&**variable, "x");
    let mut places = [(left.1, &left.0), (right.1, &right.0)];
    places.sort();
    assert_eq!(places, [(Origin(1), &Type::Int), (Origin(2), &Type::String)]);
}

#[test]
fn bound_on_both_ways() {
    let checked = bound_in_branches(&[("x", Type::Int)], &[("x", Type::Int)]);
    assert_eq!(enforcement(&checked), (true, true));
}

/// The nearest binding counts: x of d to c hides x of a to b.
#[test]
fn rebinding_hides() {
    let mut p = Protocol::new();
    let end = p.end();
    let then = p.send(("a", "b"), ("n", 2), &[], Some(equal(variable("x"), int(1))), end);
    let then = p.send(("d", "c"), ("m", 1), &[("x", Type::Int)], None, then);
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], None, then);
    assert!(matches!(p.check(root).1.errors.as_slice(), [AssertionError::NobodyCanCheck { .. }]));
}

/// A loop that rebinds x to other roles: from the second round on, a no longer knows it.
#[test]
fn a_loop_that_rebinds() {
    let mut p = Protocol::new();
    let definition = p.builder.reserve();
    let again = p.builder.call(definition, NONE);
    let then = p.send(("b", "c"), ("m", 2), &[("x", Type::Int)], None, again);
    let body = p.send(("a", "b"), ("l", 1), &[], Some(equal(variable("x"), int(1))), then);
    p.rec(definition, Vec::new(), body);
    let root = p.send(("a", "b"), ("k", 0), &[("x", Type::Int)], None, definition);
    // b knows it either way, a only in the first round.
    assert_eq!(enforcement(&p.check(root).1), (false, true));
}

/// A loop that binds x at its end: in the first round there is none.
#[test]
fn a_loop_that_binds_too_late() {
    let mut p = Protocol::new();
    let definition = p.builder.reserve();
    let again = p.builder.call(definition, NONE);
    let then = p.send(("a", "b"), ("m", 2), &[("x", Type::Int)], None, again);
    let body = p.send(("a", "b"), ("l", 1), &[], Some(equal(variable("x"), int(1))), then);
    p.rec(definition, Vec::new(), body);
    let errors = p.check(definition).1.errors;
    assert!(
        matches!(errors.as_slice(), [AssertionError::MaybeUnbound { bound: Origin(2), .. }]),
        "{errors:?}"
    );
}

/// Data carried around a loop: `rec X [t<b>: int = 0] { a to b over t; continue X [t + 1] }`.
fn counting(roles: &[&str], initial: Expr, next: Vec<Expr>) -> Assertions {
    let mut p = Protocol::new();
    let roles: Vec<Role> = roles.iter().map(|role| p.role(role)).collect();
    let definition = p.builder.reserve();
    let again = p.continue_with(definition, next);
    let check = equal(variable("t"), variable("x"));
    let body = p.send(("a", "b"), ("l", 1), &[("x", Type::Int)], Some(check), again);
    p.rec(definition, vec![parameter("t", &roles, Type::Int, initial)], body);
    let root = p.send(("a", "c"), ("k", 0), &[("y", Type::Int)], None, definition);
    p.check(root).1
}

#[test]
fn who_knows_recursion_data() {
    let next = || vec![binary(Operator::Add, variable("t"), int(1))];
    assert_eq!(enforcement(&counting(&["b"], int(0), next())), (false, true));
    assert_eq!(enforcement(&counting(&[], int(0), next())), (true, true));
    // Unchanged values need not be given.
    assert_eq!(enforcement(&counting(&["a"], int(0), Vec::new())), (true, false));
}

#[test]
fn recursion_data_that_cannot_be_computed() {
    // b does not know y, of a to c.
    let checked = counting(&["b"], variable("y"), Vec::new());
    let [AssertionError::CannotCompute { unknown, .. }] = checked.errors.as_slice() else {
        panic!("{:?}", checked.errors);
    };
    assert_eq!(unknown, &[Arc::from("y")]);
    // a does. x is known to both when the loop goes on.
    assert_eq!(enforcement(&counting(&["a"], variable("y"), vec![variable("x")])), (true, false));
}

#[test]
fn recursion_data_of_the_wrong_number_or_type() {
    let checked = counting(&["b"], int(0), vec![int(1), int(2)]);
    assert!(
        matches!(
            checked.errors.as_slice(),
            [AssertionError::WrongNumberOfValues {
                call: Origin(901),
                definition: Origin(900),
                expected: 1,
                found: 2
            }]
        ),
        "{:?}",
        checked.errors
    );
    let checked = counting(&["b"], Expr::literal(Literal::Bool(true)), Vec::new());
    let [AssertionError::WrongTypeOfValue { declared: Origin(800), expected, found, .. }] =
        checked.errors.as_slice()
    else {
        panic!("{:?}", checked.errors);
    };
    assert_eq!((expected, found), (&Type::Int, &Type::Bool));
}

/// An initial value is computed on entry: what the loop binds later does not reach it.
#[test]
fn initial_values_are_computed_on_entry_only() {
    let mut p = Protocol::new();
    let (a, definition) = (p.role("a"), p.builder.reserve());
    let again = p.builder.call(definition, NONE);
    let check = equal(variable("t"), int(1));
    let body = p.send(("a", "b"), ("l", 1), &[("y", Type::String)], Some(check), again);
    p.rec(definition, vec![parameter("t", &[a], Type::Int, variable("y"))], body);
    let root = p.send(("a", "b"), ("k", 0), &[("y", Type::Int)], None, definition);
    assert_eq!(enforcement(&p.check(root).1), (true, false));
}

#[test]
fn undeclared_predicates_are_reported() {
    let mut p = Protocol::new();
    let end = p.end();
    let args: Box<[Expr]> = Box::new([variable("x")]);
    let predicate = Expr::new(Node::External { name: "valid".into(), args }, Place::NONE).unwrap();
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], Some(predicate), end);
    let global = p.finish(root);
    let inferred = global.check_assertions(&Scope::new().inferring());
    assert_eq!(enforcement(&inferred), (true, true));
    assert_eq!((inferred.inferred.len(), &*inferred.inferred[0].name), (1, "valid"));
    let unknown = global.check_assertions(&Scope::new());
    assert!(matches!(unknown.errors.as_slice(), [AssertionError::Type(_)]), "{:?}", unknown.errors);
}

#[test]
fn nothing_to_check() {
    let mut p = Protocol::new();
    let end = p.end();
    let root = p.send(("a", "b"), ("l", 0), &[("x", Type::Int)], None, end);
    let (_, checked) = p.check(root);
    assert!(checked.errors.is_empty() && checked.enforcement.is_empty() && checked.inferred.is_empty());
}
