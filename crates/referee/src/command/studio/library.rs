//! What the page is shown: files, what is wrong with them, their pictures, the answers of the check.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use referee::check::{Observer, Options, Progress, Verdict, check};
use referee::guard::read_module;
use referee::ide::diagnostics::diagnostics;
use referee::ide::semantic::{TokenKind, semantic_tokens};
use referee::ide::{NameKind, Symbol, Workspace};
use referee::studio::api::Backend;
use referee::studio::{ExportedProtocol, Trace};
use referee::view::execution::Run;
use referee::view::pictures::{Link, Picture, pictures};
use referee::{Followers, Language, Packages, Parsed, Projected, Source, WellFormed};
use serde_json::{Value, json};

use super::play;
use crate::output::write_safely;

/// A check for the page explores so many configurations of one bound, and takes so many bytes, at most.
const MAX_STATES: usize = 300_000;
const MAX_MEMORY: usize = 512 << 20;

/// So many pictures are shown of a protocol.
const MAX_PICTURES: usize = 24;

/// Files, and what was found in them.
pub(super) struct Library {
    files: Vec<PathBuf>,
    pub(super) traces: Vec<Trace>,
    /// The names of the guards that are looked at.
    pub(super) guards: Vec<String>,
    edit: bool,
    /// The checks that run, by what the page calls them.
    running: Mutex<HashMap<String, Arc<RunningCheck>>>,
}

/// A check that runs.
#[derive(Default)]
struct RunningCheck {
    cancel: AtomicBool,
    /// How far it is, in words.
    progress: Mutex<String>,
}

impl Observer for &RunningCheck {
    fn progress(&mut self, progress: Progress) {
        let words = format!("channels of size {}: {} configurations", progress.bound, progress.states);
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }
}

/// What the page calls the file at `path`.
pub(super) fn name(path: &Path) -> String {
    path.display().to_string()
}

impl Library {
    pub(super) fn new(files: Vec<PathBuf>, edit: bool) -> Self {
        Self { files, traces: Vec::new(), guards: Vec::new(), edit, running: Mutex::default() }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(|path| name(path)).collect()
    }

    /// What the page is about.
    pub(super) fn title(&self) -> String {
        match &self.files[..] {
            [] if !self.guards.is_empty() => self.guards.join(", "),
            [only] => name(only),
            files => format!("{} files", files.len()),
        }
    }

    /// Checks the file called `name` and keeps the counterexamples.
    pub(super) fn add_counterexamples(&mut self, name: &str) {
        if let Ok(text) = self.text(name)
            && let Ok(found) = well_formed(name, &text)
        {
            for (_, _, trace) in answers(&found, &RunningCheck::default()) {
                self.traces.extend(trace);
            }
        }
    }

    /// What a page without a server shows of the files.
    pub(super) fn exported(&self) -> Result<Vec<ExportedProtocol>> {
        let names = self.names().into_iter();
        let of = |name: String| {
            let file = self.file(&name, None)?;
            let mut check = self.check(&name, None, "")?;
            // The page has the traces of all files already.
            check["traces"] = json!([]);
            Ok(ExportedProtocol { name, file, check })
        };
        names.map(|name| of(name).map_err(|why: String| anyhow!(why))).collect()
    }

    /// The file called `name`: only those that were given are read or written.
    fn path(&self, wanted: &str) -> Result<&Path, String> {
        let found = self.files.iter().find(|path| name(path) == wanted);
        found
            .map(PathBuf::as_path)
            .ok_or_else(|| format!("`{wanted}` is not one of the files that were given"))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        let path = self.path(name)?;
        let bytes = fs::read(path).map_err(|error| format!("cannot read `{name}`: {error}"))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
    }

    fn given(&self, name: &str, text: Option<&str>) -> Result<String, String> {
        self.path(name)?;
        text.map_or_else(|| self.text(name), |text| Ok(text.to_owned()))
    }
}

impl Backend for Library {
    fn overview(&self) -> Value {
        json!({
            "title": self.title(),
            "files": self.names(),
            "traces": self.traces,
            "guards": self.guards,
            "edit": self.edit,
        })
    }

