//! What comes after the header of a frame, one value after the other.

use referee_monitor::FieldValue;
use referee_theory::{Field, Type};

use super::Frame;
use crate::step::Fields;
use crate::value::Scalar;

/// The values of a frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    items: Box<[Item]>,
    little: bool,
}

#[derive(Clone, Debug)]
struct Item {
    /// None for `_`.
    field: Option<usize>,
    form: Form,
    /// What it has to be for the frame to be this message.
    constant: Option<i128>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// So many bytes, signed or not.
    Integer(usize, bool),
    Float(usize),
    /// Text or bytes up to a NUL.
    Terminated(Scalar),
    /// So many bytes, or all that are left.
    Bytes(Option<usize>, Scalar),
}

/// What came of reading a frame.
pub(crate) enum Outcome {
    /// So many bytes are judged.
    Read(usize),
    More(usize),
    /// A constant differs.
    Other,
    /// The frame ends before its values do.
    Short,
}

impl Layout {
    /// Parses `name: type` and `name: type = constant`; on a mistake says in which.
    pub(crate) fn parse(items: &[String], fields: &[Field], little: bool) -> Result<Self, (usize, String)> {
        let mut parsed: Vec<Item> = Vec::new();
        for (index, text) in items.iter().enumerate() {
            if let Some(Item { form: Form::Bytes(None, _), .. }) = parsed.last() {
                return Err((index, "nothing is left after all the rest".to_owned()));
            }
            parsed.push(item(text, fields).map_err(|reason| (index, reason))?);
        }
        Ok(Self { items: parsed.into(), little })
    }

    /// How many values must be what they are for a frame to be this message.
    pub(crate) fn constants(&self) -> usize {
        self.items.iter().filter(|item| item.constant.is_some()).count()
    }

    pub(crate) fn fills(&self, field: usize) -> bool {
        self.items.iter().any(|item| item.field == Some(field))
    }

    /// Reads the values of `frame`.
    pub(super) fn read<'b>(&self, frame: &Frame<'b>, fields: &mut Fields<'b>) -> Outcome {
        let mut at = frame.header;
        let whole = frame.unread.len() as u64 >= frame.total;
        let total = usize::try_from(frame.total).unwrap_or(usize::MAX);
        let there = frame.unread.get(..total).unwrap_or(frame.unread);
        for item in &self.items {
            let rest = there.get(at..).unwrap_or_default();
            let length = match item.form {
                Form::Integer(bytes, _) | Form::Float(bytes) | Form::Bytes(Some(bytes), _) => bytes,
                Form::Bytes(None, _) => total.saturating_sub(at),
                Form::Terminated(_) => match memchr::memchr(0, rest) {
                    Some(length) => length + 1,
                    None if whole => return Outcome::Short,
                    // The whole frame, so that nothing is looked at again and again.
                    None => return Outcome::More(total.min(frame.limit).max(there.len() + 1)),
                },
            };
            let Some(bytes) = rest.get(..length) else {
                let end = at.saturating_add(length);
                return if end > total { Outcome::Short } else { Outcome::More(end) };
            };
            let value = match item.form {
                Form::Integer(width, signed) => {
                    let number = integer(bytes, self.little, width, signed);
                    if item.constant.is_some_and(|constant| constant != number) {
                        return Outcome::Other;
                    }
                    i64::try_from(number)
                        .map_or(FieldValue::Malformed("an integer beyond 64 bits"), FieldValue::Int)
                }
                Form::Float(_) => FieldValue::Float(float(bytes, self.little)),
                Form::Terminated(scalar) => scalar.read(bytes.get(..length - 1).unwrap_or_default()),
                Form::Bytes(_, scalar) => scalar.read(bytes),
            };
            if let Some(slot) = item.field.and_then(|field| fields.get_mut(field)) {
                *slot = value;
            }
            at += length;
        }
        Outcome::Read(at)
    }
}

fn item(text: &str, fields: &[Field]) -> Result<Item, String> {
    let (name, form) =
        text.split_once(':').ok_or("write `name: type`, or `_: type` for what nobody needs")?;
    let (form, constant) =
        form.split_once('=').map_or((form, None), |(form, constant)| (form, Some(constant.trim())));
    let (name, form) = (name.trim(), form.trim());
    let field = match name {
        "_" => None,
        _ => {
            let index = fields.iter().position(|field| field.name.as_deref() == Some(name));
            Some(index.ok_or_else(|| crate::text::no_field(name, fields))?)
        }
    };
    let ty = field.and_then(|index| fields.get(index)).map(|field| &field.ty);
    let scalar = ty.map_or(Some(Scalar::Bytes), Scalar::of);
    let textual = || match scalar {
        Some(scalar @ (Scalar::Text | Scalar::Bytes)) => Ok(scalar),
        _ => Err(format!("`{name}` is neither a string nor bytes")),
    };
    let form = match form {
        "u8" => Form::Integer(1, false),
        "i8" => Form::Integer(1, true),
        "u16" => Form::Integer(2, false),
        "i16" => Form::Integer(2, true),
        "u32" => Form::Integer(4, false),
        "i32" => Form::Integer(4, true),
        "u64" => Form::Integer(8, false),
        "i64" => Form::Integer(8, true),
        "f32" => Form::Float(4),
        "f64" => Form::Float(8),
        "cstring" => Form::Terminated(textual()?),
        "rest" => Form::Bytes(None, textual()?),
        other => match other.strip_prefix("bytes(").and_then(|rest| rest.strip_suffix(')')).map(str::parse) {
            Some(Ok(bytes)) => Form::Bytes(Some(bytes), textual()?),
            _ => {
                return Err(format!(
                    "`{other}` is no type: there is `u8` to `u64`, `i8` to `i64`, `f32`, `f64`, `cstring`, `bytes(N)`, `rest`"
                ));
            }
        },
    };
    let fits = match form {
        Form::Integer(..) => matches!(ty, None | Some(Type::Int | Type::Float)),
        Form::Float(_) => matches!(ty, None | Some(Type::Float)),
        _ => true,
    };
    if !fits {
        return Err(format!("`{name}` is of another type in the protocol"));
    }
    let constant = match (constant, form) {
        (None, _) => None,
        (Some(text), Form::Integer(..)) => Some(text.parse().map_err(|_| format!("`{text}` is no integer"))?),
        _ => return Err("only integers can be constant".to_owned()),
    };
    Ok(Item { field, form, constant })
}

/// The bytes as a number without sign; eight of them at most.
pub(super) fn unsigned(bytes: &[u8], little: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}

fn integer(bytes: &[u8], little: bool, width: usize, signed: bool) -> i128 {
    let number = unsigned(bytes, little);
    if signed {
        let unused = 64 - 8 * u32::try_from(width).unwrap_or(8);
        i128::from(number.wrapping_shl(unused).cast_signed().wrapping_shr(unused))
    } else {
        i128::from(number)
    }
}

fn float(bytes: &[u8], little: bool) -> f64 {
    let bits = unsigned(bytes, little);
    match u32::try_from(bits) {
        Ok(bits) if bytes.len() == 4 => f64::from(f32::from_bits(bits)),
        _ => f64::from_bits(bits),
    }
}
