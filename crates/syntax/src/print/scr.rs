//! `.scr` texts of global types.
//!
//! What follows a choice is printed once, behind it, when all branches that go on lead there; what follows a
//! recursion likewise. Where sharing is not of this form, the shared part is printed once per use, up to a
//! limit. `structure` finds out where things lead; the layout is the formatter's.

use std::fmt::Write as _;
use std::sync::Arc;

use referee_theory::expr::{Expr, Scope, Signature};
use referee_theory::global::{Parameter, Rec};
use referee_theory::{
    Branch, Exchange, Global, GlobalType, MessageSpec, NodeId, Origin, Role, Since, Timing, Type, Within,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Inexpressible;
use crate::document::External;
use crate::payload;
use crate::scr::{self, is_word};

mod calls;
mod data;
mod live;
mod refined;
mod renamed;
mod structure;

pub(crate) use calls::without_calls;

pub(super) use data::text as nuscr_text;
use live::Live;
use structure::{Place, Structure};

/// A protocol may have so many statements, and this many times its nodes: more would be copies that nobody
/// reads.
const LEAST_BUDGET: usize = 10_000;
const COPIES: usize = 4;

/// Types nested deeper are not read back.
const MAX_TYPE_DEPTH: usize = 100;

/// Words that are no names in nuScr.
const NUSCR_KEYWORDS: &[&str] = &[
    "and", "as", "at", "aux", "by", "calls", "choice", "continue", "do", "false", "from", "global", "import",
    "local", "module", "nested", "new", "not", "or", "protocol", "rec", "role", "sig", "to", "true", "type",
    "with",
];

/// The `.scr` text of `global`, as a protocol called `name`, in canonical layout. `externals` are the
/// predicates its assertions call; the signatures of others are inferred.
///
/// # Errors
/// When it says what `.scr` cannot: roles, labels, fields or types whose names are none there, no roles at
/// all, recursion data that nuScr's expressions cannot express. Or when it would be too large.
pub fn scr(name: &str, global: &GlobalType, externals: &[External]) -> Result<String, Inexpressible> {
    let mut printer = Printer::new(global, Form::Scr);
    printer.externals(externals)?;
    printer.protocol(name)
}

/// The text of `global` as nuScr reads it, as a protocol called `name`: conditions are refinements.
///
/// # Errors
/// As for [`scr()`], and when nuScr has no words for it: predicates, tuples, records, messages without a label, conditions
/// with strings of messages without named fields.
pub fn nuscr(name: &str, global: &GlobalType) -> Result<String, Inexpressible> {
    let mut printer = Printer::new(global, Form::NuScr);
    let mut external = None;
    printer.for_each_expr(|expr| {
        external = external.take().or_else(|| expr.externals().into_iter().next().cloned())
    });
    if let Some(external) = external {
        return Err(Inexpressible::new(format!("nuScr cannot call `{external}`")));
    }
    let mut has_conditions = false;
    let mut unknown = None;
    printer.for_each_expr(|expr| {
        has_conditions = true;
        if !data::is_nuscr(expr) {
            unknown.get_or_insert_with(|| expr.to_string());
        }
    });
    if let Some(expr) = unknown {
        return Err(Inexpressible::new(format!("nuScr has no operator or literal of `{expr}`")));
    }
    printer.reserved()?;
    if has_conditions {
        printer.out.push_str("(*# RefinementTypes #*)\n");
    }
    printer.protocol(name)
}

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Scr,
    NuScr,
}

enum Step {
    /// What happens from a node up to a place, exclusively.
    Region(NodeId, Place),
    /// A branch of a choice up to a place; whether it is the first.
    Branch(Branch, NodeId, Place, bool),
    /// A block of a `par`; whether it is the first.
    Block(NodeId, bool),
    /// The end of a choice or of a `par`.
    Close,
    /// What is opened and closed behind a `par`.
    Behind(Origin),
    /// The end of a recursion.
    Leave(NodeId),
}

