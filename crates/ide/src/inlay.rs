//! Who enforces an assertion, written behind it.

use referee_pipeline::Content;
use referee_syntax::Span;
use referee_syntax::scr::ast::StatementKind;
use referee_syntax::scr::parse_module;
use referee_syntax::{Language, document::GlobalProtocol};

use crate::workspace::Workspace;

/// A hint that is shown within the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlayHint {
    /// Behind which byte.
    pub offset: u32,
    /// What is shown.
    pub label: String,
}

/// The hints of the file at `path` within `range`: for each message with a condition, whose monitor enforces it.
#[must_use]
pub fn inlay_hints(workspace: &Workspace, path: &str, range: Span) -> Vec<InlayHint> {
    let (Some(file), Some(analysed)) = (workspace.file(path), workspace.analysed(path)) else {
        return Vec::new();
    };
    let Content::Global(protocols) = &analysed.analysis().document.content else { return Vec::new() };
    if file.language() != Language::Scr {
        return Vec::new();
    }
    let (module, _) = parse_module(file.text());
    let mut hints = Vec::new();
    for statement in &module.statements {
        let StatementKind::Message(message) = &statement.kind else { continue };
        let Some(condition) = &message.condition else { continue };
        let end = statement.span.end;
        if end < range.start || statement.span.start > range.end {
            continue;
        }
        let protocol = file.index().protocol_at(statement.span.start);
        let same = |known: &&GlobalProtocol| known.name.as_ref() == protocol.map(|protocol| &protocol.name);
        let Some(protocol) = protocols.iter().find(same) else { continue };
        if let Some(names) = enforcers(protocol, &message.message.label.text, &condition.to_string()) {
            hints.push(InlayHint { offset: end, label: format!("enforced by {names}") });
        }
    }
    hints
}

/// The roles whose monitors enforce `assertion` of the message `label`: "client and server".
pub(crate) fn enforcers(protocol: &GlobalProtocol, label: &str, assertion: &str) -> Option<String> {
    let same = |known: &&referee_syntax::document::EnforcedAssertion| {
        *known.label == *label && known.assertion == assertion
    };
    let found = protocol.enforcement.iter().find(same)?;
    let names: Vec<&str> = found.roles.iter().map(|role| protocol.vocabulary.role_name(*role)).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}