    fn file(&self, name: &str, text: Option<&str>) -> Result<Value, String> {
        let text = self.given(name, text)?;
        let mut workspace = Workspace::new(Arc::new(read_module));
        workspace.set(name, &text);
        let places = Utf16::new(&text);
        let found = diagnostics(&workspace, name);
        let shown = found.iter().map(|found| {
            let fix = found.fix.as_ref().map(|fix| {
                let edits = fix.edits.iter().map(|edit| {
                    json!({ "start": places.of(edit.span.start), "end": places.of(edit.span.end), "text": edit.text })
                });
                json!({ "title": fix.title, "certain": fix.certain, "edits": edits.collect::<Vec<_>>() })
            });
            json!({
                "code": found.code,
                "title": found.title,
                "severity": found.severity.name(),
                "message": found.message,
                "line": text.get(..found.span.start as usize).map_or(1, |before| before.matches('\n').count() + 1),
                "start": places.of(found.span.start),
                "end": places.of(found.span.end),
                "fix": fix,
            })
        });
        let tokens = workspace.file(name).map(semantic_tokens).unwrap_or_default();
        let tokens = tokens
            .iter()
            .map(|token| json!([places.of(token.span.start), places.of(token.span.end), class(token.kind)]));
        let index = workspace.file(name).map(|file| file.index());
        let mut outline = Vec::new();
        entries(index.map_or(&[], |index| &index.symbols), 0, &places, &mut outline);
        let pictures = well_formed(name, &text).map(|found| drawn(&found)).unwrap_or_default();
        Ok(json!({
            "text": text,
            "diagnostics": shown.collect::<Vec<_>>(),
            "tokens": tokens.collect::<Vec<_>>(),
            "pictures": pictures,
            "outline": outline,
        }))
    }

    fn progress(&self, id: &str) -> Value {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let words = running
            .get(id)
            .map(|check| check.progress.lock().unwrap_or_else(PoisonError::into_inner).clone());
        json!({ "progress": words })
    }

    fn cancel(&self, id: &str) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(check) = running.get(id) {
            check.cancel.store(true, Ordering::Relaxed);
        }
    }

    fn check(&self, name: &str, text: Option<&str>, id: &str) -> Result<Value, String> {
        let text = self.given(name, text)?;
        let found = match well_formed(name, &text) {
            Ok(found) => found,
            Err(why) => return Ok(json!({ "safe": false, "answers": [why], "traces": [] })),
        };
        let running = Arc::<RunningCheck>::default();
        let begin = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        begin().insert(id.to_owned(), Arc::clone(&running));
        let all = answers(&found, &running);
        begin().remove(id);
        let safe = all.iter().all(|(_, is_safe, _)| *is_safe);
        let lines: Vec<&String> = all.iter().map(|(line, ..)| line).collect();
        let traces: Vec<&Trace> = all.iter().filter_map(|(.., trace)| trace.as_ref()).collect();
        Ok(json!({ "safe": safe && !all.is_empty(), "answers": lines, "traces": traces }))
    }

    fn play(&self, name: &str, text: Option<&str>, wish: &Value) -> Result<Value, String> {
        let text = self.given(name, text)?;
        let protocols: Vec<Projected> = well_formed(name, &text)?.protocols().collect();
        play::play(&protocols, wish)
    }

    fn save(&self, name: &str, before: &str, text: &str) -> Result<(), String> {
        if !self.edit {
            return Err("nothing is written: `referee studio --edit` lets the page write".to_owned());
        }
        let path = self.path(name)?;
        // It may lead out of the folder that was given.
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            return Err(format!("`{name}` is a link: it is not written through"));
        }
        let held = fs::read(path).map_err(|error| format!("cannot read `{name}`: {error}"))?;
        // What is shown of other bytes is not what they are.
        if std::str::from_utf8(&held).is_err() {
            return Err(format!("`{name}` is not UTF-8: it is not overwritten"));
        }
        if self.text(name)? != before {
            return Err(format!("`{name}` was changed by somebody else meanwhile"));
        }
        let mark = if held.starts_with("\u{feff}".as_bytes()) { "\u{feff}" } else { "" };
        write_safely(path, &format!("{mark}{text}"))
            .map_err(|error| format!("cannot write `{name}`: {error}"))
    }
}

