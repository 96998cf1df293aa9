//! Event patterns as text.

use std::sync::Arc;

use referee_theory::property::{EventKind, EventPattern, Items, Pattern, Term, Value};

use super::{Printer, is_name, key, quoted};

impl Printer<'_> {
    pub(super) fn event(&mut self, event: &EventPattern) {
        match event.kind {
            None if event.keys.is_empty() => self.out.push('_'),
            None => self.keys(event),
            Some(EventKind::Exchange) => {
                self.role(&event.subject);
                self.out.push_str(" -> ");
                self.role(&event.object);
                self.out.push_str(" : ");
                self.role(&event.label);
                if let Pattern::Fields { positions, names, open } = &event.payload {
                    self.fields(positions, names, *open);
                }
                if !event.keys.is_empty() {
                    self.out.push(' ');
                    self.keys(event);
                }
            }
            Some(EventKind::Receive) => self.two(&event.subject, " ? ", &event.payload),
            Some(EventKind::Exit) => self.two(&event.subject, " ** ", &event.payload),
            Some(EventKind::Send) => {
                if event.subject != Pattern::Any {
                    self.term(&event.subject);
                    self.out.push_str(" : ");
                }
                self.two(&event.object, " ! ", &event.payload);
            }
            Some(EventKind::Fork) => self.started(event, " -> "),
            Some(EventKind::Init) => self.started(event, " <- "),
        }
    }

    fn two(&mut self, left: &Pattern, between: &str, right: &Pattern) {
        self.term(left);
        self.out.push_str(between);
        self.term(right);
    }

    fn started(&mut self, event: &EventPattern, arrow: &str) {
        self.two(&event.subject, arrow, &event.object);
        self.out.push_str(", ");
        self.function(&event.payload);
    }

    /// `{m, f, [a, b]}` as `m:f(a, b)`.
    pub(super) fn function(&mut self, payload: &Pattern) {
        let Pattern::Tuple(parts) = payload else { return };
        let [module, function, Pattern::List { front, .. }] = &**parts else { return };
        self.two(module, ":", function);
        self.out.push('(');
        self.separated(front, Self::term);
        self.out.push(')');
    }

    fn separated<T>(&mut self, parts: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            write(self, part);
        }
    }

    /// A role or label: names stand for themselves.
    fn role(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Literal(Value::String(name)) if is_name(name) => self.out.push_str(name),
            Pattern::Literal(term) => self.native_term(term.view()),
            Pattern::Bind(slot) => {
                let name = self.bind(*slot, false);
                self.out.push('$');
                self.out.push_str(&name);
            }
            Pattern::Test(slot) => {
                let name = format!("${}", self.name(*slot));
                self.out.push_str(&name);
            }
            _ => self.out.push('_'),
        }
    }

    fn fields(&mut self, positions: &[Pattern], names: &[(Arc<str>, Pattern)], open: bool) {
        self.out.push('(');
        self.separated(positions, Self::native);
        if !positions.is_empty() && (!names.is_empty() || open) {
            self.out.push_str(", ");
        }
        self.separated(names, |printer, (name, pattern)| {
            printer.out.push_str(name);
            printer.out.push_str(": ");
            printer.native(pattern);
        });
        if open && names.is_empty() {
            self.out.push_str("...");
        }
        self.out.push(')');
    }

    fn keys(&mut self, event: &EventPattern) {
        self.out.push('{');
        self.separated(&event.keys, |printer, (name, pattern)| {
            printer.out.push_str(&key(name));
            printer.out.push_str(": ");
            printer.native(pattern);
        });
        self.out.push('}');
    }

    /// A pattern where fields stand: names are variables.
    fn native(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Any | Pattern::Fields { .. } => self.out.push('_'),
            Pattern::Literal(term) => self.native_term(term.view()),
            Pattern::Bind(slot) => {
                let name = self.bind(*slot, false);
                self.out.push_str(&name);
            }
            Pattern::Test(slot) => {
                let name = self.name(*slot).to_owned();
                self.out.push_str(&name);
            }
            Pattern::Tuple(parts) => {
                self.out.push('(');
                self.separated(parts, Self::native);
                self.out.push(')');
            }
            Pattern::List { front, tail } => {
                self.out.push('[');
                self.separated(front, Self::native);
                if let Some(tail) = tail {
                    self.out.push_str(if front.is_empty() { "..." } else { ", ..." });
                    if **tail != Pattern::Any {
                        self.native(tail);
                    }
                }
                self.out.push(']');
            }
            Pattern::Record(members) => {
                self.out.push('{');
                self.separated(members, |printer, (name, pattern)| {
                    let name = if is_name(name) { name.to_string() } else { quoted(name) };
                    printer.out.push_str(&name);
                    printer.out.push_str(": ");
                    printer.native(pattern);
                });
                self.out.push('}');
            }
        }
    }

    fn native_term(&mut self, term: Term<'_>) {
        match term {
            Term::Atom(name) => {
                let text = quoted(name);
                let inner = text.get(1..text.len() - 1).unwrap_or_default().replace('\'', "\\'");
                self.out.push_str(&format!("'{inner}'"));
            }
            other => self.out.push_str(&other.to_string()),
        }
    }

    /// A pattern of Erlang's: capital letters make variables.
    pub(super) fn term(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Any | Pattern::Record(_) | Pattern::Fields { .. } => self.out.push('_'),
            // Only a string is a list that is a constant.
            Pattern::Literal(Value::List(items)) => {
                let text = characters(Items::Owned(items)).unwrap_or_default();
                self.out.push_str(&quoted(&text));
            }
            Pattern::Literal(term) => self.out.push_str(&term.view().to_string()),
            Pattern::Bind(slot) => {
                let name = self.bind(*slot, true);
                self.out.push_str(&name);
            }
            Pattern::Test(slot) => {
                let name = self.name(*slot).to_owned();
                self.out.push_str(&name);
            }
            Pattern::Tuple(parts) => {
                self.out.push('{');
                self.separated(parts, Self::term);
                self.out.push('}');
            }
            Pattern::List { front, tail } => {
                self.out.push('[');
                self.separated(front, Self::term);
                if let Some(tail) = tail {
                    self.out.push('|');
                    self.term(tail);
                }
                self.out.push(']');
            }
        }
    }
}

/// The string that is written for a list of characters.
pub(super) fn characters(items: Items<'_>) -> Option<String> {
    items
        .iter()
        .map(|item| match item {
            Term::Int(code) => u32::try_from(code).ok().and_then(char::from_u32),
            _ => None,
        })
        .collect()
}
