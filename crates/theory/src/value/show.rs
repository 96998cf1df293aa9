//! Terms as users read them: atoms bare or quoted, text in double quotes, tuples in Erlang's braces.

use std::fmt::{self, Display, Formatter, Write};

use super::{Items, Term};
use crate::expr::print::write_bytes;
use crate::time;

impl Display for Term<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Absent => f.write_char('-'),
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Big(text) | Self::Pid(text) | Self::Reference(text) | Self::Opaque(text) => {
                f.write_str(text)
            }
            Self::Bytes(bytes) => write_bytes(f, bytes),
            Self::Time(time) => f.write_str(&time::show(time)),
            Self::Duration(length) => f.write_str(&time::show_duration(length)),
            Self::Text(text) => quoted(f, text, '"'),
            Self::Atom(name) if is_bare_atom(name) => f.write_str(name),
            Self::Atom(name) => quoted(f, name, '\''),
            Self::Tuple(items) => sequence(f, '{', items, '}'),
            Self::List(items) => sequence(f, '[', items, ']'),
            Self::Record(members) => {
                f.write_char('{')?;
                for (i, (name, term)) in members.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    quoted(f, name, '"')?;
                    write!(f, ": {term}")?;
                }
                f.write_char('}')
            }
        }
    }
}

/// Whether `name` is an atom that needs no quotes, as far as its letters go; reserved words are not asked.
#[must_use]
fn is_bare_atom(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '@')
}

fn sequence(f: &mut Formatter<'_>, open: char, items: Items<'_>, close: char) -> fmt::Result {
    f.write_char(open)?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_char(',')?;
        }
        item.fmt(f)?;
    }
    f.write_char(close)
}

fn quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for c in text.chars() {
        match c {
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c == quote => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char(quote)
}
