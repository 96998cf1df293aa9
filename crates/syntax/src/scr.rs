//! Scribble and nuScr text with Referee's additions: `.scr`, `.nuscr`.
//!
//! [`ast`] is what the text says, statement by statement; `parser` makes it from text and recovers from
//! errors; `names` gives names their meaning; `lower` writes protocols out as graphs, `flatten` makes
//! [`referee_theory::GlobalType`]s of these.

use std::sync::Arc;

use referee_theory::assertion::{Assertions, Enforcement};
use referee_theory::calls::SubProtocol;
use referee_theory::expr::Scope;
use referee_theory::{Global, GlobalType, Vocabulary};
use rustc_hash::{FxHashMap, FxHashSet};

pub mod ast;
mod calls;
mod connections;
mod cursor;
mod ending;
mod flatten;
mod format;
mod graph;
mod lower;
mod modules;
mod names;
mod once;
mod parser;
mod refine;
mod token;
mod validate;
mod written;

use ast::{Protocol, ProtocolKind};
use graph::{Raw, RawId};
use lower::Mark;
use modules::Linked;
use names::{Names, ProtocolId};

use crate::diagnostics::Diagnostic;
use crate::diagnostics::assertions::must_check;
use crate::diagnostics::calls::closed_while_closed;
use crate::diagnostics::lexical::nothing_declared;
use crate::diagnostics::names::{not_told_apart_by_guards, unused_role};
use crate::diagnostics::structure::{import_ignored, too_large};
use crate::document::{Content, Demands, Document, EnforcedAssertion, GlobalProtocol, in_order};
use crate::ill_formed;
use crate::language::Language;
use crate::repair;
use crate::source::Origins;

pub use format::format;
pub use modules::{Loader, ModuleFile, Texts, misnamed};
pub use parser::parse as parse_module;
pub(crate) use token::is_word;

/// Reads a `.scr` text.
#[must_use]
pub fn parse(text: &str) -> Document {
    let (module, mut diagnostics) = parser::parse(text);
    let ignored = module.imports.iter().map(|import| import_ignored(import.name.span, &import.name.text));
    diagnostics.extend(ignored);
    let imports = vec![None; module.imports.len()];
    document(text, &[Linked { module, imports }], diagnostics)
}

/// Reads a `.scr` text and what it imports. Places are places in all texts together.
#[must_use]
pub fn load(text: &str, loader: &mut dyn Loader) -> (Document, Texts) {
    let (linked, texts, diagnostics) = modules::link(text, loader);
    (document(text, &linked, diagnostics), texts)
}

/// Says the syntax errors of the first imported text that has some as well as those of a text that is read alone: looking for
/// corrections takes time, so one text gets them.
pub fn correct_imported(document: &mut Document, texts: &Texts) {
    let Some((first, _)) = texts.files.first() else { return };
    let is_imported = |found: &&Diagnostic| found.span.start >= *first && repair::is_syntactic(found);
    let Some(error) = document.diagnostics.iter().find(is_imported) else { return };
    let index = texts.files.partition_point(|(start, _)| *start <= error.span.start);
    let start = index.checked_sub(1).map_or(0, |index| texts.files[index].0);
    // Texts are separated by one byte.
    let end = texts.files.get(index).map_or(texts.text.len(), |(next, _)| *next as usize - 1);
    let Some(text) = texts.text.get(start as usize..end) else { return };
    let mut corrected = repair::syntax_errors(text, Language::Scr, Vec::new());
    if corrected.is_empty() {
        return;
    }
    corrected.iter_mut().for_each(|diagnostic| diagnostic.shift(start));
    document.diagnostics.retain(|found| {
        let is_here = (start as usize..=end).contains(&(found.span.start as usize));
        !(is_here && repair::is_syntactic(found))
    });
    let at = document.diagnostics.partition_point(|found| found.span.start < start);
    document.diagnostics.splice(at..at, corrected);
}

