//! Assertions of a global type: are they well typed, and which role's monitor can enforce each.
//!
//! A variable is bound by the message field (or the recursion parameter) of its name that was passed last.
//! Which ones may have been last is found per variable by walking back from its uses to its bindings, so the
//! cost is the distance between them, not the size of the protocol.
//!
//! A role knows a variable if it sent or received the message that bound it. An assertion is enforced at the
//! sender if the sender knows all its variables, and at the receiver likewise; if neither does, nobody can. The
//! time of a message is its sender's business: see `times`.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::expr::{self, Environment, Expr, InferredExternal, Lookup, Scope, TypeError};
use crate::global::{Global, GlobalType, NodeId, Parameter};
use crate::payload::Type;
use crate::vocabulary::{Field, Origin, Role};

mod blocks;
mod reaching;
mod times;

use reaching::{Reaching, Roles, Sought};

/// A branch of an exchange: the node and the index of the branch.
pub type BranchId = (NodeId, usize);

/// What was found out about the assertions of a protocol.
#[derive(Clone, Debug, Default)]
pub struct Assertions {
    /// Who enforces each assertion, in the order of the nodes.
    pub enforcement: Vec<Enforcement>,
    /// What is wrong with them.
    pub errors: Vec<AssertionError>,
    /// Predicates that are called without being declared.
    pub inferred: Vec<InferredExternal>,
}

/// Whose monitors enforce the assertion of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// The branch.
    pub branch: BranchId,
    /// Whether the sender's monitor does.
    pub sender: bool,
    /// Whether the receiver's monitor does.
    pub receiver: bool,
}

/// What is wrong with an assertion, or with the data of a recursion.
#[derive(Clone, Debug)]
pub enum AssertionError {
    /// It is not well typed.
    Type(TypeError),
    /// A variable is bound with different types on different ways.
    Ambiguous {
        /// The expression that uses it.
        expr: Arc<Expr>,
        /// The variable.
        variable: Arc<str>,
        /// One type, and where it is bound so.
        left: (Type, Origin),
        /// Another.
        right: (Type, Origin),
    },
    /// A variable is bound on some ways only.
    MaybeUnbound {
        /// The expression that uses it.
        expr: Arc<Expr>,
        /// The variable.
        variable: Arc<str>,
        /// Where it is bound.
        bound: Origin,
    },
    /// Neither sender nor receiver knows all variables.
    NobodyCanCheck {
        /// The assertion.
        expr: Arc<Expr>,
        /// The sender, and what it does not know.
        sender: (Role, Vec<Arc<str>>),
        /// The receiver, and what it does not know.
        receiver: (Role, Vec<Arc<str>>),
    },
    /// A role that carries recursion data cannot compute its next value.
    CannotCompute {
        /// The value.
        expr: Arc<Expr>,
        /// The role.
        role: Role,
        /// What it does not know.
        unknown: Vec<Arc<str>>,
    },
    /// A role cannot know a value of recursion data: what it sees does not tell which one it is.
    CannotFollow {
        /// The role.
        role: Role,
        /// The variable.
        variable: Arc<str>,
        /// Where it is declared.
        declared: Origin,
        /// The last message that the role sees; none at the beginning.
        after: Origin,
        /// Whether there were too many cases to find out.
        too_large: bool,
    },
    /// A time that is no number of seconds.
    NotATime {
        /// The time.
        expr: Arc<Expr>,
        /// What is wrong with it.
        reason: NotATimeReason,
    },
    /// The sender of a message does not know what its time is.
    UnknownTime {
        /// The time.
        expr: Arc<Expr>,
        /// The sender.
        role: Role,
        /// What it does not know.
        unknown: Vec<Arc<str>>,
    },
    /// `within … of LABEL`, where it is not certain that the sender saw such a message.
    NoBeginning {
        /// The time.
        expr: Arc<Expr>,
        /// The label.
        label: Arc<str>,
        /// The sender of the message that has the time.
        role: Role,
        /// A last message with the label that this role neither sends nor receives; none if there is a way without one.
        unseen: Option<Origin>,
    },
    /// A variable is bound in two blocks of a `par`.
    BoundInTwoBlocks {
        /// The variable.
        variable: Arc<str>,
        /// One place that binds it.
        first: Origin,
        /// The other.
        second: Origin,
    },
    /// A block of a `par` reads a variable that another block binds.
    ReadsOtherBlock {
        /// The expression that reads it.
        expr: Arc<Expr>,
        /// The variable.
        variable: Arc<str>,
        /// Where it is bound.
        bound: Origin,
    },
    /// A message in a block of a `par` has a time.
    TimeInBlock {
        /// The time.
        expr: Arc<Expr>,
        /// The `par`.
        par: Origin,
    },
    /// A protocol has recursion data and a `par`.
    DataWithPar {
        /// Where the data are declared.
        declared: Origin,
        /// The `par`.
        par: Origin,
    },
    /// A recursion is continued with the wrong number of values.
    WrongNumberOfValues {
        /// The call.
        call: Origin,
        /// The definition.
        definition: Origin,
        /// How many values it carries.
        expected: usize,
        /// How many are given.
        found: usize,
    },
    /// A recursion is entered or continued with a value of the wrong type.
    WrongTypeOfValue {
        /// The value.
        expr: Arc<Expr>,
        /// Where the type is declared.
        declared: Origin,
        /// That type.
        expected: Type,
        /// The value's type.
        found: Type,
    },
}

