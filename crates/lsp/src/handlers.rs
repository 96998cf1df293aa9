//! One function per request: parameters and a snapshot in, the answer out.

use std::sync::atomic::AtomicBool;

use gen_lsp_types as lsp;
use referee_ide::completion::{CompletionKind, completions};
use referee_ide::diagnostics::{diagnostics, fixes};
use referee_ide::lens::LensAction;
use referee_ide::{File, folding, formatting, hover, inlay, lens, navigation, signature};
use referee_syntax::{Edit, Span};
use serde_json::json;

use crate::convert::{Snapshot, completion_kind};
use crate::uri;

pub(crate) mod tokens;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Failure {
    /// The request cannot be done: the user is shown why.
    fn refused(why: impl ToString) -> Self {
        Self { code: lsp_server::ErrorCode::RequestFailed as i32, message: why.to_string() }
    }

    /// The text is another by now.
    pub(crate) fn modified() -> Self {
        let message = "the text has changed".to_owned();
        Self { code: lsp_server::ErrorCode::ContentModified as i32, message }
    }
}

/// An answer, or why there is none.
type Answer<T> = Result<T, Failure>;

/// The file and byte that a request is about.
fn at<'a>(
    snapshot: &'a Snapshot,
    place: &lsp::TextDocumentPositionParams,
) -> Option<(&'a File, String, u32)> {
    let path = uri::to_path(&place.text_document.uri);
    let file = snapshot.workspace.file(&path)?;
    let offset = snapshot.offset(file, place.position);
    Some((file, path, offset))
}

fn file<'a>(snapshot: &'a Snapshot, document: &lsp::TextDocumentIdentifier) -> Option<&'a File> {
    snapshot.workspace.file(&uri::to_path(&document.uri))
}

