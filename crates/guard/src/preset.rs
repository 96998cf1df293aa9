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
