//! One line: which rule it matches, and the event that it becomes.

use crate::members::{Members, members};
use crate::source::{EventRule, FieldType, Source};
use crate::template::Template;

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// An event, by the rule with this number.
    Event(usize),
    /// A rule matched, but a part of the event could not be read. What was written says that an event was lost.
    Unreadable(usize),
    /// No rule is about this line.
    Unmatched,
}

/// Stands for a byte that is not UTF-8: what it is in cannot be read.
const NOT_UTF8: char = '\u{1a}';

/// Extracts events, with what it reuses between lines.
#[derive(Debug)]
pub struct Extractor<'s> {
    source: &'s Source,
    scratch: String,
}

impl<'s> Extractor<'s> {
    /// An extractor by `source`.
    #[must_use]
    pub fn new(source: &'s Source) -> Self {
        Self { source, scratch: String::new() }
    }

    /// Appends the event in `line` to `out` as one JSON object, without a line end. Nothing is written for a line that no
    /// rule is about.
    pub fn line(&mut self, line: &str, out: &mut String) -> Extracted {
        let source = self.source;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let Some((mut found, subject)) = members(source.format, source.prefix.as_ref(), line) else {
            return Extracted::Unmatched;
        };
        let common = found.len();
        for (number, rule) in source.rules.iter().enumerate() {
            found.truncate(common);
            // Members of a rule are found in texts that the line's members own: they are kept apart.
            let mut own: Vec<(String, String)> = Vec::new();
            if !applies(rule, &found, &subject, &mut own) {
                continue;
            }
            for (name, value) in own {
                found.add(name, value);
            }
            let start = out.len();
            if self.write(rule, &found, out) {
                return Extracted::Event(number);
            }
            out.truncate(start);
            self.write_lost(rule, &found, out);
            return Extracted::Unreadable(number);
        }
        Extracted::Unmatched
    }

    /// Writes the event; false if a part of it is missing or not what it should be.
    fn write(&mut self, rule: &EventRule, members: &Members<'_>, out: &mut String) -> bool {
        out.push('{');
        let parts = [
            ("session", &rule.session),
            ("label", &rule.label),
            ("from", &rule.from),
            ("to", &rule.to),
            ("end", &rule.end),
        ];
        for (name, template) in parts {
            if let Some(template) = template
                && !(rule.end.is_some() && matches!(name, "from" | "to"))
                && !self.part(name, template, members, out)
            {
                return false;
            }
        }
        if let Some((template, format)) = &self.source.time {
            self.scratch.clear();
            // An event without its time is an event: only its place is in doubt.
            if template.fill(members, &mut self.scratch)
                && let Some(time) = format.read(&self.scratch)
            {
                comma(out);
                *out += &format!("\"time\":{time}");
            }
        }
        if rule.label.is_some() && !rule.fields.is_empty() {
            comma(out);
            out.push_str("\"payload\":{");
            for (name, ty) in &rule.fields {
                let Some(value) = members.get(name) else { return false };
                comma(out);
                quote(name, out);
                out.push(':');
                if !field(value, *ty, out) {
                    return false;
                }
            }
            out.push('}');
        }
        out.push('}');
        true
    }

    fn part(&mut self, name: &str, template: &Template, members: &Members<'_>, out: &mut String) -> bool {
        self.scratch.clear();
        if !template.fill(members, &mut self.scratch) || self.scratch.contains(NOT_UTF8) {
            return false;
        }
        comma(out);
        quote(name, out);
        out.push(':');
        quote(&self.scratch, out);
        true
    }

    /// Says that an event was here, and whose, as far as that is known.
    fn write_lost(&mut self, rule: &EventRule, members: &Members<'_>, out: &mut String) {
        let start = out.len();
        out.push('{');
        if let Some(template) = &rule.session
            && !self.part("session", template, members, out)
        {
            // Whose it was is not known either.
            out.truncate(start);
            out.push_str("{\"session\":[]");
        }
        comma(out);
        out.push_str("\"label\":[]}");
    }
}

/// Whether all conditions of `rule` hold; the named groups of its patterns go to `own`.
fn applies(rule: &EventRule, members: &Members<'_>, subject: &str, own: &mut Vec<(String, String)>) -> bool {
    rule.conditions.iter().all(|(member, pattern)| {
        let text = match member {
            None => Some(subject),
            Some(name) => members.get(name),
        };
        let Some(text) = text else { return false };
        if pattern.names.is_empty() {
            return pattern.regex.is_match(text);
        }
        let mut captures = pattern.regex.create_captures();
        pattern.regex.captures(text, &mut captures);
        for (index, name) in &pattern.names {
            if let Some(span) = captures.get_group(*index) {
                own.push((name.clone(), text.get(span.range()).unwrap_or_default().to_owned()));
            }
        }
        captures.is_match()
    })
}

fn comma(out: &mut String) {
    if !out.ends_with(['{', ',']) {
        out.push(',');
    }
}

/// Writes a field; false if it is not of its type.
fn field(text: &str, ty: FieldType, out: &mut String) -> bool {
    match ty {
        _ if text.contains(NOT_UTF8) => false,
        FieldType::String => {
            quote(text, out);
            true
        }
        FieldType::Int => text.parse::<i64>().map(|value| *out += &value.to_string()).is_ok(),
        FieldType::Float => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                *out += &format!("{value:?}");
                true
            }
            _ => false,
        },
        FieldType::Bool => match text {
            "true" | "false" => {
                out.push_str(text);
                true
            }
            _ => false,
        },
    }
}

/// Appends `text` as a JSON string.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    let special = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\');
    if !text.bytes().any(special) {
        out.push_str(text);
    } else {
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                c if u32::from(c) < 0x20 => *out += &format!("\\u{:04x}", u32::from(c)),
                c => out.push(c),
            }
        }
    }
    out.push('"');
}
