//! The compiled engines agree with the transitions of networks (RV'23, Definition 3, Figure 3) step by step under
//! random schedules: each effect of an engine is a transition of the reference network, an engine that does
//! nothing has no transition left, and an error is found exactly where the reference finds one, with the role
//! that did it blamed (Referee's own) and everyone told.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use referee_check::Options;
use referee_monitor::multiparty::{
    Arrival, Dependencies, Effect, Engine, Finding, Network, Notice, Rule, Run, Settings, Status, Turn,
};
use referee_monitor::{Event, EventLabel, Party, Payload, Policy, Registry};
use referee_reference::global::{Tree, call, exchange, rec};
use referee_reference::relamon::monitor::{Lines, Monitor, of_role};
use referee_reference::relamon::network::{Action, Blackbox, Buffer, Message, Monitored, Outcome, push};
use referee_reference::relative::is_well_formed;
use referee_testkit::choices::{Choices, Random, law_seeds};
use referee_testkit::global_types::{self, ROLES, Universe};
use referee_theory::Role;

fn lend(message: &Message, look: &mut dyn FnMut(&Event<'_>)) {
    let label = EventLabel::Text(&message.label);
    let payload =
        if is_misstep(message) { Payload::Malformed("a misstep") } else { Payload::Positional(&[]) };
    look(&Event { from: Party::Stranger, to: Party::Stranger, label, payload });
}

/// Engines and their reference side by side.
struct World {
    engines: Vec<Engine>,
    runs: Vec<Run<Message>>,
    parts: Vec<Monitored>,
    /// Between monitors, by sender and receiver.
    flight: BTreeMap<(usize, usize), VecDeque<Message>>,
    roles: usize,
    /// How many wrong messages components were given.
    through: usize,
    /// By role: what its component was given before its turn, by sender.
    missteps: usize,
    early: Vec<BTreeMap<usize, VecDeque<Message>>>,
    /// By role: whether it knows of something that is no step, and what arrived there and is not given to its
    /// component, of messages and of dependencies.
    adrift: Vec<bool>,
    withheld: Vec<(usize, usize)>,
}

/// The payload of what is wrong, and known to be.
const WRONG: &str = "wrong";

fn is_wrong(message: &Message) -> bool {
    message.payload.as_deref() == Some(WRONG)
}

/// The payload of what is wrong for its label.
const MISSTEP: &str = "misstep";

fn is_misstep(message: &Message) -> bool {
    message.payload.as_deref() == Some(MISSTEP)
}

/// The message that it should have been.
fn as_it_should_be(message: Message) -> Message {
    if is_misstep(&message) { Message::data(&message.label, "") } else { message }
}

/// How a run ended.
#[derive(Debug, PartialEq)]
enum Ending {
    Finished,
    Blamed(Rule, Vec<usize>),
    Unfinished,
}

impl World {
    fn new(g: &Tree, settings: Settings) -> Self {
        Self::with(g, |_| settings)
    }

    fn with(g: &Tree, mut settings: impl FnMut(Role) -> Settings) -> Self {
        let names: Vec<&str> = ROLES.iter().copied().filter(|r| g.participants().contains(*r)).collect();
        let global = g.to_theory(&names).unwrap();
        let relative = global.relative_all().unwrap();
        let network = Network::synthesise(&global, &relative, &Options::default(), None, &mut ());
        network.deployable().unwrap();
        let engine = |role| Engine::new(&network, role, &Registry::new(), settings(role)).unwrap();
        let engines: Vec<Engine> = global.vocabulary().roles().map(engine).collect();
        let part = |name: &&str| {
            let monitor = of_role(g, name, Lines::CORRECTED);
            Monitored::new(name, Blackbox::following(&monitor), &monitor)
        };
        Self {
            runs: engines.iter().map(|engine| engine.run(u32::MAX)).collect(),
            engines,
            parts: names.iter().map(part).collect(),
            flight: BTreeMap::new(),
            roles: names.len(),
            through: 0,
            missteps: 0,
            early: vec![BTreeMap::new(); names.len()],
            adrift: vec![false; names.len()],
            withheld: vec![(0, 0); names.len()],
        }
    }

    fn name(&self, role: usize) -> String {
        self.parts[role].component.role.clone()
    }

    fn index(&self, name: &str) -> usize {
        self.parts.iter().position(|part| part.component.role == name).unwrap()
    }

    /// The component of `p` does `action`, after which it is in `state`.
    fn acts(&mut self, p: usize, action: &Action, state: usize) -> Option<Ending> {
        let mut effects = Vec::new();
        let (engine, run) = (&self.engines[p], &mut self.runs[p]);
        match action {
            Action::Output(q, message) => {
                let to = engine.vocabulary().find_role(q).map_or(Party::Stranger, Party::Role);
                let sent = engine.component_sends(run, to, message.clone(), &lend, &mut |e| effects.push(e));
                assert!(sent.is_ok());
            }
            Action::End => engine.component_ends(run, &lend, &mut |e| effects.push(e)),
            Action::Tau | Action::Input(..) => {}
        }
        let found = self.follow(p, effects, Some((action, state)));
        self.assert_quiet(p);
        found
    }

    /// The first message in flight from `q` to `p` arrives.
    fn arrives(&mut self, q: usize, p: usize) -> Option<Ending> {
        let message = self.flight.get_mut(&(q, p)).unwrap().pop_front().unwrap();
        let mut effects = Vec::new();
        let (engine, run) = (&self.engines[p], &mut self.runs[p]);
        let arrival = match message.payload {
            Some(_) if is_wrong(&message) => {
                self.adrift[p] = true;
                Arrival::Wrong(message.clone())
            }
            Some(_) if is_misstep(&message) => Arrival::Misstep(message.clone()),
            Some(_) => Arrival::Message(message.clone()),
            None => Arrival::Dependency(&message.label),
        };
        match message.payload {
            Some(_) => self.withheld[p].0 += 1,
            None => self.withheld[p].1 += 1,
        }
        let from = Role(u16::try_from(q).unwrap());
        assert!(engine.arrives(run, from, arrival, &lend, &mut |e| effects.push(e)).is_ok());
        let found = self.follow(p, effects, None);
        self.assert_quiet(p);
        found
    }

    /// Each effect is a transition of the reference.
    fn follow(
        &mut self,
        p: usize,
        effects: Vec<Effect<Message>>,
        acted: Option<(&Action, usize)>,
    ) -> Option<Ending> {
        for effect in effects {
            self.catch_up(p);
            match effect {
                Effect::Send { to, message, finding } => {
                    assert_eq!(finding == Finding::Misstep, is_misstep(&message), "{finding:?}");
                    let (message, sent) = (as_it_should_be(message.clone()), message);
                    let action = Action::Output(self.name(to.index()), message.clone());
                    let state = acted.unwrap().1;
                    self.step(p, "MON-OUT", |a, next| *a == action && next.component.state == state);
                    self.travels(p, to.index(), message);
                    if let Some(last) = self.flight.get_mut(&(p, to.index())).and_then(VecDeque::back_mut) {
                        *last = sent;
                    }
                }
                Effect::Inform { to, label } => {
                    let label = self.engines[p].vocabulary().label_name(label).to_owned();
                    let message = Message::dependency(&label);
                    let action = Action::Output(self.name(to.index()), message.clone());
                    self.step(p, "MON-OUT-DEP", |a, _| *a == action);
                    self.travels(p, to.index(), message);
                }
                Effect::Deliver { message, .. } if is_wrong(&message) => {
                    self.through += 1;
                    self.withheld[p].0 -= 1;
                    continue;
                }
                Effect::Deliver { from, message } => {
                    self.withheld[p].0 -= 1;
                    self.delivered(p, from, &as_it_should_be(message));
                }
                Effect::DeliverDependency { from, label } => {
                    self.withheld[p].1 -= 1;
                    let label = self.engines[p].vocabulary().label_name(label).to_owned();
                    self.delivered(p, from, &Message::dependency(&label));
                }
                Effect::Finished => self.step(p, "MON-END", |_, _| true),
                Effect::Tell(_) => panic!("nobody told anything"),
                Effect::Untimely { notice, .. } => panic!("no times are judged: {notice}"),
                Effect::Report(notice) => {
                    let part = &self.parts[p];
                    let rules: Vec<&str> = self.seen(p).steps().iter().map(|(rule, ..)| *rule).collect();
                    let Some(rule) = notice.rule else { panic!("a fault: {notice}") };
                    let agreed = match rule {
                        // The engine says at once what the reference says when the component ends.
                        Rule::ErrorIn if part.monitor == Monitor::End => !part.buffer.is_empty(),
                        Rule::ErrorMon => self.seen(p).steps().iter().any(|(rule, _, outcome)| {
                            matches!(outcome, Outcome::On(next) if *rule == "MON-IN" && next.monitor == Monitor::Error)
                        }),
                        rule => rules.contains(&rule.name()),
                    };
                    assert!(agreed, "{notice}: the reference has {rules:?} in {part:?}");
                    for (q, engine) in self.engines.iter().enumerate().filter(|(q, _)| *q != p) {
                        let mut told = Vec::new();
                        let running = self.runs[q].status() != Status::Halted;
                        engine.told(&mut self.runs[q], &notice, &mut |e| told.push(e));
                        assert!(
                            !running || matches!(&told[..], [Effect::Tell(_)]),
                            "every component is told"
                        );
                    }
                    let blamed = notice.blamed.iter().map(|role| role.index()).collect();
                    return Some(Ending::Blamed(rule, blamed));
                }
            }
            // Telling nobody is a silent step.
            while matches!(&self.parts[p].monitor, Monitor::DependencyOutput(_, d, ..) if d.is_empty()) {
                self.step(p, "MON-OUT-DEP-EMPTY", |_, _| true);
            }
        }
        self.catch_up(p);
        None
    }

    fn step(&mut self, p: usize, rule: &str, is: impl Fn(&Action, &Monitored) -> bool) {
        let found = self.parts[p].steps().into_iter().find_map(|(name, action, outcome)| match outcome {
            Outcome::On(next) if name == rule && is(&action, &next) => Some(*next),
            _ => None,
        });
        self.parts[p] = found.unwrap_or_else(|| panic!("no {rule} in {:?}", self.parts[p]));
    }

    fn travels(&mut self, from: usize, to: usize, message: Message) {
        let name = self.name(from);
        push(&mut self.parts[to].buffer, &name, message.clone());
        self.flight.entry((from, to)).or_default().push_back(message);
    }

    fn delivered(&mut self, p: usize, from: Role, message: &Message) {
        let early = self.early[p].entry(from.index()).or_default();
        let from_name = self.parts[from.index()].component.role.clone();
        assert_eq!(self.parts[p].buffer[&from_name].get(early.len()), Some(message));
        if self.adrift[p] {
            early.push_back(message.clone());
            return self.catch_up(p);
        }
        assert!(early.is_empty());
        self.takes(p, &from_name, message);
    }

    /// The reference takes what the component was given before its turn as soon as it is its turn.
    fn catch_up(&mut self, p: usize) {
        loop {
            let may = |from: &str| {
                self.seen(p).steps().iter().any(|(rule, _, outcome)| {
                    let took = |next: &Monitored| {
                        next.component.buffer.get(from).map(Vec::len)
                            > self.parts[p].component.buffer.get(from).map(Vec::len)
                    };
                    matches!(outcome, Outcome::On(next) if *rule == "MON-IN" && took(next))
                })
            };
            let early = self.early[p].iter().find_map(|(from, queue)| {
                let from = self.parts[*from].component.role.clone();
                may(&from).then_some(())?;
                queue.front().map(|message| (from, message.clone()))
            });
            let Some((from, message)) = early else { return };
            let sender = self.index(&from);
            self.early[p].get_mut(&sender).unwrap().pop_front();
            self.takes(p, &from, &message);
            while matches!(&self.parts[p].monitor, Monitor::DependencyOutput(_, d, ..) if d.is_empty()) {
                self.step(p, "MON-OUT-DEP-EMPTY", |_, _| true);
            }
        }
    }

    fn takes(&mut self, p: usize, from: &str, message: &Message) {
        let expected = message.clone();
        self.step(p, "MON-IN", |_, next| {
            next.component.buffer.get(from).and_then(|queue| queue.last()) == Some(&expected)
        });
    }

    /// The reference of `p` with what has arrived, and not with what is in flight.
    fn seen(&self, p: usize) -> Monitored {
        let mut part = self.parts[p].clone();
        for (q, queue) in &mut part.buffer {
            let q = self.index(q);
            let flying =
                self.flight.get(&(q, p)).map_or(0, |queue| queue.iter().filter(|m| !is_wrong(m)).count());
            queue.truncate(queue.len() - flying);
        }
        part.buffer = part.buffer.into_iter().filter(|(_, queue)| !queue.is_empty()).collect::<Buffer>();
        part
    }

    /// What the engine could do on its own, it has done.
    fn assert_quiet(&self, p: usize) {
        if self.runs[p].status() == Status::Running {
            let left = self.seen(p).steps();
            let own = |rule: &str| rule == "MON-IN" || rule.starts_with("MON-OUT-DEP") || rule == "ERROR-IN";
            assert!(!left.iter().any(|(rule, ..)| own(rule)), "{left:?} is left to do");
        }
    }

    fn run(&mut self, choices: &mut impl Choices, budget: usize, wrong_at: Option<usize>) -> Ending {
        for tick in 0..budget {
            if self.runs.iter().all(|run| run.status() == Status::Finished) {
                return Ending::Finished;
            }
            if wrong_at.is_some_and(|at| tick >= at)
                && let Some(ending) = self.misbehave(choices)
            {
                return ending;
            }
            let mut enabled: Vec<(usize, Option<usize>, Action, usize)> = Vec::new();
            for (p, part) in self.parts.iter().enumerate() {
                for (action, next) in part.component.steps() {
                    enabled.push((p, None, action, next.state));
                }
                for q in 0..self.roles {
                    if self.flight.get(&(q, p)).is_some_and(|queue| !queue.is_empty()) {
                        enabled.push((p, Some(q), Action::Tau, 0));
                    }
                }
            }
            if enabled.is_empty() {
                return Ending::Unfinished;
            }
            let (p, from, action, state) = enabled.swap_remove(choices.choose(enabled.len()));
            let ended = match (from, &action) {
                (Some(q), _) => self.arrives(q, p),
                (None, Action::Tau) => {
                    // The component reads; its monitor has nothing to do with it.
                    self.step(p, "MON-TAU", |_, next| next.component.state == state);
                    None
                }
                (None, action) => self.acts(p, action, state),
            };
            if let Some(ending) = ended {
                return ending;
            }
        }
        Ending::Unfinished
    }

    /// Somebody sends what its monitor does not allow, and which does not end the session.
    fn slip(&mut self, choices: &mut impl Choices, missteps: bool) -> bool {
        let p = choices.choose(self.roles);
        if self.runs[p].status() != Status::Running {
            return false;
        }
        if missteps && choices.choose(2) == 0 {
            return self.misstep(p, choices);
        }
        let q = (p + 1 + choices.choose(self.roles - 1)) % self.roles;
        let (engine, run) = (&self.engines[p], &mut self.runs[p]);
        let label = match engine.turn(run) {
            Turn::Component => "never",
            Turn::Message(_) | Turn::Dependency(_) | Turn::End => ["l1", "l2", "never"][choices.choose(3)],
        };
        let (to, message) = (Role(u16::try_from(q).unwrap()), Message::data(label, WRONG));
        let mut effects = Vec::new();
        engine.component_sends(run, to.into(), message, &lend, &mut |e| effects.push(e)).unwrap();
        let at = effects.iter().position(|e| matches!(e, Effect::Report(_))).unwrap();
        // What waited there is given to the component as well.
        let rest = effects.split_off(at + 1);
        let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
        assert_eq!((&notice.blamed[..], notice.halted), (&[engine.role()][..], false));
        match (effects.pop(), engine.settings().policy) {
            (None, Policy::Drop) => {}
            (Some(Effect::Send { message, finding: Finding::Wrong, .. }), Policy::Observe) => {
                self.adrift[p] = true;
                self.flight.entry((p, q)).or_default().push_back(message);
            }
            other => panic!("{other:?}"),
        }
        assert!(self.follow(p, rest, None).is_none());
        if choices.choose(2) == 0 {
            self.tell(p, &notice);
        }
        true
    }

    /// Everyone else is told of what was let through.
    fn tell(&mut self, p: usize, notice: &Notice) {
        for q in (0..self.roles).filter(|q| *q != p) {
            let mut effects = Vec::new();
            self.engines[q].told(&mut self.runs[q], notice, &mut |e| effects.push(e));
            assert!(matches!(effects.remove(0), Effect::Tell(_)));
            self.adrift[q] |= notice.breach.name() != "malformed";
            assert!(self.follow(q, effects, None).is_none());
            self.assert_quiet(q);
        }
    }

    /// The component of `p` sends something whose label is right and whose payload is not, if it is to send.
    fn misstep(&mut self, p: usize, choices: &mut impl Choices) -> bool {
        let mut steps = self.parts[p].component.steps();
        steps.retain(|(action, _)| matches!(action, Action::Output(_, message) if message.payload.is_some()));
        if steps.is_empty() || self.engines[p].turn(&self.runs[p]) != Turn::Component {
            return false;
        }
        let (action, next) = steps.swap_remove(choices.choose(steps.len()));
        let Action::Output(to, message) = &action else { return false };
        let (engine, run) = (&self.engines[p], &mut self.runs[p]);
        let to = engine.vocabulary().find_role(to).unwrap();
        let mut effects = Vec::new();
        let wrong = Message::data(&message.label, MISSTEP);
        engine.component_sends(run, to.into(), wrong, &lend, &mut |e| effects.push(e)).unwrap();
        self.missteps += 1;
        let Effect::Report(notice) = effects.remove(1) else { panic!("{effects:?}") };
        assert_eq!((&notice.blamed[..], notice.halted), (&[engine.role()][..], false));
        assert!(self.follow(p, effects, Some((&action, next.state))).is_none());
        self.assert_quiet(p);
        if choices.choose(2) == 0 {
            self.tell(p, &notice);
        }
        true
    }

    /// Somebody does something that its monitor does not allow, if it is the moment for it.
    fn misbehave(&mut self, choices: &mut impl Choices) -> Option<Ending> {
        let p = choices.choose(self.roles);
        if self.runs[p].status() != Status::Running {
            return None;
        }
        let q = (p + 1 + choices.choose(self.roles - 1)) % self.roles;
        let labels = ["l1", "l2", "wrong", "(l1)", "toString", ""];
        let action = match choices.choose(4) {
            0 => Action::End,
            1 => Action::Output("nobody".to_owned(), Message::data("l1", "")),
            _ => Action::Output(self.name(q), Message::data(labels[choices.choose(labels.len())], "")),
        };
        let mut blackbox = (*self.parts[p].component.blackbox).clone();
        let state = blackbox.transitions.len();
        blackbox.transitions.push(Vec::new());
        let here = self.parts[p].component.state;
        blackbox.transitions[here] = vec![(action.clone(), state)];
        let before = std::mem::replace(&mut self.parts[p].component.blackbox, Rc::new(blackbox));
        let expected =
            match self.seen(p).steps().iter().map(|(rule, ..)| *rule).find(|r| r.starts_with("ERROR")) {
                Some("ERROR-OUT") => Rule::ErrorOut,
                Some("ERROR-END") => Rule::ErrorEnd,
                // It happens to be right.
                _ => {
                    self.parts[p].component.blackbox = before;
                    return None;
                }
            };
        let ending = self.acts(p, &action, state);
        assert_eq!(ending, Some(Ending::Blamed(expected, vec![p])), "{action:?} of {p}");
        assert!(self.runs.iter().all(|run| run.status() != Status::Running), "everyone has stopped");
        ending
    }
}

/// Where monitors drop or observe, each as it likes, and somebody sends wrong things now and then, the session goes on as
/// if they had not been sent: everybody else's messages arrive as they should, and nobody else is blamed. Where sender
/// and receiver observe, they are given to the receiver, and none stays behind. Where everyone observes, a message whose
/// label fits is the step that it should have been, whatever it carries: everyone reacts to it as to a right one. And
/// where something that is no step was let through, nothing that arrives is withheld because its turn has not come.
#[test]
fn what_is_wrong_changes_nothing_for_the_others() {
    let (mut finished, mut slips, mut through, mut missteps, mut ahead) = (0, 0, 0, 0, 0);
    for seed in law_seeds(1_500) {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 3 + choices.choose(2), labels: 2, payloads: &[""] };
        let g = global_types::random(universe, 8, choices);
        if !is_well_formed(&g) || g.participants().len() < 2 {
            continue;
        }
        let mixed = choices.choose(2) == 0;
        let world = &mut World::with(&g, |_| {
            let drops = mixed && choices.choose(2) == 0;
            Settings { policy: if drops { Policy::Drop } else { Policy::Observe }, ..Settings::default() }
        });
        let mut sent = 0;
        let mut ending = Ending::Unfinished;
        for _ in 0..40 {
            ending = world.run(choices, 5, None);
            if ending != Ending::Unfinished {
                break;
            }
            sent += usize::from(world.slip(choices, !mixed));
        }
        match ending {
            Ending::Finished => finished += 1,
            Ending::Unfinished => {}
            Ending::Blamed(rule, who) => panic!("{g}: {rule:?} of {who:?} after {sent} slips of others"),
        }
        for p in 0..world.roles {
            let (messages, dependencies) = world.withheld[p];
            let observes = world.engines[p].settings().policy == Policy::Observe;
            let running = world.runs[p].status() == Status::Running;
            if observes && running && world.adrift[p] && dependencies == 0 {
                assert_eq!(messages, 0, "{g}: withheld from {p}");
                ahead += world.early[p].values().map(VecDeque::len).sum::<usize>();
            }
        }
        slips += sent;
        missteps += world.missteps;
        through += world.through;
        let flying = world.flight.values().flatten().filter(|m| is_wrong(m)).count();
        // Behind messages whose turn has not come.
        let waiting: usize = world.runs.iter().map(Run::waiting).sum();
        let gone = world.runs.iter().any(|run| run.status() == Status::Finished);
        let wrong = sent - world.missteps;
        assert!(mixed || gone || world.through + flying + waiting >= wrong, "{g}: {wrong}");
    }
    println!(
        "{slips} wrong messages, {missteps} of them missteps, {through} let through, {ahead} right ones given early; \
         {finished} sessions finished"
    );
    assert!(finished > 300 && slips > 1_000 && through > 300, "{finished} {slips} {through}");
    assert!(missteps > 300 && ahead > 20, "{missteps} {ahead}");
}

