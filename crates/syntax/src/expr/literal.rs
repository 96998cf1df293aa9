//! From the text of a number or a string to what it stands for.

use referee_theory::expr::Literal;

use super::{Dialect, SyntaxErrorKind};

/// A wrong literal: what is wrong, and the bytes of the literal's text that are.
pub(super) type Wrong = (SyntaxErrorKind, std::ops::Range<usize>);

/// The decimal or hexadecimal integer `text`, with `-` before it if `negative`.
pub(super) fn int(text: &str, negative: bool) -> Result<Literal, SyntaxErrorKind> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let magnitude = i128::from_str_radix(digits, radix).ok();
    magnitude
        .and_then(|magnitude| i64::try_from(if negative { -magnitude } else { magnitude }).ok())
        .map(Literal::Int)
        .ok_or_else(|| SyntaxErrorKind::NumberOutOfRange { text: signed(text, negative) })
}

/// The float `text`, with `-` before it if `negative`.
pub(super) fn float(text: &str, negative: bool) -> Result<Literal, SyntaxErrorKind> {
    let value = text.parse().ok().map(|value: f64| if negative { -value } else { value });
    value
        .filter(|value| value.is_finite())
        .map(Literal::Float)
        .ok_or_else(|| SyntaxErrorKind::NumberOutOfRange { text: signed(text, negative) })
}

fn signed(text: &str, negative: bool) -> String {
    if negative { format!("-{text}") } else { text.to_owned() }
}

/// The string or bytes constant whose text, quotes included, is `text`.
pub(super) fn string(text: &str, dialect: Dialect) -> Result<Literal, Wrong> {
    let opening = text.find(['"', '\'']).unwrap_or(0);
    let (prefix, quoted) = text.split_at(opening);
    let triple = dialect != Dialect::NuScr
        && quoted.len() >= 6
        && (quoted.starts_with("\"\"\"") || quoted.starts_with("'''"));
    let width = if triple { 3 } else { 1 };
    let body = quoted.get(width..quoted.len().saturating_sub(width)).unwrap_or_default();
    let raw = match dialect {
        Dialect::Cel => prefix.contains(['r', 'R']),
        Dialect::NuScr => true,
        Dialect::Scala => triple,
    };
    let bytes = prefix.contains(['b', 'B']);
    if raw {
        return Ok(if bytes { Literal::Bytes(body.as_bytes().into()) } else { Literal::String(body.into()) });
    }
    let mut out = Unescaped { bytes, text: Vec::with_capacity(body.len()) };
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.text.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let length = out.escape(rest).map_err(|length| {
            let escape: String = rest.chars().take(length).collect();
            let start = opening + width + (body.len() - rest.len());
            let range = start..start + escape.len();
            (SyntaxErrorKind::BadEscape { escape }, range)
        })?;
        rest = &rest[length..];
    }
    out.text.extend_from_slice(rest.as_bytes());
    Ok(match String::from_utf8(out.text) {
        Ok(text) if !bytes => Literal::String(text.into()),
        Ok(text) => Literal::Bytes(text.into_bytes().into()),
        Err(error) => Literal::Bytes(error.into_bytes().into()),
    })
}

struct Unescaped {
    bytes: bool,
    text: Vec<u8>,
}

impl Unescaped {
    /// Appends what the escape at the start of `rest` stands for, and gives its length in bytes; fails
    /// with its length in characters.
    fn escape(&mut self, rest: &str) -> Result<usize, usize> {
        let letter = rest.chars().nth(1).ok_or(1_usize)?;
        let simple = match letter {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '?' | '"' | '\'' | '`' => letter,
            'x' | 'X' => return self.number(rest, 2, 2, 16),
            'u' if !self.bytes => return self.number(rest, 2, 4, 16),
            'U' if !self.bytes => return self.number(rest, 2, 8, 16),
            '0'..='3' => return self.number(rest, 1, 3, 8),
            _ => return Err(2),
        };
        self.push(u32::from(simple)).map(|()| 2).ok_or(2)
    }

    /// An escape of exactly `digits` digits after `skip` characters.
    fn number(&mut self, rest: &str, skip: usize, digits: usize, radix: u32) -> Result<usize, usize> {
        let text = rest.get(skip..skip + digits).filter(|text| text.chars().all(|c| c.is_digit(radix)));
        let value = text.and_then(|text| u32::from_str_radix(text, radix).ok());
        value.and_then(|value| self.push(value)).map(|()| skip + digits).ok_or(skip + digits)
    }

    /// A code point of a string, an octet of bytes.
    fn push(&mut self, value: u32) -> Option<()> {
        if self.bytes {
            self.text.push(u8::try_from(value).ok()?);
        } else {
            let c = char::from_u32(value)?;
            self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Some(())
    }
}
