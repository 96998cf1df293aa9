//! RF0310: an assertion over variables that no one role knows.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Nobody can check this assertion.
pub static CODE: Code = Code {
    id: "RF0310",
    severity: Severity::Error,
    title: "nobody can check this assertion",
    explanation: r#"
An assertion is checked by the monitor of the sender or of the receiver of its message. A monitor knows only
what its own role has sent or received. Neither the sender nor the receiver knows all variables of this
assertion, so it could never be enforced.

Send the missing value along, or state the assertion at a message of a role that knows it.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Relay(role a, role b, role c) {
  Secret(x: int) from a to b;
  Start() from b to c;
  Guess(y: int) from c to a where y == z;
  Other(z: int) from b to c;
}
protocol Relay2(role a, role b, role c, role d) {
  Secret(x: int) from a to b;
  Guess(y: int) from c to d where y == x;
}
"#,
        right: r#"protocol Relay(role a, role b, role c) {
  Secret(x: int) from a to b;
  Start() from b to c;
  Guess(y: int) from c to a where y == x;
}
"#,
    },
};

/// Neither `sender` nor `receiver` knows all variables; each lacks what is listed beside it.
#[must_use]
pub fn nobody_can_check(span: Span, sender: (&str, &[String]), receiver: (&str, &[String])) -> Diagnostic {
    let list = |names: &[String]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    CODE.at(span, "nobody can check this assertion")
        .label(format!(
            "`{}` does not know {}; `{}` does not know {}",
            sender.0,
            list(sender.1),
            receiver.0,
            list(receiver.1)
        ))
        .help("send the missing values to one of them first")
}

/// `role` carries recursion data whose next value needs what it does not know.
#[must_use]
pub fn cannot_compute(span: Span, role: &str, unknown: &[String]) -> Diagnostic {
    let unknown: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    CODE.at(span, format!("`{role}` cannot compute this value: it does not know {}", unknown.join(", ")))
        .help("send the missing values to it first, or do not list it among the roles that carry the data")
}