struct Printer<'a> {
    global: &'a GlobalType,
    form: Form,
    structure: Structure,
    /// Whether refinements of recursion data are printed, rather than the conditions of messages that come of them.
    refined: bool,
    out: String,
    /// What the recursions around the current place are called.
    names: FxHashMap<NodeId, String>,
    /// What their data are called.
    data: renamed::Data<'a>,
    live: Live<'a>,
    taken: FxHashSet<String>,
    /// The last number that was added to a name.
    numbers: FxHashMap<String, usize>,
    budget: usize,
}

impl<'a> Printer<'a> {
    fn new(global: &'a GlobalType, form: Form) -> Self {
        Self {
            global,
            form,
            structure: Structure::of(global),
            refined: refined::are_printed(global),
            out: String::new(),
            names: FxHashMap::default(),
            data: renamed::Data::of(global),
            live: Live::of(global),
            taken: FxHashSet::default(),
            numbers: FxHashMap::default(),
            budget: LEAST_BUDGET + COPIES * global.node_count(),
        }
    }

    /// The whole text, of a protocol called `name`.
    fn protocol(mut self, name: &str) -> Result<String, Inexpressible> {
        let vocabulary = self.global.vocabulary();
        let roles: Vec<String> = vocabulary.roles().map(|role| self.role(role)).collect::<Result<_, _>>()?;
        if roles.is_empty() {
            return Err(Inexpressible::new("it has no roles"));
        }
        if let Some(role) = vocabulary.roles().find(|role| self.global.is_connected_to(*role)) {
            let role = vocabulary.role_name(role);
            return Err(Inexpressible::new(format!(
                "where somebody connects to `{role}` is known to the text alone"
            )));
        }
        let keyword = if self.form == Form::NuScr { "global protocol" } else { "protocol" };
        self.subs()?;
        let (name, key) = (word(name, "name")?, self.key()?);
        let _ = writeln!(self.out, "{keyword} {name}({}){key} {{", roles.join(", "));
        self.opened_first()?;
        self.body()?;
        self.out.push('}');
        self.interrupt()?;
        self.out.push('\n');
        scr::format(&self.out).map_err(|errors| {
            Inexpressible::new(errors.first().map_or_else(String::new, |error| error.message.clone()))
        })
    }

    /// The declaration of `role`.
    fn role(&self, role: Role) -> Result<String, Inexpressible> {
        let name = word(self.global.vocabulary().role_name(role), "role")?;
        match self.global.copies_of(role) {
            None => Ok(format!("role {name}")),
            Some(_) if self.form == Form::NuScr => {
                Err(Inexpressible::new(format!("nuScr has no copies of roles: `{name}`")))
            }
            Some(number) => Ok(format!("role {name}[{number}]")),
        }
    }

    fn body(&mut self) -> Result<(), Inexpressible> {
        let mut steps = vec![Step::Region(self.global.root(), self.structure.end())];
        while let Some(step) = steps.pop() {
            match step {
                Step::Region(node, stop) => self.region(node, stop, &mut steps)?,
                Step::Branch(branch, choice, stop, first) => {
                    self.out.push_str(if first { "{\n" } else { "} or {\n" });
                    if let Global::Exchange(exchange) = self.global.node(choice) {
                        self.message(exchange, &branch)?;
                    }
                    steps.push(Step::Region(branch.next, stop));
                }
                Step::Block(start, first) => {
                    self.out.push_str(if first { "{\n" } else { "} and {\n" });
                    steps.push(Step::Region(start, self.structure.end()));
                }
                Step::Close => self.out.push_str("}\n"),
                Step::Behind(par) => self.opened_behind(par, true)?,
                Step::Leave(node) => {
                    self.names.remove(&node);
                    self.data.leave(node);
                    self.out.push_str("}\n");
                }
            }
        }
        Ok(())
    }

