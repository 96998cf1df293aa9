//! The running guards that the page shows: where their admin listeners are.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use referee::guard::config::{Address, Config};
use referee::studio::{GuardPlace, GuardSource};

/// The environment variable with the token of admin listeners.
const TOKEN: &str = "REFEREE_TOKEN";

/// The guards that `given` names: by the address of their admin listener, for which `token` holds the token, or by their
/// configuration file.
pub(super) fn sources(given: &[String], token: Option<&Path>) -> Result<Vec<GuardSource>> {
    let token = match token {
        Some(file) => {
            let text = std::fs::read_to_string(file);
            Some(text.with_context(|| format!("cannot read `{}`", file.display()))?.trim().to_owned())
        }
        None => std::env::var(TOKEN).ok(),
    };
    given.iter().map(|given| source(given, token.as_deref())).collect()
}

fn source(given: &str, token: Option<&str>) -> Result<GuardSource> {
    let path = Path::new(given);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{given}`"))?;
        let config = Config::read(&text, &|variable| std::env::var(variable).ok());
        let config = match config {
            Ok(config) => config,
            Err(problems) => {
                let first = problems.first().map(|problem| problem.message.as_str()).unwrap_or_default();
                bail!("`{given}` is no guard's configuration: {first}");
            }
        };
        let Some(admin) = config.admin else { bail!("`{given}` has no `[admin]`: this guard shows nothing") };
        let name =
            path.file_stem().map_or_else(|| given.to_owned(), |stem| stem.to_string_lossy().into_owned());
        return Ok(GuardSource { name, place: place(admin.listen.get_ref().clone()), token: admin.token });
    }
    let address = given.strip_prefix("http://").unwrap_or(given).trim_end_matches('/').to_owned();
    let address = Address::try_from(address).map_err(|why| anyhow::anyhow!("`--guard {given}`: {why}"))?;
    Ok(GuardSource { name: address.to_string(), place: place(address), token: token.map(str::to_owned) })
}

fn place(address: Address) -> GuardPlace {
    match address {
        Address::Tcp(address) => GuardPlace::Tcp(address),
        Address::Unix(path) => GuardPlace::Unix(path),
    }
}
