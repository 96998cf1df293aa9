//! How wide text is, and how to make it fit. No font is read: widths come from a table.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Advance widths of the printable ASCII characters in thousandths of the font size: for each character the
/// widest of Inter, Roboto, Arial and DejaVu Sans, so that text set in any of the interface fonts that
/// browsers choose fits the room reserved for it.
const ADVANCES: [u16; 95] = [
    318, 401, 460, 838, 638, 950, 780, 275, 390, 390, 500, 838, 318, 460, 318, 413, //  !"#$%&'()*+,-./
    636, 636, 636, 636, 642, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 556, // 0-9:;<=>?
    1015, 684, 686, 727, 770, 667, 611, 778, 752, 295, 552, 667, 562, 889, 753, 787, // @A-O
    667, 787, 722, 667, 642, 741, 684, 989, 685, 667, 685, 390, 411, 390, 838, 556, // P-Z[\]^_
    500, 613, 635, 558, 635, 615, 361, 635, 634, 278, 278, 579, 278, 974, 634, 612, // `a-o
    635, 635, 411, 523, 392, 634, 592, 818, 592, 592, 541, 636, 337, 636, 838, // p-z{|}~
];

/// Semibold text is wider than regular text by this factor.
const SEMIBOLD: f64 = 1.1;

/// How text is set: a size in user units and whether it is semibold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Face {
    pub(crate) size: f64,
    pub(crate) semibold: bool,
}

impl Face {
    pub(crate) const fn regular(size: f64) -> Self {
        Self { size, semibold: false }
    }

    pub(crate) const fn semibold(size: f64) -> Self {
        Self { size, semibold: true }
    }

    /// The distance between two baselines.
    pub(crate) fn line_height(self) -> f64 {
        (self.size * 1.38).round()
    }

    /// How far below the middle of a line its baseline lies, so that capitals look centred.
    pub(crate) fn baseline(self) -> f64 {
        self.size * 0.36
    }

    fn advance(self, c: char) -> f64 {
        let thousandths = match c {
            ' '..='~' => f64::from(ADVANCES[c as usize - 32]),
            // Fullwidth characters are one em; others vary, and capitals with marks are the usual worst case.
            _ => match c.width() {
                Some(0) | None => 0.0,
                Some(1) if c.is_lowercase() => 700.0,
                Some(1) => 840.0,
                Some(_) => 1060.0,
            },
        };
        let regular = thousandths * self.size / 1000.0;
        if self.semibold { regular * SEMIBOLD } else { regular }
    }

    /// An upper estimate of the width of one line of text.
    pub(crate) fn width(self, text: &str) -> f64 {
        text.chars().map(|c| self.advance(c)).sum()
    }

    /// `text` on one line and no wider than `limit`, cut with an ellipsis if it must be.
    pub(crate) fn fit(self, text: &str, limit: f64) -> String {
        let text = one_line(text);
        if self.width(&text) <= limit {
            return text.into_owned();
        }
        let mut kept = String::new();
        let mut width = self.advance('…');
        for c in text.chars() {
            width += self.advance(c);
            if width > limit {
                break;
            }
            kept.push(c);
        }
        kept.truncate(kept.trim_end().len());
        kept.push('…');
        kept
    }

    /// `text` broken into lines no wider than `limit`, preferably at spaces. Never empty; more than `lines`
    /// lines are cut with an ellipsis.
    pub(crate) fn wrap(self, text: &str, limit: f64, lines: usize) -> Vec<String> {
        wrap_by(text, lines, |line| self.width(line) <= limit)
    }
}

/// `text` broken into lines that each `fits`, preferably at spaces; at most `limit` lines.
pub(crate) fn wrap_by(text: &str, limit: usize, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in one_line(paragraph).split_whitespace() {
            let candidate = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if fits(&candidate) {
                line = candidate;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            // A word wider than a line is broken anywhere.
            for c in word.chars() {
                line.push(c);
                if !fits(&line) && line.chars().nth(1).is_some() {
                    line.pop();
                    lines.push(std::mem::take(&mut line));
                    line.push(c);
                }
            }
        }
        lines.push(line);
        if lines.len() > limit {
            break;
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    if lines.len() > limit.max(1) {
        lines.truncate(limit.max(1));
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && !fits(&format!("{last}…")) {
                last.pop();
            }
            last.push('…');
        }
    }
    lines
}

/// `text` with control characters (line breaks among them) turned into spaces, so that it stays on its line
/// and is legal in XML.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| c.is_control()) {
        Cow::Owned(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACE: Face = Face::regular(12.0);

    #[test]
    fn fitted_text_fits() {
        for limit in [20.0, 40.0, 80.0, 400.0] {
            let fitted = FACE.fit("client!Auth(uname: string, pwd: string)", limit);
            assert!(FACE.width(&fitted) <= limit, "{fitted}");
        }
        assert_eq!(FACE.fit("ok", 100.0), "ok");
        assert_eq!(FACE.fit("a\nb", 100.0), "a b");
    }

    #[test]
    fn wrapped_text_keeps_every_word() {
        let text = "the referee never touches the ball and names the offender";
        let lines = FACE.wrap(text, 90.0, 20);
        assert!(lines.iter().all(|line| FACE.width(line) <= 90.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        assert_eq!(FACE.wrap("", 90.0, 20), [""]);
        assert_eq!(FACE.wrap("a b c", 1.0, 2), ["a", "…"]);
    }

    #[test]
    fn a_word_wider_than_a_line_is_broken() {
        let lines = FACE.wrap("abcdefghijklmnopqrstuvwxyz", 60.0, 20);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| FACE.width(line) <= 60.0), "{lines:?}");
        assert_eq!(lines.concat(), "abcdefghijklmnopqrstuvwxyz");
    }
}