/// What `text` in the file called `name` says, if it has no errors.
fn well_formed(name: &str, text: &str) -> Result<WellFormed, String> {
    let mut read = |path: &Path| read_module(path);
    let mut packages = Packages::new(Path::new(name), text, &[], &mut read);
    let parsed =
        Parsed::load(Source::new(name, text), None, &mut packages).map_err(|error| error.to_string())?;
    let followers = match parsed.document().language {
        Language::Scr => Followers::Components,
        _ => Followers::Monitors,
    };
    parsed.well_formed_for(followers).map_err(|errors| errors.to_string())
}

/// For each protocol: what the check says, whether it is safe, and the counterexample.
fn answers(text: &WellFormed, running: &RunningCheck) -> Vec<(String, bool, Option<Trace>)> {
    let options = Options { max_states: MAX_STATES, max_memory: MAX_MEMORY, ..Options::default() };
    let answer = |protocol: Projected| {
        let label = protocol.name().map(|name| format!("{name}: ")).unwrap_or_default();
        let Some(system) = protocol.system() else {
            return (format!("{label}not every role has a projection"), false, None);
        };
        let mut observer = running;
        let report = check(&system, &options, Some(&running.cancel), &mut observer);
        let trace =
            report.verdict.witness().map(|witness| Run::of_witness(witness, &system).trace(&protocol));
        let (line, is_safe) = match &report.verdict {
            Verdict::Safe { .. } => ("safe for every channel size".to_owned(), true),
            Verdict::Unsafe { witness, .. } => (format!("unsafe: {}", witness.explanation), false),
            Verdict::Unknown { explanation, .. } => (format!("no answer: {explanation}"), false),
        };
        (label + &line, is_safe, trace)
    };
    text.protocols().map(answer).collect()
}

/// The pictures of a text, and where its lines stand in them.
fn drawn(text: &WellFormed) -> Vec<Value> {
    let of = |picture: Picture| {
        let edge = |(from, to, lines): &Link| json!({ "from": from, "to": to, "lines": lines });
        let edges: Vec<Value> = picture.edges.iter().map(edge).collect();
        json!({ "name": picture.name, "svg": picture.svg, "edges": edges })
    };
    pictures(text, MAX_PICTURES).into_iter().map(of).collect()
}

/// The declarations of a text, those inside one after it.
fn entries(symbols: &[Symbol], depth: usize, places: &Utf16, outline: &mut Vec<Value>) {
    for symbol in symbols {
        outline.push(
            json!({ "name": &*symbol.name, "start": places.of(symbol.selection.start), "depth": depth }),
        );
        entries(&symbol.children, depth + 1, places, outline);
    }
}

/// The style of a token.
fn class(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::Keyword => "keyword",
        TokenKind::Name(NameKind::Role) => "role",
        TokenKind::Name(NameKind::Label) => "label",
        TokenKind::Name(NameKind::Type) | TokenKind::BuiltinType => "type",
        TokenKind::Name(_) | TokenKind::BuiltinFunction => "name",
        TokenKind::Number => "number-token",
        TokenKind::String => "string",
        TokenKind::Comment => "comment",
    }
}

/// How many UTF-16 code units come before each byte: scripts count these.
struct Utf16(Vec<u32>);

impl Utf16 {
    fn new(text: &str) -> Self {
        let mut counts = Vec::with_capacity(text.len() + 1);
        let mut count = 0;
        for character in text.chars() {
            counts.extend(std::iter::repeat_n(count, character.len_utf8()));
            count += u32::try_from(character.len_utf16()).unwrap_or(1);
        }
        counts.push(count);
        Self(counts)
    }

    fn of(&self, offset: u32) -> u32 {
        self.0.get(offset as usize).or(self.0.last()).copied().unwrap_or(0)
    }
}
