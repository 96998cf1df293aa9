//! A component conforms exactly if it satisfies its role (RV'23, Definition 13), on small types: components that do
//! what their monitors allow, and the same with one action changed, left out or added.

use referee_check::Options;
use referee_monitor::multiparty::{Bounds, Component, Network, conform};
use referee_reference::global::Tree;
use referee_reference::relamon::monitor::{Lines, of_role};
use referee_reference::relamon::network::{Action, Blackbox, Message, Monitored};
use referee_reference::relamon::satisfaction::satisfies;
use referee_reference::relative::is_well_formed;
use referee_testkit::choices::law_size;
use referee_testkit::global_types::{ROLES, Universe};
use referee_theory::{Machine, MachineBuilder, Origin, Role, Transition, Vocabulary};

/// The component as a machine; where it would end it stops.
fn machine(blackbox: &Blackbox, role: Role, vocabulary: &mut Vocabulary) -> Machine {
    let mut builder = MachineBuilder::new(role);
    let states: Vec<_> = blackbox.transitions.iter().map(|_| builder.add_state()).collect();
    for (state, transitions) in blackbox.transitions.iter().enumerate() {
        for (action, target) in transitions {
            let (direction, peer, message): (_, &String, &Message) = match action {
                Action::Output(q, message) => (referee_theory::Action::Send, q, message),
                Action::Input(q, message) => (referee_theory::Action::Receive, q, message),
                Action::End | Action::Tau => continue,
            };
            let (peer, message) = (vocabulary.add_role(peer), vocabulary.add_plain_message(&message.label));
            let origin = Origin::NONE;
            let step = Transition { action: direction, peer, message, target: states[*target], origin };
            builder.add_transition(states[state], step);
        }
    }
    builder.finish()
}

/// `blackbox` and what becomes of it with one change.
fn variants(blackbox: &Blackbox, roles: &[String]) -> Vec<Blackbox> {
    let mut all = vec![blackbox.clone()];
    for (state, transitions) in blackbox.transitions.iter().enumerate() {
        if transitions.is_empty() {
            continue;
        }
        let dead = blackbox.transitions.len();
        let with = |changed: Vec<(Action, usize)>| {
            let mut variant = blackbox.clone();
            variant.transitions[state] = changed;
            // After what was changed it ends, as a machine does where it has nothing to do.
            variant.transitions.extend([vec![(Action::End, dead + 1)], Vec::new()]);
            variant
        };
        all.push(with(vec![(Action::End, dead + 1)]));
        for role in roles {
            all.push(with(vec![(Action::Output(role.clone(), Message::data("l2", "")), dead)]));
        }
        if transitions.len() > 1 {
            for left_out in 0..transitions.len() {
                let mut fewer = transitions.clone();
                fewer.remove(left_out);
                all.push(with(fewer));
            }
        }
    }
    all
}

#[test]
fn every_small_type() {
    let (mut right, mut wrong, mut unknown) = (0, 0, 0);
    let mut check = |g: &Tree| {
        if !is_well_formed(g) || g.participants().len() < 2 {
            return;
        }
        let names: Vec<&str> = ROLES.iter().copied().filter(|r| g.participants().contains(*r)).collect();
        let global = g.to_theory(&names).unwrap();
        let relative = global.relative_all().unwrap();
        let network = Network::synthesise(&global, &relative, &Options::default(), None, &mut ());
        for (index, p) in names.iter().enumerate() {
            let monitor = of_role(g, p, Lines::CORRECTED);
            let others: Vec<String> = names.iter().filter(|q| *q != p).map(|q| (*q).to_owned()).collect();
            for blackbox in variants(&Blackbox::following(&monitor), &others) {
                let role = Role(u16::try_from(index).unwrap());
                let mut vocabulary = Vocabulary::new();
                for name in &names {
                    vocabulary.add_role(name);
                }
                let machine = machine(&blackbox, role, &mut vocabulary);
                let roles: Vec<Option<Role>> = vocabulary.roles().map(Some).collect();
                let component = Component { machine: &machine, vocabulary: &vocabulary, roles: &roles };
                let found = conform(&network, role, &component, &Bounds::default());
                let expected = satisfies(&Monitored::new(p, blackbox.clone(), &monitor), g);
                let same = format!("{g}: {p}: {blackbox:?}: {found:?}, {expected:?}");
                match found.conforms {
                    // A component that never reads what keeps coming: the definition asks nothing of it.
                    None => unknown += 1,
                    Some(conforms) => assert_eq!(conforms, expected.is_ok(), "{same}"),
                }
                if expected.is_ok() {
                    right += 1;
                } else {
                    wrong += 1;
                }
            }
        }
    };
    Universe { roles: 3, labels: 2, payloads: &[""] }.for_each(3 + law_size(), &mut check);
    println!("multiparty conformance: {right} conform, {wrong} do not; {unknown} without an answer");
    assert!(right > 500 && wrong > 1_000 && unknown < 200, "{right} conform, {wrong} do not");
}
