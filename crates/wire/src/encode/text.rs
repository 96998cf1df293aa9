//! Lines, and what follows them.

use referee_monitor::FieldValue;

use super::{EncodeError, Parts, field, scalar};
use crate::signature::Known;
use crate::table::MessageTable;
use crate::text::Template;

/// How one message is written.
#[derive(Debug)]
pub(super) struct Writer {
    form: Form,
    /// Whether the line has an end of its own.
    line_end: bool,
    body: bool,
    body_line_end: bool,
}

#[derive(Debug)]
enum Form {
    Line(Template),
    /// The field that is the message as a whole.
    Whole(usize),
    /// A block: the field that it is, or its body.
    Block(Option<usize>),
}

impl Writer {
    pub(super) fn new(entry: Option<&MessageTable>, known: &Known, line_end: bool) -> Result<Self, String> {
        let entry = entry.ok_or("the table has no such message")?;
        let whole = entry.whole.as_deref();
        let whole =
            known.fields.iter().position(|field| field.name.is_some() && field.name.as_deref() == whole);
        let form = match (&entry.write, &entry.pattern, whole) {
            (_, _, Some(whole)) => Form::Whole(whole),
            _ if entry.block.is_some() => Form::Block((!known.fields.is_empty()).then_some(0)),
            (Some(text), _, _) | (None, Some(text), _) => {
                Form::Line(Template::parse(text, &known.fields, known.aside)?)
            }
            (None, None, _) => {
                return Err("a regular expression does not say how it is written: add `write`".to_owned());
            }
        };
        Ok(Self { form, line_end, body: entry.body.is_some(), body_line_end: entry.body_end.is_some() })
    }

    pub(super) fn write(&self, parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match &self.form {
            Form::Whole(index) => scalar(field(parts, *index)?, out)?,
            Form::Block(Some(index)) => {
                scalar(field(parts, *index)?, out)?;
                out.extend_from_slice(b".\r\n");
            }
            Form::Block(None) => {
                out.extend_from_slice(parts.body);
                out.extend_from_slice(b".\r\n");
            }
            Form::Line(template) => {
                template.write(parts.fields, |value: &FieldValue<'_>, out| scalar(value, out), out)?;
                if self.line_end {
                    out.extend_from_slice(b"\r\n");
                }
                if self.body {
                    out.extend_from_slice(parts.body);
                    if self.body_line_end {
                        out.extend_from_slice(b"\r\n");
                    }
                }
            }
        }
        Ok(())
    }
}