/// Why an expression is no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotATimeReason {
    /// A variable that is no number, and its type.
    Variable(Arc<str>, Type),
    /// It has another type.
    Type(Type),
    /// It calls a predicate.
    Calls(Arc<str>),
    /// A constant 0, or a negative one.
    Zero,
}

impl GlobalType {
    /// Checks all assertions and recursion data, given the declared predicates in `declared`.
    #[must_use]
    pub fn check_assertions(&self, declared: &Scope) -> Assertions {
        let mut result = Assertions::default();
        let uses = self.uses(&mut result.errors);
        if self.pars().next().is_some() {
            blocks::check(self, &uses, &mut result.errors);
        }
        let sought = uses
            .iter()
            .flat_map(|one| one.outer_variables().map(|variable| (Sought::Variable(variable), one.node)));
        let reaching = reaching::all(self, sought);
        let mut checker = Checker { global: self, scope: declared.clone(), result };
        let mut found = reaching.into_iter();
        for one in &uses {
            let environment = checker.environment(one, &mut found);
            match one.place {
                Place::Branch(index) => checker.branch(one, index, environment),
                Place::Parameter(parameter) => checker.value(one, parameter, environment),
                Place::Time => checker.time(one, environment),
            }
        }
        if self.vocabulary().is_timed() {
            checker.beginnings();
        }
        checker.result
    }

    /// Every expression of the protocol, in the order of the nodes.
    fn uses(&self, errors: &mut Vec<AssertionError>) -> Vec<Use<'_>> {
        let mut uses = Vec::new();
        for (node, content) in self.nodes() {
            match content {
                Global::End | Global::Par(_) | Global::Join(_) => {}
                Global::Exchange(exchange) => {
                    for (index, branch) in exchange.branches.iter().enumerate() {
                        let spec = self.vocabulary().spec(branch.message);
                        if let Some(expr) = &spec.assertion {
                            uses.push(Use { node, place: Place::Branch(index), expr, own: &spec.fields });
                        }
                        // What a message carries is not known while it is awaited.
                        let times = spec.timing.iter().flat_map(|timing| timing.lengths());
                        uses.extend(times.map(|expr| Use { node, place: Place::Time, expr, own: &[] }));
                    }
                }
                Global::Rec(rec) => uses.extend(rec.parameters.iter().map(|parameter| Use {
                    node,
                    place: Place::Parameter(parameter),
                    expr: &parameter.initial,
                    own: &[],
                })),
                Global::Call(call) if call.arguments.is_empty() => {}
                Global::Call(call) => {
                    let Global::Rec(rec) = self.node(call.target) else { continue };
                    let (expected, found) = (rec.parameters.len(), call.arguments.len());
                    if expected != found {
                        let (call, definition) = (call.origin, rec.origin);
                        let error = AssertionError::WrongNumberOfValues { call, definition, expected, found };
                        errors.push(error);
                        continue;
                    }
                    uses.extend(rec.parameters.iter().zip(&call.arguments).map(|(parameter, expr)| Use {
                        node,
                        place: Place::Parameter(parameter),
                        expr,
                        own: &[],
                    }));
                }
            }
        }
        uses
    }
}

/// An expression where it is evaluated.
struct Use<'a> {
    node: NodeId,
    place: Place<'a>,
    expr: &'a Arc<Expr>,
    /// The fields of its own message.
    own: &'a [Field],
}

enum Place<'a> {
    /// The assertion of this branch of the node.
    Branch(usize),
    /// The value that this parameter is given.
    Parameter(&'a Parameter),
    /// A time of a message of the node.
    Time,
}

impl<'a> Use<'a> {
    /// The field of its own message that binds `variable`.
    fn own_field(&self, variable: &str) -> Option<&'a Field> {
        self.own.iter().find(|field| field.name.as_deref() == Some(variable))
    }

    /// The variables that something before this node must have bound.
    fn outer_variables(&self) -> impl Iterator<Item = &'a Arc<str>> {
        self.expr.free_variables().into_iter().filter(|variable| self.own_field(variable).is_none())
    }
}

/// The variables of an expression that are not fields of its own message, each with the roles that know it.
type Known<'a> = SmallVec<[(&'a Arc<str>, Roles); 2]>;

/// The variables an expression may use, with their types.
type Variables<'a> = SmallVec<[(&'a Arc<str>, Type); 4]>;

/// What one expression may refer to: its variables, and the predicates declared for all.
struct InScope<'a> {
    variables: &'a [(&'a Arc<str>, Type)],
    declared: &'a Scope,
}

