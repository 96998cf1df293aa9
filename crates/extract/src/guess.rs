//! A first source file for a log that nobody has described yet.

use std::sync::Arc;

use crate::members::{Members, Room, document, members, of_object};
use crate::names::Names;
use crate::shape::{Shapes, fold};
use crate::source::{Format, Source};
use crate::{Extracted, Extractor};

/// How many kinds of lines become events.
const MAX_EVENTS: usize = 12;

/// A source file for these lines: their format, and an `[[event]]` for each frequent kind of line. It is meant to be edited:
/// only a reader of the log knows who sends what.
pub fn guess<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    let format = format_of(&lines);
    let mut text = match format {
        Format::Json | Format::Csv | Format::Otlp => "format = \"json\"\n".to_owned(),
        Format::Logfmt => "format = \"logfmt\"\n".to_owned(),
        Format::Syslog => "format = \"syslog\"\nsession = \"{pid}\"\n".to_owned(),
        Format::Regex => "format = \"regex\"\n".to_owned(),
    };
    text += "# Who sends, and what a session is, must be said: names of members in braces.\nfrom = \"client\"\nto = \"server\"\n";
    let mut shapes = Shapes::default();
    let subjects: Vec<String> = lines.iter().map(|line| subject(format, line)).collect();
    subjects.iter().for_each(|subject| shapes.count(subject));
    for (number, (shape, count, line)) in shapes.ranked().0.iter().take(MAX_EVENTS).enumerate() {
        let label = label(shape).unwrap_or_else(|| format!("Event{}", number + 1));
        text += &format!("\n# {count} lines like: {}\n[[event]]\n", line.replace(['\n', '\r'], " "));
        text += &match format {
            Format::Syslog | Format::Regex => format!("match = {}\n", quoted(&pattern(line))),
            _ => format!("match = {{ msg = {} }}\n", quoted(&pattern(line))),
        };
        text += &format!("label = \"{label}\"\n");
    }
    text
}

/// The format that most of the lines have.
fn format_of(lines: &[&str]) -> Format {
    let share = |format: &str| {
        let rule = format!("format = \"{format}\"\nfrom = \"a\"\n[[event]]\nlabel = \"A\"\n");
        let Ok(source) = Source::parse(&rule) else { return 0 };
        let mut extractor = Extractor::new(Arc::new(source), 0);
        let is = |line: &&&str| {
            let mut is_event = false;
            extractor.events(line, &mut |extracted, _| is_event |= matches!(extracted, Extracted::Event(_)));
            is_event
        };
        lines.iter().filter(is).count()
    };
    let most = |format: &str| 2 * share(format) > lines.len();
    match () {
        () if most("json") => Format::Json,
        () if most("syslog") => Format::Syslog,
        () if most("logfmt") => Format::Logfmt,
        () => Format::Regex,
    }
}

/// The part of the line that says what happened.
fn subject(format: Format, line: &str) -> String {
    let mut names = Names::default();
    let said: Vec<usize> = match format {
        Format::Syslog | Format::Regex => Vec::new(),
        _ => ["msg", "message", "event"].iter().map(|name| names.number(name)).collect(),
    };
    let document = if format == Format::Json { document(line) } else { None };
    let mut found = Members::new(&names, Room::new());
    let subject = match document.as_ref().map(|document| document.as_object()) {
        Some(Some(object)) => {
            of_object(object, &mut found);
            Some(line)
        }
        Some(None) => None,
        None => members(format, None, line, &mut found, &mut []),
    };
    said.iter().find_map(|number| found.get(*number)).or(subject).unwrap_or(line).to_owned()
}

/// The first two words, in capitals: `Failed password for …` is `FailedPassword`.
fn label(shape: &str) -> Option<String> {
    let words = shape.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 1);
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>())
    };
    let label: String = words.take(2).filter_map(capital).collect();
    (!label.is_empty()).then_some(label)
}

/// A regular expression for lines like this one: numbers are groups, `n1` first.
fn pattern(line: &str) -> String {
    let mut out = String::from("^");
    let mut number = 0;
    let mut rest = line.trim_end_matches('…');
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if word == 0 {
            if "\\.+*?()|[]{}^$".contains(first) {
                out.push('\\');
            }
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (text, after) = rest.split_at(word);
        rest = after;
        if fold(text) == text {
            out.push_str(text);
        } else {
            number += 1;
            out += &format!("(?P<n{number}>\\w+)");
        }
    }
    out
}

/// `text` as a string of TOML.
fn quoted(text: &str) -> String {
    match text.contains(['\'', '\n', '\r']) || text.contains(char::is_control) {
        false => format!("'{text}'"),
        true => {
            let escaped: String = text
                .chars()
                .flat_map(|c| match c {
                    '"' | '\\' => vec!['\\', c],
                    c if c.is_control() => format!("\\u{:04X}", u32::from(c)).chars().collect(),
                    c => vec![c],
                })
                .collect();
            format!("\"{escaped}\"")
        }
    }
}
