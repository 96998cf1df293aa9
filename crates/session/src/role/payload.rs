//! A component's message on its way between monitors: label, values, and the bytes that the component sent.
//!
//! The values were decoded by the sender's monitor. They travel beside the bytes, so that the receiver's monitor can judge
//! them without the state of the sender's connection.

use bumpalo::Bump;
use bytes::Bytes;
use referee_monitor::{Event, EventLabel, FieldValue, Party, Payload as EventPayload};

/// The deepest nesting of values.
const MAX_DEPTH: usize = 64;

/// A component's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The label, or why there is none.
    pub label: Result<Box<str>, Box<str>>,
    /// The values, as [`write_fields`] wrote them.
    pub fields: Bytes,
    /// The bytes that the component sent.
    pub bytes: Bytes,
}

impl Payload {
    /// What it counts against a window.
    pub fn weight(&self) -> usize {
        self.fields.len() + self.bytes.len()
    }

    /// Whether its values, encoded, are so much longer than a message of `longest` bytes that they exceed a peer message.
    pub fn is_unwieldy(&self, longest: usize) -> bool {
        self.fields.len() > longest.saturating_mul(4).saturating_add(1 << 16)
    }

    /// Undecodable bytes, and why.
    pub fn malformed(why: &str) -> Self {
        Self { label: Err(why.into()), fields: Bytes::new(), bytes: Bytes::new() }
    }
}

