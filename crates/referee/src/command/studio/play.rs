//! A protocol played by hand: who may do what now, what the monitors say to it, and the run so far as a trace.
//!
//! Roles talk through channels, as in `referee check`: what is sent waits until its receiver takes it. Each role has its own monitor.
//! What a monitor objects to is shown, and does not happen, as under the policy `drop`. The page sends all moves each time; nothing
//! is kept here.

mod values;

use std::collections::{BTreeMap, VecDeque};

use referee::Projected;
use referee::monitor::{Event, FieldValue, Monitor, Payload, Session, Verdict};
use referee::studio::{StepAction, StepView, Trace, TraceKind};
use referee::theory::{Action, Origin, Role, Transition, Vocabulary};
use referee::verdict::json_value;
use referee::view::execution::stepping::{machine_view, source};
use referee::view::pictures::lines_of;
use serde_json::{Value, json};

/// So many moves a run has at most, and so many of them others make at once.
const MAX_MOVES: usize = 2_000;
const MAX_OTHERS: usize = 40;

/// What the page asks for.
#[derive(Debug)]
struct Wish {
    /// Which protocol of the file; without it, the first.
    protocol: Option<String>,
    /// Everything until now.
    moves: Vec<Move>,
    /// Roles that move by themselves.
    others: Vec<String>,
}

/// One move.
#[derive(Clone, Debug)]
struct Move {
    role: String,
    /// Whether it sends; otherwise it takes what comes next from `peer`.
    sends: bool,
    peer: String,
    label: String,
    values: Vec<Value>,
}

/// Something that can be done now.
struct Choice {
    does: Move,
    /// The message as the protocol writes it.
    text: String,
    /// Names and types.
    fields: Vec<(String, String)>,
    assertion: Option<String>,
    /// Whether its monitor would object to these values, or to this message.
    objected: bool,
}

impl Wish {
    fn read(wish: &Value) -> Self {
        let list = |key: &str| wish[key].as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            protocol: wish["protocol"].as_str().map(str::to_owned),
            moves: list("moves").iter().map(Move::read).collect(),
            others: list("others").iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        }
    }
}

impl Move {
    fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Self {
            role: text("role"),
            sends: value["sends"] == true,
            peer: text("peer"),
            label: text("label"),
            values: value["values"].as_array().cloned().unwrap_or_default(),
        }
    }

    fn to_json(&self) -> Value {
        let Self { role, sends, peer, label, values } = self;
        json!({ "role": role, "sends": sends, "peer": peer, "label": label, "values": values })
    }
}

impl Choice {
    fn to_json(&self) -> Value {
        let mut json = self.does.to_json();
        let field = |(name, ty): &(String, String)| json!({ "name": name, "type": ty });
        json["text"] = self.text.as_str().into();
        json["fields"] = self.fields.iter().map(field).collect();
        json["assertion"] = json!(self.assertion);
        json["objected"] = self.objected.into();
        json
    }
}

struct Player {
    role: Role,
    name: String,
    monitor: Monitor,
    session: Session,
}

/// What is in a channel.
#[derive(Clone)]
struct Sent {
    label: String,
    values: Vec<Value>,
}

/// What a monitor says to a move.
enum Word {
    Fine(Origin),
    Objects { message: String, blame: Option<String>, expected: Vec<String>, origin: Origin },
}

/// A run.
struct Game<'p> {
    protocol: &'p Projected,
    players: Vec<Player>,
    channels: BTreeMap<(usize, usize), VecDeque<Sent>>,
    moves: Vec<Move>,
    steps: Vec<(StepView, Origin)>,
    verdict: Option<Value>,
}

impl<'p> Game<'p> {
    /// A run of `protocol` before its first move.
    fn new(protocol: &'p Projected) -> Result<Self, String> {
        let vocabulary = protocol.vocabulary();
        let player = |role: Role| {
            let name = vocabulary.role_name(role).to_owned();
            let monitorable =
                protocol.monitorable(role).map_err(|_| format!("`{name}` has no projection"))?;
            let monitor =
                monitorable.monitor().map_err(|error| format!("`{name}` cannot be played: {error}"))?;
            let session = monitor.session();
            Ok(Player { role, name, monitor, session })
        };
        let players = vocabulary.roles().map(player).collect::<Result<_, String>>()?;
        Ok(Self {
            protocol,
            players,
            channels: BTreeMap::new(),
            moves: Vec::new(),
            steps: Vec::new(),
            verdict: None,
        })
    }

    fn vocabulary(&self) -> &Vocabulary {
        self.protocol.vocabulary()
    }

    fn index(&self, name: &str) -> Result<usize, String> {
        let found = self.players.iter().position(|player| player.name == name);
        found.ok_or_else(|| format!("there is no role `{name}`"))
    }