#[derive(Debug, Default)]
struct Seen {
    types: usize,
    finished: usize,
    unfinished: usize,
    out: usize,
    end: usize,
}

impl Seen {
    fn check(&mut self, g: &Tree, choices: &mut impl Choices) {
        if !is_well_formed(g) || g.participants().len() < 2 {
            return;
        }
        self.types += 1;
        match World::new(g, Settings::default()).run(choices, 200, None) {
            Ending::Finished => self.finished += 1,
            Ending::Unfinished => self.unfinished += 1,
            Ending::Blamed(rule, who) => panic!("{g}: {rule:?} of {who:?}, but everyone is right"),
        }
        let at = choices.choose(12);
        match World::new(g, Settings::default()).run(choices, 200, Some(at)) {
            Ending::Blamed(Rule::ErrorOut, _) => self.out += 1,
            Ending::Blamed(Rule::ErrorEnd, _) => self.end += 1,
            Ending::Blamed(rule, who) => panic!("{g}: {rule:?} of {who:?}"),
            Ending::Finished | Ending::Unfinished => {}
        }
    }
}

#[test]
fn every_small_type() {
    let mut seen = Seen::default();
    let choices = &mut Random::new(1);
    Universe { roles: 3, labels: 2, payloads: &[""] }.for_each(3, |g| seen.check(g, choices));
    Universe { roles: 4, labels: 2, payloads: &[""] }.for_each(3, |g| seen.check(g, choices));
    println!("multiparty engine: {seen:?}");
    assert!(seen.types > 500 && seen.finished > 300 && seen.out > 200 && seen.end > 50, "{seen:?}");
}

