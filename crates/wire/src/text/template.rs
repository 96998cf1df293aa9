//! Patterns: literal text with captures, read in one pass without going back.
//!
//! A capture of a number takes as many characters as can be one; any other takes everything up to the first place
//! where the literal text after it comes, or the rest of the line. `{name:word}` stops at a blank.

use referee_monitor::FieldValue;
use referee_theory::Field;

use crate::step::Fields;
use crate::value::Scalar;

/// A pattern, parsed.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pieces: Box<[Piece]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(Box<[u8]>),
    Capture {
        /// None for `{_}`.
        field: Option<usize>,
        scalar: Scalar,
        reach: Reach,
    },
}

/// How far a capture goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// To where the next literal begins, or to the end.
    Literal,
    /// To a blank.
    Word,
    /// Over whatever can be part of a number.
    Number,
}

/// The message that `fields` have none called `name`.
pub(crate) fn no_field(name: &str, fields: &[Field]) -> String {
    let names: Vec<String> =
        fields.iter().filter_map(|field| field.name.as_ref().map(|name| format!("`{name}`"))).collect();
    if names.is_empty() {
        format!("no field is called `{name}`: the message has no named fields")
    } else {
        format!("no field is called `{name}`: there is {}", names.join(", "))
    }
}

impl Template {
    /// Parses `pattern`, whose captures are called like `fields`; with `anything`, other captures are allowed too
    /// and their values dropped.
    pub(crate) fn parse(pattern: &str, fields: &[Field], anything: bool) -> Result<Self, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut literal = String::new();
        let mut rest = pattern;
        while let Some(at) = rest.find(['{', '}']) {
            let (text, tail) = rest.split_at(at);
            literal.push_str(text);
            if let Some(after) = tail.strip_prefix("{{").or_else(|| tail.strip_prefix("}}")) {
                literal.push_str(&tail[..1]);
                rest = after;
                continue;
            }
            let Some((capture, after)) = tail.strip_prefix('{').and_then(|tail| tail.split_once('}')) else {
                return Err(
                    "a brace without its other half; write `{{` or `}}` for one that is meant".to_owned()
                );
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal).into_bytes().into()));
            }
            let piece = capture_piece(capture, fields, anything)?;
            if let (Some(Piece::Capture { reach: Reach::Literal, .. }), Piece::Capture { .. }) =
                (pieces.last(), &piece)
            {
                return Err(format!("`{{{capture}}}` follows a capture directly: put text between them"));
            }
            let repeated = |other: &Piece| {
                matches!((other, &piece),
                (Piece::Capture { field: Some(a), .. }, Piece::Capture { field: Some(b), .. }) if a == b)
            };
            if pieces.iter().any(repeated) {
                return Err(format!("`{{{capture}}}` is there twice"));
            }
            pieces.push(piece);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal.into_bytes().into()));
        }
        if pieces.is_empty() {
            return Err("an empty pattern".to_owned());
        }
        Ok(Self { pieces: pieces.into() })
    }

    /// The literal text at the beginning.
    pub(crate) fn prefix(&self) -> &[u8] {
        match self.pieces.first() {
            Some(Piece::Literal(text)) => text,
            _ => &[],
        }
    }

    /// The fields that it gives values.
    pub(crate) fn fields(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Capture { field, .. } => *field,
            Piece::Literal(_) => None,
        })
    }

    /// Appends the text with the values of `fields`; what nobody needs is empty, or as short as it can be.
    pub(crate) fn write<E>(
        &self,
        fields: &[FieldValue<'_>],
        value: impl Fn(&FieldValue<'_>, &mut Vec<u8>) -> Result<(), E>,
        out: &mut Vec<u8>,
    ) -> Result<(), E> {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text),
                Piece::Capture { field, reach, .. } => {
                    match (field.and_then(|field| fields.get(field)), reach) {
                        (Some(given), _) => value(given, out)?,
                        (None, Reach::Literal) => {}
                        (None, Reach::Word) => out.push(b'-'),
                        (None, Reach::Number) => out.push(b'0'),
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether `line`, which begins with [`prefix`](Self::prefix), is of this form; if so, its values.
    #[inline]
    pub(crate) fn read<'b>(&self, line: &'b [u8], ignore_case: bool, fields: &mut Fields<'b>) -> bool {
        let mut rest = line.get(self.prefix().len()..).unwrap_or_default();
        let mut pieces = self.pieces.get(usize::from(!self.prefix().is_empty())..).unwrap_or_default();
        while let Some((piece, after)) = pieces.split_first() {
            pieces = after;
            match piece {
                Piece::Literal(text) => match rest.split_at_checked(text.len()) {
                    Some((start, tail)) if same(start, text, ignore_case) => rest = tail,
                    _ => return false,
                },
                Piece::Capture { field, scalar, reach } => {
                    let length = match (reach, after) {
                        (Reach::Number, _) => number_length(rest, *scalar),
                        (Reach::Word, _) => {
                            rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len())
                        }
                        (Reach::Literal, [Piece::Literal(text)]) => {
                            match rest.len().checked_sub(text.len()) {
                                Some(length) => length,
                                None => return false,
                            }
                        }
                        (Reach::Literal, [Piece::Literal(text), ..]) => match find(rest, text, ignore_case) {
                            Some(length) => length,
                            None => return false,
                        },
                        (Reach::Literal, _) => rest.len(),
                    };
                    if length == 0 && *reach != Reach::Literal {
                        return false;
                    }
                    let (value, tail) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                    if let Some(slot) = field.and_then(|field| fields.get_mut(field)) {
                        *slot = scalar.read(value);
                    }
                    rest = tail;
                }
            }
        }
        rest.is_empty()
    }
}

fn capture_piece(capture: &str, fields: &[Field], anything: bool) -> Result<Piece, String> {
    let (name, reach) = capture.split_once(':').map_or((capture, None), |(name, reach)| (name, Some(reach)));
    let field = fields.iter().position(|field| field.name.as_deref() == Some(name));
    let scalar = match field.and_then(|index| fields.get(index)) {
        Some(field) => Scalar::of(&field.ty)
            .ok_or_else(|| format!("`{name}` is of type `{}`, which is no single piece of text", field.ty))?,
        None if name == "_" || anything => Scalar::Bytes,
        None => return Err(no_field(name, fields)),
    };
    let reach = match reach {
        Some("word") => Reach::Word,
        Some("int") if matches!(scalar, Scalar::Int) || field.is_none() => Reach::Number,
        None if matches!(scalar, Scalar::Int | Scalar::Float) => Reach::Number,
        None => Reach::Literal,
        Some(other) => {
            return Err(format!("`{{{name}:{other}}}`: after the colon comes `word`, or `int` for an int"));
        }
    };
    let scalar = if field.is_none() && reach == Reach::Number { Scalar::Int } else { scalar };
    Ok(Piece::Capture { field, scalar, reach })
}

/// How many bytes of `bytes` can be a number; 0 if there is none.
fn number_length(bytes: &[u8], scalar: Scalar) -> usize {
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = bytes.iter().skip(sign).take_while(|byte| {
        byte.is_ascii_digit() || (scalar == Scalar::Float && matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
    });
    match digits.count() {
        0 => 0,
        count => sign + count,
    }
}

#[inline]
fn same(left: &[u8], right: &[u8], ignore_case: bool) -> bool {
    if ignore_case { left.eq_ignore_ascii_case(right) } else { left == right }
}

/// Where `text` first comes in `bytes`.
fn find(bytes: &[u8], text: &[u8], ignore_case: bool) -> Option<usize> {
    let first = *text.first()?;
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let at = if ignore_case {
            memchr::memchr2(first.to_ascii_lowercase(), first.to_ascii_uppercase(), rest)?
        } else {
            memchr::memchr(first, rest)?
        };
        let start = from + at;
        if same(bytes.get(start..start + text.len())?, text, ignore_case) {
            return Some(start);
        }
        from = start + 1;
    }
}
