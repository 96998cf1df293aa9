//! **Law.** Converting a protocol to another language and back is the identity up to equivalence: whatever was written
//! is read without errors, and every role's machine is bisimilar to what it was. Checked on all global types of two
//! levels over three roles, and on the examples.

use std::sync::Arc;

use referee_syntax::convert::{Subject, Target};
use referee_syntax::{Analysis, Content, Document, Language, parse, print};
use referee_theory::{
    Field, Machine, MachineBuilder, MessageSpec, Role, System, Transition, Type, Vocabulary,
};

use crate::support::{errors, files, said};

/// All global types up to `depth` exchanges deep: three pairs of roles, one or two labels, one with a payload.
fn all(depth: usize, in_loop: bool) -> Vec<String> {
    let mut texts = vec![String::from("end")];
    if in_loop {
        texts.push(String::from("X"));
    }
    if depth == 0 {
        return texts;
    }
    let inner = all(depth - 1, in_loop);
    for (p, q) in [("a", "b"), ("b", "c"), ("b", "a")] {
        for left in &inner {
            texts.push(format!("{p} -> {q} (l . {p} -> {q} <int> . {left})"));
            texts.extend(
                inner.iter().map(|right| format!("{p} -> {q} (l . {p} -> {q} <int> . {left}, k . {right})")),
            );
        }
    }
    texts
}

/// What is wrong with `text`, everything that `referee check` says included.
fn refused(text: &str, language: Language) -> Vec<String> {
    let analysed = Analysis::of(parse(text, language));
    analysed.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.message.clone()).collect()
}

fn language(target: Target) -> Language {
    match target {
        Target::Scr | Target::NuScr => Language::Scr,
        Target::Gt => Language::Gt,
        Target::GtJson => Language::GtJson,
        Target::St => Language::St,
        Target::Kmc => Language::Kmc,
        Target::Fsm => Language::Fsm,
    }
}

/// The machines that `document` gives its roles.
fn system(document: &Document) -> Option<System> {
    match &document.content {
        Content::Global(protocols) => protocols.first()?.global.as_ref()?.project_all().ok(),
        Content::Binary(protocol) => {
            protocol.session.as_ref()?.global(protocol.environment)?.project_all().ok()
        }
        Content::System(system) => system.system.clone(),
        Content::Properties(_) => None,
    }
}

/// The roles that do anything, in their order.
fn active(system: &System) -> Vec<Role> {
    system
        .machines()
        .iter()
        .filter(|machine| !machine.all_transitions().is_empty())
        .map(Machine::role)
        .collect()
}

/// `machine` of `system` in the words of `vocabulary`: roles by their place among those that do anything.
fn translated(machine: &Machine, system: &System, roles: &[Role], vocabulary: &mut Vocabulary) -> Machine {
    let active = active(system);
    let role = |role: Role| {
        roles[active.iter().position(|other| *other == role).expect("a role that does something")]
    };
    let old = system.vocabulary();
    let mut builder = MachineBuilder::new(role(machine.role()));
    let states: Vec<_> = machine.states().map(|_| builder.add_state()).collect();
    for state in machine.states() {
        for transition in machine.transitions(state) {
            let spec = old.spec(transition.message);
            let label = vocabulary.add_label(old.label_name(spec.label));
            let plain = |field: &Field| Field { name: None, ty: field.ty.clone() };
            let fields: Arc<[Field]> = spec.fields.iter().map(plain).collect();
            let message = vocabulary.add_message(MessageSpec::new(label, fields, None));
            let (peer, target) = (role(transition.peer), states[transition.target.index()]);
            builder
                .add_transition(states[state.index()], Transition { peer, message, target, ..*transition });
        }
    }
    builder.finish()
}

/// Whether both systems give the roles that do anything bisimilar machines.
fn same(left: &System, right: &System) -> bool {
    let roles = active(left);
    if active(right).len() != roles.len() {
        return false;
    }
    let mut vocabulary = Vocabulary::new();
    for role in left.vocabulary().roles() {
        vocabulary.add_role(left.vocabulary().role_name(role));
    }
    let pairs: Vec<(Machine, Machine)> = roles
        .iter()
        .zip(active(right))
        .map(|(one, other)| {
            let one = translated(left.machine(*one), left, &roles, &mut vocabulary);
            (one, translated(right.machine(other), right, &roles, &mut vocabulary))
        })
        .collect();
    pairs.iter().all(|(one, other)| one.bisimilar(other, &vocabulary))
}