#[test]
fn random_types() {
    let mut seen = Seen::default();
    for seed in law_seeds(1_500) {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 4, labels: 2, payloads: &[""] };
        seen.check(&global_types::random(universe, 8, choices), choices);
        seen.check(&global_types::random(Universe { roles: 3, ..universe }, 12, choices), choices);
    }
    println!("multiparty engine: {seen:?}");
    assert!(seen.types > 700 && seen.out > 300 && seen.end > 50, "{seen:?}");
}

fn authorisation() -> Tree {
    let login = exchange("b", "c", vec![("pwd", "", exchange("c", "a", vec![("succ", "", call("X"))]))]);
    rec("X", exchange("a", "b", vec![("login", "", login), ("quit", "", Tree::End)]))
}

/// A forged dependency: the two informers disagree, and both are named, for it cannot be seen who lies.
#[test]
fn informers_that_disagree() {
    let world = &mut World::new(&authorisation(), Settings::default());
    let mut effects = Vec::new();
    let (engine, run) = (&world.engines[2], &mut world.runs[2]);
    for (from, label) in [(0, "login"), (1, "quit")] {
        engine.arrives(run, Role(from), Arrival::Dependency(label), &lend, &mut |e| effects.push(e)).unwrap();
    }
    let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
    assert_eq!((notice.rule, &notice.blamed[..]), (Some(Rule::ErrorMon), &[Role(1), Role(0)][..]));
    assert_eq!(notice.breach.name(), "dependency");
}

