//! What a configuration is told before anything runs.

use referee_guard::Plans;

use super::support::*;

fn problems(folder: &Folder, text: &str) -> Vec<String> {
    match Plans::read(text, &folder.0, &|_| None) {
        Ok(_) => Vec::new(),
        Err(refusal) => refusal.problems.into_iter().map(|problem| problem.message).collect(),
    }
}

fn warnings(folder: &Folder, text: &str) -> Vec<String> {
    let warnings = plans(folder, text).warnings();
    warnings.into_iter().map(|problem| problem.message).collect()
}

#[test]
fn old_names_are_read_with_a_warning() {
    let folder = Folder::new();
    let text = config("127.0.0.1:1", "farewell = { client = \"bye\" }", "");
    assert_eq!(warnings(&folder, &text), ["`farewell` is called `close-message` now"]);
    assert!(warnings(&folder, &text.replace("farewell", "close-message")).is_empty());
    let both = config("127.0.0.1:1", "farewell = { client = \"a\" }\nclose-message = { client = \"b\" }", "");
    assert_eq!(
        problems(&folder, &both),
        ["`farewell` is the old name of `close-message`, which is here as well"]
    );
    let role = |name: &str, key: &str| {
        format!(
            "[[multiparty.role]]\nname = \"{name}\"\n{key} = \"127.0.0.1:0\"\nviolation = \"{{json}}\"\n\
             codec = {{ kind = \"json\" }}\n"
        )
    };
    let network = format!(
        "[multiparty]\nprotocol = \"protocol P(role a, role b) {{ M() from a to b; }}\"\n{}{}",
        role("a", "listen"),
        role("b", "connect").replace("127.0.0.1:0", "127.0.0.1:7")
    );
    assert_eq!(
        warnings(&folder, &network),
        [
            "`violation` is called `close-message` now",
            "`connect` is called `upstream` now",
            "`violation` is called `close-message` now",
        ]
    );
}

/// Protocols import modules as `check` finds them: beside the file, and below `import-path`. Mistakes are told in the file where they are.
#[test]
fn protocols_import_modules() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        let path = folder.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("app/Main.scr", "module app.Main; import app.Ask; import ext.Answer;
        protocol P(role client, role server) { do Ask.Ask(client, server); do Answer.Answer(client, server); }");
    write("app/Ask.scr", "module app.Ask; aux protocol Ask(role c, role s) { Ask(n: int) from c to s; }");
    write(
        "lib/ext/Answer.scr",
        "module ext.Answer; aux protocol Answer(role c, role s) { Answer() from s to c; }",
    );
    let listener = "[[listener]]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n\
                    protocol = \"app/Main.scr\"\ncodec = { kind = \"json\" }\n";
    let with_path = format!("{listener}import-path = [\"lib\"]\n");
    assert!(plans(&folder, &with_path).in_words()[0].contains("both parts of protocol P checked"));
    let network = |path: &str| {
        let role = |name: &str, key: &str| {
            format!("[[multiparty.role]]\nname = \"{name}\"\n{key}\ncodec = {{ kind = \"json\" }}\n")
        };
        let first = role("client", "listen = \"127.0.0.1:0\"");
        let second = role("server", "upstream = \"127.0.0.1:7\"");
        format!("[multiparty]\nprotocol = \"app/Main.scr\"\n{path}{first}{second}")
    };
    assert_eq!(problems(&folder, &network("import-path = [\"lib\"]\n")), Vec::<String>::new());
    for text in [listener.to_owned(), network("")] {
        let refusal = Plans::read(&text, &folder.0, &|_| None).err().unwrap();
        assert_eq!(refusal.protocols[0].1[0].code.id, "RF0120", "{text}");
    }
    write("app/Ask.scr", "module app.Ask; aux protocol Ask(role c, role s) { Ask(n: int) from c to s }");
    for text in [with_path, network("import-path = [\"lib\"]\n")] {
        let refusal = Plans::read(&text, &folder.0, &|_| None).err().unwrap();
        let (source, diagnostics) = &refusal.protocols[0];
        assert!(source.location(diagnostics[0].span.start).contains("Ask.scr:1:"), "{text}");
    }
}

#[test]
fn a_protocol_of_one_line_is_no_file() {
    let folder = Folder::new();
    let text = "[[listener]]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\n\
                protocol = \"protocol P(role client, role server) { M() from client to server; }\"\n\
                codec = { kind = \"json\" }\n";
    let words = plans(&folder, text).in_words().remove(0);
    assert!(words.contains("both parts of protocol P checked"), "{words}");
}

