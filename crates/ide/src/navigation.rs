//! Definitions, references and new names, across files.

use std::fmt;
use std::sync::Arc;

use referee_syntax::scr;
use referee_syntax::{Edit, Language};
use rustc_hash::FxHashSet;

use crate::names::{NameKind, Occurrence, ScopeId};
use crate::workspace::{File, Location, Workspace};

/// Changes of several files, by path.
pub type Edits = Vec<(Arc<str>, Vec<Edit>)>;

/// Why a name cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotRename {
    why: String,
}

impl fmt::Display for CannotRename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for CannotRename {}

/// Where what is named at byte `offset` is declared. Labels and opaque types have no declaration: their first use counts.
#[must_use]
pub fn definition(workspace: &Workspace, path: &str, offset: u32) -> Vec<Location> {
    let Some((file, occurrence)) = find(workspace, path, offset) else { return Vec::new() };
    if occurrence.kind == NameKind::Module {
        let other = workspace.module(&occurrence.name).filter(|_| !occurrence.declares);
        let declared = other.unwrap_or(file).index().declared(NameKind::Module, ScopeId::FILE).next();
        let here = Location { path: Arc::clone(file.path()), span: occurrence.span };
        let there = declared.map(|name| location(other.unwrap_or(file), name));
        return vec![there.unwrap_or(here)];
    }
    if let Some(machine) = numbered_machine(file, occurrence) {
        return vec![machine];
    }
    let all = same(workspace, file, occurrence);
    let declared: Vec<Location> =
        all.iter().filter(|(_, found)| found.declares).map(|(file, found)| location(file, found)).collect();
    if declared.is_empty() {
        return all.first().map(|(file, found)| location(file, found)).into_iter().collect();
    }
    declared
}

/// Every place where what is named at byte `offset` is named, declarations included if `with_declaration`.
#[must_use]
pub fn references(workspace: &Workspace, path: &str, offset: u32, with_declaration: bool) -> Vec<Location> {
    let Some((file, occurrence)) = find(workspace, path, offset) else { return Vec::new() };
    let all = same(workspace, file, occurrence).into_iter();
    all.filter(|(_, found)| with_declaration || !found.declares)
        .map(|(file, found)| location(file, found))
        .collect()
}

/// The name at byte `offset`, if it can be changed.
///
/// # Errors
/// It cannot.
pub fn renameable<'a>(
    workspace: &'a Workspace,
    path: &str,
    offset: u32,
) -> Result<&'a Occurrence, CannotRename> {
    let cannot = |why: &str| CannotRename { why: why.to_owned() };
    let (file, occurrence) =
        find(workspace, path, offset).ok_or_else(|| cannot("there is no name here that could be changed"))?;
    match occurrence.kind {
        NameKind::Module => Err(cannot("a module is called as its file is: move the file instead")),
        NameKind::Role if numbered_machine(file, occurrence).is_some() => {
            Err(cannot("this is the number of a machine; give the machine a name with `.name`"))
        }
        _ if occurrence.scope == ScopeId::NONE => Err(cannot("this name has no declaration")),
        _ => {
            if let Some(module) = &occurrence.module
                && workspace.module(module).is_none()
            {
                return Err(CannotRename { why: format!("the module `{module}` is not in the workspace") });
            }
            Ok(occurrence)
        }
    }
}

/// The changes that call what is named at byte `offset` `name` everywhere.
///
/// # Errors
/// It cannot be changed, `name` is no name, or something else is called so already.
pub fn rename(workspace: &Workspace, path: &str, offset: u32, name: &str) -> Result<Edits, CannotRename> {
    let occurrence = renameable(workspace, path, offset)?;
    let Some(file) = workspace.file(path) else { return Ok(Vec::new()) };
    if !is_name(name, file.language()) {
        return Err(CannotRename { why: format!("`{name}` is not a name in this language") });
    }
    let all = same(workspace, file, occurrence);
    if *name != *occurrence.name
        && let Some(kind) = collision(&all, name)
    {
        return Err(CannotRename { why: format!("there is a {} called `{name}` already", kind.noun()) });
    }
    let mut edits: Edits = Vec::new();
    for (file, found) in all {
        let edit = Edit { span: found.span, text: name.to_owned() };
        match edits.last_mut().filter(|(path, _)| path == file.path()) {
            Some((_, edits)) => edits.push(edit),
            None => edits.push((Arc::clone(file.path()), vec![edit])),
        }
    }
    Ok(edits)
}

fn is_name(name: &str, language: Language) -> bool {
    const RESERVED: [&str; 12] =
        ["end", "rec", "mu", "max", "min", "ff", "tt", "and", "or", "choice", "continue", "protocol"];
    let starts_well = match language {
        Language::Hml => name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'),
        _ => name.starts_with(|first: char| first.is_alphabetic() || first == '_'),
    };
    let is_ascii = language == Language::Scr || name.is_ascii();
    starts_well && is_ascii && scr::is_name(name) && !RESERVED.contains(&name)
}

