//! Monitors of protocols with recursion data find exactly what is wrong: a message is refused by the monitor of its sender or of
//! its receiver iff it is wrong when everybody sees all values (`referee_reference::data`).
//!
//! All protocols of a family (who knows the data, where they begin, how they change, what reads them, what must hold of
//! them, who else takes part, whether they are called like a field that is read beside and behind the loop), all sequences of messages up
//! to a length. And random protocols of loops inside and behind one another, in which fields and data share their names, as they are
//! written and as they are printed.

use std::collections::BTreeMap;

use referee_monitor::{Event, FieldValue, Kind, Monitor, Payload, Registry, Session, Verdict};
use referee_reference::data::{Expr, Global, Message, Run};
use referee_testkit::choices::law_seeds;
use referee_theory::{GlobalType, Role, Vocabulary};

use crate::random::Random;

const DEPTH: usize = 4;

fn variable(name: &'static str) -> Box<Expr> {
    Box::new(Expr::Variable(name))
}

fn number(value: i64) -> Box<Expr> {
    Box::new(Expr::Number(value))
}

/// How the language writes `expr`.
fn text(expr: &Expr) -> String {
    match expr {
        Expr::Number(number) => number.to_string(),
        Expr::Variable(name) => (*name).to_owned(),
        Expr::Plus(left, right) => format!("{} + {}", text(left), text(right)),
        Expr::Minus(left, right) => format!("{} - {}", text(left), text(right)),
        Expr::Less(left, right) => format!("{} < {}", text(left), text(right)),
        Expr::Equal(left, right) => format!("{} == {}", text(left), text(right)),
    }
}

fn initials() -> [Expr; 3] {
    [*number(0), *number(2), Expr::Plus(variable("t"), number(1))]
}

fn updates(n: &'static str) -> [Option<Expr>; 5] {
    [
        None,
        Some(*variable(n)),
        Some(Expr::Minus(variable(n), number(1))),
        Some(*variable("u")),
        Some(Expr::Plus(variable(n), variable("u"))),
    ]
}

fn assertions(n: &'static str) -> [Option<Expr>; 3] {
    [None, Some(Expr::Less(variable("u"), variable(n))), Some(Expr::Equal(variable("u"), variable(n)))]
}

fn refinements(n: &'static str) -> [Option<Expr>; 2] {
    [None, Some(Expr::Less(number(-1), variable(n)))]
}

fn plain(label: &'static str, field: Option<&'static str>, next: Global) -> Global {
    Global::Choice(vec![Message { label, field, assertion: None, next }])
}

/// One protocol: its text, and its meaning.
struct Protocol {
    text: String,
    meaning: Global,
}

/// How a protocol of the family is made.
struct Shape {
    /// What the data are called.
    n: &'static str,
    /// Whether `c` takes part in the loop.
    third: bool,
    /// Whether the loop is a branch of a choice.
    branch: bool,
}

/// `t`, a loop that `c` may take part in and whose last message reads the data, and a message that reads `t` behind it.
fn protocol(
    roles: &str,
    initial: &Expr,
    update: Option<&Expr>,
    assertion: Option<&Expr>,
    refinement: Option<&Expr>,
    &Shape { n, third, branch }: &Shape,
) -> Protocol {
    let told = |label: &str| if third { format!("{label}() from b to c;") } else { String::new() };
    let ty = refinement.map_or("int".to_owned(), |expr| format!("({n}: int{{{}}})", text(expr)));
    let condition = assertion.map_or(String::new(), |expr| format!(" where {}", text(expr)));
    let values = update.map_or(String::new(), |expr| format!(" [{}]", text(expr)));
    let (before, after) = if branch {
        ("choice at a { Skip(v: int) from a to b where v == t; Skipped() from b to c; } or {", "}")
    } else {
        ("", "")
    };
    let text = format!(
        "protocol P(role a, role b, role c) {{
           Start(t: int) from a to b;
           {before}
           rec X [{n}<{roles}>: {ty} = {}] {{
             choice at a {{ More(u: int) from a to b{condition}; {} continue X{values}; }}
             or {{ Stop(v: int) from a to b where v == {n}; {} }}
           }}
           Last(v: int) from b to a where v == t;
           {after}
         }}",
        text(initial),
        told("Next"),
        told("Done"),
    );
    let then = |label, next| if third { plain(label, None, next) } else { next };
    let again = Global::Continue { name: "X", value: update.cloned() };
    let more =
        Message { label: "More", field: Some("u"), assertion: assertion.cloned(), next: then("Next", again) };
    let equal = |name, label, next| {
        let assertion = Some(Expr::Equal(variable("v"), variable(name)));
        Message { label, field: Some("v"), assertion, next }
    };
    let stop = equal(n, "Stop", then("Done", Global::End));
    let recursion = Global::Rec {
        name: "X",
        variable: n,
        initial: initial.clone(),
        refinement: refinement.cloned(),
        body: Box::new(Global::Choice(vec![more, stop])),
        behind: Box::new(Global::Choice(vec![equal("t", "Last", Global::End)])),
    };
    let skip = equal("t", "Skip", plain("Skipped", None, Global::End));
    let meaning =
        if branch { Global::Branches(vec![Global::Choice(vec![skip]), recursion]) } else { recursion };
    Protocol { text, meaning: plain("Start", Some("t"), meaning) }
}

