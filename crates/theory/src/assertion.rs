//! Assertions of a global type: are they well typed, and which role's monitor can enforce each.
//!
//! A variable is bound by the message field (or the recursion parameter) of its name that was passed last.
//! Which ones may have been last is found per variable by walking back from its uses to its bindings, so the
//! cost is the distance between them, not the size of the protocol.
//!
//! A role knows a variable if it sent or received the message that bound it. An assertion is enforced at the
//! sender if the sender knows all its variables, and at the receiver likewise; if neither does, nobody can.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::expr::{self, Environment, Expr, InferredExternal, Lookup, Scope, TypeError};
use crate::global::{Global, GlobalType, NodeId};
use crate::payload::Type;
use crate::vocabulary::{Field, Origin, Role};

mod reaching;

use reaching::{Reaching, Site};

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

impl GlobalType {
    /// Checks all assertions and recursion data, given the declared predicates in `declared`.
    #[must_use]
    pub fn check_assertions(&self, declared: &Scope) -> Assertions {
        let uses = self.uses();
        if uses.is_empty() {
            return Assertions::default();
        }
        // In the order of the protocol, so that neighbours in memory are looked at together.
        let mut by_variable: IndexMap<Arc<str>, Vec<NodeId>, FxBuildHasher> = IndexMap::default();
        for (node, expr, own) in &uses {
            for variable in expr.free_variables() {
                if !own.iter().any(|field| field.name.as_ref() == Some(&variable)) {
                    by_variable.entry(variable).or_default().push(*node);
                }
            }
        }
        let graph = reaching::Graph::new(self);
        let reaching =
            by_variable.into_iter().map(|(v, uses)| (v.clone(), graph.reaching(self, &v, &uses))).collect();
        let mut checker =
            Checker { global: self, reaching, scope: declared.clone(), result: Assertions::default() };
        for (node, content) in self.nodes() {
            match content {
                Global::Exchange(exchange) => {
                    for index in 0..exchange.branches.len() {
                        checker.branch(node, index);
                    }
                }
                Global::Rec(_) | Global::Call(_) => checker.data(node),
                Global::End => {}
            }
        }
        checker.result
    }

    /// Every expression of the protocol, with the node it stands at and the fields of its own message.
    fn uses(&self) -> Vec<(NodeId, Arc<Expr>, Arc<[Field]>)> {
        let mut uses = Vec::new();
        for (node, content) in self.nodes() {
            match content {
                Global::End => {}
                Global::Exchange(exchange) => {
                    for branch in &exchange.branches {
                        let spec = self.vocabulary().spec(branch.message);
                        if let Some(assertion) = &spec.assertion {
                            uses.push((node, Arc::clone(assertion), Arc::clone(&spec.fields)));
                        }
                    }
                }
                Global::Rec(rec) => {
                    let initial =
                        rec.parameters.iter().map(|p| (node, Arc::clone(&p.initial), Arc::new([]) as _));
                    uses.extend(initial);
                }
                Global::Call(call) => {
                    uses.extend(call.arguments.iter().map(|e| (node, Arc::clone(e), Arc::new([]) as _)));
                }
            }
        }
        uses
    }
}

/// Variables, each with the roles that know it.
type Known = Vec<(Arc<str>, FxHashSet<Role>)>;

/// The variables an expression may use, with their types.
type Variables = Vec<(Arc<str>, Type)>;

/// What one expression may refer to: its variables, and the predicates declared for all.
struct InScope<'a> {
    variables: Variables,
    declared: &'a Scope,
}

impl Environment for InScope<'_> {
    fn variable(&self, name: &str) -> Option<Type> {
        self.variables.iter().find(|(known, _)| &**known == name).map(|(_, ty)| ty.clone())
    }

    fn external(&self, name: &str) -> Lookup {
        self.declared.external(name)
    }

    fn variables(&self) -> Vec<Arc<str>> {
        self.variables.iter().map(|(name, _)| Arc::clone(name)).collect()
    }

    fn externals(&self) -> Vec<Arc<str>> {
        self.declared.externals()
    }
}

struct Checker<'a> {
    global: &'a GlobalType,
    reaching: FxHashMap<Arc<str>, FxHashMap<NodeId, Reaching>>,
    scope: Scope,
    result: Assertions,
}

