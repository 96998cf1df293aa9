//! How declarations and statements break into lines.
//!
//! What fits on one line stands on one line. Otherwise lists are broken at every comma, and a condition goes
//! to a line of its own. This depends on what is said only, never on how it was written.

use referee_theory::expr::{Expr, Node};

use super::keywords;
use crate::expr::Dialect;
use crate::scr::ast::{
    ExternalDeclaration, FieldSyntax, InterruptSyntax, MessageStatement, MessageSyntax, Module, Name,
    Protocol, RecParameter, SignatureDeclaration, SinceSyntax, Statement, StatementKind, TimesSyntax,
    TypeDeclaration, TypeSyntax, WithinSyntax, Written,
};
use crate::scr::written;

/// How many blanks a level is.
pub(super) const INDENT: usize = 2;

/// Lines are broken, where they can be, to have no more characters than this.
const WIDTH: usize = 100;

/// However deep a line is nested, it has room for so many characters.
const LEAST_ROOM: usize = 50;

/// A line, and how much deeper it is than the first.
pub(super) struct Line {
    pub(super) level: usize,
    pub(super) text: String,
}

fn line(text: impl Into<String>) -> Line {
    Line { level: 0, text: text.into() }
}

pub(super) struct Layout<'a> {
    text: &'a str,
    module: &'a Module,
}

impl<'a> Layout<'a> {
    pub(super) fn new(text: &'a str, module: &'a Module) -> Self {
        Self { text, module }
    }

    pub(super) fn pragmas(&self, first: usize, count: usize) -> Vec<Line> {
        let entries = self.module.pragmas.iter().skip(first).take(count).map(|pragma| match &pragma.value {
            Some(value) => format!("{}: {}", pragma.key.text, value.text),
            None => pragma.key.text.to_string(),
        });
        let entries: Vec<String> = entries.collect();
        vec![line(if entries.is_empty() {
            "(*# #*)".into()
        } else {
            format!("(*# {} #*)", entries.join(", "))
        })]
    }

    pub(super) fn module_name(&self) -> Vec<Line> {
        self.module.name.iter().map(|name| line(format!("module {};", name.text))).collect()
    }

    pub(super) fn import(&self, index: usize) -> Vec<Line> {
        vec![line(format!("import {};", self.renamed(&self.module.imports[index].name)))]
    }

    pub(super) fn type_declaration(&self, declaration: &TypeDeclaration) -> Vec<Line> {
        let name = &declaration.name.text;
        vec![line(match (&declaration.foreign, &declaration.definition) {
            (Some(foreign), _) => {
                format!("{} {} as {name};", declaration.keyword, written_elsewhere(foreign))
            }
            (None, Some(definition)) => {
                format!("{} {name} = {};", declaration.keyword, payload_type(definition))
            }
            (None, None) => format!("{} {name};", declaration.keyword),
        })]
    }

    pub(super) fn signature(&self, declaration: &SignatureDeclaration) -> Vec<Line> {
        vec![line(format!("sig {} as {};", written_elsewhere(&declaration.foreign), declaration.name.text))]
    }

    pub(super) fn external(&self, declaration: &ExternalDeclaration) -> Vec<Line> {
        let parameters = declaration.parameters.iter().map(payload_type).collect();
        let (name, result) = (&declaration.name.text, payload_type(&declaration.result));
        list(format!("external fn {name}("), parameters, &format!(") -> {result};"), 0)
    }

    /// A protocol's header, without its brace.
    pub(super) fn header(&self, protocol: &Protocol, level: usize) -> Vec<Line> {
        let mut start = format!("{} {}", keywords(protocol), protocol.name.text);
        if !protocol.parameters.is_empty() {
            let parameters = protocol
                .parameters
                .iter()
                .map(|parameter| format!("{} {}", parameter.keyword, self.renamed(&parameter.name)));
            start = format!("{start}<{}>", parameters.collect::<Vec<_>>().join(", "));
        }
        let mut roles: Vec<String> = self.roles(&protocol.roles);
        for (role, number) in &protocol.copied {
            roles[*role].push_str(&format!("[{}]", number.text));
        }
        if let (Some(last), false) = (roles.last_mut(), protocol.new_roles.is_empty()) {
            *last = format!("{last}; new {}", self.roles(&protocol.new_roles).join(", "));
        }
        let mut lines = list(format!("{start}("), roles, ")", level);
        if let (Some(annotation), Some(last)) = (&protocol.annotation, lines.last_mut()) {
            last.text = format!("{} @\"{}\"", last.text, annotation.text);
        }
        if let (Some(keyed), Some(last)) = (&protocol.keyed, lines.last_mut()) {
            last.text = format!("{} per {}: {}", last.text, keyed.field.text, payload_type(&keyed.ty));
        }
        lines
    }

