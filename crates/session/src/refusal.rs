//! Refusals (policy `reject`): a wrong message does not go on, and who waits for an answer is told why, so that the session goes on.
//!
//! A message m that is wrong in state s is refused where the codec names a refusal r and the protocol has s –m→ –r→ s: for its sender it is as if
//! the other side had refused it, for the other side as if it had never been sent. A notification, which nobody answers, is dropped. A wrong answer is replaced by
//! r where the protocol has s –r→ t; the session is in t. Everywhere else the session is halted.

use referee_theory::{Action as Exchange, Field, State, Type};
use referee_wire::{Known, MessageId, Sender};

use crate::rules::TwoPartyRules;

/// Which messages can be refused, and where.
#[derive(Debug)]
pub struct Refusals {
    /// By message of the codec: whether it can be refused, in each state of the monitor.
    refusable: Vec<Box<[bool]>>,
}

impl Refusals {
    /// What the codec and the protocol of `rules` allow to be refused.
    #[must_use]
    pub fn new(rules: &TwoPartyRules) -> Self {
        let states = || rules.monitor.machine().states();
        let of_message =
            |(index, known)| states().map(|state| leads_back(rules, state, (index, known))).collect();
        Self { refusable: rules.codec.messages().iter().enumerate().map(of_message).collect() }
    }

    /// Whether nothing can be.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.refusable.iter().flatten().any(|can| *can)
    }

    /// Whether `message` can be refused in `state`.
    #[must_use]
    pub fn allow(&self, message: MessageId, state: State) -> bool {
        let states = self.refusable.get(message.index());
        states.and_then(|states| states.get(state.index())).copied().unwrap_or(false)
    }

    /// The requests of `rules` that can be refused wherever the protocol has them, and those that cannot somewhere.
    #[must_use]
    pub fn names<'r>(&self, rules: &'r TwoPartyRules) -> [Vec<&'r str>; 2] {
        let mut names = [Vec::new(), Vec::new()];
        for (index, (known, states)) in rules.codec.messages().iter().zip(&self.refusable).enumerate() {
            let has = |state| targets(rules, state, index, known.sender).next().is_some();
            let halts = rules.monitor.machine().states().zip(states).any(|(state, can)| !can && has(state));
            if states.contains(&true) {
                names[usize::from(halts)].push(&*known.name);
            }
        }
        names
    }
}

/// Where `state` leads with the message of `sender` that has this number, whatever its fields say.
pub(crate) fn targets(
    rules: &TwoPartyRules,
    state: State,
    message: usize,
    sender: Sender,
) -> impl Iterator<Item = State> {
    let label = rules.labels.get(message).copied();
    let own = if rules.codec.is_process(sender) { Exchange::Send } else { Exchange::Receive };
    let (monitor, vocabulary) = (&rules.monitor, rules.monitor.vocabulary());
    monitor.machine().transitions(state).iter().filter_map(move |transition| {
        let is_it = Some(monitor.label(vocabulary.label_of(transition.message))) == label;
        (is_it && transition.action == own).then_some(transition.target)
    })
}

/// Whether `state` leads back to itself with a message and something that refuses it.
fn leads_back(rules: &TwoPartyRules, state: State, (index, known): (usize, &Known)) -> bool {
    let Some(message) = rules.codec.find(known.sender, &known.name) else { return false };
    let refusals = rules.codec.refusals(message).iter().filter(|id| {
        rules.codec.messages().get(id.index()).is_some_and(|answer| says_anything(rules, answer))
    });
    let refused = |after| {
        refusals.clone().any(|answer| {
            targets(rules, after, answer.index(), known.sender.other()).any(|target| target == state)
        })
    };
    targets(rules, state, index, known.sender).any(refused)
}

/// Whether an error with any code and any text is such a message.
fn says_anything(rules: &TwoPartyRules, answer: &Known) -> bool {
    let vocabulary = rules.monitor.vocabulary();
    let is_free = vocabulary.messages().all(|message| {
        *vocabulary.label_of(message) != *answer.name || vocabulary.spec(message).assertion.is_none()
    });
    let takes_all = |field: &Field| match field.name.as_deref() {
        Some("code") => field.ty == Type::Int,
        Some("message") => field.ty == Type::String,
        Some("error") => matches!(field.ty, Type::Opaque(_)),
        _ => false,
    };
    is_free && answer.fields.iter().all(takes_all)
}
