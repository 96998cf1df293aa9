//! Semantic tokens: each relative to the one before it, on one line each.

use std::sync::atomic::AtomicBool;

use gen_lsp_types as lsp;
use referee_ide::semantic::{TokenKind, semantic_tokens};
use referee_ide::{NameKind, semantic};
use referee_syntax::Span;

use super::{Answer, file};
use crate::convert::Snapshot;

/// What the numbers of token types mean.
pub(crate) const TYPES: [&str; 13] = [
    "keyword",
    "namespace",
    "class",
    "parameter",
    "method",
    "type",
    "interface",
    "typeParameter",
    "property",
    "function",
    "enumMember",
    "number",
    "string",
];

/// `comment` comes behind [`TYPES`].
pub(crate) const COMMENT: &str = "comment";

/// What the bits of token modifiers mean.
pub(crate) const MODIFIERS: [&str; 2] = ["declaration", "defaultLibrary"];

fn token_type(kind: TokenKind) -> u32 {
    match kind {
        TokenKind::Keyword => 0,
        TokenKind::Name(NameKind::Module) => 1,
        TokenKind::Name(NameKind::Protocol | NameKind::Property) => 2,
        TokenKind::Name(NameKind::Role) => 3,
        TokenKind::Name(NameKind::Label) => 4,
        TokenKind::Name(NameKind::Type) | TokenKind::BuiltinType => 5,
        TokenKind::Name(NameKind::Signature) => 6,
        TokenKind::Name(NameKind::Recursion) => 7,
        TokenKind::Name(NameKind::Field) => 8,
        TokenKind::Name(NameKind::Function) | TokenKind::BuiltinFunction => 9,
        TokenKind::Name(NameKind::State) => 10,
        TokenKind::Number => 11,
        TokenKind::String => 12,
        TokenKind::Comment => 13,
    }
}

pub(crate) fn full(
    snapshot: &Snapshot,
    params: lsp::SemanticTokensParams,
    _: &AtomicBool,
) -> Answer<Option<lsp::SemanticTokens>> {
    let Some(file) = file(snapshot, &params.text_document) else { return Ok(None) };
    let mut data = Vec::new();
    let mut last = lsp::Position { line: 0, character: 0 };
    for token in semantic_tokens(file) {
        let modifiers = modifiers(token);
        // A comment of several lines is one token on each.
        let mut start = token.span.start;
        for line in file.slice(token.span).split_inclusive('\n') {
            let text = line.trim_end_matches(['\n', '\r']);
            let next = start + u32::try_from(line.len()).unwrap_or(0);
            let end = start + u32::try_from(text.len()).unwrap_or(0);
            if end > start {
                let range = snapshot.range(file, Span { start, end });
                let same_line = range.start.line == last.line;
                data.push(lsp::SemanticToken {
                    delta_line: range.start.line - last.line,
                    delta_start: range.start.character - if same_line { last.character } else { 0 },
                    length: range.end.character - range.start.character,
                    token_type: token_type(token.kind),
                    token_modifiers_bitset: modifiers,
                });
                last = range.start;
            }
            start = next;
        }
    }
    Ok(Some(lsp::SemanticTokens { result_id: None, data }))
}

fn modifiers(token: semantic::SemanticToken) -> u32 {
    let is_built_in = matches!(token.kind, TokenKind::BuiltinType | TokenKind::BuiltinFunction);
    u32::from(token.declares) | u32::from(is_built_in) << 1
}
