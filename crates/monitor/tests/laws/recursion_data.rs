//! Monitors of protocols with recursion data find exactly what is wrong: a message is refused by the monitor of its sender or of
//! its receiver iff it is wrong when everybody sees all values (`referee_reference::data`).
//!
//! All protocols of a family (who knows the data, where they begin, how they change, what reads them, what must hold of
//! them, who else takes part), all sequences of messages up to a length.

use std::collections::BTreeMap;

use referee_monitor::{Event, FieldValue, Kind, Monitor, Payload, Registry, Session, Verdict};
use referee_reference::data::{Expr, Global, Message, Run};
use referee_theory::{Role, Vocabulary};

const DEPTH: usize = 4;

fn variable(name: &'static str) -> Box<Expr> {
    Box::new(Expr::Variable(name))
}

fn number(value: i64) -> Box<Expr> {
    Box::new(Expr::Number(value))
}

/// An expression and how the language writes it.
type Written = (Expr, &'static str);

fn initials() -> [Written; 3] {
    [(*number(0), "0"), (*number(2), "2"), (Expr::Plus(variable("t"), number(1)), "t + 1")]
}

fn updates() -> [Option<Written>; 5] {
    [
        None,
        Some((*variable("n"), "n")),
        Some((Expr::Minus(variable("n"), number(1)), "n - 1")),
        Some((*variable("u"), "u")),
        Some((Expr::Plus(variable("n"), variable("u")), "n + u")),
    ]
}

fn assertions() -> [Option<Written>; 3] {
    [
        None,
        Some((Expr::Less(variable("u"), variable("n")), "u < n")),
        Some((Expr::Equal(variable("u"), variable("n")), "u == n")),
    ]
}

fn refinements() -> [Option<Written>; 2] {
    [None, Some((Expr::Less(number(-1), variable("n")), "-1 < n"))]
}

fn plain(label: &'static str, field: Option<&'static str>, next: Global) -> Global {
    Global::Choice(vec![Message { label, field, assertion: None, next }])
}

/// One protocol: its text, and its meaning.
struct Protocol {
    text: String,
    meaning: Global,
}

/// `t`, a loop that `c` may take part in, and a last message that reads the data.
fn protocol(
    roles: &str,
    initial: &Written,
    update: Option<&Written>,
    assertion: Option<&Written>,
    refinement: Option<&Written>,
    (third, branch): (bool, bool),
) -> Protocol {
    let told = |label: &str| if third { format!("{label}() from b to c;") } else { String::new() };
    let ty = refinement.map_or("int".to_owned(), |(_, text)| format!("(n: int{{{text}}})"));
    let condition = assertion.map_or(String::new(), |(_, text)| format!(" where {text}"));
    let values = update.map_or(String::new(), |(_, text)| format!(" [{text}]"));
    let (before, after) =
        if branch { ("choice at a { Skip() from a to b; Skip() from b to c; } or {", "}") } else { ("", "") };
    let text = format!(
        "protocol P(role a, role b, role c) {{
           Start(t: int) from a to b;
           {before}
           rec X [n<{roles}>: {ty} = {}] {{
             choice at a {{ More(u: int) from a to b{condition}; {} continue X{values}; }}
             or {{ Stop(v: int) from a to b where v == n; {} }}
           }}
           {after}
         }}",
        initial.1,
        told("Next"),
        told("Done"),
    );
    let then = |label, next| if third { plain(label, None, next) } else { next };
    let again = Global::Continue { name: "X", value: update.map(|(expr, _)| expr.clone()) };
    let more = Message {
        label: "More",
        field: Some("u"),
        assertion: assertion.map(|(expr, _)| expr.clone()),
        next: then("Next", again),
    };
    let equal = Expr::Equal(variable("v"), variable("n"));
    let stop =
        Message { label: "Stop", field: Some("v"), assertion: Some(equal), next: then("Done", Global::End) };
    let recursion = Global::Rec {
        name: "X",
        variable: "n",
        initial: initial.0.clone(),
        refinement: refinement.map(|(expr, _)| expr.clone()),
        body: Box::new(Global::Choice(vec![more, stop])),
    };
    Protocol { text, meaning: plain("Start", Some("t"), recursion) }
}

