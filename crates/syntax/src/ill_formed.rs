//! What theory finds wrong, in the user's words and at the user's place.

use std::sync::Arc;

use referee_theory::assertion::{AssertionError, NotATimeReason};
use referee_theory::expr::{Expr, Node, Place, TypeError, TypeErrorKind, written_name};
use referee_theory::global::{GlobalError, MAX_LEVEL, MAX_PAR_DEPTH};
use referee_theory::project::{Conflict, MAX_INTERLEAVED, ProjectionError, RoleAction};
use referee_theory::relative::{Cause, RelativeError};
use referee_theory::session::SessionError;
use referee_theory::timing::TimeAdvice;
use referee_theory::{Action, Origin, Type, Vocabulary};

use crate::diagnostics::assertions::{
    ambiguous_variable, bad_pattern, cannot_compute, cannot_follow, chained_comparison, data_of_recursion,
    external_predicate, maybe_unbound, nobody_can_check, not_boolean, type_mismatch, unknown_field,
    unknown_function, unknown_variable, wrong_number_of_arguments, wrong_number_of_values,
    wrong_type_of_value,
};
use crate::diagnostics::blocks::{
    bound_in_two_blocks, data_with_par, empty_block, jump_out_of_block, label_in_two_blocks, never_joins,
    par_too_large, reads_other_block, time_in_block, too_many_interleavings,
};
use crate::diagnostics::names::unknown_recursion_variable;
use crate::diagnostics::projection::{
    HiddenDependency, UnseenChoice, hidden_dependency, par_has_none, several_receivers, undecided,
};
use crate::diagnostics::structure::{
    duplicate_label, projection_too_large, recursion_too_deep, self_message, unguarded_recursion,
};
use crate::diagnostics::times::{
    need_not_come, never_first, no_beginning, not_a_time, silence_allowed, time_of_zero, too_short,
    unknown_time,
};
use crate::diagnostics::{Code, Diagnostic, RF0401, RF0402, RF0403, RF0404, RF0405, RF0406, quoted};
use crate::document::External;
use crate::source::{Origins, Span};

/// An ill-formed global type.
pub(crate) fn global(error: &GlobalError, vocabulary: &Vocabulary, origins: &Origins) -> Diagnostic {
    match error {
        GlobalError::Unguarded { definition, call } => {
            unguarded_recursion(origins.span(*call), origins.span(*definition))
        }
        GlobalError::Unbound { call } => unknown_recursion_variable(origins.span(*call), "?", []),
        GlobalError::SelfMessage { role, message } => {
            self_message(origins.span(*message), vocabulary.role_name(*role))
        }
        GlobalError::DuplicateLabel { label, receiver, first, second } => duplicate_label(
            origins.span(*second),
            origins.span(*first),
            vocabulary.label_name(*label),
            vocabulary.role_name(*receiver),
        ),
        GlobalError::TooDeep { definition } => recursion_too_deep(origins.span(*definition), MAX_LEVEL),
        GlobalError::LabelInTwoBlocks { label, channel, first, second, par } => label_in_two_blocks(
            origins.span(*second),
            origins.span(*first),
            origins.span(*par),
            vocabulary.label_name(*label),
            (vocabulary.role_name(channel.0), vocabulary.role_name(channel.1)),
        ),
        GlobalError::LeavesBlock { call, par } => {
            jump_out_of_block(origins.span(*call), origins.span(*par), "?")
        }
        GlobalError::EmptyBlock { par, block } => empty_block(origins.span(*par), *block),
        GlobalError::NeverJoins { par, place } => never_joins(origins.span(*par), origins.span(*place)),
        GlobalError::ParTooLarge { par } => par_too_large(origins.span(*par), MAX_PAR_DEPTH),
    }
}

/// An ill-formed session type.
pub(crate) fn session(error: &SessionError, origins: &Origins) -> Diagnostic {
    match error {
        SessionError::Unguarded { definition, call } => {
            unguarded_recursion(origins.span(*call), origins.span(*definition))
        }
    }
}

