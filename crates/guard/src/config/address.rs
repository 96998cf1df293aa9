//! Addresses: `127.0.0.1:25`, `[::1]:25`, `mail.example:25`, `unix:/run/x.sock`; and networks: `10.0.0.0/8`.
//!
//! Not `ipnet`: it would replace twelve lines, and does not know that `::ffff:10.0.0.1` is in `10.0.0.0/8`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// Where to listen or to connect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", transform = address)]
pub enum Address {
    /// A host, by name or number, and a port.
    Tcp(String),
    /// A Unix socket.
    Unix(PathBuf),
}

fn address(schema: &mut schemars::Schema) {
    schema.insert("pattern".to_owned(), r"^(unix:.+|.+:[0-9]{1,5})$|\$\{".into());
}

fn network(schema: &mut schemars::Schema) {
    schema.insert("pattern".to_owned(), r"^[0-9a-fA-F.:]+(/[0-9]{1,3})?$|\$\{".into());
}

impl Address {
    /// Whether only this machine can reach it, as far as the text tells.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(text) => {
                let host = text.rsplit_once(':').map_or("", |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']');
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
        }
    }

    /// The host without its port.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(text) => {
                let (host, _) = text.rsplit_once(':')?;
                Some(host.trim_start_matches('[').trim_end_matches(']'))
            }
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err("`unix:` without a path".to_owned())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(Self::Tcp(text)),
            _ => Err(format!("`{text}` is no address; write HOST:PORT or unix:/path")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(text) => f.write_str(text),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", transform = network)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether `address` is in it. An IPv4 address written as an IPv6 one is the IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address.to_canonical(), address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits.min(32));
                let cut = |ip: u32| ip.checked_shr(shift).unwrap_or(0);
                cut(network.to_bits()) == cut(address.to_bits())
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits.min(128));
                let cut = |ip: u128| ip.checked_shr(shift).unwrap_or(0);
                cut(network.to_bits()) == cut(address.to_bits())
            }
            _ => false,
        }
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no network; write 10.0.0.0/8 or a single address");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text.as_str(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?,
            None => most,
        };
        Ok(Self { address, bits })
    }
}
