//! One mistake, one error: a role that the header misspells is one mistake, however often the protocol names it.

use logos::Logos as _;
use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Module, Name, Protocol};
use super::token::Token;
use crate::diagnostics::names::misspelt_in_header;
use crate::diagnostics::{Diagnostic, suggest};
use crate::document::once_each;
use crate::source::Span;

/// `diagnostics` of `text`, in order, without those that only repeat others.
pub(super) fn once(text: &str, module: &Module, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if !diagnostics.iter().any(Diagnostic::is_error) {
        return diagnostics;
    }
    let mut by_protocol: FxHashMap<usize, Vec<Diagnostic>> = FxHashMap::default();
    for diagnostic in diagnostics {
        let owner = module.protocols.partition_point(|protocol| protocol.span.start <= diagnostic.span.start);
        by_protocol.entry(owner).or_default().push(diagnostic);
    }
    let mut all = Vec::new();
    for (owner, found) in by_protocol {
        let mut found = once_each(found);
        if let Some(protocol) = owner.checked_sub(1).map(|index| &module.protocols[index]) {
            in_header(text, protocol, &mut found);
        }
        all.extend(found);
    }
    let all = without_values(too_large_once(crate::document::in_order(all)));
    misspelt_types(text, without_echoes(all))
}

/// What has no role has no sender either: that its fields have no value follows from it.
fn without_values(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if diagnostics.iter().any(|found| found.code.id == "RF0103") {
        diagnostics.retain(|found| found.code.id != "RF0312" || !found.message.ends_with("has no value"));
    }
    diagnostics
}

/// A type that is misspelt has no operators: the first place that needs one says so, and what may have been meant.
fn misspelt_types(text: &str, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let misspelt: Vec<(String, String)> = diagnostics
        .iter()
        .filter(|found| found.code.id == "RF0106")
        .filter_map(|found| {
            let help = found.help.as_ref().filter(|help| help.starts_with("did you mean"))?;
            Some((format!("`{}`", text.get(found.span.range())?), help.clone()))
        })
        .collect();
    let mut said: FxHashSet<String> = FxHashSet::default();
    diagnostics.retain_mut(|found| {
        let about =
            misspelt.iter().find(|(name, _)| found.code.id == "RF0301" && found.message.contains(name));
        let Some((name, help)) = about else { return true };
        found.help = Some(help.clone());
        said.insert(name.clone())
    });
    diagnostics
}

/// That nothing behind a recursive `do` is reached follows from its not being the last step.
fn without_echoes(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let not_last: FxHashSet<Span> =
        diagnostics.iter().filter(|found| found.code.id == "RF0208").map(|found| found.span).collect();
    let echoes = |found: &Diagnostic| {
        found.code.id == "RF0205" && found.related.iter().any(|(span, _)| not_last.contains(span))
    };
    diagnostics.retain(|found| !echoes(found));
    diagnostics
}

/// A protocol that is too large makes those too large that do it: the first is reported.
fn too_large_once(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = false;
    diagnostics.retain(|diagnostic| {
        let too_large = diagnostic.code.id == "RF0209" && diagnostic.message.starts_with("written out");
        !(too_large && std::mem::replace(&mut seen, true))
    });
    diagnostics
}

/// Where a role of the header is named nowhere, but a role that looks like it is: the header is wrong.
fn in_header(text: &str, protocol: &Protocol, diagnostics: &mut [Diagnostic]) {
    let unknown = diagnostics.iter_mut().filter(|diagnostic| diagnostic.code.id == "RF0103");
    let unknown: Vec<&mut Diagnostic> =
        unknown.filter(|diagnostic| protocol.body.span.start <= diagnostic.span.start).collect();
    if unknown.is_empty() || !protocol.nested.is_empty() {
        return;
    }
    let body = text.get(protocol.body.span.range()).unwrap_or_default();
    let mentioned: FxHashSet<&str> = Token::lexer(body)
        .spanned()
        .filter(|(token, _)| *token == Ok(Token::Word))
        .map(|(_, range)| &body[range])
        .collect();
    let mut unused: Vec<&Name> =
        protocol.roles.iter().filter(|role| !mentioned.contains(&*role.text)).collect();
    for diagnostic in unknown {
        let name = text.get(diagnostic.span.range()).unwrap_or_default();
        let Some(close) = suggest::closest(name, unused.iter().map(|role| &*role.text)) else { continue };
        let Some(index) = unused.iter().position(|role| &*role.text == close) else { continue };
        let role = unused.swap_remove(index);
        *diagnostic = misspelt_in_header(role.span, &role.text, diagnostic.span, name);
    }
}
