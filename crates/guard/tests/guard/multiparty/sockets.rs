//! Components behind WebSocket and TLS: whoever connects, the monitor is the other end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use referee_guard::{Guard, Plans};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use super::network::{PROTOCOL, ROLES, Setup, start};
use super::{SOON, certificates};
use crate::support::{Folder, PATIENCE};

trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

/// One end of a WebSocket.
struct Socket(WebSocket<Box<dyn Wire>>);

impl Socket {
    fn connect(stream: impl Wire + 'static) -> Self {
        let stream: Box<dyn Wire> = Box::new(stream);
        let asked = tungstenite::client("ws://monitor/anything", stream);
        Self(asked.unwrap_or_else(|error| panic!("{error}")).0)
    }

    /// A server's end; whoever connects must ask for `path`.
    #[expect(clippy::result_large_err, reason = "the callback's type is tungstenite's")]
    fn accept(stream: impl Wire + 'static, path: &'static str) -> Self {
        let stream: Box<dyn Wire> = Box::new(stream);
        let look = |request: &Request, response: Response| {
            assert_eq!(request.uri().path(), path);
            Ok(response)
        };
        Self(tungstenite::accept_hdr(stream, look).unwrap_or_else(|error| panic!("{error}")))
    }

    fn say(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// The next message that is no ping or pong; `None` at the end.
    fn hear(&mut self) -> Option<Message> {
        loop {
            match self.0.read() {
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(Message::Close(_)) => {}
                Ok(message) => return Some(message),
                Err(tungstenite::Error::ConnectionClosed) => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn expect(&mut self, text: &str) {
        assert_eq!(self.hear(), Some(Message::text(text)));
    }

    /// What it is told of a violation, and that it is closed then.
    fn notice(&mut self) -> Value {
        let Some(Message::Text(text)) = self.hear() else { panic!("cut off without a word") };
        assert_eq!(self.hear(), None);
        serde_json::from_str(&text).unwrap()
    }
}

fn tcp(place: &str) -> TcpStream {
    let stream = TcpStream::connect(place).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// What is in a PEM file of the test's folder.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn read(folder: &Folder, name: &str) -> Self {
        let chain = CertificateDer::from_pem_file(folder.0.join(format!("{name}.pem"))).unwrap();
        let key = PrivateKeyDer::from_pem_file(folder.0.join(format!("{name}.key"))).unwrap();
        Self { chain: vec![chain], key }
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// TLS with a monitor that shows the certificate of `name`; `shown` is what it is shown.
fn tls_to(place: &str, folder: &Folder, name: &'static str, shown: Option<&str>) -> impl Wire + 'static {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.0.join("ca.pem")).unwrap()).unwrap();
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown.map(|shown| Identity::read(folder, shown)) {
        Some(own) => builder.with_client_auth_cert(own.chain, own.key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    let connection =
        rustls::ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap();
    rustls::StreamOwned::new(connection, tcp(place))
}

/// TLS of a component that shows the certificate of `name` to a monitor that connects.
fn tls_from(listener: &TcpListener, folder: &Folder, name: &str) -> impl Wire + 'static {
    let own = Identity::read(folder, name);
    let config = rustls::ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(own.chain, own.key)
        .unwrap();
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    rustls::StreamOwned::new(rustls::ServerConnection::new(Arc::new(config)).unwrap(), stream)
}

/// All three roles in one process: `s` connects in the clear, `c` is connected to with TLS and waits at `/play`, `a`
/// connects with TLS and must show a certificate.
struct Stage {
    guard: Guard,
    places: Vec<String>,
    listener: TcpListener,
    folder: Folder,
    text: String,
}

impl Stage {
    fn new(top: &str) -> Self {
        let folder = Folder::new();
        certificates(&folder.0, &["c", "monitor", "component"]);
        std::fs::write(folder.0.join("auth.scr"), PROTOCOL).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            r#"
[multiparty]
protocol = "auth.scr"
{top}
[[multiparty.role]]
name = "s"
listen = "127.0.0.1:0"
close-message = "{{json}}"
codec.kind = "websocket"
[[multiparty.role]]
name = "c"
upstream = "{}"
upstream-tls = {{ ca = "ca.pem", server-name = "c" }}
path = "/play"
close-message = "{{json}}"
codec.kind = "websocket"
[[multiparty.role]]
name = "a"
listen = "127.0.0.1:0"
tls = {{ certificate = "monitor.pem", key = "monitor.key", client-ca = "ca.pem" }}
close-message = "{{json}}"
codec.kind = "websocket"
"#,
            listener.local_addr().unwrap()
        );
        let guard = start(&folder, &text);
        let places = guard.addresses().into_iter().map(|(_, address)| address).collect();
        Self { guard, places, listener, folder, text }
    }

    /// The components of one session; `s` has said `login`.
    fn session(&self) -> [Socket; 3] {
        let mut s = Socket::connect(tcp(&self.places[0]));
        let a = Socket::connect(tls_to(&self.places[1], &self.folder, "monitor", Some("component")));
        s.say(r#"{"type":"login","n":1}"#);
        let mut c = Socket::accept(tls_from(&self.listener, &self.folder, "c"), "/play");
        c.expect(r#"{"type":"login","n":1}"#);
        [s, c, a]
    }

    fn wait_idle(&self) {
        let began = std::time::Instant::now();
        while self.guard.open_sessions() > 0 {
            assert!(began.elapsed() < PATIENCE, "{}", self.guard.metrics());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn fragment(text: &'static str, kind: Data, last: bool) -> Message {
    Message::Frame(Frame::message(text.as_bytes(), OpCode::Data(kind), last))
}

#[test]
fn components_may_speak_websocket_on_either_side_and_over_tls() {
    let stage = Stage::new("");
    let [mut s, mut c, mut a] = stage.session();
    // A message in fragments is one message, with whatever comes between them; a ping is answered meanwhile.
    c.0.send(fragment(r#"{"type":"#, Data::Text, false)).unwrap();
    c.0.send(Message::Ping(b"are you there"[..].into())).unwrap();
    c.0.send(fragment(r#""pwd","m":1}"#, Data::Continue, true)).unwrap();
    a.expect(r#"{"type":"pwd","m":1}"#);
    assert_eq!(c.0.read().unwrap(), Message::Pong(b"are you there"[..].into()));
    // Binary stays binary.
    a.0.send(Message::binary(&br#"{"type":"succ","k":1}"#[..])).unwrap();
    assert_eq!(s.hear(), Some(Message::binary(&br#"{"type":"succ","k":1}"#[..])));
    // Lengths of all three forms go through.
    for n in 0..30 {
        let padding = " ".repeat([0, 1, 124, 125, 126, 127, 65_535, 65_536, 100_000][n % 9]);
        for (from, to, text) in
            [(0, 1, r#""login","n":7"#), (1, 2, r#""pwd","m":7"#), (2, 0, r#""succ","k":7"#)]
        {
            let text = format!(r#"{{{padding}"type":{text}}}"#);
            let sockets = [&mut s, &mut c, &mut a];
            let [first, second] = sockets.get_disjoint(from, to);
            first.say(&text);
            second.expect(&text);
        }
    }
    s.say(r#"{"type":"quit"}"#);
    c.expect(r#"{"type":"quit"}"#);
    // The protocol is over: everyone is told so in the way of WebSocket.
    for socket in [&mut s, &mut c, &mut a] {
        assert_eq!(socket.hear(), None);
    }
    stage.wait_idle();
    let ended = r#"referee_multiparty_sessions_closed_total{protocol="Auth",role="c",why="over"} 1"#;
    assert!(stage.guard.metrics().contains(ended), "{}", stage.guard.metrics());
}

/// New connections are made with the new certificates, in both directions; sessions under way go on.
#[test]
fn changed_certificates_are_read_again() {
    let stage = Stage::new("");
    let [_s, mut c, mut a] = stage.session();
    // Even the authority is another.
    certificates(&stage.folder.0, &["c", "monitor", "component"]);
    let plans = Plans::read(&stage.text, &stage.folder.0, &|_| None).unwrap_or_else(|no| panic!("{no:?}"));
    stage.guard.reload(&plans).unwrap();
    let [_other, mut other_c, mut other_a] = stage.session();
    for (c, a) in [(&mut c, &mut a), (&mut other_c, &mut other_a)] {
        c.say(r#"{"type":"pwd","m":1}"#);
        a.expect(r#"{"type":"pwd","m":1}"#);
    }
}

/// Two of three.
trait Disjoint<'a> {
    fn get_disjoint(self, one: usize, other: usize) -> [&'a mut Socket; 2];
}

impl<'a> Disjoint<'a> for [&'a mut Socket; 3] {
    fn get_disjoint(self, one: usize, other: usize) -> [&'a mut Socket; 2] {
        let mut all = self.map(Some);
        [one, other].map(|index| all[index].take().unwrap())
    }
}

/// While a message has to wait, pings do not: many a library hangs up when they are not answered.
#[test]
fn pings_are_answered_while_messages_wait() {
    let stage = Stage::new("");
    let mut s = Socket::connect(tcp(&stage.places[0]));
    s.say(r#"{"type":"login","n":1}"#);
    // The component of `a` is not there yet, so nobody is told anything.
    for _ in 0..3 {
        s.0.send(Message::Ping(b"are you there"[..].into())).unwrap();
        assert_eq!(s.0.read().unwrap(), Message::Pong(b"are you there"[..].into()));
    }
    let mut a = Socket::connect(tls_to(&stage.places[1], &stage.folder, "monitor", Some("component")));
    let mut c = Socket::accept(tls_from(&stage.listener, &stage.folder, "c"), "/play");
    c.expect(r#"{"type":"login","n":1}"#);
    c.say(r#"{"type":"pwd","m":1}"#);
    a.expect(r#"{"type":"pwd","m":1}"#);
    // What cannot be read is known also when it came meanwhile.
    drop((a, c));
    let mut s = Socket::connect(tcp(&stage.places[0]));
    s.say(r#"{"type":"login","n":1}"#);
    s.0.send(fragment("x", Data::Continue, true)).unwrap();
    s.0.send(Message::Ping(b""[..].into())).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let mut a = Socket::connect(tls_to(&stage.places[1], &stage.folder, "monitor", Some("component")));
    let mut c = Socket::accept(tls_from(&stage.listener, &stage.folder, "c"), "/play");
    c.expect(r#"{"type":"login","n":1}"#);
    for socket in [&mut c, &mut a] {
        let notice = socket.notice();
        assert_eq!((&notice["kind"], &notice["blame"]), (&"malformed".into(), &"s".into()), "{notice}");
    }
}

#[test]
fn what_is_no_websocket_or_no_message_is_its_senders_fault() {
    type Fault = fn(&mut Socket);
    let faults: [(&str, Fault, &str, Value); 6] = [
        ("a label that is never sent", |c| c.say(r#"{"type":"nonsense"}"#), "label", "c".into()),
        ("no JSON", |c| c.say("{{{"), "malformed", "c".into()),
        ("two documents", |c| c.say(r#"{"type":"pwd","m":1}{}"#), "malformed", "c".into()),
        (
            "text that is no text",
            |c| {
                c.0.send(Message::Frame(Frame::message(&[0xff, 0xfe][..], OpCode::Data(Data::Text), true)))
                    .unwrap()
            },
            "malformed",
            "c".into(),
        ),
        (
            "a continuation of nothing",
            |c| c.0.send(fragment("x", Data::Continue, true)).unwrap(),
            "malformed",
            "c".into(),
        ),
        ("more than the limit", |c| c.say(&"x".repeat(10_000)), "fault", Value::Null),
    ];
    let stage = Stage::new("limits.message = \"4KiB\"");
    for (what, commit, kind, blame) in faults {
        let [mut s, mut c, mut a] = stage.session();
        let began = std::time::Instant::now();
        commit(&mut c);
        for socket in [&mut s, &mut c, &mut a] {
            let notice = socket.notice();
            assert_eq!((&notice["kind"], &notice["blame"]), (&kind.into(), &blame), "{what}: {notice}");
        }
        assert!(began.elapsed() < SOON, "{what}: {:?}", began.elapsed());
    }
    // A close, and a connection that ends without one.
    for politely in [true, false] {
        let [mut s, mut c, mut a] = stage.session();
        if politely {
            c.0.close(None).unwrap();
            assert_eq!(c.hear(), None);
        }
        drop(c);
        for socket in [&mut s, &mut a] {
            let notice = socket.notice();
            assert_eq!(
                (&notice["kind"], &notice["blame"]),
                (&"premature-end".into(), &"c".into()),
                "{notice}"
            );
        }
    }
    stage.wait_idle();
}

#[test]
fn who_does_not_speak_as_it_should_is_not_let_in() {
    let stage = Stage::new("limits.handshake = \"2s\"");
    // No request for a WebSocket, no TLS, TLS without a certificate, and a frame without a mask.
    let mut plain = tcp(&stage.places[0]);
    plain.write_all(b"{\"type\":\"login\",\"n\":1}\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest);
    let mut silent = tcp(&stage.places[1]);
    assert_eq!(silent.read(&mut [0; 16]).unwrap_or(0), 0);
    let nobody = tls_to(&stage.places[1], &stage.folder, "monitor", None);
    assert!(tungstenite::client("ws://monitor/", nobody).is_err());
    let refused = r#"referee_multiparty_sessions_closed_total{protocol="Auth",role="a",why="refused"} 2"#;
    // A client may learn that it was refused before the guard has counted it.
    let since = std::time::Instant::now();
    while !stage.guard.metrics().contains(refused) {
        assert!(since.elapsed() < PATIENCE, "{}", stage.guard.metrics());
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut unmasked = tcp(&stage.places[0]);
    let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    unmasked.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        unmasked.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    unmasked.write_all(b"\x81\x16{\"type\":\"login\",\"n\":1}").unwrap();
    let _ = unmasked.read_to_end(&mut answer);
    assert_eq!(stage.guard.open_sessions(), 0);
    let mut session = stage.session();
    session[1].say(r#"{"type":"pwd","m":1}"#);
    session[2].expect(r#"{"type":"pwd","m":1}"#);
}

/// The same between processes, with messages of text.
#[test]
fn websockets_of_text_between_processes() {
    let mut network = Setup::default().start();
    network.guards.clear();
    let codec = "kind = \"websocket\"\ncarries = \"text\"\n[multiparty.role.codec.messages]\n";
    for (role, text) in &network.configs {
        let forms = match *role {
            "s" => "login = \"LOGIN {n}\"\nquit = \"QUIT\"\nsucc = \"OK {k}\"\n",
            "c" => "login = \"LOGIN {n}\"\nquit = \"QUIT\"\npwd = \"PASS {m}\"\n",
            _ => "pwd = \"PASS {m}\"\nsucc = \"OK {k}\"\n",
        };
        let text = text.replace("kind = \"json\"", &format!("{codec}{forms}"));
        network.guards.insert(role, start(&network.folder, &text));
    }
    let [mut s, mut c, mut a] = ROLES.map(|role| Socket::connect(tcp(&network.places[role])));
    for n in 0..50 {
        s.say(&format!("LOGIN {n}"));
        c.expect(&format!("LOGIN {n}"));
        c.say(&format!("PASS {n}"));
        a.expect(&format!("PASS {n}"));
        a.say(&format!("OK {n}"));
        s.expect(&format!("OK {n}"));
    }
    // Dependencies are hidden here, so the next thing that `a` hears is what went wrong.
    c.say("LOGIN 3");
    for socket in [&mut s, &mut c, &mut a] {
        let notice = socket.notice();
        assert_eq!(notice["blame"], serde_json::json!("c"), "{notice}");
    }
    network.wait_idle();
}
