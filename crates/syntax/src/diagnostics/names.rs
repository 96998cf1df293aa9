//! Names of protocols, roles, recursions and types, and how protocols call one another: RF01xx.

use super::{
    Diagnostic, Edit, Fix, RF0101, RF0102, RF0103, RF0104, RF0105, RF0106, RF0107, RF0108, RF0109, RF0110,
    RF0115, RF0116, RF0117, RF0118, RF0119, RF0120, RF0121, RF0122, RF0123, RF0124, RF0125, RF0126,
};
use crate::source::Span;

/// No protocol called `name` is visible; `visible` are.
#[must_use]
pub fn unknown_protocol<'a>(
    span: Span,
    name: &str,
    visible: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let missing = RF0101.at(span, format!("there is no protocol `{name}` here"));
    let missing = match name.rsplit_once('.') {
        Some((module, last)) => missing.help(format!("declare `{last}` in `{module}`, or correct its name")),
        None => missing.help("declare it in this file, or correct its name"),
    };
    missing.suggest(name, visible)
}

/// `name` exists, but as the other kind: nested protocols are called, global ones are done.
#[must_use]
pub fn wrong_kind(span: Span, name: &str, declared: Span, is_nested: bool) -> Diagnostic {
    let (kind, verb) = if is_nested { ("nested", "calls") } else { ("global", "do") };
    RF0101
        .at(span, format!("`{name}` is a {kind} protocol"))
        .related(declared, "declared here")
        .help(format!("use `{verb}` for a {kind} protocol"))
}

/// There is no module `name`, for the reason given; or something is in its place, which is no file that can be read.
#[must_use]
pub fn module_not_found(span: Span, name: &str, why: &str, is_there: bool) -> Diagnostic {
    let cannot = RF0120.at(span, format!("the module `{name}` cannot be read: {why}"));
    if is_there {
        return cannot.help(format!(
            "put a file there that can be read and declares `module {name};`, or correct the name"
        ));
    }
    cannot.help("correct the name, or say with `--import-path` where its packages are")
}

/// The import at `span` closes a circle; `way` names the modules in it.
#[must_use]
pub fn imports_itself(span: Span, way: &str) -> Diagnostic {
    RF0121
        .at(span, format!("modules import one another: {way}"))
        .help("move what both need to a third module")
}

/// The module `name` is imported at `first` already.
#[must_use]
pub fn imported_twice(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0122
        .at(span, format!("`{name}` is imported twice"))
        .related(first, "first here")
        .help("leave one of them out")
}

/// Two modules, or this one and an imported one, would be called `name`.
#[must_use]
pub fn one_name_for_two_modules(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0125
        .at(span, format!("two modules would be called `{name}` here"))
        .related(first, "the other is this one")
        .help("give one of them another name with `as`")
}

/// The module that is named at `span` may be `one` or `other`.
#[must_use]
pub fn ambiguous_module(span: Span, one: (Span, &str), other: (Span, &str)) -> Diagnostic {
    RF0101
        .at(span, format!("this may belong to `{}` or to `{}`", one.1, other.1))
        .related(one.0, "imported here")
        .related(other.0, "and here")
        .help("name the module in full, or import one of them under another name with `as`")
}

/// The message `name` at `span` names a signature of another module, which has none of that name.
#[must_use]
pub fn unknown_signature<'a>(span: Span, name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let (module, last) = name.rsplit_once('.').unwrap_or_default();
    RF0119
        .at(span, format!("no message `{last}` is declared in `{module}`"))
        .help(format!("declare it there with `sig`, or write `{last}() from …` for a message of that name"))
        .suggest(name, known)
}

/// `a.b.M(int) from …`: a message with a payload of its own has a label, and labels belong to no module.
#[must_use]
pub fn qualified_label(span: Span, name: &str) -> Diagnostic {
    let last = name.rsplit('.').next().unwrap_or(name);
    RF0119.at(span, format!("`{name}` stands for a whole message, with its payload")).help(format!(
        "write `{name} from …` if it is declared with `sig`, or `{last}(…) from …` for a label"
    ))
}

/// The messages declared at `one` and at `other` have one label, and would be one message on the wire.
#[must_use]
pub fn same_label(span: Span, one: Span, other: Span, label: &str) -> Diagnostic {
    RF0109
        .at(span, format!("two different messages are called `{label}` in this protocol"))
        .related(one, "one is declared here")
        .related(other, "the other here")
        .help("rename one of them: a message is known by its label")
}

/// A type of this name is declared at `first` already.
#[must_use]
pub fn type_and_message(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0109
        .at(span, format!("`{name}` is declared as a type and as a message"))
        .related(first, "as a type here")
        .help("rename one of them")
}

/// nuScr's `GuardedUniqueness`: branches with one label are not told apart by their refinements.
#[must_use]
pub fn not_told_apart_by_guards(span: Span) -> Diagnostic {
    RF0118
        .at(span, "`GuardedUniqueness` is not supported: branches are told apart by their labels, not by their refinements")
        .help("give the branches of a choice labels of their own")
}

