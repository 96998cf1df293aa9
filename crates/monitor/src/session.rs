//! A session: one run of a protocol, as a small value.
//!
//! 32 bytes, plus what is bound: nothing is allocated for a session whose later assertions read at most one
//! scalar, and 40 bytes for one that keeps a text of up to 24 bytes besides. Others allocate when the first such value is bound;
//! a stored string keeps its buffer, so that binding the next one of similar length allocates nothing, and gives it back when it
//! would be mostly empty.

mod bytes;

use referee_theory::expr::Value;
use referee_theory::{State, Type};
use smallvec::SmallVec;

pub use bytes::BadSession;

use crate::event::FieldValue;
use crate::layout::{Layout, Slot};
use crate::verdict::Side;

/// Buffers up to this many bytes are kept however short their text.
const KEPT: usize = 256;

/// One run of a protocol: a state, what is bound, and what was counted. Made by
/// [`Monitor::session`](crate::Monitor::session), moved by [`Monitor::step`](crate::Monitor::step).
#[derive(Clone, Debug)]
// Aligned to its size, so that no session lies across two cache lines.
#[repr(align(32))]
pub struct Session {
    pub(crate) state: u32,
    pub(crate) ended: Ended,
    pub(crate) mark: Mark,
    /// Saturates.
    pub(crate) violations: u16,
    pub(crate) events: u64,
    first: u64,
    rest: Option<Box<Rest>>,
}

/// Which sides have ended, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended(pub(crate) u8);

impl Ended {
    #[inline]
    pub(crate) fn is_nobody(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) fn bit(side: Side) -> u8 {
        match side {
            Side::Process => 1,
            Side::Environment => 2,
        }
    }
}

/// What policies remember of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mark {
    #[default]
    Clean,
    /// A violation was let through: the session may no longer be where the sides are.
    Tainted,
    /// A violation or a fault ended it.
    Halted,
    /// A fault was let through: nothing can be said about it any more.
    Lost,
}

/// What does not fit into the session itself.
#[derive(Clone, Debug, Default)]
struct Rest {
    /// The first text, which is mostly short and the only thing that is kept: one place in memory, not four.
    // INVARIANT: UTF-8.
    text: SmallVec<[u8; 24]>,
    more: Option<Box<More>>,
}

/// What few sessions keep.
#[derive(Clone, Debug)]
struct More {
    scalars: Box<[u64]>,
    /// From the second on.
    texts: Box<[String]>,
    octets: Box<[Vec<u8>]>,
    trees: Box<[Value]>,
}

impl More {
    #[cold]
    fn new(layout: &Layout) -> Box<Self> {
        Box::new(Self {
            scalars: vec![0; layout.scalars].into(),
            texts: vec![String::new(); layout.texts.saturating_sub(1)].into(),
            octets: vec![Vec::new(); layout.octets].into(),
            trees: vec![Value::Unit; layout.trees].into(),
        })
    }
}

impl Session {
    pub(crate) fn new() -> Self {
        Self {
            state: 0,
            ended: Ended::default(),
            mark: Mark::Clean,
            violations: 0,
            events: 0,
            first: 0,
            rest: None,
        }
    }

