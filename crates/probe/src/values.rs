//! Choice of values: what the fields of a message may be, so that the protocol takes it, or refuses it for its assertion.
//!
//! Examples come first. Where there are none: the values of all parts of the assertion that can be evaluated already, one more and one less, what
//! it asks for by its shape (`shapes`), what is bound, texts that its patterns match, and a few of each type. Combinations are tried in the order of how far they are down
//! the lists, at most [`MAX_TRIES`] of them, and the monitor says which are right.

mod shapes;

use std::collections::HashMap;
use std::sync::Arc;

use bumpalo::Bump;
use referee_monitor::{Event, FieldValue, Kind, Payload, Session, Verdict};
use referee_theory::expr::{Expr, Function, NoExternals, Node, eval};
use referee_theory::{MessageSpec, Type, Value};
use referee_wire::Parts;

use crate::calls::ID_GAP;
use crate::conversation::Conversation;
use crate::examples::{MessageExample, converted};
use crate::player::{Edge, Player};
use crate::sample;

/// How many combinations of values are tried for a message.
pub const MAX_TRIES: usize = 5_000;
/// How many values of a field are considered.
const MAX_CANDIDATES: usize = 32;
/// A body that a field says the length of is not longer than this.
const MAX_BODY: i64 = 1 << 16;

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The values of its fields; none are known of a message that is given as bytes.
    pub values: Option<Vec<Value>>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is wanted of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The protocol takes it.
    Right,
    /// Its types are right and its assertion does not hold.
    Unasserted,
    /// Its types are right.
    Typed,
}

/// Up to `count` forms of the message of `edge`, as they are `wanted` at this point of `conversation`.
pub(crate) fn forms(
    player: &Player,
    conversation: &Conversation,
    edge: &Edge,
    wanted: Wanted,
    count: usize,
) -> Vec<Form> {
    let Ok(id) = conversation.call_id(edge) else { return Vec::new() };
    let session = conversation.session();
    let vocabulary = player.monitor().vocabulary();
    let spec = vocabulary.spec(edge.message);
    let bound: HashMap<Arc<str>, Value> = player.monitor().bound(session).into_iter().collect();
    let examples = player.examples().message(&edge.label);
    let mut found = Vec::new();
    for example in examples {
        match example {
            MessageExample::Raw(text) if wanted == Wanted::Right => {
                let text = id.as_deref().map_or_else(|| text.clone(), |id| text.replace(ID_GAP, id));
                found.push(Form { values: None, bytes: text.into_bytes() });
            }
            MessageExample::Raw(_) => {}
            MessageExample::Fields(given) => {
                let fixed = spec.fields.iter().map(|field| {
                    let value = given.get(field.name.as_deref()?)?;
                    converted(value, &field.ty)
                });
                let fixed = fixed.collect();
                let mut search = Search::new(player, session, (edge, id.as_deref()), (spec, &bound), wanted);
                found.extend(search.run(&fixed, true, 1));
            }
        }
    }
    if !found.is_empty() && wanted == Wanted::Right {
        return found;
    }
    let free = vec![None; spec.fields.len()];
    let mut search = Search::new(player, session, (edge, id.as_deref()), (spec, &bound), wanted);
    found.extend(search.run(&free, true, count));
    if found.is_empty() {
        // No example will do here.
        found = search.run(&free, false, count);
    }
    found
}

/// Whether the protocol takes the message of `edge` with `values` in `session`.
pub(crate) fn is_taken(player: &Player, session: &Session, edge: &Edge, values: &[Value]) -> bool {
    judge(player, session, edge, values) == Verdict::Forward
}

fn judge(player: &Player, session: &Session, edge: &Edge, values: &[Value]) -> Verdict {
    let bump = Bump::new();
    let fields: Vec<FieldValue<'_>> = values.iter().map(|value| borrowed(value, &bump)).collect();
    let (from, to) = player.parties(true);
    let event = Event::new(from, to, &edge.label, Payload::Positional(&fields));
    player.monitor().step(&mut session.clone(), &event)
}

