//! Type-checks the assertions of a session type. Predicates need no declaration: `util.f(x)` says it all.

use referee_theory::Vocabulary;
use referee_theory::expr::{Node, Place, Scope};

use crate::document::{Content, Document, External, in_order};
use crate::ill_formed;
use crate::source::Span;

/// Adds what is wrong with the assertions, and the predicates they call, to `document`.
pub(super) fn check(document: &mut Document) {
    let Content::Binary(binary) = &mut document.content else { return };
    let Some(session) = &binary.session else { return };
    let Some(global) = session.global(binary.environment) else { return };
    let found = global.check_assertions(&Scope::new().inferring());
    let vocabulary = &binary.vocabulary;
    let wrong = found.errors.iter().map(|error| ill_formed::assertion(error, vocabulary, &document.origins));
    document.diagnostics.extend(wrong);
    let externals = found.inferred.into_iter().map(|inferred| External {
        span: first_call(vocabulary, &inferred.name),
        name: inferred.name,
        parameters: inferred.signature.parameters.to_vec(),
        result: inferred.signature.result,
    });
    binary.externals = externals.collect();
    document.diagnostics.extend(ill_formed::externals(&binary.externals));
    document.diagnostics = in_order(std::mem::take(&mut document.diagnostics));
}

/// Where the predicate `name` is called first.
fn first_call(vocabulary: &Vocabulary, name: &str) -> Span {
    let mut calls: Vec<Place> = Vec::new();
    for assertion in vocabulary.messages().filter_map(|message| vocabulary.spec(message).assertion.as_ref()) {
        let mut stack = vec![&**assertion];
        while let Some(expr) = stack.pop() {
            if matches!(expr.node(), Node::External { name: called, .. } if &**called == name) {
                calls.push(expr.place());
            }
            stack.extend(expr.node().children());
        }
    }
    calls.into_iter().min().map(|place| Span { start: place.start, end: place.end }).unwrap_or_default()
}
