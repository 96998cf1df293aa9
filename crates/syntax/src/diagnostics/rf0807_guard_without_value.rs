//! RF0807: a guard that never has a value.

use referee_theory::property::guard::Mistake;

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;

/// Guard without a value.
pub static CODE: Code = Code {
    id: "RF0807",
    severity: Severity::Error,
    title: "guard without a value",
    explanation: r#"
An operation in this guard cannot be applied to what it is given, whatever the event carries: a number where a
condition is needed, a string compared with a number by `<`. A guard without a value does not hold, so the modality
would never match anything.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property small {
  [client -> worker : Request(id) when id < 9 && "large"]ff
}
"#,
        right: r#"property small {
  [client -> worker : Request(id) when id < 9 && id != 0]ff
}
"#,
    },
};

/// The operation `mistake`.
#[must_use]
pub fn guard_without_value(mistake: &Mistake) -> Diagnostic {
    let Mistake { place, operation, expected, found } = mistake;
    CODE.at((*place).into(), format!("`{operation}` needs {expected}, and this is of kind {found}"))
        .label(format!("needs {expected}"))
}
