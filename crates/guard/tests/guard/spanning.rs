//! Sessions that span connections: HTTP with a cookie.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use referee_guard::Guard;

use super::support::*;

const CONFIG: &str = r#"
threads = 2
[[listener]]
name = "shop"
listen = "127.0.0.1:0"
upstream = "UPSTREAM"
close-message = { client = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" }
protocol = """
protocol Shop(role client, role server) {
  Login() from client to server;
  Welcome() from server to client;
  rec LOOP {
    choice at client {
      Get(id: int) from client to server;
      Item() from server to client;
      continue LOOP;
    } or {
      Logout() from client to server;
      Goodbye() from server to client;
    }
  }
}
"""
[listener.codec]
kind = "http"
session = "cookie:sid"
[listener.codec.messages]
Login = "POST /login"
Get = "GET /items/{id}"
Logout = "POST /logout"
Welcome = "200"
Item = "200"
Goodbye = "200"
"#;

/// Answers every request; a login gets a cookie.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            std::thread::spawn(move || answer(stream, number));
        }
    });
    address
}

fn answer(mut stream: TcpStream, number: usize) {
    let mut pending = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = pending.drain(..end + 4).collect();
            let cookie = if head.starts_with(b"POST /login") {
                format!("Set-Cookie: sid=s{number}; Path=/\r\n")
            } else {
                String::new()
            };
            let answer = format!("HTTP/1.1 200 OK\r\n{cookie}Content-Length: 2\r\n\r\nok");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        pending.extend_from_slice(&buffer[..count]);
    }
}

fn request(peer: &mut Peer, line: &str, cookie: Option<&str>) -> String {
    let cookie = cookie.map(|cookie| format!("Cookie: sid={cookie}\r\n")).unwrap_or_default();
    peer.say(&format!("{line} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n{cookie}\r\n"));
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        match peer.0.read(&mut byte) {
            Ok(1) => answer.push(byte[0]),
            _ => break,
        }
    }
    if answer.starts_with(b"HTTP/1.1 200") {
        peer.hear("ok");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn cookie(answer: &str) -> String {
    let line = answer
        .lines()
        .find(|line| line.starts_with("Set-Cookie: sid="))
        .unwrap_or_else(|| panic!("{answer}"));
    line["Set-Cookie: sid=".len()..].split(';').next().unwrap().to_owned()
}

#[test]
fn a_session_goes_on_over_other_connections() {
    let folder = Folder::new();
    let guard = Guard::start(&plans(&folder, &CONFIG.replace("UPSTREAM", &server())), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    let connect = || Peer::new(TcpStream::connect(&address).unwrap());
    let mut first = connect();
    let one = cookie(&request(&mut first, "POST /login", None));
    let mut second = connect();
    let two = cookie(&request(&mut second, "POST /login", None));
    assert_ne!(one, two);
    // Both sessions over either connection, and over new ones.
    for round in 0..20 {
        for peer in [&mut first, &mut second, &mut connect()] {
            for name in [&one, &two] {
                let answer = request(peer, &format!("GET /items/{round}"), Some(name));
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            }
        }
    }
    assert!(request(&mut connect(), "POST /logout", Some(&one)).starts_with("HTTP/1.1 200"));
    assert!(metric(&guard.metrics(), "referee_verdicts_total").is_none());
    // The first session is over, whatever connection it comes from; the second is not.
    assert!(request(&mut second, "GET /items/1", Some(&one)).starts_with("HTTP/1.1 400"));
    assert!(request(&mut connect(), "GET /items/1", Some(&two)).starts_with("HTTP/1.1 200"));
    // Without a cookie it is a new session, which begins with a login.
    assert!(request(&mut connect(), "GET /items/1", None).starts_with("HTTP/1.1 400"));
    let verdict = |kind: &str| {
        let start = format!(
            "referee_verdicts_total{{listener=\"shop\",role=\"client\",kind=\"{kind}\",label=\"Get\"}}"
        );
        metric(&guard.metrics(), &start)
    };
    assert_eq!((verdict("after-end"), verdict("order")), (Some(1.0), Some(1.0)), "{}", guard.metrics());
}

#[test]
fn one_exchange_of_a_session_at_a_time() {
    let folder = Folder::new();
    let guard = Guard::start(&plans(&folder, &CONFIG.replace("UPSTREAM", &server())), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    let name = cookie(&request(&mut Peer::new(TcpStream::connect(&address).unwrap()), "POST /login", None));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (address, name) = (address.clone(), name.clone());
            std::thread::spawn(move || {
                let mut peer = Peer::new(TcpStream::connect(&address).unwrap());
                for round in 0..50 {
                    let answer = request(&mut peer, &format!("GET /items/{round}"), Some(&name));
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert!(metric(&guard.metrics(), "referee_verdicts_total").is_none(), "{}", guard.metrics());
}