struct Monitors {
    vocabulary: std::sync::Arc<Vocabulary>,
    monitors: Vec<Monitor>,
    /// Sender and receiver of each label.
    ends: BTreeMap<String, (Role, Role)>,
}

impl Monitors {
    /// `None`: the protocol is refused.
    fn new(text: &str) -> Option<Self> {
        let document = referee_syntax::parse(text, referee_syntax::Language::Scr);
        if !document.is_usable() {
            return None;
        }
        let referee_syntax::Content::Global(protocols) = &document.content else { panic!("global") };
        let global = protocols[0].global.as_ref()?;
        let vocabulary = std::sync::Arc::clone(global.vocabulary());
        let mut ends = BTreeMap::new();
        for (_, exchange) in global.exchanges() {
            for branch in &exchange.branches {
                let label = vocabulary.label_of(branch.message).to_owned();
                ends.insert(label, (exchange.sender, branch.receiver));
            }
        }
        let machines = vocabulary.roles().map(|role| global.project(role).unwrap());
        let monitors = machines.map(|machine| Monitor::synthesise(&machine, &vocabulary, &Registry::new()));
        let monitors =
            monitors.map(|monitor| monitor.unwrap_or_else(|error| panic!("{error}\n{text}"))).collect();
        Some(Self { vocabulary, monitors, ends })
    }

    /// Whether sender's and receiver's monitors let the message pass.
    fn step(&self, sessions: &mut [Session], label: &str, value: Option<i64>) -> bool {
        let (from, to) = self.ends[label];
        let fields: Vec<FieldValue<'_>> = value.into_iter().map(FieldValue::Int).collect();
        let event = Event::new(from, to, label, Payload::Positional(&fields));
        [from, to].into_iter().fold(true, |passes, role| {
            let verdict = self.monitors[role.index()].step(&mut sessions[role.index()], &event);
            match verdict {
                Verdict::Forward => passes,
                Verdict::Violation(violation) if violation.kind == Kind::Assertion => false,
                other => panic!("{label}: {other:?} at {}", self.vocabulary.role_name(role)),
            }
        })
    }
}

/// All runs of at most `depth` messages; how many of them were wrong and right.
fn compare(
    monitors: &Monitors,
    sessions: &[Session],
    run: &Run,
    depth: usize,
    text: &str,
    counts: &mut [usize; 2],
) {
    if depth == 0 {
        return;
    }
    for (label, has_field) in run.labels() {
        for value in if has_field { -1..3 } else { 0..1 } {
            let (next, right) = run.step(label, value).unwrap();
            let mut after = sessions.to_vec();
            let passes = monitors.step(&mut after, label, has_field.then_some(value));
            assert_eq!(passes, right, "{label}({value}) in\n{text}\nafter {run:?}");
            counts[usize::from(right)] += 1;
            if right {
                compare(monitors, &after, &next, depth - 1, text, counts);
            }
        }
    }
}

#[test]
fn monitors_follow_recursion_data() {
    let (mut accepted, mut refused, mut counts) = (0, 0, [0, 0]);
    for roles in ["a, b", "a", "b", "a, b, c"] {
        for initial in &initials() {
            for update in &updates() {
                for assertion in &assertions() {
                    for refinement in &refinements() {
                        for shape in [(false, false), (true, false), (true, true)] {
                            let (update, assertion) = (update.as_ref(), assertion.as_ref());
                            let made =
                                protocol(roles, initial, update, assertion, refinement.as_ref(), shape);
                            let Some(monitors) = Monitors::new(&made.text) else {
                                refused += 1;
                                continue;
                            };
                            accepted += 1;
                            let sessions: Vec<Session> =
                                monitors.monitors.iter().map(Monitor::session).collect();
                            let (run, right) = Run::new(&made.meaning);
                            assert!(right, "{}", made.text);
                            compare(&monitors, &sessions, &run, DEPTH, &made.text, &mut counts);
                        }
                    }
                }
            }
        }
    }
    // Refused: what `c` cannot compute or does not see, and what nobody could check.
    assert!(accepted > 400 && refused > 100, "{accepted} accepted, {refused} refused");
    assert!(counts[0] > 10_000 && counts[1] > 10_000, "{counts:?}");
}
