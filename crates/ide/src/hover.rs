//! What the name under the cursor is.

use std::fmt::Write as _;

use referee_pipeline::{Analysed, Content};
use referee_syntax::diagnostics::{self as codes};
use referee_syntax::document::GlobalProtocol;
use referee_syntax::lexemes::LexemeKind;
use referee_syntax::{Language, Span, print};
use referee_theory::{Machine, System, Vocabulary};

use crate::inlay::enforcers;
use crate::names::{NameKind, Occurrence};
use crate::navigation;
use crate::semantic::keywords;
use crate::signature;
use crate::workspace::{File, Workspace};

/// What is shown of the thing under the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// What it is about.
    pub span: Span,
    /// Markdown.
    pub markdown: String,
}

/// Longer local types are cut.
const MAX_LINES: usize = 24;

/// A local type of more parts is not printed.
const MAX_PARTS: usize = 2_000;

/// What is at byte `offset` of the file at `path`.
#[must_use]
pub fn hover(workspace: &Workspace, path: &str, offset: u32) -> Option<Hover> {
    let file = workspace.file(path)?;
    let mut markdown = String::new();
    let mut span = None;
    if let Some(occurrence) = file.index().at(offset) {
        span = Some(occurrence.span);
        describe(workspace, file, occurrence, &mut markdown);
    } else if let Some((word, text)) = keyword(file, offset) {
        span = Some(word);
        markdown.push_str(text);
    }
    if let Some(analysed) = workspace.analysed(path) {
        let here = analysed.diagnostics().iter();
        for found in here.filter(|found| found.span.start <= offset && offset <= found.span.end) {
            span = span.or(Some(found.span));
            if !markdown.is_empty() {
                markdown.push_str("\n\n---\n\n");
            }
            let _ =
                write!(markdown, "**{}** {}\n\n{}", found.code.id, found.code.title, explanation(found.code));
        }
    }
    Some(Hover { span: span?, markdown })
}

/// The first paragraph of what a code means.
fn explanation(code: &codes::Code) -> &str {
    let text = code.explanation();
    text.split_once("\n\n").map_or(text, |(first, _)| first)
}

fn describe(workspace: &Workspace, file: &File, name: &Occurrence, out: &mut String) {
    let _ = write!(out, "**{}** `{}`", name.kind.noun(), name.name);
    let declaration = navigation::definition(workspace, file.path(), name.span.start).into_iter().next();
    let home = declaration.as_ref().and_then(|place| workspace.file(&place.path)).unwrap_or(file);
    match name.kind {
        NameKind::Protocol => {
            let protocol = home.index().protocols.iter().find(|protocol| protocol.name == name.name);
            if let Some(protocol) = protocol {
                let _ = write!(out, "\n\n```scr\n{}\n```", home.slice(protocol.header));
            }
        }
        NameKind::Type | NameKind::Function => {
            let symbol = home.index().symbols.iter().find(|symbol| {
                symbol.kind == name.kind
                    && symbol.name == name.name
                    && symbol.selection.start < symbol.span.end
            });
            match symbol {
                Some(symbol) => {
                    let _ = write!(out, "\n\n```scr\n{}\n```", home.slice(symbol.span));
                }
                None => out.push_str("\n\nIt is not declared here: opaque, compared by name."),
            }
        }
        NameKind::Role => role(workspace, file, name, out),
        NameKind::Label => label(workspace, file, name, out),
        _ => {}
    }
}

/// The analysis of `file`, with the protocol around `offset` and its machines.
fn around<'a>(
    workspace: &'a Workspace,
    file: &File,
    offset: u32,
) -> Option<(&'a Analysed, Option<&'a GlobalProtocol>, Option<&'a System>)> {
    let analysed = workspace.analysed(file.path())?;
    match &analysed.analysis().document.content {
        Content::Global(protocols) => {
            let name = file.index().protocol_at(offset).map(|protocol| &protocol.name);
            let protocol = protocols
                .iter()
                .find(|known| known.name.as_ref() == name || file.language() != Language::Scr)?;
            let projected = analysed.analysis().protocols.iter().find(|known| known.name == protocol.name);
            Some((analysed, Some(protocol), projected.and_then(|known| known.local.as_ref().ok())))
        }
        Content::System(local) => Some((analysed, None, local.system.as_ref())),
        Content::Binary(_) | Content::Properties(_) => None,
    }
}