    /// What stands behind the body of a protocol that can be interrupted.
    pub(super) fn interrupt(&self, interrupt: &InterruptSyntax) -> String {
        format!("interrupted by {} from {}", self.message_text(&interrupt.message), interrupt.from.text)
    }

    fn roles(&self, roles: &[Name]) -> Vec<String> {
        roles.iter().map(|role| format!("role {}", self.renamed(role))).collect()
    }

    /// The head of a choice, without its brace.
    pub(super) fn choice(&self, at: &Name, within: Option<&WithinSyntax>) -> Vec<Line> {
        let within = within.map(|within| format!(" {}", self.within(within)));
        vec![line(format!("choice at {}{}", at.text, within.unwrap_or_default()))]
    }

    /// The head of a `par`, without its brace.
    pub(super) fn par(&self) -> Vec<Line> {
        vec![line("par")]
    }

    fn within(&self, within: &WithinSyntax) -> String {
        let length = written::one_line(self.text, within.length.span, Dialect::Cel);
        match &within.since {
            None => format!("within {length}"),
            Some(SinceSyntax::Any) => format!("within {length} of any"),
            Some(SinceSyntax::Label(label)) => format!("within {length} of {}", label.text),
        }
    }

    /// The times of a message, each behind a blank.
    fn times(&self, times: &TimesSyntax) -> String {
        let after = times
            .after
            .as_ref()
            .map(|after| format!(" after {}", written::one_line(self.text, after.span, Dialect::Cel)));
        let within = times.within.as_ref().map(|within| format!(" {}", self.within(within)));
        after.into_iter().chain(within).collect()
    }

    /// The head of a recursion, without its brace.
    pub(super) fn rec(&self, name: &Name, parameters: &[RecParameter], level: usize) -> Vec<Line> {
        if parameters.is_empty() {
            return vec![line(format!("rec {}", name.text))];
        }
        let parameters = parameters.iter().map(|parameter| self.rec_parameter(parameter)).collect();
        list(format!("rec {} [", name.text), parameters, "]", level)
    }

    fn rec_parameter(&self, parameter: &RecParameter) -> String {
        let roles = match &parameter.roles[..] {
            [] => String::new(),
            roles => format!("<{}>", names(roles)),
        };
        let mut ty = payload_type(&parameter.ty);
        if let Some(refinement) = &parameter.refinement {
            ty = format!("{ty}{{{}}}", self.as_written(refinement));
        }
        if let Some(alias) = &parameter.alias {
            ty = format!("{}: {ty}", alias.text);
        }
        if parameter.alias.is_some() || parameter.refinement.is_some() {
            ty = format!("({ty})");
        }
        format!("{}{roles}: {ty} = {}", parameter.name.text, self.as_written(&parameter.initial))
    }