/// What the first of `modules`, whose text is `text`, says.
fn document(text: &str, modules: &[Linked], mut diagnostics: Vec<Diagnostic>) -> Document {
    let mut origins = Origins::default();
    let empty = modules.first().is_some_and(|main| main.module.items.is_empty());
    if empty && diagnostics.is_empty() {
        diagnostics.push(nothing_declared());
    }
    let mut names = Names::new(modules);
    // Names are resolved all the same when there are syntax errors, but the rest would only echo them.
    let complete = !diagnostics.iter().any(Diagnostic::is_error);
    let mut protocols = Vec::new();
    let own = names.protocols.iter().take_while(|declared| declared.module == 0).count();
    let connects = modules.iter().any(|file| connections::are_made(&file.module));
    for id in (0..own).map(ProtocolId) {
        let (protocol, found) = lower_protocol(&mut names, &mut origins, id, None, complete);
        diagnostics.extend(found);
        if connects {
            diagnostics.extend(connections::wrong(&names, id));
        }
        protocols.push(protocol);
    }
    diagnostics.append(&mut names.diagnostics);
    // Where labels differ, the pragma changes nothing.
    let same_label = diagnostics.iter().any(|found| found.code.id == "RF0202");
    diagnostics.extend(names.unique_by_guard.filter(|_| same_label).map(not_told_apart_by_guards));
    if diagnostics.iter().any(|found| found.code.id == "RF0120" || repair::is_syntactic(found)) {
        // That the protocols of a module are not there need not be said where the module is not.
        let missing = missing_modules(&modules[0]);
        diagnostics.retain(|found| {
            let name = text.get(found.span.range()).unwrap_or_default();
            let is_in = |module: &&str| name.strip_prefix(*module).is_some_and(|rest| rest.starts_with('.'));
            found.code.id != "RF0101" || !missing.iter().any(is_in)
        });
    }
    // Other texts stand behind this one.
    let is_own = |diagnostic: &Diagnostic| diagnostic.span.start as usize <= text.len();
    let (mut diagnostics, imported): (Vec<_>, Vec<_>) = in_order(diagnostics).into_iter().partition(is_own);
    if let Some(main) = modules.first() {
        diagnostics = once::once(text, &main.module, diagnostics);
    }
    diagnostics.extend(imported);
    Document { language: Language::Scr, content: Content::Global(protocols), diagnostics, origins }
}

/// What the imports of `file` that were not found are called.
fn missing_modules(file: &Linked) -> Vec<&str> {
    let missing = file.module.imports.iter().zip(&file.imports).filter(|(_, found)| found.is_none());
    let mut all: Vec<&str> = Vec::new();
    for (import, _) in missing {
        for name in [Some(&import.name), import.alias.as_ref()].into_iter().flatten() {
            all.push(&name.text);
            all.extend(name.text.rsplit('.').next());
        }
    }
    all
}