/// A role without a projection. `fallback` is where to point when nothing better is known.
#[must_use]
pub fn projection(
    error: &ProjectionError,
    vocabulary: &Vocabulary,
    origins: &Origins,
    fallback: Span,
) -> Diagnostic {
    let role = vocabulary.role_name(error.role);
    let code: &'static Code = match error.conflict {
        Conflict::EndOrAction => &RF0401,
        Conflict::SendOrReceive => &RF0402,
        Conflict::DifferentSenders => &RF0403,
        Conflict::DifferentSends => &RF0404,
        Conflict::DifferentPayloads => &RF0405,
        Conflict::BlocksOrAction | Conflict::DifferentBlocks => &RF0406,
        Conflict::TooLarge => return projection_too_large(fallback, role),
        Conflict::TooManyInterleavings => {
            let par = match error.left {
                RoleAction::Fork { origin } => origins.span(origin),
                RoleAction::End | RoleAction::Act { .. } => fallback,
            };
            return too_many_interleavings(par, role, MAX_INTERLEAVED);
        }
    };
    let say = |action: RoleAction| match action {
        RoleAction::End => (None, "is done".to_string()),
        RoleAction::Fork { origin } => {
            (Some(origins.span(origin)), "is in several blocks of a `par`".to_string())
        }
        RoleAction::Act { action, peer, message, origin } => {
            let (verb, preposition) =
                if action == Action::Send { ("sends", "to") } else { ("waits for", "from") };
            let (label, peer) = (quoted(vocabulary.label_of(message)), vocabulary.role_name(peer));
            (Some(origins.span(origin)), format!("{verb} {label} {preposition} `{peer}`"))
        }
    };
    let (left, right) = (say(error.left), say(error.right));
    let span = match &error.choice {
        Some(choice) => origins.span(choice.origin),
        None => left.0.or(right.0).unwrap_or(fallback),
    };
    let choice = error.choice.map(|choice| UnseenChoice {
        chooser: vocabulary.role_name(choice.sender).to_owned(),
        left: origins.span(choice.left.1),
        right: origins.span(choice.right.1),
    });
    undecided(code, span, role, left, right, choice)
}

/// A pair of roles without a relative type.
#[must_use]
pub fn relative(error: &RelativeError, vocabulary: &Vocabulary, origins: &Origins) -> Diagnostic {
    let undefined = match &error.cause {
        Cause::Undefined(undefined) => undefined,
        Cause::Par(par) => return par_has_none(origins.span(*par)),
    };
    let name = |role| vocabulary.role_name(role);
    let receivers: Vec<&str> = undefined.receivers.iter().map(|role| name(*role)).collect();
    if receivers.len() > 1 {
        return several_receivers(origins.span(undefined.origin), name(undefined.sender), &receivers);
    }
    hidden_dependency(&HiddenDependency {
        pair: (name(error.pair.0), name(error.pair.1)),
        exchange: origins.span(undefined.origin),
        sender: name(undefined.sender),
        receiver: receivers[0],
        left: (vocabulary.label_of(undefined.left.0), origins.span(undefined.left.1), &undefined.left.2),
        right: (vocabulary.label_of(undefined.right.0), origins.span(undefined.right.1), &undefined.right.2),
    })
}

/// An assertion that cannot be used.
pub(crate) fn assertion(error: &AssertionError, vocabulary: &Vocabulary, origins: &Origins) -> Diagnostic {
    let names = |list: &[Arc<str>]| list.iter().map(|name| written_name(name).to_owned()).collect::<Vec<_>>();
    match error {
        AssertionError::Type(error) => type_error(error),
        AssertionError::Ambiguous { expr, variable, left, right } => {
            let bound = |(ty, origin): &(Type, Origin)| (origins.span(*origin), ty.to_string());
            let place = span(variable_place(expr, variable));
            ambiguous_variable(place, written_name(variable), bound(left), bound(right))
        }
        AssertionError::MaybeUnbound { expr, variable, bound } => {
            let place = span(variable_place(expr, variable));
            maybe_unbound(place, written_name(variable), origins.span(*bound))
        }
        AssertionError::NobodyCanCheck { expr, sender, receiver } => nobody_can_check(
            span(expr.place()),
            (vocabulary.role_name(sender.0), &names(&sender.1)),
            (vocabulary.role_name(receiver.0), &names(&receiver.1)),
        ),
        AssertionError::CannotCompute { expr, role, unknown } => {
            cannot_compute(span(expr.place()), vocabulary.role_name(*role), &names(unknown))
        }
        AssertionError::CannotFollow { role, variable, declared, after, too_large } => cannot_follow(
            origins.span(*declared),
            (*after != Origin::NONE).then(|| origins.span(*after)),
            vocabulary.role_name(*role),
            written_name(variable),
            *too_large,
        ),
        AssertionError::NotATime { expr, reason } => match reason {
            NotATimeReason::Zero => time_of_zero(span(expr.place())),
            NotATimeReason::Variable(name, ty) => not_a_time(
                span(variable_place(expr, name)),
                format!("`{}` is of type `{ty}`, not a number", written_name(name)),
            ),
            NotATimeReason::Type(ty) => {
                not_a_time(span(expr.place()), format!("this is of type `{ty}`, not a time"))
            }
            NotATimeReason::Calls(name) => {
                not_a_time(span(expr.place()), format!("a time cannot depend on what `{name}` answers"))
            }
        },
        AssertionError::UnknownTime { expr, role, unknown } => {
            unknown_time(span(expr.place()), vocabulary.role_name(*role), &names(unknown))
        }
        AssertionError::NoBeginning { expr, label, role, unseen } => {
            let unseen = unseen.map(|unseen| origins.span(unseen));
            no_beginning(span(expr.place()), label, vocabulary.role_name(*role), unseen)
        }
        AssertionError::BoundInTwoBlocks { variable, first, second } => {
            bound_in_two_blocks(origins.span(*second), origins.span(*first), variable)
        }
        AssertionError::ReadsOtherBlock { expr, variable, bound } => {
            reads_other_block(span(variable_place(expr, variable)), origins.span(*bound), variable)
        }
        AssertionError::TimeInBlock { expr, par } => time_in_block(span(expr.place()), origins.span(*par)),
        AssertionError::DataWithPar { declared, par } => {
            data_with_par(origins.span(*declared), origins.span(*par))
        }
        AssertionError::WrongNumberOfValues { call, definition, expected, found } => {
            wrong_number_of_values(origins.span(*call), origins.span(*definition), *expected, *found)
        }
        AssertionError::WrongTypeOfValue { expr, declared, expected, found } => wrong_type_of_value(
            span(expr.place()),
            origins.span(*declared),
            &expected.to_string(),
            &found.to_string(),
        ),
    }
}