/// A message whose label looks like a dependency is none.
#[test]
fn a_message_is_no_dependency() {
    let world = &mut World::new(&authorisation(), Settings::default());
    let mut effects = Vec::new();
    let (engine, run) = (&world.engines[2], &mut world.runs[2]);
    let forged = Arrival::Message(Message::data("(login)", ""));
    engine.arrives(run, Role(0), forged, &lend, &mut |e| effects.push(e)).unwrap();
    let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
    assert_eq!((notice.rule, &notice.blamed[..]), (Some(Rule::ErrorIn), &[Role(0)][..]));
}

/// With dependencies hidden, a component that sends before its monitor was told waits and is not blamed; one
/// that closes while its monitor is still to be told is blamed only if there was something left to do.
#[test]
fn a_component_that_knows_nothing_of_dependencies() {
    let g = exchange(
        "a",
        "b",
        vec![("go", "", exchange("c", "a", vec![("m", "", Tree::End)])), ("no", "", Tree::End)],
    );
    let settings = Settings { dependencies: Dependencies::Hide, ..Settings::default() };
    for (label, closes, right) in
        [("go", false, true), ("no", true, true), ("no", false, false), ("go", true, false)]
    {
        let world = &mut World::new(&g, settings);
        let (engine, run) = (&world.engines[2], &mut world.runs[2]);
        let mut effects = Vec::new();
        let mut out = |e| effects.push(e);
        if closes {
            engine.component_ends(run, &lend, &mut out);
        } else {
            engine
                .component_sends(run, Party::Role(Role(0)), Message::data("m", ""), &lend, &mut out)
                .unwrap();
        }
        engine.arrives(run, Role(0), Arrival::Dependency(label), &lend, &mut out).unwrap();
        let reported = effects.iter().any(|e| matches!(e, Effect::Report(_)));
        assert_eq!(reported, !right, "{label} {closes}: {effects:?}");
        assert!(!effects.iter().any(|e| matches!(e, Effect::DeliverDependency { .. })));
    }
}