/// `text` in the language of `target`, read again; `None` when it cannot be expressed there.
fn there(document: &Document, target: Target, origin: &str) -> Option<Document> {
    let text = match Subject::of(document, None).expect("a protocol").convert(target, None) {
        Ok(text) => text,
        Err(reason) => {
            assert!(!reason.to_string().is_empty());
            return None;
        }
    };
    let read = parse(&text, language(target));
    assert!(errors(&read).is_empty(), "{origin}\nas {}:\n{text}\n{}", target.name(), said(&read));
    Some(read)
}

#[derive(Clone, Default)]
struct Tally {
    tried: usize,
    expressed: usize,
    back: usize,
}

#[test]
fn there_and_back_is_the_identity_up_to_bisimulation() {
    let mut tallies = vec![Tally::default(); Target::ALL.len()];
    let texts =
        all(2, false).into_iter().chain(all(2, true).into_iter().map(|text| format!("mu X . {text}")));
    for text in texts.filter(|text| text.contains("->")) {
        let document = parse(&text, Language::Gt);
        let Some(before) = system(&document).filter(|_| errors(&document).is_empty()) else { continue };
        for (target, tally) in Target::ALL.into_iter().zip(&mut tallies) {
            tally.tried += 1;
            let Some(read) = there(&document, target, &text) else { continue };
            tally.expressed += 1;
            let after = system(&read).expect("what was written has projections");
            assert!(same(&before, &after), "{text}\nas {} has other machines", target.name());
            let Some(back) = there(&read, Target::Gt, &text) else { continue };
            tally.back += 1;
            assert!(
                same(&before, &system(&back).expect("projections")),
                "{text}\nby way of {}",
                target.name()
            );
        }
    }
    for (target, tally) in Target::ALL.into_iter().zip(&tallies) {
        println!(
            "{}: {} tried, {} expressed, {} back",
            target.name(),
            tally.tried,
            tally.expressed,
            tally.back
        );
        // A session of two has two roles; everything else is expressed, and comes back.
        let least = if target == Target::St { tally.tried / 20 } else { tally.tried };
        assert!(tally.expressed >= least, "{}: only {} of {}", target.name(), tally.expressed, tally.tried);
        assert!(tally.back * 100 >= tally.expressed * 95, "{}: only {} come back", target.name(), tally.back);
    }
    assert!(tallies[0].tried > 200, "only {} protocols have projections", tallies[0].tried);
}

/// Every kind of field, alone and beside another: it comes back from `.gt` with its type, or is refused.
#[test]
fn fields_keep_their_types_or_are_refused() {
    let kinds = [
        "unit",
        "int",
        "float",
        "bool",
        "string",
        "bytes",
        "T",
        "str",
        "real",
        "list<unit>",
        "list<int>",
        "list<list<T>>",
        "(int, string)",
        "{x: int}",
    ];
    let types = |document: &Document| -> Vec<Type> {
        let Content::Global(protocols) = &document.content else { panic!("a global protocol") };
        let global = protocols[0].global.as_ref().expect("a global type");
        let (_, exchange) = global.exchanges().next().expect("the message");
        let spec = global.vocabulary().spec(exchange.branches[0].message);
        spec.fields.iter().map(|field| field.ty.clone()).collect()
    };
    let (mut kept, mut refused) = (0, 0);
    for one in kinds {
        for two in std::iter::once("").chain(kinds) {
            let fields = if two.is_empty() { format!("x: {one}") } else { format!("x: {one}, y: {two}") };
            let text = format!("type T; protocol P(role a, role b) {{ m({fields}) from a to b; }}");
            let document = parse(&text, Language::Scr);
            assert_eq!(errors(&document), [""; 0], "{text}");
            match there(&document, Target::Gt, &text) {
                Some(read) => {
                    kept += 1;
                    assert_eq!(types(&read), types(&document), "{text}");
                }
                None => refused += 1,
            }
        }
    }
    assert!(kept > 80 && refused > 40, "{kept} {refused}");
}

