//! Monitors of several shapes, and bytes to drive them.

use referee_monitor::Monitor;
use referee_pipeline::{Language, Parsed};

/// Kept values of every kind, assertions that can fail or have no value, one peer and two.
pub const PROTOCOLS: &[(&str, &str)] = &[
    (
        "type Token = string; protocol Auth(role a, role b) { rec L {
            A(u: string, p: string) from a to b where u.matches(\"^[a-z]+$\");
            choice at b { S(t: Token) from b to a; rec X { choice at a { G(r: string, q: Token) from a to b where q == t;
                choice at b { R(c: string) from b to a; continue X; } or { T() from b to a; continue L; } }
                or { V(q: Token) from a to b where q == t && q.size() > 0; } } }
            or { F(n: int) from b to a where n > 0 && n < 600; continue L; } } }",
        "a",
    ),
    (
        "protocol Calc(role a, role b) { rec X { choice at a {
            A(n: int, m: int) from a to b; S(t: int) from b to a where t == n + m; continue X; }
            or { D(n: int, m: int) from a to b where m != 0; S(t: int) from b to a where t == n / m; continue X; }
            or { F(x: float, y: bool) from a to b where y || x * 2.0 < 1.0; R(z: float) from b to a where z >= x; continue X; }
            or { V() from a to b; } } }",
        "b",
    ),
    (
        "protocol Peers(role a, role b, role c) { rec X { A(n: int) from b to a; S(n: int) from c to a where n > 0;
            choice at a { G() from a to b; T() from a to c; continue X; } or { V() from a to b; F() from a to c; } } }",
        "a",
    ),
];

/// The monitor of each protocol's role.
pub fn monitors(protocols: &[(&str, &str)]) -> Vec<Monitor> {
    let monitor = |(text, role): &(&str, &str)| {
        let text = Parsed::new(text, Language::Scr).well_formed().expect("it has no errors");
        let protocol = text.protocol(None).expect("there is a protocol");
        let role = protocol.role(role).expect("the role exists");
        protocol.monitorable(role).expect("it has a projection").monitor().expect("it has a monitor")
    };
    protocols.iter().map(monitor).collect()
}

/// Labels, field names and values that protocols know, so that runs get far.
const WORDS: &[&str] =
    &["A", "S", "G", "R", "T", "V", "F", "D", "u", "p", "t", "q", "r", "c", "n", "m", "bob"];

/// Bytes that are read as whatever is wanted; zeros at their end.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next eight bytes.
    pub fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A word that protocols know.
    pub fn word(&mut self) -> &'static str {
        WORDS[usize::from(self.byte()) % WORDS.len()]
    }

    /// Some text.
    pub fn text(&mut self) -> &'a str {
        let length = usize::from(self.byte()).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        std::str::from_utf8(text).unwrap_or("ÿ")
    }
}

/// Whether `log` begins like something compressed.
pub fn is_compressed(log: &[u8]) -> bool {
    matches!(log, [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}