    /// Does `next`, as far as its monitor lets it.
    fn play(&mut self, next: &Move) -> Result<(), String> {
        if self.moves.len() >= MAX_MOVES {
            return Err(format!("a run has {MAX_MOVES} moves at most"));
        }
        let (own, peer) = (self.index(&next.role)?, self.index(&next.peer)?);
        let channel = if next.sends { (own, peer) } else { (peer, own) };
        let sent = if next.sends {
            Sent { label: next.label.clone(), values: next.values.clone() }
        } else {
            let waiting = self.channels.get(&channel).and_then(VecDeque::front).cloned();
            waiting.ok_or_else(|| format!("nothing of `{}` waits for `{}`", next.peer, next.role))?
        };
        let before = self.players.get(own).map_or(0, |player| player.session.state().0);
        let word = self.judge(own, channel, &sent);
        let (origin, wrong) = match word {
            Word::Fine(origin) => {
                let queue = self.channels.entry(channel).or_default();
                if next.sends {
                    queue.push_back(sent.clone());
                } else {
                    queue.pop_front();
                }
                self.verdict = None;
                (origin, None)
            }
            Word::Objects { message, blame, expected, origin } => {
                let whose = &next.role;
                self.verdict =
                    Some(json!({ "role": whose, "message": message, "blame": blame, "expected": expected }));
                (origin, Some(message))
            }
        };
        self.moves.push(Move { label: sent.label.clone(), values: sent.values.clone(), ..next.clone() });
        let Some(player) = self.players.get(own) else { return Ok(()) };
        let bindings = player.monitor.bound(&player.session);
        let step = StepView {
            role: next.role.clone(),
            action: if next.sends { StepAction::Send } else { StepAction::Receive },
            peer: Some(next.peer.clone()),
            text: format!("{}({})", sent.label, values::shown(&sent.values)),
            label: sent.label,
            states: Some((before, player.session.state().0)),
            wrong: wrong.is_some(),
            bindings: bindings
                .into_iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            note: wrong,
            ..StepView::default()
        };
        self.steps.push((step, origin));
        Ok(())
    }

    /// What the monitor of the player `own` says to `sent` in `channel`; its session goes on unless it objects.
    fn judge(&mut self, own: usize, (from, to): (usize, usize), sent: &Sent) -> Word {
        let roles = [from, to].map(|index| self.players.get(index).map(|player| player.role));
        let (Some(player), [Some(from), Some(to)]) = (self.players.get_mut(own), roles) else {
            return Word::Fine(Origin::NONE);
        };
        let action = if player.role == from { Action::Send } else { Action::Receive };
        let peer = if player.role == from { to } else { from };
        let vocabulary = self.protocol.vocabulary();
        let is_it = |transition: &&Transition| {
            let label = vocabulary.label_of(transition.message);
            transition.action == action && transition.peer == peer && label == sent.label
        };
        let origin = player.monitor.expected(&player.session).iter().find(is_it).map(|found| found.origin);
        values::with(&sent.values, |fields| {
            let event = Event::new(from, to, &sent.label, Payload::Positional(fields));
            match player.monitor.step(&mut player.session, &event) {
                Verdict::Forward => Word::Fine(origin.unwrap_or(Origin::NONE)),
                Verdict::Early => Word::Objects {
                    message: format!(
                        "`{}` comes before its turn: another peer's message is first",
                        sent.label
                    ),
                    blame: None,
                    expected: Vec::new(),
                    origin: Origin::NONE,
                },
                Verdict::Violation(violation) => {
                    let why = player.monitor.explain(&player.session, &violation, &event);
                    Word::Objects {
                        message: why.to_string(),
                        blame: why.blame.as_deref().map(str::to_owned),
                        expected: why.expected.iter().map(|expected| expected.signature.clone()).collect(),
                        origin: why.origin,
                    }
                }
                Verdict::Fault(fault) => {
                    let why = player.monitor.explain_fault(&player.session, &fault, &event);
                    let message = format!("the monitor cannot tell: {why}");
                    Word::Objects { message, blame: None, expected: Vec::new(), origin: why.origin }
                }
            }
        })
    }

    /// What the player `own` can do.
    fn choices_of(&self, own: usize) -> Vec<Choice> {
        let Some(player) = self.players.get(own) else { return Vec::new() };
        let sends = player.monitor.expected(&player.session).iter();
        let sends = sends.filter(|transition| transition.action == Action::Send);
        let mut all: Vec<Choice> = sends.map(|transition| self.send_choice(player, transition)).collect();
        for ((from, _), queue) in self.channels.iter().filter(|((_, to), _)| *to == own) {
            let (Some(peer), Some(first)) = (self.players.get(*from), queue.front()) else { continue };
            let fits = self.would(player, (peer.role, player.role), &first.label, &first.values);
            all.push(Choice {
                does: Move {
                    role: player.name.clone(),
                    sends: false,
                    peer: peer.name.clone(),
                    label: first.label.clone(),
                    values: first.values.clone(),
                },
                text: format!("{}({})", first.label, values::shown(&first.values)),
                fields: Vec::new(),
                assertion: None,
                objected: !fits,
            });
        }
        all
    }