/// Lends a message to the engine as an event.
pub fn lend(payload: &Payload, look: &mut dyn FnMut(&Event<'_>)) {
    let arena = Bump::new();
    let mut rest: &[u8] = &payload.fields;
    let values_read = match read_list(&mut rest, &arena, MAX_DEPTH) {
        Some(values) if rest.is_empty() => EventPayload::Positional(values),
        _ => EventPayload::Malformed("values that another monitor wrote wrongly"),
    };
    let label = match &payload.label {
        Ok(label) => EventLabel::Text(label),
        Err(why) => EventLabel::Malformed(why),
    };
    look(&Event { from: Party::Process, to: Party::Environment, label, payload: values_read });
}

/// Encodes `values`.
pub fn write_fields(values: &[FieldValue<'_>]) -> Bytes {
    let mut out = Vec::new();
    write_list(values, &mut out, MAX_DEPTH);
    out.into()
}

fn write_list(values: &[FieldValue<'_>], out: &mut Vec<u8>, depth: usize) {
    count(values.len(), out);
    values.iter().for_each(|value| write(value, out, depth));
}

fn write(value: &FieldValue<'_>, out: &mut Vec<u8>, depth: usize) {
    match value {
        FieldValue::Unit => out.push(0),
        FieldValue::Bool(value) => out.extend([1, u8::from(*value)]),
        FieldValue::Int(value) => {
            out.push(2);
            write_int(*value, out);
        }
        FieldValue::Float(value) => {
            out.push(3);
            out.extend(value.to_le_bytes());
        }
        FieldValue::Str(text) => block(4, text.as_bytes(), out),
        FieldValue::Bytes(bytes) => block(5, bytes, out),
        FieldValue::List(_) | FieldValue::Record(_) if depth == 0 => block(8, b"nested too deeply", out),
        FieldValue::List(values) => {
            out.push(6);
            write_list(values, out, depth - 1);
        }
        FieldValue::Record(fields) => {
            out.push(7);
            count(fields.len(), out);
            for (name, value) in *fields {
                block(4, name.as_bytes(), out);
                write(value, out, depth - 1);
            }
        }
        FieldValue::Malformed(why) => block(8, why.as_bytes(), out),
    }
}

/// Zigzag and variable length, so that numbers take no more bytes than their digits.
fn write_int(value: i64, out: &mut Vec<u8>) {
    let mut left = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
    while left >= 0x80 {
        out.push(left.to_le_bytes()[0] | 0x80);
        left >>= 7;
    }
    out.push(left.to_le_bytes()[0]);
}

fn read_int(rest: &mut &[u8]) -> Option<i64> {
    let mut value: u64 = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = take(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    None
}

fn count(length: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn block(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    count(bytes.len(), out);
    out.extend(bytes);
}

fn read_list<'a>(rest: &mut &'a [u8], arena: &'a Bump, depth: usize) -> Option<&'a [FieldValue<'a>]> {
    let length = take_count(rest)?;
    let mut values = bumpalo::collections::Vec::new_in(arena);
    for _ in 0..length {
        values.push(read(rest, arena, depth)?);
    }
    Some(values.into_bump_slice())
}

fn read<'a>(rest: &mut &'a [u8], arena: &'a Bump, depth: usize) -> Option<FieldValue<'a>> {
    let [tag] = take(rest)?;
    Some(match tag {
        0 => FieldValue::Unit,
        1 => FieldValue::Bool(take::<1>(rest)? == [1]),
        2 => FieldValue::Int(read_int(rest)?),
        3 => FieldValue::Float(f64::from_le_bytes(take(rest)?)),
        4 => FieldValue::Str(std::str::from_utf8(take_block(rest)?).ok()?),
        5 => FieldValue::Bytes(take_block(rest)?),
        6 if depth > 0 => FieldValue::List(read_list(rest, arena, depth - 1)?),
        7 if depth > 0 => {
            let length = take_count(rest)?;
            let mut fields = bumpalo::collections::Vec::new_in(arena);
            for _ in 0..length {
                let FieldValue::Str(name) = read(rest, arena, 0)? else { return None };
                fields.push((name, read(rest, arena, depth - 1)?));
            }
            FieldValue::Record(fields.into_bump_slice())
        }
        8 => FieldValue::Malformed(std::str::from_utf8(take_block(rest)?).ok()?),
        _ => return None,
    })
}

/// The next `N` bytes.
pub fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

/// A length; at least that many bytes must follow, so that a claimed length reserves no memory.
fn take_count(rest: &mut &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(take(rest)?) as usize;
    (length <= rest.len()).then_some(length)
}

/// Appends `bytes` with their length before them.
pub fn put_block(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(bytes);
}

/// Bytes with their length before them.
pub fn take_block<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_count(rest)?;
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were() {
        let inner = [FieldValue::Int(i64::MIN), FieldValue::Float(0.5)];
        let record = [("a", FieldValue::Unit), ("é", FieldValue::List(&inner))];
        let values = [
            FieldValue::Bool(true),
            FieldValue::Str("ö"),
            FieldValue::Bytes(&[0, 255]),
            FieldValue::Record(&record),
            FieldValue::Malformed("not a number"),
        ];
        let fields = write_fields(&values);
        let payload = Payload { label: Ok("m".into()), fields, bytes: Bytes::new() };
        let mut seen = 0;
        lend(&payload, &mut |event| {
            let EventPayload::Positional(read) = event.payload else { panic!("{event:?}") };
            assert_eq!(read, values);
            seen += 1;
        });
        assert_eq!(seen, 1);
    }

    #[test]
    fn numbers_take_no_more_room_than_their_digits() {
        let around = |value: i64| [value.saturating_sub(1), value, value.saturating_add(1)];
        let values = (0..63).flat_map(|shift| around(1 << shift).into_iter().chain(around(-(1 << shift))));
        for value in values.chain([i64::MIN, i64::MAX]) {
            let mut out = Vec::new();
            write_int(value, &mut out);
            assert!(out.len() <= value.to_string().len(), "{value}");
            let mut rest: &[u8] = &out;
            assert_eq!((read_int(&mut rest), rest.len()), (Some(value), 0));
            assert_eq!(read_int(&mut &out[..out.len() - 1]), None);
        }
        assert_eq!(read_int(&mut &[255; 20][..]), None);
    }

    /// Whatever another monitor writes, reading it ends, in memory bounded by its length.
    #[test]
    fn damaged_values_are_malformed() {
        let values = [FieldValue::List(&[FieldValue::Str("abc"), FieldValue::Int(7)]), FieldValue::Unit];
        let whole = write_fields(&values);
        let judge = |bytes: Vec<u8>| {
            let payload = Payload { label: Ok("m".into()), fields: bytes.into(), bytes: Bytes::new() };
            let mut malformed = false;
            lend(&payload, &mut |event| malformed = matches!(event.payload, EventPayload::Malformed(_)));
            malformed
        };
        assert!(!judge(whole.to_vec()));
        for cut in 0..whole.len() {
            assert!(judge(whole[..cut].to_vec()), "{cut}");
        }
        let deep: Vec<u8> = [1, 0, 0, 0].into_iter().chain([6, 1, 0, 0, 0].repeat(10_000)).collect();
        assert!(judge(deep) && judge(vec![255; 64]) && judge(Vec::new()));
    }
}
