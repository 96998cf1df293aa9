//! Everything Referee has to say about a text: one file per code, each with its explanation, an example
//! that triggers it and the same example put right.
//!
//! A [`Diagnostic`] is data. Rendering belongs to whoever shows it: the command line, an editor, a page.

use crate::language::Language;
use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// The input can be used, but something deserves a look.
    Warning,
    /// For information.
    Note,
}

impl Severity {
    /// The name used in JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A kind of diagnostic: what is stable about it.
#[derive(Debug)]
pub struct Code {
    /// `RF0103`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// A few words, lower case.
    pub title: &'static str,
    /// What it means, why Referee insists, and what to do: Markdown.
    pub explanation: &'static str,
    /// A text that triggers it, and the same text put right.
    pub example: Example,
}

/// A text that triggers a diagnostic, and one that does not.
#[derive(Debug)]
pub struct Example {
    /// What the texts are written in.
    pub language: Language,
    /// Triggers the diagnostic.
    pub wrong: &'static str,
    /// The same, put right.
    pub right: &'static str,
}

/// Something to say about a place in the text.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Its kind.
    pub code: &'static Code,
    /// What is wrong, in the user's words.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to write beside the place itself.
    pub label: Option<String>,
    /// Other places that matter, each with what to write beside it.
    pub related: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Code {
    /// A diagnostic of this kind.
    #[must_use]
    pub fn at(&'static self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code: self, message: message.into(), span, label: None, related: Vec::new(), help: None }
    }
}

impl Diagnostic {
    /// Says something beside the place itself.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(text.into());
        self
    }

    /// Points to another place.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// "did you mean …?", where a candidate is close enough to `wrong`.
    #[must_use]
    pub fn suggest<'a>(self, wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        match suggest::closest(wrong, candidates) {
            Some(candidate) => self.help(format!("did you mean `{candidate}`?")),
            None => self,
        }
    }

    /// Whether the input cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code.severity == Severity::Error
    }
}

pub mod suggest;

/// Declares the files of this folder and lists their codes.
macro_rules! codes {
    ($($module:ident)*) => {
        $(pub mod $module;)*
        /// Every code there is, in ascending order.
        pub static ALL: &[&Code] = &[$(&$module::CODE),*];
    };
}

codes! {
    rf0001_unexpected_character
    rf0002_unterminated_comment
    rf0003_unterminated_string
    rf0004_unexpected_token
    rf0005_nested_too_deep
    rf0101_unknown_protocol
    rf0102_duplicate_protocol
    rf0103_unknown_role
    rf0104_duplicate_role
    rf0105_unknown_recursion_variable
    rf0106_misspelt_type
    rf0107_wrong_number_of_roles
    rf0108_role_plays_twice
    rf0109_duplicate_type
    rf0110_cyclic_type
    rf0115_unknown_chooser
    rf0116_unused_role
    rf0117_nested_protocol_misplaced
    rf0118_unknown_pragma
    rf0201_self_message
    rf0202_duplicate_label
    rf0203_unguarded_recursion
    rf0204_recursion_too_deep
    rf0205_unreachable
    rf0206_wrong_chooser
    rf0207_empty_branch
    rf0208_not_tail_recursive
    rf0209_too_large
    rf0216_connections_not_monitored
    rf0217_import_ignored
    rf0218_statement_after_block
    rf0301_type_mismatch
    rf0302_unknown_variable
    rf0303_unknown_function
    rf0304_wrong_number_of_arguments
    rf0305_not_boolean
    rf0306_bad_pattern
    rf0307_unknown_field
    rf0308_ambiguous_variable
    rf0309_maybe_unbound
    rf0310_nobody_can_check
    rf0311_external_predicate
    rf0312_recursion_data
    rf0313_duplicate_field
    rf0314_duplicate_external
    rf0315_assertion_syntax
    rf0401_end_or_action
    rf0402_send_or_receive
    rf0403_different_senders
    rf0404_different_sends
    rf0405_different_payloads
    rf0410_hidden_dependency
    rf0411_relative_only
    rf0412_projection_only
    rf0501_role_declared_twice
    rf0502_unknown_peer
    rf0503_branch_without_action
    rf0504_unknown_initial_state
    rf0505_missing_marking
    rf0506_silent_action
    rf0507_mixed_choice
    rf0508_nondeterministic_choice
    rf0509_no_blank_after_rec
    rf0510_no_transitions
    rf0511_unreachable_state
    rf0601_branch_direction
    rf0602_branch_without_message
    rf0603_unclosed_assertion
    rf0604_many_fields
    rf0701_missing_continuation
    rf0702_value_of_other_roles
    rf0710_malformed_json
    rf0711_missing_key
    rf0712_wrong_value
    rf0713_unknown_node_type
    rf0714_duplicate_key
    rf0715_no_branches
    rf0716_unknown_party
    rf0801_unguarded_formula
    rf0802_no_verdict
    rf0803_idle_part
    rf0804_may_grow
    rf0805_hidden_variable
    rf0806_unbound_variable
    rf0807_guard_without_value
    rf0808_duplicate_property
    rf0809_bad_key
    rf0810_not_a_term
    rf0811_different_field_counts
}

/// The code called `id`, in any case, with or without its `RF`.
#[must_use]
pub fn find(id: &str) -> Option<&'static Code> {
    let digits = id.trim_start_matches(['R', 'r']).trim_start_matches(['F', 'f']);
    ALL.iter().copied().find(|code| code.id[2..] == *digits)
}
