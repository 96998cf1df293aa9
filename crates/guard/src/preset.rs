//! Presets: protocols with their codecs, shipped in the binary.

use referee_wire::{Table, preset};

/// The protocol's text, `timed` or not, and the codec table of the preset called `name`.
pub(crate) fn find(name: &str, timed: bool) -> Result<(String, Table), String> {
    let Some(found) = preset::find(name) else {
        let known: Vec<String> = preset::ALL.iter().map(|preset| format!("`{}`", preset.name)).collect();
        return Err(format!("there is no preset `{name}`: there is {}", known.join(", ")));
    };
    let table = found.table().map_err(|error| error.to_string())?;
    let protocol = if timed { found.timed_protocol() } else { found.protocol.to_owned() };
    Ok((protocol, table))
}

/// The properties that the standard of the preset called `name` demands.
pub(crate) fn rules(name: &str) -> Result<&'static str, String> {
    match preset::find(name).map(|preset| preset.rules) {
        Some(rules) if !rules.is_empty() => Ok(rules),
        _ => {
            let known = preset::ALL.iter().filter(|preset| !preset.rules.is_empty());
            let known: Vec<String> = known.map(|preset| format!("`preset:{}`", preset.name)).collect();
            Err(format!("`preset:{name}` has no rules: there are those of {}", known.join(", ")))
        }
    }
}
