//! RF0502: an action whose other side does not exist.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Unknown peer.
pub static CODE: Code = Code {
    id: "RF0502",
    severity: Severity::Error,
    title: "unknown peer",
    explanation: r#"
Every action names the role at the other end of its channel, and that role must have a type (in `.kmc`
files) or a machine (in `.fsm` files) of its own. In `.fsm` files machines have no names: the first one is
role `0`, the second one role `1`, and so on; peers are written as these numbers, without leading zeros.

KMC accepts such files. The action then never happens, and what is checked is a different system.

Usually the name is misspelt or the number is off by one. A role that really does nothing else still needs
its line: `Z: end`.
"#,
    example: Example {
        language: Language::Kmc,
        wrong: r#"Client: Sever!req; end
Server: Client?req; end
"#,
        right: r#"Client: Server!req; end
Server: Client?req; end
"#,
    },
};

/// `name` is not one of `roles`, of which there are `count`.
#[must_use]
pub fn unknown_role<'a>(span: Span, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    CODE.at(span, format!("there is no role `{name}`"))
        .help(format!("give it a type: `{name}: …`, or `{name}: end` if it does nothing"))
        .suggest(name, roles)
}

/// `peer` is not the number of one of `count` machines.
#[must_use]
pub fn unknown_machine(span: Span, peer: &str, count: usize) -> Diagnostic {
    let diagnostic = CODE.at(span, format!("there is no machine `{peer}`"));
    let significant = peer.trim_start_matches('0');
    let plain = if significant.is_empty() { "0" } else { significant };
    match plain.parse::<usize>() {
        Ok(number) if number < count && plain != peer => {
            diagnostic.help(format!("write `{number}`: machines are numbered without leading zeros"))
        }
        _ if count == 1 => diagnostic.help("the only machine of this file is `0`"),
        _ => diagnostic.help(format!("machines are numbered from 0 in the order of the file: here up to {}", count - 1)),
    }
}
