//! The names of `.scr` texts, from the tree that the parser makes of them.

use std::sync::Arc;

use referee_syntax::Span;
use referee_syntax::payload;
use referee_syntax::scr::ast::{
    Block, FieldSyntax, MessageSyntax, Module, Name, Protocol, ProtocolKind, RecParameter, SinceSyntax,
    Statement, StatementKind, TypeSyntax, WithinSyntax, Written,
};
use referee_syntax::scr::parse_module;
use referee_theory::expr::{Expr, Node};
use rustc_hash::FxHashSet;

use super::{Index, Link, NameKind, Occurrence, ProtocolScope, RecursionScope, ScopeId, Symbol};

pub(super) fn index(text: &str) -> Index {
    let (module, _) = parse_module(text);
    let mut walk = Walk {
        text,
        module: &module,
        index: Index::default(),
        scopes: 0,
        signatures: module.signatures.iter().map(|signature| &*signature.name.text).collect(),
        types: module.types.iter().map(|declared| &*declared.name.text).collect(),
        recursions: Vec::new(),
    };
    walk.declarations();
    for protocol in &module.protocols {
        let symbol = walk.protocol(protocol, &[]);
        walk.index.symbols.push(symbol);
    }
    walk.index.symbols.sort_by_key(|symbol| symbol.span);
    walk.index
}

struct Walk<'a> {
    text: &'a str,
    module: &'a Module,
    index: Index,
    scopes: u32,
    signatures: FxHashSet<&'a str>,
    types: FxHashSet<&'a str>,
    /// The recursions around the statement.
    recursions: Vec<(&'a str, ScopeId)>,
}

/// The protocol around a statement.
struct Here<'a> {
    scope: ScopeId,
    protocol: &'a Protocol,
    /// The scopes of the protocols around it, the outermost first, its own last.
    around: Vec<(ScopeId, &'a Protocol)>,
}

/// What is left to do of nested statements.
enum Step<'a> {
    Statements(&'a Block, usize),
    Leave,
}

impl<'a> Walk<'a> {
    fn scope(&mut self) -> ScopeId {
        self.scopes += 1;
        ScopeId(self.scopes)
    }

    fn declarations(&mut self) {
        let module = self.module;
        if let Some(name) = &module.name {
            self.index.module = Some(Arc::clone(&name.text));
            self.whole(NameKind::Module, name, true);
        }
        for import in &module.imports {
            let alias = import.alias.as_ref().map(|alias| Arc::clone(&alias.text));
            self.index.imports.push((Arc::clone(&import.name.text), alias));
            self.whole(NameKind::Module, &import.name, false);
        }
        for declared in &module.types {
            self.declare(NameKind::Type, &declared.name, ScopeId::FILE);
            if let Some(definition) = &declared.definition {
                self.ty(definition, None);
            }
            self.symbol(NameKind::Type, &declared.name, declared.span);
        }
        for signature in &module.signatures {
            self.declare(NameKind::Signature, &signature.name, ScopeId::FILE);
        }
        for external in &module.externals {
            self.whole(NameKind::Function, &external.name, true);
            for ty in external.parameters.iter().chain([&external.result]) {
                self.ty(ty, None);
            }
            self.symbol(NameKind::Function, &external.name, external.span);
        }
    }

    fn symbol(&mut self, kind: NameKind, name: &Name, span: Span) {
        let symbol = Symbol {
            name: Arc::clone(&name.text),
            kind,
            detail: String::new(),
            span: span.to(name.span),
            selection: name.span,
            children: Vec::new(),
        };
        self.index.symbols.push(symbol);
    }

    /// A name that is one with its dots.
    fn whole(&mut self, kind: NameKind, name: &Name, declares: bool) {
        self.index.add(kind, Arc::clone(&name.text), name.span, ScopeId::FILE, declares);
    }

    fn declare(&mut self, kind: NameKind, name: &Name, scope: ScopeId) {
        if !name.text.is_empty() {
            self.index.add(kind, Arc::clone(&name.text), name.span, scope, true);
        }
    }

    fn mention(&mut self, kind: NameKind, name: &Name, scope: ScopeId) {
        if !name.text.is_empty() {
            self.index.add(kind, Arc::clone(&name.text), name.span, scope, false);
        }
    }

