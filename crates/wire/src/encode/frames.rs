//! Frames: a header with tag and length, and the values of a layout.

use super::{EncodeError, Parts, misfit};
use crate::frames::{Layout, Number, unsigned};
use crate::signature::Known;
use crate::table::{Endian, LengthForm, LengthTable, MessageTable, Table, TagTable};

/// How one message is written.
#[derive(Debug)]
pub(super) struct Writer {
    form: Form,
    layout: Layout,
    little: bool,
}

#[derive(Debug)]
enum Form {
    Bare(Vec<u8>),
    Framed(Option<(TagTable, u64)>, LengthTable),
}

impl Writer {
    pub(super) fn new(table: &Table, entry: Option<&MessageTable>, known: &Known) -> Result<Self, String> {
        let entry = entry.ok_or("the table has no such message")?;
        let little = table.endian == Some(Endian::Little);
        let layout = Layout::parse(&entry.layout, &known.fields, little).map_err(|(_, reason)| reason)?;
        let form = if entry.silent {
            return Err("it has no bytes".to_owned());
        } else if let Some(bytes) = &entry.bare {
            if entry.length.is_some() {
                return Err("nothing says what follows its first bytes".to_owned());
            }
            Form::Bare(bytes.as_bytes().to_vec())
        } else {
            let text = entry.pattern.as_ref().map(|text| unsigned(text.as_bytes(), false));
            let tag = table.tag.filter(|_| !entry.untagged).zip(entry.tag.or(text));
            let length = match tag {
                None => table.untagged_length.or(table.length),
                Some(_) => table.length,
            };
            Form::Framed(tag, length.ok_or("`length` is missing from the table")?)
        };
        Ok(Self { form, layout, little })
    }

    pub(super) fn write(&self, parts: &Parts<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let (tag, length) = match &self.form {
            Form::Bare(bytes) => {
                out.extend_from_slice(bytes);
                return Ok(());
            }
            Form::Framed(tag, length) => (tag, length),
        };
        let draft = self.layout.write(parts.fields)?;
        let tag_end = tag.map_or(0, |(tag, _)| usize::from(tag.at) + tag.bytes.bytes());
        let number = match length.bytes {
            LengthForm::Fixed(width) => Number::Fixed(width.bytes(), false),
            LengthForm::Leb128 => Number::Leb128(10),
            LengthForm::Mqtt => Number::Leb128(4),
            LengthForm::Quic => Number::Quic,
        };
        let rest = draft.bytes.len() + parts.body.len();
        let at = usize::from(length.at);
        // A number that says itself how long it is may make the header longer, and so itself.
        let mut width = number.least();
        let said = loop {
            let header = (at + width).max(tag_end);
            let total = i128::try_from(header + rest).unwrap_or(i128::MAX);
            let from = length.counts_from.map_or(header, usize::from);
            let counted = total - i128::from(length.plus.unwrap_or(0)) - i128::try_from(from).unwrap_or(0);
            let times = i128::from(length.times.unwrap_or(1).max(1));
            if counted % times != 0 || counted < 0 {
                return Err(misfit("a length that the header cannot say"));
            }
            let mut said = Vec::new();
            number.write(counted / times, self.little, &mut said)?;
            if said.len() <= width {
                break said;
            }
            width = said.len();
        };
        let header = (at + said.len()).max(tag_end);
        let start = out.len();
        out.resize(start + header, 0);
        if let Some((tag, value)) = tag {
            let mut bytes = Vec::new();
            let value = i128::from(value & tag.mask.unwrap_or(u64::MAX));
            Number::Fixed(tag.bytes.bytes(), false).write(value, self.little, &mut bytes)?;
            overwrite(out, start + usize::from(tag.at), &bytes)?;
        }
        overwrite(out, start + at, &said)?;
        out.extend_from_slice(&draft.bytes);
        out.extend_from_slice(parts.body);
        let frame = out.get_mut(start..).unwrap_or_default();
        self.layout.finish(parts.fields, header, &draft, frame)
    }
}

fn overwrite(out: &mut [u8], at: usize, bytes: &[u8]) -> Result<(), EncodeError> {
    let place = out.get_mut(at..at + bytes.len()).ok_or_else(|| misfit("a header that is too short"))?;
    place.copy_from_slice(bytes);
    Ok(())
}
