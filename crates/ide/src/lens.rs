//! What is known of a protocol as a whole, shown above it: the answer of the check, and its machines.
//!
//! A check explores a state space. It is asked for from another thread and can be cancelled; here it is bounded besides,
//! because nobody waits for an editor for minutes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use referee_check::{Options, Verdict, check};
use referee_pipeline::{Analysed, Content};
use referee_syntax::Span;
use referee_theory::System;

use crate::workspace::Workspace;

/// So many configurations a lens explores at most.
const MAX_STATES: usize = 100_000;

/// So many bytes.
const MAX_MEMORY: usize = 256 << 20;

/// More roles than these have no lens of their own.
const MAX_ROLES: usize = 8;

/// A line above a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lens {
    /// What it is about.
    pub span: Span,
    /// What it says.
    pub title: String,
    /// What happens when it is chosen.
    pub action: LensAction,
}

/// What happens when a lens is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LensAction {
    /// The counterexample is shown.
    ShowTrace {
        /// The protocol, where it has a name.
        protocol: Option<Arc<str>>,
    },
    /// The machine of a role is shown.
    ShowMachine {
        /// The protocol, where it has a name.
        protocol: Option<Arc<str>>,
        /// The role.
        role: Arc<str>,
    },
    /// Nothing.
    None,
}

/// The lenses of the file at `path`; `None` once `cancel` is set.
#[must_use]
pub fn lenses(workspace: &Workspace, path: &str, cancel: &AtomicBool) -> Option<Vec<Lens>> {
    let analysed = workspace.analysed(path)?;
    let mut lenses = Vec::new();
    for (name, span, system) in systems(analysed) {
        if cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return None;
        }
        let (title, is_unsafe) = answer(&system, cancel);
        if cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return None;
        }
        let protocol = name.clone();
        let action = if is_unsafe { LensAction::ShowTrace { protocol } } else { LensAction::None };
        lenses.push(Lens { span, title, action });
        for role in system.roles().take(MAX_ROLES) {
            let role: Arc<str> = system.vocabulary().role_name(role).into();
            let title = format!("machine of {role}");
            let action = LensAction::ShowMachine { protocol: name.clone(), role };
            lenses.push(Lens { span, title, action });
        }
    }
    Some(lenses)
}

/// The systems of a text without errors, each with where its header is.
fn systems(analysed: &Analysed) -> Vec<(Option<Arc<str>>, Span, System)> {
    let analysis = analysed.analysis();
    if !analysis.is_well_formed() {
        return Vec::new();
    }
    match &analysis.document.content {
        Content::Global(protocols) => {
            let mut all = Vec::new();
            for projected in &analysis.protocols {
                let same = |known: &&referee_syntax::GlobalProtocol| known.name == projected.name;
                let span = protocols.iter().find(same).map_or_else(Span::default, |known| known.span);
                if let Ok(system) = &projected.local {
                    all.push((projected.name.clone(), span, system.clone()));
                }
            }
            all
        }
        Content::System(local) => {
            local.system.iter().map(|system| (None, Span::default(), system.clone())).collect()
        }
        Content::Binary(_) | Content::Properties(_) => Vec::new(),
    }
}

/// What the check says in a few words, and whether it is unsafe.
fn answer(system: &System, cancel: &AtomicBool) -> (String, bool) {
    let options = Options { max_states: MAX_STATES, max_memory: MAX_MEMORY, ..Options::default() };
    match check(system, &options, Some(cancel), &mut ()).verdict {
        Verdict::Safe { .. } => ("safe for every channel size".to_owned(), false),
        Verdict::Unsafe { witness, .. } => {
            let why = witness.explanation.lines().next().unwrap_or_default();
            (format!("unsafe: {}", shortened(why)), true)
        }
        Verdict::Unknown { explanation, .. } => {
            (format!("no answer yet: {}", shortened(explanation.lines().next().unwrap_or_default())), false)
        }
    }
}

fn shortened(text: &str) -> String {
    const MAX_CHARACTERS: usize = 90;
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
