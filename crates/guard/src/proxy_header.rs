//! The PROXY protocol, versions 1 and 2: who is really connecting, said by a proxy in front, and said on to
//! the server behind. (<https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>)
//!
//! A header is read to its last byte and no further, so TLS may follow. Not `ppp`: it reads slices, of which somebody has to find the
//! end first, and that is half of what is done here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::config::ProxyOut;
use crate::stream::Source;

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// The longest version 1 header, its line end included.
const LONGEST_LINE: usize = 107;

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("PROXY header: {what}"))
}

/// Reads a header. `None`: the proxy speaks for itself (`LOCAL`, `UNKNOWN`).
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Source>> {
    let mut start = [0; 12];
    stream.read_exact(&mut start).await?;
    if start == SIGNATURE {
        let mut rest = [0; 4];
        stream.read_exact(&mut rest).await?;
        let [version, family, high, low] = rest;
        let length = u16::from_be_bytes([high, low]);
        let mut addresses = Vec::new();
        stream.take(length.into()).read_to_end(&mut addresses).await?;
        if addresses.len() < length.into() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        return version_2(version, family, &addresses);
    }
    if !start.starts_with(b"PROXY ") {
        return Err(wrong("there is none"));
    }
    let mut line = start.to_vec();
    while !line.ends_with(b"\r\n") {
        if line.len() >= LONGEST_LINE {
            return Err(wrong("the line is too long"));
        }
        line.push(stream.read_u8().await?);
    }
    version_1(&line)
}

fn version_1(line: &[u8]) -> io::Result<Option<Source>> {
    let line = std::str::from_utf8(line).map_err(|_| wrong("not text"))?;
    let words: Vec<&str> = line.trim_end_matches("\r\n").split(' ').collect();
    match words.as_slice() {
        ["PROXY", "UNKNOWN", ..] => Ok(None),
        ["PROXY", family @ ("TCP4" | "TCP6"), from, to, from_port, to_port] => {
            let address = |ip: &str, port: &str| {
                let ip: IpAddr = ip.parse().ok()?;
                (ip.is_ipv4() == (*family == "TCP4")).then_some(SocketAddr::new(ip, port.parse().ok()?))
            };
            match (address(from, from_port), address(to, to_port)) {
                (Some(from), Some(to)) => Ok(Some(Source { address: Some(from), local: Some(to) })),
                _ => Err(wrong("wrong addresses")),
            }
        }
        _ => Err(wrong("wrong words")),
    }
}

fn version_2(version: u8, family: u8, bytes: &[u8]) -> io::Result<Option<Source>> {
    match version {
        0x20 => return Ok(None),
        0x21 => {}
        _ => return Err(wrong("an unknown version or command")),
    }
    let port =
        |at: usize| bytes.get(at..at + 2).and_then(|b| b.first_chunk()).map(|b| u16::from_be_bytes(*b));
    let source = match family >> 4 {
        1 => {
            let ip = |at: usize| Some(Ipv4Addr::from(*bytes.get(at..at + 4)?.first_chunk::<4>()?));
            ip(0)
                .zip(ip(4))
                .zip(port(8).zip(port(10)))
                .map(|((from, to), ports)| (from.into(), to.into(), ports))
        }
        2 => {
            let ip = |at: usize| Some(Ipv6Addr::from(*bytes.get(at..at + 16)?.first_chunk::<16>()?));
            ip(0)
                .zip(ip(16))
                .zip(port(32).zip(port(34)))
                .map(|((from, to), ports)| (from.into(), to.into(), ports))
        }
        _ => return Ok(None),
    };
    let (from, to, (from_port, to_port)): (IpAddr, IpAddr, _) = source.ok_or_else(|| wrong("too short"))?;
    Ok(Some(Source {
        address: Some(SocketAddr::new(from, from_port)),
        local: Some(SocketAddr::new(to, to_port)),
    }))
}

/// The header that says `source`; nothing if none is to be sent.
pub(crate) fn write(form: ProxyOut, source: &Source) -> Vec<u8> {
    let ends = source.address.zip(source.local).map(|(from, to)| {
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        (plain(from), plain(to))
    });
    match form {
        ProxyOut::Off => Vec::new(),
        ProxyOut::V1 => match ends {
            Some((from, to)) if from.is_ipv4() == to.is_ipv4() => {
                let family = if from.is_ipv4() { "TCP4" } else { "TCP6" };
                let (ip, other) = (from.ip(), to.ip());
                format!("PROXY {family} {ip} {other} {} {}\r\n", from.port(), to.port()).into_bytes()
            }
            _ => b"PROXY UNKNOWN\r\n".to_vec(),
        },
        ProxyOut::V2 => {
            let mut header = SIGNATURE.to_vec();
            let mut put = |family: u8, addresses: &[u8]| {
                let length = u16::try_from(addresses.len()).unwrap_or(0).to_be_bytes();
                header.extend([if family == 0 { 0x20 } else { 0x21 }, family]);
                header.extend(length);
                header.extend(addresses);
            };
            match ends.map(|(from, to)| (from.ip(), to.ip(), from.port(), to.port())) {
                Some((IpAddr::V4(from), IpAddr::V4(to), a, b)) => {
                    put(
                        0x11,
                        &[&from.octets()[..], &to.octets(), &a.to_be_bytes(), &b.to_be_bytes()].concat(),
                    );
                }
                Some((IpAddr::V6(from), IpAddr::V6(to), a, b)) => {
                    put(
                        0x21,
                        &[&from.octets()[..], &to.octets(), &a.to_be_bytes(), &b.to_be_bytes()].concat(),
                    );
                }
                _ => put(0, &[]),
            }
            header
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> (io::Result<Option<Source>>, usize) {
        let mut input = bytes;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(read(&mut input));
        (result, input.len())
    }

    #[test]
    fn what_is_written_is_read_and_nothing_after_it() {
        for ends in [("1.2.3.4:5", "6.7.8.9:10"), ("[::1]:5", "[fe80::2]:65535")] {
            let source =
                Source { address: Some(ends.0.parse().unwrap()), local: Some(ends.1.parse().unwrap()) };
            for form in [ProxyOut::V1, ProxyOut::V2] {
                let mut bytes = write(form, &source);
                bytes.extend(b"EHLO x");
                let (read, left) = read_all(&bytes);
                assert_eq!((read.unwrap(), left), (Some(source), 6));
            }
        }
        let nobody = Source { address: None, local: None };
        for form in [ProxyOut::V1, ProxyOut::V2] {
            assert_eq!(read_all(&write(form, &nobody)).0.unwrap(), None);
        }
    }

    #[test]
    fn hostile_headers_are_refused() {
        let long = [b"PROXY TCP4 ".to_vec(), vec![b'1'; 200]].concat();
        for bytes in [
            &b"EHLO example.org\r\n"[..],
            b"PROXY TCP4 1.2.3.4\r\n",
            b"PROXY TCP4 ::1 ::1 1 2\r\n",
            b"PROXY TCP4 1.2.3.4 1.2.3.4 1 99999\r\n",
            b"PROXY ",
            &long,
            b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c123456789012",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x04abcd",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xffabcd",
        ] {
            assert!(read_all(bytes).0.is_err(), "{bytes:?}");
        }
    }
}