#[test]
fn a_journal_that_cannot_be_written_is_refused() {
    let folder = Folder::new();
    let text = |journal: &str| config("127.0.0.1:1", "", &format!("[journal]\nfolder = \"{journal}\"\n"));
    assert!(problems(&folder, &text("new/journal")).is_empty());
    for journal in ["talk.scr", "talk.scr/journal"] {
        let problems = problems(&folder, &text(journal));
        assert!(problems.len() == 1 && problems[0].contains("is a file"), "{problems:?}");
    }
}

#[test]
fn who_may_send_before_its_turn_is_said() {
    let folder = Folder::new();
    let words = |extra: &str| plans(&folder, &config("127.0.0.1:1", extra, "")).in_words().remove(0);
    assert!(words("").ends_with("; client may send before its turn (pipelining)"));
    assert!(words("pipelining = \"none\"").ends_with("; nobody may send before its turn"));
    assert!(words("pipelining = \"both\"").ends_with("; both may send before their turn (pipelining)"));
}

#[test]
fn too_few_descriptors_are_mentioned() {
    let folder = Folder::new();
    let text = config("127.0.0.1:1", "limits = { connections = 1000000000 }", "");
    let warnings = plans(&folder, &text).warnings();
    assert!(warnings.iter().any(|warning| warning.message.contains("RLIMIT_NOFILE")), "{warnings:?}");
    // The default is no more than there is room for, and nobody need be told.
    let plans = plans(&folder, &config("127.0.0.1:1", "", ""));
    assert!(plans.warnings().is_empty(), "{:?}", plans.warnings());
    let connections = plans.config().listeners[0].get_ref().limits.connections;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    assert!(connections > 0 && (connections * 2) as u64 <= limit.max(2), "{connections} of {limit}");
}

#[test]
fn one_session_is_shown_in_detail() {
    let setup = guard(&polite_server(), "redact = [\"key\"]");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET secret 1\r\n");
    client.hear("OK\r\n");
    client.say("GE");
    setup.wait("two bytes", |setup| {
        setup.guard.session("1").is_some_and(|it| it["queues"][0]["undecided_bytes"] == 2)
    });
    let session = setup.guard.session("1").unwrap();
    assert_eq!(session["awaits"][0], "client");
    assert_eq!(session["directions"][1]["state"], "between-messages");
    assert_eq!(session["recent"][1], "client: Set(redacted, 1)");
    assert!(session["idle_milliseconds"].as_u64() <= session["milliseconds"].as_u64());
    assert!(setup.guard.session("2").is_none() && setup.guard.session("x").is_none());
}

#[test]
fn what_times_are_not_judged_is_said() {
    let folder = Folder::new();
    let path = folder.0.join("talk.scr");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(warnings(&folder, &config("127.0.0.1:1", "deadlines = \"report\"\n", "")).is_empty());
    let told = warnings(&folder, &config("127.0.0.1:1", "deadlines = \"enforce\"\n", ""));
    assert!(told.len() == 1 && told[0].contains("has no times"), "{told:?}");
    std::fs::write(&path, text.replacen(';', " within 5s;", 1)).unwrap();
    assert!(warnings(&folder, &config("127.0.0.1:1", "deadlines = \"enforce\"\n", "")).is_empty());
}

#[test]
fn a_role_whose_times_are_not_judged_says_so() {
    let folder = Folder::new();
    let role = |name: &str, key: &str, port: u16| {
        format!(
            "[[multiparty.role]]\nname = \"{name}\"\n{key} = \"127.0.0.1:{port}\"\ncodec = {{ kind = \"json\" }}\n"
        )
    };
    let network = |times: &str, deadlines: &str| {
        format!(
            "[multiparty]\nprotocol = \"protocol P(role a, role b) {{ M() from a to b; N() from b to a {times}; }}\"\n{}{deadlines}{}",
            role("a", "listen", 0),
            role("b", "upstream", 7)
        )
    };
    assert!(warnings(&folder, &network("within 5s", "")).is_empty());
    let told = warnings(&folder, &network("", "deadlines = \"enforce\"\n"));
    assert!(told.len() == 1 && told[0].contains("has no times"), "{told:?}");
}
