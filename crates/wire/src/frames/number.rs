//! Numbers in frames: of a fixed width, or as long as they say themselves.

use crate::encode::EncodeError;
use crate::step::Malformed;

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// So many bytes, 8 at most, signed or not.
    Fixed(usize, bool),
    /// Seven bits in each byte, the least first; the eighth says that another byte follows. So many bytes at most.
    Leb128(usize),
    /// QUIC's (RFC 9000, 16): the two upper bits say whether it has 1, 2, 4 or 8 bytes.
    Quic,
}

/// A number that was read.
pub(crate) enum ReadNumber {
    /// It, and how many bytes it has.
    Whole(i128, usize),
    /// It has at least so many bytes.
    Partial(usize),
}

/// There are several ways to write small numbers so, and readers differ about all but the shortest.
const OVERLONG: &str = "a number that is longer than it need be";
const TOO_LARGE: &str = "a number of more bytes than it may have";

impl Number {
    /// The number called `name` in tables.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "leb128" => Self::Leb128(10),
            "mqtt" => Self::Leb128(4),
            "quic" => Self::Quic,
            _ => {
                let (kind, bits) = name.split_at_checked(1)?;
                let signed = match kind {
                    "u" => false,
                    "i" => true,
                    _ => return None,
                };
                let bytes = match bits {
                    "8" => 1,
                    "16" => 2,
                    "24" => 3,
                    "32" => 4,
                    "64" => 8,
                    _ => return None,
                };
                Self::Fixed(bytes, signed)
            }
        })
    }

    /// How many bytes it has at least.
    pub(crate) fn least(self) -> usize {
        match self {
            Self::Fixed(bytes, _) => bytes,
            Self::Leb128(_) | Self::Quic => 1,
        }
    }

    /// The number that `bytes` begins with.
    pub(crate) fn read(self, bytes: &[u8], little: bool) -> Result<ReadNumber, Malformed> {
        match self {
            Self::Fixed(width, signed) => Ok(match bytes.get(..width) {
                Some(bytes) => ReadNumber::Whole(fixed(bytes, little, signed), width),
                None => ReadNumber::Partial(width),
            }),
            Self::Leb128(most) => {
                let mut value = 0_i128;
                for (index, byte) in bytes.iter().take(most).enumerate() {
                    value |= i128::from(byte & 0x7f) << (7 * index);
                    if byte & 0x80 == 0 {
                        return match (*byte, index) {
                            (0, 1..) => Err(Malformed::new(OVERLONG, 0)),
                            _ if value > i128::from(u64::MAX) => Err(Malformed::new(TOO_LARGE, 0)),
                            _ => Ok(ReadNumber::Whole(value, index + 1)),
                        };
                    }
                }
                match bytes.len() < most {
                    true => Ok(ReadNumber::Partial(bytes.len() + 1)),
                    false => Err(Malformed::new(TOO_LARGE, 0)),
                }
            }
            Self::Quic => {
                let Some(first) = bytes.first() else { return Ok(ReadNumber::Partial(1)) };
                let width = 1_usize << (first >> 6);
                let Some(bytes) = bytes.get(..width) else { return Ok(ReadNumber::Partial(width)) };
                let value = unsigned(bytes, false) & (u64::MAX >> (66 - 8 * width));
                if width > quic_width(value) {
                    return Err(Malformed::new(OVERLONG, 0));
                }
                Ok(ReadNumber::Whole(i128::from(value), width))
            }
        }
    }
}

impl Number {
    /// Appends `value`, in as few bytes as it can have.
    pub(crate) fn write(self, value: i128, little: bool, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let misfit = || EncodeError::Field(format!("{value} is out of range"));
        match self {
            Self::Fixed(width, signed) => {
                let bits = 8 * u32::try_from(width).unwrap_or(8);
                let (least, most) =
                    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                if !(least..=most).contains(&value) {
                    return Err(misfit());
                }
                let bytes = value.to_be_bytes();
                let bytes = bytes.get(bytes.len() - width..).unwrap_or_default();
                if little {
                    out.extend(bytes.iter().rev());
                } else {
                    out.extend_from_slice(bytes);
                }
            }
            Self::Leb128(most) => {
                let mut rest = u64::try_from(value).map_err(|_| misfit())?;
                for _ in 0..most {
                    let byte = u8::try_from(rest & 0x7f).unwrap_or(0);
                    rest >>= 7;
                    if rest == 0 {
                        out.push(byte);
                        return Ok(());
                    }
                    out.push(byte | 0x80);
                }
                return Err(misfit());
            }
            Self::Quic => {
                let value = u64::try_from(value).ok().filter(|value| *value < 1 << 62).ok_or_else(misfit)?;
                let width = quic_width(value);
                let marked = value | (u64::from(width.trailing_zeros()) << (8 * width - 2));
                let bytes = marked.to_be_bytes();
                out.extend_from_slice(bytes.get(8 - width..).unwrap_or_default());
            }
        }
        Ok(())
    }
}

/// How many bytes QUIC needs for `value`.
fn quic_width(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// The bytes as a number without sign; eight of them at most.
pub(crate) fn unsigned(bytes: &[u8], little: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}

fn fixed(bytes: &[u8], little: bool, signed: bool) -> i128 {
    let number = unsigned(bytes, little);
    if signed {
        let unused = 64 - 8 * u32::try_from(bytes.len()).unwrap_or(8);
        i128::from(number.wrapping_shl(unused).cast_signed().wrapping_shr(unused))
    } else {
        i128::from(number)
    }
}

pub(crate) fn float(bytes: &[u8], little: bool) -> f64 {
    let bits = unsigned(bytes, little);
    match u32::try_from(bits) {
        Ok(bits) if bytes.len() == 4 => f64::from(f32::from_bits(bits)),
        _ => f64::from_bits(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(number: Number, bytes: &[u8]) -> Option<(i128, usize)> {
        match number.read(bytes, false) {
            Ok(ReadNumber::Whole(value, width)) => Some((value, width)),
            _ => None,
        }
    }

    #[test]
    fn the_examples_of_the_standards() {
        // RFC 9000, A.1.
        let quic = |bytes: &[u8]| whole(Number::Quic, bytes);
        assert_eq!(
            quic(&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
            Some((151_288_809_941_952_652, 8))
        );
        assert_eq!(quic(&[0x9d, 0x7f, 0x3e, 0x7d]), Some((494_878_333, 4)));
        assert_eq!(quic(&[0x7b, 0xbd]), Some((15_293, 2)));
        assert_eq!(quic(&[0x25]), Some((37, 1)));
        // The same number in more bytes.
        assert_eq!(quic(&[0x40, 0x25]), None);
        // MQTT 5, table 1-1.
        let mqtt = Number::Leb128(4);
        for (bytes, value) in [
            (&[0x7f][..], 127),
            (&[0x80, 1], 128),
            (&[0xff, 0x7f], 16_383),
            (&[0x80, 0x80, 1], 16_384),
            (&[0xff, 0xff, 0xff, 0x7f], 268_435_455),
        ] {
            assert_eq!(whole(mqtt, bytes), Some((value, bytes.len())));
        }
        assert!(mqtt.read(&[0xff, 0xff, 0xff, 0xff, 1], false).is_err());
        assert!(mqtt.read(&[0x81, 0], false).is_err());
        assert!(matches!(mqtt.read(&[0x80], false), Ok(ReadNumber::Partial(2))));
        assert_eq!(whole(Number::Fixed(3, true), &[0xff, 0xff, 0xfe]), Some((-2, 3)));
    }
}