/// The bytes of the message of `edge` with `values`, once for each body that it may have and with which they are read as the same.
pub(crate) fn encoded(
    player: &Player,
    (edge, rpc_id): (&Edge, Option<&str>),
    values: &[Value],
) -> Vec<Vec<u8>> {
    let (Some(message), bump) = (edge.id, Bump::new()) else { return Vec::new() };
    let fields: Vec<FieldValue<'_>> = values.iter().map(|value| borrowed(value, &bump)).collect();
    let encode = |body: &[u8]| {
        let mut bytes = Vec::new();
        let parts = Parts { fields: &fields, body, rpc_id };
        player.encoder().encode(player.codec(), message, parts, &mut bytes).ok().map(|()| bytes)
    };
    let given = player.examples().bodies(&edge.label);
    let found: Vec<Vec<u8>> = given.iter().filter_map(|body| encode(body.as_bytes())).collect();
    if !found.is_empty() {
        return found;
    }
    // Where a field says how long the body is, it has to be as long.
    let lengths = values.iter().filter_map(|value| match value {
        Value::Int(length @ 1..=MAX_BODY) => usize::try_from(*length).ok(),
        _ => None,
    });
    [0].into_iter().chain(lengths).find_map(|length| encode(&vec![b'a'; length])).into_iter().collect()
}

/// `value` as the monitor takes it; `bump` has what must outlive this call.
fn borrowed<'a>(value: &'a Value, bump: &'a Bump) -> FieldValue<'a> {
    match value {
        Value::Unit => FieldValue::Unit,
        Value::Bool(value) => FieldValue::Bool(*value),
        Value::Int(value) => FieldValue::Int(*value),
        Value::Float(value) => FieldValue::Float(*value),
        Value::Bytes(bytes) => FieldValue::Bytes(bytes),
        Value::List(items) | Value::Tuple(items) => {
            FieldValue::List(bump.alloc_slice_fill_iter(items.iter().map(|item| borrowed(item, bump))))
        }
        Value::Record(fields) => FieldValue::Record(
            bump.alloc_slice_fill_iter(fields.iter().map(|(name, value)| (&**name, borrowed(value, bump)))),
        ),
        Value::String(text)
        | Value::Opaque(text)
        | Value::Big(text)
        | Value::Atom(text)
        | Value::Pid(text)
        | Value::Reference(text) => FieldValue::Str(text),
        Value::Time(number) | Value::Duration(number) => FieldValue::Int(*number),
    }
}

/// A search for values of one message in one session.
struct Search<'a> {
    player: &'a Player,
    session: &'a Session,
    edge: &'a Edge,
    /// The id of the message, where it has one.
    id: Option<&'a str>,
    spec: &'a MessageSpec,
    bound: &'a HashMap<Arc<str>, Value>,
    /// Texts that the patterns of the assertion match.
    samples: Vec<Value>,
    wanted: Wanted,
    only_examples: bool,
    tries: usize,
    count: usize,
    /// Whether a list of candidates goes further down than was looked.
    deeper: bool,
    found: Vec<Form>,
}

impl<'a> Search<'a> {
    fn new(
        player: &'a Player,
        session: &'a Session,
        (edge, id): (&'a Edge, Option<&'a str>),
        (spec, bound): (&'a MessageSpec, &'a HashMap<Arc<str>, Value>),
        wanted: Wanted,
    ) -> Self {
        Self {
            player,
            session,
            edge,
            id,
            spec,
            bound,
            samples: spec.assertion.as_deref().map(samples).unwrap_or_default(),
            wanted,
            only_examples: true,
            tries: 0,
            count: 0,
            deeper: false,
            found: Vec::new(),
        }
    }

    /// Up to `count` forms in which the fields that are `fixed` have those values.
    fn run(&mut self, fixed: &Vec<Option<Value>>, only_examples: bool, count: usize) -> Vec<Form> {
        (self.only_examples, self.count, self.tries) = (only_examples, count, 0);
        let mut depth = 0;
        loop {
            self.deeper = false;
            let mut known = self.bound.clone();
            self.descend(fixed, &mut Vec::new(), &mut known, depth);
            if !self.deeper || self.is_done() {
                return std::mem::take(&mut self.found);
            }
            depth += 1;
        }
    }

    fn is_done(&self) -> bool {
        self.found.len() >= self.count || self.tries >= MAX_TRIES
    }

