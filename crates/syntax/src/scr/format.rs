//! The canonical layout of `.scr` text: what `referee fmt` writes.
//!
//! One statement per line, two blanks per level, at most 100 columns where a line can be broken, at most one
//! blank line between statements and exactly one around protocols. Comments stay where they are: before
//! what they precede, behind what they follow, in the block they stand in; one inside a statement or a header
//! moves to the line before it. `where` conditions are printed in canonical form; refinements, recursion data
//! and annotations keep the dialect they are written in.
//!
//! Formatting what was formatted changes nothing, and reading it gives the same [`Module`], places apart.
//!
//! `page` puts lines and comments on the page; `layout` decides how statements break into lines.

use super::ast::{
    Block, InterruptSyntax, Item, ItemKind, Module, Protocol, ProtocolKind, Statement, StatementKind,
};
use super::parser;
use crate::diagnostics::Diagnostic;
use crate::language::Language;
use crate::repair;

mod layout;
mod page;

use layout::Layout;
use page::Page;

/// `text` in canonical layout.
///
/// # Errors
/// What is wrong with the syntax: text that could not be understood is not touched. Mistakes beyond the
/// syntax, such as unknown roles, do not matter here.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (module, mut diagnostics) = parser::parse(text);
    diagnostics.retain(Diagnostic::is_error);
    if !diagnostics.is_empty() {
        return Err(repair::syntax_errors(text, Language::Scr, diagnostics));
    }
    let mut formatter = Formatter {
        module: &module,
        layout: Layout::new(text, &module),
        page: Page::new(text, &module.comments),
    };
    formatter.module();
    Ok(formatter.page.finish())
}

struct Formatter<'a> {
    module: &'a Module,
    layout: Layout<'a>,
    page: Page<'a>,
}

/// A block that is being printed, and the branches that follow it in its choice, or the blocks in its `par`.
struct Frame<'a> {
    block: &'a Block,
    next: usize,
    branches: &'a [Block],
    /// What stands between them.
    word: &'static str,
}

impl<'a> Formatter<'a> {
    fn module(&mut self) {
        let mut last = None;
        for item in &self.module.items {
            // Protocols stand apart, and so do groups of different declarations.
            let together = last.is_none_or(|last| same_group(last, item.kind));
            if !together || matches!(item.kind, ItemKind::Protocol(_)) {
                self.page.owe_blank_line();
            }
            self.item(item);
            last = Some(item.kind);
        }
    }

    fn item(&mut self, item: &Item) {
        let end = item.span.end as usize;
        let lines = match item.kind {
            ItemKind::Protocol(index) => return self.protocol(&self.module.protocols[index]),
            ItemKind::Pragmas(first, count) => self.layout.pragmas(first, count),
            ItemKind::Name => self.layout.module_name(),
            ItemKind::Import(index) => self.layout.import(index),
            ItemKind::Type(index) => self.layout.type_declaration(&self.module.types[index]),
            ItemKind::Signature(index) => self.layout.signature(&self.module.signatures[index]),
            ItemKind::External(index) => self.layout.external(&self.module.externals[index]),
        };
        self.page.begin(item.span.start as usize, end);
        self.page.write(&lines);
        self.page.complete(end);
    }

    /// Recursion is bounded: the parser limits how deep protocols are declared in one another.
    fn protocol(&mut self, protocol: &'a Protocol) {
        let brace = protocol.body.span.start as usize + 1;
        let header = self.layout.header(protocol, self.page.level());
        self.page.begin(protocol.span.start as usize, brace);
        self.page.write(&header);
        self.page.open(brace);
        for nested in &protocol.nested {
            self.page.owe_blank_line();
            self.protocol(nested);
        }
        if !protocol.nested.is_empty() && !protocol.body.statements.is_empty() {
            self.page.owe_blank_line();
        }
        let keyed = protocol.keyed.as_deref();
        self.block(&protocol.body, keyed.and_then(|keyed| keyed.interrupt.as_ref()));
    }

    /// The statements of `block`, its closing brace and what stands behind it; its opening brace has been printed.
    fn block(&mut self, block: &'a Block, behind: Option<&InterruptSyntax>) {
        let mut stack = vec![Frame { block, next: 0, branches: &[], word: "" }];
        while let Some(mut frame) = stack.pop() {
            if let Some(id) = frame.block.statements.get(frame.next) {
                frame.next += 1;
                stack.push(frame);
                stack.extend(self.statement(&self.module.statements[id.index()]));
                continue;
            }
            let end = frame.block.span.end as usize;
            self.page.close(end);
            match frame.branches.split_first() {
                None => {
                    let behind = behind.filter(|_| stack.is_empty());
                    if let Some(interrupt) = behind {
                        let until = interrupt.span.end as usize;
                        self.page.behind(end, until, &self.layout.interrupt(interrupt));
                        self.page.complete(until);
                    } else {
                        self.page.complete(end);
                    }
                }
                Some((branch, branches)) => {
                    self.page.alternative(end, branch.span.start as usize + 1, frame.word);
                    stack.push(Frame { block: branch, branches, next: 0, ..frame });
                }
            }
        }
    }

    /// Prints `statement`; of one with blocks, the head, and returns the first block.
    fn statement(&mut self, statement: &'a Statement) -> Option<Frame<'a>> {
        let level = self.page.level();
        let mut word = "or";
        let (lines, block, branches): (_, _, &[Block]) = match &statement.kind {
            StatementKind::Par { blocks } => {
                let (first, rest) = blocks.split_first()?;
                word = "and";
                (self.layout.par(), first, rest)
            }
            StatementKind::Choice { at, within, branches } => {
                let (first, rest) = branches.split_first()?;
                (self.layout.choice(at, within.as_deref()), first, rest)
            }
            StatementKind::Rec { name, parameters, body } => {
                (self.layout.rec(name, parameters, level), body, &[])
            }
            _ => {
                let end = statement.span.end as usize;
                self.page.begin(statement.span.start as usize, end);
                self.page.write(&self.layout.statement(statement, level));
                self.page.complete(end);
                return None;
            }
        };
        let brace = block.span.start as usize + 1;
        self.page.begin(statement.span.start as usize, brace);
        self.page.write(&lines);
        self.page.open(brace);
        Some(Frame { block, next: 0, branches, word })
    }
}

/// Whether declarations may stand on adjacent lines: then blank lines between them are the author's.
fn same_group(last: ItemKind, next: ItemKind) -> bool {
    let is_type = |kind| matches!(kind, ItemKind::Type(_) | ItemKind::Signature(_));
    !matches!(last, ItemKind::Protocol(_))
        && (std::mem::discriminant(&last) == std::mem::discriminant(&next) || is_type(last) && is_type(next))
}

/// The keywords before a protocol's name.
fn keywords(protocol: &Protocol) -> String {
    let explicit = if protocol.explicit { "explicit " } else { "" };
    let (auxiliary, global) = match protocol.kind {
        ProtocolKind::Nested => ("", "nested "),
        ProtocolKind::Auxiliary => ("aux ", if protocol.global { "global " } else { "" }),
        ProtocolKind::Global => ("", if protocol.global { "global " } else { "" }),
    };
    format!("{auxiliary}{explicit}{global}protocol")
}
