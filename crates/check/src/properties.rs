//! The bounded properties of CAV'19, each evaluated for all configurations of an explored graph at
//! once. A property function gives the set of configurations that violate it: empty means that it holds.
//!
//! The graph may be TS_k or a reduction; the definitions then are the paper's reduced ones (17–20, 26).

pub(crate) mod cibi;
pub(crate) mod exhaustivity;
pub(crate) mod independence;
pub(crate) mod safety;

pub(crate) use cibi::{Chained, chained_input, sent_independently};
pub(crate) use independence::{has_race, output_independence, strong_input};
pub(crate) use safety::{Safety, safety, stability};

/// A property that can fail at a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    /// k-OBI: a role that can send can make all its sends (Definitions 6, 17).
    OutputIndependence,
    /// k-SIBI: a role that can receive will not be offered another sender's message (Definitions 12, 18).
    StrongInputIndependence,
    /// k-CIBI: as k-SIBI, unless that other message depends on the first reception (Definitions 11, 26).
    ChainedInputIndependence,
    /// k-exhaustivity: every send can be fired within the bound before its role moves (Definitions 9, 20).
    Exhaustivity,
    /// Eventual reception: what heads a channel can still be received (Definition 4.1).
    EventualReception,
    /// Progress: a role that waits for a message can still receive one (Definition 4.2).
    Progress,
    /// Stable property: all channels can still be emptied (Definition 5).
    Stability,
}

impl Property {
    /// The name scripts see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OutputIndependence => "output-independence",
            Self::StrongInputIndependence => "strong-input-independence",
            Self::ChainedInputIndependence => "chained-input-independence",
            Self::Exhaustivity => "exhaustivity",
            Self::EventualReception => "eventual-reception",
            Self::Progress => "progress",
            Self::Stability => "stability",
        }
    }
}