    /// Chooses the field after `chosen`, so that the places of all choices in their lists add up to `depth`.
    fn descend(
        &mut self,
        fixed: &Vec<Option<Value>>,
        chosen: &mut Vec<Value>,
        known: &mut HashMap<Arc<str>, Value>,
        depth: usize,
    ) {
        let Some(field) = self.spec.fields.get(chosen.len()) else {
            if depth == 0 && !self.offer(chosen) && self.wanted == Wanted::Right {
                self.repair(fixed, chosen, known);
            }
            return;
        };
        let candidates = match fixed.get(chosen.len()).and_then(Option::as_ref) {
            Some(value) => vec![value.clone()],
            None => self.candidates(field.name.as_ref(), &field.ty, known),
        };
        self.deeper |= candidates.len() > depth + 1;
        for (place, value) in candidates.into_iter().enumerate().take(depth + 1) {
            if self.is_done() {
                return;
            }
            let hidden =
                field.name.as_ref().map(|name| (name, known.insert(Arc::clone(name), value.clone())));
            chosen.push(value);
            self.descend(fixed, chosen, known, depth - place);
            chosen.pop();
            if let Some((name, before)) = hidden {
                match before {
                    Some(before) => known.insert(Arc::clone(name), before),
                    None => known.remove(name),
                };
            }
        }
    }

    /// Tries other values of each field by itself, which the other fields may determine: the first, too, by later ones.
    fn repair(&mut self, fixed: &[Option<Value>], chosen: &[Value], known: &HashMap<Arc<str>, Value>) {
        const MAX_REPAIRS: usize = 8;
        let Some(assertion) = &self.spec.assertion else { return };
        for (at, field) in self.spec.fields.iter().enumerate() {
            let is_read = field.name.as_ref().is_some_and(|name| assertion.free_variables().contains(&name));
            if !is_read || fixed.get(at).is_some_and(Option::is_some) {
                continue;
            }
            for value in self.candidates(field.name.as_ref(), &field.ty, known).into_iter().take(MAX_REPAIRS)
            {
                let mut values = chosen.to_vec();
                values.get_mut(at).into_iter().for_each(|old| *old = value.clone());
                if self.is_done() || self.offer(&values) {
                    return;
                }
            }
        }
    }

    /// Keeps the message with `values` if it is wanted; whether it is.
    fn offer(&mut self, values: &[Value]) -> bool {
        self.tries += 1;
        let verdict = judge(self.player, self.session, self.edge, values);
        let fits = match (self.wanted, verdict) {
            (Wanted::Right, Verdict::Forward) => true,
            (Wanted::Unasserted, Verdict::Violation(violation)) => violation.kind == Kind::Assertion,
            (Wanted::Typed, _) => true,
            _ => false,
        };
        if fits && !self.found.iter().any(|form| form.values.as_deref() == Some(values)) {
            let all = encoded(self.player, (self.edge, self.id), values).into_iter();
            self.found.extend(all.map(|bytes| Form { values: Some(values.to_vec()), bytes }));
        }
        fits
    }

    /// What the field called `name` may be, where the variables in `known` have values.
    fn candidates(&self, name: Option<&Arc<str>>, ty: &Type, known: &HashMap<Arc<str>, Value>) -> Vec<Value> {
        let mut list = Candidates { ty, values: Vec::new() };
        if let Some(name) = name {
            list.extend(self.player.examples().field(&self.edge.label, name, ty));
        }
        if self.only_examples && !list.values.is_empty() {
            return list.values;
        }
        if let Some(assertion) = &self.spec.assertion {
            let mut computed = Vec::new();
            parts(assertion, &mut |part| match part.node() {
                Node::Matches(..) | Node::Call(Function::Matches, _) => {}
                _ if part.free_variables().iter().any(|free| Some(*free) == name) => {}
                _ => computed.extend(eval(part, known, &NoExternals).ok()),
            });
            list.shaped(assertion, name, known, &computed);
            computed.into_iter().for_each(|value| list.near(Some(value)));
        }
        list.extend(self.samples.iter().cloned());
        list.extend(known.values().cloned());
        list.extend(usual(ty, 3));
        list.values
    }
}

/// Texts that the patterns of `assertion` match.
fn samples(assertion: &Expr) -> Vec<Value> {
    let mut patterns: Vec<Arc<str>> = Vec::new();
    parts(assertion, &mut |part| match part.node() {
        Node::Matches(_, pattern) => patterns.push(pattern.text().into()),
        Node::Call(Function::Matches, arguments) => {
            if let Some(Node::Literal(Value::String(pattern))) = arguments.get(1).map(Expr::node) {
                patterns.push(Arc::clone(pattern));
            }
        }
        _ => {}
    });
    let texts = patterns.iter().flat_map(|pattern| sample::texts(pattern, 3));
    texts.map(|text| Value::string(&text)).collect()
}

