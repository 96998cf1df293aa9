//! Participants, well-formedness and relative types of RelaMon's global types equal the corpus's answers, up
//! to renaming of recursion variables, of payload types as in the documentation, and the order of branches.

use std::fmt::Write as _;

use referee_syntax::{Content, Language};
use referee_theory::GlobalType;
use referee_theory::relative::RelativeType;
use serde_json::Value;

use crate::support::{corpus, parse, read, said};

#[test]
fn relative_types_equal_those_of_the_corpus() {
    let Some(corpus) = corpus() else { return };
    let expected = read(&corpus.join("gt/expected.json"));
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    let mut compared = 0;
    for (name, answer) in expected.as_object().expect("an object") {
        let (path, language) = match (name.strip_prefix("gt/"), name.strip_prefix("Protocols/")) {
            (Some(rest), _) if !rest.contains('(') => (format!("gt/{rest}.gt"), Language::Gt),
            (_, Some(rest)) => (format!("gt/json/{rest}.json"), Language::GtJson),
            // Answers whose texts are not in the corpus.
            _ => continue,
        };
        if answer.get("global_type").is_none() {
            assert_eq!(name, "gt/19.go-fish", "the only text without an answer");
            continue;
        }
        let text = read(&corpus.join(path));
        let document = parse(language, &text).expect("one of our languages");
        let Content::Global(protocols) = &document.content else { panic!("{name} is global") };
        let Some(global) = &protocols[0].global else { panic!("{name}:\n{}", said(&document)) };
        compare(name, global, answer);
        compared += 1;
    }
    assert!(compared >= 25, "only {compared} global types compared");
}

fn compare(name: &str, global: &GlobalType, answer: &Value) {
    let vocabulary = global.vocabulary();
    let participants: Vec<&str> = global.participants().iter().map(|&r| vocabulary.role_name(r)).collect();
    let expected: Vec<&str> =
        answer["participants"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(participants, expected, "{name}");
    let well_formed = answer["well_formed"].as_bool().expect("a boolean");
    assert_eq!(global.relative_all().is_ok(), well_formed, "{name}");
    let types = answer["relative_types"].as_object().expect("an object");
    let roles = global.participants();
    for (i, &p) in roles.iter().enumerate() {
        for &q in &roles[i + 1..] {
            let pair = format!("{},{}", vocabulary.role_name(p), vocabulary.role_name(q));
            let relative = global.relative(p, q);
            match (types.get(&pair).and_then(Value::as_str), relative) {
                (Some(expected), Ok(relative)) => {
                    let found = relative.to_text();
                    assert_eq!(normalised(&found), normalised(expected), "{name} ({pair}): {found}");
                    assert_levels(&relative);
                }
                (None, Err(_)) => {}
                (expected, relative) => {
                    panic!(
                        "{name} ({pair}): expected {expected:?}, found {:?}",
                        relative.map(|r| r.to_text())
                    );
                }
            }
        }
    }
}

fn assert_levels(relative: &RelativeType) {
    assert!(!relative.to_text().contains('…'));
}

/// The type `text` with payload types under Referee's names, recursion variables numbered by depth, and the
/// branches of each choice in alphabetical order.
fn normalised(text: &str) -> String {
    let compact: String = text.replace("mu ", "mu:").split_whitespace().collect();
    let mut reader = Reader { rest: &compact, variables: Vec::new() };
    let out = reader.relative();
    assert!(reader.rest.is_empty(), "left over in `{text}`: `{}`", reader.rest);
    out
}

struct Reader<'a> {
    rest: &'a str,
    variables: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && !"_'".contains(c));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn up_to(&mut self, end: char) -> &'a str {
        let (before, rest) = self.rest.split_once(end).expect("a delimiter");
        self.rest = rest;
        before
    }

    fn relative(&mut self) -> String {
        if self.take("mu:") {
            let name = self.up_to('.');
            self.variables.push(name);
            let body = self.relative();
            self.variables.pop();
            return format!("mu.{body}");
        }
        let mut head = String::new();
        if self.rest.starts_with('(') {
            let _ = write!(head, "{})", self.up_to(')'));
        } else {
            let name = self.word();
            if !self.rest.starts_with('!') {
                return match self.variables.iter().rev().position(|variable| *variable == name) {
                    Some(depth) => format!("#{depth}"),
                    None => name.to_string(),
                };
            }
            head.push_str(name);
        }
        let _ = write!(head, "{}{{", self.up_to('{'));
        let mut branches = Vec::new();
        loop {
            let label = self.word();
            let payload = if self.take("<") { self.payload() } else { String::new() };
            assert!(self.take("."), "expected a point before `{}`", self.rest);
            branches.push(format!("{label}{payload}.{}", self.relative()));
            if !self.take(",") {
                assert!(self.take("}"), "expected `}}` before `{}`", self.rest);
                break;
            }
        }
        branches.sort();
        format!("{head}{}}}", branches.join(","))
    }

    /// After `<`: the types up to the `>` that belongs to it, under Referee's names.
    fn payload(&mut self) -> String {
        let mut out = String::from("<");
        let mut depth = 1;
        while depth > 0 {
            out.push_str(match self.word() {
                "str" => "string",
                "long" | "nat" => "int",
                "real" => "float",
                "array" => "list",
                other => other,
            });
            let mark = self.rest.chars().next().expect("a closing bracket");
            self.rest = &self.rest[mark.len_utf8()..];
            match mark {
                '<' | '[' => depth += 1,
                '>' | ']' => depth -= 1,
                _ => {}
            }
            out.push(match mark {
                '[' => '<',
                ']' => '>',
                other => other,
            });
        }
        out
    }
}