/// What a role does here, and in all.
fn role(workspace: &Workspace, file: &File, name: &Occurrence, out: &mut String) {
    let Some((analysed, _, Some(system))) = around(workspace, file, name.span.start) else { return };
    let vocabulary = system.vocabulary();
    let Some(role) = vocabulary.find_role(&name.name) else { return };
    let machine = system.machine(role);
    let _ = write!(
        out,
        " · machine with {} states and {} transitions",
        machine.state_count(),
        machine.all_transitions().len()
    );
    let line = line_of(file.text(), name.span);
    let steps = steps_at(machine, vocabulary, |origin| {
        let span = analysed.analysis().document.span(origin);
        span.start < line.end && line.start < span.end
    });
    if !steps.is_empty() {
        let _ = write!(out, "\n\nHere: {}", steps.join("; "));
    }
    let session = machine.session_type(vocabulary, MAX_PARTS);
    if let Some(text) = session.and_then(|session| print::local_scr("Local", &session).ok()) {
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.get(..MAX_LINES.min(lines.len())).unwrap_or_default().join("\n");
        let rest = if lines.len() > MAX_LINES { "\n  …" } else { "" };
        let _ = write!(out, "\n\n```scr\n{shown}{rest}\n```");
    }
}

/// The line that `span` begins on.
fn line_of(text: &str, span: Span) -> Span {
    let at = (span.start as usize).min(text.len());
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let end = text.get(at..).and_then(|after| after.find('\n')).map_or(text.len(), |newline| at + newline);
    Span::new(start, end)
}

/// The steps of `machine` whose origin is `here`: "in state 2 it sends `Add` to server, then state 3".
fn steps_at(
    machine: &Machine,
    vocabulary: &Vocabulary,
    here: impl Fn(referee_theory::Origin) -> bool,
) -> Vec<String> {
    const MAX_STEPS: usize = 4;
    let mut steps = Vec::new();
    for state in machine.states() {
        for transition in machine.transitions(state) {
            if transition.origin == referee_theory::Origin::NONE || !here(transition.origin) {
                continue;
            }
            if steps.len() == MAX_STEPS {
                steps.push("…".to_owned());
                return steps;
            }
            let (verb, preposition) = match transition.action {
                referee_theory::Action::Send => ("sends", "to"),
                referee_theory::Action::Receive => ("receives", "from"),
            };
            steps.push(format!(
                "in state `{}` it {verb} `{}` {preposition} `{}`, then it is in state `{}`",
                machine.state_name(state),
                vocabulary.label_of(transition.message),
                vocabulary.role_name(transition.peer),
                machine.state_name(transition.target),
            ));
        }
    }
    steps
}

/// The messages of a label, with who enforces their assertions.
fn label(workspace: &Workspace, file: &File, name: &Occurrence, out: &mut String) {
    let Some((_, protocol, system)) = around(workspace, file, name.span.start) else { return };
    let vocabulary = match (protocol, system) {
        (Some(protocol), _) => &protocol.vocabulary,
        (None, Some(system)) => system.vocabulary(),
        (None, None) => return,
    };
    let same = |message: &referee_theory::Message| vocabulary.label_of(*message) == &*name.name;
    for message in vocabulary.messages().filter(same).take(4) {
        let assertion = vocabulary.spec(message).assertion.as_ref();
        let condition = assertion.map(|assertion| format!(" where {assertion}")).unwrap_or_default();
        let times = vocabulary.spec(message).timing.as_ref();
        let times = times.map(|timing| format!(" {timing}")).unwrap_or_default();
        let _ = write!(out, "\n\n```scr\n{}{times}{condition}\n```", vocabulary.display(message));
        if let (Some(protocol), Some(assertion)) = (protocol, assertion)
            && let Some(names) = enforcers(protocol, &name.name, &assertion.to_string())
        {
            let _ = write!(out, "\n\nThe assertion is enforced by the monitor of {names}.");
        }
    }
}

