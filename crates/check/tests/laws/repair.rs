//! Single edits that are said to make a system safe do: by the reference, within two more bounds.

use std::sync::atomic::AtomicBool;

use referee_check::{Options, Verdict, check, fixes};
use referee_reference::kmc::{self, properties};
use referee_testkit::corpus::read_types;
use referee_theory::System;

use crate::support::{show, witnesses};
use crate::{all_pairs, sampled};

fn suggested(system: &System) -> Vec<String> {
    let options = Options { max_k: 2, ..Options::default() };
    let verdict = check(system, &options, None, &mut ()).verdict;
    let found = fixes(system, &witnesses(&verdict), &options, &AtomicBool::new(false));
    for fix in &found {
        let text = fix.edit.text(system);
        let Verdict::Safe { k, .. } = check(&fix.system, &options, None, &mut ()).verdict else {
            panic!("{text}")
        };
        for n in k..k + 2 {
            let ts = kmc::transition_system(&fix.system, n as usize);
            let safe = properties::eventual_reception(&ts).is_empty()
                && properties::progress(&fix.system, &ts).is_empty();
            assert!(safe, "{text} within {n}:\n{}", show(&fix.system));
        }
    }
    found.iter().map(|fix| fix.edit.text(system)).collect()
}

#[test]
fn what_is_suggested_is_safe() {
    let (mut fixed, mut number) = (0, 0);
    let mut visit = |system: &System| {
        number += 1;
        if number % 5 == 0 {
            fixed += usize::from(!suggested(system).is_empty());
        }
    };
    all_pairs(1, 2, &mut visit);
    sampled(2, 2, 3, 400, 3, &mut visit);
    sampled(3, 2, 3, 200, 4, &mut visit);
    assert!(fixed > 20, "{fixed}");
}

#[test]
fn the_mistakes_that_people_make() {
    let said = |text: &str| suggested(&read_types(text).unwrap());
    let login = said("A: B!login; B?ok; B!quit; end  B: A?login; A!ok; A?exit; end");
    assert_eq!(login[0], "rename `exit`, which `B` receives from `A`, to `quit`");
    assert_eq!(login[1], "rename `quit`, which `A` sends to `B`, to `exit`");
    let missing = said("C: S!req; end  S: C?req; C?ack; end");
    assert_eq!(missing[0], "drop `ack`, which `S` receives from `C`");
    assert!(
        missing.contains(&"add `ack`, which `C` sends to `S`, after it sends `req` to `S`".to_owned()),
        "{missing:?}"
    );
    let orphan = said("A: B!x; B!bye; end  B: A?x; end");
    assert!(orphan.contains(&"drop `bye`, which `A` sends to `B`".to_owned()), "{orphan:?}");
    assert!(
        orphan.contains(&"add `bye`, which `B` receives from `A`, after it receives `x` from `A`".to_owned()),
        "{orphan:?}"
    );
    // Of several ends the one that is meant, of a choice the branch.
    let ends = said("A: {B!p; B!x; end, B!q; end}  B: {A?p; end, A?q; end}");
    let behind = "add `x`, which `B` receives from `A`, after it receives `p` from `A`";
    assert!(ends.contains(&behind.to_owned()), "{ends:?}");
    let branch = said("R0: R1?c; {R2!c; end, R1!a; end}  R1: R0!c; end  R2: {R0?c; end, R0?a; end}");
    let drop = "drop the branch that begins with `a`, which `R0` sends to `R1`";
    assert!(branch.contains(&drop.to_owned()), "{branch:?}");
    // What is missing before a loop is added there, not in every round.
    let before_loop = said(
        "B: S?subscribe; S!ack; rec x. {S!event; x, S!over; end}  S: B!subscribe; rec x. {B?event; x, B?over; end}",
    );
    let once = "add `ack`, which `S` receives from `B`, after it sends `subscribe` to `B`";
    assert!(before_loop.contains(&once.to_owned()), "{before_loop:?}");
    // Two mistakes are not one edit.
    assert_eq!(said("A: B!a; C!x; end  B: A?b; end  C: A?y; end"), [""; 0]);
}
