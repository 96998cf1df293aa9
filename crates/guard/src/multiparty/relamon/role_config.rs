//! The configuration of one role, read from RelaMon's own files.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use referee_monitor::Policy;
use referee_monitor::multiparty::{Dependencies, Engine, Settings};
use referee_pipeline::{Parsed, Source};
use referee_syntax::Language;
use referee_theory::Role;
use serde_json::Value;

use super::protocol::{self, ProtocolError};
use super::role_adapter::RoleAdapter;

/// Options that RelaMon's files do not have.
#[derive(Clone, Copy, Debug)]
pub struct RelamonOptions {
    /// The policy for violations.
    pub policy: Policy,
    /// What components see of dependencies.
    pub dependencies: Dependencies,
    /// The address to listen on; `None`: loopback only.
    pub bind: Option<IpAddr>,
}

impl Default for RelamonOptions {
    /// As everywhere in a guard. RelaMon's own components expect [`Dependencies::DeliverOnce`].
    fn default() -> Self {
        Self { policy: Policy::Halt, dependencies: Dependencies::Hide, bind: None }
    }
}

/// A role that is to be monitored.
pub struct RoleConfig {
    pub(super) name: String,
    pub(super) listen: Vec<SocketAddr>,
    /// `HOST:PORT`.
    pub(super) component: String,
    /// `HOST:PORT` of the monitors, indexed by role; `None` for itself.
    pub(super) monitors: Vec<Option<String>>,
    pub(super) adapter: RoleAdapter,
}

impl RoleConfig {
    /// A line that says what is monitored.
    #[must_use]
    pub fn in_words(&self) -> String {
        let others: Vec<String> = self
            .adapter
            .vocabulary()
            .roles()
            .zip(&self.monitors)
            .filter_map(|(role, address)| {
                Some(format!("{} at {}", self.adapter.vocabulary().role_name(role), address.as_ref()?))
            })
            .collect();
        format!(
            "the monitor of {} listens on {}; its component is at {}, the other monitors: {}",
            self.name,
            self.listen.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" and "),
            self.component,
            others.join(", ")
        )
    }
}

/// Reads a component's file of RelaMon's.
///
/// # Errors
/// What is wrong with it.
pub fn read_relamon(text: &str, options: RelamonOptions) -> Result<RoleConfig, ProtocolError> {
    let other = |message: String| ProtocolError::Other(message);
    let parsed = Parsed::with_language(Source::new("protocol.json", text), Language::GtJson);
    let protocol::CheckedProtocol { network, externals, .. } = protocol::read(parsed, None)?;
    let said: Value = serde_json::from_str(text).map_err(|error| other(error.to_string()))?;
    let name = said.get("implementingParty").and_then(Value::as_str);
    let name = name.ok_or_else(|| other("`implementingParty` must say which role it is".to_owned()))?;
    let port = said.get("monitorPort").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or_else(|| other("`monitorPort` must be a port number".to_owned()))?;
    let addresses = said.get("participants").and_then(Value::as_object);
    let addresses = addresses
        .ok_or_else(|| other("`participants` must say where everyone is: name to URL".to_owned()))?;
    let role = network.vocabulary().find_role(name);
    let role = role.ok_or_else(|| other(format!("the protocol has no role `{name}`")))?;
    let address = |role: Role| {
        let name = network.vocabulary().role_name(role);
        let url = addresses.get(name).and_then(Value::as_str);
        let url = url.ok_or_else(|| other(format!("`participants` does not say where `{name}` is")))?;
        host_and_port(url).map_err(other)
    };
    let component = address(role)?;
    let mut monitors = Vec::new();
    for peer in network.vocabulary().roles() {
        monitors.push(if peer == role { None } else { Some(address(peer)?) });
    }
    let settings =
        Settings { policy: options.policy, dependencies: options.dependencies, capacity: 64, judging: None };
    let engine = Engine::new(&network, role, &externals, settings)
        .map_err(|error| other(format!("the protocol cannot be monitored: {error}")))?;
    let adapter = RoleAdapter::new(engine, &network);
    let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let bind = options.bind.map_or_else(|| loopback.to_vec(), |address| vec![address]);
    let listen = bind.into_iter().map(|address| SocketAddr::new(address, port)).collect();
    Ok(RoleConfig { name: name.to_owned(), listen, component, monitors, adapter })
}

/// `localhost:8080` of `http://localhost:8080/`.
fn host_and_port(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    if rest.contains("://") {
        return Err(format!("`{url}`: only `http://HOST:PORT` can be reached"));
    }
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !path.is_empty() {
        return Err(format!("`{url}`: messages are posted to `/`, so there can be no path"));
    }
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok(if has_port { address.to_owned() } else { format!("{address}:80") })
}

#[cfg(test)]
mod tests {
    use super::host_and_port;

    #[test]
    fn places_of_participants() {
        assert_eq!(host_and_port("http://localhost:8080").unwrap(), "localhost:8080");
        assert_eq!(host_and_port("http://[::1]:80/").unwrap(), "[::1]:80");
        assert_eq!(host_and_port("192.168.0.1").unwrap(), "192.168.0.1:80");
        assert!(host_and_port("https://a:1").is_err() && host_and_port("http://a:1/b").is_err());
    }
}
