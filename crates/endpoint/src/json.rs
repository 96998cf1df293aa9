//! JSON text to values and back: as much as messages need, bounded in depth, without guessing.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::value::Value;

/// How deep values may be nested.
const MAX_DEPTH: usize = 64;

/// Appends `text` as a JSON string.
pub(crate) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                // Writing to a String does not fail.
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Appends `value`.
///
/// # Errors
/// JSON has no form for it.
pub(crate) fn write(value: &Value, out: &mut String) -> Result<(), &'static str> {
    match value {
        Value::Unit => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Float(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        Value::Float(_) => return Err("a float that JSON has no number for"),
        Value::Text(text) => write_text(text, out),
        Value::Bytes(bytes) => {
            write_text(core::str::from_utf8(bytes).map_err(|_| "bytes that are no text")?, out);
        }
        Value::List(values) => {
            out.push('[');
            for (i, value) in values.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write(value, out)?;
            }
            out.push(']');
        }
        Value::Record(members) => {
            out.push('{');
            for (i, (name, value)) in members.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write_text(name, out);
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// The one value that `text` is.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(text: &str) -> Result<Value, &'static str> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(MAX_DEPTH)?;
    reader.blanks();
    if reader.at == text.len() { Ok(value) } else { Err("something after the value") }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, &'static str> {
        self.blanks();
        match self.peek().ok_or("no value")? {
            b'{' | b'[' if depth == 0 => Err("values nested too deep"),
            b'{' => self.record(depth - 1),
            b'[' => self.list(depth - 1),
            b'"' => self.string().map(Value::Text),
            b't' if self.takes("true") => Ok(Value::Bool(true)),
            b'f' if self.takes("false") => Ok(Value::Bool(false)),
            b'n' if self.takes("null") => Ok(Value::Unit),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, &'static str> {
        self.at += 1;
        let mut values = Vec::new();
        self.blanks();
        if self.takes("]") {
            return Ok(Value::List(values));
        }
        loop {
            values.push(self.value(depth)?);
            self.blanks();
            if self.takes("]") {
                return Ok(Value::List(values));
            }
            if !self.takes(",") {
                return Err("a list without `,` or `]`");
            }
        }
    }

    fn record(&mut self, depth: usize) -> Result<Value, &'static str> {
        self.at += 1;
        let mut members: Vec<(String, Value)> = Vec::new();
        self.blanks();
        if self.takes("}") {
            return Ok(Value::Record(members));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err("a member without a name");
            }
            let name = self.string()?;
            self.blanks();
            if !self.takes(":") {
                return Err("a member without `:`");
            }
            let value = self.value(depth)?;
            members.push((name, value));
            self.blanks();
            if self.takes("}") {
                break;
            }
            if !self.takes(",") {
                return Err("an object without `,` or `}`");
            }
        }
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        // Readers differ in which of two they take.
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("an object with a name twice");
        }
        Ok(Value::Record(members))
    }

    fn string(&mut self) -> Result<String, &'static str> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let plain = rest.find(['"', '\\']).ok_or("a text without its end")?;
            let part = &rest[..plain];
            if part.bytes().any(|byte| byte < 0x20) {
                return Err("a control character in a text");
            }
            text.push_str(part);
            self.at += plain;
            if self.takes("\"") {
                return Ok(text);
            }
            self.at += 1;
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, &'static str> {
        let kind = self.peek().ok_or("a text without its end")?;
        self.at += 1;
        Ok(match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex()?;
                if (0xD800..0xDC00).contains(&high) && self.takes("\\u") {
                    let low = self.hex()?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return Err("half of a surrogate pair");
                    }
                    let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    return char::from_u32(code).ok_or("no such character");
                }
                char::from_u32(high).ok_or("half of a surrogate pair")?
            }
            _ => return Err("an unknown escape"),
        })
    }

    fn hex(&mut self) -> Result<u32, &'static str> {
        let digits = self.text.get(self.at..self.at + 4).ok_or("an escape that is cut")?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("an escape that is no number");
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| "an escape that is no number")
    }

    fn number(&mut self) -> Result<Value, &'static str> {
        const WRONG: &str = "neither a value nor a number";
        let start = self.at;
        self.takes("-");
        let whole = self.digits();
        let leading_zero = self.text.as_bytes().get(self.at - whole) == Some(&b'0') && whole > 1;
        if whole == 0 || leading_zero {
            return Err(WRONG);
        }
        let mut is_int = true;
        if self.takes(".") {
            is_int = false;
            if self.digits() == 0 {
                return Err(WRONG);
            }
        }
        if self.takes("e") || self.takes("E") {
            is_int = false;
            let _ = self.takes("+") || self.takes("-");
            if self.digits() == 0 {
                return Err(WRONG);
            }
        }
        let text = &self.text[start..self.at];
        if is_int && let Ok(value) = text.parse() {
            return Ok(Value::Int(value));
        }
        let value: f64 = text.parse().map_err(|_| WRONG)?;
        if value.is_finite() { Ok(Value::Float(value)) } else { Err("a number that is too large") }
    }

    /// Goes over digits; how many.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }
}