    /// A statement without blocks.
    pub(super) fn statement(&self, statement: &Statement, level: usize) -> Vec<Line> {
        let mut lines = match &statement.kind {
            StatementKind::Message(message) => self.message(message, level),
            StatementKind::Continue { name, arguments } if arguments.is_empty() => {
                vec![line(format!("continue {};", name.text))]
            }
            StatementKind::Continue { name, arguments } => {
                let arguments = arguments.iter().map(|argument| self.as_written(argument)).collect();
                list(format!("continue {} [", name.text), arguments, "];", level)
            }
            StatementKind::Do { protocol, arguments, roles } => {
                let mut start = format!("do {}", protocol.text);
                if !arguments.is_empty() {
                    let arguments: Vec<String> = arguments.iter().map(|a| self.do_argument(a)).collect();
                    start = format!("{start}<{}>", arguments.join(", "));
                }
                let roles = roles.iter().map(|role| self.renamed(role)).collect();
                list(format!("{start}("), roles, ");", level)
            }
            StatementKind::Calls { caller, protocol, roles } => {
                let roles = roles.iter().map(|role| self.renamed(role)).collect();
                list(format!("{} calls {}(", caller.text, protocol.text), roles, ");", level)
            }
            StatementKind::SubSession { opens, protocol, roles } => {
                let start = format!("{} {}", if *opens { "open" } else { "close" }, protocol.text);
                let roles: Vec<String> = roles.iter().map(|role| self.renamed(role)).collect();
                match &roles[..] {
                    [] => vec![line(format!("{start};"))],
                    _ => list(format!("{start}("), roles, ");", level),
                }
            }
            StatementKind::Connection { keyword, left, right } => {
                let between = if *keyword == "disconnect" { "and" } else { "to" };
                vec![line(format!("{keyword} {} {between} {};", left.text, right.text))]
            }
            // These have blocks.
            StatementKind::Choice { .. } | StatementKind::Par { .. } | StatementKind::Rec { .. } => {
                Vec::new()
            }
        };
        if let (Some(annotation), Some(last)) = (&statement.annotation, lines.last_mut()) {
            last.text = format!("{} @\"{}\"", last.text, annotation.text);
        }
        lines
    }

    fn do_argument(&self, argument: &MessageSyntax) -> String {
        let message = self.message_text(argument);
        match self.renaming(&argument.label) {
            Some((_, inside)) => format!("{message} as {inside}"),
            None => message,
        }
    }

    fn message_text(&self, message: &MessageSyntax) -> String {
        match &message.payload {
            Some(fields) => format!("{}({})", message.label.text, self.fields(fields).join(", ")),
            None => message.label.text.to_string(),
        }
    }

    fn fields(&self, fields: &[FieldSyntax]) -> Vec<String> {
        fields.iter().map(|field| self.field(field)).collect()
    }

    fn field(&self, field: &FieldSyntax) -> String {
        let mut text = payload_type(&field.ty);
        if let Some(name) = &field.name {
            text = format!("{}: {text}", name.text);
        }
        if let Some(refinement) = &field.refinement {
            text = format!("{text}{{{}}}", self.as_written(refinement));
        }
        text
    }

    fn message(&self, statement: &MessageStatement, level: usize) -> Vec<Line> {
        let keyword = if statement.connects { "connect" } else { "from" };
        let start = format!("{keyword} {} to", statement.from.text);
        let times = statement.times.as_ref().map(|times| self.times(times)).unwrap_or_default();
        let route = format!("{start} {}{times}", names(&statement.to));
        let condition = statement.condition.as_ref().map(|condition| format!("where {condition}"));
        let payload = self.message_text(&statement.message);
        let end = if condition.is_none() { ";" } else { "" };
        let mut lines = vec![line(format!("{payload} {route}{end}"))];
        if !fits(&lines, "", level) {
            lines = match &statement.message.payload {
                Some(fields) if !fits(&[line(format!("{payload} {start}"))], "", level) => {
                    let label = &statement.message.label.text;
                    list(format!("{label}("), self.fields(fields), ")", level)
                }
                _ => vec![line(payload)],
            };
            append(&mut lines, &format!(" {start}"));
            receivers(&mut lines, &statement.to, &format!("{times}{end}"), level);
        }
        if let (Some(text), Some(expr)) = (condition, &statement.condition) {
            if fits(&lines, &format!(" {text};"), level) {
                append(&mut lines, &format!(" {text};"));
            } else if text.chars().count() < room(level + 1) {
                lines.push(Line { level: 1, text: format!("{text};") });
            } else {
                lines.extend(broken(expr));
            }
        }
        lines
    }

    /// An expression in its own dialect.
    fn as_written(&self, written: &Written) -> String {
        written::one_line(self.text, written.span, Dialect::NuScr)
    }

    /// A name, with the other name that is given beside it: `A as B`.
    fn renamed(&self, name: &Name) -> String {
        match self.renaming(name) {
            Some((outside, inside)) => format!("{outside} as {inside}"),
            None => name.text.to_string(),
        }
    }