#[test]
fn what_cannot_be_expressed_has_its_reason() {
    let reason = |text: &str, language: Language, target: Target| {
        let document = parse(text, language);
        assert!(errors(&document).is_empty(), "{}", said(&document));
        Subject::of(&document, None)
            .expect("a protocol")
            .convert(target, None)
            .expect_err("a reason")
            .to_string()
    };
    let three = "protocol P(role A, role B, role C) { m() from A to B; n() from B to C; }";
    assert_eq!(
        reason(three, Language::Scr, Target::St),
        "a session there has two sides, but 3 roles take part"
    );
    let condition = "protocol P(role A, role B) { m(x: int) from A to B where x > 0; }";
    assert_eq!(reason(condition, Language::Scr, Target::Gt), "`m` has an assertion");
    let mixed = "A: {B!m; end, B?n; end}\nB: {A?m; end, A!n; end}";
    let said = "`A` may both send and receive in one of its states";
    assert_eq!(reason(mixed, Language::Kmc, Target::Scr), said);
    let crossed = "A: B!m; B?n; end\nB: A!n; A?m; end";
    let said = "one message at a time, `A`, `B` come to wait for one another";
    assert_eq!(reason(crossed, Language::Kmc, Target::Gt), said);
    let apart = "A: rec x . B!m; x\nB: rec x . A?m; x\nC: rec x . D!m; x\nD: rec x . C?m; x";
    let said = "no global type was found that tells `C` what its machine does";
    assert_eq!(reason(apart, Language::Kmc, Target::Scr), said);
    let untold = "protocol P(role A, role B, role C) { choice at A { l() from A to B; m() from B to C; } or { k() from A to B; } }";
    let data = "protocol P(role A, role B) { rec X [n<A, B>: int = 1] { m(x: int) from A to B where x == n; continue X [n + 1]; } }";
    assert_eq!(reason(data, Language::Scr, Target::St), "its recursion carries data");
    assert_eq!(reason(data, Language::Scr, Target::Gt), "its recursion carries data");
    let constant = data.replace(" [n + 1]", "");
    assert_eq!(reason(&constant, Language::Scr, Target::St), "its recursion carries data");
    let unit = "protocol P(role A, role B) { m(x: unit) from A to B; }";
    let said = "`m` has one field, of type `unit`, which is no field there";
    assert_eq!(reason(unit, Language::Scr, Target::Gt), said);
    assert!(reason(untold, Language::Scr, Target::Kmc).starts_with("`C` has no projection"));
}

/// Whoever may wait for ever would be stuck in a language that cannot say so.
#[test]
fn waiting_for_ever_is_kept_or_refused() {
    let optional = "protocol P(role A, role B, role C) {
      choice at A { m() from A to B; @\"may wait\" n() from A to C; } or { k() from A to C; }
    }";
    let connected = "explicit global protocol P(role A, role B, role C) {
      o() connect A to C;
      choice at A { m() connect A to B; n() from A to C; } or { k() from A to C; }
    }";
    for text in [optional, connected] {
        let document = parse(text, Language::Scr);
        let subject = Subject::of(&document, None).expect("a protocol");
        for target in [Target::Kmc, Target::Gt, Target::GtJson, Target::NuScr] {
            let said = subject.convert(target, None).expect_err("a reason").to_string();
            assert_eq!(said, "`B` may wait for ever, which cannot be said there");
        }
        assert!(subject.convert(Target::Fsm, None).expect("expressible").contains(".accepting"));
    }
    let document = parse(connected, Language::Scr);
    let said =
        Subject::of(&document, None).expect("a protocol").convert(Target::Scr, None).expect_err("a reason");
    assert_eq!(said.to_string(), "where somebody connects to `B` is known to the text alone");
}