struct Monitors {
    global: std::sync::Arc<GlobalType>,
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
        let global = std::sync::Arc::clone(protocols[0].global.as_ref()?);
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
        Some(Self { global, vocabulary, monitors, ends })
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
    let shapes = ["n", "t"].into_iter().flat_map(|n| {
        [(false, false), (true, false), (true, true)].map(|(third, branch)| Shape { n, third, branch })
    });
    for shape in shapes {
        for roles in ["a, b", "a", "b", "a, b, c"] {
            for initial in &initials() {
                for update in &updates(shape.n) {
                    for assertion in &assertions(shape.n) {
                        for refinement in &refinements(shape.n) {
                            let (update, assertion) = (update.as_ref(), assertion.as_ref());
                            let made =
                                protocol(roles, initial, update, assertion, refinement.as_ref(), &shape);
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
    assert!(accepted > 800 && refused > 200, "{accepted} accepted, {refused} refused");
    assert!(counts[0] > 20_000 && counts[1] > 20_000, "{counts:?}");
}

const LABELS: [&str; 48] = [
    "M0", "M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9", "M10", "M11", "M12", "M13", "M14", "M15",
    "M16", "M17", "M18", "M19", "M20", "M21", "M22", "M23", "M24", "M25", "M26", "M27", "M28", "M29", "M30",
    "M31", "M32", "M33", "M34", "M35", "M36", "M37", "M38", "M39", "M40", "M41", "M42", "M43", "M44", "M45",
    "M46", "M47",
];

/// What fields are called, and data.
const NAMES: [&str; 3] = ["n", "t", "u"];

/// Random protocols between `a` and `b`.
struct Generator {
    random: Random,
    labels: std::slice::Iter<'static, &'static str>,
    /// The recursions around, with their data; whether a message came since each began.
    around: Vec<(&'static str, &'static str, bool)>,
    text: String,
}

/// A part of a protocol, and whether it comes to an end.
type Part = (Global, bool);

impl Generator {
    fn variable(&mut self) -> Box<Expr> {
        let name: &&'static str = self.random.pick(&NAMES);
        variable(name)
    }

    fn value(&mut self) -> Expr {
        match self.random.below(4) {
            0 => *number(2),
            1 | 2 => *self.variable(),
            _ => Expr::Plus(self.variable(), number(1)),
        }
    }

    /// Names that a field, or data of another recursion, may have here.
    fn free_name(&mut self) -> Option<&'static str> {
        let name = *self.random.pick(&NAMES);
        self.around.iter().all(|(_, data, _)| *data != name).then_some(name)
    }

    fn part(&mut self, depth: usize) -> Part {
        match self.random.below(10) {
            // Whatever is open needs a label yet.
            _ if depth == 0 || self.labels.len() < 16 => (Global::End, true),
            0 => (Global::End, true),
            1 | 2 if self.around.last().is_some_and(|(_, _, guarded)| *guarded) => self.jump(),
            3..=5 => self.rec(depth),
            6 | 7 => self.choice(depth),
            _ => {
                let from = *self.random.pick(&["a", "b"]);
                let (message, ends) = self.message(from, depth);
                (Global::Choice(vec![message]), ends)
            }
        }
    }

    fn jump(&mut self) -> Part {
        let (name, ..) = self.around[self.random.below(self.around.len())];
        let value = self.random.chance(3, 4).then(|| self.value());
        let values = value.as_ref().map_or(String::new(), |value| format!(" [{}]", text(value)));
        self.text += &format!("continue {name}{values};\n");
        (Global::Continue { name, value }, false)
    }

    fn message(&mut self, from: &str, depth: usize) -> (Message, bool) {
        let label = self.labels.next().unwrap();
        let field = if self.random.chance(1, 2) { self.free_name() } else { None };
        let assertion = match self.random.below(3) {
            0 => None,
            1 => Some(Expr::Equal(self.variable(), self.variable())),
            _ => Some(Expr::Less(self.variable(), Box::new(Expr::Plus(self.variable(), number(1))))),
        };
        let to = if from == "a" { "b" } else { "a" };
        let payload = field.map_or(String::new(), |field| format!("{field}: int"));
        let condition = assertion.as_ref().map_or(String::new(), |expr| format!(" where {}", text(expr)));
        self.text += &format!("{label}({payload}) from {from} to {to}{condition};\n");
        let unguarded = self.around.clone();
        self.around.iter_mut().for_each(|(.., guarded)| *guarded = true);
        let (next, ends) = self.part(depth - 1);
        self.around = unguarded;
        (Message { label, field, assertion, next }, ends)
    }

    fn choice(&mut self, depth: usize) -> Part {
        let from = ["a", "b"][self.random.below(2)];
        self.text += &format!("choice at {from} {{\n");
        let (mut branches, mut ends) = (Vec::new(), false);
        for after in ["} or {\n", "}\n"] {
            let (branch, branch_ends) = if self.random.chance(1, 3)
                && let Some(data) = self.free_name()
            {
                self.rec_of(data, Some(from), depth)
            } else {
                let (message, ends) = self.message(from, depth);
                (Global::Choice(vec![message]), ends)
            };
            branches.push(branch);
            ends |= branch_ends;
            self.text += after;
        }
        (Global::Branches(branches), ends)
    }

    fn rec(&mut self, depth: usize) -> Part {
        match self.free_name() {
            Some(data) => self.rec_of(data, None, depth),
            None => (Global::End, true),
        }
    }

    /// A recursion with `data`, which begins with a message of `from`.
    fn rec_of(&mut self, data: &'static str, from: Option<&str>, depth: usize) -> Part {
        let (initial, name) = (self.value(), ["X", "Y"][self.random.below(2)]);
        self.text += &format!("rec {name} [{data}<a, b>: int = {}] {{\n", text(&initial));
        self.around.push((name, data, false));
        let (message, ends) = self.message(from.unwrap_or("a"), depth);
        self.around.pop();
        self.text += "}\n";
        let behind = if ends { self.part(depth - 1) } else { (Global::End, false) };
        let body = Box::new(Global::Choice(vec![message]));
        let rec =
            Global::Rec { name, variable: data, initial, refinement: None, body, behind: Box::new(behind.0) };
        (rec, behind.1)
    }
}

/// A random protocol, all of whose names are bound to begin with.
fn random_protocol(seed: u64) -> Protocol {
    let random = Random::new(seed);
    let mut generator = Generator { random, labels: LABELS.iter(), around: Vec::new(), text: String::new() };
    let (mut meaning, _) = generator.part(7);
    let mut begin = String::new();
    for (label, field) in [("U", "u"), ("T", "t"), ("N", "n")] {
        meaning = plain(label, Some(field), meaning);
        begin = format!("{label}({field}: int) from a to b;\n{begin}");
    }
    Protocol { text: format!("protocol P(role a, role b) {{\n{begin}{}}}", generator.text), meaning }
}

/// Random runs of `monitors`, which accept the same as `meaning`; how many messages were wrong and right.
fn compare_at_random(monitors: &Monitors, made: &Protocol, text: &str, random: &mut Random) -> [usize; 2] {
    let mut counts = [0, 0];
    for _ in 0..20 {
        let mut sessions: Vec<Session> = monitors.monitors.iter().map(Monitor::session).collect();
        let (mut run, _) = Run::new(&made.meaning);
        for _ in 0..24 {
            let labels = run.labels();
            if labels.is_empty() {
                break;
            }
            let (label, has_field) = *random.pick(&labels);
            let value = i64::try_from(random.below(4)).unwrap();
            let (next, right) = run.step(label, value).unwrap();
            let mut after = sessions.clone();
            let passes = monitors.step(&mut after, label, has_field.then_some(value));
            assert_eq!(passes, right, "{label}({value}) in\n{text}\nwritten\n{}\nafter {run:?}", made.text);
            counts[usize::from(right)] += 1;
            if right {
                (run, sessions) = (next, after);
            }
        }
    }
    counts
}

/// What is printed means the same: no name means anything else there.
#[test]
fn names_mean_the_same_in_what_is_printed() {
    let (mut accepted, mut counts) = (0, [0, 0]);
    for seed in law_seeds(1500) {
        let made = random_protocol(seed);
        let Some(monitors) = Monitors::new(&made.text) else { continue };
        accepted += 1;
        let mut random = Random::new(seed ^ 0x5eed);
        let printed = [
            referee_syntax::print::scr("P", &monitors.global, &[]),
            referee_syntax::print::nuscr("P", &monitors.global),
        ];
        let printed = printed.map(|printed| printed.unwrap_or_else(|error| panic!("{error}\n{}", made.text)));
        let mut texts = vec![made.text.clone()];
        texts.extend(printed);
        for text in texts {
            let monitors = Monitors::new(&text);
            let monitors = monitors.unwrap_or_else(|| panic!("refused:\n{text}\nwritten\n{}", made.text));
            let [wrong, right] = compare_at_random(&monitors, &made, &text, &mut random);
            counts = [counts[0] + wrong, counts[1] + right];
        }
    }
    assert!(accepted > 300, "{accepted} accepted");
    assert!(counts[0] > 20_000 && counts[1] > 20_000, "{counts:?}");
}