    /// What may be declared in another file: `a.b.Other.P`.
    fn qualified(&mut self, kind: NameKind, name: &Name, scope: ScopeId) -> (Option<Arc<str>>, Arc<str>) {
        let Some((prefix, last)) = name.text.rsplit_once('.') else {
            self.mention(kind, name, scope);
            return (None, Arc::clone(&name.text));
        };
        let module = self.imported(prefix);
        let last: Arc<str> = last.into();
        let end = name.span.end as usize;
        let span = Span::new(end - last.len().min(end), end);
        self.index.occurrences.push(Occurrence {
            kind,
            name: Arc::clone(&last),
            span,
            scope: ScopeId::FILE,
            module: module.clone(),
            declares: false,
        });
        (module, last)
    }

    /// The module that `prefix` means here; `None` for this file.
    fn imported(&self, prefix: &str) -> Option<Arc<str>> {
        if self.index.module.as_deref() == Some(prefix) {
            return None;
        }
        let is_meant = |(module, alias): &&(Arc<str>, Option<Arc<str>>)| {
            alias.as_deref() == Some(prefix)
                || **module == *prefix
                || module.rsplit('.').next() == Some(prefix)
        };
        let found = self.index.imports.iter().find(is_meant).map(|(module, _)| Arc::clone(module));
        Some(found.unwrap_or_else(|| prefix.into()))
    }

