//! Law C7 of `docs/concurrency.md`, section 3: of two roles, systems that are safe each are safe side by side over shared channels; so
//! blocks of a `par` are safe if each is. Against the explored shuffle.

use std::sync::Arc;

use referee_check::{Options, Verdict, check, check_blocks};
use referee_reference::par::{Tree, message, par};
use referee_testkit::corpus::read_types;
use referee_theory::{Machine, MachineBuilder, MessageSpec, State, System, Transition};

use crate::all_pairs;

fn verdict(system: &System, max_k: u32) -> &'static str {
    let options = Options { max_k, max_witnesses: 1, max_states: 20_000, ..Options::default() };
    check(system, &options, None, &mut ()).verdict.name()
}

/// Both systems over the same channels; the labels of the second get a prime.
fn shuffle(one: &System, two: &System) -> System {
    let mut names = (**one.vocabulary()).clone();
    let mut primed = |step: &Transition| {
        let spec = two.vocabulary().spec(step.message);
        let label = format!("{}'", two.vocabulary().label_name(spec.label));
        let label = names.add_label(&label);
        names.add_message(MessageSpec::new(label, Arc::clone(&spec.fields), None))
    };
    let mut product = |left: &Machine, right: &Machine| {
        let mut builder = MachineBuilder::new(left.role());
        let count = right.state_count();
        (0..left.state_count() * count).for_each(|_| _ = builder.add_state());
        let at = |l: State, r: State| State((l.index() * count + r.index()) as u32);
        for l in left.states() {
            for r in right.states() {
                for t in left.transitions(l) {
                    builder.add_transition(at(l, r), Transition { target: at(t.target, r), ..*t });
                }
                for t in right.transitions(r) {
                    let message = primed(t);
                    builder.add_transition(at(l, r), Transition { message, target: at(l, t.target), ..*t });
                }
            }
        }
        builder.finish()
    };
    let machines: Vec<Machine> =
        one.machines().iter().zip(two.machines()).map(|(left, right)| product(left, right)).collect();
    System::new(Arc::new(names), machines)
}

/// Mixed states and loops included; with three roles it does not hold.
#[test]
fn safe_systems_of_two_roles_are_safe_side_by_side() {
    let mut safe = Vec::new();
    all_pairs(1, 2, |system| {
        if verdict(system, 2) == "safe" {
            safe.push(system.clone());
        }
    });
    let (mut compared, mut complete) = (0, 0);
    for (one, two) in safe.iter().flat_map(|one| safe.iter().map(move |two| (one, two))) {
        let found = verdict(&shuffle(one, two), 2);
        assert_ne!(found, "unsafe", "{one:?} {two:?}");
        compared += 1;
        complete += usize::from(found == "safe");
    }
    println!("side by side: {compared} shuffles of {} safe systems, {complete} shown to be safe", safe.len());
    assert!(compared > 600 && complete > 200, "{compared} {complete}");
    let [one, two] =
        ["P: Q!m; end  Q: R?y; P?m; end  R: Q!y; end", "P: Q!n; end  Q: P?n; R?z; end  R: Q!z; end"]
            .map(|text| read_types(text).unwrap());
    assert_eq!(
        (verdict(&one, 2), verdict(&two, 2), verdict(&shuffle(&one, &two), 2)),
        ("safe", "safe", "unsafe")
    );
}

const CHANNELS: [(&str, &str); 2] = [("a", "b"), ("b", "a")];

/// Blocks of one or two messages, choices and loops with and without an end, with labels that begin with `name`.
fn blocks(name: &str) -> Vec<Tree> {
    let label = |number: usize| format!("{name}{number}");
    let mut all = Vec::new();
    let rec = |body| Tree::Rec(name.to_owned(), Box::new(body));
    for (sender, receiver) in CHANNELS {
        let one = |next| message(sender, receiver, &label(1), next);
        let choice = |first, second| Tree::Exchange {
            sender,
            receiver,
            branches: vec![(label(1), first), (label(2), second)],
        };
        all.push(one(Tree::End));
        all.push(rec(one(Tree::Call(name.to_owned()))));
        all.push(rec(choice(Tree::Call(name.to_owned()), Tree::End)));
        for (from, to) in CHANNELS {
            let other = |number, next| message(from, to, &label(number), next);
            all.push(one(other(3, Tree::End)));
            all.push(choice(other(3, Tree::End), other(4, Tree::End)));
            all.push(rec(one(other(3, Tree::Call(name.to_owned())))));
            all.push(rec(choice(other(3, Tree::Call(name.to_owned())), other(4, Tree::End))));
        }
    }
    all
}

/// Two blocks, one of them nested or not, before something or not, in a loop or not.
fn protocols() -> Vec<Tree> {
    let mut all = Vec::new();
    for left in blocks("x") {
        for right in blocks("y") {
            let both = |next| par(vec![left.clone(), right.clone()], next);
            let k = |next| message("a", "b", "k", next);
            all.push(both(Tree::End));
            all.push(both(k(Tree::End)));
            all.push(both(message("b", "a", "x1", Tree::End)));
            all.push(Tree::Rec("r".to_owned(), Box::new(both(k(Tree::Call("r".to_owned()))))));
            all.push(Tree::Rec("r".to_owned(), Box::new(both(Tree::Call("r".to_owned())))));
            let inner = message("a", "b", "z1", par(vec![left.clone(), right.clone()], Tree::End));
            all.push(par(vec![inner, message("b", "a", "w1", Tree::End)], Tree::End));
        }
    }
    all
}

#[test]
fn blocks_that_are_safe_each_are_safe_side_by_side() {
    let (mut shown, mut agreed, mut not_shown) = (0, 0, 0);
    let stride = if referee_testkit::everything() { 1 } else { 5 };
    for tree in protocols().into_iter().step_by(stride) {
        let Ok(global) = tree.to_theory(&["a", "b"]) else { continue };
        let Ok(system) = global.project_all() else { continue };
        let Some(k) = check_blocks(&global, &Options::default(), None) else {
            not_shown += 1;
            continue;
        };
        assert!(k > 0);
        shown += 1;
        let found = verdict(&system, 2);
        assert_ne!(found, "unsafe", "{tree:?}");
        agreed += usize::from(found == "safe");
    }
    println!("blocks: {shown} shown to be safe, {agreed} by exploration, too, {not_shown} not");
    assert!(shown > 300 && agreed > 50 && shown > agreed, "{shown} {agreed} {not_shown}");
}

/// Two streams that never wait for each other: no bound leaves room for all, and each is safe.
#[test]
fn two_streams_are_safe() {
    let stream = |from, to, name: &str| {
        Tree::Rec(name.to_owned(), Box::new(message(from, to, name, Tree::Call(name.to_owned()))))
    };
    let both = par(vec![stream("a", "b", "x"), stream("b", "a", "y")], Tree::End);
    let global = both.to_theory(&["a", "b"]).unwrap();
    assert_eq!(check_blocks(&global, &Options::default(), None), Some(1));
    let report = check(&global.project_all().unwrap(), &Options::default(), None, &mut ());
    assert!(matches!(report.verdict, Verdict::Unknown { .. }));
    let three = par(vec![stream("a", "b", "x"), stream("b", "c", "y")], Tree::End);
    let three = three.to_theory(&["a", "b", "c"]).unwrap();
    assert_eq!(check_blocks(&three, &Options::default(), None), None);
}
