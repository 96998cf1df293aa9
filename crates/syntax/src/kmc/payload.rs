//! Messages of both of KMC's languages: `label`, `label<int>`, and beyond KMC `label<int,list<string>>`.

use std::sync::Arc;

use referee_theory::{Field, Message, MessageSpec, Type, Vocabulary};

use super::lexer::KmcToken;
use crate::diagnostics::lexical;
use crate::source::Span;
use crate::tokens::Cursor;

const MAX_DEPTH: usize = 128;

/// Reads a label and its payload. `None` when there is no label; then nothing was taken.
pub(crate) fn message(cursor: &mut Cursor<'_, KmcToken>, vocabulary: &mut Vocabulary) -> Option<Message> {
    if !cursor.is_at(KmcToken::Name) {
        cursor.unexpected(&["a label"]);
        return None;
    }
    let label = cursor.text();
    cursor.bump();
    let label = vocabulary.add_label(label);
    let mut fields = Vec::new();
    if cursor.eat(KmcToken::Less) {
        while let Some(ty) = payload_type(cursor) {
            fields.push(Field { name: None, ty });
            if !cursor.eat(KmcToken::Comma) {
                let _ = cursor.expect(KmcToken::Greater);
                break;
            }
        }
    }
    Some(vocabulary.add_message(MessageSpec::new(label, fields.into(), None)))
}

/// `int`, `list<list<int>>`, or a name nobody knows.
fn payload_type(cursor: &mut Cursor<'_, KmcToken>) -> Option<Type> {
    let start = cursor.span();
    let mut lists = 0;
    while cursor.is_at(KmcToken::Name)
        && cursor.text() == "list"
        && cursor.peek_nth(1) == Some(KmcToken::Less)
    {
        cursor.bump();
        cursor.bump();
        lists += 1;
    }
    if !cursor.is_at(KmcToken::Name) {
        cursor.unexpected(&["a type"]);
        return None;
    }
    let mut ty = type_from_name(cursor.text());
    cursor.bump();
    for depth in 0..lists {
        cursor.expect(KmcToken::Greater).ok()?;
        if depth == MAX_DEPTH {
            let whole: Span = start.to(cursor.previous());
            cursor.report(lexical::nested_too_deep(whole, MAX_DEPTH));
        }
        if depth < MAX_DEPTH {
            ty = Type::List(Arc::new(ty));
        }
    }
    Some(ty)
}

/// KMC compares payloads by name, so different names must stay different: only Referee's own are known.
fn type_from_name(name: &str) -> Type {
    match name {
        "unit" => Type::Unit,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "float" => Type::Float,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        _ => Type::opaque(name),
    }
}
