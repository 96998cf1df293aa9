//! Runs of a small protocol, as the page asks for them.

use referee::{Language, Parsed};

use super::*;

const COUNTER: &str = "protocol Counter(role client, role server) {
    rec MORE { choice at client { Add(n: int) from client to server where n > 41; continue MORE; }
               or { Quit() from client to server; Sum(total: int) from server to client; } } }";

fn protocols(text: &str) -> Vec<Projected> {
    Parsed::new(text, Language::Scr).well_formed().unwrap().protocols().collect()
}

fn run(text: &str, wish: Value) -> Result<Value, String> {
    play(&protocols(text), &wish)
}

fn send(role: &str, peer: &str, label: &str, values: Value) -> Value {
    json!({ "role": role, "sends": true, "peer": peer, "label": label, "values": values })
}

#[test]
fn choices_have_examples_that_keep_their_assertions() {
    let view = run(COUNTER, json!({})).unwrap();
    let choices = view["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 2, "{choices:#?}");
    assert_eq!(choices[0]["label"], "Add");
    assert_eq!(choices[0]["assertion"], "n > 41");
    assert_eq!(choices[0]["objected"], false);
    assert!(choices[0]["values"][0].as_i64().unwrap() > 41);
}

#[test]
fn what_a_monitor_objects_to_does_not_happen() {
    let moves = [send("client", "server", "Add", json!([-1]))];
    let view = run(COUNTER, json!({ "moves": moves })).unwrap();
    assert_eq!(view["verdict"]["blame"], "client");
    assert!(view["verdict"]["message"].as_str().unwrap().contains("`n > 41` does not hold"));
    assert_eq!(view["trace"]["steps"][0]["wrong"], true);
    assert!(
        view["choices"].as_array().unwrap().iter().all(|choice| choice["sends"] == true),
        "nothing was sent"
    );
    let unknown = [send("server", "client", "Sum", json!([1]))];
    let view = run(COUNTER, json!({ "moves": unknown })).unwrap();
    assert_eq!(view["verdict"]["blame"], "server", "it is not its turn");
}

#[test]
fn others_move_by_themselves_to_the_end() {
    let wish = json!({ "moves": [send("client", "server", "Quit", json!([]))], "others": ["server"] });
    let view = run(COUNTER, wish).unwrap();
    let steps = view["trace"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3, "it takes `Quit` and says `Sum`: {steps:#?}");
    assert_eq!(steps[1]["lines"], json!([3, 3]));
    let choices = view["choices"].as_array().unwrap();
    assert_eq!((choices.len(), choices[0]["sends"].as_bool()), (1, Some(false)));
    let mut moves = view["moves"].as_array().unwrap().clone();
    moves.push(choices[0].clone());
    let view = run(COUNTER, json!({ "moves": moves })).unwrap();
    assert_eq!((view["over"].as_bool(), view["choices"].as_array().unwrap().len()), (Some(true), 0));
}

#[test]
fn nothing_can_be_taken_that_was_not_sent() {
    let moves = [json!({ "role": "server", "peer": "client" })];
    let error = run(COUNTER, json!({ "moves": moves })).unwrap_err();
    assert_eq!(error, "nothing of `client` waits for `server`");
    assert!(run(COUNTER, json!({ "protocol": "No" })).is_err());
}
