//! The property that a role's view of a protocol induces: it is violated by the first message from or to the role
//! that the protocol does not allow, or whose fields or assertion are wrong.
//!
//! At each point of the session type stand one path for each message that may come next, and paths to `ff` for those that
//! may not. Payloads are expected as objects where the protocol names the fields, and as arrays or single
//! values where it does not. What a property cannot say is that a side ended too early.

use std::fmt;
use std::sync::Arc;

use referee_theory::expr::{
    Dialect, Expr, Function, Node as C, Operator, Place, UnaryOperator, written_name,
};
use referee_theory::property::guard::Condition;
use referee_theory::property::{
    EventKind, EventPattern, Fixpoint, Formula, FormulaId, Guard, Key, Modality, Pattern, Property,
    PropertyBuilder, Scope, Slot, Value,
};
use referee_theory::session::{Session, SessionBranch, SessionType, TermId};
use referee_theory::{Action, Field, Origin, Role, Type};
use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::guard;

/// Why a session type induces no property that can be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotInduced {
    /// An assertion uses what a property's guards do not have.
    Assertion(String),
    /// A variable gets its value in one round of a loop and is used in the next.
    CarriedRound(Arc<str>),
    /// An assertion is nested too deep once fields are checked as well.
    TooDeep,
}

impl fmt::Display for NotInduced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assertion(why) => write!(f, "an assertion cannot be a guard of a property: {why}"),
            Self::CarriedRound(name) => {
                write!(
                    f,
                    "`{name}` is carried from one round of a loop to the next, which a property cannot say"
                )
            }
            Self::TooDeep => f.write_str("an assertion is nested too deep"),
        }
    }
}

impl std::error::Error for NotInduced {}

/// The property that `session` induces, with one instance for each session.
///
/// # Errors
/// What of it a property cannot say.
pub fn induced(session: &SessionType, name: &str) -> Result<Property, NotInduced> {
    if let Some(value) = session.vocabulary().initial_values(session.role()).first() {
        return Err(NotInduced::CarriedRound(written_name(&value.variable).into()));
    }
    let role: Arc<str> = session.vocabulary().role_name(session.role()).into();
    let mut translation = Translation {
        session,
        role: Arc::clone(&role),
        builder: PropertyBuilder::new(),
        definitions: FxHashMap::default(),
        calls: Vec::new(),
        used: Vec::new(),
    };
    let root = translation.whole()?;
    translation.check_rounds()?;
    let documentation = format!("What {role} may send and receive, and nothing else.");
    let scope = Scope::PerKey([Key::name("session")].into());
    let finished = translation.builder.finish(name.into(), documentation.into(), Origin::NONE, scope, root);
    // A session type is guarded, and so is what was made of it.
    finished.map_err(|_| NotInduced::TooDeep)
}

/// Which slot each variable of the protocol has.
type Names = FxHashMap<Arc<str>, Slot>;

struct Translation<'a> {
    session: &'a SessionType,
    role: Arc<str>,
    builder: PropertyBuilder,
    /// The formula of each definition, and the variables where it stands.
    definitions: FxHashMap<TermId, (FormulaId, Names)>,
    /// Each call, and the variables where it stands.
    calls: Vec<(TermId, Names)>,
    /// The variables that assertions read, with the slots they mean and the definitions around them.
    used: Vec<(Arc<str>, Slot, Vec<TermId>)>,
}

/// A place in the session type that is still to be translated.
struct Job {
    term: TermId,
    /// The node to fill.
    node: FormulaId,
    names: Names,
    /// The definitions around it.
    within: Vec<TermId>,
}

