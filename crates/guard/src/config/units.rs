//! Times and sizes as people write them: `"30s"`, `"64KiB"`. Plain numbers are seconds and bytes.
//!
//! Not `humantime` and `bytesize`: they have no plain numbers, no `none` and no fractions, and `k` would be 1,000.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Error, Unexpected, Visitor};

/// A span of time; `none` for no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Option<Duration>);

impl Time {
    pub(crate) fn seconds(seconds: u64) -> Self {
        Self(Some(Duration::from_secs(seconds)))
    }

    /// In nanoseconds; without a bound, more than ever pass.
    pub(crate) fn nanoseconds(self) -> i64 {
        self.0.map_or(i64::MAX, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => write!(f, "{time:?}"),
            None => f.write_str("none"),
        }
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
            if self.0 >> shift << shift == self.0 && self.0 >> shift > 0 {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

/// `12.5ms` as 12.5 and `ms`.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

fn parse_time(text: &str) -> Option<Time> {
    if text.trim() == "none" {
        return Some(Time(None));
    }
    let (number, unit) = split(text);
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * scale).ok().map(|time| Time(Some(time)))
}

fn parse_size(text: &str) -> Option<Size> {
    let (number, unit) = split(text);
    let shift = match unit {
        "" | "B" => 0,
        "KiB" | "k" | "K" => 10,
        "MiB" | "M" => 20,
        "GiB" | "G" => 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift).map(Size)
}

struct Quantity<T> {
    what: &'static str,
    parse: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for Quantity<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        (self.parse)(&number.to_string()).ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let what = "a time such as \"30s\", \"500ms\", \"5m\" or \"none\"";
        deserializer.deserialize_any(Quantity { what, parse: parse_time })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let what = "a size such as \"64KiB\", \"1MiB\" or a number of bytes";
        deserializer.deserialize_any(Quantity { what, parse: parse_size })
    }
}

/// A number, or a text that `pattern` describes.
fn quantity(pattern: &str) -> Schema {
    json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": pattern }] })
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        quantity(r"^\s*(none|[0-9]+(\.[0-9]*)?\s*(ms|s|m|min|h|d)?)\s*$|\$\{")
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        quantity(r"^\s*[0-9]+\s*(B|KiB|k|K|MiB|M|GiB|G)?\s*$|\$\{")
    }
}
