//! What comes after the header of a frame, one value after the other.

mod parse;
mod write;

use bumpalo::Bump;
use referee_monitor::FieldValue;
use smallvec::SmallVec;

use super::Frame;
use super::checksum::Checksum;
use super::number::{Number, ReadNumber, float, unsigned};
use crate::step::Fields;
use crate::value::Scalar;

/// How many elements a list may have.
const MAX_ELEMENTS: usize = 4096;

/// The values of a frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    items: Box<[Item]>,
    little: bool,
    /// How many numbers others refer to.
    numbers: usize,
}

#[derive(Clone, Debug)]
struct Item {
    /// Where it is, if not after the one before: a byte of the frame, header included.
    at: Option<usize>,
    what: What,
    when: Option<Condition>,
}

#[derive(Clone, Debug)]
enum What {
    Value {
        to: Target,
        form: Form,
        mask: Option<u64>,
        constant: Option<Constant>,
    },
    /// Parts of one number, the most significant first: how many bits.
    Bits {
        number: Number,
        parts: Box<[Part]>,
    },
    /// Of all bytes from this one on up to it.
    Checksum(Checksum, usize),
    /// Nothing comes after this.
    End,
}

#[derive(Clone, Debug)]
struct Part {
    to: Target,
    bits: u32,
    constant: Option<Constant>,
}

/// Where a value goes.
#[derive(Clone, Copy, Debug, Default)]
struct Target {
    field: Option<usize>,
    /// Among the numbers that others refer to.
    number: Option<usize>,
}

/// What a value has to be for the frame to be this message.
#[derive(Clone, Debug)]
enum Constant {
    Number(i128, i128),
    Text(Box<[u8]>),
}

/// Whether a value is there at all.
#[derive(Clone, Copy, Debug)]
struct Condition {
    number: usize,
    is: Comparison,
    than: i128,
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    Greater,
    /// One of these bits is set.
    Mask,
}

#[derive(Clone, Debug)]
enum Form {
    Number(Number),
    Float(usize),
    /// Text or bytes up to a NUL.
    Terminated(Scalar),
    Bytes(Size, Scalar),
    /// Of pairs of a key and a value, the value of this key. The pairs end with the frame, or with the key `last`.
    Pairs {
        key: Number,
        value: Box<Form>,
        last: Option<i128>,
        wanted: i128,
    },
    /// Elements of one value, or of several.
    List {
        count: Size,
        element: Box<[Form]>,
    },
}

/// How many bytes or elements.
#[derive(Clone, Copy, Debug)]
enum Size {
    Exactly(usize),
    /// As many as the number before them says.
    Prefixed(Number),
    /// As many as another number says, and so many more.
    Of(usize, i128),
    /// All that are left.
    Rest,
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
    Malformed(&'static str),
}

/// A value that was read.
struct Value<'b> {
    field: FieldValue<'b>,
    number: i128,
    bytes: &'b [u8],
}

impl Layout {
    /// How many values must be what they are for a frame to be this message.
    pub(crate) fn constants(&self) -> usize {
        let of = |item: &Item| match &item.what {
            What::Value { constant, .. } => usize::from(constant.is_some()),
            What::Bits { parts, .. } => parts.iter().filter(|part| part.constant.is_some()).count(),
            What::Checksum(..) => 0,
            What::End => 1,
        };
        self.items.iter().map(of).sum()
    }

    pub(crate) fn fills(&self, field: usize) -> bool {
        self.items.iter().any(|item| match &item.what {
            What::Value { to, .. } => to.field == Some(field),
            What::Bits { parts, .. } => parts.iter().any(|part| part.to.field == Some(field)),
            What::Checksum(..) | What::End => false,
        })
    }

