//! `docs/tutorial.md`, step by step as it is written.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Folder, Process, connect};

/// The fenced blocks of the tutorial: what stands behind the fence, and the text.
fn blocks() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let text = fs::read_to_string(path).unwrap();
    let fenced = text.split("```").skip(1).step_by(2);
    fenced
        .map(|block| block.split_once('\n').unwrap())
        .map(|(kind, text)| (kind.into(), text.into()))
        .collect()
}

fn referee(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_referee")).args(arguments).current_dir(folder).output().unwrap()
}

/// Plays a conversation: `>` is typed by a role's component, `<` is seen by it.
fn play(guard: &Process, conversation: &str) {
    let mut components: BTreeMap<&str, BufReader<TcpStream>> = ["Customer", "Shop", "Payment"]
        .map(|role| (role, connect(&guard.address(&format!("Order/{role} listens on")))))
        .map(|(role, stream)| (role, BufReader::new(stream)))
        .into();
    for line in conversation.lines() {
        let mut words = line.splitn(3, ' ').filter(|word| !word.is_empty());
        let component = components.get_mut(words.next().unwrap()).unwrap();
        let rest = words.collect::<Vec<_>>().join(" ");
        let (direction, message) = rest.trim_start().split_once(' ').unwrap();
        if direction == ">" {
            component.get_mut().write_all(format!("{message}\n").as_bytes()).unwrap();
            continue;
        }
        assert_eq!(direction, "<", "{line}");
        let mut seen = String::new();
        component.read_line(&mut seen).unwrap();
        assert!(seen.contains(message), "{line}: {seen}");
    }
}

#[test]
fn the_tutorial_runs_as_written() {
    let folder = Folder::new();
    let blocks = blocks();
    for (name, text) in blocks.iter().filter_map(|(kind, text)| Some((kind.split_once(' ')?.1, text))) {
        // Ports of its own, so that nothing else is in the way.
        let text =
            [":9101", ":9102", ":9103"].iter().fold(text.clone(), |text, port| text.replace(port, ":0"));
        fs::write(folder.0.join(name), text).unwrap();
    }

    let checked = referee(&folder.0, &["check", "order.scr"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let said = String::from_utf8(checked.stdout).unwrap();
    assert!(said.contains("amount == price — checked at Shop\n"), "{said}");
    let correct = fs::read_to_string(folder.0.join("order.scr")).unwrap();
    let same = correct.replace("Sorry()", "Shipped(item: string)");
    let silent = correct.replace("    Sorry() from Shop to Customer;\n", "");
    for (text, arguments, status) in
        [(&same, &["check"][..], 0), (&silent, &["check"], 2), (&silent, &["check", "--with-monitors"], 0)]
    {
        fs::write(folder.0.join("changed.scr"), text).unwrap();
        let checked = referee(&folder.0, &[arguments, &["changed.scr"]].concat());
        assert_eq!(checked.status.code(), Some(status), "{checked:?}");
        let said = String::from_utf8([checked.stdout, checked.stderr].concat()).unwrap();
        assert_eq!(said.contains("RF0401"), status == 2, "{said}");
    }

    for config in ["order.toml", "shop.toml"] {
        let checked = referee(&folder.0, &["guard", "--check-config", config]);
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    }
    let guard = Process::start(&folder.0.join("order.toml"), "");
    let conversations: Vec<_> = blocks.iter().filter(|(kind, _)| kind == "conversation").collect();
    assert_eq!(conversations.len(), 2);
    for (_, conversation) in conversations {
        play(&guard, conversation);
    }
    guard.wait_for("rule=\"order.scr:5:3\"");
}
