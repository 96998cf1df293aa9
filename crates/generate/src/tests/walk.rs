//! Random walks of generated endpoints: all roles of a protocol run as threads, each doing whatever its types offer. Every monitor accepts
//! what its role did, and nobody waits for ever: the protocols are projections of global types whose choices everybody is told of.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use referee_monitor::{Event, FieldValue, Monitor, Payload, Registry, Verdict};
use referee_testkit::choices::{Random, law_cases, law_seeds};
use referee_testkit::global_types::{ROLES, Universe, informed};
use referee_theory::{Machine, Type, Vocabulary};

use super::workbench::Workbench;
use crate::plan::{Kind, RolePlan};
use crate::rust::{field_names, lower};
use crate::{Plan, Subject, rust};

const UNIVERSE: Universe = Universe { roles: 3, labels: 3, payloads: &["", "int", "str", "bool"] };

/// What the walkers need besides the endpoints.
const WALK: &str = r#"
use referee_endpoint::{Error, Local, local};
pub struct Walk { random: u64, left: usize, trace: Vec<String>, over: bool }
impl Walk {
    fn choose(&mut self, options: usize) -> usize {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) as usize % options
    }
    fn spent(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }
    fn log(&mut self, step: &str) { self.trace.push(step.to_owned()); }
}
fn walker(seed: u64) -> Walk { Walk { random: seed, left: 40, trace: Vec::new(), over: false } }
fn tell(protocol: usize, role: &str, result: Result<(), Error>, walk: Walk) -> String {
    let outcome = match result {
        Ok(()) if walk.over => "end".to_owned(),
        Ok(()) => "spent".to_owned(),
        Err(Error::Ended { .. }) => "left".to_owned(),
        Err(error) => format!("{error}"),
    };
    format!("{protocol}\t{role}\t{outcome}\t{}", walk.trace.join(" "))
}
"#;

struct Subjects {
    vocabulary: Arc<Vocabulary>,
    machines: Vec<Machine>,
    plan: Plan,
}

fn subjects(seed: u64) -> Option<Subjects> {
    let mut choices = Random::new(seed);
    let tree = informed(UNIVERSE, 6, &mut choices);
    let global = tree.to_theory(&ROLES[..UNIVERSE.roles]).ok()?;
    let vocabulary = Arc::clone(global.vocabulary());
    let machines: Vec<Machine> =
        vocabulary.roles().map(|role| global.project(role)).collect::<Result<_, _>>().ok()?;
    let views: Vec<&Machine> = machines.iter().collect();
    let plan = Plan::new(&Subject {
        protocol: "P",
        file: "random",
        vocabulary: &vocabulary,
        machines: &views,
        predicates: BTreeMap::new(),
        comment: &|_| Vec::new(),
        about: Vec::new(),
    })
    .unwrap();
    Some(Subjects { vocabulary, machines, plan })
}

/// A function for each state that takes one of its steps.
fn walkers(number: usize, plan: &Plan, role: &RolePlan, main: &mut String) {
    let module = format!("p{number}::{}", lower(&role.name));
    let mut written = Vec::new();
    for state in &role.states {
        if written.contains(&&state.name) {
            continue;
        }
        written.push(&state.name);
        let function = |name: &str| format!("walk_p{number}_{}_{name}", role.name);
        let name = &state.name;
        writeln!(
            main,
            "fn {}(state: {module}::{name}<Local<p{number}::Message>>, walk: &mut Walk) -> Result<(), Error> {{",
            function(name)
        )
        .unwrap();
        if state.kind == Kind::End {
            main.push_str("    state.close();\n    walk.over = true;\n    Ok(())\n}\n");
            continue;
        }
        main.push_str("    if walk.spent() { return Ok(()); }\n");
        let sends = state.kind == Kind::Sends;
        let subject =
            if sends { format!("walk.choose({})", state.steps.len()) } else { "state.recv()?".to_owned() };
        writeln!(main, "    match {subject} {{").unwrap();
        for (at, step) in state.steps.iter().enumerate() {
            let message = &plan.messages[step.message];
            let target = function(&role.states[step.target].name);
            let (peer, label) = (&role.peers[step.peer], &message.label);
            if sends {
                let values: Vec<&str> = message.fields.iter().map(|field| literal(&field.ty)).collect();
                let pattern = if at + 1 == state.steps.len() { "_".to_owned() } else { at.to_string() };
                let method = lower(&step.name);
                writeln!(
                    main,
                    "        {pattern} => {{ let next = state.{method}({})?; walk.log(\"!{peer}.{label}\"); {target}(next, walk) }}",
                    values.join(", ")
                )
            } else {
                let fields: String = field_names(&message.fields).iter().map(|name| format!("{name}: _, ")).collect();
                writeln!(
                    main,
                    "        {module}::{name}Event::{} {{ {fields}next }} => {{ walk.log(\"?{peer}.{label}\"); {target}(next, walk) }}",
                    step.name
                )
            }
            .unwrap();
        }
        main.push_str("    }\n}\n");
    }
}

fn literal(ty: &Type) -> &'static str {
    match ty {
        Type::Int => "7",
        Type::Bool => "true",
        _ => "\"x\"",
    }
}

