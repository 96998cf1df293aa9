//! Writing SVG: escaping, numbers, and the document with its style sheet.
//!
//! Pictures carry no ids, and every class begins with `rd-`: several of them can stand inline in one page.

use std::fmt::Write as _;

use crate::text::Face;

/// The colours: name, on a light page, on a dark one. Sends and receives follow Okabe and Ito's blue and
/// vermilion, which stay distinguishable for colour-blind readers. A page may override `--rd-NAME` on `.rd`.
const PALETTE: [(&str, &str, &str); 13] = [
    ("paper", "#fff", "#14181d"),
    ("ink", "#1b1f24", "#e8ecf1"),
    ("muted", "#667080", "#98a3b1"),
    ("line", "#8a94a3", "#76818f"),
    ("fill", "#f5f7f9", "#1f252c"),
    ("soft", "#e3e8ee", "#2c343d"),
    ("send", "#0062a8", "#6cb8f2"),
    ("recv", "#a64300", "#f0a04b"),
    ("dep", "#7a3f93", "#cfa0e4"),
    ("bad", "#c01c28", "#ff7b84"),
    ("badfill", "#fdeced", "#3a1e21"),
    ("note", "#fbf8ec", "#2b291d"),
    ("noteline", "#d9cfa4", "#5b5436"),
];

/// The rules all pictures share; `$NAME` stands for a colour.
const RULES: &str = "\
.rd-paper{fill:$paper}\
.rd text{fill:$ink;white-space:pre}\
.rd text.rd-middle{text-anchor:middle}\
.rd text.rd-name{font-size:13px;font-weight:600}\
.rd text.rd-detail{font-size:11px;fill:$muted}\
.rd text.rd-italic{font-style:italic}\
.rd-box{fill:$fill;stroke:$line;stroke-width:1.25}\
.rd-ring{fill:none;stroke:$line;stroke-width:1.25}\
.rd-initial .rd-box{stroke:$ink}\
.rd-final .rd-box,.rd-final .rd-ring{stroke:$ink}\
.rd-error .rd-box{fill:$badfill;stroke:$bad}\
.rd .rd-error text.rd-name{fill:$bad}\
.rd-stub .rd-box{fill:none;stroke-dasharray:3 3}\
.rd .rd-stub text{fill:$muted}\
.rd-stroke{fill:none;stroke:$line;stroke-width:1.4;stroke-linecap:round;stroke-linejoin:round}\
.rd-head{fill:$line}\
.rd-entry{fill:none;stroke:$ink;stroke-width:1.4;stroke-linecap:round}\
.rd-dot{fill:$ink}\
.rd-send .rd-stroke{stroke:$send}.rd-send .rd-head{fill:$send}.rd text.rd-send{fill:$send}\
.rd-recv .rd-stroke{stroke:$recv}.rd-recv .rd-head{fill:$recv}.rd text.rd-recv{fill:$recv}\
.rd-dep .rd-stroke{stroke:$dep;stroke-dasharray:5 4}.rd-dep .rd-head{fill:$dep}\
.rd text.rd-dep{fill:$dep}\
.rd-hot .rd-stroke{stroke-width:2.8}\
.rd text.rd-hot{font-weight:600}\
.rd-life{stroke:$line;stroke-width:1;stroke-dasharray:2 4;stroke-linecap:round}\
.rd-msg .rd-stroke{stroke:$ink}.rd-msg .rd-head{fill:$ink}\
.rd-dash .rd-stroke{stroke:$muted;stroke-dasharray:5 4}.rd-dash .rd-head{fill:$muted}\
.rd-mark .rd-stroke{stroke:$send;stroke-width:2.4}.rd-mark .rd-head{fill:$send}\
.rd .rd-mark text.rd-label{fill:$send;font-weight:600}\
.rd-fail .rd-stroke{stroke:$bad;stroke-width:1.8}.rd-fail .rd-head{fill:$bad}\
.rd .rd-fail text.rd-label{fill:$bad;font-weight:600}\
.rd-left .rd-stroke{stroke:$recv}.rd-left .rd-head{fill:$paper;stroke:$recv;stroke-width:1.6}\
.rd .rd-left text.rd-label{fill:$recv}\
.rd-frame{fill:none;stroke:$line;stroke-width:1}\
.rd-tab{fill:$soft;stroke:$line;stroke-width:1}\
.rd-split{stroke:$line;stroke-width:1;stroke-dasharray:5 4}\
.rd-note{fill:$note;stroke:$noteline;stroke-width:1}\
.rd-pill{fill:$paper;stroke:$line;stroke-width:1;stroke-dasharray:3 3}\
.rd-halo{fill:$paper;fill-opacity:.88}";

