//! What may be written in a `.scr` text.

use std::sync::Arc;

use referee_syntax::payload;
use referee_theory::expr::Function;

use super::{Completion, CompletionKind, Context, keyword, name};
use crate::names::{NameKind, ScopeId};
use crate::signature;

/// What kind of thing the cursor waits for.
enum Wanted {
    Role,
    Recursion,
    Protocol,
    NestedProtocol,
    Module,
    Type,
    Condition,
    Statement,
    Declaration,
    Words(&'static [&'static str]),
    Nothing,
}

pub(super) fn items(context: &Context<'_>) -> Vec<Completion> {
    match wanted(context) {
        Wanted::Role => roles(context),
        Wanted::Recursion => recursions(context),
        Wanted::Protocol => protocols(context),
        Wanted::NestedProtocol => {
            let nested = context.file.index().protocols.iter();
            nested.map(|protocol| name(&protocol.name, NameKind::Protocol, "nested protocol")).collect()
        }
        Wanted::Module => modules(context),
        Wanted::Type => types(context),
        Wanted::Condition => condition(context),
        Wanted::Statement => statements(context),
        Wanted::Declaration => declarations(),
        Wanted::Words(words) => words.iter().map(|word| keyword(word)).collect(),
        Wanted::Nothing => Vec::new(),
    }
}

fn wanted(context: &Context<'_>) -> Wanted {
    let in_protocol = context
        .file
        .index()
        .protocol_at(context.offset)
        .is_some_and(|protocol| context.offset > protocol.header.end);
    match context.back(1) {
        "from" | "to" | "at" | "connect" | "disconnect" | "wrap" if in_protocol => return Wanted::Role,
        "continue" => return Wanted::Recursion,
        "do" | "open" | "close" => return Wanted::Protocol,
        "calls" => return Wanted::NestedProtocol,
        "import" => return Wanted::Module,
        "rec" | "protocol" | "role" | "module" | "type" | "as" => return Wanted::Nothing,
        _ => {}
    }
    // What the statement has so far, from its end backwards.
    let (mut depth, mut n) = (0_usize, 1);
    loop {
        match context.back(n) {
            "" | ";" | "{" | "}" if depth == 0 => break,
            "" => break,
            ")" | "]" => depth += 1,
            "(" | "[" if depth > 0 => depth -= 1,
            "(" => return inside_parentheses(context, n),
            "where" if depth == 0 => return Wanted::Condition,
            "to" if depth == 0 && n == 2 => return Wanted::Words(&["where", "within", "after"]),
            "to" if depth == 0 && context.back(1) == "," => return Wanted::Role,
            _ => {}
        }
        n += 1;
    }
    match context.back(1) {
        "" if !in_protocol => Wanted::Declaration,
        ";" | "}" if !in_protocol => Wanted::Declaration,
        ";" | "{" | "}" if in_protocol => Wanted::Statement,
        ")" if in_protocol => Wanted::Words(&["from"]),
        "choice" => Wanted::Words(&["at"]),
        _ if in_protocol && context.back(2) == "from" => Wanted::Words(&["to"]),
        "global" | "aux" | "nested" | "explicit" => Wanted::Words(&["protocol", "global"]),
        "external" => Wanted::Words(&["fn"]),
        _ => Wanted::Nothing,
    }
}

/// The `n`-th lexeme before the cursor is an open parenthesis: of roles, of a payload, or of a call in a condition.
fn inside_parentheses(context: &Context<'_>, n: usize) -> Wanted {
    if matches!(context.back(n + 2), "do" | "calls" | "open" | "close") || context.back(n + 1) == ">" {
        return Wanted::Role;
    }
    let mut further = n + 1;
    loop {
        match context.back(further) {
            "where" => return Wanted::Condition,
            "protocol" => return Wanted::Words(&["role"]),
            "" | ";" | "{" | "}" => break,
            "do" | "calls" | "open" | "close" => return Wanted::Role,
            _ => further += 1,
        }
    }
    if context.back(1) == ":" { Wanted::Type } else { Wanted::Nothing }
}

fn scope(context: &Context<'_>) -> Option<ScopeId> {
    context.file.index().protocol_at(context.offset).map(|protocol| protocol.scope)
}

fn roles(context: &Context<'_>) -> Vec<Completion> {
    let Some(scope) = scope(context) else { return Vec::new() };
    let declared = context.file.index().declared(NameKind::Role, scope);
    declared.map(|role| name(&role.name, NameKind::Role, "role")).collect()
}

fn recursions(context: &Context<'_>) -> Vec<Completion> {
    let around = context.file.index().recursions.iter();
    let around =
        around.filter(|found| found.body.start <= context.offset && context.offset <= found.body.end);
    // The innermost first: that is what is meant most often.
    let mut all: Vec<Completion> =
        around.map(|found| name(&found.name, NameKind::Recursion, "recursion")).collect();
    all.reverse();
    all
}