impl Translation<'_> {
    /// All of it, without recursion.
    fn whole(&mut self) -> Result<FormulaId, NotInduced> {
        let root = self.builder.reserve(Origin::NONE);
        let start =
            Job { term: self.session.root(), node: root, names: Names::default(), within: Vec::new() };
        let mut jobs = vec![start];
        while let Some(Job { term, node, names, mut within }) = jobs.pop() {
            match self.session.node(term) {
                Session::Call { target, .. } => {
                    // The definition was translated before what it contains.
                    let Some((definition, _)) = self.definitions.get(target) else { continue };
                    self.builder.set(node, Formula::Call { target: *definition });
                    self.calls.push((*target, names));
                }
                Session::Rec { name, body, .. } => {
                    let inner = self.builder.reserve(Origin::NONE);
                    let definition = fixpoint(name, inner);
                    self.builder.set(node, definition);
                    self.definitions.insert(term, (node, names.clone()));
                    within.push(term);
                    jobs.push(Job { term: *body, node: inner, names, within });
                }
                Session::End => self.point(node, &[], &names, &within, &mut jobs)?,
                Session::Choice(branches) => self.point(node, branches, &names, &within, &mut jobs)?,
            }
        }
        Ok(root)
    }

    /// A point at which `branches` may come next.
    fn point(
        &mut self,
        node: FormulaId,
        branches: &[SessionBranch],
        names: &Names,
        within: &[TermId],
        jobs: &mut Vec<Job>,
    ) -> Result<(), NotInduced> {
        let mut parts = Vec::new();
        for branch in branches {
            if let Some(update) = self.session.vocabulary().spec(branch.message).updates.first() {
                return Err(NotInduced::CarriedRound(written_name(&update.variable).into()));
            }
            let message = Message::of(self, branch, names, within)?;
            let next = self.builder.reserve(Origin::NONE);
            parts.push(self.necessity(message.allowed, next));
            for wrong in message.wrong {
                parts.push(self.violation(wrong));
            }
            let within = within.to_vec();
            jobs.push(Job { term: branch.next, node: next, names: message.names, within });
        }
        for sends in [true, false] {
            let pattern = self.others(branches, sends)?;
            parts.push(self.violation(pattern));
        }
        if self.session.vocabulary().roles().len() > 2 {
            // What does not concern the role changes nothing.
            let body = self.builder.reserve(Origin::NONE);
            let call = self.builder.add(Formula::Call { target: node }, Origin::NONE);
            let elsewhere = self.elsewhere()?;
            parts.push(self.necessity(elsewhere, call));
            self.builder.set(body, Formula::And(parts.into()));
            self.builder.set(node, fixpoint(&format!("S{}", node.0), body));
        } else {
            self.builder.set(node, Formula::And(parts.into()));
        }
        Ok(())
    }

    fn necessity(&mut self, pattern: EventPattern, next: FormulaId) -> FormulaId {
        let pattern = self.builder.pattern(pattern);
        self.builder.add(Formula::Modal { modality: Modality::Necessity, pattern, next }, Origin::NONE)
    }

    fn violation(&mut self, pattern: EventPattern) -> FormulaId {
        let ff = self.builder.add(Formula::False, Origin::NONE);
        self.necessity(pattern, ff)
    }

    fn slot(&mut self, name: &str) -> Slot {
        self.builder.slot(name.into(), Origin::NONE)
    }

    /// Messages that the role sends (or receives) and that are none of `branches`.
    fn others(&mut self, branches: &[SessionBranch], sends: bool) -> Result<EventPattern, NotInduced> {
        let action = if sends { Action::Send } else { Action::Receive };
        let (peer, label) = (self.slot("peer"), self.slot("label"));
        let vocabulary = self.session.vocabulary();
        let mut known = Vec::new();
        for branch in branches.iter().filter(|branch| branch.action == action) {
            let label_name = vocabulary.label_name(vocabulary.label(branch.message));
            let is = |slot, text: &str| equal(slot, text);
            known.push(all(vec![is(peer, vocabulary.role_name(branch.peer))?, is(label, label_name)?])?);
        }
        let own = Pattern::Literal(Value::String(Arc::clone(&self.role)));
        let (subject, object) = if sends { (own, Pattern::Bind(peer)) } else { (Pattern::Bind(peer), own) };
        let mut pattern = EventPattern { subject, object, label: Pattern::Bind(label), ..exchange() };
        if !known.is_empty() {
            pattern.guard = Some(native(not(any(known)?)?));
        }
        Ok(pattern)
    }

    /// Messages between others.
    fn elsewhere(&mut self) -> Result<EventPattern, NotInduced> {
        let (from, to) = (self.slot("from"), self.slot("to"));
        let role = Arc::clone(&self.role);
        let condition = all(vec![not(equal(from, &role)?)?, not(equal(to, &role)?)?])?;
        let (subject, object) = (Pattern::Bind(from), Pattern::Bind(to));
        Ok(EventPattern { subject, object, guard: Some(native(condition)), ..exchange() })
    }

    /// A variable must mean the same when a definition is called as where it stands.
    fn check_rounds(&self) -> Result<(), NotInduced> {
        for (target, names) in &self.calls {
            let Some((_, at_definition)) = self.definitions.get(target) else { continue };
            for (name, slot, within) in &self.used {
                let from_outside = at_definition.get(name) == Some(slot) && within.contains(target);
                if from_outside && names.get(name) != Some(slot) {
                    return Err(NotInduced::CarriedRound(Arc::clone(name)));
                }
            }
        }
        Ok(())
    }
}

