//! Why theory refuses a type, in the user's words: origins become places, numbers become names.

use referee_theory::global::MAX_LEVEL;
use referee_theory::session::SessionError;
use referee_theory::{GlobalError, Vocabulary};

use crate::diagnostics::{
    Diagnostic, rf0005_nested_too_deep, rf0105_unknown_recursion_variable, rf0201_self_message,
    rf0202_duplicate_label, rf0203_unguarded_recursion,
};
use crate::source::Origins;

/// What is wrong with a session type.
pub(crate) fn session_error(error: &SessionError, origins: &Origins) -> Diagnostic {
    match *error {
        SessionError::Unguarded { definition, call } => {
            rf0203_unguarded_recursion::unguarded_recursion(origins.span(call), origins.span(definition))
        }
    }
}

/// What is wrong with a global type.
pub(crate) fn global_error(error: &GlobalError, vocabulary: &Vocabulary, origins: &Origins) -> Diagnostic {
    match *error {
        GlobalError::Unguarded { definition, call } => {
            rf0203_unguarded_recursion::unguarded_recursion(origins.span(call), origins.span(definition))
        }
        GlobalError::Unbound { call } => {
            // The parsers resolve names themselves: only a protocol built by hand gets here.
            rf0105_unknown_recursion_variable::unknown_recursion_variable(origins.span(call), "?", [])
        }
        GlobalError::SelfMessage { role, message } => {
            rf0201_self_message::self_message(origins.span(message), vocabulary.role_name(role))
        }
        GlobalError::DuplicateLabel { label, receiver, first, second } => {
            rf0202_duplicate_label::duplicate_label(
                origins.span(second),
                origins.span(first),
                vocabulary.label_name(label),
                vocabulary.role_name(receiver),
            )
        }
        GlobalError::TooDeep { definition } => {
            rf0005_nested_too_deep::nested_too_deep(origins.span(definition), MAX_LEVEL as usize)
        }
    }
}