    /// Reads the values of `frame`.
    pub(super) fn read<'b>(&self, frame: &Frame<'b>, bump: &'b Bump, fields: &mut Fields<'b>) -> Outcome {
        match self.read_all(frame, bump, fields) {
            Ok(bytes) => Outcome::Read(bytes),
            Err(outcome) => outcome,
        }
    }

    fn read_all<'b>(
        &self,
        frame: &Frame<'b>,
        bump: &'b Bump,
        fields: &mut Fields<'b>,
    ) -> Result<usize, Outcome> {
        let mut numbers: SmallVec<[i128; 8]> = SmallVec::from_elem(0, self.numbers);
        let mut reader = Reader::new(frame, self.little, bump);
        let mut next = frame.header;
        let mut judged = next;
        for item in &self.items {
            reader.at = item.at.unwrap_or(next);
            let is_there = item.when.is_none_or(|condition| condition.holds(&numbers));
            match &item.what {
                What::Value { to, form, .. } if !is_there => to.put(fields, form.nothing()),
                What::Bits { parts, .. } if !is_there => {
                    parts.iter().for_each(|part| part.to.put(fields, FieldValue::Int(0)));
                }
                What::Value { to, form, mask, constant } => {
                    let unique = to.field.is_some();
                    let mut value = reader.value(form, &numbers, unique)?;
                    if let Some(mask) = mask {
                        value.number &= i128::from(*mask);
                        value.field = int(value.number);
                    }
                    if !constant.as_ref().is_none_or(|constant| constant.is(value.number, value.bytes)) {
                        return Err(Outcome::Other);
                    }
                    to.put(fields, value.field);
                    to.keep(&mut numbers, value.number);
                }
                What::Bits { number, parts } => {
                    let value = reader.number(*number)?;
                    let mut left = 8 * u32::try_from(number.least()).unwrap_or(0);
                    for part in parts {
                        left = left.saturating_sub(part.bits);
                        let value = value >> left & ((1 << part.bits) - 1);
                        if !part.constant.as_ref().is_none_or(|constant| constant.is(value, &[])) {
                            return Err(Outcome::Other);
                        }
                        part.to.put(fields, int(value));
                        part.to.keep(&mut numbers, value);
                    }
                }
                What::Checksum(checksum, from) if is_there => {
                    let end = reader.at;
                    let expected = reader.take(checksum.width()).map(|bytes| unsigned(bytes, self.little))?;
                    let over = reader.there.get(*from..end).unwrap_or_default();
                    if u64::from(checksum.of(over)) != expected {
                        return Err(Outcome::Malformed("a wrong checksum"));
                    }
                }
                What::End if is_there && reader.at < reader.total => return Err(Outcome::Other),
                What::Checksum(..) | What::End => {}
            }
            judged = judged.max(reader.at);
            // Pairs may be asked for several values.
            let is_lookup = matches!(&item.what, What::Value { form: Form::Pairs { .. }, .. });
            if item.at.is_none() && !is_lookup {
                next = reader.at;
            }
        }
        Ok(judged)
    }
}

impl Target {
    fn put<'b>(self, fields: &mut Fields<'b>, value: FieldValue<'b>) {
        if let Some(slot) = self.field.and_then(|field| fields.get_mut(field)) {
            *slot = value;
        }
    }

    fn keep(self, numbers: &mut [i128], value: i128) {
        if let Some(slot) = self.number.and_then(|number| numbers.get_mut(number)) {
            *slot = value;
        }
    }
}

impl Constant {
    fn is(&self, number: i128, bytes: &[u8]) -> bool {
        match self {
            Self::Number(least, most) => (*least..=*most).contains(&number),
            Self::Text(text) => **text == *bytes,
        }
    }
}

impl Condition {
    fn holds(self, numbers: &[i128]) -> bool {
        let number = numbers.get(self.number).copied().unwrap_or(0);
        match self.is {
            Comparison::Equal => number == self.than,
            Comparison::Unequal => number != self.than,
            Comparison::Less => number < self.than,
            Comparison::Greater => number > self.than,
            Comparison::Mask => number & self.than != 0,
        }
    }
}

impl Form {
    /// The value of a field that is not there.
    fn nothing<'b>(&self) -> FieldValue<'b> {
        match self {
            Self::Number(_) => FieldValue::Int(0),
            Self::Float(_) => FieldValue::Float(0.0),
            Self::Terminated(scalar) | Self::Bytes(_, scalar) => scalar.read(&[]),
            Self::Pairs { value, .. } => value.nothing(),
            Self::List { .. } => FieldValue::List(&[]),
        }
    }
}

fn int<'b>(number: i128) -> FieldValue<'b> {
    i64::try_from(number).map_or(FieldValue::Malformed("an integer beyond 64 bits"), FieldValue::Int)
}

/// A place in a frame.
struct Reader<'b> {
    /// As far as it has come.
    there: &'b [u8],
    /// How many bytes the frame has.
    total: usize,
    limit: usize,
    at: usize,
    little: bool,
    bump: &'b Bump,
}

impl<'b> Reader<'b> {
    fn new(frame: &Frame<'b>, little: bool, bump: &'b Bump) -> Self {
        let total = usize::try_from(frame.total).unwrap_or(usize::MAX);
        let there = frame.unread.get(..total).unwrap_or(frame.unread);
        Self { there, total, limit: frame.limit, at: frame.header, little, bump }
    }

