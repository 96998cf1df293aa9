//! Whether two components can read what the other's wrote: bytes go on unchanged.

use referee_wire::{Carries, Framing, Kind, LineEnd, Table};

/// What two codecs must have in common if one is to read the bytes that the other wrote: the kind, and how messages are framed
/// and labelled where that is not the default.
pub(super) fn describe(codec: &Table) -> String {
    let mut form = codec.kind.to_string();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            form += &format!(" with {name} `{value}`");
        }
    };
    match codec.kind {
        Kind::WebSocket if codec.carries.unwrap_or_default() == Carries::Text => form += " of text",
        Kind::Json | Kind::WebSocket => {
            let framing = codec.framing.filter(|framing| *framing != Framing::default());
            add("framing", framing.map(|framing| framing.to_string()));
            add("label", codec.label.clone().filter(|label| label != "/type"));
            add("rpc", codec.rpc.filter(|rpc| *rpc).map(|rpc| rpc.to_string()));
        }
        Kind::Text => {
            let crlf = codec.line_end.filter(|end| *end == LineEnd::Crlf);
            add("line-end", crlf.map(|_| "crlf".to_owned()));
        }
        Kind::Frames => {
            add("tag", codec.tag.map(|tag| format!("{tag:?}")));
            add("length", codec.length.map(|length| format!("{length:?}")));
            add("untagged-length", codec.untagged_length.map(|length| format!("{length:?}")));
            add("endian", codec.endian.map(|endian| format!("{endian:?}")));
        }
        _ => {}
    }
    form
}
