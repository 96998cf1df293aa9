//! `referee lsp` over standard input and output: a script for every request.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test runs the command and fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// A client that is as dumb as can be.
struct Client {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Notifications that came while an answer was waited for.
    aside: Vec<Value>,
    next: i64,
}

impl Client {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_referee"))
            .args(["lsp", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, input, messages, aside: Vec::new(), next: 0 }
    }

    /// A client of UTF-8 columns and snippets, initialized.
    fn initialized(options: Value) -> (Self, Value) {
        let mut client = Self::start();
        let capabilities = json!({
            "general": { "positionEncodings": ["utf-8", "utf-16"] },
            "textDocument": { "completion": { "completionItem": { "snippetSupport": true } } },
        });
        let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "initializationOptions": options });
        let answer = client.ask("initialize", params);
        client.notify("initialized", json!({}));
        (client, answer["result"]["capabilities"].clone())
    }

    fn write(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    fn receive(&self) -> Value {
        self.messages.recv_timeout(Duration::from_secs(60)).expect("an answer within a minute")
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == json!(id) {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// The next diagnostics of version `version`.
    fn diagnostics(&mut self, version: i64) -> Value {
        loop {
            let message = if self.aside.is_empty() { self.receive() } else { self.aside.remove(0) };
            let is_wanted = message["method"] == "textDocument/publishDiagnostics";
            if is_wanted && message["params"]["version"] == json!(version) {
                return message["params"]["diagnostics"].clone();
            }
        }
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "scribble", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn end(mut self) {
        let answer = self.ask("shutdown", Value::Null);
        assert_eq!(answer["result"], Value::Null);
        self.notify("exit", Value::Null);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut text = vec![0; length];
    output.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

const URI: &str = "file:///nowhere/a%20b.scr";

const TEXT: &str = "type Key = string;

protocol P(role client, role server) {
  rec Loop {
    Add(n: int, k: Key) from client to server where n > 0;
    continue Loop;
  }
}
";

fn at(line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": character } })
}

fn document() -> Value {
    json!({ "textDocument": { "uri": URI } })
}

#[test]
fn every_request_is_answered() {
    let (mut client, can) = Client::initialized(json!({ "inlayHints": true }));
    assert_eq!(can["positionEncoding"], "utf-8");
    client.open(URI, TEXT);
    let hover = client.ask("textDocument/hover", at(4, 31));
    assert!(
        hover["result"]["contents"]["value"].as_str().unwrap().contains("it sends `Add` to `server`"),
        "{hover}"
    );
    let definition = client.ask("textDocument/definition", at(5, 15));
    assert_eq!(
        definition["result"][0]["range"]["start"],
        json!({ "line": 3, "character": 6 }),
        "{definition}"
    );
    let mut params = at(4, 4);
    params["context"] = json!({ "includeDeclaration": true });
    let references = client.ask("textDocument/references", params);
    assert_eq!(references["result"].as_array().unwrap().len(), 1, "{references}");
    let highlights = client.ask("textDocument/documentHighlight", at(5, 15));
    assert_eq!(highlights["result"].as_array().unwrap().len(), 2, "{highlights}");
    let prepared = client.ask("textDocument/prepareRename", at(2, 17));
    assert_eq!(prepared["result"]["start"], json!({ "line": 2, "character": 16 }), "{prepared}");
    let mut params = at(2, 17);
    params["newName"] = json!("user");
    let renamed = client.ask("textDocument/rename", params.clone());
    assert_eq!(renamed["result"]["changes"][URI].as_array().unwrap().len(), 2, "{renamed}");
    params["newName"] = json!("server");
    let refused = client.ask("textDocument/rename", params);
    assert!(refused["error"]["message"].as_str().unwrap().contains("called `server` already"), "{refused}");
    let completion = client.ask("textDocument/completion", at(4, 30));
    assert_eq!(completion["result"][0]["label"], "client", "{completion}");
    let symbols = client.ask("textDocument/documentSymbol", document());
    assert_eq!(symbols["result"][1]["children"][0]["name"], "Loop", "{symbols}");
    let folds = client.ask("textDocument/foldingRange", document());
    assert_eq!(folds["result"].as_array().unwrap().len(), 2, "{folds}");
    let tokens = client.ask("textDocument/semanticTokens/full", document());
    assert!(tokens["result"]["data"].as_array().unwrap().len() > 20, "{tokens}");
    assert_eq!(tokens["result"]["data"].as_array().unwrap()[..5], [0, 0, 4, 0, 0].map(Value::from));
    let options =
        json!({ "textDocument": { "uri": URI }, "options": { "tabSize": 2, "insertSpaces": true } });
    let formatted = client.ask("textDocument/formatting", options);
    assert_eq!(formatted["result"], json!([]), "{formatted}");
    let signature = client.ask("textDocument/signatureHelp", at(4, 52));
    assert_eq!(signature["result"], Value::Null, "{signature}");
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let hints =
        client.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": URI }, "range": whole }));
    assert_eq!(hints["result"][0]["label"], "enforced by client and server", "{hints}");
    let lenses = client.ask("textDocument/codeLens", document());
    assert_eq!(lenses["result"][1]["command"]["command"], "referee.showMachine", "{lenses}");
    let actions = json!({ "textDocument": { "uri": URI }, "range": whole, "context": { "diagnostics": [] } });
    assert_eq!(client.ask("textDocument/codeAction", actions)["result"], json!([]));
    let unknown = client.ask("textDocument/moniker", at(0, 0));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let malformed = client.ask("textDocument/hover", json!({ "textDocument": 3 }));
    assert_eq!(malformed["error"]["code"], -32602, "{malformed}");
    client.end();
}

#[test]
fn diagnostics_have_versions_and_fixes() {
    let (mut client, _) = Client::initialized(Value::Null);
    client.open(URI, TEXT);
    assert_eq!(client.diagnostics(1), json!([]));
    // The semicolon of `continue Loop;` is deleted, and then the word before it is made wrong.
    let change = |line: u32, from: u32, to: u32, text: &str| json!({ "range": { "start": { "line": line, "character": from }, "end": { "line": line, "character": to } }, "text": text });
    let params =
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change(5, 17, 18, "")] });
    client.notify("textDocument/didChange", params);
    let found = client.diagnostics(2);
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0]["source"], "referee");
    let range = found[0]["range"].clone();
    let actions = json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
    let actions = client.ask("textDocument/codeAction", actions);
    assert_eq!(actions["result"][0]["title"], "insert `;`", "{actions}");
    assert_eq!(actions["result"][0]["edit"]["changes"][URI][0]["newText"], ";");
    assert_eq!(actions["result"][1]["kind"], "source.fixAll");
    let wrong = [change(5, 17, 17, ";"), change(5, 13, 17, "Lop")];
    let params = json!({ "textDocument": { "uri": URI, "version": 3 }, "contentChanges": wrong });
    client.notify("textDocument/didChange", params);
    let found = client.diagnostics(3);
    assert_eq!(found[0]["code"], "RF0105", "{found}");
    let params =
        json!({ "textDocument": { "uri": URI, "version": 4 }, "contentChanges": [{ "text": "protocol" }] });
    client.notify("textDocument/didChange", params);
    assert_eq!(client.diagnostics(4).as_array().unwrap().len(), 1);
    client.notify("textDocument/didClose", document());
    let closed = client.receive();
    assert_eq!(closed["params"]["diagnostics"], json!([]), "{closed}");
    client.end();
}

