//! What a table says of one message of lines, checked against the protocol.

use super::regexes;
use super::template::{Template, no_field};
use crate::connection::Effect;
use crate::error::TableError;
use crate::signature::Known;
use crate::table::MessageTable;
use crate::value::Scalar;

/// What is known of a message besides how to find it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) template: Option<Template>,
    pub(super) fields: usize,
    pub(super) aside: bool,
    pub(super) effect: Effect,
    /// It is a block: with the field it fills, if any.
    pub(super) block: Option<Option<(usize, Scalar)>>,
    /// The field with the number of bytes that follow.
    pub(super) body: Option<usize>,
    /// Whether CR LF comes after them.
    pub(super) body_line_end: bool,
    /// The field that is the whole message.
    pub(super) whole: Option<(usize, Scalar)>,
    /// How many bytes its line, or a line of its block, may have.
    pub(super) max_line: Option<usize>,
}

impl Shape {
    /// Checks one message of the table against the protocol's.
    pub(super) fn compile(
        known: &Known,
        message: &MessageTable,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let name = &*known.name;
        let mut fail =
            |key: &str, reason: String| errors.push(TableError::new(["messages", name, key], reason));
        let ways = [message.pattern.is_some(), message.regex.is_some(), message.block.is_some()];
        if ways.iter().filter(|way| **way).count() != 1 {
            fail("", "give exactly one of `pattern`, `regex` and `block`".to_owned());
        }
        let field =
            |wanted: &str| known.fields.iter().position(|field| field.name.as_deref() == Some(wanted));
        let mut shape = Self {
            template: None,
            fields: known.fields.len(),
            aside: known.aside,
            effect: message.then.into(),
            block: None,
            body: None,
            body_line_end: message.body_end.is_some(),
            whole: None,
            max_line: message.max_line.map(|bytes| bytes as usize),
        };
        let mut filled: Vec<usize> = Vec::new();
        if let Some(pattern) = &message.pattern {
            match Template::parse(pattern, &known.fields, known.aside) {
                Ok(template) => {
                    filled.extend(template.fields());
                    shape.template = Some(template);
                }
                Err(reason) => fail("pattern", reason),
            }
        }
        if let Some(regex) = &message.regex {
            match regexes::groups(regex, &known.fields) {
                Ok(fields) => filled.extend(fields),
                Err(reason) => fail("regex", reason),
            }
        }
        if let Some(whole) = &message.whole {
            match field(whole) {
                Some(index) => match known.fields.get(index).and_then(|field| Scalar::of(&field.ty)) {
                    Some(scalar @ (Scalar::Text | Scalar::Bytes)) => {
                        shape.whole = Some((index, scalar));
                        filled.push(index);
                    }
                    _ => fail("whole", format!("`{whole}` is neither a string nor bytes")),
                },
                None => fail("whole", no_field(whole, &known.fields)),
            }
        }
        if message.block.is_some() {
            shape.block = Some(match &*known.fields {
                [] => None,
                [only] => match Scalar::of(&only.ty) {
                    Some(scalar @ (Scalar::Text | Scalar::Bytes)) => {
                        filled.push(0);
                        Some((0, scalar))
                    }
                    _ => {
                        fail("block", "the field of a block is a string or bytes".to_owned());
                        None
                    }
                },
                _ => {
                    fail("block", "a block has one field, or none if nobody needs to see it".to_owned());
                    None
                }
            });
        }
        if let Some(length) = &message.body {
            match field(length).filter(|index| filled.contains(index)) {
                Some(index)
                    if known.fields.get(index).and_then(|f| Scalar::of(&f.ty)) == Some(Scalar::Int) =>
                {
                    shape.body = Some(index);
                }
                Some(_) => fail("body", format!("`{length}` is not an int")),
                None => fail("body", no_field(length, &known.fields)),
            }
        }
        if message.body_end.is_some() && message.body.is_none() {
            let reason = "this is for a message with `body`";
            errors.push(TableError::new(["messages", name, "body-end"], reason));
        }
        if errors.len() == before {
            let missing = (0..known.fields.len()).find(|index| !filled.contains(index));
            if let Some(missing) = missing {
                let field = known.fields.get(missing).and_then(|field| field.name.as_deref()).unwrap_or("_");
                errors.push(TableError::new(
                    ["messages", name],
                    format!("nothing gives the field `{field}` a value"),
                ));
            }
        }
        (errors.len() == before).then_some(shape)
    }
}
