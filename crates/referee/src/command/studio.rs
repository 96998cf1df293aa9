//! `referee studio`: protocols and traces in a browser.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::studio;

use crate::Outcome;
use crate::input;
use crate::output::{self, STRONG, styled};

mod guards;
mod journals;
mod library;
mod play;

use library::Library;

/// Look at protocols and step through counterexamples, in a browser.
///
/// Serves a page on this machine alone and opens it: text with diagnostics as you type, machines, the answer of the check, and
/// its counterexamples and the verdicts of journals to step through; and the sessions of running guards. The address is good for one visit. Nothing is written
/// unless `--edit` is given, and nothing is asked of the network.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Protocols, or folders with protocols.
    ///
    /// Default: this folder, unless `--guard` is given.
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Also show what a running guard does: the address of its admin listener, or its configuration file. May be given several
    /// times.
    #[arg(long, value_name = "ADDRESS:PORT|unix:PATH|CONFIG.toml")]
    guard: Vec<String>,
    /// The token of admin listeners that are given by address. Default: the environment variable REFEREE_TOKEN.
    #[arg(long, value_name = "FILE", requires = "guard")]
    guard_token: Option<PathBuf>,
    /// Also show the verdicts of the journal in this folder, which a guard has written. May be given several times.
    #[arg(long, value_name = "DIR")]
    journal: Vec<PathBuf>,
    /// Write a page with the protocols, counterexamples and verdicts to this file, to be opened anywhere, and serve nothing.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Where to listen: an address of loopback. Default: 127.0.0.1 and a port that is free.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Let the page write files.
    #[arg(long)]
    edit: bool,
    /// Only print the address.
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    imports: input::Imports,
}

/// So many files a page lists.
const MAX_FILES: usize = 2_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let guards = guards::sources(&arguments.guard, arguments.guard_token.as_deref())?;
    let here = [PathBuf::from(".")];
    let paths = if arguments.paths.is_empty() && guards.is_empty() { &here[..] } else { &arguments.paths };
    let mut files = if paths.is_empty() { Vec::new() } else { input::files(paths)? };
    if files.len() > MAX_FILES {
        output::remark(&format!("{} files: only the first {MAX_FILES} are shown", files.len()));
        files.truncate(MAX_FILES);
    }
    let mut library = Library::new(files, arguments.edit);
    library.guards = guards.iter().map(|guard| guard.name.clone()).collect();
    for folder in &arguments.journal {
        library.traces.extend(journals::traces(folder)?);
    }
    // Of a folder, files are checked when they are looked at.
    let given: Vec<String> =
        arguments.paths.iter().filter(|path| path.is_file()).map(|path| library::name(path)).collect();
    let checked = if arguments.export.is_some() { library.names() } else { given };
    for name in &checked {
        library.add_counterexamples(name);
    }
    if let Some(file) = &arguments.export {
        let protocols = library.exported()?;
        if library.traces.is_empty() && protocols.is_empty() {
            bail!("there is neither a protocol nor a verdict to export");
        }
        let title = library.title();
        std::fs::write(file, studio::export(&title, &library.traces, &protocols))
            .with_context(|| format!("cannot write `{}`", file.display()))?;
        return Ok(Outcome::Holds);
    }
    let started = |url: &str| {
        let _ = output::print(&format!("{} (Ctrl-C ends it)\n", styled(STRONG, url)));
        if !arguments.no_open {
            open(url);
        }
    };
    studio::server::run(arguments.listen, Arc::new(library), guards, started)?;
    Ok(Outcome::Holds)
}

/// Opens the browser, if there is one.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let _ = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