/// In nuScr nothing follows a choice or a recursion, and data are known inside theirs only.
#[test]
fn nuscr_is_written_as_nuscr_reads_it() {
    let convert = |text: &str| {
        let document = parse(text, Language::Scr);
        Subject::of(&document, None).expect("a protocol").convert(Target::NuScr, None)
    };
    let shared = "protocol P(role A, role B) {
      rec X { choice at A { m() from A to B; continue X; } or { k() from A to B; } or { l() from A to B; } }
      n() from B to A;
    }";
    let expected = "global protocol P(role A, role B) {
  rec X {
    choice at A {
      m() from A to B;
      continue X;
    } or {
      k() from A to B;
      n() from B to A;
    } or {
      l() from A to B;
      n() from B to A;
    }
  }
}
";
    assert_eq!(convert(shared).expect("expressible"), expected);
    let counted = "(*# RefinementTypes #*)\nglobal protocol C(role A, role B) {
      rec X [n<B>: int = 0] { choice at A { m() from A to B; continue X [n + 1]; }
      or { k() from A to B; t(sum: int{sum = n}) from B to A; } } }";
    let written = convert(counted).expect("expressible");
    assert!(written.trim_end().ends_with("from B to A;\n    }\n  }\n}"), "{written}");
    for (text, reason) in [
        (
            "protocol P(role A, role B) { m(x: int) from A to B where x * 2 > 4; }",
            "nuScr has no operator or literal of `x * 2 > 4`",
        ),
        (
            "protocol P(role A, role B) { m(x: float) from A to B where x > 0.5; }",
            "nuScr has no operator or literal of `x > 0.5`",
        ),
        ("protocol P(role A, role B) { choice() from A to B; }", "`choice` is a keyword of nuScr"),
        ("protocol P(role A, role B) { m(type: int) from A to B; }", "`type` is a keyword of nuScr"),
        (
            "protocol P(role A, role B) { m(größe: int) from A to B; }",
            "names of nuScr have no other letters than A to Z: `größe`",
        ),
    ] {
        assert_eq!(convert(text).expect_err("a reason").to_string(), reason);
    }
}

#[test]
fn conditions_become_refinements_for_nuscr() {
    let text = "protocol P(role A, role B) { m(x: int, y: int) from A to B where x > 0 && y == x; }";
    let document = parse(text, Language::Scr);
    let written =
        Subject::of(&document, None).expect("a protocol").convert(Target::NuScr, None).expect("expressible");
    let expected = "(*# RefinementTypes #*)\n\nglobal protocol P(role A, role B) {\n  \
                    m(x: int, y: int{(x > 0) && (y = x)}) from A to B;\n}\n";
    assert_eq!(written, expected);
    // Where no field has a name, an annotation says it.
    let text = "protocol P(role A, role B) { m(x: int) from A to B; n(int) from B to A where x > 0; }";
    let document = parse(text, Language::Scr);
    let written =
        Subject::of(&document, None).expect("a protocol").convert(Target::NuScr, None).expect("expressible");
    assert!(written.contains("n(int) from B to A; @\"x > 0\"\n"), "{written}");
    // nuScr calls it `len`.
    let text = "protocol P(role A, role B) { m(s: string) from A to B where size(s) >= 6; }";
    let document = parse(text, Language::Scr);
    let written =
        Subject::of(&document, None).expect("a protocol").convert(Target::NuScr, None).expect("expressible");
    assert!(written.contains("m(s: string{len(s) >= 6}) from A to B;"), "{written}");
}

/// What `machine` does, with conditions and what is computed.
fn steps(machine: &Machine, system: &System) -> Vec<String> {
    let vocabulary = system.vocabulary();
    let mut steps = Vec::new();
    for state in machine.states() {
        for step in machine.transitions(state) {
            let spec = vocabulary.spec(step.message);
            let condition = spec.assertion.as_ref().map(ToString::to_string);
            let updates =
                spec.updates.iter().map(|update| format!("{} := {}", update.variable, update.value));
            let (label, updates) = (vocabulary.display(step.message), updates.collect::<Vec<_>>());
            steps.push(format!(
                "{state:?} {:?} {label} {condition:?} {updates:?} {:?}",
                step.action, step.target
            ));
        }
    }
    steps
}

