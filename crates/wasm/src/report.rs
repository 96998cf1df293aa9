//! Everything that the pure crates say about a file, as text: two builds that print the same work the same.

use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use referee::check::{Options, check};
use referee::syntax::Span;
use referee::view::execution::Run;
use referee::view::pictures::pictures;
use referee::{Packages, Parsed, Source, WellFormed};
use referee_ide::completion::completions;
use referee_ide::{File, Workspace};
use referee_ide::{diagnostics, folding, formatting, hover, inlay, lens, navigation, semantic, signature};

/// A check explores so many configurations: the comparison is not to take minutes.
const MAX_STATES: usize = 20_000;

/// So many pictures of a protocol.
const MAX_PICTURES: usize = 24;

/// What is said about the file at `path`.
pub(crate) fn of(workspace: &Workspace, path: &str) -> String {
    let Some(file) = workspace.file(path) else { return String::new() };
    let mut out = String::new();
    services(workspace, file, &mut out);
    for lens in lens::lenses(workspace, path, &AtomicBool::new(false)).unwrap_or_default() {
        add(&mut out, "lens", &lens);
    }
    if let Some(text) = well_formed(workspace, file) {
        checks(&text, &mut out);
        for picture in pictures(&text, MAX_PICTURES) {
            add(&mut out, "picture", &picture);
        }
    }
    out
}

fn add(out: &mut String, what: &str, said: &dyn Debug) {
    let _ = writeln!(out, "{what} {said:?}");
}

fn services(workspace: &Workspace, file: &File, out: &mut String) {
    let path = file.path();
    for found in diagnostics::diagnostics(workspace, path) {
        add(out, "diagnostic", &found);
    }
    add(out, "symbols", &file.index().symbols);
    add(out, "folds", &folding::folds(file));
    add(out, "tokens", &semantic::semantic_tokens(file));
    add(out, "format", &formatting::format(file));
    add(out, "hints", &inlay::inlay_hints(workspace, path, Span::new(0, file.text().len())));
    for name in &file.index().occurrences {
        let at = name.span.start;
        add(out, "hover", &hover::hover(workspace, path, at));
        add(out, "definition", &navigation::definition(workspace, path, at));
        add(out, "references", &navigation::references(workspace, path, at, true).len());
        add(out, "completions", &completions(workspace, path, name.span.end).items.len());
        add(out, "signature", &signature::signature_help(file, name.span.end));
    }
}

fn well_formed(workspace: &Workspace, file: &File) -> Option<WellFormed> {
    let mut read = |path: &Path| {
        let known = path.to_str().and_then(|path| workspace.file(path));
        Ok(known.map(|known| Arc::clone(known.text())))
    };
    let mut packages = Packages::new(Path::new(&**file.path()), file.text(), &[], &mut read);
    let source = Source::new(file.path(), file.text());
    Parsed::load(source, Some(file.language()), &mut packages).ok()?.well_formed().ok()
}

/// The answers of the check, with the counterexamples as diagrams.
fn checks(text: &WellFormed, out: &mut String) {
    let options = Options { max_states: MAX_STATES, ..Options::default() };
    for protocol in text.protocols() {
        let Some(system) = protocol.system() else { continue };
        let report = check(&system, &options, None, &mut ());
        add(out, "verdict", &report.verdict);
        if let Some(witness) = report.verdict.witness() {
            add(out, "counterexample", &Run::of_witness(witness, &system).chart(true).to_svg());
        }
    }
}