/// Something else of the same kind that is called `name` where `all` are.
fn collision(all: &[(&File, &Occurrence)], name: &str) -> Option<NameKind> {
    let mut seen: FxHashSet<(&Arc<str>, NameKind, ScopeId)> = FxHashSet::default();
    for (file, found) in all {
        // Labels may be called alike: that is how one message is sent in two places.
        if matches!(found.kind, NameKind::Label) || !seen.insert((file.path(), found.kind, found.scope)) {
            continue;
        }
        let collides = |other: &Occurrence| {
            let same_scope = other.scope == found.scope || found.kind == NameKind::Recursion;
            *other.name == *name && other.kind == found.kind && same_scope && other.module == found.module
        };
        if file.index().occurrences.iter().any(collides) {
            return Some(found.kind);
        }
    }
    None
}

fn location(file: &File, occurrence: &Occurrence) -> Location {
    Location { path: Arc::clone(file.path()), span: occurrence.span }
}

fn find<'a>(workspace: &'a Workspace, path: &str, offset: u32) -> Option<(&'a File, &'a Occurrence)> {
    let file = workspace.file(path)?;
    Some((file, file.index().at(offset)?))
}

/// Where the machine begins that `.fsm` texts call by its number.
fn numbered_machine(file: &File, occurrence: &Occurrence) -> Option<Location> {
    if file.language() != Language::Fsm || occurrence.kind != NameKind::Role {
        return None;
    }
    let symbols = &file.index().symbols;
    if symbols.iter().any(|machine| file.slice(machine.selection) == &*occurrence.name) {
        return None;
    }
    let machine = symbols.get(occurrence.name.parse::<usize>().ok()?)?;
    Some(Location { path: Arc::clone(file.path()), span: machine.selection })
}

/// All places that name what `occurrence` in `file` names, by file and place.
pub(crate) fn same<'a>(
    workspace: &'a Workspace,
    file: &'a File,
    occurrence: &'a Occurrence,
) -> Vec<(&'a File, &'a Occurrence)> {
    let alike = |other: &&Occurrence| other.kind == occurrence.kind && other.name == occurrence.name;
    match occurrence.kind {
        NameKind::Label | NameKind::Field if file.language() == Language::Scr => {
            let protocols = connected(workspace, file, occurrence.scope);
            let in_one =
                |file: &File, other: &Occurrence| protocols.contains(&(Arc::clone(file.path()), other.scope));
            let mut all = Vec::new();
            for file in workspace.files().filter(|file| file.language() == Language::Scr) {
                let found = file.index().occurrences.iter().filter(alike);
                all.extend(found.filter(|other| in_one(file, other)).map(|other| (file, other)));
            }
            all
        }
        NameKind::Protocol | NameKind::Type | NameKind::Signature | NameKind::Module
            if occurrence.scope == ScopeId::FILE && file.language() == Language::Scr =>
        {
            // Of the module that declares it.
            let module = occurrence.module.as_ref().or(file.index().module.as_ref());
            let mut all = Vec::new();
            for other in workspace.files().filter(|other| other.language() == Language::Scr) {
                let is_home = match &occurrence.module {
                    Some(module) => other.index().module.as_ref() == Some(module),
                    None => other.path() == file.path(),
                };
                let found = other.index().occurrences.iter().filter(alike);
                let found = found.filter(|found| found.scope == ScopeId::FILE);
                let found = found.filter(|found| match &found.module {
                    None => is_home || occurrence.kind == NameKind::Module,
                    Some(named) => Some(named) == module,
                });
                all.extend(found.map(|found| (other, found)));
            }
            all
        }
        _ => {
            let found = file.index().occurrences.iter().filter(alike);
            found.filter(|other| other.scope == occurrence.scope).map(|other| (file, other)).collect()
        }
    }
}

/// A protocol: the path of its file, and its scope there.
type ProtocolAt = (Arc<str>, ScopeId);

/// The protocols that do one another, directly or not, with the one of `scope` in `file`: their messages are one session's.
fn connected(workspace: &Workspace, file: &File, scope: ScopeId) -> FxHashSet<ProtocolAt> {
    // Both ways: who does this one, and whom it does.
    let mut edges: Vec<(ProtocolAt, ProtocolAt)> = Vec::new();
    for other in workspace.files().filter(|other| other.language() == Language::Scr) {
        for link in &other.index().links {
            let target = match &link.module {
                Some(module) => workspace.module(module),
                None => Some(other),
            };
            let Some(target) = target else { continue };
            let named = target.index().protocols.iter().find(|protocol| protocol.name == link.name);
            let Some(named) = named else { continue };
            let from = (Arc::clone(other.path()), link.from);
            edges.push((from, (Arc::clone(target.path()), named.scope)));
        }
    }
    let mut found: FxHashSet<ProtocolAt> = FxHashSet::default();
    let mut pending = vec![(Arc::clone(file.path()), scope)];
    while let Some(next) = pending.pop() {
        if !found.insert(next.clone()) {
            continue;
        }
        for (from, to) in &edges {
            if *from == next {
                pending.push(to.clone());
            }
            if *to == next {
                pending.push(from.clone());
            }
        }
    }
    found
}