/// What must hold of recursion data stands where they are declared, not at the messages that are asked for it; and reading it
/// gives the same machines.
#[test]
fn refinements_of_recursion_data_are_written() {
    let refined = "(*# RefinementTypes #*)\n\nglobal protocol P(role A, role B) {\n  \
                   m(k: int{k > 3}) from A to B;\n  \
                   rec X [n<A, B>: (n: int{(n >= 0) && (n <= 9)}) = k] {\n    choice at A {\n      \
                   l(less: int{less > 0}) from A to B;\n      continue X [n - less];\n    } or {\n      \
                   r() from A to B;\n    }\n  }\n}\n";
    for target in [Target::NuScr, Target::Scr] {
        let document = parse(refined, Language::Scr);
        let subject = Subject::of(&document, None).expect("a protocol");
        let written = subject.convert(target, None).expect("expressible");
        if target == Target::NuScr {
            assert_eq!(written, refined);
        } else {
            assert!(written.contains("rec X [n<A, B>: (n: int{(n >= 0) && (n <= 9)}) = k]"), "{written}");
            assert!(written.contains("l(less: int) from A to B where less > 0;"), "{written}");
        }
        let read = parse(&written, Language::Scr);
        let (before, after) = (system(&document).expect("machines"), system(&read).expect("machines"));
        for (one, other) in before.machines().iter().zip(after.machines()) {
            assert_eq!(steps(one, &before), steps(other, &after), "{written}");
        }
    }
    // A branch that begins with the recursion asks it of its first message: there it stays a condition.
    let inside = "protocol P(role A, role B) { m(k: int) from A to B where k > 3; choice at A { rec X [n<A, B>: (n: int{n >= 0}) = k] {
        l(d: int) from A to B where d == n; } } or { r() from A to B; } }";
    let document = parse(inside, Language::Scr);
    assert!(errors(&document).is_empty(), "{}", said(&document));
    let written =
        Subject::of(&document, None).expect("a protocol").convert(Target::Scr, None).expect("expressible");
    assert!(written.contains("n >= 0") && !written.contains("{n >= 0}"), "{written}");
}

/// As `nuscr --project=B@P` and Scribble's `-project P B` print it.
#[test]
fn local_protocols_as_nuscr_and_scribble_print_them() {
    let text = "protocol P(role A, role B) {\n  rec X {\n    choice at A {\n      \
                ping(x: int) from A to B;\n      pong() from B to A;\n      continue X;\n    \
                } or {\n      stop() from A to B;\n    }\n  }\n}\n";
    let document = parse(text, Language::Scr);
    let Content::Global(protocols) = &document.content else { panic!("a global protocol") };
    let names = protocols[0].global.as_ref().expect("well-formed").recursion_names();
    let system = system(&document).expect("projections");
    let role = system.vocabulary().find_role("B").expect("a role");
    let machine = system.machine(role);
    let session = machine.session_type_with_names(system.vocabulary(), 1000, &names).expect("a short type");
    let nuscr = "rec X {\n  choice at A {\n    ping(x: int) from A;\n    pong() to A;\n    continue X;\n  \
                 } or {\n    stop() from A;\n    (end)\n  }\n}\n";
    assert_eq!(print::local_nuscr(&session).as_deref(), Ok(nuscr));
    let scribble = "local protocol P_B(role A, self B) {\n  rec X {\n    choice at A {\n      ping(x: int) from A;\n      \
                    pong() to A;\n      continue X;\n    } or {\n      stop() from A;\n    }\n  }\n}\n";
    assert_eq!(print::local_scr("P", &session).as_deref(), Ok(scribble));
}

/// New names of fields are nobody's: what a condition reads stays what it read.
#[test]
fn names_that_are_made_up_capture_nothing() {
    let convert = |text: &str| {
        let document = parse(text, Language::Scr);
        assert!(errors(&document).is_empty(), "{}", said(&document));
        Subject::of(&document, None).expect("a protocol").convert(Target::St, None).expect("expressible")
    };
    let text = "protocol P(role a, role b) { m(x1: int) from a to b; n(int, string) from b to a; k() from a to b where x1 > 2; }";
    assert_eq!(convert(text), "P = !m(x1: Int).?n(x_1: Int, x_2: String).!k()[x1 > 2].end\n");
    let text = text.replace("n(int, string)", "n(int, x_7: string)");
    assert_eq!(convert(&text), "P = !m(x1: Int).?n(x__1: Int, x_7: String).!k()[x1 > 2].end\n");
}

/// All machines of at most `depth` steps with `peer`: one or two labels, sent or received.
fn machines(peer: &str, depth: usize) -> Vec<String> {
    let mut texts = vec![String::from("end")];
    if depth == 0 {
        return texts;
    }
    let inner = machines(peer, depth - 1);
    for action in ['!', '?'] {
        for left in &inner {
            texts.push(format!("{peer}{action}x; {left}"));
            texts.push(format!("{peer}{action}y; {left}"));
            texts.extend(
                inner.iter().map(|right| format!("{{{peer}{action}x; {left}, {peer}{action}y; {right}}}")),
            );
        }
    }
    texts
}