fn lower_protocol(
    names: &mut Names<'_>,
    origins: &mut Origins,
    id: ProtocolId,
    players: Option<&[Arc<str>]>,
    complete: bool,
) -> (GlobalProtocol, Vec<Diagnostic>) {
    let declaration = names.protocol(id);
    let lowered = lower::Lowering::run(names, origins, id, players);
    let lower::Lowered { mut nodes, mut root, mut vocabulary, marks, interrupt, mut diagnostics } = lowered;
    let mut places = None;
    if complete
        && !marks.is_empty()
        && let Some(root) = &mut root
    {
        let goes_on = declaration.kind == ProtocolKind::Auxiliary;
        let graph = (&mut nodes[..], root, goes_on);
        let (found, wrong) = sub_sessions(names, origins, graph, marks, &vocabulary);
        places = found;
        diagnostics.extend(wrong);
    }
    if let Some(root) = root.filter(|_| complete) {
        let (found, answered) = refine::refine(&mut nodes, root, &mut vocabulary);
        diagnostics.extend(found);
        // What refinements of recursion data ask of messages counts as well.
        diagnostics.extend(validate::validate(&nodes, root, &vocabulary, names.asked, &answered));
    }
    let mut vocabulary = Arc::new(vocabulary);
    let mut global = None;
    if complete
        && let Some(root) = root
        && !diagnostics.iter().any(Diagnostic::is_error)
    {
        let header = declaration.header;
        // nuScr's nested protocols are refused as nuScr does. Behind branches that begin alike different things may be open.
        let factors = !names.nested_mode && names.unique_by_guard.is_none() && places.is_none();
        let how = (factors, places);
        let (flattened, found) = flatten::Flattening::run(nodes, root, &vocabulary, origins, header, how);
        diagnostics.extend(found);
        global = flattened;
    }
    if let Some(global) = &mut global {
        if let Some(calls) = global.calls() {
            diagnostics.extend(calls::labels(global, &calls.subs, origins));
            diagnostics.extend(calls::without_monitors(global, declaration, origins));
        }
        if let Some(key) = &declaration.keyed {
            let ty = names.ty(&key.ty, &FxHashMap::default(), names.protocols[id.0].module);
            diagnostics.extend(calls::keyed(declaration, global, ty, interrupt, origins));
        }
    }
    let (mut externals, mut enforcement) = (Vec::new(), Vec::new());
    if let Some(global) = &mut global {
        let copied = declaration.copied.iter().filter_map(|(role, number)| {
            let role = vocabulary.find_role(&declaration.roles.get(*role)?.text)?;
            Some((role, Arc::clone(&number.text)))
        });
        global.copy(copied);
        let called = called(global);
        let assertions = global.check_assertions(&scope(names, &called));
        externals.extend(names.externals.iter().filter(|e| called.contains(&e.name)).cloned());
        let wrong = assertions.errors.iter().map(|e| ill_formed::assertion(e, &vocabulary, origins));
        diagnostics.extend(wrong);
        diagnostics.extend(unchecked(global, &assertions, names.asked));
        enforcement = EnforcedAssertion::all(global, &assertions);
        global.enforce(&assertions);
        if assertions.errors.is_empty()
            && let Err(errors) = global.carry_data()
        {
            diagnostics.extend(errors.iter().map(|e| ill_formed::assertion(e, &vocabulary, origins)));
        }
        if assertions.errors.is_empty() {
            diagnostics.extend(global.time_advice().iter().map(|advice| ill_formed::time(advice, origins)));
        }
        vocabulary = Arc::clone(global.vocabulary());
        diagnostics.extend(ill_formed::externals(&externals));
        diagnostics.extend(unused_roles(global, declaration, &vocabulary));
    }
    let protocol = GlobalProtocol {
        name: Some(Arc::clone(&declaration.name.text)),
        auxiliary: declaration.kind == ProtocolKind::Auxiliary,
        demands: if names.nested_mode { Demands::Local } else { Demands::Either },
        global: global.map(Arc::new),
        vocabulary,
        externals,
        enforcement,
        span: declaration.header,
    };
    (protocol, diagnostics)
}

/// The protocols that are opened at `marks`, each read with the roles that play in it, and where they are open; the marks are taken out of the
/// graph. Nothing if one of them cannot be read. Behind a part of others the protocol `goes_on`.
fn sub_sessions(
    names: &mut Names<'_>,
    origins: &mut Origins,
    (nodes, root, goes_on): (&mut [Raw], &mut RawId, bool),
    marks: Vec<(RawId, Mark)>,
    vocabulary: &Vocabulary,
) -> (Option<calls::Places>, Vec<Diagnostic>) {
    let opened = calls::opened(&marks);
    let (mut subs, mut diagnostics) = (Vec::new(), Vec::new());
    if let Some(beyond) = opened.get(calls::MAX_SUBS) {
        diagnostics.push(too_large(beyond.span, calls::MAX_SUBS));
        return (None, diagnostics);
    }
    if opened.is_empty() {
        let name = |mark: &Mark| Arc::clone(&names.protocol(mark.protocol).name.text);
        diagnostics.extend(marks.iter().map(|(_, mark)| closed_while_closed(mark.span, &name(mark))));
    }
    for opened in opened {
        let players: Vec<Arc<str>> =
            opened.players.iter().map(|role| vocabulary.role_name(*role).into()).collect();
        let declared = opened.protocol.0;
        let (protocol, found) = lower_protocol(names, origins, opened.protocol, Some(&players), true);
        let is_here = names.protocols[opened.protocol.0].module == 0;
        // What is wrong with a protocol of this text is said where it stands.
        diagnostics.extend(found.into_iter().filter(|found| !is_here && found.is_error()));
        let Some((name, global)) = protocol.name.zip(protocol.global) else { continue };
        let Some(opener) = calls::opener(&global) else { continue };
        let opener = opened.players.get(opener.index()).copied().unwrap_or(opener);
        let endless = global.never_ends().map(|place| origins.span(place));
        let origin = origins.add(opened.span);
        let protocol = SubProtocol { name, global, declared, origin };
        subs.push(calls::Sub { opened, protocol, opener, endless });
    }
    if subs.is_empty() {
        calls::remove(nodes, root, &marks);
        return (None, diagnostics);
    }
    let role_name = |role| vocabulary.role_name(role).to_owned();
    let (places, found) = calls::place((nodes, root, goes_on), &marks, subs, role_name);
    diagnostics.extend(found);
    (Some(places), diagnostics)
}

