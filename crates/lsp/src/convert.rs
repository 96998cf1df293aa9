//! Places, edits and diagnostics as the protocol writes them.

use std::collections::HashMap;
use std::sync::Arc;

use gen_lsp_types as lsp;
use referee_ide::diagnostics::FileDiagnostic;
use referee_ide::{Encoding, File, LineColumn, Location, NameKind, Symbol, Workspace};
use referee_pipeline::Severity;
use referee_syntax::{Edit, Span};

use crate::uri;

/// The workspace as it is at one moment, and how the client counts.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) workspace: Workspace,
    pub(crate) encoding: Encoding,
    /// Whether completions may have places to fill.
    pub(crate) snippets: bool,
    /// Whether who enforces an assertion is shown within the text.
    pub(crate) hints: bool,
    /// What the client calls its open files.
    pub(crate) uris: HashMap<Arc<str>, lsp::Uri>,
}

impl Snapshot {
    pub(crate) fn offset(&self, file: &File, position: lsp::Position) -> u32 {
        let position = LineColumn { line: position.line, column: position.character };
        file.lines().offset(file.text(), position, self.encoding)
    }

    pub(crate) fn position(&self, file: &File, offset: u32) -> lsp::Position {
        let LineColumn { line, column } = file.lines().position(file.text(), offset, self.encoding);
        lsp::Position { line, character: column }
    }

    pub(crate) fn range(&self, file: &File, span: Span) -> lsp::Range {
        lsp::Range { start: self.position(file, span.start), end: self.position(file, span.end) }
    }

    pub(crate) fn span(&self, file: &File, range: lsp::Range) -> Span {
        let (start, end) = (self.offset(file, range.start), self.offset(file, range.end));
        Span { start: start.min(end), end: end.max(start) }
    }

    pub(crate) fn uri(&self, path: &str) -> lsp::Uri {
        self.uris.get(path).cloned().unwrap_or_else(|| uri::of_path(path))
    }

    pub(crate) fn location(&self, place: &Location) -> Option<lsp::Location> {
        let file = self.workspace.file(&place.path)?;
        Some(lsp::Location { uri: self.uri(&place.path), range: self.range(file, place.span) })
    }

    pub(crate) fn text_edit(&self, file: &File, edit: &Edit) -> lsp::TextEdit {
        lsp::TextEdit { range: self.range(file, edit.span), new_text: edit.text.clone() }
    }

    pub(crate) fn workspace_edit<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a File, &'a [Edit])>,
    ) -> lsp::WorkspaceEdit {
        let mut changes = HashMap::new();
        for (file, edits) in files {
            let edits = edits.iter().map(|edit| self.text_edit(file, edit)).collect();
            changes.insert(self.uri(file.path()), edits);
        }
        lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() }
    }

    pub(crate) fn diagnostic(&self, file: &File, found: &FileDiagnostic) -> lsp::Diagnostic {
        let related = found.related.iter().filter_map(|(place, text)| {
            let location = self.location(place)?;
            Some(lsp::DiagnosticRelatedInformation { location, message: text.clone() })
        });
        let related: Vec<_> = related.collect();
        lsp::Diagnostic {
            range: self.range(file, found.span),
            severity: Some(match found.severity {
                Severity::Error => lsp::DiagnosticSeverity::Error,
                Severity::Warning => lsp::DiagnosticSeverity::Warning,
                Severity::Note => lsp::DiagnosticSeverity::Information,
            }),
            code: Some(found.code.to_owned().into()),
            source: Some("referee".to_owned()),
            message: found.message.clone().into(),
            related_information: (!related.is_empty()).then_some(related),
            ..Default::default()
        }
    }

    pub(crate) fn symbol(&self, file: &File, symbol: &Symbol) -> lsp::DocumentSymbol {
        let children: Vec<_> = symbol.children.iter().map(|child| self.symbol(file, child)).collect();
        lsp::DocumentSymbol {
            name: symbol.name.to_string(),
            detail: (!symbol.detail.is_empty()).then(|| symbol.detail.clone()),
            kind: symbol_kind(symbol.kind),
            tags: None,
            #[expect(deprecated, reason = "a field of the protocol's type")]
            deprecated: None,
            range: self.range(file, symbol.span.to(symbol.selection)),
            selection_range: self.range(file, symbol.selection),
            children: (!children.is_empty()).then_some(children),
        }
    }
}

pub(crate) fn symbol_kind(kind: NameKind) -> lsp::SymbolKind {
    match kind {
        NameKind::Module => lsp::SymbolKind::Module,
        NameKind::Protocol | NameKind::Property => lsp::SymbolKind::Class,
        NameKind::Role => lsp::SymbolKind::Object,
        NameKind::Label => lsp::SymbolKind::Method,
        NameKind::Type => lsp::SymbolKind::Struct,
        NameKind::Signature => lsp::SymbolKind::Interface,
        NameKind::Recursion => lsp::SymbolKind::Key,
        NameKind::Field => lsp::SymbolKind::Field,
        NameKind::Function => lsp::SymbolKind::Function,
        NameKind::State => lsp::SymbolKind::EnumMember,
    }
}

pub(crate) fn completion_kind(kind: NameKind) -> lsp::CompletionItemKind {
    match kind {
        NameKind::Module => lsp::CompletionItemKind::Module,
        NameKind::Protocol | NameKind::Property => lsp::CompletionItemKind::Class,
        NameKind::Role => lsp::CompletionItemKind::Variable,
        NameKind::Label => lsp::CompletionItemKind::Method,
        NameKind::Type => lsp::CompletionItemKind::Struct,
        NameKind::Signature => lsp::CompletionItemKind::Interface,
        NameKind::Recursion => lsp::CompletionItemKind::Reference,
        NameKind::Field => lsp::CompletionItemKind::Field,
        NameKind::Function => lsp::CompletionItemKind::Function,
        NameKind::State => lsp::CompletionItemKind::EnumMember,
    }
}