/// `role W[3]`: how many copies there are is not said in the protocol.
#[must_use]
pub fn fixed_copies(span: Span, role: &str, number: &str) -> Diagnostic {
    RF0123
        .at(span, format!("the number of copies of `{role}` is a name, not a number"))
        .help(format!("write `role {role}[n]`; `check --instances {role}={number}` checks {number} copies"))
}

/// Two roles have `number` copies each.
#[must_use]
pub fn same_copies(span: Span, first: Span, number: &str) -> Diagnostic {
    RF0123
        .at(span, format!("`{number}` is the number of copies of two roles"))
        .related(first, "first here")
        .help("give each number of copies a name of its own: they are chosen independently")
}

/// `new role W[n]`: who calls a nested protocol brings in one player for each of its roles.
#[must_use]
pub fn copies_of_new_role(span: Span, role: &str) -> Diagnostic {
    RF0123
        .at(span, format!("a call brings in one `{role}`, not several copies"))
        .help(format!("write `new role {role}`"))
}

/// `m() from a to W[1];`: a message is for every copy of a role.
#[must_use]
pub fn one_copy(span: Span, role: &str) -> Diagnostic {
    RF0123
        .at(span, format!("a message cannot name one copy of `{role}`"))
        .help(format!("write `{role}`: every copy sends or receives the message"))
}

/// The argument at `span` is not of the kind of the parameter `wanted`, declared at `declared`.
#[must_use]
pub fn wrong_argument(span: Span, declared: Span, wanted: &str, wants_signature: bool) -> Diagnostic {
    let (found, kind, example) =
        if wants_signature { ("type", "message", "Msg(int)") } else { ("message", "type", "int") };
    RF0119
        .at(span, format!("this is a {found}, but `{wanted}` stands for a {kind}"))
        .related(declared, format!("`{wanted}` is declared here"))
        .help(format!("give a {kind}, for example `{example}`"))
}

/// The argument `name` at `span` is declared nowhere; the parameter `wanted`, declared at `declared`, stands for a message.
#[must_use]
pub fn undeclared_message(span: Span, name: &str, declared: Span, wanted: &str) -> Diagnostic {
    RF0119
        .at(span, format!("`{wanted}` stands for a message, and no message `{name}` is declared"))
        .related(declared, format!("`{wanted}` is declared here"))
        .help(format!("write `{name}()` for a message without a payload, or declare `{name}` with `sig`"))
}

/// The parameter `name`, declared at `declared`, is a type and stands at `span` for a message, or the reverse.
#[must_use]
pub fn parameter_misused(span: Span, declared: Span, name: &str, as_message: bool) -> Diagnostic {
    let (is, not) = if as_message { ("type", "message") } else { ("message", "type") };
    let help = if as_message {
        format!("send it in a message: `Msg({name})`, or declare it as `sig {name}`")
    } else {
        format!("send the message: `{name} from …`, or declare it as `type {name}`")
    };
    RF0119
        .at(span, format!("`{name}` stands for a {is}, not for a {not}"))
        .related(declared, format!("`{name}` is declared here"))
        .help(help)
}

