//! Table 1 of CAV'19, from our own texts of its examples: rows 1–5 and 7–9 (the figures behind rows 6 and
//! 10 cannot be recovered from the text of the paper). Table 2's systems are in the corpus: see `corpus.rs`.

use referee_check::{Model, Reduction, Semantics, Shape, Verdict, check, examine_bound};
use referee_testkit::corpus::read_types;

struct Row {
    name: &'static str,
    text: &'static str,
    bounds: std::ops::RangeInclusive<u32>,
    directed: bool,
    sibi: bool,
    /// k-safe; `None` where the paper's answer is about the unbounded system and no bound shows it.
    safe: Option<bool>,
    exhaustive: bool,
    verdict: &'static str,
}

const ROWS: [Row; 9] = [
    Row {
        name: "1, Figure 1: client, server, logger",
        text: "C: rec x. S!req; S!data; {S?ko; x, S?ok; end}
               S: rec x. C?req; {C!ko; C?data; x, C!ok; C?data; L!log; end}
               L: S?log; end",
        bounds: 1..=3,
        directed: true,
        sibi: true,
        safe: Some(true),
        exhaustive: true,
        verdict: "safe",
    },
    Row {
        name: "2, Example 2: stable, not safe",
        text: "S: {Q!a; end, Q!b; end}  Q: {S?a; end, S?b; R!c; end}  R: Q?c; end",
        bounds: 1..=3,
        directed: true,
        sibi: true,
        safe: Some(false),
        exhaustive: true,
        verdict: "unsafe",
    },
    Row {
        name: "3, Figure 2: not IBI from two messages on",
        text: FIGURE_2,
        bounds: 3..=4,
        directed: false,
        sibi: false,
        safe: Some(false),
        exhaustive: false,
        verdict: "unsafe",
    },
    Row {
        name: "4, Figure 3, Mp and Mq: safe, never exhaustive",
        text: "P: rec x. Q!a; Q!a; Q?b; x  Q: rec y. P!b; P?a; y",
        bounds: 1..=4,
        directed: true,
        sibi: true,
        safe: None,
        exhaustive: false,
        verdict: "unknown",
    },
    Row {
        name: "Figure 3, Mp and Nq",
        text: "P: rec x. Q!a; Q!a; Q?b; x  Q: rec y. P!b; P?a; P?a; y",
        bounds: 1..=3,
        directed: true,
        sibi: true,
        safe: Some(true),
        exhaustive: true,
        verdict: "safe",
    },
    Row {
        name: "5, Figure 3, Mp and N'q: from two messages on",
        text: FIGURE_3,
        bounds: 2..=4,
        directed: true,
        sibi: true,
        safe: Some(true),
        exhaustive: true,
        verdict: "safe",
    },
    Row {
        name: "7, Example 8: a channel that never drains",
        text: "S: rec x. R!a; P!b; x  R: rec y. S?a; y  P: S?c; end",
        bounds: 1..=3,
        directed: true,
        sibi: true,
        safe: Some(false),
        exhaustive: false,
        verdict: "unsafe",
    },
    Row {
        name: "8, Example 9: safe, not existentially bounded",
        text: "P: rec x. {Q!a; x, Q!b; rec z. {Q?c; z, Q?d; end}}
               Q: rec x. {P!c; x, P!d; rec z. {P?a; z, P?b; end}}",
        bounds: 1..=3,
        directed: true,
        sibi: true,
        safe: None,
        exhaustive: false,
        verdict: "unknown",
    },
    Row {
        name: "9, Example 12: not synchronisable",
        text: "P: Q!a; Q?c; Q!b; Q?d; end  Q: P!c; P!d; P?a; P?b; end",
        bounds: 1..=3,
        directed: true,
        sibi: true,
        safe: Some(true),
        exhaustive: true,
        verdict: "safe",
    },
];

const FIGURE_2: &str = "P: {Q!one; Q!two; R!c; Q?b; rec t. Q!y; t, R!c; Q?b; Q!one; Q!two; rec t. Q?x; t}
     Q: {P?one; P?two; R?d; P!b; rec t. P?y; t, R?d; P!b; P?one; P?two; rec t. P!x; t}
     R: P?c; Q!d; end";

const FIGURE_3: &str = "P: rec x. Q!a; Q!a; Q?b; x  Q: P!b; rec y. P!b; P?a; P?a; y";

#[test]
fn table_1() {
    for row in ROWS {
        let system = read_types(row.text).unwrap();
        let shape = Shape::of(&system);
        assert!(shape.is_csa(), "{}", row.name);
        assert_eq!(shape.is_send_directed() && shape.is_receive_directed(), row.directed, "{}", row.name);
        let model = Model::new(&system, Semantics::PeerToPeer);
        for k in row.bounds {
            for reduction in [Reduction::None, Reduction::Sound] {
                let found = examine_bound(&model, k, reduction);
                let context = format!("{}, k = {k}, {reduction:?}: {found:?}", row.name);
                assert_eq!(found.obi, Some(true), "{context}");
                assert_eq!(found.sibi, Some(row.sibi), "{context}");
                if reduction == Reduction::None || row.sibi {
                    assert_eq!(found.exhaustive, Some(row.exhaustive), "{context}");
                    assert!(row.safe.is_none() || found.safe() == row.safe, "{context}");
                }
            }
        }
        let report = check(&system, &Default::default(), None, &mut ());
        assert_eq!(report.verdict.name(), row.verdict, "{}: {:?}", row.name, report.verdict);
    }
}

/// Example 3: 1-safe and 1-exhaustive, hence 1-MC, and yet unsafe; k-IBI fails from 2 on, so one message per
/// channel must not be enough for "safe".
#[test]
fn example_3() {
    let model = Model::new(&read_types(FIGURE_2).unwrap(), Semantics::PeerToPeer);
    let one = examine_bound(&model, 1, Reduction::None);
    assert_eq!((one.safe(), one.exhaustive), (Some(true), Some(true)));
    assert_eq!(one.cibi, Some(false));
}

/// Example 4: (Mp, N'q) is not 1-MC but 2-MC.
#[test]
fn example_4() {
    let report = check(&read_types(FIGURE_3).unwrap(), &Default::default(), None, &mut ());
    assert!(matches!(report.verdict, Verdict::Safe { k: 2, .. }), "{:?}", report.verdict);
    assert_eq!(report.bounds[0].exhaustive, Some(false));
}