    /// Reads each of `sessions` once. Nothing comes of it but that they are all fetched from memory at the
    /// same time: who steps over events of many sessions does this for some dozens of them at a time, and
    /// then does not wait for each in turn.
    pub fn fetch<'a>(sessions: impl IntoIterator<Item = &'a Self>) {
        std::hint::black_box(sessions.into_iter().fold(0, |all, session| all ^ session.state));
    }

    /// The machine's state.
    #[must_use]
    pub fn state(&self) -> State {
        State(self.state)
    }

    /// How many events were stepped over, wrong ones included: the last one had this number less one.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many violations a policy has ruled on; stays at 65,535.
    #[must_use]
    pub fn violations(&self) -> u16 {
        self.violations
    }

    /// Whether a violation was let through ([`Policy::Observe`](crate::Policy)).
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.mark == Mark::Tainted
    }

    /// What is wrong from now on may come from what was let through.
    #[cfg(feature = "network")]
    pub(crate) fn taint(&mut self) {
        if self.mark == Mark::Clean {
            self.mark = Mark::Tainted;
        }
    }

    /// Whether a violation ([`Policy::Halt`](crate::Policy)) or a fault ended it.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.mark == Mark::Halted
    }

    /// Whether a fault was let through ([`Policy::Observe`](crate::Policy)), so that it is no longer judged.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.mark == Mark::Lost
    }

    /// Goes on as `other`: its state and what it has bound, with the violations and events counted here.
    pub fn resume(&mut self, other: &Self) {
        let own = (self.mark, self.violations, self.events);
        self.clone_from(other);
        (self.mark, self.violations, self.events) = own;
    }

    /// The bytes it has allocated.
    #[must_use]
    pub fn allocated(&self) -> usize {
        let Some(rest) = &self.rest else { return 0 };
        let text = if rest.text.spilled() { rest.text.capacity() } else { 0 };
        let Some(more) = &rest.more else { return size_of::<Rest>() + text };
        let texts: usize = more.texts.iter().map(|text| text.capacity() + size_of::<String>()).sum();
        let octets: usize = more.octets.iter().map(|bytes| bytes.capacity() + size_of::<Vec<u8>>()).sum();
        let words = more.scalars.len() * 8 + more.trees.len() * size_of::<Value>();
        size_of::<Rest>() + text + size_of::<More>() + words + texts + octets
    }

    fn more(&self) -> Option<&More> {
        self.rest.as_ref()?.more.as_deref()
    }

    /// The room for what few sessions keep.
    fn room(&mut self, layout: &Layout) -> &mut More {
        let rest = self.rest.get_or_insert_default();
        rest.more.get_or_insert_with(|| More::new(layout))
    }

    #[inline]
    pub(crate) fn scalar(&self, slot: Slot) -> u64 {
        match (slot, self.more()) {
            (Slot::First, _) => self.first,
            (Slot::Scalar(index), Some(more)) => more.scalars.get(index as usize).copied().unwrap_or(0),
            _ => 0,
        }
    }

    #[inline]
    pub(crate) fn text(&self, slot: Slot) -> &str {
        match (slot, &self.rest) {
            (Slot::Text(0), Some(rest)) => {
                let text = std::str::from_utf8(&rest.text);
                debug_assert!(text.is_ok(), "texts are kept whole");
                text.unwrap_or_default()
            }
            (Slot::Text(index), Some(rest)) => {
                let texts = rest.more.as_ref().map(|more| &more.texts);
                texts.and_then(|texts| texts.get(index as usize - 1)).map_or("", |text| text)
            }
            _ => "",
        }
    }

    pub(crate) fn octets(&self, slot: Slot) -> &[u8] {
        match (slot, self.more()) {
            (Slot::Octets(index), Some(more)) => more.octets.get(index as usize).map_or(&[], |bytes| bytes),
            _ => &[],
        }
    }

    pub(crate) fn tree(&self, slot: Slot) -> Value {
        match (slot, self.more()) {
            (Slot::Tree(index), Some(more)) => more.trees.get(index as usize).cloned().unwrap_or(Value::Unit),
            _ => Value::Unit,
        }
    }

    /// The variable of type `ty` in `slot`, for explanations.
    pub(crate) fn value(&self, slot: Slot, ty: &Type) -> Value {
        match ty {
            Type::Bool => Value::Bool(self.scalar(slot) != 0),
            Type::Int => Value::Int(self.scalar(slot).cast_signed()),
            Type::Float => Value::Float(f64::from_bits(self.scalar(slot))),
            Type::String => Value::string(self.text(slot)),
            Type::Opaque(_) => Value::Opaque(self.text(slot).into()),
            Type::Bytes => Value::Bytes(self.octets(slot).into()),
            Type::Unit | Type::List(_) | Type::Tuple(_) | Type::Record(_) => self.tree(slot),
        }
    }

    /// Keeps `value`, which has type `ty`, in `slot`.
    #[inline]
    pub(crate) fn store(&mut self, slot: Slot, ty: &Type, value: &FieldValue<'_>, layout: &Layout) {
        let word = match (value, ty) {
            (FieldValue::Int(value), Type::Float) => (*value as f64).to_bits(),
            (FieldValue::Int(value), _) => value.cast_unsigned(),
            (FieldValue::Bool(value), _) => u64::from(*value),
            (FieldValue::Float(value), _) => value.to_bits(),
            _ => 0,
        };
        if slot == Slot::First {
            self.first = word;
            return;
        }
        match slot {
            Slot::First => {}
            Slot::Scalar(index) => {
                if let Some(cell) = self.room(layout).scalars.get_mut(index as usize) {
                    *cell = word;
                }
            }
            Slot::Text(_) => self.store_text(slot, &value.opaque_text(), layout),
            Slot::Octets(index) => {
                if let Some(bytes) = self.room(layout).octets.get_mut(index as usize) {
                    bytes.clear();
                    bytes.extend_from_slice(match value {
                        FieldValue::Bytes(bytes) => bytes,
                        FieldValue::Str(text) => text.as_bytes(),
                        _ => &[],
                    });
                    if bytes.capacity() > KEPT && bytes.len() < bytes.capacity() / 4 {
                        bytes.shrink_to_fit();
                    }
                }
            }
            Slot::Tree(index) => {
                if let Some(tree) = self.room(layout).trees.get_mut(index as usize) {
                    *tree = value.to_value(ty).unwrap_or(Value::Unit);
                }
            }
        }
    }

    #[inline]
    fn store_text(&mut self, slot: Slot, value: &str, layout: &Layout) {
        match slot {
            Slot::Text(0) => {
                let text = &mut self.rest.get_or_insert_default().text;
                text.clear();
                text.extend_from_slice(value.as_bytes());
                if text.capacity() > KEPT && text.len() < text.capacity() / 4 {
                    text.shrink_to_fit();
                }
            }
            Slot::Text(index) => {
                if let Some(text) = self.room(layout).texts.get_mut(index as usize - 1) {
                    text.clear();
                    text.push_str(value);
                    if text.capacity() > KEPT && text.len() < text.capacity() / 4 {
                        text.shrink_to_fit();
                    }
                }
            }
            _ => {}
        }
    }

    /// Keeps a computed `value`, which has type `ty`, in `slot`.
    pub(crate) fn store_value(&mut self, slot: Slot, ty: &Type, value: Value, layout: &Layout) {
        match &value {
            Value::Bool(value) => self.store(slot, ty, &FieldValue::Bool(*value), layout),
            Value::Int(value) => self.store(slot, ty, &FieldValue::Int(*value), layout),
            Value::Float(value) => self.store(slot, ty, &FieldValue::Float(*value), layout),
            Value::String(text) | Value::Opaque(text) => self.store(slot, ty, &FieldValue::Str(text), layout),
            Value::Bytes(bytes) => self.store(slot, ty, &FieldValue::Bytes(bytes), layout),
            _ => {
                if let Slot::Tree(index) = slot
                    && let Some(tree) = self.room(layout).trees.get_mut(index as usize)
                {
                    *tree = value;
                }
            }
        }
    }

    /// Forgets what is in `slot`; short buffers are kept for the next text.
    #[cold]
    pub(crate) fn release(&mut self, slot: Slot) {
        let Some(rest) = &mut self.rest else { return };
        if slot == Slot::Text(0) {
            rest.text.clear();
            if rest.text.capacity() > KEPT {
                rest.text.shrink_to_fit();
            }
        }
        let Some(more) = &mut rest.more else { return };
        match slot {
            Slot::First | Slot::Scalar(_) | Slot::Text(0) => {}
            Slot::Text(index) => {
                if let Some(text) = more.texts.get_mut(index as usize - 1) {
                    text.clear();
                    text.shrink_to(KEPT);
                }
            }
            Slot::Octets(index) => {
                if let Some(bytes) = more.octets.get_mut(index as usize) {
                    bytes.clear();
                    bytes.shrink_to(KEPT);
                }
            }
            Slot::Tree(index) => {
                if let Some(tree) = more.trees.get_mut(index as usize) {
                    *tree = Value::Unit;
                }
            }
        }
    }

    /// Forgets everything that is bound: nothing reads it any more.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.rest.is_some() {
            self.rest = None;
        }
    }
}
