//! What a probe found, as data. `report/junit.rs` has it as JUnit XML.

mod junit;
mod text;
mod timing;

use referee_theory::{Origin, State};
use referee_verdict::VerdictRecord;
use serde::Serialize;

use crate::coverage::{Count, Coverage};
use crate::mutation::MutationOutcome;
use crate::player::{Edge, Player};
use crate::script::Script;
pub use timing::{Timing, Timings};

/// What a probe found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The role that was played.
    pub role: String,
    /// The role that was tested.
    pub peer: String,
    /// How many connections were made.
    pub sessions: usize,
    /// How many messages were sent.
    pub sent: usize,
    /// How many messages came.
    pub received: usize,
    /// The states that were visited.
    pub states: Count,
    /// The transitions that were taken.
    pub transitions: Count,
    /// The alternatives of choices that were taken.
    pub branches: Count,
    /// The transitions that were taken, and how often.
    pub taken: Vec<Taken>,
    /// The transitions that were not, and why.
    pub uncovered: Vec<Uncovered>,
    /// What the peer did wrong.
    pub finding: Option<Finding>,
    /// The wrong messages that were sent, and what became of them.
    pub mutations: Vec<MutationOutcome>,
    /// What could not be judged.
    pub not_judged: Vec<String>,
    /// Which bound ended the tour before all was tried.
    pub limit: Option<&'static str>,
    /// How long the peer took for its messages.
    pub timings: Vec<Timing>,
}

/// A transition that was taken.
#[derive(Clone, Debug, Serialize)]
pub struct Taken {
    /// Where it begins.
    pub state: String,
    /// `client: Mail(path: string)`.
    pub message: String,
    /// How often.
    pub times: u32,
}

/// A transition that was not taken.
#[derive(Clone, Debug, Serialize)]
pub struct Uncovered {
    /// Where it begins.
    pub state: String,
    /// `server: Shutdown()`.
    pub message: String,
    /// Why.
    pub reason: String,
}

/// What the peer did wrong, and how to see it again.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The verdict.
    pub verdict: VerdictRecord,
    /// The messages before it, oldest first.
    pub trace: Vec<String>,
    /// What to do to see it again.
    pub script: Script,
    /// Whether it was seen again when the script was replayed.
    pub reproduced: bool,
    /// How many messages were left out of the trace.
    pub shortened_by: usize,
    /// Where the protocol says otherwise.
    #[serde(skip)]
    pub origin: Origin,
}

impl Report {
    /// Whether the peer kept to the protocol in all that was judged, and all that was tried was judged.
    #[must_use]
    pub fn is_conclusive(&self) -> bool {
        self.limit.is_none() && self.not_judged.is_empty()
    }

    /// The report on `coverage`, otherwise empty.
    pub(crate) fn new(player: &Player, coverage: &Coverage, limit: Option<&'static str>) -> Self {
        let [states, transitions, branches] = coverage.counts(player);
        let taken = player.edges().iter().filter(|edge| coverage.taken(edge.number) > 0);
        let taken = taken.map(|edge| Taken {
            state: player.state_name(edge.source),
            message: shown(player, edge),
            times: coverage.taken(edge.number),
        });
        let missing = coverage.uncovered(player);
        let reason = |edge: &&Edge| Uncovered {
            state: player.state_name(edge.source),
            message: shown(player, edge),
            reason: reason(player, coverage, edge, limit),
        };
        Self {
            role: player.role().to_owned(),
            peer: player.peer_role().to_owned(),
            sessions: 0,
            sent: 0,
            received: 0,
            states,
            transitions,
            branches,
            taken: taken.collect(),
            uncovered: missing.iter().map(reason).collect(),
            finding: None,
            mutations: Vec::new(),
            not_judged: Vec::new(),
            limit,
            timings: Vec::new(),
        }
    }
}

/// `client: Mail(path: string)`.
pub(crate) fn shown(player: &Player, edge: &Edge) -> String {
    let role = if edge.is_own { player.role() } else { player.peer_role() };
    format!("{role}: {}", player.monitor().vocabulary().display(edge.message))
}

/// Why `edge`, which could be reached, was not taken.
fn reason(player: &Player, coverage: &Coverage, edge: &Edge, limit: Option<&'static str>) -> String {
    let visits = coverage.visits(edge.source);
    if let Some(obstacle) = &edge.obstacle {
        return format!("it is not sent: {obstacle}");
    }
    if visits == 0 {
        return before(player, coverage, edge.source, limit);
    }
    let assertion = player.monitor().vocabulary().spec(edge.message).assertion.as_ref();
    match (edge.is_own, coverage.is_given_up(edge), assertion) {
        (true, true, _) if !coverage.is_unsolved(edge.number) => {
            "the session was over before it could be sent".to_owned()
        }
        (true, true, Some(assertion)) => format!("no values were found for which `{assertion}` holds"),
        (true, true, None) => "no values were found that can be written".to_owned(),
        (false, true, _) => {
            format!(
                "{} did not choose it in {visits} visits of `{}`",
                player.peer_role(),
                player.state_name(edge.source)
            )
        }
        _ => limit
            .map_or_else(|| "the tours ended before it".to_owned(), |limit| format!("not tried: {limit}")),
    }
}

/// Why `state` was not visited: what leads there was not taken.
fn before(player: &Player, coverage: &Coverage, state: State, limit: Option<&'static str>) -> String {
    let ways = player.edges().iter().filter(|edge| edge.target == state && edge.source != state);
    let nearest = ways.clone().find(|edge| coverage.visits(edge.source) > 0).or_else(|| ways.clone().next());
    let (name, limit) =
        (player.state_name(state), limit.map_or(String::new(), |limit| format!(" ({limit})")));
    match nearest {
        Some(edge) => format!("`{name}` was not reached: {} was not taken{limit}", shown(player, edge)),
        None => format!("`{name}` was not reached{limit}"),
    }
}