    /// More is needed: `end` bytes of the frame.
    fn lacking(&self, end: usize) -> Outcome {
        if end > self.total { Outcome::Short } else { Outcome::More(end) }
    }

    /// The whole frame is needed, so that nothing is looked at again and again.
    fn lacking_all(&self) -> Outcome {
        if self.there.len() >= self.total {
            Outcome::Short
        } else {
            Outcome::More(self.total.min(self.limit).max(self.there.len() + 1))
        }
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], Outcome> {
        let end = self.at.saturating_add(length);
        let bytes = self.there.get(self.at..end).ok_or_else(|| self.lacking(end))?;
        self.at = end;
        Ok(bytes)
    }

    fn number(&mut self, number: Number) -> Result<i128, Outcome> {
        let rest = self.there.get(self.at..).unwrap_or_default();
        match number.read(rest, self.little) {
            Ok(ReadNumber::Whole(value, bytes)) => {
                self.at += bytes;
                Ok(value)
            }
            Ok(ReadNumber::Partial(bytes)) => Err(self.lacking(self.at.saturating_add(bytes))),
            Err(_) => Err(Outcome::Malformed("a number that is longer than it need be, or may be")),
        }
    }

    /// How many, and whether that is known.
    fn size(&mut self, size: Size, numbers: &[i128]) -> Result<Option<usize>, Outcome> {
        let size = match size {
            Size::Exactly(size) => return Ok(Some(size)),
            Size::Rest => return Ok(None),
            Size::Prefixed(number) => self.number(number)?,
            Size::Of(number, more) => numbers.get(number).copied().unwrap_or(0).saturating_add(more),
        };
        usize::try_from(size).map(Some).map_err(|_| Outcome::Malformed("a length that is no number of bytes"))
    }

    /// The value here. With `unique`, a key must not be there twice.
    fn value(&mut self, form: &Form, numbers: &[i128], unique: bool) -> Result<Value<'b>, Outcome> {
        let text = |bytes: &'b [u8], scalar: Scalar| Value { field: scalar.read(bytes), number: 0, bytes };
        match form {
            Form::Number(number) => {
                let number = self.number(*number)?;
                Ok(Value { field: int(number), number, bytes: &[] })
            }
            Form::Float(width) => {
                let bytes = self.take(*width)?;
                Ok(Value { field: FieldValue::Float(float(bytes, self.little)), number: 0, bytes })
            }
            Form::Terminated(scalar) => {
                let rest = self.there.get(self.at..).unwrap_or_default();
                let length = memchr::memchr(0, rest).ok_or_else(|| self.lacking_all())?;
                let bytes = self.take(length)?;
                self.at += 1;
                Ok(text(bytes, *scalar))
            }
            Form::Bytes(size, scalar) => {
                let rest = self.total.saturating_sub(self.at);
                let length = self.size(*size, numbers)?.unwrap_or(rest);
                Ok(text(self.take(length)?, *scalar))
            }
            Form::Pairs { key, value, last, wanted } => {
                let mut found = None;
                while self.at < self.total {
                    let here = self.number(*key)?;
                    if Some(here) == *last {
                        break;
                    }
                    let value = self.value(value, numbers, unique)?;
                    if here != *wanted {
                        continue;
                    }
                    if !unique {
                        return Ok(value);
                    }
                    if found.replace(value).is_some() {
                        return Err(Outcome::Malformed("a key that is there more than once"));
                    }
                }
                let missing = Value { field: FieldValue::Malformed("it is missing"), number: -1, bytes: &[] };
                Ok(found.unwrap_or(missing))
            }
            Form::List { count, element } => self.list(*count, element, numbers),
        }
    }

    fn list(&mut self, count: Size, element: &[Form], numbers: &[i128]) -> Result<Value<'b>, Outcome> {
        let count = self.size(count, numbers)?;
        if self.there.len() < self.total {
            // Once, and not again with every byte.
            return Err(self.lacking_all());
        }
        let mut values = bumpalo::collections::Vec::new_in(self.bump);
        while count.map_or(self.at < self.total, |count| values.len() < count) {
            if values.len() == MAX_ELEMENTS {
                return Err(Outcome::Malformed("a list of more than 4096 elements"));
            }
            let mut parts = bumpalo::collections::Vec::new_in(self.bump);
            for form in element {
                parts.push(self.value(form, numbers, true)?.field);
            }
            let parts = parts.into_bump_slice();
            values.push(match parts {
                [only] => *only,
                several => FieldValue::List(several),
            });
        }
        let number = i128::try_from(values.len()).unwrap_or(0);
        Ok(Value { field: FieldValue::List(values.into_bump_slice()), number, bytes: &[] })
    }
}
