//! The texts that are known, and what was found out about them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use referee_pipeline::{Analysed, FileText, Followers, Packages, Parsed, Source};
use referee_syntax::lexemes::{Lexeme, lexemes};
use referee_syntax::{Language, Span};

use crate::names::Index;
use crate::position::LineIndex;

/// Reads a file that is not in the workspace; `None` if there is none.
pub type Reader = dyn Fn(&Path) -> FileText + Send + Sync;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file.
    pub path: Arc<str>,
    /// The place.
    pub span: Span,
}

/// One text. What is computed from it is computed once.
pub struct File {
    path: Arc<str>,
    text: Arc<str>,
    language: Language,
    lines: OnceLock<LineIndex>,
    lexemes: OnceLock<Vec<Lexeme>>,
    index: OnceLock<Index>,
    analysed: OnceLock<Analysed>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({}, {} bytes, {})", self.path, self.text.len(), self.language)
    }
}

impl File {
    fn new(path: Arc<str>, text: Arc<str>, language: Language) -> Self {
        Self {
            path,
            text,
            language,
            lines: OnceLock::new(),
            lexemes: OnceLock::new(),
            index: OnceLock::new(),
            analysed: OnceLock::new(),
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// What it holds.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// What it is written in.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// Where its lines begin.
    #[must_use]
    pub fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }

    /// Its words, symbols and comments.
    #[must_use]
    pub fn lexemes(&self) -> &[Lexeme] {
        self.lexemes.get_or_init(|| lexemes(&self.text, self.language))
    }

    /// Its names.
    #[must_use]
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(&self.text, self.language))
    }

    /// The text at `span`.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

/// All texts that are known. A clone is cheap, and shares what was found out already: for another thread.
#[derive(Clone)]
pub struct Workspace {
    files: BTreeMap<Arc<str>, Arc<File>>,
    read: Arc<Reader>,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files.values()).finish()
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new(Arc::new(|_: &Path| Ok(None)))
    }
}

impl Workspace {
    /// A workspace without files. Modules that it does not have are read by `read`.
    #[must_use]
    pub fn new(read: Arc<Reader>) -> Self {
        Self { files: BTreeMap::new(), read }
    }

    /// The file at `path` holds `text`. Returns whether its language is known: otherwise nothing is kept.
    pub fn set(&mut self, path: &str, text: &str) -> bool {
        // Some editors put a byte-order mark first; parsers do not see it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(language) = Language::detect(path, text) else {
            self.remove(path);
            return false;
        };
        let path: Arc<str> = path.into();
        self.files.insert(Arc::clone(&path), Arc::new(File::new(path, text.into(), language)));
        self.forget_importers();
        true
    }

    /// The file at `path` is not known any more.
    pub fn remove(&mut self, path: &str) {
        if self.files.remove(path).is_some() {
            self.forget_importers();
        }
    }

    /// What is known of files that import others may depend on the file that changed.
    fn forget_importers(&mut self) {
        for file in self.files.values_mut() {
            let imports = file.analysed.get().is_some() && !file.index().imports.is_empty();
            if imports {
                let (path, text) = (Arc::clone(&file.path), Arc::clone(&file.text));
                let fresh = File::new(path, text, file.language);
                let _ = fresh.index.set(file.index().clone());
                *file = Arc::new(fresh);
            }
        }
    }

    /// The file at `path`.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path).map(|file| &**file)
    }

    /// All files, by path.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values().map(|file| &**file)
    }

    /// The file that calls itself `module`.
    #[must_use]
    pub fn module(&self, module: &str) -> Option<&File> {
        let is_scr = |file: &&File| file.language == Language::Scr;
        self.files().filter(is_scr).find(|file| file.index().module.as_deref() == Some(module))
    }

    /// Everything that can be said about the file at `path` before anything runs, as `referee check` says it. Takes longer
    /// than a keystroke may.
    #[must_use]
    pub fn analysed(&self, path: &str) -> Option<&Analysed> {
        let file = self.file(path)?;
        Some(file.analysed.get_or_init(|| self.analyse(file)))
    }

    fn analyse(&self, file: &File) -> Analysed {
        let source = Source::new(&file.path, &file.text);
        let mut read = |path: &Path| match path.to_str().and_then(|path| self.file(path)) {
            Some(known) => Ok(Some(Arc::clone(&known.text))),
            None => (self.read)(path),
        };
        let mut packages = Packages::new(Path::new(&*file.path), &file.text, &[], &mut read);
        let parsed = Parsed::load(source.clone(), Some(file.language), &mut packages)
            .unwrap_or_else(|_| Parsed::with_language(source, file.language));
        // As `referee check` asks: whether components can follow a `.scr` protocol by themselves.
        let followers = match file.language {
            Language::Scr => Followers::Components,
            _ => Followers::Monitors,
        };
        match parsed.well_formed_for(followers) {
            Ok(well_formed) => well_formed.analysed().clone(),
            Err(ill_formed) => ill_formed.analysed().clone(),
        }
    }
}