    /// Prints what happens from `node` up to `stop`.
    fn region(&mut self, mut node: NodeId, stop: Place, steps: &mut Vec<Step>) -> Result<(), Inexpressible> {
        let global = self.global;
        while self.structure.place(node) != stop {
            match global.node(node) {
                Global::End | Global::Join(_) => break,
                Global::Par(_) if self.form == Form::NuScr => return Err(Inexpressible::par()),
                Global::Par(par) => {
                    self.spend()?;
                    self.out.push_str("par ");
                    steps.extend([Step::Region(par.next, stop), Step::Behind(par.origin), Step::Close]);
                    let blocks = par.blocks.iter().enumerate().rev();
                    steps.extend(blocks.map(|(index, start)| Step::Block(*start, index == 0)));
                }
                Global::Call(call) => {
                    self.spend()?;
                    let name = self.names.get(&call.target).map_or("X", String::as_str);
                    let _ = write!(self.out, "continue {name}");
                    let arguments = self.data.arguments(call)?;
                    if !arguments.is_empty() {
                        let _ = write!(self.out, " [{}]", arguments.join(", "));
                    }
                    self.out.push_str(";\n");
                    break;
                }
                Global::Exchange(exchange) => match &exchange.branches[..] {
                    [only] => {
                        self.message(exchange, only)?;
                        node = only.next;
                        continue;
                    }
                    branches => self.choice(node, exchange, branches, stop, steps)?,
                },
                Global::Rec(rec) => {
                    self.spend()?;
                    // In nuScr nothing follows a recursion.
                    let exit = if self.form == Form::Scr { self.exit(node, rec, stop) } else { None };
                    let parameters = self.parameters(node, rec, exit.unwrap_or(stop))?;
                    let name = self.fresh(&rec.name);
                    let _ = writeln!(self.out, "rec {name}{parameters} {{");
                    self.names.insert(node, name);
                    steps.extend(exit.and_then(Place::node).map(|next| Step::Region(next, stop)));
                    steps.push(Step::Leave(node));
                    steps.push(Step::Region(rec.body, exit.unwrap_or(stop)));
                }
            }
            break;
        }
        Ok(())
    }

    /// Where the recursion `node` can be left before `stop`.
    fn exit(&self, node: NodeId, rec: &Rec, stop: Place) -> Option<Place> {
        let may_leave = |place: Place| self.live.may_leave(&self.structure, node, place);
        self.structure.exit(rec.body, stop, |binder| self.names.contains_key(&binder), may_leave)
    }

    fn choice(
        &mut self,
        node: NodeId,
        exchange: &Exchange,
        branches: &[Branch],
        stop: Place,
        steps: &mut Vec<Step>,
    ) -> Result<(), Inexpressible> {
        self.spend()?;
        let sender = word(self.global.vocabulary().role_name(exchange.sender), "role")?;
        let _ = write!(self.out, "choice at {sender} ");
        let going_on = branches.iter().filter(|branch| self.structure.goes_on(branch.next)).count();
        // What only one branch leads to belongs to that branch.
        // In nuScr nothing follows a choice.
        let is_shared = going_on > 1 && self.form == Form::Scr;
        let mut join = if is_shared { self.structure.after(node) } else { None };
        while let Some(place) = join.filter(|place| *place != stop)
            && !self.live.may_leave(&self.structure, node, place)
        {
            join = place.node().and_then(|place| self.structure.after(place));
        }
        steps.extend(join.and_then(Place::node).map(|next| Step::Region(next, stop)));
        steps.push(Step::Close);
        let inner = join.unwrap_or(stop);
        let all = branches.iter().enumerate().rev();
        steps.extend(all.map(|(index, branch)| Step::Branch(*branch, node, inner, index == 0)));
        Ok(())
    }

