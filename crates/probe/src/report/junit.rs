//! A report as JUnit XML: one test case for each transition, one for the protocol as a whole, one for each wrong message.

use std::fmt::Write as _;

use super::Report;
use crate::mutation::Reaction;

impl Report {
    /// This report as JUnit XML; `name` is what was probed.
    #[must_use]
    pub fn to_junit(&self, name: &str) -> String {
        let mut cases = Cases::default();
        let finding = self.finding.as_ref();
        let failure = finding.map(|finding| {
            let trace: Vec<&str> = finding.trace.iter().map(String::as_str).collect();
            (finding.verdict.message.clone(), trace.join("\n"))
        });
        cases.add(
            "protocol",
            "conformance",
            failure.map(|(message, trace)| Outcome::Failure(message, trace)),
        );
        for taken in &self.taken {
            cases.add(&taken.state, &taken.message, None);
        }
        for missing in &self.uncovered {
            cases.add(&missing.state, &missing.message, Some(Outcome::Skipped(missing.reason.clone())));
        }
        for outcome in &self.mutations {
            let problem = match &outcome.reaction {
                Reaction::Refused(_) | Reaction::Closed => None,
                Reaction::Accepted(answer) => Some(Outcome::Failure(
                    format!("answered with {answer}, which is no refusal"),
                    String::new(),
                )),
                Reaction::Ignored => Some(Outcome::Skipped("no answer".to_owned())),
                Reaction::Unknown(answer) => Some(Outcome::Skipped(format!("answered with {answer}"))),
            };
            cases.add(&outcome.state, &format!("wrong: {}", outcome.wrong), problem);
        }
        for reason in &self.not_judged {
            cases.add("protocol", "judged", Some(Outcome::Skipped(reason.clone())));
        }
        let Cases { text, count, failures, skipped } = cases;
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites><testsuite name=\"{}\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n\
             {text}</testsuite></testsuites>\n",
            escaped(name)
        )
    }
}

/// What became of a test case that did not pass.
enum Outcome {
    Failure(String, String),
    Skipped(String),
}

#[derive(Default)]
struct Cases {
    text: String,
    count: usize,
    failures: usize,
    skipped: usize,
}

impl Cases {
    fn add(&mut self, class: &str, name: &str, outcome: Option<Outcome>) {
        self.count += 1;
        let head = format!("<testcase classname=\"{}\" name=\"{}\"", escaped(class), escaped(name));
        let _ = match outcome {
            None => writeln!(self.text, "{head}/>"),
            Some(Outcome::Failure(message, text)) => {
                self.failures += 1;
                let (message, text) = (escaped(&message), escaped(&text));
                writeln!(self.text, "{head}><failure message=\"{message}\">{text}</failure></testcase>")
            }
            Some(Outcome::Skipped(message)) => {
                self.skipped += 1;
                writeln!(self.text, "{head}><skipped message=\"{}\"/></testcase>", escaped(&message))
            }
        };
    }
}

/// `text` where XML expects text or the value of an attribute. What XML cannot say at all becomes a replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other if other.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_leaves_its_attribute() {
        assert_eq!(escaped("a\"b<c>&\u{0}\r\n"), "a&quot;b&lt;c&gt;&amp;\u{fffd}\u{fffd}&#10;");
    }
}