/// Runs all roles of protocol `number` and prints what they did.
fn session(number: usize, plan: &Plan, main: &mut String) {
    let peers: Vec<String> = plan
        .roles
        .iter()
        .map(|role| {
            let module = format!("p{number}::{}", lower(&role.name));
            format!("({module}::ROLE, &{module}::PEERS[..])")
        })
        .collect();
    writeln!(main, "fn session_{number}(round: u64) {{").unwrap();
    writeln!(main, "    let mut links = local::<p{number}::Message>(&[{}]).into_iter();", peers.join(", "))
        .unwrap();
    main.push_str("    let mut threads = Vec::new();\n");
    for (at, role) in plan.roles.iter().enumerate() {
        let (name, module) = (&role.name, lower(&role.name));
        writeln!(
            main,
            "    let link = links.next().unwrap();\n    threads.push(std::thread::spawn(move || {{\n        \
             let mut walk = walker(round * 1000 + {number} * 10 + {at});\n        \
             let result = walk_p{number}_{name}_Start(p{number}::{module}::Start::new(link), &mut walk);\n        \
             tell({number}, \"{name}\", result, walk)\n    }}));"
        )
        .unwrap();
    }
    main.push_str(
        "    drop(links);\n    for thread in threads { println!(\"{}\", thread.join().unwrap()); }\n}\n",
    );
}

/// Whether the monitor of `machine` accepts `trace`, and the session is over afterwards if `ended`.
fn accepts(subjects: &Subjects, machine: &Machine, trace: &str, ended: bool) {
    let vocabulary = &subjects.vocabulary;
    let monitor = Monitor::synthesise(machine, vocabulary, &Registry::new()).unwrap();
    let mut session = monitor.session();
    let own = monitor.party(vocabulary.role_name(machine.role()));
    for step in trace.split_whitespace() {
        let (peer, label) = step[1..].split_once('.').unwrap();
        let peer = monitor.party(peer);
        let message = machine.all_transitions().iter().map(|transition| transition.message);
        // The payloads of one label differ from place to place: one of them fits.
        let mut fits = false;
        for message in message.filter(|message| vocabulary.label_of(*message) == label) {
            let fields: Vec<FieldValue<'_>> = (vocabulary.spec(message).fields.iter())
                .map(|field| match field.ty {
                    Type::Int => FieldValue::Int(7),
                    Type::Bool => FieldValue::Bool(true),
                    _ => FieldValue::Str("x"),
                })
                .collect();
            let (from, to) = if step.starts_with('!') { (own, peer) } else { (peer, own) };
            let event = Event::new(from, to, label, Payload::Positional(&fields));
            let mut next = session.clone();
            if monitor.step(&mut next, &event) == Verdict::Forward {
                session = next;
                fits = true;
                break;
            }
        }
        assert!(fits, "{step} of {trace}\n{}", monitor.view().to_text());
    }
    assert_eq!(monitor.is_over(&session), ended, "{trace}\n{}", monitor.view().to_text());
}

#[test]
fn random_walks_are_accepted_and_do_not_deadlock() {
    let bench = Workbench::new("walk");
    let all: Vec<Subjects> = law_seeds(law_cases(200)).filter_map(subjects).take(law_cases(40)).collect();
    let mut main = String::new();
    for (number, subjects) in all.iter().enumerate() {
        bench.write(&format!("p{number}.rs"), &rust(&subjects.plan, "crate::predicates"));
        writeln!(main, "mod p{number};").unwrap();
    }
    main.push_str(WALK);
    for (number, subjects) in all.iter().enumerate() {
        for role in &subjects.plan.roles {
            walkers(number, &subjects.plan, role, &mut main);
        }
        session(number, &subjects.plan, &mut main);
    }
    main.push_str("fn main() {\n    std::thread::spawn(|| {\n        std::thread::sleep(std::time::Duration::from_secs(300));\n");
    main.push_str("        eprintln!(\"deadlock\");\n        std::process::exit(3);\n    });\n    for round in 0..20 {\n");
    (0..all.len()).for_each(|number| writeln!(main, "        session_{number}(round);").unwrap());
    main.push_str("    }\n}\n");
    bench.write("main.rs", &main);
    let output = bench.run("main.rs");
    let (mut steps, mut ended, mut spent) = (0, 0, 0);
    let mut outcomes: Vec<(usize, &str)> = Vec::new();
    for line in output.lines() {
        let mut parts = line.split('\t');
        let number: usize = parts.next().unwrap().parse().unwrap();
        let (role, outcome, trace) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        assert!(["end", "spent", "left"].contains(&outcome), "protocol {number}, {role}: {outcome}\n{trace}");
        let subjects = &all[number];
        let role = subjects.vocabulary.find_role(role).unwrap();
        accepts(subjects, &subjects.machines[role.index()], trace, outcome == "end");
        steps += trace.split_whitespace().count();
        ended += usize::from(outcome == "end");
        spent += usize::from(outcome == "spent");
        outcomes.push((number, outcome));
    }
    // Whoever is left was left by somebody who stopped on purpose.
    for session in outcomes.chunks(UNIVERSE.roles) {
        let left = session.iter().any(|(_, outcome)| *outcome == "left");
        assert!(!left || session.iter().any(|(_, outcome)| *outcome == "spent"), "{session:?}");
    }
    assert!(
        all.len() >= 30 && steps > 3_000 && ended > 300 && spent > 30,
        "{} {steps} {ended} {spent}",
        all.len()
    );
}