/// The keyword or built-in function at `offset`, and what it means.
fn keyword(file: &File, offset: u32) -> Option<(Span, &'static str)> {
    let all = file.lexemes();
    let after = all.partition_point(|lexeme| lexeme.span.start <= offset);
    let lexeme = all.get(after.checked_sub(1)?)?;
    if lexeme.kind != LexemeKind::Word || offset > lexeme.span.end {
        return None;
    }
    let word = file.slice(lexeme.span);
    if let Some(function) = referee_theory::expr::Function::from_name(word)
        && file.language() == Language::Scr
    {
        return Some((lexeme.span, signature::builtin(function).1));
    }
    let is_keyword = keywords(file.language()).contains(&word);
    Some((lexeme.span, meaning(word, file.language())?)).filter(|_| is_keyword)
}

fn meaning(word: &str, language: Language) -> Option<&'static str> {
    Some(match (language, word) {
        (Language::Scr, "choice") => {
            "`choice at r { … } or { … }`: `r` chooses by the first message that it sends in a branch."
        }
        (Language::Scr, "par") => {
            "`par { … } and { … }`: the blocks interleave freely; what follows begins when all are over."
        }
        (Language::Scr, "rec") => "`rec X { … continue X; … }`: a loop. `rec X [n: int = 3]` has data.",
        (Language::Scr, "continue") => "`continue X;`: the loop `X` begins again.",
        (Language::Scr, "do") => "`do P(a, b);`: what the protocol `P` says, played by these roles.",
        (Language::Scr, "open") => {
            "`open P(a, b);`: from here on `P` runs beside what follows, once for each value of its key."
        }
        (Language::Scr, "close") => {
            "`close P;`: the next message waits for all calls of `P`, and no further one begins."
        }
        (Language::Scr, "per") => {
            "`protocol P(…) per id: string`: `P` runs once for each value of the field `id`, where another protocol opens it."
        }
        (Language::Scr, "interrupted") => {
            "`interrupted by M(…) from r`: after `M` the other side may still say what it had to say, and nobody waits for it."
        }
        (Language::Scr, "where") => "`where e`: the condition `e` holds of the message. Monitors enforce it.",
        (Language::Scr, "within") => {
            "`within 5s`, `within 5s of Request`, `within 5s of any`: the message is sent so soon after the message before, the last \
             `Request`, or its sender's last message."
        }
        (Language::Scr, "after") => "`after 1s`: the message is not sent sooner after the message before.",
        (Language::Scr, "aux") => "`aux protocol P`: a part of others, not checked by itself.",
        (Language::Scr, "external") => {
            "`external fn f(string) -> bool;`: a predicate that monitors are given."
        }
        (Language::Gt, "mu") => "`mu X . G`: a loop; `X` begins it again.",
        (Language::Kmc | Language::St, "rec") => "`rec X . T`: a loop; `X` begins it again.",
        (Language::Hml, "max") => "`max X.(φ)`: the greatest fixpoint; `X` stands for the formula itself.",
        (Language::Hml, "min") => "`min X.(φ)`: the least fixpoint; `X` stands for the formula itself.",
        (Language::Hml, "ff") => "`ff`: holds of nothing. `[e]ff`: the event `e` is a violation.",
        (Language::Hml, "tt") => "`tt`: holds of everything.",
        (Language::Hml, "when") => "`when g`: the pattern matches only where the condition `g` holds.",
        (_, "end") => "`end`: nothing more happens.",
        _ => return None,
    })
}