    fn message(&mut self, exchange: &Exchange, branch: &Branch) -> Result<(), Inexpressible> {
        self.spend()?;
        let vocabulary = self.global.vocabulary();
        let spec = vocabulary.spec(branch.message);
        let condition =
            if self.refined { refined::own(self.global, branch).flatten() } else { spec.assertion.clone() };
        let condition = condition.map(|condition| self.data.written(&condition));
        let (refinement, annotation) = self.refinement(spec, condition.as_deref())?;
        self.message_text(spec, refinement)?;
        let sender = word(vocabulary.role_name(exchange.sender), "role")?;
        let receiver = word(vocabulary.role_name(branch.receiver), "role")?;
        let _ = write!(self.out, " from {sender} to {receiver}");
        if let Some(timing) = spec.timing.as_ref().filter(|_| self.form == Form::Scr) {
            let mut timing = Timing::clone(timing);
            if let Some(Within { length, since }) = &mut timing.within {
                if let Since::Label(label) = since {
                    word(label, "label")?;
                }
                *length = self.data.written(length);
            }
            timing.after = timing.after.map(|after| self.data.written(&after));
            let _ = write!(self.out, " {timing}");
        }
        if let Some(assertion) = condition.as_ref().filter(|_| self.form == Form::Scr) {
            let _ = write!(self.out, " where {assertion}");
        }
        let waits = if self.global.is_optional(branch.origin) { " @\"may wait\"" } else { "" };
        let _ = writeln!(self.out, ";{waits}{annotation}");
        self.opened_behind(branch.origin, false)
    }

    /// The label and the payload of a message, one field with its refinement.
    fn message_text(
        &mut self,
        spec: &MessageSpec,
        refinement: Option<(usize, String)>,
    ) -> Result<(), Inexpressible> {
        let vocabulary = self.global.vocabulary();
        let label = vocabulary.label_name(spec.label);
        // Scribble's messages without an operator have the empty label.
        if !label.is_empty() {
            self.out.push_str(word(label, "label")?);
        } else if self.form == Form::NuScr {
            return Err(Inexpressible::new("nuScr has no messages without a label"));
        }
        self.out.push('(');
        let mut seen = FxHashSet::default();
        for (index, field) in spec.fields.iter().enumerate() {
            self.out.push_str(if index > 0 { ", " } else { "" });
            if let Some(name) = &field.name {
                if !seen.insert(name) {
                    return Err(Inexpressible::new(format!("two fields of `{label}` are called `{name}`")));
                }
                let _ = write!(self.out, "{}: ", word(name, "field")?);
            }
            let ty = match &field.ty {
                Type::Opaque(name) if is_delegation(name) => name.to_string(),
                ty => payload_type(ty, 0)?,
            };
            if self.form == Form::NuScr && matches!(field.ty, Type::Tuple(_) | Type::Record(_)) {
                return Err(Inexpressible::new(format!("nuScr has no type `{ty}`")));
            }
            self.out.push_str(&ty);
            if let Some((_, text)) = refinement.as_ref().filter(|(refined, _)| *refined == index) {
                let _ = write!(self.out, "{{{text}}}");
            }
        }
        self.out.push(')');
        Ok(())
    }

    /// nuScr's way to write the condition of a message: which field it refines, and how; or the annotation behind the message, where no
    /// field has a name.
    fn refinement(
        &self,
        spec: &MessageSpec,
        condition: Option<&Expr>,
    ) -> Result<(Option<(usize, String)>, String), Inexpressible> {
        let Some(condition) = condition.filter(|_| self.form == Form::NuScr) else {
            return Ok((None, String::new()));
        };
        let text = data::text(condition)?;
        match spec.fields.iter().rposition(|field| field.name.is_some()) {
            Some(last) => Ok((Some((last, text)), String::new())),
            None => Ok((None, format!(" {}", annotation(condition, &text)?))),
        }
    }