/// Calls `visit` with every part of `expr`, itself last.
fn parts(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    expr.node().children().iter().for_each(|child| parts(child, visit));
    visit(expr);
}

/// Values of one type, each once.
struct Candidates<'a> {
    ty: &'a Type,
    values: Vec<Value>,
}

impl Candidates<'_> {
    fn extend(&mut self, values: impl IntoIterator<Item = Value>) {
        for value in values {
            if self.values.len() < MAX_CANDIDATES && value.has_type(self.ty) && !self.values.contains(&value)
            {
                self.values.push(value);
            }
        }
    }

    /// What `assertion` asks for by its shape, where `computed` are the values of its parts.
    fn shaped(
        &mut self,
        assertion: &Expr,
        name: Option<&Arc<str>>,
        known: &HashMap<Arc<str>, Value>,
        computed: &[Value],
    ) {
        if let Some(name) = name {
            for bound in shapes::bounds(assertion, known, name, self.ty) {
                self.near(Some(bound));
            }
        }
        match self.ty {
            Type::String => self.extend(shapes::texts(assertion, known)),
            Type::Bytes => self.extend(shapes::bytes(assertion, known)),
            Type::List(element) => {
                let element = usual(element, 3).into_iter().next();
                self.extend(element.iter().flat_map(|element| shapes::lists(assertion, known, element)));
            }
            _ => {}
        }
        if matches!(self.ty, Type::List(_) | Type::Tuple(_) | Type::Record(_)) {
            for plain in usual(self.ty, 3) {
                self.extend(computed.iter().flat_map(|part| shapes::with_part(&plain, part)));
            }
        }
    }

    /// `value`, and its neighbours if it is a number.
    fn near(&mut self, value: Option<Value>) {
        let Some(value) = value else { return };
        let neighbours = match value {
            Value::Int(number) => {
                let near = [1, -1, 2].map(|offset: i64| number.checked_add(offset).map(Value::Int));
                near.into_iter().flatten().collect()
            }
            Value::Float(number) => vec![Value::Float(number + 0.5), Value::Float(number - 0.5)],
            _ => Vec::new(),
        };
        self.extend([value]);
        self.extend(neighbours);
    }
}

/// A few values of `ty`, the plainest first.
fn usual(ty: &Type, depth: usize) -> Vec<Value> {
    let parts = |ty: &Type| if depth == 0 { Vec::new() } else { usual(ty, depth - 1) };
    match ty {
        Type::Unit => vec![Value::Unit],
        Type::Bool => vec![Value::Bool(true), Value::Bool(false)],
        // Not the largest: an answer that has to be one more would have no value, and its sender no way.
        Type::Int => [1, 2, 0, -1, 10, 100, 1000, 65_535].map(Value::Int).to_vec(),
        Type::Float => [1.0, 0.0, 0.5, -1.0, 1000.0].map(Value::Float).to_vec(),
        Type::String => ["a", "b", "abc", "1", ""].map(Value::string).to_vec(),
        Type::Bytes => [&b"a"[..], b"b", b""].map(|bytes| Value::Bytes(bytes.into())).to_vec(),
        Type::Opaque(_) => ["a", "b"].map(|text| Value::Opaque(text.into())).to_vec(),
        Type::List(element) => {
            let elements = parts(element);
            let one = elements.first().cloned().map(|one| Value::List([one].into()));
            let two: Arc<[Value]> = elements.into_iter().take(2).collect();
            one.into_iter()
                .chain([Value::List([].into())])
                .chain((two.len() == 2).then_some(Value::List(two)))
                .collect()
        }
        Type::Tuple(types) => {
            aligned(&types.iter().map(parts).collect::<Vec<_>>(), |items| Value::Tuple(items.into()))
        }
        Type::Record(fields) => {
            let columns: Vec<Vec<Value>> = fields.iter().map(|(_, ty)| parts(ty)).collect();
            aligned(&columns, |items| {
                let named = fields.iter().zip(items).map(|((name, _), value)| (Arc::clone(name), value));
                Value::Record(named.collect())
            })
        }
    }
}

/// The first values of all columns together, then the second ones, where there are any.
fn aligned(columns: &[Vec<Value>], whole: impl Fn(Vec<Value>) -> Value) -> Vec<Value> {
    let row = |index: usize| {
        let items = columns.iter().map(|column| column.get(index).or(column.first()).cloned());
        items.collect::<Option<Vec<Value>>>().map(&whole)
    };
    [0, 1].into_iter().filter_map(row).collect()
}
