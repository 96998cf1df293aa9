//! One look at one thing outside: a port, a server, a file.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use referee::guard::config::Address;
use x509_parser::pem::Pem;

use super::{Remedy, State};

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A certificate that ends sooner is mentioned.
const EXPIRES_SOON: i64 = 30 * 24 * 60 * 60;

/// Whether somebody could listen on `address` now.
pub(super) fn listening(address: &Address) -> State {
    let result = match address {
        Address::Tcp(text) => TcpListener::bind(text).map(drop),
        Address::Unix(path) => match UnixStream::connect(path) {
            Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
            Err(_) => return folder(path.parent().unwrap_or(Path::new("."))),
        },
    };
    let Err(error) = result else { return State::Met };
    State::Missing(match error.kind() {
        io::ErrorKind::AddrInUse => {
            Remedy::new("somebody listens there, perhaps this guard", "stop it, or choose another port")
        }
        io::ErrorKind::PermissionDenied => Remedy::new(
            "ports below 1024 need a privilege",
            "choose a higher port, grant CAP_NET_BIND_SERVICE, or take the socket from systemd (`listen = \"fd:0\"`)",
        ),
        io::ErrorKind::AddrNotAvailable => {
            Remedy::new("this machine has no such address", "use one of its own, or 0.0.0.0 for all")
        }
        _ => Remedy::new(error.to_string(), "correct the address"),
    })
}

/// Whether somebody accepts connections at `address`.
pub(super) fn connecting(address: &Address) -> State {
    let result = match address {
        Address::Tcp(text) => connect(text),
        Address::Unix(path) => UnixStream::connect(path).map(drop),
    };
    match result {
        Ok(()) => State::Met,
        Err(error) => State::Missing(Remedy::new(error.to_string(), "start it, or correct the address")),
    }
}

/// Tries every address that `text` stands for, as a guard does.
fn connect(text: &str) -> io::Result<()> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in text.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether the host of `url` accepts connections, on `port` if it names none.
pub(super) fn url(url: &str, port: u16) -> State {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or(rest);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { host.to_owned() } else { format!("{host}:{port}") };
    connecting(&Address::Tcp(address))
}

/// Whether a file can be made in `path`, or where it would be made.
fn folder(path: &Path) -> State {
    let existing = path.ancestors().find(|folder| folder.is_dir() || folder.as_os_str().is_empty());
    let existing = existing.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let probe = existing.join(format!(".referee-doctor-{}", std::process::id()));
    let result = fs::OpenOptions::new().write(true).create_new(true).open(&probe);
    match result {
        Ok(_) => match fs::remove_file(&probe) {
            Ok(()) => State::Met,
            Err(error) => State::Doubtful(Remedy::new(
                format!("`{}` could not be removed: {error}", probe.display()),
                "remove it, and let the guard's user own the folder",
            )),
        },
        Err(error) => State::Missing(Remedy::new(
            format!("`{}`: {error}", existing.display()),
            "let the guard's user write there, or choose another folder",
        )),
    }
}

/// Whether `program` can be found as a shell finds it.
pub(super) fn program(program: &str) -> State {
    let found = if program.contains('/') {
        Path::new(program).is_file()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if found {
        State::Met
    } else {
        State::Missing(Remedy::new("it is not on the path", "install it, or write its whole path"))
    }
}

/// Whether every certificate in the PEM file `path` is valid now.
pub(super) fn certificates(path: &Path) -> State {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return State::Missing(Remedy::new(error.to_string(), "put the certificate there")),
    };
    let mut soon = None;
    for pem in Pem::iter_from_buffer(&bytes) {
        let unreadable =
            || State::Missing(Remedy::new("it is no PEM file of certificates", "convert it to PEM"));
        let Ok(pem) = pem else { return unreadable() };
        if pem.label != "CERTIFICATE" {
            continue;
        }
        let Ok(certificate) = pem.parse_x509() else { return unreadable() };
        let validity = certificate.validity();
        let now = x509_parser::time::ASN1Time::now();
        let subject = certificate.subject();
        if now < validity.not_before {
            let why = format!("{subject} is valid from {}", validity.not_before);
            return State::Missing(Remedy::new(why, "set the clock, or get another certificate"));
        }
        let left = validity.not_after.timestamp() - now.timestamp();
        if left < 0 {
            let why = format!("{subject} ended on {}", validity.not_after);
            return State::Missing(Remedy::new(
                why,
                "renew it; a guard takes the new file without a restart",
            ));
        }
        if left < EXPIRES_SOON {
            soon = Some(format!("{subject} ends on {}", validity.not_after));
        }
    }
    match soon {
        Some(why) => {
            State::Doubtful(Remedy::new(why, "renew it; a guard takes the new file without a restart"))
        }
        None => State::Met,
    }
}
