//! Values in sentences: whoever sends a megabyte does not get a megabyte of explanation.

use std::fmt::{self, Display, Write};

/// Bytes of a value that are shown.
const SHOWN: usize = 256;

/// As much of `value` as fits into a sentence.
pub(super) struct Brief<T>(pub(super) T);

struct Limited<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    left: usize,
}

impl Write for Limited<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = |at: &usize| text.is_char_boundary(*at);
        let shown = (0..=self.left.min(text.len())).rev().find(fits).unwrap_or(0);
        self.out.write_str(&text[..shown])?;
        self.left -= shown;
        // Whoever writes need not go on.
        if shown < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

impl<T: Display> Display for Brief<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut limited = Limited { out: f, left: SHOWN };
        let written = write!(limited, "{}", self.0);
        if written.is_err() { f.write_char('…') } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_between_characters() {
        for (text, shown) in [("a", 300), ("ä", 150), ("\u{1F600}", 80)] {
            let brief = Brief(text.repeat(shown)).to_string();
            let kept = brief.strip_suffix('…').unwrap();
            assert!(kept.len() <= SHOWN && kept.len() > SHOWN - 4, "{brief}");
        }
        assert_eq!(Brief("short").to_string(), "short");
        assert_eq!(Brief("x".repeat(SHOWN)).to_string().len(), SHOWN);
    }
}