/// The parameter `name` at `span` is declared at `first` already.
#[must_use]
pub fn duplicate_parameter(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0109
        .at(span, format!("the parameter `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("rename one of them")
}

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_protocol(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0102
        .at(span, format!("the protocol `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("rename one of them")
}

/// Longer lists of roles are cut short.
const MOST_LISTED: usize = 10;

/// `name` is not one of the declared `roles`.
#[must_use]
pub fn unknown_role<'a>(span: Span, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let roles: Vec<&str> = roles.into_iter().collect();
    let diagnostic = RF0103.at(span, format!("there is no role `{name}`"));
    let listed =
        roles.iter().take(MOST_LISTED).map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ");
    let declared = match roles.len() {
        0 => String::from("name a role of the protocol's header"),
        1..=MOST_LISTED => format!("the roles are {listed}"),
        more => format!("the roles are {listed} and {} others", more - MOST_LISTED),
    };
    diagnostic.help(declared).suggest(name, roles)
}

/// The header declares `declared` at `span`, but what the protocol names, first at `used`, is `name`.
#[must_use]
pub fn misspelt_in_header(span: Span, declared: &str, used: Span, name: &str) -> Diagnostic {
    let edits = vec![Edit { span, text: name.to_owned() }];
    let mut diagnostic = RF0103
        .at(span, format!("the header declares `{declared}`, but the protocol names `{name}`"))
        .related(used, "named here")
        .help(format!("write `role {name}`"));
    // Names of roles are known outside the text, and another declaration may be missing.
    diagnostic.fix = Some(Box::new(Fix { edits, certain: false }));
    diagnostic
}

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_role(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0104
        .at(span, format!("the role `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("remove it, or give it another name")
}

/// `name` is not one of the recursion variables in `scope`.
#[must_use]
pub fn unknown_recursion_variable<'a>(
    span: Span,
    name: &str,
    scope: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    const ENDS: [&str; 9] = ["0", "nil", "Nil", "stop", "STOP", "skip", "done", "END", "∅"];
    let scope: Vec<&str> = scope.into_iter().collect();
    let missing = RF0105.at(span, format!("no enclosing recursion is called `{name}`"));
    if ENDS.contains(&name) && scope.contains(&"end") {
        return missing.help("did you mean `end`?");
    }
    let around: Vec<String> =
        scope.iter().filter(|around| **around != "end").take(3).map(|around| format!("`{around}`")).collect();
    let help = match &around[..] {
        [] => "a recursion variable can be used only inside its own definition".to_owned(),
        around => format!(
            "a recursion variable can be used only inside its own definition: here {}",
            around.join(", ")
        ),
    };
    missing.help(help).suggest(name, scope)
}

/// `name` is neither declared nor built in; perhaps `meant` was meant.
#[must_use]
pub fn unknown_type(span: Span, name: &str, meant: Option<&str>) -> Diagnostic {
    let diagnostic = RF0106.at(span, format!("`{name}` is not a known type and will not be checked"));
    if let Some((module, last)) = name.rsplit_once('.') {
        let declare = format!("declare it in `{module}`: `type {last};`");
        return diagnostic.help(match meant {
            Some(meant) => format!("did you mean `{meant}`? if not, {declare}"),
            None => format!("{declare}, or correct its name"),
        });
    }
    match meant {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`? if not, declare it: `type {name};`")),
        None => diagnostic.help(format!("declare it: `type {name};`, or correct its name")),
    }
}

/// The number `value` stands where a type belongs.
#[must_use]
pub fn value_as_type(span: Span, value: &str) -> Diagnostic {
    let ty = if value.contains('.') { "float" } else { "int" };
    RF0106
        .at(span, format!("`{value}` is a value, not a type, and will not be checked"))
        .help(format!("write the type, and the value as a condition: `x: {ty}` … `where x == {value}`"))
}

/// `name` takes `expected` of `what`, not `found`.
#[must_use]
pub fn wrong_number(
    span: Span,
    declared: Span,
    name: &str,
    what: &str,
    expected: usize,
    found: usize,
) -> Diagnostic {
    let what = if expected == 1 { what.replacen('s', "", 1) } else { what.to_owned() };
    let are = if found == 1 { "is" } else { "are" };
    RF0107
        .at(span, format!("`{name}` takes {expected} {what}, but {found} {are} given"))
        .related(declared, "declared here")
        .help(format!("give exactly {expected} {what}, in the order of the declaration"))
}

/// `role` is given twice.
#[must_use]
pub fn role_plays_twice(span: Span, first: Span, role: &str) -> Diagnostic {
    RF0108
        .at(span, format!("`{role}` would play two roles of this protocol"))
        .related(first, "already given here")
        .help("give each role of the protocol to a different participant")
}

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_type(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0109
        .at(span, format!("the type `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("rename or remove one of them")
}

/// The definition of `name` leads back to itself.
#[must_use]
pub fn cyclic_type(span: Span, name: &str) -> Diagnostic {
    RF0110
        .at(span, format!("the type `{name}` is defined by itself"))
        .help(format!("declare it without a definition, `type {name};`, to treat it as opaque"))
}

/// `name` is no role; `chooser` sends the first message of every branch.
#[must_use]
pub fn unknown_chooser(span: Span, name: &str, chooser: &str) -> Diagnostic {
    RF0115
        .at(span, format!("there is no role `{name}`; the choice is read as `choice at {chooser}`"))
        .help(format!("write `choice at {chooser}`"))
}

/// `name` takes part in no message.
#[must_use]
pub fn unused_role(span: Span, name: &str) -> Diagnostic {
    RF0116
        .at(span, format!("the role `{name}` neither sends nor receives anything"))
        .help("remove it from the header, or use it")
}

/// A nested protocol comes after a global one.
#[must_use]
pub fn after_a_global_protocol(span: Span) -> Diagnostic {
    RF0117
        .at(span, "a nested protocol must come before all global protocols")
        .help("move it to the top of the file")
}

/// A nested protocol comes after a statement.
#[must_use]
pub fn after_a_statement(span: Span) -> Diagnostic {
    RF0117
        .at(span, "a nested protocol must come before the first message")
        .help("move it to the top of the protocol")
}

/// `name` is no known pragma; `known` are.
#[must_use]
pub fn unknown_pragma<'a>(span: Span, name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    RF0118
        .at(span, format!("there is no pragma `{name}`"))
        .help("it has no effect; remove it")
        .suggest(name, known)
}

/// nuScr knows the pragma `name` at `span`, which changes what protocols mean; Referee does not, for the reason `why`.
#[must_use]
pub fn unsupported_pragma(span: Span, name: &str, why: &str) -> Diagnostic {
    RF0124
        .at(span, format!("the pragma `{name}` is not supported, because {why}"))
        .help("remove it, and what needs it")
}

/// The module `name` stands in a file that is not called `short`.
#[must_use]
pub fn misnamed_module(span: Span, name: &str, short: &str) -> Diagnostic {
    RF0126.at(span, format!("the file of the module `{name}` is not called `{short}.scr`")).help(format!(
        "call the file `{short}.scr`, or the module after its file: others that import it look for that file"
    ))
}