impl Environment for InScope<'_> {
    fn variable(&self, name: &str) -> Option<Type> {
        self.variables.iter().find(|(known, _)| &***known == name).map(|(_, ty)| ty.clone())
    }

    fn external(&self, name: &str) -> Lookup {
        self.declared.external(name)
    }

    fn variables(&self) -> Vec<Arc<str>> {
        self.variables.iter().map(|(name, _)| Arc::clone(*name)).collect()
    }

    fn externals(&self) -> Vec<Arc<str>> {
        self.declared.externals()
    }
}

struct Checker<'a> {
    global: &'a GlobalType,
    scope: Scope,
    result: Assertions,
}

impl<'a> Checker<'a> {
    fn branch(&mut self, one: &Use<'a>, index: usize, (variables, known): (Variables<'_>, Known<'_>)) {
        let Global::Exchange(exchange) = self.global.node(one.node) else { return };
        self.check(one.expr, &variables);
        let receiver = exchange.branches[index].receiver;
        let (sender_lacks, receiver_lacks) =
            (unknown_to(exchange.sender, &known), unknown_to(receiver, &known));
        if !sender_lacks.is_empty() && !receiver_lacks.is_empty() {
            self.result.errors.push(AssertionError::NobodyCanCheck {
                expr: Arc::clone(one.expr),
                sender: (exchange.sender, sender_lacks),
                receiver: (receiver, receiver_lacks),
            });
        } else {
            let (sender, receiver) = (sender_lacks.is_empty(), receiver_lacks.is_empty());
            self.result.enforcement.push(Enforcement { branch: (one.node, index), sender, receiver });
        }
    }

    /// A value that a recursion is entered or continued with.
    fn value(
        &mut self,
        one: &Use<'a>,
        parameter: &Parameter,
        (variables, known): (Variables<'_>, Known<'_>),
    ) {
        match expr::check(one.expr, &InScope { variables: &variables, declared: &self.scope }) {
            Ok(checked) if checked.ty != parameter.ty => {
                self.result.errors.push(AssertionError::WrongTypeOfValue {
                    expr: Arc::clone(one.expr),
                    declared: parameter.origin,
                    expected: parameter.ty.clone(),
                    found: checked.ty,
                });
            }
            Ok(_) => {}
            Err(errors) => self.type_errors(errors),
        }
        for &role in &parameter.roles {
            let unknown = unknown_to(role, &known);
            if !unknown.is_empty() {
                let expr = Arc::clone(one.expr);
                self.result.errors.push(AssertionError::CannotCompute { expr, role, unknown });
            }
        }
    }

    fn check(&mut self, assertion: &Expr, variables: &Variables<'_>) {
        match expr::check_assertion(assertion, &InScope { variables, declared: &self.scope }) {
            Ok(inferred) => {
                self.scope.adopt(inferred.iter().cloned());
                for external in inferred {
                    if !self.result.inferred.contains(&external) {
                        self.result.inferred.push(external);
                    }
                }
            }
            Err(errors) => self.type_errors(errors),
        }
    }

    fn type_errors(&mut self, errors: Vec<TypeError>) {
        self.result.errors.extend(errors.into_iter().map(AssertionError::Type));
    }

    /// The types of the variables that an expression may use, and for each that is not a field of its own
    /// message the roles that know it. `found` goes on with what may have bound these.
    fn environment(
        &mut self,
        one: &Use<'a>,
        found: &mut impl Iterator<Item = Reaching>,
    ) -> (Variables<'a>, Known<'a>) {
        let (mut variables, mut known) = (Variables::new(), Known::new());
        for variable in one.expr.free_variables() {
            if let Some(field) = one.own_field(variable) {
                variables.push((variable, field.ty.clone()));
                continue;
            }
            let Some(reaching) = found.next() else { continue };
            let Some((first, others)) = reaching.sites.split_first() else {
                // Unbound on every way: for suggestions, offer what this message binds.
                let own = one.own.iter().filter_map(|field| Some((field.name.as_ref()?, field.ty.clone())));
                variables.extend(own);
                continue;
            };
            variables.push((variable, first.ty.clone()));
            if let Some(other) = others.iter().find(|site| site.ty != first.ty) {
                self.result.errors.push(AssertionError::Ambiguous {
                    expr: Arc::clone(one.expr),
                    variable: Arc::clone(variable),
                    left: (first.ty.clone(), first.origin),
                    right: (other.ty.clone(), other.origin),
                });
            } else if reaching.unbound {
                self.result.errors.push(AssertionError::MaybeUnbound {
                    expr: Arc::clone(one.expr),
                    variable: Arc::clone(variable),
                    bound: first.origin,
                });
            }
            let mut roles = first.roles.clone();
            others.iter().for_each(|site| roles.retain(|role| site.roles.contains(role)));
            known.push((variable, roles));
        }
        (variables, known)
    }
}

/// The variables that `role` does not know.
fn unknown_to(role: Role, known: &Known<'_>) -> Vec<Arc<str>> {
    let unknown = known.iter().filter(|(_, roles)| !roles.contains(&role));
    unknown.map(|(variable, _)| Arc::clone(variable)).collect()
}