fn protocols(context: &Context<'_>) -> Vec<Completion> {
    let index = context.file.index();
    let mut all: Vec<Completion> =
        index.protocols.iter().map(|protocol| name(&protocol.name, NameKind::Protocol, "protocol")).collect();
    for (module, alias) in &index.imports {
        let Some(other) = context.workspace.module(module) else { continue };
        let short = alias.as_deref().or(module.rsplit('.').next()).unwrap_or(module);
        for protocol in &other.index().protocols {
            let qualified: Arc<str> = format!("{short}.{}", protocol.name).into();
            all.push(name(&qualified, NameKind::Protocol, module));
        }
    }
    all
}

fn modules(context: &Context<'_>) -> Vec<Completion> {
    let own = context.file.index().module.as_ref();
    let others = context.workspace.files().filter_map(|file| file.index().module.as_ref());
    others
        .filter(|module| Some(*module) != own)
        .map(|module| name(module, NameKind::Module, "module"))
        .collect()
}

fn types(context: &Context<'_>) -> Vec<Completion> {
    let index = context.file.index();
    let scopes = [Some(ScopeId::FILE), scope(context)];
    let declared = scopes.into_iter().flatten().flat_map(|scope| index.declared(NameKind::Type, scope));
    let mut all: Vec<Completion> = declared.map(|ty| name(&ty.name, NameKind::Type, "type")).collect();
    all.extend(payload::NAMES.iter().map(|ty| Completion {
        label: (*ty).to_owned(),
        insert: (*ty).to_owned(),
        kind: CompletionKind::BuiltinType,
        detail: String::new(),
    }));
    all
}

/// Fields that messages had so far, functions, external predicates.
fn condition(context: &Context<'_>) -> Vec<Completion> {
    let index = context.file.index();
    let mut all: Vec<Completion> = own_fields(context);
    if let Some(scope) = scope(context) {
        let earlier = index.declared(NameKind::Field, scope).filter(|field| field.span.end < context.offset);
        let mut fields: Vec<Completion> =
            earlier.map(|field| name(&field.name, NameKind::Field, "field")).collect();
        // The fields of this message and of the last ones first.
        fields.reverse();
        all.extend(fields);
    }
    let externals = index.declared(NameKind::Function, ScopeId::FILE);
    all.extend(externals.map(|function| name(&function.name, NameKind::Function, "external predicate")));
    all.extend(Function::ALL.iter().map(|function| Completion {
        label: function.name().to_owned(),
        insert: function.name().to_owned(),
        kind: CompletionKind::BuiltinFunction,
        detail: signature::builtin(*function).0.to_owned(),
    }));
    all
}

/// The fields of the message being written, which the parser does not know before the statement is complete.
fn own_fields(context: &Context<'_>) -> Vec<Completion> {
    let mut fields = Vec::new();
    let mut n = 1;
    while !matches!(context.back(n), "" | ";" | "{" | "}") {
        if context.back(n) == ":" && matches!(context.back(n + 2), "(" | ",") {
            fields.push(name(&context.back(n + 1).into(), NameKind::Field, "field"));
        }
        n += 1;
    }
    fields.reverse();
    fields
}

fn snippet(label: &str, insert: &str, detail: &str) -> Completion {
    let (label, insert, detail) = (label.to_owned(), insert.to_owned(), detail.to_owned());
    Completion { label, insert, kind: CompletionKind::Snippet, detail }
}

fn statements(context: &Context<'_>) -> Vec<Completion> {
    let mut all = vec![
        snippet("choice", "choice at ${1:role} {\n  $2\n} or {\n  $3\n}", "one role chooses"),
        snippet("par", "par {\n  $1\n} and {\n  $2\n}", "blocks side by side"),
        snippet("rec", "rec ${1:LOOP} {\n  $2\n  continue ${1:LOOP};\n}", "a loop"),
        snippet("message", "${1:Label}(${2:field}: ${3:string}) from ${4:role} to ${5:role};", "a message"),
        keyword("continue"),
        keyword("do"),
        keyword("open"),
        keyword("close"),
        keyword("or"),
        keyword("and"),
    ];
    if let Some(scope) = scope(context) {
        let labels = context.file.index().occurrences.iter();
        let typed = |found: &&crate::names::Occurrence| found.span.end != context.offset;
        let labels =
            labels.filter(|found| found.kind == NameKind::Label && found.scope == scope).filter(typed);
        all.extend(labels.map(|label| name(&label.name, NameKind::Label, "message label")));
    }
    all
}

fn declarations() -> Vec<Completion> {
    let mut all = vec![snippet(
        "protocol",
        "protocol ${1:Name}(role ${2:client}, role ${3:server}) {\n  $0\n}",
        "a protocol",
    )];
    all.push(snippet(
        "protocol per key",
        "protocol ${1:Call}(role ${2:client}, role ${3:server}) per ${4:id}: ${5:string} {\n  $0\n}",
        "a protocol that runs once for each value of a key",
    ));
    all.extend(["module", "import", "type", "external", "aux", "global", "explicit"].map(keyword));
    all
}
