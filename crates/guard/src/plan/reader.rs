//! What plans are read from: the files that a configuration names. It keeps which they were, and what is wrong with them.

use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

use referee_functions::{Functions, Limits};
use referee_pipeline::{Packages, Parsed, Source};
use referee_session::Properties;
use referee_syntax::Language;
use toml::Spanned;

use super::Refusal;
use crate::config::{Files, Problem};
use crate::files::read_module;

/// Protocol files are not larger than this.
const MAX_PROTOCOL_BYTES: u64 = 64 << 20;

/// The files of a configuration, and its problems.
pub(crate) struct PlanReader<'a> {
    /// Where relative paths begin.
    folder: &'a Path,
    /// Every file it was asked for, but for the following.
    pub(crate) files: Vec<PathBuf>,
    /// Certificates and keys, which may change while a guard runs.
    pub(crate) certificates: Vec<PathBuf>,
    pub(crate) refusal: Refusal,
    /// What is not wrong, but should be known.
    pub(crate) warnings: Vec<Problem>,
}

/// A protocol's text, and what its file is called.
pub(crate) struct ProtocolText {
    pub(crate) text: String,
    pub(crate) file: String,
}

impl<'a> PlanReader<'a> {
    pub(crate) fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            files: Vec::new(),
            certificates: Vec::new(),
            refusal: Refusal::default(),
            warnings: Vec::new(),
        }
    }

    /// Adds what `other` has read and found.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        self.certificates.append(&mut other.certificates);
        self.refusal.problems.append(&mut other.refusal.problems);
        self.refusal.protocols.append(&mut other.refusal.protocols);
        self.warnings.append(&mut other.warnings);
    }

    pub(crate) fn problem(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.refusal.problems.push(Problem::new(message, span));
    }

    /// Where the folder or file that the user calls `path` is.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// The file that the user calls `path`.
    pub(crate) fn file(&mut self, path: &Path) -> PathBuf {
        let path = self.resolve(path);
        self.files.push(path.clone());
        path
    }

    /// The file with a certificate or a key that the user calls `path`.
    pub(crate) fn certificate(&mut self, path: &Path) -> PathBuf {
        let path = self.resolve(path);
        self.certificates.push(path.clone());
        path
    }

    fn text(&mut self, path: &Path, span: Range<usize>) -> Option<String> {
        let path = self.file(path);
        let read = || {
            let mut bytes = Vec::new();
            fs::File::open(&path)?.take(MAX_PROTOCOL_BYTES).read_to_end(&mut bytes)?;
            io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read();
        text.map_err(|error| self.problem(span, format!("cannot read `{}`: {error}", path.display()))).ok()
    }

    /// The protocol that `named` is, or that is in the file called so.
    pub(crate) fn protocol_text(&mut self, named: &Spanned<String>) -> Option<ProtocolText> {
        let (name, span) = (named.get_ref(), named.span());
        // A small protocol may stand in the configuration itself, in one line or several.
        if name.contains(['\n', '{']) {
            return Some(ProtocolText { text: name.clone(), file: "protocol.scr".to_owned() });
        }
        Some(ProtocolText { text: self.text(Path::new(name), span)?, file: name.clone() })
    }

    /// `protocol`, with the modules that it imports from packages below its own folder and those of `import_path`.
    pub(crate) fn parse(
        &mut self,
        ProtocolText { text, file }: &ProtocolText,
        import_path: &[PathBuf],
        span: Range<usize>,
    ) -> Option<Parsed> {
        let folders: Vec<PathBuf> = import_path.iter().map(|folder| self.resolve(folder)).collect();
        let at = self.resolve(Path::new(file));
        let files = &mut self.files;
        let mut read = |path: &Path| {
            let text = read_module(path)?;
            if text.is_some() {
                files.push(path.to_owned());
            }
            Ok(text)
        };
        let mut packages = Packages::new(&at, text, &folders, &mut read);
        let parsed = Parsed::load(Source::new(file, text), None, &mut packages);
        parsed.map_err(|error| self.problem(span, error.to_string())).ok()
    }

    /// The modules of functions in `files`; `None` if one cannot be used.
    pub(crate) fn modules(
        &mut self,
        files: Option<&Spanned<Files>>,
        limits: Limits,
    ) -> Option<Vec<Functions>> {
        let Some(files) = files else { return Some(Vec::new()) };
        let mut modules = Vec::new();
        for name in &files.get_ref().0 {
            let path = self.file(name);
            let loaded = fs::read(&path)
                .map_err(|error| format!("cannot read `{}`: {error}", path.display()))
                .and_then(|wasm| {
                    let shown = name.display().to_string();
                    Functions::load(&shown, &wasm, limits).map_err(|error| error.to_string())
                });
            match loaded {
                Ok(module) => modules.push(module),
                Err(message) => self.problem(files.span(), message),
            }
        }
        (modules.len() == files.get_ref().0.len()).then_some(modules)
    }

    /// The properties in `files`, of which a session may keep `most` submonitors and keys.
    pub(crate) fn properties(&mut self, files: &Spanned<Files>, most: usize) -> Option<Properties> {
        let mut properties = Vec::new();
        for name in &files.get_ref().0 {
            let text = match name.to_str().and_then(|name| name.strip_prefix("preset:")) {
                Some(preset) => crate::preset::rules(preset)
                    .map(str::to_owned)
                    .map_err(|message| self.problem(files.span(), message))
                    .ok(),
                None => self.text(name, files.span()),
            };
            let Some(text) = text else { continue };
            match Parsed::new(&text, Language::Hml).well_formed() {
                Ok(file) => properties.extend(file.properties().unwrap_or_default().iter().cloned()),
                Err(errors) => {
                    let diagnostics = errors.analysed().diagnostics().to_vec();
                    let source = Source::new(&name.display().to_string(), &text);
                    self.refusal.protocols.push((source, diagnostics));
                }
            }
        }
        let made = Properties::new(&properties, most);
        made.map_err(|message| self.problem(files.span(), message)).ok()
    }
}
