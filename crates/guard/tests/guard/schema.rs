//! The published JSON Schema says what the program says: of every configuration that is shipped or shown, and of mistakes.

use std::path::Path;

use boon::{Compiler, Schemas};
use referee_guard::config::Config;
use serde_json::Value;

const SMALLEST: &str =
    "[[listener]]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:25\"\nprotocol = \"a.scr\"\n";

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the schema has against `text`.
fn schema_says(text: &str) -> Result<(), String> {
    let value: Value = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.add_resource("guard.json", Config::schema()).unwrap();
    let index = compiler.compile("guard.json", &mut schemas).unwrap();
    schemas.validate(&value, index).map_err(|error| format!("{error:#}"))
}

fn program_says(text: &str) -> Result<(), String> {
    let config = Config::read(text, &|_| Some("127.0.0.1:1".to_owned()));
    config.map(drop).map_err(|problems| format!("{problems:?}"))
}

#[track_caller]
fn right(text: &str) {
    program_says(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    schema_says(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
}

/// The blocks of `language` in a document.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let parts = document.split(start.as_str()).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The tables of a codec as part of a listener.
fn with_codec(table: &str) -> String {
    let lines = table.lines().map(|line| match line.strip_prefix('[') {
        Some(name) => format!("[listener.codec.{name}\n"),
        None => format!("{line}\n"),
    });
    format!("{SMALLEST}[listener.codec]\n{}", lines.collect::<String>())
}

#[test]
fn everything_that_is_shipped_or_shown_is_right() {
    let mut seen = 0;
    for block in blocks(&file("docs/guard.md"), "toml") {
        // Some show a part only.
        let whole = if block.contains("[[listener]]") {
            block
        } else if block.contains("[listener.") {
            format!("{SMALLEST}{block}")
        } else {
            format!("{block}\n{SMALLEST}")
        };
        right(&whole);
        seen += 1;
    }
    for block in blocks(&file("docs/multiparty.md"), "toml") {
        let role = "[[multiparty.role]]\nname = \"a\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n";
        right(&match (block.contains("[multiparty]"), block.contains("[[multiparty.role]]")) {
            (true, true) => block,
            (true, false) => format!("{block}{role}"),
            (false, _) => format!("[multiparty]\nprotocol = \"a.scr\"\n{block}"),
        });
        seen += 1;
    }
    for block in blocks(&file("docs/codecs.md"), "toml") {
        right(&with_codec(&block));
        seen += 1;
    }
    for preset in referee_wire::preset::ALL {
        right(&with_codec(preset.table));
        seen += 1;
    }
    right(&file("crates/referee/src/command/demo/guard.toml"));
    let kubernetes = file("deploy/kubernetes.yaml");
    let block = kubernetes.split("guard.toml: |\n").nth(1).unwrap().split("---").next().unwrap();
    right(&block.lines().map(|line| format!("{}\n", line.trim_start())).collect::<String>());
    assert!(seen >= 14, "{seen} configurations");
}

#[test]
fn variables_may_stand_for_what_is_chosen() {
    let choices = "listen = \"${A}\"\npolicy = \"${B}\"\nproxy-out = \"${C}\"";
    schema_says(&SMALLEST.replace("listen = \"127.0.0.1:0\"", choices)).unwrap();
}

#[test]
fn both_refuse_the_same_mistakes() {
    let listener = |line: &str| format!("{SMALLEST}{line}\n");
    let codec = |lines: &str| format!("{SMALLEST}[listener.codec]\n{lines}\n");
    let role = |line: &str| {
        let role = "[[multiparty.role]]\nname = \"a\"\ncodec.kind = \"websocket\"\n";
        format!("[multiparty]\nprotocol = \"a.scr\"\n{role}{line}\n")
    };
    right(&role("listen = \"127.0.0.1:0\"\ntls = { certificate = \"a\", key = \"b\", client-ca = \"c\" }"));
    let mistakes = [
        role("listen = \"nowhere\""),
        role("upstream = 7"),
        role("path = 7"),
        role("tls = { certificate = \"a\" }"),
        role("tls = { certificate = \"a\", key = \"b\", ca = \"c\" }"),
        role("upstream-tls = { client-ca = \"c\" }"),
        role("codec.carries = \"xml\""),
        "threads = 4\n".to_owned(),
        format!("threads = \"many\"\n{SMALLEST}"),
        format!("thread = 4\n{SMALLEST}"),
        format!("drain = \"soon\"\n{SMALLEST}"),
        format!("[log]\nformat = \"xml\"\n{SMALLEST}"),
        format!("[journal]\nfsync = \"always\"\n{SMALLEST}"),
        format!("[journal]\nfolder = \"x\"\nkeep = -1\n{SMALLEST}"),
        format!("[admin]\nlisten = \"9900\"\n{SMALLEST}"),
        SMALLEST.replace("protocol = \"a.scr\"\n", ""),
        SMALLEST.replace("listen = \"127.0.0.1:0\"\n", ""),
        SMALLEST.replace("upstream = \"127.0.0.1:25\"", "upstream = \"nowhere\""),
        SMALLEST.replace("upstream = \"127.0.0.1:25\"", "upstream = 25"),
        listener("polcy = \"halt\""),
        listener("policy = \"stop\""),
        listener("pipelining = true"),
        listener("scrutiny = \"all\""),
        listener("allow = [\"everyone\"]"),
        listener("redact = \"pwd\""),
        listener("functions = 7"),
        listener("limits.message = \"1 furlong\""),
        listener("limits.idle = \"soon\""),
        listener("limits.connection = 5"),
        listener("close-message = \"bye\""),
        listener("tls.certificate = \"a.pem\""),
        listener("tls = { certificate = \"a\", key = \"b\", ca = \"c\" }"),
        codec("messages.A = \"A\""),
        codec("kind = \"telnet\""),
        codec("kind = \"text\"\nmessages.A = 7"),
        codec("kind = \"text\"\nmessages.A = { patern = \"A\" }"),
        codec("kind = \"text\"\nmessages.A = { block = \"comma\" }"),
        codec("kind = \"text\"\nline-end = \"cr\""),
        codec("kind = \"json\"\nframing = \"length-12\""),
        codec("kind = \"frames\"\ntag = { at = 0, bytes = 3 }"),
        codec("kind = \"frames\"\nlength = { at = 0 }"),
        codec("kind = \"text\"\nleave.client = \"sometimes\""),
    ];
    for mistake in &mistakes {
        assert!(program_says(mistake).is_err(), "the program takes\n{mistake}");
        assert!(schema_says(mistake).is_err(), "the schema takes\n{mistake}");
    }
}

/// What the program finds out when it makes a plan of a table, the schema knows too.
#[test]
fn keys_of_other_kinds_are_refused_by_both() {
    let folder = super::support::Folder::new();
    let codec = |lines: &str| {
        let text = super::support::config("127.0.0.1:1", "", "");
        let table = text.find("[listener.codec]").unwrap();
        format!("{}[listener.codec]\n{lines}\n", &text[..table])
    };
    for lines in [
        "kind = \"text\"\nframing = \"lines\"",
        "kind = \"json\"\nmultiline = \"server\"",
        "kind = \"text\"\nsession = \"cookie:sid\"",
        "kind = \"http\"\ntag = { bytes = 1 }",
        "kind = \"text\"\ncarries = \"json\"",
        "kind = \"http\"\nmessages.Get = { regex = \"GET\" }",
        "kind = \"json\"\nmessages.Get = { block = \"dot\" }",
        "kind = \"text\"\nmessages.Get = { pattern = \"GET {key}\", tag = 7 }",
        "kind = \"http\"\nmessages.Get = { pattern = \"GET /\", then = \"transparent\" }",
    ] {
        let text = codec(lines);
        let Err(refusal) = referee_guard::Plans::read(&text, &folder.0, &|_| None) else { panic!("{text}") };
        let foreign = refusal.problems.iter().find(|problem| problem.message.contains("not for codecs"));
        assert!(!foreign.unwrap_or_else(|| panic!("{refusal:?}")).span.is_empty());
        assert!(schema_says(&text).is_err(), "the schema takes\n{text}");
    }
}