/// Something about a time that deserves a look.
pub(crate) fn time(advice: &TimeAdvice, origins: &Origins) -> Diagnostic {
    match advice {
        TimeAdvice::TooShort { within, after, waits } => {
            too_short(span(within.place()), &referee_theory::time::words(*after), origins.span(*waits))
        }
        TimeAdvice::SilenceAllowed { within, instead } => {
            silence_allowed(span(within.place()), origins.span(*instead))
        }
        TimeAdvice::NeedNotCome { within, message } => {
            need_not_come(span(within.place()), origins.span(*message))
        }
        TimeAdvice::NeverFirst { within, label, between } => {
            never_first(span(within.place()), label, origins.span(*between))
        }
    }
}

/// Predicates that monitors must be given.
pub(crate) fn externals(externals: &[External]) -> impl Iterator<Item = Diagnostic> + use<'_> {
    externals.iter().map(|external| {
        let parameters: Vec<String> = external.parameters.iter().map(ToString::to_string).collect();
        let signature = format!("{}({}) -> {}", external.name, parameters.join(", "), external.result);
        external_predicate(external.span, &signature)
    })
}

fn type_error(error: &TypeError) -> Diagnostic {
    let (place, what) = (span(error.place), error.to_string());
    let texts = |list: &[Arc<str>]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
    match &error.kind {
        TypeErrorKind::UnknownVariable { name, .. } if written_name(name) != &**name => {
            data_of_recursion(place, written_name(name))
        }
        TypeErrorKind::UnknownVariable { name, candidates } => {
            unknown_variable(place, name, candidates.iter().map(|bound| written_name(bound)))
        }
        TypeErrorKind::UnknownFunction { name, candidates } => {
            unknown_function(place, name, texts(candidates).iter().map(String::as_str))
        }
        TypeErrorKind::WrongArity { .. } => wrong_number_of_arguments(place, what),
        TypeErrorKind::NotBoolean { .. } => not_boolean(place, what),
        TypeErrorKind::NonLiteralPattern | TypeErrorKind::BadPattern { .. } => bad_pattern(place, what),
        TypeErrorKind::UnknownField { field, candidates, .. } => {
            unknown_field(place, what, field, texts(candidates).iter().map(String::as_str))
        }
        TypeErrorKind::NotARecord { field, .. } => unknown_field(place, what, field, []),
        TypeErrorKind::UnequalOperands { operator: "<" | "<=" | ">" | ">=", left: Type::Bool, .. } => {
            chained_comparison(place, what)
        }
        TypeErrorKind::MixedNumbers { fix, .. } => type_mismatch(place, what, Some(&fix.replacement)),
        _ => type_mismatch(place, what, None),
    }
}

/// Where `variable` is used in `expr`.
fn variable_place(expr: &Expr, variable: &str) -> Place {
    let mut stack = vec![expr];
    while let Some(part) = stack.pop() {
        if matches!(part.node(), Node::Variable(name) if &**name == variable) {
            return part.place();
        }
        stack.extend(part.node().children().iter().rev());
    }
    expr.place()
}

fn span(place: Place) -> Span {
    Span { start: place.start, end: place.end }
}
