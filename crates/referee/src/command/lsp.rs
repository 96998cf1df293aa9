//! `referee lsp`: the language server.

use anyhow::Result;
use clap::Args;

use crate::Outcome;

/// Serve an editor: diagnostics, completion, renaming and more, by the Language Server Protocol.
///
/// Editors start it themselves and talk to it over standard input and output; `docs/editors.md` says how to set them up.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Does nothing: there is no other way. Some editors give it.
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(crate) fn run(_: &Arguments) -> Result<Outcome> {
    referee::lsp::serve_stdio()?;
    Ok(Outcome::Holds)
}
