//! The page as one file: style, script and data inside, for a bug report or a review.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::Value;

use crate::api::asset;
use crate::trace::Trace;

/// The modules of the page, each after those that it imports.
const MODULES: [&str; 8] =
    ["model.js", "sequence.js", "compare.js", "diagram.js", "trace.js", "play.js", "protocol.js", "main.js"];

/// A protocol in an exported page: the answers that a server would give about it.
#[derive(Clone, Debug, Serialize)]
pub struct ExportedProtocol {
    /// The file's name.
    pub name: String,
    /// The answer to `/api/file`.
    pub file: Value,
    /// The answer to `/api/check`.
    pub check: Value,
}

/// One self-contained page with `traces` and `protocols`. It needs no server and asks nothing of the network; its policy admits its own
/// script and style and no other.
#[must_use]
pub fn export(title: &str, traces: &[Trace], protocols: &[ExportedProtocol]) -> String {
    let script: String = MODULES.iter().map(|name| unlinked(asset(name).unwrap_or_default())).collect();
    let style = asset("style.css").unwrap_or_default();
    let data = serde_json::json!({ "title": title, "traces": traces, "protocols": protocols });
    // Within a script element only `<` could end it; JSON may write it otherwise.
    let data = data
        .to_string()
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(style)
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script type=\"module\">{script}</script>\n\
         </body>\n</html>\n",
        escaped(title)
    )
}

/// `module` without its imports and exports: all modules are one script.
fn unlinked(module: &str) -> String {
    let mut out = String::with_capacity(module.len());
    for line in module.lines().filter(|line| !line.starts_with("import ")) {
        out.push_str(line.strip_prefix("export ").unwrap_or(line));
        out.push('\n');
    }
    out
}

/// The SHA-256 of `text` in Base64, as policies write it.
fn hash(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = digest(&SHA256, text.as_bytes());
    let mut out = String::new();
    for chunk in digest.as_ref().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[value]) });
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            other => {
                let _ = write!(out, "{other}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::StepView;

    #[test]
    fn hashes_are_those_of_the_standard() {
        assert_eq!(hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    /// A label is text, whatever it is: nothing in the data can end the element that it stands in.
    #[test]
    fn data_cannot_leave_its_element() {
        let hostile = "</script><img src=x onerror=alert(1)>\u{2028}";
        let step = StepView { role: hostile.to_owned(), label: hostile.to_owned(), ..StepView::default() };
        let trace = Trace { title: hostile.to_owned(), steps: vec![step], ..Trace::default() };
        let page = export(hostile, &[trace], &[]);
        assert!(!page.contains("<img"), "only as text");
        assert_eq!(page.matches("</script>").count(), 2);
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["traces"][0]["steps"][0]["label"], hostile);
    }

    #[test]
    fn the_script_is_one_and_whole() {
        let page = export("x", &[], &[]);
        assert!(!page.contains("\nimport ") && !page.contains("\nexport "));
        assert!(page.len() < 300_000, "{}", page.len());
    }
}
