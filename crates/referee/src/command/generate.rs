//! `referee generate`: endpoints of a protocol as source code, and systems of any size to try the checker on.

mod endpoint;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand, ValueEnum};
use referee::check::generate::{self, RandomShape};
use referee::check::promela;
use referee::syntax::print;
use referee::theory::System;

use crate::Outcome;
use crate::output;

/// Write endpoints of a protocol as source code, or systems of any size to try the checker on.
///
/// `referee generate rust|python|typescript FILE --role R` writes one source file for a role: one type for each of its states, a method for each message that
/// it sends there, `recv` where it receives. A program that calls them in the wrong order does not compile, or has a type error. The other commands print a
/// system of a benchmark family as `.fsm` text, or as Promela for SPIN.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
    /// Of a system: in which language.
    #[arg(long, value_enum, default_value_t = Language::Fsm, global = true)]
    language: Language,
    /// Of a system in Promela: the channel bound.
    #[arg(long, value_name = "K", default_value_t = 1, global = true)]
    bound: u32,
}

#[derive(Subcommand)]
enum What {
    /// Write endpoints of a protocol in Rust.
    Rust(endpoint::Arguments),
    /// Write the endpoint of a role in Python 3.11.
    Python(endpoint::Arguments),
    /// Write the endpoint of a role in TypeScript.
    Typescript(endpoint::Arguments),
    #[command(flatten)]
    System(Family),
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    Fsm,
    Promela,
}

#[derive(Subcommand)]
enum Family {
    /// Pairs of roles that send k messages each, then receive k: compatible with channels of k.
    Exchange {
        /// How many different messages there are.
        #[arg(long, default_value_t = 1)]
        n: usize,
        /// How many messages each role sends before it receives.
        #[arg(long, default_value_t = 2)]
        k: usize,
        /// How many pairs of roles there are.
        #[arg(long, default_value_t = 1)]
        m: usize,
    },
    /// Roles in a ring that pass tokens on.
    Ring {
        /// How many roles there are.
        #[arg(long, default_value_t = 4)]
        roles: usize,
        /// How many tokens go round.
        #[arg(long, default_value_t = 1)]
        tokens: usize,
        /// How many kinds of tokens there are.
        #[arg(long, default_value_t = 2)]
        labels: usize,
    },
    /// A producer, stages that forward, and a consumer.
    Pipeline {
        /// How many stages forward.
        #[arg(long, default_value_t = 3)]
        stages: usize,
        /// How many kinds of items there are.
        #[arg(long, default_value_t = 2)]
        labels: usize,
    },
    /// A server that answers clients in turn.
    Star {
        /// How many clients there are.
        #[arg(long, default_value_t = 3)]
        clients: usize,
        /// How many answers it can give.
        #[arg(long, default_value_t = 2)]
        answers: usize,
        /// Take the request of whichever client asks first, instead of each in turn.
        #[arg(long)]
        any_order: bool,
    },
    /// Philosophers who ask for their forks by messages.
    Philosophers {
        /// How many philosophers there are.
        #[arg(long, default_value_t = 3)]
        count: usize,
        /// Let the last one take its forks in the other order, so that they do not starve.
        #[arg(long)]
        polite: bool,
    },
    /// A random system of communicating session automata.
    Random {
        /// How many roles there are.
        #[arg(long, default_value_t = 3)]
        roles: usize,
        /// How many states each machine has at most.
        #[arg(long, default_value_t = 4)]
        states: usize,
        /// How many labels there are.
        #[arg(long, default_value_t = 2)]
        labels: usize,
        /// How many transitions a state has at most.
        #[arg(long, default_value_t = 2)]
        branches: usize,
        /// The same seed gives the same system.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

/// Nobody checks larger systems.
const MOST_TRANSITIONS: usize = 20_000_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let family = match &arguments.what {
        What::Rust(endpoint) => return endpoint::run(endpoint, endpoint::Target::Rust),
        What::Python(endpoint) => return endpoint::run(endpoint, endpoint::Target::Python),
        What::Typescript(endpoint) => return endpoint::run(endpoint, endpoint::Target::TypeScript),
        What::System(family) => family,
    };
    let size = size(family);
    ensure!(
        size <= MOST_TRANSITIONS,
        "the system would have {} transitions; at most {MOST_TRANSITIONS} are printed",
        if size == usize::MAX { "more than can be counted".to_owned() } else { format!("about {size}") }
    );
    let system = system(family);
    let text = match arguments.language {
        Language::Fsm => print::fsm(&system).context("the system cannot be written as .fsm text")?,
        Language::Promela => promela::promela(&system, arguments.bound),
    };
    output::print(&text)?;
    Ok(Outcome::Holds)
}

/// About how many transitions the machines have together.
fn size(family: &Family) -> usize {
    let product = |factors: &[usize]| factors.iter().fold(1_usize, |all, factor| all.saturating_mul(*factor));
    match *family {
        Family::Exchange { n, k, m } => product(&[4, n, k, m]),
        Family::Ring { roles, tokens, labels } => product(&[2, roles.saturating_add(tokens), labels]),
        Family::Pipeline { stages, labels } => product(&[2, stages.saturating_add(1), labels]),
        Family::Star { clients, answers, .. } => product(&[4, clients, answers]),
        Family::Philosophers { count, .. } => product(&[16, count]),
        Family::Random { roles, states, branches, labels, .. } => {
            product(&[roles, states, branches]).saturating_add(labels)
        }
    }
}

fn system(family: &Family) -> System {
    match *family {
        Family::Exchange { n, k, m } => generate::exchange(n, k, m),
        Family::Ring { roles, tokens, labels } => generate::ring(roles, tokens, labels),
        Family::Pipeline { stages, labels } => generate::pipeline(stages, labels),
        Family::Star { clients, answers, any_order: false } => generate::star(clients, answers),
        Family::Star { clients, answers, any_order: true } => generate::open_star(clients, answers),
        Family::Philosophers { count, polite } => generate::philosophers(count, polite),
        Family::Random { roles, states, labels, branches, seed } => {
            generate::random(RandomShape { roles, states, labels, branches }, seed)
        }
    }
}
