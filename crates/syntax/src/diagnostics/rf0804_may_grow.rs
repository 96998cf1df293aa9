//! RF0804: a property that may remember more and more.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Property that may grow.
pub static CODE: Code = Code {
    id: "RF0804",
    severity: Severity::Warning,
    title: "property that may grow",
    explanation: r#"
Watching this property may take more and more memory: in a loop it binds a variable anew, again and again, while
another part of it keeps waiting with each of the values bound before. On a stream that never ends, with new values all
the time, there is no bound. `--max-instances` bounds it while watching, with a verdict `resource-limit`.

Often the values belong to something that has an end: write `for each KEY`, so that each key has an instance of its
own, or let the part that waits end when its value is done with.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property never_again {
  max X.([p?V](max Y.([q!V]ff and [p?_]Y)) and [p?_]X)
}
"#,
        right: r#"property not_at_once {
  max X.([p?V][q!V]ff and [p?_]X)
}
"#,
    },
};

/// The part at `kept` keeps the values of `name`, which the place `binder` binds again and again.
#[must_use]
pub fn may_grow(kept: Span, binder: Span, name: &str) -> Diagnostic {
    CODE.at(kept, format!("this may wait with more and more values of `{name}`"))
        .label("keeps waiting with each value")
        .related(binder, "bound anew, again and again")
        .help("let it end, or write `for each` the key that the values belong to")
}