/// Columns are UTF-16 code units where the client does not speak of UTF-8.
#[test]
fn columns_are_counted_as_agreed() {
    let mut client = Client::start();
    let answer = client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    assert_eq!(answer["result"]["capabilities"]["positionEncoding"], "utf-16");
    client.notify("initialized", json!({}));
    client.open(URI, "protocol P(role a, role b) {\n  /* 𝄞é */ m() from a to c;\n  n() from b to a;\n}\n");
    let found = client.diagnostics(1);
    assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 26 }), "{found}");
    client.end();
}

#[test]
fn what_is_cancelled_is_answered_as_such_and_a_check_delays_nothing() {
    let (mut client, _) = Client::initialized(Value::Null);
    // A system whose check takes a while: many independent pairs.
    let mut text = String::new();
    for pair in 0..9 {
        text.push_str(&format!(
            "A{pair}: rec x . {{B{pair}!a; B{pair}!b; B{pair}?c; x, B{pair}!d; B{pair}?c; x}}\n"
        ));
        text.push_str(&format!(
            "B{pair}: rec x . {{A{pair}?a; A{pair}?b; A{pair}!c; x, A{pair}?d; A{pair}!c; x}}\n"
        ));
    }
    let uri = "file:///nowhere/large.kmc";
    client.open(uri, &text);
    let lens = client.send("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    let symbols = client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(symbols["result"].as_array().unwrap().len(), 18);
    client.notify("$/cancelRequest", json!({ "id": lens }));
    let cancelled = client.aside.iter().find(|message| message["id"] == json!(lens)).cloned();
    let cancelled = cancelled.unwrap_or_else(|| client.answer(lens));
    // It may have been done before.
    assert!(cancelled["error"]["code"] == -32800 || cancelled["result"].is_array(), "{cancelled}");
    // A change makes an answer about the old text worthless.
    let lens = client.send("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    let params =
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": "A: end" }] });
    client.notify("textDocument/didChange", params);
    let answer = client.answer(lens);
    assert!(answer["error"].is_object() || answer["result"].is_array(), "{answer}");
    client.end();
}

/// Files that nobody opened are read: what a module declares is renamed where it is used.
#[test]
fn other_files_of_the_workspace_are_known() {
    let folder = std::env::temp_dir().join(format!("referee-lsp-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let folder = Folder(folder);
    let main = folder.0.join("Main.scr");
    fs::write(
        folder.0.join("Lib.scr"),
        "module Lib;\naux protocol Part(role a, role b) { m() from a to b; }\n",
    )
    .unwrap();
    let text = "module Main;\nimport Lib;\nprotocol M(role c, role s) { do Lib.Part(c, s); }\n";
    fs::write(&main, text).unwrap();
    let mut client = Client::start();
    let root = format!("file://{}", folder.0.display());
    let folders = json!([{ "uri": root, "name": "w" }]);
    let params =
        json!({ "processId": null, "rootUri": null, "capabilities": {}, "workspaceFolders": folders });
    client.ask("initialize", params);
    client.notify("initialized", json!({}));
    let uri = format!("file://{}", main.display());
    client.open(&uri, text);
    assert_eq!(client.diagnostics(1), json!([]));
    let params = json!({ "textDocument": { "uri": uri }, "position": { "line": 2, "character": 38 }, "newName": "Piece" });
    // The folder is read in the background.
    let mut renamed = Value::Null;
    for _ in 0..50 {
        renamed = client.ask("textDocument/rename", params.clone());
        if renamed["result"].is_object() {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(renamed["result"]["changes"].as_object().unwrap().len(), 2, "{renamed}");
    client.end();
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn messages_that_are_none_are_answered_or_end_the_connection() {
    let mut client = Client::start();
    client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    client.notify("initialized", json!({}));
    for text in ["hello", "{\"id\": 1, ", "[]", "\u{0}"] {
        write!(client.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        client.input.flush().unwrap();
        assert_eq!(client.receive()["error"]["code"], -32700, "{text}");
    }
    // What follows is understood.
    assert_eq!(client.ask("textDocument/hover", at(0, 0))["result"], Value::Null);
    assert_eq!(client.ask("no/such", Value::Null)["error"]["code"], -32601);
    write!(client.input, "Content-Length: 99999999999999\r\n\r\n").unwrap();
    client.input.flush().unwrap();
    assert_eq!(client.child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_client_that_just_leaves_is_an_error() {
    let mut client = Client::start();
    client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    client.notify("initialized", json!({}));
    client.notify("exit", Value::Null);
    assert_eq!(client.child.wait().unwrap().code(), Some(2));
}