/// The refinements that nuScr's pragmas ask a role to check that cannot.
fn unchecked(global: &GlobalType, assertions: &Assertions, asked: validate::Asked) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for &Enforcement { branch: (node, index), sender, receiver } in &assertions.enforcement {
        let Global::Exchange(exchange) = global.node(node) else { continue };
        let branch = &exchange.branches[index];
        let Some(assertion) = &global.vocabulary().spec(branch.message).assertion else { continue };
        let span = crate::source::Span { start: assertion.place().start, end: assertion.place().end };
        let name = |role| global.vocabulary().role_name(role);
        if asked.sender && !sender {
            found.push(must_check(span, "SenderValidateRefinements", name(exchange.sender)));
        }
        if asked.receiver && !receiver {
            found.push(must_check(span, "ReceiverValidateRefinements", name(branch.receiver)));
        }
    }
    found
}

/// The predicates that `global` calls, in assertions or in the data of its recursions, and those of what it opens, which opens nothing.
fn called(global: &GlobalType) -> FxHashSet<&Arc<str>> {
    let subs = global.calls().into_iter().flat_map(|calls| &calls.subs);
    let mut called: FxHashSet<&Arc<str>> = subs.flat_map(|sub| called(&sub.global)).collect();
    let vocabulary = global.vocabulary();
    for message in vocabulary.messages() {
        called.extend(vocabulary.spec(message).assertion.iter().flat_map(|expr| expr.externals()));
    }
    for (_, node) in global.nodes() {
        match node {
            Global::Rec(rec) => called.extend(rec.parameters.iter().flat_map(|p| p.initial.externals())),
            Global::Call(call) => called.extend(call.arguments.iter().flat_map(|expr| expr.externals())),
            Global::End | Global::Exchange(_) | Global::Par(_) | Global::Join(_) => {}
        }
    }
    called
}

/// What assertions may call. Where all is well, what they do call: a module may have thousands of protocols
/// and of predicates.
fn scope(names: &Names<'_>, called: &FxHashSet<&Arc<str>>) -> Scope {
    let mut scope = Scope::new();
    let all_known = called.iter().all(|name| names.has_external(name));
    for (name, signature) in names.signatures() {
        if !all_known || called.contains(name) {
            scope.declare(name, signature);
        }
    }
    scope
}

fn unused_roles<'a>(
    global: &'a GlobalType,
    declaration: &'a Protocol,
    vocabulary: &'a Vocabulary,
) -> impl Iterator<Item = Diagnostic> + use<'a> {
    let mut participants: FxHashSet<&str> =
        global.participants().into_iter().map(|role| vocabulary.role_name(role)).collect();
    for sub in global.calls().iter().flat_map(|calls| &calls.subs) {
        let vocabulary = sub.global.vocabulary();
        participants.extend(vocabulary.roles().map(|role| vocabulary.role_name(role)));
    }
    let empty = participants.is_empty();
    let unused = declaration.roles.iter().filter(move |role| !empty && !participants.contains(&*role.text));
    unused.map(|role| unused_role(role.span, &role.text))
}

/// Whether `text` can be a name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    is_word(text)
}

/// See [`crate::lexemes`].
pub(crate) fn lexemes(text: &str) -> Vec<crate::lexemes::Lexeme> {
    crate::lexemes::of::<token::Token>(text)
}
