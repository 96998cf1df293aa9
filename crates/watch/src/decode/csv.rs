//! Comma-separated values (RFC 4180): a header that names the columns, then one event per row.
//!
//! The columns `session`, `from`, `to`, `label`, `time` and `end` (or what the pointers name instead) are the
//! parts of the event; every other column is a payload field, its name as it stands, or what follows
//! `payload.`. An empty cell is absent; `""` is an empty text. What a cell holds is decided by the type that
//! the message declares.

use std::sync::Arc;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use referee_monitor::{FieldValue, Payload};
use referee_theory::{Field, Type};

use crate::scan::number;
use crate::shape::{PARTS, Part, Shape, Tree};

/// What the columns of a CSV input are.
#[derive(Debug)]
pub(crate) struct Columns {
    /// As it is written.
    pub(crate) header: Arc<[u8]>,
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
enum Column {
    /// Parts of the event, as bits.
    Parts(u8),
    Field(Box<str>),
}

/// The cells of a row that are parts of the event: `None` if absent.
pub(crate) type Parts<'a> = [Option<std::borrow::Cow<'a, str>>; PARTS];

impl Columns {
    /// Reads the header. Only messages of a protocol must say who sent them, and what they are.
    pub(crate) fn parse(header: &[u8], shape: &Shape, messages: bool) -> Result<Self, String> {
        let written = Arc::from(header);
        let header = std::str::from_utf8(header).map_err(|_| "the header is not UTF-8".to_owned())?;
        let tree = Tree::new(shape);
        let root = tree.nodes.first();
        let column = |cell: Cell<'_>| {
            let name = cell.text();
            let child = root.and_then(|root| root.children.iter().find(|child| *child.key == *name));
            match child.and_then(|child| tree.nodes.get(child.node)) {
                Some(node) if node.parts & !(1 << Part::Payload as u8) != 0 => Column::Parts(node.parts),
                _ => Column::Field(name.strip_prefix("payload.").unwrap_or(&name).into()),
            }
        };
        let columns: Vec<Column> =
            cells(header).map(|cell| cell.map(column)).collect::<Result<_, _>>().map_err(str::to_owned)?;
        let has = |part: Part| {
            columns
                .iter()
                .any(|column| matches!(column, Column::Parts(parts) if parts & 1 << part as u8 != 0))
        };
        if !messages || has(Part::From) && has(Part::Label) {
            return Ok(Self { header: written, columns });
        }
        let names: Vec<_> = cells(header).flatten().map(|cell| format!("`{}`", cell.text())).collect();
        Err(format!(
            "the header must name the columns of sender and label (`from`, `label`), but names {}",
            names.join(", ")
        ))
    }

    /// The parts of the event in `row`.
    pub(crate) fn parts<'a>(&self, row: &'a str) -> Result<Parts<'a>, &'static str> {
        let mut parts = Parts::default();
        let mut count = 0;
        for cell in cells(row) {
            let cell = cell?;
            let column = self.columns.get(count).ok_or("more cells than the header names")?;
            count += 1;
            if let (Column::Parts(bits), false) = (column, cell.is_absent()) {
                for (index, part) in parts.iter_mut().enumerate() {
                    if bits & 1 << index != 0 {
                        *part = Some(cell.text());
                    }
                }
            }
        }
        if count == self.columns.len() { Ok(parts) } else { Err("fewer cells than the header names") }
    }

    /// The cells of `row` that are not parts of the event, with the names of their columns.
    pub(crate) fn cells<'a>(
        &'a self,
        row: &'a str,
    ) -> impl Iterator<Item = (&'a str, std::borrow::Cow<'a, str>)> {
        self.columns.iter().zip(cells(row)).filter_map(|(column, cell)| match (column, cell) {
            (Column::Field(name), Ok(cell)) if !cell.is_absent() => Some((&**name, cell.text())),
            _ => None,
        })
    }

    /// The time in `row`; `None` if the row cannot be read.
    pub(crate) fn time<T>(&self, row: &[u8], read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
        let parts = self.parts(std::str::from_utf8(row).ok()?).ok()?;
        Some(parts[Part::Time as usize].as_deref().and_then(read))
    }

    /// The payload in `row`, whose message declares `fields`.
    pub(crate) fn payload<'a>(&self, row: &'a str, fields: &[Field], bump: &'a Bump) -> Payload<'a> {
        let mut payload = BumpVec::new_in(bump);
        for (column, cell) in self.columns.iter().zip(cells(row)) {
            let (Column::Field(name), Ok(cell)) = (column, cell) else { continue };
            if cell.is_absent() {
                continue;
            }
            let declared = fields.iter().find(|field| field.name.as_deref() == Some(name));
            let ty = declared.or(fields.get(payload.len())).map(|field| &field.ty);
            let text: &'a str = bump.alloc_str(&cell.text());
            let name: &'a str = bump.alloc_str(name);
            payload.push((name, value(text, ty)));
        }
        Payload::Named(payload.into_bump_slice())
    }
}

