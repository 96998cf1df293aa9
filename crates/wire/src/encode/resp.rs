//! Commands as arrays of strings, and the replies that one value makes.

use referee_monitor::FieldValue;

use super::{EncodeError, Parts, field, misfit, scalar};
use crate::signature::{Known, Sender};
use crate::table::MessageTable;

/// How one message is written.
#[derive(Debug)]
pub(super) enum Writer {
    /// The command, and which field is which argument.
    Command(String, Vec<usize>),
    /// How it begins, and whether its field follows.
    Reply(String, bool),
}

impl Writer {
    pub(super) fn new(entry: Option<&MessageTable>, known: &Known) -> Result<Self, String> {
        let pattern = entry.and_then(|entry| entry.pattern.as_deref()).unwrap_or_default();
        let first = pattern.split_ascii_whitespace().next().unwrap_or_default();
        if known.sender == Sender::Server {
            if matches!(first, "any" | "newline" | "") || first.starts_with(['*', '~', '>', '%', '(', '=']) {
                return Err(format!("`{first}` does not say which reply it is"));
            }
            return Ok(Self::Reply(first.to_owned(), !known.fields.is_empty()));
        }
        let mut arguments = Vec::new();
        for (position, of) in known.fields.iter().enumerate() {
            let name = of.name.as_deref().unwrap_or("_");
            let given = entry.and_then(|entry| entry.fields.iter().find(|(other, _)| other == name));
            let argument = given.map_or(Some(position + 1), |(_, text)| text.parse().ok());
            arguments.push(argument.ok_or("an argument without a number")?);
        }
        let named = arguments.contains(&0);
        if first == "any" && !named {
            return Err("any command: nothing says which".to_owned());
        }
        let most = arguments.iter().copied().max().unwrap_or(0);
        if !(1..=most).all(|argument| arguments.contains(&argument)) {
            return Err("an argument that no field gives a value".to_owned());
        }
        Ok(Self::Command(first.to_owned(), arguments))
    }

    pub(super) fn write(&self, parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Command(name, arguments) => {
                let count = arguments.iter().copied().max().unwrap_or(0) + 1;
                out.extend_from_slice(format!("*{count}\r\n").as_bytes());
                for argument in 0..count {
                    let mut word = Vec::new();
                    match arguments.iter().position(|other| *other == argument) {
                        Some(index) => scalar(field(parts, index)?, &mut word)?,
                        None => word.extend_from_slice(name.as_bytes()),
                    }
                    string(b'$', &word, out);
                }
            }
            Self::Reply(start, has_field) => {
                let (kind, rest) = (start.bytes().next().unwrap_or(b'+'), start.get(1..).unwrap_or_default());
                let mut value = Vec::new();
                if *has_field {
                    scalar(field(parts, 0)?, &mut value)?;
                }
                match kind {
                    b'_' => out.extend_from_slice(b"$-1\r\n"),
                    b'$' | b'!' => string(kind, if *has_field { &value } else { parts.body }, out),
                    b':' if !matches!(parts.fields, [FieldValue::Int(_)] | []) => {
                        return Err(misfit("a reply that is an integer"));
                    }
                    _ => {
                        out.push(kind);
                        out.extend_from_slice(if *has_field { &value } else { rest.as_bytes() });
                        if !has_field && matches!(kind, b':' | b',') && rest.is_empty() {
                            out.push(b'0');
                        }
                        out.extend_from_slice(b"\r\n");
                    }
                }
            }
        }
        Ok(())
    }
}

fn string(kind: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(text.len().to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}
