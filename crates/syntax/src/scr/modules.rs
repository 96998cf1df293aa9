//! Files that import one another.
//!
//! All texts are read as one, one after the other, so that a place is a place in one text and tells the file it is in
//! ([`Texts`]). Nothing here opens a file: whoever can is a [`Loader`].

use std::fmt::Write as _;
use std::sync::Arc;

use logos::Logos as _;
use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Import, Module};
use super::parser;
use super::token::Token;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::names::{
    imported_twice, imports_itself, misnamed_module, module_not_found, one_name_for_two_modules,
};
use crate::source::{MAX_SOURCE, Span};

/// So many files are read for one.
const MAX_MODULES: usize = 1000;

/// Finds the files of modules.
pub trait Loader {
    /// The module called `name`.
    ///
    /// # Errors
    /// Why there is none: where it was looked for. What is wrong with a file that is there begins with its name, in backticks.
    fn load(&mut self, name: &str) -> Result<ModuleFile, String>;
}

/// A file with a module.
#[derive(Clone, Debug)]
pub struct ModuleFile {
    /// What the user calls it: its path.
    pub file: String,
    /// What it holds.
    pub text: String,
}

/// Texts one after the other, and where each begins but the first.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// All of them.
    pub text: String,
    /// The beginnings, ascending, each with the name of the file.
    pub files: Vec<(u32, Arc<str>)>,
}

/// That `text`, which stands in `file`, is a module of another name: whoever imports it looks for it elsewhere.
#[must_use]
pub fn misnamed(text: &str, file: &str) -> Option<Diagnostic> {
    let stem = file.rsplit(['/', '\\']).next()?.strip_suffix(".scr")?;
    let span = declared_name(text)?;
    let name = text.get(span.range())?;
    let short = name.rsplit('.').next()?.trim();
    (short != stem).then(|| misnamed_module(span, name, short))
}

/// Where the name of the module stands that `text` says it is.
fn declared_name(text: &str) -> Option<Span> {
    if !text.contains("module") {
        return None;
    }
    let tokens = Token::lexer(text).spanned().filter_map(|(token, range)| Some((token.ok()?, range)));
    let mut tokens = tokens.filter(|(token, _)| *token != Token::Comment);
    let mut first = tokens.next()?;
    while first.0 == Token::PragmaStart {
        tokens.find(|(token, _)| *token == Token::PragmaEnd)?;
        first = tokens.next()?;
    }
    if text.get(first.1)? != "module" {
        return None;
    }
    let (_, start) = tokens.next().filter(|(token, _)| *token == Token::Word)?;
    let mut end = start.end;
    // Where its `;` is missing, the next declaration is no part of the name.
    while let Some((Token::Dot, _)) = tokens.next() {
        end = tokens.next().filter(|(token, _)| *token == Token::Word)?.1.end;
    }
    Some(Span::new(start.start, end))
}

/// A module, and for each of its imports which module that is.
pub(super) struct Linked {
    pub(super) module: Module,
    /// Indices; `None` where it was not found.
    pub(super) imports: Vec<Option<usize>>,
}

/// The module that `text` holds, and those that it imports, each once.
pub(super) fn link(text: &str, loader: &mut dyn Loader) -> (Vec<Linked>, Texts, Vec<Diagnostic>) {
    let (module, mut diagnostics) = parser::parse(text);
    let mut texts = Texts { text: text.to_owned(), files: Vec::new() };
    let mut known: FxHashMap<Arc<str>, Option<usize>> = FxHashMap::default();
    known.extend(module.name.as_ref().map(|name| (Arc::clone(&name.text), Some(0))));
    let mut modules = vec![module];
    let mut links: Vec<Vec<Option<usize>>> = Vec::new();
    while let Some(imports) = modules.get(links.len()).map(|module| module.imports.clone()) {
        let mut here = Vec::new();
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for Import { name, .. } in &imports {
            if let Some(first) = seen.insert(&name.text, name.span) {
                diagnostics.push(imported_twice(name.span, first, &name.text));
            }
            if !known.contains_key(&name.text) {
                let found = load(&name.text, loader, &mut texts, modules.len()).map(|(module, found)| {
                    diagnostics.extend(found);
                    modules.push(module);
                    modules.len() - 1
                });
                if let Err(why) = &found {
                    diagnostics.push(module_not_found(name.span, &name.text, why, why.starts_with('`')));
                }
                known.insert(Arc::clone(&name.text), found.ok());
            }
            here.push(known.get(&name.text).copied().flatten());
        }
        diagnostics.extend(same_names(&modules[links.len()]));
        links.push(here);
    }
    diagnostics.extend(cycle(&modules, &links));
    let linked = modules.into_iter().zip(links).map(|(module, imports)| Linked { module, imports });
    (linked.collect(), texts, diagnostics)
}