/// What `text` is as a value of `ty`; text if it is none.
fn value<'a>(text: &'a str, ty: Option<&Type>) -> FieldValue<'a> {
    let whole = || number::value(text, 0).ok().filter(|(_, end)| *end == text.len()).map(|(value, _)| value);
    let found = match ty {
        Some(Type::Int | Type::Float) => whole(),
        Some(Type::Bool) => match text {
            "true" | "True" | "TRUE" => Some(FieldValue::Bool(true)),
            "false" | "False" | "FALSE" => Some(FieldValue::Bool(false)),
            _ => None,
        },
        Some(Type::Unit) if text.is_empty() => Some(FieldValue::Unit),
        _ => None,
    };
    found.unwrap_or(FieldValue::Str(text))
}

/// A cell, with its quotes.
#[derive(Clone, Copy)]
struct Cell<'a>(&'a str);

impl<'a> Cell<'a> {
    fn is_absent(self) -> bool {
        self.0.is_empty()
    }

    fn text(self) -> std::borrow::Cow<'a, str> {
        match self.0.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) if inner.contains('"') => inner.replace("\"\"", "\"").into(),
            Some(inner) => inner.into(),
            None => self.0.into(),
        }
    }
}

/// The cells of `row`, which may end with a line end.
fn cells(row: &str) -> impl Iterator<Item = Result<Cell<'_>, &'static str>> {
    let row = row.strip_suffix('\n').unwrap_or(row);
    let row = row.strip_suffix('\r').unwrap_or(row);
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let start = at?;
        let end = match cell_end(row, start) {
            Ok(end) => end,
            Err(why) => {
                at = None;
                return Some(Err(why));
            }
        };
        at = (end < row.len()).then_some(end + 1);
        Some(Ok(Cell(row.get(start..end).unwrap_or_default())))
    })
}

/// Where the cell that starts at `start` ends.
fn cell_end(row: &str, start: usize) -> Result<usize, &'static str> {
    let bytes = row.as_bytes();
    let comma =
        |from: usize| bytes.get(from..).and_then(|rest| memchr::memchr(b',', rest)).map(|at| from + at);
    if bytes.get(start) != Some(&b'"') {
        let end = comma(start).unwrap_or(row.len());
        return match bytes.get(start..end).is_some_and(|cell| cell.contains(&b'"')) {
            true => Err("a quote inside a cell without quotes"),
            false => Ok(end),
        };
    }
    let mut at = start + 1;
    loop {
        match bytes.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
            None => return Err("a quote that is not closed"),
            Some(quote) if bytes.get(at + quote + 1) == Some(&b'"') => at += quote + 2,
            Some(quote) => {
                at += quote + 1;
                break;
            }
        }
    }
    match bytes.get(at) {
        None | Some(b',') => Ok(at),
        Some(_) => Err("something after a closing quote"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(row: &str) -> Result<Vec<String>, &'static str> {
        cells(row).map(|cell| cell.map(|cell| cell.text().into_owned())).collect()
    }

    #[test]
    fn cells_are_those_of_the_rfc() {
        assert_eq!(split("a,b,,\"\",\"x,\"\"y\"\"\"\r\n").unwrap(), ["a", "b", "", "", "x,\"y\""]);
        assert_eq!(split("\"a\nb\",c").unwrap(), ["a\nb", "c"]);
        assert_eq!(split("").unwrap(), [""]);
        assert_eq!(split(",").unwrap(), ["", ""]);
        for bad in ["\"a", "a\"b", "\"a\"b", "x,\"a\"\""] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }
}