impl Checker<'_> {
    fn branch(&mut self, node: NodeId, index: usize) {
        let Global::Exchange(exchange) = self.global.node(node) else { return };
        let branch = &exchange.branches[index];
        let spec = self.global.vocabulary().spec(branch.message);
        let Some(assertion) = &spec.assertion else { return };
        let (variables, known) = self.environment(node, assertion, &spec.fields);
        self.check(assertion, variables);
        let lacking = |role: Role| -> Vec<Arc<str>> {
            known.iter().filter(|(_, roles)| !roles.contains(&role)).map(|(v, _)| Arc::clone(v)).collect()
        };
        let (sender, receiver) = (lacking(exchange.sender), lacking(branch.receiver));
        if !sender.is_empty() && !receiver.is_empty() {
            self.result.errors.push(AssertionError::NobodyCanCheck {
                expr: Arc::clone(assertion),
                sender: (exchange.sender, sender),
                receiver: (branch.receiver, receiver),
            });
        } else {
            let (sender, receiver) = (sender.is_empty(), receiver.is_empty());
            self.result.enforcement.push(Enforcement { branch: (node, index), sender, receiver });
        }
    }

    /// The values a recursion is entered or continued with.
    fn data(&mut self, node: NodeId) {
        let global = self.global;
        let (parameters, values): (_, Vec<&Arc<Expr>>) = match global.node(node) {
            Global::Rec(rec) => (&rec.parameters, rec.parameters.iter().map(|p| &p.initial).collect()),
            Global::Call(call) if call.arguments.is_empty() => return,
            Global::Call(call) => {
                let Global::Rec(rec) = global.node(call.target) else { return };
                let (expected, found) = (rec.parameters.len(), call.arguments.len());
                if expected != found {
                    let (call, definition) = (call.origin, rec.origin);
                    let error = AssertionError::WrongNumberOfValues { call, definition, expected, found };
                    return self.result.errors.push(error);
                }
                (&rec.parameters, call.arguments.iter().collect())
            }
            Global::End | Global::Exchange(_) => return,
        };
        for (parameter, value) in parameters.iter().zip(values) {
            let (variables, known) = self.environment(node, value, &[]);
            match expr::check(value, &InScope { variables, declared: &self.scope }) {
                Ok(checked) if checked.ty != parameter.ty => {
                    self.result.errors.push(AssertionError::WrongTypeOfValue {
                        expr: Arc::clone(value),
                        declared: parameter.origin,
                        expected: parameter.ty.clone(),
                        found: checked.ty,
                    });
                }
                Ok(_) => {}
                Err(errors) => self.type_errors(errors),
            }
            for &role in &parameter.roles {
                let unknown: Vec<Arc<str>> = known
                    .iter()
                    .filter(|(_, roles)| !roles.contains(&role))
                    .map(|(v, _)| Arc::clone(v))
                    .collect();
                if !unknown.is_empty() {
                    let expr = Arc::clone(value);
                    self.result.errors.push(AssertionError::CannotCompute { expr, role, unknown });
                }
            }
        }
    }

    fn check(&mut self, assertion: &Expr, variables: Variables) {
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

    /// The types of the variables that `expr` may use at `node`, and for each that is not a field of its own
    /// message the roles that know it.
    fn environment(&mut self, node: NodeId, expr: &Arc<Expr>, own: &[Field]) -> (Variables, Known) {
        let mut variables = Variables::new();
        let mut known = Vec::new();
        for variable in expr.free_variables() {
            if let Some(field) = own.iter().find(|field| field.name.as_ref() == Some(&variable)) {
                variables.push((variable, field.ty.clone()));
                continue;
            }
            let Some(reaching) = self.reaching.get(&variable).and_then(|at| at.get(&node)) else { continue };
            let mut sites = reaching.sites.iter();
            let Some(first) = sites.next() else {
                // Unbound on every way: for suggestions, offer what this message binds.
                own.iter()
                    .filter_map(|f| Some((f.name.as_ref()?, &f.ty)))
                    .for_each(|(n, t)| variables.push((Arc::clone(n), t.clone())));
                continue;
            };
            variables.push((Arc::clone(&variable), first.ty.clone()));
            if let Some(other) = sites.clone().find(|site| site.ty != first.ty) {
                self.result.errors.push(AssertionError::Ambiguous {
                    expr: Arc::clone(expr),
                    variable: Arc::clone(&variable),
                    left: (first.ty.clone(), first.origin),
                    right: (other.ty.clone(), other.origin),
                });
            } else if reaching.unbound {
                self.result.errors.push(AssertionError::MaybeUnbound {
                    expr: Arc::clone(expr),
                    variable: Arc::clone(&variable),
                    bound: first.origin,
                });
            }
            let mut roles: FxHashSet<Role> = first.roles.iter().copied().collect();
            sites.for_each(|Site { roles: also, .. }| roles.retain(|role| also.contains(role)));
            known.push((variable, roles));
        }
        (variables, known)
    }
}
