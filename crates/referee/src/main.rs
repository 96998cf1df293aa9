//! The `referee` command: reads arguments, calls one file of `command/`, turns its outcome into an exit
//! status. Nothing else in the workspace reads arguments or prints.

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod command;
mod input;
mod output;

use command::{
    check, completions, conform, convert, demo, doctor, explain, extract, fix, fmt, generate, guard, journal,
    lsp, man, mcp, mock, new, preset, probe, show, studio, verify_verdict, watch,
};

/// Faster than the system's for what Referee does, and as fast for large protocols as for small ones:
/// `docs/adr/0009-allocator.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Check, guard and watch communication protocols.
///
/// Exit status: 0 all holds; 1 something is violated or unsafe; 2 the input or the call is wrong; 3 no
/// answer within the given bound.
#[derive(Parser)]
#[command(name = "referee", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Arguments),
    Show(show::Arguments),
    Conform(conform::Arguments),
    Convert(convert::Arguments),
    Watch(Box<watch::Arguments>),
    Extract(extract::Arguments),
    VerifyVerdict(Box<verify_verdict::Arguments>),
    Guard(guard::Arguments),
    Mcp(mcp::Arguments),
    Doctor(doctor::Arguments),
    Probe(Box<probe::Arguments>),
    Mock(Box<mock::Arguments>),
    #[command(subcommand)]
    Journal(journal::Command),
    #[command(subcommand)]
    Preset(preset::Command),
    Studio(studio::Arguments),
    Lsp(lsp::Arguments),
    Fmt(fmt::Arguments),
    Fix(fix::Arguments),
    Explain(explain::Arguments),
    Generate(generate::Arguments),
    Demo(demo::Arguments),
    New(new::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    /// Whether the exit status answers a question.
    fn judges(&self) -> bool {
        matches!(
            self,
            Self::Check(_)
                | Self::Conform(_)
                | Self::Doctor(_)
                | Self::Probe(_)
                | Self::Watch(_)
                | Self::VerifyVerdict(_)
        )
    }
}

/// What a command came to; the numbers are part of the contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All holds.
    Holds = 0,
    /// Something is violated or unsafe.
    Violated = 1,
    /// The input or the call is wrong.
    WrongInput = 2,
    /// There is no answer within the bound given.
    NoAnswer = 3,
}

impl Outcome {
    /// What two outcomes come to together: wrong input first, then violations, then missing answers.
    pub(crate) fn and(self, other: Self) -> Self {
        let rank = |outcome| match outcome {
            Self::Holds => 0,
            Self::NoAnswer => 1,
            Self::Violated => 2,
            Self::WrongInput => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

fn main() -> ExitCode {
    // Before memory is taken for anything else.
    if std::env::args_os().nth(1).is_some_and(|command| command == "guard" || command == "mcp") {
        referee::guard::use_small_pages(true);
    }
    let cli = Cli::parse();
    let judges = cli.command.judges();
    let result = match cli.command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Conform(arguments) => conform::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        Command::VerifyVerdict(arguments) => verify_verdict::run(&arguments),
        Command::Guard(arguments) => guard::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Mock(arguments) => mock::run(&arguments),
        Command::Journal(command) => journal::run(&command),
        Command::Preset(command) => preset::run(&command),
        Command::Studio(arguments) => studio::run(&arguments),
        Command::Lsp(arguments) => lsp::run(&arguments),
        Command::Fmt(arguments) => fmt::run(&arguments),
        Command::Fix(arguments) => fix::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    };
    match result {
        Ok(outcome) => ExitCode::from(outcome as u8),
        // Whoever reads our output has read enough: `referee … | head` is no error, but an answer to nothing either.
        Err(error) if is_broken_pipe(&error) => {
            ExitCode::from(if judges { Outcome::NoAnswer } else { Outcome::Holds } as u8)
        }
        Err(error) => {
            output::complain(&error);
            ExitCode::from(Outcome::WrongInput as u8)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