/// The style sheet. Every colour is written twice, literally and then as a variable, because some renderers
/// (librsvg among them) know no variables and skip what they do not know.
fn style_sheet() -> String {
    let variables = |dark: bool| -> String {
        PALETTE
            .iter()
            .map(|(name, light, night)| format!("--rd-{name}:{};", if dark { night } else { light }))
            .collect()
    };
    let mut sheet = format!(
        ".rd{{{}font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',Arial,sans-serif;\
         font-size:12px}}@media (prefers-color-scheme:dark){{.rd{{{}}}}}",
        variables(false),
        variables(true),
    );
    for rule in RULES.split_inclusive('}') {
        let Some((selector, declarations)) = rule.trim_end_matches('}').split_once('{') else { continue };
        let _ = write!(sheet, "{selector}{{");
        for (index, declaration) in declarations.split(';').enumerate() {
            let separator = if index > 0 { ";" } else { "" };
            let colour = declaration.split_once(":$").and_then(|(property, name)| {
                PALETTE.iter().find(|entry| entry.0 == name).map(|&(name, light, _)| (property, name, light))
            });
            let _ = match colour {
                Some((property, name, light)) => {
                    write!(sheet, "{separator}{property}:{light};{property}:var(--rd-{name})")
                }
                None => write!(sheet, "{separator}{declaration}"),
            };
        }
        sheet.push('}');
    }
    sheet
}

/// An SVG document being written.
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// Opens a document of this size. `title` is what a screen reader says.
    pub(crate) fn open(title: &str, width: f64, height: f64) -> Self {
        let (w, h) = (Number(width.ceil()), Number(height.ceil()));
        let mut out = String::with_capacity(8 * 1024);
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rd\" role=\"img\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\">\n<title>{}</title>\n<style>{}</style>\n\
             <rect class=\"rd-paper\" width=\"{w}\" height=\"{h}\"/>\n",
            Escaped(title),
            style_sheet(),
        );
        Self { out }
    }

    /// Closes the document.
    pub(crate) fn close(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// Appends markup as it is.
    pub(crate) fn raw(&mut self, markup: std::fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = self.out.write_fmt(markup);
    }

    /// Opens a group; `classes` are the crate's own, never the user's text.
    pub(crate) fn group(&mut self, classes: &str, tooltip: Option<&str>) {
        self.raw(format_args!("<g class=\"{classes}\">"));
        if let Some(tooltip) = tooltip {
            self.raw(format_args!("<title>{}</title>", Escaped(tooltip)));
        }
    }

    /// Closes the innermost group.
    pub(crate) fn end(&mut self) {
        self.out.push_str("</g>\n");
    }

    /// One line of text whose middle is at height `y`. `x` is the middle if `classes` say `rd-middle`.
    pub(crate) fn text(&mut self, classes: &str, face: Face, x: f64, y: f64, text: &str) {
        let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
        self.raw(format_args!(
            "<text{class} x=\"{}\" y=\"{}\">{}</text>",
            Number(x),
            Number(y + face.baseline()),
            Escaped(text)
        ));
    }
}

/// A coordinate: at most two decimals, without trailing zeros, the same on every machine.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Adding zero turns -0 into 0.
        let hundredths = (self.0 * 100.0).round() + 0.0;
        let text = format!("{:.2}", hundredths / 100.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.write_str(text)
    }
}

/// Text as XML character data or as an attribute value. Characters that XML forbids become U+FFFD.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => f.write_char('\u{FFFD}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [1.0, 0.5, -0.001, 12.345, -3.10].map(|n| Number(n).to_string());
        assert_eq!(shown, ["1", "0.5", "0", "12.35", "-3.1"]);
    }

    #[test]
    fn everything_is_escaped() {
        assert_eq!(
            Escaped("<a&\"b'>\u{0}\u{FFFF}").to_string(),
            "&lt;a&amp;&quot;b&#39;&gt;\u{FFFD}\u{FFFD}"
        );
    }
}
