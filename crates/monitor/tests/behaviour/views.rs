//! Monitors as text: Definition 9 on the paper's example.

use crate::support::{AUTH, monitor};

#[test]
fn the_paper_notation() {
    let text = monitor(AUTH, "client").view().to_text();
    assert_eq!(
        text,
        r#"q0 = ▷{ Auth(uname, pwd).if isString(uname) ∧ isString(pwd) then if uname.matches("^[a-z]+$") then ▲Auth(uname, pwd).q1 else noP^A else noP }
q1 = ▼{ Succ(tok).if isString(tok) then ◁Succ(tok).q2 else noE,
        Fail(code).if isInt(code) then if code > 0 && code < 600 then ◁Fail(code).q0 else noE^A else noE }
q2 = ▷{ Get(resource, reqTok).if isString(resource) ∧ isString(reqTok) then if reqTok == tok then ▲Get(resource, reqTok).q3 else noP^A else noP,
        Rvk(rvkTok).if isString(rvkTok) then if rvkTok == tok then ▲Rvk(rvkTok).q4 else noP^A else noP }
q3 = ▼{ Res(content).if isString(content) then ◁Res(content).q2 else noE,
        Timeout().◁Timeout().q0 }
q4 = 0
"#
    );
}

#[test]
fn the_table() {
    let view = monitor(AUTH, "server").view();
    assert!(view.to_table().starts_with("state  from    message"), "{}", view.to_table());
    assert_eq!(view.to_table().lines().count(), 9);
    let kept: Vec<_> = view.states.iter().map(|state| state.kept.len()).collect();
    assert_eq!(kept, [0, 0, 1, 1, 0], "only `tok` is kept, and only within the session");
}