/// The names that `module` gives to two modules, itself included.
fn same_names(module: &Module) -> Vec<Diagnostic> {
    let own = module.name.iter().flat_map(|name| {
        let short = name.text.rsplit('.').next().unwrap_or_default();
        [(&*name.text, name.span), (short, name.span)]
    });
    let mut called: FxHashMap<&str, Span> = own.collect();
    let mut found = Vec::new();
    // A full name is the module's own; that one is imported twice is said elsewhere.
    called.extend(module.imports.iter().map(|import| (&*import.name.text, import.name.span)));
    for alias in module.imports.iter().filter_map(|import| import.alias.as_ref()) {
        if let Some(first) = called.insert(&alias.text, alias.span) {
            found.push(one_name_for_two_modules(alias.span, first, &alias.text));
        }
    }
    found
}

/// Reads the module called `name` behind `texts`.
fn load(
    name: &str,
    loader: &mut dyn Loader,
    texts: &mut Texts,
    count: usize,
) -> Result<(Module, Vec<Diagnostic>), String> {
    if count >= MAX_MODULES {
        return Err(format!("more than {MAX_MODULES} modules are imported"));
    }
    let ModuleFile { file, text } = loader.load(name)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if texts.text.len() + text.len() >= MAX_SOURCE {
        return Err("all modules together are larger than 1 GiB".to_owned());
    }
    texts.text.push('\n');
    let start = texts.text.len();
    texts.text.push_str(text);
    let (module, diagnostics) = parser::parse_from(&texts.text, start);
    match &module.name {
        Some(own) if *own.text == *name => {}
        // A file that cannot be read says so itself.
        _ if !diagnostics.is_empty() => {}
        own => {
            texts.text.truncate(start - 1);
            let own = own.as_ref().map_or("it has no `module` declaration".to_owned(), |own| {
                format!("it is the module `{}`", own.text)
            });
            return Err(format!("`{file}` is there, but {own}"));
        }
    }
    texts.files.push((Span::at(start).start, file.into()));
    Ok((module, diagnostics))
}

/// The first import that leads back to where it began.
fn cycle(modules: &[Module], links: &[Vec<Option<usize>>]) -> Option<Diagnostic> {
    let (mut done, mut on_path): (FxHashSet<usize>, Vec<usize>) = (FxHashSet::default(), vec![0]);
    let mut next: Vec<usize> = vec![0; links.len()];
    while let Some(&here) = on_path.last() {
        let at = next[here];
        next[here] += 1;
        let Some(link) = links[here].get(at) else {
            done.insert(here);
            on_path.pop();
            continue;
        };
        let Some(to) = *link else { continue };
        if let Some(first) = on_path.iter().position(|module| *module == to) {
            let mut way = String::new();
            for module in on_path[first..].iter().chain([&to]) {
                let name = modules[*module].name.as_ref().map_or("this file", |name| &name.text);
                let _ = write!(way, "{}`{name}`", if way.is_empty() { "" } else { " imports " });
            }
            return Some(imports_itself(modules[here].imports[at].name.span, &way));
        }
        if !done.contains(&to) {
            on_path.push(to);
        }
    }
    None
}