pub(crate) fn completion(
    snapshot: &Snapshot,
    params: lsp::CompletionParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::CompletionResponse>> {
    let Some((file, path, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    let all = completions(&snapshot.workspace, &path, offset);
    let range = snapshot.range(file, all.span);
    let mut items = Vec::with_capacity(all.items.len());
    for (number, item) in all.items.into_iter().enumerate() {
        let is_snippet = item.kind == CompletionKind::Snippet;
        let fills = is_snippet && snapshot.snippets;
        let text = if is_snippet && !fills { item.label.clone() } else { item.insert };
        items.push(lsp::CompletionItem {
            label: item.label,
            kind: Some(match item.kind {
                CompletionKind::Keyword => lsp::CompletionItemKind::Keyword,
                CompletionKind::Name(kind) => completion_kind(kind),
                CompletionKind::BuiltinType => lsp::CompletionItemKind::Struct,
                CompletionKind::BuiltinFunction => lsp::CompletionItemKind::Function,
                CompletionKind::Snippet => lsp::CompletionItemKind::Snippet,
            }),
            detail: (!item.detail.is_empty()).then_some(item.detail),
            sort_text: Some(format!("{number:04}")),
            insert_text_format: fills.then_some(lsp::InsertTextFormat::Snippet),
            text_edit: Some(lsp::TextEdit { range, new_text: text }.into()),
            ..Default::default()
        });
    }
    Ok(Some(items.into()))
}

pub(crate) fn hover_at(
    snapshot: &Snapshot,
    params: lsp::HoverParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::Hover>> {
    let Some((file, path, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    Ok(hover::hover(&snapshot.workspace, &path, offset).map(|found| lsp::Hover {
        contents: lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: found.markdown }.into(),
        range: Some(snapshot.range(file, found.span)),
    }))
}

pub(crate) fn definition(
    snapshot: &Snapshot,
    params: lsp::DefinitionParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::DefinitionResponse>> {
    let Some((_, path, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    let found = navigation::definition(&snapshot.workspace, &path, offset);
    let places: Vec<_> = found.iter().filter_map(|place| snapshot.location(place)).collect();
    Ok(Some(lsp::Definition::LocationList(places).into()))
}

pub(crate) fn references(
    snapshot: &Snapshot,
    params: lsp::ReferenceParams,
    _: &AtomicBool,
) -> Answer<Option<Vec<lsp::Location>>> {
    let Some((_, path, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    let with_declaration = params.context.include_declaration;
    let found = navigation::references(&snapshot.workspace, &path, offset, with_declaration);
    Ok(Some(found.iter().filter_map(|place| snapshot.location(place)).collect()))
}

pub(crate) fn highlights(
    snapshot: &Snapshot,
    params: lsp::DocumentHighlightParams,
    _: &AtomicBool,
) -> Answer<Option<Vec<lsp::DocumentHighlight>>> {
    let Some((file, path, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    let found = navigation::references(&snapshot.workspace, &path, offset, true);
    let here = found.iter().filter(|place| place.path == *file.path());
    let highlight = |span: Span| lsp::DocumentHighlight { range: snapshot.range(file, span), kind: None };
    Ok(Some(here.map(|place| highlight(place.span)).collect()))
}

pub(crate) fn prepare_rename(
    snapshot: &Snapshot,
    params: lsp::PrepareRenameParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::PrepareRenameResult>> {
    let Some((file, path, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    let found = navigation::renameable(&snapshot.workspace, &path, offset).map_err(Failure::refused)?;
    Ok(Some(snapshot.range(file, found.span).into()))
}

pub(crate) fn rename(
    snapshot: &Snapshot,
    params: lsp::RenameParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::WorkspaceEdit>> {
    let Some((_, path, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    let edits = navigation::rename(&snapshot.workspace, &path, offset, &params.new_name);
    let edits = edits.map_err(Failure::refused)?;
    let known = |path: &str| snapshot.workspace.file(path);
    let files = edits.iter().filter_map(|(path, edits)| Some((known(path)?, edits.as_slice())));
    Ok(Some(snapshot.workspace_edit(files)))
}

pub(crate) fn document_symbols(
    snapshot: &Snapshot,
    params: lsp::DocumentSymbolParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::DocumentSymbolResponse>> {
    let Some(file) = file(snapshot, &params.text_document) else { return Ok(None) };
    let symbols: Vec<_> = file.index().symbols.iter().map(|symbol| snapshot.symbol(file, symbol)).collect();
    Ok(Some(symbols.into()))
}

pub(crate) fn folding_ranges(
    snapshot: &Snapshot,
    params: lsp::FoldingRangeParams,
    _: &AtomicBool,
) -> Answer<Option<Vec<lsp::FoldingRange>>> {
    let Some(file) = file(snapshot, &params.text_document) else { return Ok(None) };
    let mut ranges = Vec::new();
    for fold in folding::folds(file) {
        let lines = snapshot.range(file, fold.span);
        // The line of the closing bracket stays visible.
        let end_line = if fold.is_comment { lines.end.line } else { lines.end.line.saturating_sub(1) };
        if end_line > lines.start.line {
            ranges.push(lsp::FoldingRange {
                start_line: lines.start.line,
                end_line,
                kind: fold.is_comment.then_some(lsp::FoldingRangeKind::Comment),
                ..Default::default()
            });
        }
    }
    Ok(Some(ranges))
}

pub(crate) fn format(
    snapshot: &Snapshot,
    params: lsp::DocumentFormattingParams,
    _: &AtomicBool,
) -> Answer<Option<Vec<lsp::TextEdit>>> {
    let Some(file) = file(snapshot, &params.text_document) else { return Ok(None) };
    let edits = formatting::format(file).map_err(|errors| {
        let first = errors.first().map_or("", |error| &error.message);
        Failure::refused(format!("a text with syntax errors is not formatted: {first}"))
    })?;
    Ok(edits.map(|edits| edits.iter().map(|edit| snapshot.text_edit(file, edit)).collect()))
}

pub(crate) fn signature_help(
    snapshot: &Snapshot,
    params: lsp::SignatureHelpParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::SignatureHelp>> {
    let Some((file, _, offset)) = at(snapshot, &params.text_document_position_params) else {
        return Ok(None);
    };
    let Some(help) = signature::signature_help(file, offset) else { return Ok(None) };
    // Places within the label are counted in UTF-16, whatever was agreed on.
    let units = |end: usize| -> u32 {
        let text = help.label.get(..end).unwrap_or_default();
        text.chars().map(|character| u32::try_from(character.len_utf16()).unwrap_or(1)).sum()
    };
    let parameters = help.parameters.iter().map(|&(start, end)| lsp::ParameterInformation {
        label: (units(start), units(end)).into(),
        documentation: None,
    });
    let parameters = parameters.collect();
    let active = u32::try_from(help.active).unwrap_or(0);
    let signature = lsp::SignatureInformation {
        label: help.label.clone(),
        documentation: Some(help.documentation.into()),
        parameters: Some(parameters),
        ..Default::default()
    };
    Ok(Some(lsp::SignatureHelp {
        signatures: vec![signature],
        active_signature: Some(0),
        active_parameter: Some(active.into()),
    }))
}

pub(crate) fn inlay_hints(
    snapshot: &Snapshot,
    params: lsp::InlayHintParams,
    _: &AtomicBool,
) -> Answer<Option<Vec<lsp::InlayHint>>> {
    let Some(file) = file(snapshot, &params.text_document).filter(|_| snapshot.hints) else {
        return Ok(None);
    };
    let range = snapshot.span(file, params.range);
    let hints = inlay::inlay_hints(&snapshot.workspace, file.path(), range).into_iter();
    let hint = |found: inlay::InlayHint| lsp::InlayHint {
        position: snapshot.position(file, found.offset),
        label: found.label.into(),
        kind: None,
        text_edits: None,
        tooltip: None,
        padding_left: Some(true),
        padding_right: None,
        data: None,
    };
    Ok(Some(hints.map(hint).collect()))
}

pub(crate) fn code_actions(
    snapshot: &Snapshot,
    params: lsp::CodeActionParams,
    _: &AtomicBool,
) -> Answer<Option<Vec<lsp::CodeActionResponse>>> {
    let Some(file) = file(snapshot, &params.text_document) else { return Ok(None) };
    let span = snapshot.span(file, params.range);
    let mut actions: Vec<lsp::CodeActionResponse> = Vec::new();
    for (found, fix) in fixes(&snapshot.workspace, file.path(), span) {
        let action = lsp::CodeAction {
            title: fix.title,
            kind: Some(lsp::CodeActionKind::QuickFix),
            diagnostics: Some(vec![snapshot.diagnostic(file, &found)]),
            is_preferred: Some(fix.certain),
            edit: Some(snapshot.workspace_edit([(file, fix.edits.as_slice())])),
            ..Default::default()
        };
        actions.push(action.into());
    }
    let certain = diagnostics(&snapshot.workspace, file.path())
        .iter()
        .any(|found| found.fix.as_ref().is_some_and(|fix| fix.certain));
    if certain {
        let corrected = referee_syntax::corrected(file.text(), file.language());
        if !corrected.corrections.is_empty() {
            let all = [Edit { span: Span::new(0, file.text().len()), text: corrected.text }];
            let action = lsp::CodeAction {
                title: "correct every mistake that is certain".to_owned(),
                kind: Some(lsp::CodeActionKind::SourceFixAll),
                edit: Some(snapshot.workspace_edit([(file, all.as_slice())])),
                ..Default::default()
            };
            actions.push(action.into());
        }
    }
    Ok(Some(actions))
}

pub(crate) fn code_lenses(
    snapshot: &Snapshot,
    params: lsp::CodeLensParams,
    cancel: &AtomicBool,
) -> Answer<Option<Vec<lsp::CodeLens>>> {
    let Some(file) = file(snapshot, &params.text_document) else { return Ok(None) };
    let found = lens::lenses(&snapshot.workspace, file.path(), cancel).ok_or_else(Failure::modified)?;
    let uri = snapshot.uri(file.path()).0;
    let command = |title: String, action: LensAction| {
        let (command, arguments) = match action {
            LensAction::ShowTrace { protocol } => {
                ("referee.showTrace", vec![json!(uri), json!(protocol.as_deref())])
            }
            LensAction::ShowMachine { protocol, role } => {
                ("referee.showMachine", vec![json!(uri), json!(protocol.as_deref()), json!(&*role)])
            }
            LensAction::None => ("", Vec::new()),
        };
        let arguments = (!arguments.is_empty()).then_some(arguments);
        lsp::Command { title, command: command.to_owned(), arguments, ..Default::default() }
    };
    let lenses = found.into_iter().map(|found| lsp::CodeLens {
        range: snapshot.range(file, found.span),
        command: Some(command(found.title, found.action)),
        data: None,
    });
    Ok(Some(lenses.collect()))
}
