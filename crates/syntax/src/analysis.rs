//! Everything that can be said about a document before anything runs: its projections and relative types,
//! and what is wrong with them.

use std::sync::Arc;

use referee_theory::project::ProjectionError;
use referee_theory::relative::{Cause, RelativeError, RelativeType};
use referee_theory::{GlobalType, System};

use crate::diagnostics::projection::{can_hang, projection_only, relative_only};
use crate::diagnostics::{Diagnostic, Severity};
use crate::document::{Content, Demands, Document, GlobalProtocol, in_order};
use crate::ill_formed;
use crate::language::Language;

/// A document and what was found out about it.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What was analysed.
    pub document: Document,
    /// All there is to say: the document's own diagnostics and those of the analysis, in order.
    pub diagnostics: Vec<Diagnostic>,
    /// One entry per protocol of [`Content::Global`] that is not auxiliary and has no errors.
    pub protocols: Vec<ProjectedProtocol>,
}

/// A global protocol with its projections.
#[derive(Clone, Debug)]
pub struct ProjectedProtocol {
    /// Its name.
    pub name: Option<Arc<str>>,
    /// The protocol.
    pub global: Arc<GlobalType>,
    /// One machine per role, or the roles that have none.
    pub local: Result<System, Vec<ProjectionError>>,
    /// One relative type per pair of participants, or the pairs that have none.
    pub relative: Result<Vec<RelativeType>, Vec<RelativeError>>,
}

/// Who is to follow a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followers {
    /// Components by themselves: every role needs a projection.
    Components,
    /// Components with monitors beside them, which pass on outcomes of choices: relative types are enough.
    Monitors,
}

impl Analysis {
    /// Analyses `document`, whose protocols may be followed with monitors.
    #[must_use]
    pub fn of(document: Document) -> Self {
        Self::with(document, Followers::Monitors)
    }

    /// Analyses `document`, whose protocols `followers` are to follow.
    #[must_use]
    pub fn with(document: Document, followers: Followers) -> Self {
        let mut diagnostics = document.diagnostics.clone();
        let mut protocols = Vec::new();
        if let Content::Global(all) = &document.content {
            for protocol in all.iter().filter(|protocol| !protocol.auxiliary) {
                let Some(global) = &protocol.global else { continue };
                let projected = ProjectedProtocol {
                    name: protocol.name.clone(),
                    global: Arc::clone(global),
                    local: global.project_all(),
                    relative: global.relative_all(),
                };
                report(&projected, protocol, &document, followers, &mut diagnostics);
                protocols.push(projected);
            }
        }
        let diagnostics = in_order(diagnostics);
        Self { document, diagnostics, protocols }
    }

    /// Whether the input is well formed: there are no errors.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// How many diagnostics of this severity there are.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.code.severity == severity).count()
    }
}

fn is_par(errors: &[RelativeError]) -> bool {
    errors.iter().all(|error| matches!(error.cause, Cause::Par(_)))
}

fn report(
    projected: &ProjectedProtocol,
    protocol: &GlobalProtocol,
    document: &Document,
    followers: Followers,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let vocabulary = projected.global.vocabulary();
    let local =
        |error: &ProjectionError| ill_formed::projection(error, vocabulary, &document.origins, protocol.span);
    let relative = |error: &RelativeError| ill_formed::relative(error, vocabulary, &document.origins);
    match (&projected.local, &projected.relative) {
        (Ok(_), Ok(_)) => {}
        (_, Err(errors)) if protocol.demands == Demands::Relative => {
            diagnostics.extend(errors.iter().map(relative));
        }
        (Err(errors), Ok(_)) if followers == Followers::Components && protocol.demands != Demands::Local => {
            diagnostics.extend(errors.iter().map(|error| {
                let role = vocabulary.role_name(error.role);
                can_hang(local(error), role, document.language != Language::Scr)
            }));
        }
        (Err(errors), Ok(_)) if protocol.demands != Demands::Local => {
            let first = errors.first().map(|error| (local(error), vocabulary.role_name(error.role)));
            diagnostics.extend(first.map(|(why, role)| relative_only(why, role)));
        }
        // Between two roles there is nothing to pass on.
        (Ok(_), Err(errors)) if is_par(errors) && projected.global.participants().len() == 2 => {}
        (Ok(_), Err(errors)) => {
            diagnostics.extend(errors.first().map(|error| projection_only(relative(error))));
        }
        (Err(errors), _) => diagnostics.extend(errors.iter().map(local)),
    }
}