    fn send_choice(&self, player: &Player, transition: &Transition) -> Choice {
        let vocabulary = self.vocabulary();
        let spec = vocabulary.spec(transition.message);
        let label = vocabulary.label_of(transition.message).to_owned();
        let assertion = spec.assertion.as_ref().map(ToString::to_string);
        let bound = player.monitor.bound(&player.session);
        let bound: Vec<Value> = bound.iter().map(|(_, value)| json_value(value)).collect();
        let fits = |values: &[Value]| self.would(player, (player.role, transition.peer), &label, values);
        let (values, objected) = values::example(&spec.fields, assertion.as_deref(), &bound, &fits);
        let field = |field: &referee::theory::Field| {
            (field.name.as_deref().unwrap_or("").to_owned(), field.ty.to_string())
        };
        Choice {
            text: vocabulary.display(transition.message).to_string(),
            fields: spec.fields.iter().map(field).collect(),
            assertion,
            objected,
            does: Move {
                role: player.name.clone(),
                sends: true,
                peer: vocabulary.role_name(transition.peer).to_owned(),
                label,
                values,
            },
        }
    }

    /// Whether the monitor of `player` would let this message pass.
    fn would(&self, player: &Player, (from, to): (Role, Role), label: &str, values: &[Value]) -> bool {
        let mut session = player.session.clone();
        values::with(values, |fields: &[FieldValue<'_>]| {
            let event = Event::new(from, to, label, Payload::Positional(fields));
            player.monitor.step(&mut session, &event) == Verdict::Forward
        })
    }

    /// Lets the roles in `others` move by themselves, until none of them can or they have moved a while. What they send
    /// depends on the run so far alone.
    fn let_move(&mut self, others: &[String]) -> Result<(), String> {
        for _ in 0..MAX_OTHERS {
            let able = |name: &String| self.choices_of(self.index(name).unwrap_or(usize::MAX));
            let mut all: Vec<Choice> =
                others.iter().flat_map(able).filter(|choice| !choice.objected).collect();
            // What has come is taken before something is said.
            if all.iter().any(|choice| !choice.does.sends) {
                all.retain(|choice| !choice.does.sends);
            }
            if all.is_empty() {
                return Ok(());
            }
            let mixed = (self.moves.len() as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            let chosen = usize::try_from(mixed).unwrap_or(0) % all.len();
            let next = all.swap_remove(chosen).does;
            self.play(&next)?;
        }
        Ok(())
    }

    /// Everything about the run, for the page.
    fn view(self) -> Value {
        let choices: Vec<Choice> = (0..self.players.len()).flat_map(|own| self.choices_of(own)).collect();
        let is_over = self.players.iter().all(|player| player.monitor.is_over(&player.session))
            && self.channels.values().all(VecDeque::is_empty);
        let roles: Vec<Value> = self
            .players
            .iter()
            .map(|player| {
                let state = player.monitor.machine().state_name(player.session.state());
                let is_over = player.monitor.is_over(&player.session);
                json!({ "name": player.name, "state": state, "over": is_over })
            })
            .collect();
        json!({
            "roles": roles,
            "choices": choices.iter().map(Choice::to_json).collect::<Vec<_>>(),
            "moves": self.moves.iter().map(Move::to_json).collect::<Vec<_>>(),
            "verdict": self.verdict,
            "over": is_over,
            "trace": self.trace(),
        })
    }

    fn trace(self) -> Trace {
        let lines = lines_of(self.protocol, self.steps.iter().map(|(_, origin)| *origin));
        let machine = |player: &Player| {
            machine_view(player.monitor.machine(), player.monitor.vocabulary(), self.protocol)
        };
        let wrong = self.steps.iter().filter(|(step, _)| step.wrong).count();
        Trace {
            kind: TraceKind::Played,
            title: format!("played: {}", self.protocol.name().unwrap_or("the protocol")),
            explanation: match wrong {
                0 => "No monitor objected.".to_owned(),
                1 => "A monitor objected to one message, which did not go on.".to_owned(),
                count => format!("Monitors objected to {count} messages, which did not go on."),
            },
            protocol: self.protocol.name().map(str::to_owned),
            roles: self.players.iter().map(|player| player.name.clone()).collect(),
            machines: self.players.iter().map(machine).collect(),
            source: Some(source(self.protocol)),
            steps: self
                .steps
                .into_iter()
                .map(|(step, origin)| StepView { lines: lines.get(&origin).copied(), ..step })
                .collect(),
            ..Trace::default()
        }
    }
}

/// Does what the page wants in one of `protocols`.
pub(super) fn play(protocols: &[Projected], wish: &Value) -> Result<Value, String> {
    let wish = Wish::read(wish);
    let named =
        |protocol: &&Projected| wish.protocol.is_none() || protocol.name() == wish.protocol.as_deref();
    let protocol = protocols.iter().find(named).ok_or("there is no such protocol")?;
    let mut game = Game::new(protocol)?;
    for next in &wish.moves {
        game.play(next)?;
    }
    game.let_move(&wish.others)?;
    let mut view = game.view();
    let names: Vec<&str> = protocols.iter().filter_map(Projected::name).collect();
    view["protocols"] = json!(names);
    Ok(view)
}

#[cfg(test)]
mod tests;