    fn renaming(&self, name: &Name) -> Option<(&str, &str)> {
        let renamings = &self.module.renamings;
        let index = renamings.partition_point(|renaming| renaming.inside.span < name.span);
        let found = renamings.get(index)?;
        let is_this = found.outside.span == name.span || found.inside.span == name.span;
        is_this.then_some((&found.outside.text, &found.inside.text))
    }
}

fn names(names: &[Name]) -> String {
    names.iter().map(|name| &*name.text).collect::<Vec<_>>().join(", ")
}

fn written_elsewhere([schema, name, file]: &[Name; 3]) -> String {
    format!("<{}> \"{}\" from \"{}\"", schema.text, name.text, file.text)
}

/// A type. Its depth is bounded by the parser.
fn payload_type(ty: &TypeSyntax) -> String {
    match ty {
        TypeSyntax::Named(name) => name.text.to_string(),
        TypeSyntax::List(element, _) => format!("list<{}>", payload_type(element)),
        TypeSyntax::Tuple(parts, _) => match &parts[..] {
            [only] => format!("({},)", payload_type(only)),
            parts => format!("({})", parts.iter().map(payload_type).collect::<Vec<_>>().join(", ")),
        },
        TypeSyntax::Record(fields, _) => {
            let fields = fields.iter().map(|(name, ty)| format!("{}: {}", name.text, payload_type(ty)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        TypeSyntax::Delegation(protocol, role) => format!("{}@{}", protocol.text, role.text),
    }
}

/// How many characters a line at `level` may have.
fn room(level: usize) -> usize {
    WIDTH.saturating_sub(INDENT * level).max(LEAST_ROOM)
}

/// Whether the last line has room for `more`.
fn fits(lines: &[Line], more: &str, level: usize) -> bool {
    lines
        .last()
        .is_none_or(|last| last.text.chars().count() + more.chars().count() <= room(level + last.level))
}

fn append(lines: &mut [Line], more: &str) {
    if let Some(last) = lines.last_mut() {
        last.text.push_str(more);
    }
}

/// `start`, `parts` between commas and `end`, on one line or with every part on its own.
fn list(start: String, parts: Vec<String>, end: &str, level: usize) -> Vec<Line> {
    let whole = vec![line(format!("{start}{}{end}", parts.join(", ")))];
    // A brace may follow.
    if parts.is_empty() || fits(&whole, " {", level) {
        return whole;
    }
    let last = parts.len() - 1;
    let mut lines = vec![line(start)];
    lines.extend(parts.into_iter().enumerate().map(|(index, part)| {
        let text = if index < last { part + "," } else { part };
        Line { level: 1, text }
    }));
    lines.push(line(end));
    lines
}

/// Adds the receivers of a message, as many to a line as fit.
fn receivers(lines: &mut Vec<Line>, receivers: &[Name], end: &str, level: usize) {
    for (index, receiver) in receivers.iter().enumerate() {
        let comma = if index + 1 < receivers.len() { "," } else { end };
        let text = format!(" {}{comma}", receiver.text);
        if index == 0 || fits(lines, &text, level) {
            append(lines, &text);
        } else {
            lines.push(Line { level: 2, text: text.trim_start().to_owned() });
        }
    }
}

/// A condition that does not fit on a line: one operand of its outermost operator per line.
fn broken(expr: &Expr) -> Vec<Line> {
    let (operands, operator) = match expr.node() {
        Node::And(operands) => (operands, "&&"),
        Node::Or(operands) => (operands, "||"),
        _ => return vec![Line { level: 1, text: format!("where {expr};") }],
    };
    let last = operands.len() - 1;
    let one = |(index, operand): (usize, &Expr)| {
        let looser = match operand.node() {
            Node::Conditional(_) => true,
            Node::Or(_) => operator == "&&",
            _ => false,
        };
        let text = if looser { format!("({operand})") } else { operand.to_string() };
        let end = if index == last { ";" } else { "" };
        match index {
            0 => Line { level: 1, text: format!("where {text}{end}") },
            _ => Line { level: 2, text: format!("{operator} {text}{end}") },
        }
    };
    operands.iter().enumerate().map(one).collect()
}
