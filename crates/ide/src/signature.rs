//! What a function of an assertion takes, while its arguments are being written.

use referee_syntax::Language;
use referee_syntax::lexemes::{Lexeme, LexemeKind};
use referee_theory::expr::Function;

use crate::names::{NameKind, ScopeId};
use crate::workspace::File;

/// A function and the argument that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureHelp {
    /// `matches(text: string, pattern: string) -> bool`.
    pub label: String,
    /// What it gives.
    pub documentation: String,
    /// The byte ranges of the parameters in `label`.
    pub parameters: Vec<(usize, usize)>,
    /// The number of the argument being written, from 0.
    pub active: usize,
}

/// What the built-in `function` takes, and what it gives.
#[must_use]
pub fn builtin(function: Function) -> (&'static str, &'static str) {
    match function {
        Function::Size => {
            ("size(x)", "The characters of a string, the bytes of bytes, the elements of a list.")
        }
        Function::StartsWith => ("startsWith(text, prefix)", "Whether `text` begins with `prefix`."),
        Function::EndsWith => ("endsWith(text, suffix)", "Whether `text` ends with `suffix`."),
        Function::Contains => ("contains(text, part)", "Whether `part` occurs in `text`."),
        Function::Matches => (
            "matches(text, pattern)",
            "Whether the regular expression `pattern`, a constant, is found in `text`.",
        ),
        Function::Int => ("int(x)", "The int of a float (towards zero) or a string (decimal)."),
        Function::Float => ("double(x)", "The float of an int or a string."),
        Function::String => ("string(x)", "The text of a bool, an int, a float or bytes in UTF-8."),
        Function::Abs => ("abs(x)", "`x` without its sign."),
        Function::Min => ("min(x, y, …)", "The least of the arguments."),
        Function::Max => ("max(x, y, …)", "The greatest of the arguments."),
        other => (other.name(), "A function of guards; assertions have none of this name."),
    }
}

/// The function whose arguments are being written at byte `offset`.
#[must_use]
pub fn signature_help(file: &File, offset: u32) -> Option<SignatureHelp> {
    if !matches!(file.language(), Language::Scr | Language::St) {
        return None;
    }
    let all = file.lexemes();
    let before = all.partition_point(|lexeme| lexeme.span.start < offset);
    let (name, argument, is_method) = enclosing_call(file, &all[..before])?;
    let text = file.slice(name.span);
    if is_method && Function::from_method_name(text).is_none() {
        return None;
    }
    let (label, documentation) = match Function::from_name(text) {
        Some(function) => {
            let (label, documentation) = builtin(function);
            (label.to_owned(), documentation.to_owned())
        }
        None => external(file, text)?,
    };
    let parameters = parameters(&label);
    // The receiver of a method is its first argument.
    let argument = argument + usize::from(is_method);
    let active = argument.min(parameters.len().saturating_sub(1));
    Some(SignatureHelp { label, documentation, parameters, active })
}

/// The word before the innermost open parenthesis, how many commas follow that, and whether a dot precedes the word.
fn enclosing_call(file: &File, before: &[Lexeme]) -> Option<(Lexeme, usize, bool)> {
    let (mut depth, mut commas) = (0_usize, 0);
    for (at, lexeme) in before.iter().enumerate().rev() {
        match (lexeme.kind, file.slice(lexeme.span)) {
            (LexemeKind::Symbol, ")" | "]") => depth += 1,
            (LexemeKind::Symbol, "(") if depth == 0 => {
                let name = before.get(at.checked_sub(1)?)?;
                let dotted = at.checked_sub(2).is_some_and(|dot| file.slice(before[dot].span) == ".");
                return (name.kind == LexemeKind::Word).then_some((*name, commas, dotted));
            }
            (LexemeKind::Symbol, "(" | "[") => depth = depth.saturating_sub(1),
            (LexemeKind::Symbol, ",") if depth == 0 => commas += 1,
            (LexemeKind::Symbol, ";" | "{" | "}") => return None,
            _ => {}
        }
    }
    None
}

/// `external fn valid(string) -> bool;` as it is declared.
fn external(file: &File, name: &str) -> Option<(String, String)> {
    let declared = file.index().symbols.iter();
    let mut declared = declared.filter(|symbol| symbol.kind == NameKind::Function && *symbol.name == *name);
    let symbol = declared.next()?;
    let text = file.slice(symbol.span).trim_end_matches(';');
    let label = text.trim_start_matches("external").trim_start().trim_start_matches("fn").trim().to_owned();
    debug_assert!(file.index().declared(NameKind::Function, ScopeId::FILE).next().is_some());
    Some((label, "An external predicate, which monitors are given.".to_owned()))
}

fn parameters(label: &str) -> Vec<(usize, usize)> {
    let (Some(open), Some(close)) = (label.find('('), label.rfind(')')) else { return Vec::new() };
    let mut all = Vec::new();
    let mut start = open + 1;
    for part in label.get(start..close).unwrap_or_default().split(',') {
        let blank = part.len() - part.trim_start().len();
        if !part.trim().is_empty() {
            all.push((start + blank, start + blank + part.trim().len()));
        }
        start += part.len() + 1;
    }
    all
}
