//! Source files of captures (`format = "pcap"`): they say who is the server, and how its bytes are read. Reading them needs a protocol,
//! and is done in `crates/capture`.

use serde::Deserialize;

use crate::source::SourceError;

/// How captured packets are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcapSource {
    /// The ports that servers listen on.
    pub server_ports: Vec<u16>,
    /// The file with the codec's table, unless the protocol has its own.
    pub codec: Option<String>,
    /// The role that connects.
    pub client: Option<String>,
}

#[derive(Deserialize)]
struct AnyFile {
    format: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PcapFile {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "server-port")]
    server_port: Ports,
    codec: Option<String>,
    client: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Ports {
    One(u16),
    Several(Vec<u16>),
}

impl PcapSource {
    /// Reads a source file; `None` if it is one of lines.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Option<Self>, SourceError> {
        let wrong = |error: toml::de::Error| SourceError::new(error.to_string().trim_end());
        let is_pcap =
            toml::from_str::<AnyFile>(text).is_ok_and(|file| file.format.as_deref() == Some("pcap"));
        if !is_pcap {
            return Ok(None);
        }
        let file: PcapFile = toml::from_str(text).map_err(wrong)?;
        let server_ports = match file.server_port {
            Ports::One(port) => vec![port],
            Ports::Several(ports) => ports,
        };
        if server_ports.is_empty() {
            return Err(SourceError::new("`server-port` names no port"));
        }
        Ok(Some(Self { server_ports, codec: file.codec, client: file.client }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_captures_names_ports_and_codec() {
        let parse = |text: &str| PcapSource::parse(text).map_err(|error| error.to_string());
        let (codec, client) = (Some("c.toml".to_owned()), Some("a".to_owned()));
        assert_eq!(
            parse("format = \"pcap\"\nserver-port = [1, 2]\ncodec = \"c.toml\"\nclient = \"a\""),
            Ok(Some(PcapSource { server_ports: vec![1, 2], codec, client }))
        );
        assert_eq!(parse("format = \"pcap\"\nserver-port = 6379").unwrap().unwrap().server_ports, [6379]);
        assert_eq!((parse("format = \"json\""), parse("no toml")), (Ok(None), Ok(None)));
        assert!(parse("format = \"pcap\"").unwrap_err().contains("server-port"));
        assert!(parse("format = \"pcap\"\nserver-port = []").unwrap_err().contains("no port"));
        assert!(parse("format = \"pcap\"\nserver-port = 1\nport = 2").unwrap_err().contains("unknown field"));
    }
}
