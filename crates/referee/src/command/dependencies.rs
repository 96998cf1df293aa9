//! `--dependencies`, which several commands have.

use clap::ValueEnum;
use referee::monitor::multiparty;

/// What a component sees of the labels that monitors tell each other. The default is that of a guard's configuration.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Dependencies {
    /// All of them, as in the paper.
    Deliver,
    /// Of two about one choice the first, as RelaMon's components expect.
    DeliverOnce,
    /// None: for components that know nothing of them.
    #[default]
    Hide,
}

impl From<Dependencies> for multiparty::Dependencies {
    fn from(dependencies: Dependencies) -> Self {
        match dependencies {
            Dependencies::Deliver => Self::Deliver,
            Dependencies::DeliverOnce => Self::DeliverOnce,
            Dependencies::Hide => Self::Hide,
        }
    }
}
