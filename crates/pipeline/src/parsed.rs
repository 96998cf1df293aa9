//! The first two stages: a text that was read, and one without errors.

use std::fmt;
use std::sync::Arc;

use referee_syntax::scr::{self, Loader};
use referee_syntax::{Analysis, Content, Diagnostic, Document, Followers, Language, parse};
use referee_theory::property::Property;

use crate::projected::{NoProtocol, Projected};
use crate::source::Source;

/// A text that was read: a tree, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Parsed {
    source: Source,
    document: Document,
}

/// It could not be told in which language a text is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLanguage {
    name: String,
}

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot tell what language `{}` is written in", self.name)
    }
}

impl std::error::Error for UnknownLanguage {}

impl Parsed {
    /// Reads `text`, which has no name, as `language`.
    #[must_use]
    pub fn new(text: &str, language: Language) -> Self {
        Self::with_language(Source::new("protocol", text), language)
    }

    /// Reads `source` as `language`.
    #[must_use]
    pub fn with_language(source: Source, language: Language) -> Self {
        let mut document = parse(source.text(), language);
        misnamed(&source, &mut document);
        Self { source, document }
    }

    /// Reads `source` as `language`, or else as what its name and its text look like.
    ///
    /// # Errors
    /// Neither tells.
    pub fn of(source: Source, language: Option<Language>) -> Result<Self, UnknownLanguage> {
        match language.or_else(|| Language::detect(source.name(), source.text())) {
            Some(language) => Ok(Self::with_language(source, language)),
            None => Err(UnknownLanguage { name: source.name().to_owned() }),
        }
    }

    /// As [`of`](Self::of); the modules that a `.scr` text imports are found by `loader`.
    ///
    /// # Errors
    /// Neither name nor text tells the language.
    pub fn load(
        source: Source,
        language: Option<Language>,
        loader: &mut dyn Loader,
    ) -> Result<Self, UnknownLanguage> {
        match language.or_else(|| Language::detect(source.name(), source.text())) {
            // Modules are looked for once the text itself can be read; until then its mistakes come with corrections.
            Some(Language::Scr) if imports_something(source.text()) => {
                let (mut document, texts) = scr::load(source.text(), loader);
                scr::correct_imported(&mut document, &texts);
                misnamed(&source, &mut document);
                Ok(Self { source: source.with_imports(texts), document })
            }
            language => {
                let mut parsed = Self::of(source, language)?;
                // Nothing is wrong with imports that are not looked for yet.
                parsed.document.diagnostics.retain(|found| found.code.id != "RF0217");
                Ok(parsed)
            }
        }
    }

    /// The text, with what it imports.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What could be understood.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Projects all protocols and looks at what their language demands.
    ///
    /// # Errors
    /// There are errors; all of them are in what is returned.
    pub fn well_formed(self) -> Result<WellFormed, IllFormed> {
        self.well_formed_for(Followers::Monitors)
    }

    /// As [`well_formed`](Self::well_formed), where `followers` are to follow the protocols.
    ///
    /// # Errors
    /// There are errors; all of them are in what is returned.
    pub fn well_formed_for(self, followers: Followers) -> Result<WellFormed, IllFormed> {
        let analysed = Analysed { source: self.source, analysis: Analysis::with(self.document, followers) };
        if analysed.analysis.is_well_formed() {
            Ok(WellFormed(analysed))
        } else {
            Err(IllFormed(Box::new(analysed)))
        }
    }
}

/// Says it if the file of `source` is called otherwise than its module.
fn misnamed(source: &Source, document: &mut Document) {
    let found = (document.language == Language::Scr).then(|| scr::misnamed(source.text(), source.name()));
    if let Some(found) = found.flatten() {
        let at = document.diagnostics.partition_point(|other| other.span.start < found.span.start);
        document.diagnostics.insert(at, found);
    }
}

/// Whether `text` has no syntax errors, and imports.
fn imports_something(text: &str) -> bool {
    if !text.contains("import") {
        return false;
    }
    let (module, diagnostics) = scr::parse_module(text);
    !module.imports.is_empty() && !diagnostics.iter().any(Diagnostic::is_error)
}

/// A text and everything that can be said about it before anything runs.
#[derive(Clone, Debug)]
pub struct Analysed {
    source: Source,
    analysis: Analysis,
}

impl Analysed {
    /// The text.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What was found out about it.
    #[must_use]
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// Errors, warnings and notes, in the order of the text.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.analysis.diagnostics
    }

    pub(crate) fn document(&self) -> &Document {
        &self.analysis.document
    }
}

/// A text with errors.
#[derive(Clone, Debug)]
pub struct IllFormed(Box<Analysed>);

impl IllFormed {
    /// What is known in spite of the errors.
    #[must_use]
    pub fn analysed(&self) -> &Analysed {
        &self.0
    }
}

impl fmt::Display for IllFormed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut errors = self.0.diagnostics().iter().filter(|diagnostic| diagnostic.is_error());
        let Some(first) = errors.next() else { return f.write_str("the protocol has errors") };
        write!(f, "{}: {}: {}", self.0.source.location(first.span.start), first.code.id, first.message)?;
        match errors.count() {
            0 => Ok(()),
            more => write!(f, " (and {more} more)"),
        }
    }
}

impl std::error::Error for IllFormed {}

/// A text without errors.
#[derive(Clone, Debug)]
pub struct WellFormed(Analysed);

impl WellFormed {
    /// What was found out about the text: its warnings, for instance.
    #[must_use]
    pub fn analysed(&self) -> &Analysed {
        &self.0
    }

    /// The protocol called `wanted`, or the first that is not only a part of others.
    ///
    /// # Errors
    /// There is no such protocol.
    pub fn protocol(&self, wanted: Option<&str>) -> Result<Projected, NoProtocol> {
        Projected::of(&self.0, wanted)
    }

    /// Every protocol that is not only a part of others, in the order of the text; none of a text with properties.
    pub fn protocols(&self) -> impl Iterator<Item = Projected> {
        Projected::all(&self.0)
    }

    /// The properties, if the text holds properties.
    #[must_use]
    pub fn properties(&self) -> Option<&[Arc<Property>]> {
        match &self.0.document().content {
            Content::Properties(file) => Some(&file.properties),
            Content::Global(_) | Content::Binary(_) | Content::System(_) => None,
        }
    }
}
