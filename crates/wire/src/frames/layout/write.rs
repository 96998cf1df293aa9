//! Layouts, written: values become bytes, lengths and counts what they have to say.

use referee_monitor::FieldValue;

use super::{Comparison, Condition, Constant, Form, Item, Layout, Number, Size, Target, What};
use crate::encode::EncodeError;
use crate::frames::number::unsigned;

/// The values of a frame after its header, before what depends on the whole frame.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) bytes: Vec<u8>,
    /// The checksums among them: which item, and where.
    checksums: Vec<(usize, usize)>,
    /// The numbers that others refer to.
    numbers: Vec<i128>,
}

fn misfit(what: &str) -> EncodeError {
    EncodeError::Field(what.to_owned())
}

impl Layout {
    /// The values of `fields`, without those that have a place of their own.
    pub(crate) fn write(&self, fields: &[FieldValue<'_>]) -> Result<Draft, EncodeError> {
        let mut draft = Draft { numbers: self.given(fields)?, ..Draft::default() };
        let mut pairs = None;
        for (index, item) in self.items.iter().enumerate() {
            if item.at.is_some() || item.when.is_some_and(|condition| !condition.holds(&draft.numbers)) {
                continue;
            }
            match &item.what {
                What::Value { to, form: Form::Pairs { key, value, last, wanted }, constant, .. } => {
                    let given = to.field.and_then(|field| fields.get(field));
                    number(*key, *wanted, self.little, &mut draft.bytes)?;
                    self.value(value, given, constant.as_ref(), 0, &draft.numbers, &mut draft.bytes)?;
                    pairs = last.map(|last| (*key, last));
                }
                What::Value { to, form, constant, .. } => {
                    let given = to.field.and_then(|field| fields.get(field));
                    let own = to.number.and_then(|number| draft.numbers.get(number)).copied().unwrap_or(0);
                    self.value(form, given, constant.as_ref(), own, &draft.numbers, &mut draft.bytes)?;
                }
                What::Bits { number: width, .. } => {
                    let value = self.bits(item, fields, &draft.numbers, 0)?;
                    number(*width, value, self.little, &mut draft.bytes)?;
                }
                What::Checksum(checksum, _) => {
                    draft.checksums.push((index, draft.bytes.len()));
                    draft.bytes.resize(draft.bytes.len() + checksum.width(), 0);
                }
                What::End => {}
            }
        }
        if let Some((key, last)) = pairs {
            number(key, last, self.little, &mut draft.bytes)?;
        }
        Ok(draft)
    }

    /// Fills in what depends on `frame` as a whole: values with a place of their own, and checksums.
    pub(crate) fn finish(
        &self,
        fields: &[FieldValue<'_>],
        header: usize,
        draft: &Draft,
        frame: &mut [u8],
    ) -> Result<(), EncodeError> {
        for item in &self.items {
            let Some(at) = item.at else { continue };
            if item.when.is_some_and(|condition| !condition.holds(&draft.numbers)) {
                continue;
            }
            let mut bytes = Vec::new();
            match &item.what {
                What::Bits { number: width, .. } => {
                    let place = frame.get(at..at + width.least()).unwrap_or_default();
                    let value =
                        self.bits(item, fields, &draft.numbers, i128::from(unsigned(place, self.little)))?;
                    number(*width, value, self.little, &mut bytes)?;
                }
                What::Value { to, form, constant, .. } => {
                    let given = to.field.and_then(|field| fields.get(field));
                    let own = to.number.and_then(|number| draft.numbers.get(number)).copied().unwrap_or(0);
                    self.value(form, given, constant.as_ref(), own, &draft.numbers, &mut bytes)?;
                }
                What::Checksum(..) | What::End => {}
            }
            let place =
                frame.get_mut(at..at + bytes.len()).ok_or_else(|| misfit("a frame that is too short"))?;
            place.copy_from_slice(&bytes);
        }
        for (index, at) in &draft.checksums {
            if let Some(Item { what: What::Checksum(checksum, from), .. }) = self.items.get(*index) {
                let end = header + at;
                let sum = checksum.of(frame.get(*from..end).unwrap_or_default());
                let mut bytes = Vec::new();
                number(Number::Fixed(checksum.width(), false), i128::from(sum), self.little, &mut bytes)?;
                let place = frame
                    .get_mut(end..end + bytes.len())
                    .ok_or_else(|| misfit("a frame that is too short"))?;
                place.copy_from_slice(&bytes);
            }
        }
        Ok(())
    }

    /// The numbers that others refer to: those of fields, of constants, and those that lengths and conditions ask for.
    fn given(&self, fields: &[FieldValue<'_>]) -> Result<Vec<i128>, EncodeError> {
        let mut numbers = vec![None; self.numbers];
        let mut set = |to: &Target, constant: Option<&Constant>| {
            let given = match to.field.and_then(|field| fields.get(field)) {
                Some(FieldValue::Int(value)) => Some(i128::from(*value)),
                _ => match constant {
                    Some(Constant::Number(least, _)) => Some(*least),
                    _ => None,
                },
            };
            if let Some(slot) = to.number.and_then(|number| numbers.get_mut(number)) {
                *slot = given;
            }
        };
        for item in &self.items {
            match &item.what {
                What::Value { to, constant, .. } => set(to, constant.as_ref()),
                What::Bits { parts, .. } => {
                    parts.iter().for_each(|part| set(&part.to, part.constant.as_ref()))
                }
                What::Checksum(..) | What::End => {}
            }
        }
        for item in &self.items {
            let (present, size) = match &item.what {
                What::Value { to, form, .. } => {
                    let given = to.field.and_then(|field| fields.get(field));
                    let size = match form {
                        Form::Bytes(Size::Of(number, more), _) => Some((*number, length(given)? - more)),
                        Form::List { count: Size::Of(number, more), .. } => {
                            Some((*number, length(given)? - more))
                        }
                        _ => None,
                    };
                    (given.is_some_and(|value| !is_nothing(value)), size)
                }
                _ => (false, None),
            };
            if let Some((number, size)) = size
                && let Some(slot @ None) = numbers.get_mut(number)
            {
                *slot = Some(size);
            }
            if let Some(condition) = item.when
                && let Some(slot @ None) = numbers.get_mut(condition.number)
            {
                *slot = condition.choose(present);
            }
        }
        Ok(numbers.into_iter().map(|number| number.unwrap_or(0)).collect())
    }

    /// The number that has these parts; those that nothing is said of are as they are in `before`.
    fn bits(
        &self,
        item: &Item,
        fields: &[FieldValue<'_>],
        numbers: &[i128],
        before: i128,
    ) -> Result<i128, EncodeError> {
        let What::Bits { number, parts } = &item.what else { return Ok(before) };
        let mut left = 8 * u32::try_from(number.least()).unwrap_or(0);
        let mut whole = before;
        for part in parts {
            left = left.saturating_sub(part.bits);
            let mask = (1_i128 << part.bits) - 1;
            let given = match (part.to.field.and_then(|field| fields.get(field)), &part.constant) {
                (Some(FieldValue::Int(value)), _) => Some(i128::from(*value)),
                (_, Some(Constant::Number(least, _))) => Some(*least),
                _ => part.to.number.and_then(|number| numbers.get(number)).copied(),
            };
            let Some(value) = given else { continue };
            if value & mask != value {
                return Err(misfit("a number of more bits than it has"));
            }
            whole = whole & !(mask << left) | value << left;
        }
        Ok(whole)
    }

    fn value(
        &self,
        form: &Form,
        given: Option<&FieldValue<'_>>,
        constant: Option<&Constant>,
        own: i128,
        numbers: &[i128],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let bytes = || match (given, constant) {
            (Some(FieldValue::Str(text)), _) => Ok(text.as_bytes()),
            (Some(FieldValue::Bytes(bytes)), _) => Ok(*bytes),
            (None, Some(Constant::Text(text))) => Ok(&**text),
            (None, _) => Ok(&b""[..]),
            _ => Err(misfit("a value that is neither text nor bytes")),
        };
        match form {
            Form::Number(width) => {
                let value = match (given, constant) {
                    (Some(FieldValue::Int(value)), _) => i128::from(*value),
                    (None, Some(Constant::Number(least, _))) => *least,
                    (None, _) => own,
                    _ => return Err(misfit("a value that is no integer")),
                };
                number(*width, value, self.little, out)
            }
            Form::Float(width) => {
                let value = match given {
                    Some(FieldValue::Float(value)) => *value,
                    None => 0.0,
                    _ => return Err(misfit("a value that is no float")),
                };
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "one that does not fit is read as another, and refused"
                )]
                let bits = if *width == 4 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
                number(Number::Fixed(*width, false), i128::from(bits), self.little, out)
            }
            Form::Terminated(_) => {
                out.extend_from_slice(bytes()?);
                out.push(0);
                Ok(())
            }
            Form::Bytes(size, _) => {
                let bytes = bytes()?;
                match size {
                    Size::Prefixed(width) => {
                        number(*width, i128::try_from(bytes.len()).unwrap_or(0), self.little, out)?;
                        out.extend_from_slice(bytes);
                    }
                    Size::Exactly(length) if given.is_none() && constant.is_none() => {
                        out.resize(out.len() + length, 0);
                    }
                    Size::Of(length, more) if given.is_none() => {
                        let length = numbers.get(*length).copied().unwrap_or(0) + more;
                        out.resize(out.len() + usize::try_from(length).unwrap_or(0), 0);
                    }
                    _ => out.extend_from_slice(bytes),
                }
                Ok(())
            }
            Form::List { count, element } => {
                let elements = match given {
                    Some(FieldValue::List(elements)) => *elements,
                    None => &[],
                    _ => return Err(misfit("a value that is no list")),
                };
                if let Size::Prefixed(width) = count {
                    number(*width, i128::try_from(elements.len()).unwrap_or(0), self.little, out)?;
                }
                for value in elements {
                    let several = match (value, &**element) {
                        (_, [_]) => std::slice::from_ref(value),
                        (FieldValue::List(several), _) => several,
                        _ => return Err(misfit("an element that is no tuple")),
                    };
                    for (form, value) in element.iter().zip(several) {
                        self.value(form, Some(value), None, 0, numbers, out)?;
                    }
                }
                Ok(())
            }
            Form::Pairs { .. } => Err(misfit("pairs within pairs")),
        }
    }
}

impl Condition {
    /// A number with which this holds, or does not.
    fn choose(self, holds: bool) -> Option<i128> {
        let candidates = [0, 1, self.than, self.than.saturating_add(1), self.than.saturating_sub(1)];
        let is_it = |value: &i128| {
            let numbers = vec![*value; self.number + 1];
            self.holds(&numbers) == holds && *value >= 0
        };
        candidates.into_iter().find(is_it).or(match self.is {
            Comparison::Mask => Some(0),
            _ => None,
        })
    }
}

/// How many bytes or elements a value has.
fn length(value: Option<&FieldValue<'_>>) -> Result<i128, EncodeError> {
    let length = match value {
        Some(FieldValue::Str(text)) => text.len(),
        Some(FieldValue::Bytes(bytes)) => bytes.len(),
        Some(FieldValue::List(elements)) => elements.len(),
        None => 0,
        _ => return Err(misfit("a value that has no length")),
    };
    Ok(i128::try_from(length).unwrap_or(i128::MAX))
}

fn is_nothing(value: &FieldValue<'_>) -> bool {
    match value {
        FieldValue::Int(value) => *value == 0,
        FieldValue::Float(value) => *value == 0.0,
        FieldValue::Str(text) => text.is_empty(),
        FieldValue::Bytes(bytes) => bytes.is_empty(),
        FieldValue::List(elements) => elements.is_empty(),
        _ => true,
    }
}

fn number(number: Number, value: i128, little: bool, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    number.write(value, little, out)
}