    /// The data of the recursion `node`, which are known from here up to `end`.
    fn parameters(&mut self, node: NodeId, rec: &Rec, end: Place) -> Result<String, Inexpressible> {
        if rec.parameters.is_empty() {
            return Ok(String::new());
        }
        let vocabulary = self.global.vocabulary();
        let initial = rec.parameters.iter().map(|parameter| self.data.text(&parameter.initial));
        let initial = initial.collect::<Result<Vec<_>, _>>()?;
        self.data.enter(node, rec, &self.structure, end)?;
        let one = |(parameter, initial): (&Parameter, String)| {
            let roles = parameter.roles.iter().map(|role| word(vocabulary.role_name(*role), "role"));
            let roles = roles.collect::<Result<Vec<_>, _>>()?.join(", ");
            let roles = if roles.is_empty() { roles } else { format!("<{roles}>") };
            let name = word(self.data.name(&parameter.name).unwrap_or(&parameter.name), "variable")?;
            let ty = payload_type(&parameter.ty, 0)?;
            let ty = match parameter.refinement.as_ref().filter(|_| self.refined) {
                Some(refinement) => {
                    format!("({name}: {ty}{{{}}})", self.data.text(refinement)?)
                }
                None => ty,
            };
            Ok(format!("{name}{roles}: {ty} = {initial}"))
        };
        let parameters =
            rec.parameters.iter().zip(initial).map(one).collect::<Result<Vec<_>, Inexpressible>>()?;
        Ok(format!(" [{}]", parameters.join(", ")))
    }

    /// Declares the predicates that are called.
    fn externals(&mut self, known: &[External]) -> Result<(), Inexpressible> {
        let mut called = std::collections::BTreeSet::new();
        self.for_each_expr(|expr| called.extend(expr.externals().into_iter().cloned()));
        if called.is_empty() {
            return Ok(());
        }
        let mut signatures: FxHashMap<Arc<str>, Signature> = FxHashMap::default();
        let declared: FxHashSet<&str> = known.iter().map(|external| &*external.name).collect();
        if !called.iter().all(|name| declared.contains(&**name)) {
            let inferred = self.global.check_assertions(&Scope::new().inferring()).inferred;
            signatures.extend(inferred.into_iter().map(|external| (external.name, external.signature)));
        }
        for External { name, parameters, result, .. } in known {
            let (parameters, result) = (parameters.clone().into(), result.clone());
            signatures.insert(Arc::clone(name), Signature { parameters, result });
        }
        for name in called {
            let Some(Signature { parameters, result }) = signatures.get(&name) else {
                return Err(Inexpressible::new(format!("nothing is known of the predicate `{name}`")));
            };
            if !name.split('.').all(is_word) {
                return Err(Inexpressible::new(format!("the predicate `{name}` is not a name there")));
            }
            let parameters =
                parameters.iter().map(|ty| payload_type(ty, 0)).collect::<Result<Vec<_>, _>>()?;
            let (parameters, result) = (parameters.join(", "), payload_type(result, 0)?);
            let _ = writeln!(self.out, "external fn {name}({parameters}) -> {result};");
        }
        Ok(())
    }

    /// Whether a name is one of nuScr's keywords.
    fn reserved(&self) -> Result<(), Inexpressible> {
        let vocabulary = self.global.vocabulary();
        let roles = vocabulary.roles().map(|role| vocabulary.role_name(role));
        let specs = || vocabulary.messages().map(|message| vocabulary.spec(message));
        let labels = specs().map(|spec| vocabulary.label_name(spec.label));
        let fields = specs().flat_map(|spec| spec.fields.iter()).filter_map(|field| field.name.as_deref());
        let mut names = roles.chain(labels).chain(fields);
        match names.find(|name| !name.is_ascii() || NUSCR_KEYWORDS.contains(name)) {
            Some(name) if name.is_ascii() => {
                Err(Inexpressible::new(format!("`{name}` is a keyword of nuScr")))
            }
            Some(name) => {
                Err(Inexpressible::new(format!("names of nuScr have no other letters than A to Z: `{name}`")))
            }
            None => Ok(()),
        }
    }

