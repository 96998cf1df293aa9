//! `.hml`: what is accepted, what is said about it, and that what is printed is read back.

#![expect(clippy::panic, reason = "tests fail by panicking, in helpers too")]

mod diagnosed;
mod documentation;
mod format;
mod round_trip;

use std::sync::Arc;

use referee_syntax::{Content, Document, Language, parse};
use referee_theory::property::Property;

/// `text`, which has no errors.
fn read(text: &str) -> Vec<Arc<Property>> {
    let document = parse(text, Language::Hml);
    assert!(document.is_usable(), "{text}\n{:?}", document.diagnostics);
    properties(document)
}

fn properties(document: Document) -> Vec<Arc<Property>> {
    let Content::Properties(file) = document.content else { panic!("no properties") };
    file.properties
}
