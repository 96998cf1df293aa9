//! Problems as tools of continuous integration read them: results of SARIF 2.1.0, and annotations of GitHub's workflows.

use std::fmt::Write as _;

use referee::view::witness::Place;
use referee::{Analysed, Severity};
use serde_json::{Value, json};

use super::Answers;
use super::compatibility::{Finding, Level};
use crate::output::sarif;

/// The problems of one file.
pub(super) struct FileFindings {
    file: String,
    findings: Vec<Finding>,
}

impl FileFindings {
    pub(super) fn of(read: &Analysed, answers: &Answers) -> Self {
        let source = read.source();
        let diagnostics = read.analysis().diagnostics.iter().map(|found| {
            let (start, end) = (source.position(found.span.start), source.position(found.span.end));
            // What is wrong in an imported file is told with its place, for this file has none.
            let own = source.file(found.span.start).start == 0;
            let elsewhere =
                if own { String::new() } else { format!("{}: ", source.location(found.span.start)) };
            let (line, column) = (start.line, start.column);
            let help = found.help.as_deref().map_or(String::new(), |help| format!(". {help}"));
            Finding {
                level: match found.code.severity {
                    Severity::Error => Level::Error,
                    Severity::Warning => Level::Warning,
                    Severity::Note => Level::Note,
                },
                rule: found.code.id.to_owned(),
                message: format!("{elsewhere}{}{help}", found.message),
                place: own.then_some(Place {
                    file: None,
                    line,
                    column,
                    end_line: end.line,
                    end_column: end.column,
                }),
                steps: Vec::new(),
            }
        });
        let findings = diagnostics.chain(answers.findings()).collect();
        Self { file: read.source().name().to_owned(), findings }
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

/// The results of SARIF about all files.
pub(super) fn results(files: &[FileFindings]) -> Vec<Value> {
    files.iter().flat_map(|file| file.findings.iter().map(|finding| result(&file.file, finding))).collect()
}

fn result(file: &str, finding: &Finding) -> Value {
    let location = |place: Option<&Place>| {
        let file = place.and_then(|place| place.file.as_deref()).unwrap_or(file);
        let mut physical = json!({"artifactLocation": sarif::artifact_location(file)});
        if let Some(place) = place {
            physical["region"] = json!({
                "startLine": place.line, "startColumn": place.column,
                "endLine": place.end_line, "endColumn": place.end_column,
            });
        }
        physical
    };
    let mut value = json!({
        "ruleId": finding.rule,
        "level": level_name(finding.level),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location(finding.place.as_ref())}],
    });
    if !finding.steps.is_empty() {
        let step = |(text, place): &(String, Place)| json!({"location": {"physicalLocation": location(Some(place)), "message": {"text": text}}});
        let steps: Vec<Value> = finding.steps.iter().map(step).collect();
        value["codeFlows"] = json!([{"threadFlows": [{"locations": steps}]}]);
    }
    value
}

/// One line per problem, as a workflow command.
pub(super) fn annotations(files: &[FileFindings]) -> String {
    let mut text = String::new();
    for FileFindings { file, findings } in files {
        for finding in findings {
            let command = if finding.level == Level::Note { "notice" } else { level_name(finding.level) };
            let file = finding.place.as_ref().and_then(|place| place.file.as_deref()).unwrap_or(file);
            let place = finding.place.as_ref().map_or(String::new(), |place| {
                let Place { line, column, end_line, end_column, .. } = place;
                format!(",line={line},col={column},endLine={end_line},endColumn={end_column}")
            });
            let _ = writeln!(
                text,
                "::{command} file={}{place},title={}::{}",
                escaped(file, true),
                escaped(&finding.rule, true),
                escaped(&finding.message, false)
            );
        }
    }
    text
}

/// As workflow commands have it: in the values of keys, `:` and `,` mean something, too.
fn escaped(text: &str, is_key: bool) -> String {
    let mut escaped = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if is_key {
        escaped = escaped.replace(':', "%3A").replace(',', "%2C");
    }
    escaped
}