/// A sender that is ahead waits in the buffer, which is bounded; a run is the same after a journal.
#[test]
fn buffers_are_bounded_and_runs_survive() {
    let settings = Settings { capacity: 2, ..Settings::default() };
    let world = &mut World::new(&authorisation(), settings);
    let (engine, run) = (&world.engines[0], &mut world.runs[0]);
    let mut effects = Vec::new();
    let mut out = |e: Effect<Message>| effects.push(e);
    for round in 0..3 {
        let early = Arrival::Message(Message::data("succ", ""));
        assert_eq!(engine.arrives(run, Role(2), early, &lend, &mut out).is_ok(), round < 2);
    }
    assert!(!engine.has_room(run, Role(2)));
    let bytes = engine.save(run, |message, bytes| bytes.extend(message.label.as_bytes()));
    let read = |bytes: &[u8]| Some(Message::data(std::str::from_utf8(bytes).ok()?, ""));
    let mut again = engine.restore(&bytes, read).unwrap();
    for cut in 0..bytes.len() {
        assert!(engine.restore(&bytes[..cut], read).is_err(), "{cut}");
    }
    for run in [run, &mut again] {
        let mut effects = Vec::new();
        let login = Message::data("login", "");
        engine.component_sends(run, Party::Role(Role(1)), login, &lend, &mut |e| effects.push(e)).unwrap();
        assert!(
            matches!(
                &effects[..],
                [Effect::Send { .. }, Effect::Inform { to: Role(2), .. }, Effect::Deliver { .. }]
            ),
            "{effects:?}"
        );
        assert_eq!(run.waiting(), 1);
    }
}

/// Labels from JSON may look like dependencies: they are told apart all the same.
#[test]
fn labels_that_look_like_dependencies() {
    let m = |label, next| exchange("c", "a", vec![(label, "", next)]);
    let g = exchange("a", "b", vec![("l", "", m("(l)", Tree::End)), ("(l)", "", m("l", Tree::End))]);
    let mut seen = Seen::default();
    for seed in 0..50 {
        seen.check(&g, &mut Random::new(seed));
    }
    assert!(seen.finished == 50 && seen.out > 10, "{seen:?}");
}
