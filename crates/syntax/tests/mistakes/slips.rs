//! The commonest slips, each with the one error it gives and the lines that correct it: `slips.md`.

use std::fmt::Write as _;
use std::path::Path;

use referee_syntax::{Diagnostic, Language, Lines, parse};

/// A heading, a text in a fence, and what is said about it in another.
struct Case<'a> {
    title: &'a str,
    language: Language,
    text: &'a str,
    said: &'a str,
}

fn case(section: &str) -> Case<'_> {
    let (title, rest) = section.split_once("\n\n```").expect("a heading and a text");
    let (language, rest) = rest.split_once('\n').expect("a fence");
    let (text, rest) = rest.split_once("\n```\n\n```text\n").expect("a text and what is said");
    let (said, _) = rest.rsplit_once("```").expect("the end of a fence");
    Case { title, language: Language::from_name(language).expect("a language"), text, said }
}

/// What is said about `text`, as a person would read it.
fn rendered(text: &str, diagnostics: &[&Diagnostic]) -> String {
    let lines = Lines::new(text);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = lines.position(diagnostic.span.start);
        let line = text.lines().nth(place.line - 1).unwrap_or_default();
        let marked = text.get(diagnostic.span.range()).and_then(|at| at.lines().next()).unwrap_or_default();
        let marks = "^".repeat(marked.chars().count().max(1));
        let indent: String =
            line.chars().take(place.column - 1).map(|c| if c == '\t' { c } else { ' ' }).collect();
        let label = diagnostic.label.as_deref().unwrap_or_default();
        let _ = writeln!(out, "{}: {}", diagnostic.code.id, diagnostic.message);
        let _ = writeln!(out, "{:>3} | {line}", place.line);
        let _ = writeln!(out, "    | {indent}{marks} {label}");
        for (span, text) in &diagnostic.related {
            let _ = writeln!(out, "    = line {}: {text}", lines.position(span.start).line);
        }
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(out, "    = {help}");
        }
        if let Some(fix) = &diagnostic.fix {
            let mark = if fix.certain { '+' } else { '?' };
            for line in fix.corrected_lines(text).lines() {
                let _ = writeln!(out, "  {mark} | {line}");
            }
        }
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "golden files are read, and written when asked")]
fn every_slip_is_one_error_with_its_correction() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes/slips.md");
    let golden = std::fs::read_to_string(&path).expect("the golden file");
    let bless = std::env::var_os("REFEREE_BLESS").is_some();
    let mut sections = golden.split("\n## ");
    let mut new = sections.next().unwrap_or_default().to_string();
    let mut wrong = Vec::new();
    let mut count = 0;
    for section in sections {
        let Case { title, language, text, said } = case(section);
        let document = parse(text, language);
        let errors: Vec<&Diagnostic> = document.diagnostics.iter().filter(|d| d.is_error()).collect();
        let now = rendered(text, &errors);
        let _ = write!(new, "\n## {title}\n\n```{language}\n{text}\n```\n\n```text\n{now}```\n");
        count += 1;
        if errors.len() != 1 {
            wrong.push(format!("{title}: {} errors\n{now}", errors.len()));
        } else if errors[0].fix.is_none() && errors[0].help.is_none() {
            wrong.push(format!("{title}: no correction and no help\n{now}"));
        } else if now != said && !bless {
            wrong.push(format!("{title}: now\n{now}\ninstead of\n{said}"));
        }
        if let Some(fix) = &errors
            .first()
            .and_then(|error| error.fix.as_ref())
            .filter(|fix| fix.certain && errors.len() == 1)
        {
            let corrected = fix.apply(text);
            assert!(parse(&corrected, language).is_usable(), "{title}: certain, but wrong:\n{corrected}");
        }
    }
    if bless {
        std::fs::write(&path, new).expect("the golden file is written");
    }
    assert!(count >= 40, "{count} slips");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
