//! The languages Referee reads, and how a file's language is told.

use std::fmt;

/// A surface language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Scribble and nuScr text with Referee's additions: `.scr`, `.nuscr`.
    Scr,
    /// STMonitor's binary session types: `.st`.
    St,
    /// RelaMon's global types: `.gt`.
    Gt,
    /// RelaMon's global types as JSON: `.gt.json`, `.json`.
    GtJson,
    /// KMC's local session types: `.kmc`.
    Kmc,
    /// KMC's communicating automata: `.fsm`.
    Fsm,
    /// Properties: Referee's syntax, the plain form, and detectEr's: `.hml`.
    Hml,
}

impl Language {
    /// All languages, in the order of the documentation.
    pub const ALL: [Self; 7] = [Self::Scr, Self::St, Self::Gt, Self::GtJson, Self::Kmc, Self::Fsm, Self::Hml];

    /// The name used by `--language` and in JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scr => "scr",
            Self::St => "st",
            Self::Gt => "gt",
            Self::GtJson => "gt.json",
            Self::Kmc => "kmc",
            Self::Fsm => "fsm",
            Self::Hml => "hml",
        }
    }

    /// The language called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "nuscr" {
            return Some(Self::Scr);
        }
        Self::ALL.into_iter().find(|language| language.name() == name)
    }

    /// The language of a file called `file_name` that holds `text`: by its extension, and for `.txt` or no
    /// extension by its content.
    #[must_use]
    pub fn detect(file_name: &str, text: &str) -> Option<Self> {
        let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name).to_ascii_lowercase();
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "scr" | "nuscr" => Some(Self::Scr),
            "st" => Some(Self::St),
            "gt" => Some(Self::Gt),
            "json" => Some(Self::GtJson),
            "kmc" => Some(Self::Kmc),
            "fsm" => Some(Self::Fsm),
            "hml" => Some(Self::Hml),
            _ => Self::sniff(text),
        }
    }

    /// Guesses from the first words of `text` that are not comments.
    fn sniff(text: &str) -> Option<Self> {
        Self::sniff_where(text, Nesting::No).or_else(|| Self::sniff_where(text, Nesting::Yes))
    }

    fn sniff_where(text: &str, nesting: Nesting) -> Option<Self> {
        let text = skip_comments(text, nesting);
        if text.starts_with(".outputs") || text.starts_with(".state") {
            return Some(Self::Fsm);
        }
        if text.starts_with('{') {
            return Some(Self::GtJson);
        }
        let word_end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let (word, rest) = (&text[..word_end], skip_comments(&text[word_end..], nesting));
        match word {
            "module" | "import" | "type" | "data" | "sig" | "global" | "protocol" | "aux" | "nested"
            | "explicit" | "external" => Some(Self::Scr),
            "" if text.starts_with("(*#") => Some(Self::Scr),
            "" => None,
            _ if rest.starts_with(':') => Some(Self::Kmc),
            _ if rest.starts_with('=') => Some(Self::St),
            _ if rest.starts_with("->") => Some(Self::Gt),
            "mu" => Some(Self::Gt),
            "property" | "rule" | "with" | "max" | "min" => Some(Self::Hml),
            _ => None,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a `/*` within `/* … */` needs its own `*/`: KMC says yes, the others no.
#[derive(Clone, Copy, PartialEq)]
enum Nesting {
    No,
    Yes,
}

/// `text` without leading blanks and comments of any of the languages (pragmas stay).
fn skip_comments(mut text: &str, nesting: Nesting) -> &str {
    loop {
        text = text.trim_start();
        let rest = if text.starts_with("//") || text.starts_with("--") || text.starts_with("(*)") {
            text.find('\n').map(|end| &text[end..])
        } else if text.starts_with("/*") && nesting == Nesting::Yes {
            crate::tokens::end_of_nested_comment(&text[2..], "/*", "*/").map(|end| &text[2 + end..])
        } else if text.starts_with("/*") {
            text.find("*/").map(|end| &text[end + 2..])
        } else if text.starts_with("(*") && !text.starts_with("(*#") {
            text.find("*)").map(|end| &text[end + 2..])
        } else {
            return text;
        };
        match rest {
            Some(rest) => text = rest,
            None => return "",
        }
    }
}