impl Translation<'_> {
    /// The variables of a message's fields. Those with a name are known by it from then on.
    fn slots(&mut self, fields: &[Field], names: &mut Names) -> Vec<Slot> {
        let mut slots = Vec::with_capacity(fields.len());
        for (number, field) in fields.iter().enumerate() {
            let name = field.name.clone().unwrap_or_else(|| format!("v{number}").into());
            let slot = self.slot(&name);
            if field.name.is_some() {
                names.insert(name, slot);
            }
            slots.push(slot);
        }
        slots
    }

    /// An assertion as a guard over the variables that `names` are kept in.
    fn assertion(&mut self, expr: &Expr, names: &Names, within: &[TermId]) -> Result<Condition, NotInduced> {
        for name in expr.free_variables() {
            if let Some(slot) = names.get(name) {
                self.used.push((Arc::clone(name), *slot, within.to_vec()));
            }
        }
        let mut cursor = Cursor::new("");
        let find = |name: &str| names.get(name).copied();
        let lowered = guard::native(expr, &find, &[], &mut cursor);
        lowered.map(|guard| guard.condition).map_err(|_| {
            NotInduced::Assertion(cursor.last_diagnostic().map_or_else(String::new, |d| d.message.clone()))
        })
    }
}

/// The patterns that come from one message that is allowed.
struct Message {
    allowed: EventPattern,
    wrong: Vec<EventPattern>,
    /// The variables after it.
    names: Names,
}

impl Message {
    fn of(
        translation: &mut Translation<'_>,
        branch: &SessionBranch,
        names: &Names,
        within: &[TermId],
    ) -> Result<Self, NotInduced> {
        let vocabulary = Arc::clone(translation.session.vocabulary());
        let spec = vocabulary.spec(branch.message);
        let role_name = |role: Role| Pattern::Literal(Value::string(vocabulary.role_name(role)));
        let (own, peer) = (role_name(translation.session.role()), role_name(branch.peer));
        let (subject, object) = match branch.action {
            Action::Send => (own, peer),
            Action::Receive => (peer, own),
        };
        let label = Pattern::Literal(Value::string(vocabulary.label_name(spec.label)));
        let base = EventPattern { subject, object, label, ..exchange() };
        let named = !spec.fields.is_empty() && spec.fields.iter().all(|field| field.name.is_some());
        let mut names = names.clone();
        let slots = translation.slots(&spec.fields, &mut names);
        let binds = slots.iter().map(|slot| Pattern::Bind(*slot));
        let fields = |open| match named {
            true => Pattern::Fields {
                positions: Box::default(),
                names: spec.fields.iter().filter_map(|field| field.name.clone()).zip(binds.clone()).collect(),
                open: true,
            },
            false => Pattern::Fields { positions: binds.clone().collect(), names: Box::default(), open },
        };
        let typed: Vec<Condition> = slots
            .iter()
            .zip(spec.fields.iter())
            .filter_map(|(slot, field)| kind_of(&field.ty).map(|function| call(function, *slot)))
            .collect::<Result<_, _>>()?;
        let assertion = match &spec.assertion {
            Some(expr) => Some(translation.assertion(expr, &names, within)?),
            None => None,
        };

        let mut wrong = Vec::new();
        // No fields, or other ones.
        let none = Pattern::Fields { positions: Box::default(), names: Box::default(), open: false };
        if slots.is_empty() {
            let some =
                Pattern::Fields { positions: [Pattern::Any].into(), names: Box::default(), open: true };
            wrong.push(EventPattern { payload: some, ..base.clone() });
        } else {
            wrong.push(EventPattern { payload: none.clone(), ..base.clone() });
            let payload = translation.slot("payload");
            let shaped =
                shape(payload, spec.fields.iter().filter_map(|f| f.name.as_deref()), slots.len(), named)?;
            wrong.push(EventPattern {
                keys: [(Key::name("payload"), Pattern::Bind(payload))].into(),
                guard: Some(native(shaped)),
                ..base.clone()
            });
            if !typed.is_empty() {
                let guard = Some(native(not(all(typed.clone())?)?));
                wrong.push(EventPattern { payload: fields(false), guard, ..base.clone() });
            }
        }
        if let Some(assertion) = &assertion {
            let mut parts = typed.clone();
            parts.push(not(assertion.clone())?);
            wrong.push(EventPattern {
                payload: fields(false),
                guard: Some(native(all(parts)?)),
                ..base.clone()
            });
        }
        let mut parts = typed;
        parts.extend(assertion);
        let guard = if parts.is_empty() { None } else { Some(native(all(parts)?)) };
        let payload = if slots.is_empty() { none } else { fields(false) };
        Ok(Self { allowed: EventPattern { payload, guard, ..base }, wrong, names })
    }
}