/// The machine of the other side, by its text.
fn opposite(text: &str) -> String {
    text.replace("B!", "A\u{0}").replace("B?", "A!").replace("A\u{0}", "A?")
}

/// **Law.** A system is one session type exactly if its second machine is the dual of its first.
#[test]
fn a_session_type_stands_for_both_machines() {
    let (mut written, mut refused) = (0, 0);
    for ours in machines("B", 2).iter().filter(|text| *text != "end") {
        for theirs in machines("A", 2).iter().filter(|text| *text != "end") {
            let document = parse(&format!("A: {ours}\nB: {theirs}"), Language::Kmc);
            assert!(errors(&document).is_empty(), "{}", said(&document));
            let converted = Subject::of(&document, None).expect("a system").convert(Target::St, None);
            let is_dual = opposite(ours) == *theirs;
            assert_eq!(converted.is_ok(), is_dual, "A: {ours}\nB: {theirs}\n{converted:?}");
            *if is_dual { &mut written } else { &mut refused } += 1;
        }
    }
    assert!(written > 50 && refused > 2000, "{written} written, {refused} refused");
    let document = parse("A: B!x; B?y; end\nB: A?x; A!z; end", Language::Kmc);
    let reason =
        Subject::of(&document, None).expect("a system").convert(Target::St, None).expect_err("no dual");
    assert!(reason.to_string().starts_with("`B` is not the other side of `A`"), "{reason}");
}

/// **Law.** Whatever is written is read again, by everything that examines a text: over all examples and targets.
#[test]
fn what_is_written_of_the_examples_is_read_again() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let (mut written, mut not) = (0, Vec::new());
    for (extension, language) in [
        ("scr", Language::Scr),
        ("gt", Language::Gt),
        ("st", Language::St),
        ("kmc", Language::Kmc),
        ("fsm", Language::Fsm),
    ] {
        for (path, text) in files(&folder, extension) {
            let document = parse(&text, language);
            if !errors(&document).is_empty() {
                continue;
            }
            let Some(subject) = Subject::of(&document, None) else { continue };
            for target in Target::ALL {
                match subject.convert(target, None) {
                    Ok(text) => {
                        written += 1;
                        let refused = refused(&text, self::language(target));
                        assert!(
                            refused.is_empty(),
                            "{} as {}:\n{text}\n{refused:?}",
                            path.display(),
                            target.name()
                        );
                    }
                    Err(reason) => not.push(format!("{} as {}: {reason}", path.display(), target.name())),
                }
            }
        }
    }
    println!("{written} written; not: {}", not.join("\n"));
    assert!(written > 200, "only {written} were written");
    let unread = not.iter().filter(|reason| reason.contains("refuses it with RF0410")).count();
    assert!(unread >= 6, "what no pair of roles sees is refused, {unread}:\n{}", not.join("\n"));
}

/// Where roles are known by their messages alone, a protocol without messages could not be read back.
#[test]
fn a_protocol_without_messages_comes_back_or_is_refused() {
    let document = parse("protocol P(role a, role b) { }", Language::Scr);
    for target in Target::ALL {
        let found = Subject::of(&document, None).expect("a protocol").convert(target, None);
        let Ok(written) = found else {
            assert!(matches!(target, Target::Gt | Target::GtJson | Target::St), "{}", target.name());
            continue;
        };
        let read = parse(&written, language(target));
        let back =
            Subject::of(&read, None).expect("a protocol").convert(Target::Scr, None).expect("expressible");
        assert!(back.contains("(role a, role b)") || target == Target::Fsm, "{written}{back}");
    }
}

#[test]
fn the_empty_label_is_called_so() {
    let document = parse("protocol P(role a, role b) { (int) from a to b; }", Language::Scr);
    for target in [Target::Gt, Target::Kmc, Target::St] {
        let reason =
            Subject::of(&document, None).expect("a protocol").convert(target, None).expect_err("a reason");
        assert_eq!(reason.to_string(), "the empty label is not a name there");
    }
}