    fn for_each_expr(&self, mut visit: impl FnMut(&Arc<Expr>)) {
        let subs = self.global.calls().into_iter().flat_map(|calls| &calls.subs);
        for global in subs.map(|sub| &*sub.global).chain([self.global]) {
            let vocabulary = global.vocabulary();
            for (_, node) in global.nodes() {
                match node {
                    Global::End | Global::Par(_) | Global::Join(_) => {}
                    Global::Exchange(exchange) => {
                        let specs = exchange.branches.iter().map(|branch| vocabulary.spec(branch.message));
                        specs.filter_map(|spec| spec.assertion.as_ref()).for_each(&mut visit);
                    }
                    Global::Rec(rec) => {
                        for parameter in &rec.parameters {
                            parameter.refinement.iter().for_each(&mut visit);
                            visit(&parameter.initial);
                        }
                    }
                    Global::Call(call) => call.arguments.iter().for_each(&mut visit),
                }
            }
        }
    }

    /// A name for a recursion that no other has.
    fn fresh(&mut self, wanted: &str) -> String {
        // Before these words a statement is taken for a message.
        let usable = is_word(wanted) && !matches!(wanted, "from" | "connect" | "calls");
        let wanted = if usable { wanted } else { "X" };
        let mut name = wanted.to_owned();
        let number = self.numbers.entry(name.clone()).or_insert(1);
        while !self.taken.insert(name.clone()) {
            *number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }

    /// One more statement.
    fn spend(&mut self) -> Result<(), Inexpressible> {
        self.budget = self.budget.checked_sub(1).ok_or_else(Inexpressible::too_large)?;
        Ok(())
    }
}

/// `@"…"`: nuScr's place for the `condition` of a message without named fields, which is written as `text` there.
pub(super) fn annotation(condition: &Expr, text: &str) -> Result<String, Inexpressible> {
    if text.contains('"') {
        let reason = format!("nuScr has no place for the condition `{condition}`: no field has a name");
        return Err(Inexpressible::new(reason));
    }
    Ok(format!("@\"{text}\""))
}

pub(super) fn word<'a>(name: &'a str, what: &str) -> Result<&'a str, Inexpressible> {
    if is_word(name) {
        Ok(name)
    } else {
        Err(Inexpressible::new(format!("the {what} `{name}` is not a name there")))
    }
}

fn is_delegation(name: &str) -> bool {
    name.split_once('@').is_some_and(|(protocol, role)| protocol.split('.').all(is_word) && is_word(role))
}

pub(super) fn payload_type(ty: &Type, depth: usize) -> Result<String, Inexpressible> {
    if depth > MAX_TYPE_DEPTH {
        return Err(Inexpressible::new("its types are nested too deep"));
    }
    match ty {
        Type::Unit | Type::Bool | Type::Int | Type::Float | Type::String | Type::Bytes => Ok(ty.to_string()),
        Type::List(element) => Ok(format!("list<{}>", payload_type(element, depth + 1)?)),
        Type::Tuple(parts) => {
            let parts =
                parts.iter().map(|part| payload_type(part, depth + 1)).collect::<Result<Vec<_>, _>>()?;
            match &parts[..] {
                [] => Err(Inexpressible::new("the empty tuple is `unit` there")),
                [only] => Ok(format!("({only},)")),
                parts => Ok(format!("({})", parts.join(", "))),
            }
        }
        Type::Record(fields) => {
            let mut seen = FxHashSet::default();
            let mut parts = Vec::with_capacity(fields.len());
            for (name, ty) in fields.iter() {
                if !seen.insert(name) {
                    return Err(Inexpressible::new(format!("two fields of a record are called `{name}`")));
                }
                parts.push(format!("{}: {}", word(name, "field")?, payload_type(ty, depth + 1)?));
            }
            Ok(format!("{{{}}}", parts.join(", ")))
        }
        Type::Opaque(name) if name.split('.').all(is_word) && payload::builtin(name).is_none() => {
            Ok(name.to_string())
        }
        Type::Opaque(name) => Err(Inexpressible::new(format!("the type `{name}` is not a name there"))),
    }
}
