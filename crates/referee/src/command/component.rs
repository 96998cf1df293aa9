//! A component's machine in a file of its own: for `conform`, and for `check --with`.

use std::cmp::Ordering;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Result, bail};
use referee::check::Component;
use referee::syntax::Position;
use referee::syntax::source::Span;
use referee::theory::{Machine, Origin, Role, Vocabulary};
use referee::view::witness::Place;
use referee::{Diagnostic, Extent, Language, Parsed, SubjectKind};

use crate::input;
use crate::output;

/// The machine of one role, and which roles of the protocol it talks to.
pub(crate) struct ComponentFile {
    machine: Machine,
    vocabulary: Vocabulary,
    roles: Vec<Option<Role>>,
    /// Where its text has what the machine does.
    places: Places,
}

impl ComponentFile {
    /// The machine for the role `name` of a protocol with the names `known`, from the file at `path`. In an `.fsm` file role
    /// `i` is the i-th role of the protocol, from 0.
    pub(crate) fn read(path: &Path, name: &str, known: &Vocabulary) -> Result<Self> {
        let Some(role) = known.find_role(name) else { bail!("there is no role `{name}`") };
        let (vocabulary, machines, places) = machines(path, role, known)?;
        let names = |own: Role| vocabulary.role_name(own);
        let by_name = |own: Role| known.find_role(names(own));
        let by_number = |own: Role| known.roles().find(|role| *role == own);
        // A machine of an `.fsm` file without a name is called by its number.
        let is_number = |own: Role| names(own) == own.index().to_string();
        let role_of = |own| by_name(own).or(if is_number(own) { by_number(own) } else { None });
        let roles: Vec<Option<Role>> = vocabulary.roles().map(role_of).collect();
        let own = |machine: &Machine| roles[machine.role().index()] == Some(role);
        let Some(machine) = machines.into_iter().find(own) else {
            bail!("`{}` has no machine for `{name}`", path.display());
        };
        Ok(Self { machine, vocabulary, roles, places })
    }

    pub(crate) fn places(&self) -> &[(Origin, Place)] {
        &self.places
    }

    pub(crate) fn component(&self) -> Component<'_> {
        Component { machine: &self.machine, vocabulary: &self.vocabulary, roles: &self.roles }
    }
}

/// The machines of a component file. A lone `.fsm` machine is the role's: the others are not in the file. Nor need they be in
/// a `.kmc` file, where roles have names.
fn machines(path: &Path, role: Role, protocol: &Vocabulary) -> Result<(Vocabulary, Vec<Machine>, Places)> {
    let source = input::read(path)?;
    let own = || {
        let mut words = source.text().split_whitespace();
        words.find(|word| word.ends_with(".name"))?;
        words.next()
    };
    let is = |wanted: &str| path.extension().is_some_and(|extension| extension == wanted);
    let (parsed, before) = if is("fsm") && source.text().matches(".end").count() == 1 {
        if let Some(own) = own().filter(|own| protocol.find_role(own).is_some_and(|own| own != role)) {
            bail!("`{}` is the machine of `{own}`, not of `{}`", path.display(), protocol.role_name(role));
        }
        let (mut before, mut after) = (String::new(), String::new());
        for other in protocol.roles() {
            let name = directive(protocol.role_name(other));
            match other.cmp(&role) {
                Ordering::Less => before += &format!("{name}.outputs .state graph .marking q0 .end "),
                Ordering::Equal if !source.text().contains(".name ") => before += &name,
                Ordering::Equal => {}
                Ordering::Greater => after += &format!("{name}.outputs .state graph .marking q0 .end "),
            }
        }
        (Parsed::new(&format!("{before}{}\n{after}", source.text()), Language::Fsm), before.len())
    } else if is("kmc") {
        let names = protocol.roles().filter(|&other| other != role).map(|other| protocol.role_name(other));
        let absent = names.filter(|name| is_name(name) && !has_type(source.text(), name));
        let absent: String = absent.map(|name| format!("\n{name}: end")).collect();
        (Parsed::new(&format!("{}{absent}", source.text()), Language::Kmc), 0)
    } else {
        (input::parse(source.clone(), None, &input::Imports::default())?, 0)
    };
    let well_formed = match parsed.well_formed() {
        Ok(well_formed) => well_formed,
        Err(ill_formed) => {
            let mut diagnostics = ill_formed.analysed().diagnostics().to_vec();
            own_diagnostics(&mut diagnostics, before, source.text().len());
            output::show_diagnostics(&source, &diagnostics)?;
            bail!("`{}` is not a component", path.display());
        }
    };
    match well_formed.protocol(None) {
        Ok(system) if system.kind() == SubjectKind::System => {
            let machines: Vec<Machine> = system.machines().flatten().cloned().collect();
            let origins = machines.iter().flat_map(Machine::all_transitions).map(|step| step.origin);
            let file: Rc<str> = source.name().into();
            let place = |(origin, extent): (Origin, Extent<'_>)| {
                (origin, Place { file: Some(Rc::clone(&file)), ..Place::new(&behind(extent, before)) })
            };
            let places = system.extents(origins).into_iter().map(place).collect();
            Ok(((**system.vocabulary()).clone(), machines, places))
        }
        _ => bail!("`{}` is no component: that is an .fsm or .kmc file", path.display()),
    }
}

type Places = Vec<(Origin, Place)>;

/// Where `extent` is in a text that has `before` fewer characters in its first line.
fn behind(extent: Extent<'_>, before: usize) -> Extent<'_> {
    let own = |at: Position| match at.line {
        1 => Position { column: at.column.saturating_sub(before).max(1), ..at },
        _ => at,
    };
    Extent { start: own(extent.start), end: own(extent.end), ..extent }
}

/// `.name NAME `, where that can be written: peers may then be named, too.
fn directive(name: &str) -> String {
    if is_name(name) { format!(".name {name} ") } else { String::new() }
}

fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether a `.kmc` text may give a type to the role `name`: if not, it surely does not.
fn has_type(text: &str, name: &str) -> bool {
    let continues = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '\'');
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(continues) && text[at + name.len()..].trim_start().starts_with(':')
    })
}

/// Of what was said of a text with others before and after it, what is about the `length` bytes from `start`, as if they
/// were all; an error that was noticed too late is one at their end.
fn own_diagnostics(diagnostics: &mut Vec<Diagnostic>, start: usize, length: usize) {
    let own = |span: Span| {
        let within = |at: u32| (at as usize).saturating_sub(start).min(length);
        Span::new(within(span.start), within(span.end))
    };
    let is_own = |span: Span| (start..=start + length).contains(&(span.start as usize));
    diagnostics.retain(|diagnostic| diagnostic.is_error() || is_own(diagnostic.span));
    for diagnostic in diagnostics {
        diagnostic.span = own(diagnostic.span);
        diagnostic.related.retain(|(span, _)| is_own(*span));
        diagnostic.related.iter_mut().for_each(|(span, _)| *span = own(*span));
    }
}