    fn protocol(&mut self, protocol: &'a Protocol, around: &[(ScopeId, &'a Protocol)]) -> Symbol {
        let scope = self.scope();
        let outer = match protocol.kind {
            ProtocolKind::Nested => around.last().map_or(ScopeId::FILE, |(scope, _)| *scope),
            ProtocolKind::Global | ProtocolKind::Auxiliary => ScopeId::FILE,
        };
        self.declare(NameKind::Protocol, &protocol.name, outer);
        self.index.protocols.push(ProtocolScope {
            name: Arc::clone(&protocol.name.text),
            scope,
            header: protocol.header,
            span: protocol.span,
        });
        for parameter in &protocol.parameters {
            let kind = if parameter.is_signature { NameKind::Signature } else { NameKind::Type };
            self.declare(kind, &parameter.name, scope);
        }
        for role in protocol.roles.iter().chain(&protocol.new_roles) {
            self.declare(NameKind::Role, role, scope);
        }
        let around: Vec<_> = around.iter().copied().chain([(scope, protocol)]).collect();
        let mut children: Vec<Symbol> =
            protocol.nested.iter().map(|nested| self.protocol(nested, &around)).collect();
        let here = Here { scope, protocol, around };
        self.body(&here, &mut children);
        if let Some(keyed) = &protocol.keyed {
            self.mention(NameKind::Field, &keyed.field, scope);
            self.ty(&keyed.ty, Some(&here));
            if let Some(interrupt) = &keyed.interrupt {
                self.message(&interrupt.message, &here);
                self.mention(NameKind::Role, &interrupt.from, scope);
            }
        }
        let roles: Vec<&str> = protocol.roles.iter().map(|role| &*role.text).collect();
        Symbol {
            name: Arc::clone(&protocol.name.text),
            kind: NameKind::Protocol,
            detail: roles.join(", "),
            span: protocol.span,
            selection: protocol.name.span,
            children,
        }
    }

    fn body(&mut self, here: &Here<'a>, children: &mut Vec<Symbol>) {
        let mut steps = vec![Step::Statements(&here.protocol.body, 0)];
        while let Some(step) = steps.pop() {
            let Step::Statements(block, at) = step else {
                self.recursions.pop();
                continue;
            };
            let Some(id) = block.statements.get(at) else { continue };
            steps.push(Step::Statements(block, at + 1));
            let Some(statement) = self.module.statements.get(id.index()) else { continue };
            self.statement(statement, here);
            match &statement.kind {
                StatementKind::Choice { branches, .. } => {
                    steps.extend(branches.iter().rev().map(|branch| Step::Statements(branch, 0)));
                }
                StatementKind::Par { blocks } => {
                    steps.extend(blocks.iter().rev().map(|block| Step::Statements(block, 0)));
                }
                StatementKind::Rec { name, body, .. } => {
                    let scope = self.scope();
                    self.declare(NameKind::Recursion, name, scope);
                    self.recursions.push((&name.text, scope));
                    self.index
                        .recursions
                        .push(RecursionScope { name: Arc::clone(&name.text), body: body.span });
                    children.push(Symbol {
                        name: Arc::clone(&name.text),
                        kind: NameKind::Recursion,
                        detail: String::new(),
                        span: statement.span.to(body.span),
                        selection: name.span,
                        children: Vec::new(),
                    });
                    steps.push(Step::Leave);
                    steps.push(Step::Statements(body, 0));
                }
                _ => {}
            }
        }
    }

    fn statement(&mut self, statement: &'a Statement, here: &Here<'a>) {
        let scope = here.scope;
        match &statement.kind {
            StatementKind::Message(message) => {
                self.message(&message.message, here);
                for role in [&message.from].into_iter().chain(&message.to) {
                    self.mention(NameKind::Role, role, scope);
                }
                if let Some(times) = &message.times {
                    times.after.iter().for_each(|after| self.written(after, scope));
                    times.within.iter().for_each(|within| self.within(within, here));
                }
                for condition in [&message.condition, &message.annotation].into_iter().flatten() {
                    self.expr(condition, scope);
                }
            }
            StatementKind::Choice { at, within, .. } => {
                self.mention(NameKind::Role, at, scope);
                within.iter().for_each(|within| self.within(within, here));
            }
            StatementKind::Par { .. } => {}
            StatementKind::Rec { parameters, .. } => {
                parameters.iter().for_each(|parameter| self.rec_parameter(parameter, here));
            }
            StatementKind::Continue { name, arguments } => {
                let found = self.recursions.iter().rev().find(|(known, _)| *known == &*name.text);
                let target = found.map_or(ScopeId::NONE, |(_, scope)| *scope);
                self.mention(NameKind::Recursion, name, target);
                arguments.iter().for_each(|argument| self.written(argument, scope));
            }
            StatementKind::Do { protocol, arguments, roles } => {
                let (module, name) = self.qualified(NameKind::Protocol, protocol, ScopeId::FILE);
                self.index.links.push(Link { from: scope, module, name });
                arguments.iter().for_each(|argument| self.argument(argument, here));
                roles.iter().for_each(|role| self.mention(NameKind::Role, role, scope));
            }
            StatementKind::Calls { caller, protocol, roles } => {
                let declares = |(_, around): &&(ScopeId, &Protocol)| {
                    around.nested.iter().any(|nested| nested.name.text == protocol.text)
                };
                let found =
                    here.around.iter().rev().find(declares).map_or(ScopeId::FILE, |(scope, _)| *scope);
                self.mention(NameKind::Protocol, protocol, found);
                self.index.links.push(Link { from: scope, module: None, name: Arc::clone(&protocol.text) });
                for role in [caller].into_iter().chain(roles) {
                    self.mention(NameKind::Role, role, scope);
                }
            }
            StatementKind::SubSession { protocol, roles, .. } => {
                let (module, name) = self.qualified(NameKind::Protocol, protocol, ScopeId::FILE);
                self.index.links.push(Link { from: scope, module, name });
                roles.iter().for_each(|role| self.mention(NameKind::Role, role, scope));
            }
            StatementKind::Connection { left, right, .. } => {
                self.mention(NameKind::Role, left, scope);
                self.mention(NameKind::Role, right, scope);
            }
        }
    }

    fn message(&mut self, message: &MessageSyntax, here: &Here<'_>) {
        match &message.payload {
            None if self.is_signature(&message.label.text, here) => self.signature(&message.label, here),
            None if message.label.text.contains('.') => {
                self.qualified(NameKind::Signature, &message.label, ScopeId::FILE);
            }
            payload => {
                self.mention(NameKind::Label, &message.label, here.scope);
                payload.iter().flatten().for_each(|field| self.field(field, here));
            }
        }
    }

    fn within(&mut self, within: &WithinSyntax, here: &Here<'_>) {
        self.written(&within.length, here.scope);
        match &within.since {
            Some(SinceSyntax::Label(name)) if self.is_signature(&name.text, here) => {
                self.signature(name, here)
            }
            Some(SinceSyntax::Label(name)) => self.mention(NameKind::Label, name, here.scope),
            Some(SinceSyntax::Any) | None => {}
        }
    }

    /// What is given for a parameter of a protocol: a type, a signature or a message.
    fn argument(&mut self, argument: &MessageSyntax, here: &Here<'_>) {
        let name = &argument.label.text;
        if argument.payload.is_some() || self.is_signature(name, here) {
            self.message(argument, here);
        } else {
            self.ty(&TypeSyntax::Named(argument.label.clone()), Some(here));
        }
    }

    fn is_signature(&self, name: &str, here: &Here<'_>) -> bool {
        self.signatures.contains(name) || parameter(here, name, true)
    }

    fn signature(&mut self, name: &Name, here: &Here<'_>) {
        let scope = if parameter(here, &name.text, true) { here.scope } else { ScopeId::FILE };
        self.mention(NameKind::Signature, name, scope);
    }

    fn field(&mut self, field: &FieldSyntax, here: &Here<'_>) {
        if let Some(name) = &field.name {
            self.declare(NameKind::Field, name, here.scope);
        }
        self.ty(&field.ty, Some(here));
        if let Some(refinement) = &field.refinement {
            self.written(refinement, here.scope);
        }
    }

    fn rec_parameter(&mut self, parameter: &RecParameter, here: &Here<'_>) {
        for name in [Some(&parameter.name), parameter.alias.as_ref()].into_iter().flatten() {
            self.declare(NameKind::Field, name, here.scope);
        }
        parameter.roles.iter().for_each(|role| self.mention(NameKind::Role, role, here.scope));
        self.ty(&parameter.ty, Some(here));
        for written in parameter.refinement.iter().chain([&parameter.initial]) {
            self.written(written, here.scope);
        }
    }

    fn ty(&mut self, ty: &TypeSyntax, here: Option<&Here<'_>>) {
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            match ty {
                TypeSyntax::Named(name) => {
                    let own = here.filter(|here| parameter(here, &name.text, false));
                    if own.is_none()
                        && !self.types.contains(&*name.text)
                        && payload::builtin(&name.text).is_some()
                    {
                        continue;
                    }
                    self.qualified(NameKind::Type, name, own.map_or(ScopeId::FILE, |here| here.scope));
                }
                TypeSyntax::List(element, _) => stack.push(element),
                TypeSyntax::Tuple(parts, _) => stack.extend(parts),
                TypeSyntax::Record(fields, _) => stack.extend(fields.iter().map(|(_, ty)| ty)),
                TypeSyntax::Delegation(protocol, _) => {
                    self.qualified(NameKind::Protocol, protocol, ScopeId::FILE);
                }
            }
        }
    }

    fn written(&mut self, written: &Written, scope: ScopeId) {
        self.expr(&written.expr, scope);
    }

    /// Variables and external predicates of an expression.
    fn expr(&mut self, expr: &Expr, scope: ScopeId) {
        let mut stack = vec![expr];
        while let Some(expr) = stack.pop() {
            let found = match expr.node() {
                Node::Variable(name) => Some((NameKind::Field, name, scope)),
                Node::External { name, .. } => Some((NameKind::Function, name, ScopeId::FILE)),
                _ => None,
            };
            if let Some((kind, name, scope)) = found {
                let start = expr.place().start as usize;
                let span = Span::new(start, start.saturating_add(name.len()));
                // Names between backquotes, or with blanks around their dots, are left alone.
                if self.text.get(span.range()) == Some(&**name) {
                    self.index.add(kind, Arc::clone(name), span, scope, false);
                }
            }
            stack.extend(expr.node().children());
        }
    }
}

/// Whether `name` is a parameter of the protocol around.
fn parameter(here: &Here<'_>, name: &str, is_signature: bool) -> bool {
    let mut parameters = here.protocol.parameters.iter();
    parameters.any(|parameter| parameter.is_signature == is_signature && &*parameter.name.text == name)
}
