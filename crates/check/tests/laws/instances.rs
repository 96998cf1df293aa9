//! Copies of a role (`referee_check::instances`): one copy is the system itself; with more, every copy does what the role does, and
//! the others deal with each in turn: against the same systems written out.

use referee_check::{Model, Options, Reduction, Semantics, check, examine_bound, generate, instances};
use referee_testkit::corpus::read_types;
use referee_theory::{Role, System};

use crate::sampled;

fn size(system: &System) -> (usize, usize, Option<bool>) {
    let report = examine_bound(&Model::new(system, Semantics::PeerToPeer), 1, Reduction::None);
    (report.states, report.transitions, report.safe())
}

#[test]
fn one_copy_is_the_system() {
    for seed in 0..4 {
        sampled(3, 2, 3, 60, seed, |system| {
            assert_eq!(size(system), size(&instances(system, Role(1), 1)));
        });
    }
}

#[test]
fn copies_are_as_written_out() {
    let one = read_types("C: W!task; W?done; L!end; end  W: C?task; C!done; end  L: C?end; end").unwrap();
    let worker = |name: &str| format!("{name}: C?task; C!done; end ");
    let three = format!(
        "C: W!task; W2!task; W3!task; W?done; W2?done; W3?done; L!end; end L: C?end; end {}{}{}",
        worker("W"),
        worker("W2"),
        worker("W3")
    );
    assert_eq!(size(&instances(&one, Role(1), 3)), size(&read_types(&three).unwrap()));
    // A choice of C is told to every copy.
    let choice = "C: {W!go; end, W!stop; end}  W: {C?go; end, C?stop; end}";
    for count in 1..=5 {
        let system = instances(&read_types(choice).unwrap(), Role(1), count);
        assert_eq!(check(&system, &Options::default(), None, &mut ()).verdict.name(), "safe");
    }
    // A choice of the copies is not one choice.
    let votes = "C: {W?yes; end, W?no; end}  W: {C!yes; end, C!no; end}";
    let verdict = |count| {
        let system = instances(&read_types(votes).unwrap(), Role(1), count);
        check(&system, &Options::default(), None, &mut ()).verdict.name()
    };
    assert_eq!((verdict(1), verdict(2)), ("safe", "unsafe"));
}

/// The family of stars that `generate` knows is one of these.
#[test]
fn names_do_not_clash() {
    let system = read_types("W: W2!a; end  W2: W?a; end").unwrap();
    let doubled = instances(&system, Role(0), 2);
    let names: Vec<&str> = doubled.roles().map(|role| doubled.vocabulary().role_name(role)).collect();
    assert_eq!(names, ["W", "W2", "W2_"]);
    assert_eq!(size(&instances(&generate::star(2, 1), Role(0), 1)), size(&generate::star(2, 1)));
}
