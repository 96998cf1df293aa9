//! Where a configuration listens. Sockets are shared between processes (`SO_REUSEPORT`, for takeovers), so the system would
//! not mind two of one process in the same place: each would get some of the connections.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use super::{Config, Problem};
use crate::listen::Place;

/// What is wrong with the places where `config` listens, one with another.
pub(crate) fn clashes(config: &Config) -> Vec<Problem> {
    let mut places: Vec<(String, Place, String, Range<usize>)> = Vec::new();
    let mut problems = Vec::new();
    let mut add = |who: String, written: String, span: Range<usize>| {
        // What is no place is complained of elsewhere.
        let Ok(place) = Place::parse(&written) else { return };
        if let Some((other, _, there, _)) = places.iter().find(|(_, known, ..)| clash(known, &place)) {
            let too = if *there == written { ", too" } else { ", which overlaps" };
            let message = format!("{other} listens on {there}{too}: each would get some of the connections");
            problems.push(Problem::new(message, span.clone()));
        }
        places.push((who, place, written, span));
    };
    if let Some(admin) = &config.admin {
        add("the admin listener".to_owned(), admin.listen.get_ref().to_string(), admin.listen.span());
    }
    for listener in config.listeners.iter().map(toml::Spanned::get_ref) {
        let name = listener.name.as_ref().map(|name| format!(" `{}`", name.get_ref()));
        let who = format!("the listener{}", name.unwrap_or_default());
        add(who, listener.listen.get_ref().clone(), listener.listen.span());
    }
    if let Some(table) = config.multiparty.as_ref().map(toml::Spanned::get_ref) {
        if let Some(listen) = &table.listen {
            add("`[multiparty]`".to_owned(), listen.get_ref().to_string(), listen.span());
        }
        for role in table.roles.iter().map(toml::Spanned::get_ref) {
            if let Some(listen) = &role.listen {
                let who = format!("role `{}`", role.name.get_ref());
                add(who, listen.get_ref().to_string(), listen.span());
            }
            for listen in role.endpoints.iter().filter_map(|endpoint| endpoint.get_ref().listen.as_ref()) {
                let who = format!("an endpoint of role `{}`", role.name.get_ref());
                add(who, listen.get_ref().to_string(), listen.span());
            }
        }
    }
    problems
}

/// Whether a connection could come to either.
fn clash(one: &Place, other: &Place) -> bool {
    let (Place::Tcp(one), Place::Tcp(other)) = (one, other) else { return one == other };
    let (Some((host, port)), Some((other, same))) = (split(one), split(other)) else { return false };
    port == same && port != 0 && overlap(&host, &other)
}

fn split(address: &str) -> Option<(Result<IpAddr, String>, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = match host.parse::<IpAddr>() {
        Ok(ip) => Ok(ip.to_canonical()),
        Err(_) if host.eq_ignore_ascii_case("localhost") => Ok(Ipv4Addr::LOCALHOST.into()),
        // What a name stands for is not asked here.
        Err(_) => Err(host.to_ascii_lowercase()),
    };
    Some((host, port.parse().ok()?))
}

fn overlap(one: &Result<IpAddr, String>, other: &Result<IpAddr, String>) -> bool {
    let (Ok(a), Ok(b)) = (one, other) else { return one == other };
    // `[::]` takes connections over IPv4, too.
    let covers = |a: &IpAddr, b: &IpAddr| a.is_unspecified() && (a.is_ipv6() || b.is_ipv4());
    a == b || covers(a, b) || covers(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(config: &str) -> Vec<String> {
        let config = Config::read(config, &|_| None).unwrap();
        clashes(&config).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn no_two_places_are_one() {
        for (one, other, clash) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("10.0.0.1:80", "[::]:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
            ("localhost:80", "127.0.0.1:80", true),
            ("a.example:80", "A.example:80", true),
            ("a.example:80", "b.example:80", false),
            ("unix:/run/a", "unix:/run//a", true),
            ("unix:/run/a", "unix:/run/b", false),
            ("fd:0", "fd:0", true),
            ("fd:0", "fd:1", false),
        ] {
            let listener = |place| {
                format!("[[listener]]\nlisten = \"{place}\"\nupstream = \"127.0.0.1:1\"\nprotocol = \"a\"\n")
            };
            assert_eq!(said(&(listener(one) + &listener(other))).len(), usize::from(clash), "{one} {other}");
        }
    }

    #[test]
    fn everything_that_listens_is_looked_at() {
        let places = ["admin", "listener", "monitors", "s", "c"];
        for (index, one) in places.iter().enumerate() {
            for other in &places[index + 1..] {
                let at = |place| if [one, other].contains(&&place) { 7 } else { 0 };
                let role = |name| {
                    format!(
                        "[[multiparty.role]]\nname = \"{name}\"\nlisten = \"127.0.0.1:{}\"\ncodec.kind = \"json\"\n",
                        at(name)
                    )
                };
                let text = format!(
                    "[admin]\nlisten = \"127.0.0.1:{}\"\n[[listener]]\nlisten = \"127.0.0.1:{}\"\nupstream = \"x:1\"\nprotocol = \"a\"\n\
                     [multiparty]\nlisten = \"127.0.0.1:{}\"\nprotocol = \"b\"\n{}{}",
                    at("admin"),
                    at("listener"),
                    at("monitors"),
                    role("s"),
                    role("c"),
                );
                assert_eq!(said(&text).len(), 1, "{one} {other}");
            }
        }
    }
}