/// That the payload in `slot` is an object (or, without names, an array) with other fields than these.
fn shape<'n>(
    slot: Slot,
    names: impl Iterator<Item = &'n str>,
    count: usize,
    named: bool,
) -> Result<Condition, NotInduced> {
    let counted = i64::try_from(count).unwrap_or(i64::MAX);
    let size = binary(Operator::Equal, call(Function::Size, slot)?, constant(Value::Int(counted))?)?;
    let mut right = vec![size];
    if named {
        for name in names {
            right.push(binary(Operator::In, constant(Value::string(name))?, value(slot)?)?);
        }
    }
    let kind = if named { Function::IsRecord } else { Function::IsList };
    all(vec![call(kind, slot)?, not(all(right)?)?])
}

/// What asks for values of `ty`, as far as can be asked.
fn kind_of(ty: &Type) -> Option<Function> {
    match ty {
        Type::Bool => Some(Function::IsBoolean),
        Type::Int => Some(Function::IsInteger),
        Type::Float => Some(Function::IsNumber),
        Type::String | Type::Bytes => Some(Function::IsText),
        Type::List(_) | Type::Tuple(_) => Some(Function::IsList),
        Type::Record(_) => Some(Function::IsRecord),
        Type::Unit | Type::Opaque(_) => None,
    }
}

fn exchange() -> EventPattern {
    EventPattern { kind: Some(EventKind::Exchange), ..EventPattern::any() }
}

fn fixpoint(name: &str, body: FormulaId) -> Formula {
    Formula::Fixpoint { fixpoint: Fixpoint::Greatest, name: name.into(), body }
}

fn native(condition: Condition) -> Guard {
    Guard { dialect: Dialect::Native, condition }
}

fn condition(node: C<Slot>) -> Result<Condition, NotInduced> {
    Condition::new(node, Place::NONE).map_err(|_| NotInduced::TooDeep)
}

fn value(slot: Slot) -> Result<Condition, NotInduced> {
    condition(C::Variable(slot))
}

fn constant(term: Value) -> Result<Condition, NotInduced> {
    condition(C::Literal(term))
}

fn binary(operator: Operator, left: Condition, right: Condition) -> Result<Condition, NotInduced> {
    condition(C::Binary(operator, Box::new([left, right])))
}

fn equal(slot: Slot, text: &str) -> Result<Condition, NotInduced> {
    binary(Operator::Equal, value(slot)?, constant(Value::string(text))?)
}

fn call(function: Function, slot: Slot) -> Result<Condition, NotInduced> {
    condition(C::Call(function, [value(slot)?].into()))
}

fn not(inner: Condition) -> Result<Condition, NotInduced> {
    condition(C::Unary(UnaryOperator::Not, Box::new(inner)))
}

fn all(parts: Vec<Condition>) -> Result<Condition, NotInduced> {
    condition(C::And(parts.into()))
}

fn any(parts: Vec<Condition>) -> Result<Condition, NotInduced> {
    condition(C::Or(parts.into()))
}
