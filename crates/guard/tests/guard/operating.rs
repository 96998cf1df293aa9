//! Limits, reloading, journals, TLS, PROXY headers: what operators rely on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use referee_guard::report::Report;
use referee_guard::{Guard, Plans};
use rustls::pki_types::ServerName;

use super::support::*;

#[test]
fn verdicts_and_ends_are_in_the_journal() {
    let top = "[journal]\nfolder = \"FOLDER/journal\"\n";
    let setup = guard_with(&polite_server(), "redact = [\"key\"]", top);
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET secret 4\r\n");
    client.hear("OK\r\n");
    client.say("SET secret -4\r\n");
    assert_eq!(client.rest(), "");
    drop(client);
    let reports = setup.journal();
    let text = serde_json::to_string(&reports).unwrap();
    let [Report::Verdict(verdict), Report::SessionEnd(end)] = reports.as_slice() else { panic!("{text}") };
    assert_eq!((&*verdict.kind, verdict.blame.as_deref(), verdict.event), ("assertion", Some("client"), 3));
    assert_eq!(verdict.values["value"], -4);
    assert_eq!(verdict.rule.as_deref().map(|rule| rule.starts_with("talk.scr:")), Some(true));
    assert_eq!(verdict.recent[1], "client: Set(redacted, 4)");
    assert_eq!((end.why.name(), end.messages, end.violations), ("violation", 4, 1));
    assert!(!text.contains("secret"), "{text}");
}

/// Where something is redacted, what is nearly a message may hold a secret.
#[test]
fn what_is_no_message_is_shown_by_its_first_word_at_most() {
    for redact in ["*", "Set.key"] {
        for (line, got) in [
            ("SET secret 99999999999999999999", Some("Set")),
            ("SET 99999", Some("SET … (11 bytes)")),
            ("SETT secret 1", Some("SETT … (15 bytes)")),
            ("s3cret 1", Some("(10 bytes)")),
            ("Frob", Some("Frob")),
        ] {
            let extra = format!("policy = \"drop\"\nredact = [\"{redact}\"]");
            let setup = guard_with(&polite_server(), &extra, JOURNAL);
            let mut client = setup.connect();
            client.hear("HELLO you\r\n");
            client.say(&format!("{line}\r\nFrob\r\nQUIT\r\n"));
            client.hear("BYE\r\n");
            client.stop_sending();
            client.rest();
            drop(client);
            let verdicts = setup.verdicts();
            assert_eq!(verdicts[0].got.as_deref(), got, "{line}");
            let text = serde_json::to_string(&verdicts).unwrap();
            assert!(
                !text.contains("secret") && !text.contains("s3cret") && !text.contains("99999"),
                "{text}"
            );
        }
    }
}

#[test]
fn who_ends_within_a_message_owes_the_rest_of_it() {
    let (upstream, server) = server(|mut peer| {
        peer.hear("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    });
    let folder = Folder::new();
    let text = format!(
        "[journal]\nfolder = \"{}/journal\"\n[[listener]]\nname = \"web\"\nlisten = \"127.0.0.1:0\"\n\
         upstream = \"{upstream}\"\nprotocol = \"preset:http\"\n",
        folder.0.display()
    );
    let guard = Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    let setup = Setup { guard, address, folder };
    let mut client = setup.connect();
    client.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    client.rest();
    server.join().unwrap();
    drop(client);
    let verdicts = setup.verdicts();
    let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!((&*verdict.kind, verdict.event), ("premature-end", 2));
    assert!(verdict.expected.is_empty(), "{verdict:?}");
    let expected =
        "server ended before the session was over: within `Response`, the rest of which was expected";
    assert_eq!(verdict.message, expected);
}

#[test]
fn too_many_connections_are_refused_or_passed_on() {
    for (at_limit, passes) in [("closed", false), ("open", true)] {
        for limit in ["connections = 1", "connections-per-source = 1"] {
            let setup =
                guard(&polite_server(), &format!("at-limit = \"{at_limit}\"\nlimits = {{ {limit} }}"));
            let mut first = setup.connect();
            first.hear("HELLO you\r\n");
            let mut second = setup.connect();
            if passes {
                second.hear("HELLO you\r\n");
                // Not looked at: this is no message of the protocol.
                second.say("ZZZ\r\n");
                second.hear("BYE\r\n");
                assert_eq!(setup.metric("referee_sessions_unchecked_total"), Some(1.0));
            } else {
                assert_eq!(second.rest(), "");
                assert!(setup.metric("referee_connections_refused_total").is_some());
            }
            drop(second);
            setup.wait("the second session's end", |setup| setup.guard.open_sessions() == 1);
            first.say("GET a\r\n");
            first.hear("VALUE 7\r\n");
            drop(first);
            setup.wait_idle();
            setup.connect().hear("HELLO you\r\n");
        }
    }
}

#[test]
fn time_limits_end_sessions_without_blame() {
    for (limit, why) in [("idle = \"50ms\"", "idle"), ("total = \"50ms\"", "total-time")] {
        let setup = guard(&polite_server(), &format!("limits = {{ {limit} }}"));
        let mut client = setup.connect();
        client.hear("HELLO you\r\n");
        assert_eq!(client.rest(), "");
        drop(client);
        setup.wait_idle();
        let closed = format!("referee_sessions_closed_total{{listener=\"talk\",why=\"{why}\"}}");
        assert_eq!(setup.metric(&closed), Some(1.0), "{}", setup.guard.metrics());
        assert!(setup.metric("referee_verdicts_total").is_none());
    }
}

#[test]
fn only_allowed_sources_connect() {
    let setup = guard(&polite_server(), "allow = [\"10.0.0.0/8\"]");
    assert_eq!(setup.connect().rest(), "");
    assert!(setup.metric("referee_connections_refused_total{listener=\"talk\",why=\"source\"}").is_some());
}

#[test]
fn new_sessions_follow_the_new_protocol_and_old_ones_the_old() {
    let upstream = polite_server();
    let setup = guard(&upstream, "");
    let mut old = setup.connect();
    old.hear("HELLO you\r\n");
    // From now on there is no `Set`.
    let start = PROTOCOL.find("      Set(").unwrap();
    let end = PROTOCOL.find("    } or {\n      Get(").unwrap();
    let protocol = format!("{}{}", &PROTOCOL[..start], &PROTOCOL[end + 11..]);
    std::fs::write(setup.folder.0.join("talk.scr"), protocol).unwrap();
    let text = config(&upstream, "", "");
    let text: String = text
        .lines()
        .filter(|line| !["Set", "Ok", "No"].iter().any(|name| line.starts_with(&format!("{name} ="))))
        .map(|line| format!("{line}\n"))
        .collect();
    setup.guard.reload(&plans(&setup.folder, &text)).unwrap();
    let mut new = Peer::new(TcpStream::connect(&setup.guard.addresses()[0].1).unwrap());
    new.hear("HELLO you\r\n");
    new.say("SET a 1\r\n");
    assert_eq!(new.rest(), "");
    old.say("SET a 1\r\n");
    old.hear("OK\r\n");
    assert_eq!(setup.metric("referee_reloads_total{result=\"ok\"}"), Some(1.0));
    // Counters of the old protocol are still there.
    assert_eq!(
        setup.metric("referee_messages_total{listener=\"talk\",role=\"client\",label=\"Set\"}"),
        Some(1.0)
    );
}

#[test]
fn draining_lets_sessions_end() {
    let setup = guard(&polite_server(), "");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    setup.guard.drain();
    assert!(setup.guard.is_draining() && !setup.guard.is_ready());
    client.say("QUIT\r\n");
    client.hear("BYE\r\n");
    drop(client);
    assert!(setup.guard.wait_idle(Instant::now() + PATIENCE));
}

#[test]
fn proxy_headers_are_read_and_written() {
    let (upstream, server) = server(|mut peer| {
        peer.hear("PROXY TCP4 192.0.2.7 192.0.2.8 1234 25\r\n");
        peer.say("HELLO you\r\n");
        peer.rest()
    });
    let setup = guard(&upstream, "proxy-in = \"required\"\nproxy-out = \"v1\"\nallow = [\"192.0.2.0/24\"]");
    let mut client = setup.connect();
    client.say("PROXY TCP4 192.0.2.7 192.0.2.8 1234 25\r\n");
    client.hear("HELLO you\r\n");
    let sessions = setup.guard.sessions(10);
    assert_eq!(sessions[0]["source"], "192.0.2.7:1234", "{sessions}");
    assert_eq!(
        sessions[0]["expected"],
        serde_json::json!(["Set(key: string, value: int)", "Get(key: string)", "Quit()"])
    );
    drop(client);
    server.join().unwrap();
    let mut liar = setup.connect();
    liar.say("SET a 1 without a header\r\n");
    assert_eq!(liar.rest(), "");
}

#[test]
fn unix_sockets_on_either_side() {
    let folder = Folder::new();
    let path = folder.0.join("front.sock");
    let back = std::os::unix::net::UnixListener::bind(folder.0.join("back.sock")).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = back.accept().unwrap();
        stream.write_all(b"HELLO you\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    let text = config(&format!("unix:{}", folder.0.join("back.sock").display()), "", "")
        .replace("127.0.0.1:0", &format!("unix:{}", path.display()));
    let guard = Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let mut client = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let mut hello = [0; 11];
    client.read_exact(&mut hello).unwrap();
    client.write_all(b"QUIT\r\n").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(server.join().unwrap(), "QUIT\r\n");
    drop(guard);
}

#[test]
fn tls_on_both_sides_with_a_clients_certificate() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).unwrap();
    write("ca.pem", &authority.pem());
    let issuer = rcgen::Issuer::new(parameters, authority_key);
    let issue = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        (parameters.signed_by(&key, &issuer).unwrap(), key)
    };
    let (guard_certificate, guard_key) = issue("localhost");
    write("guard.pem", &guard_certificate.pem());
    write("guard.key", &guard_key.serialize_pem());
    let (client_certificate, client_key) = issue("client.example");
    // A guard before a guard: the outer speaks TLS to the inner, which speaks plainly to the server.
    let inner_text =
        config(&polite_server(), "tls = { certificate = \"guard.pem\", key = \"guard.key\" }", "");
    let inner = Guard::start(&plans(&folder, &inner_text), Vec::new()).unwrap();
    let extra = "tls = { certificate = \"guard.pem\", key = \"guard.key\", client-ca = \"ca.pem\" }\n\
                 upstream-tls = { ca = \"ca.pem\", server-name = \"localhost\" }";
    let outer_text = config(&inner.addresses()[0].1, extra, "");
    let outer = Guard::start(&plans(&folder, &outer_text), Vec::new()).unwrap();
    let address = outer.addresses()[0].1.clone();

    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots.clone())
    };
    let talk = |config: rustls::ClientConfig| -> std::io::Result<String> {
        let name = ServerName::try_from("localhost").unwrap();
        let mut session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut socket = TcpStream::connect(&address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut stream = rustls::Stream::new(&mut session, &mut socket);
        let mut text = vec![0; 11];
        stream.read_exact(&mut text)?;
        stream.write_all(b"QUIT\r\n")?;
        let _ = stream.read_to_end(&mut text);
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let key = rustls::pki_types::PrivateKeyDer::try_from(client_key.serialize_der()).unwrap();
    let known = builder().with_client_auth_cert(vec![client_certificate.der().clone()], key).unwrap();
    assert_eq!(talk(known).unwrap(), "HELLO you\r\nBYE\r\n");
    assert!(talk(builder().with_no_client_auth()).is_err());
}

#[test]
fn configurations_are_refused_with_their_place() {
    let folder = Folder::new();
    let good = config("127.0.0.1:1", "", "");
    let cases = [
        ("protocol = \"talk.scr\"", "protocol = \"gone.scr\"", "cannot read"),
        ("Get = \"GET {key}\"", "Get = \"GET {kee}\"", "kee"),
        ("threads = 2", "threads = 2\n[admin]\nlisten = \"0.0.0.0:1\"", "admin listener"),
        ("threads = 2", "threads = 0", "threads"),
        ("name = \"talk\"", "client-role = \"nobody\"", "no role `nobody`"),
        ("name = \"talk\"", "tls = { certificate = \"x.pem\", key = \"x.key\" }", "cannot read"),
        ("upstream = \"127.0.0.1:1\"", "", "where is the server"),
        ("name = \"talk\"", "redact = [\"key\", \"secret\"]", "`secret` hides nothing"),
        ("name = \"talk\"", "redact = [\"Get.value\"]", "`Get.value` hides nothing"),
    ];
    for (from, to, expected) in cases {
        let text = good.replace(from, to);
        assert_ne!(text, good);
        let Err(refusal) = Plans::read(&text, &folder.0, &|_| None) else { panic!("{text}") };
        let problem = &refusal.problems[0];
        assert!(problem.message.contains(expected), "{problem:?}");
        assert!(!problem.span.is_empty(), "{problem:?}");
    }
}

/// A certificate for `localhost`, with its key, and what it is signed by: itself.
fn certificate() -> (rcgen::Certificate, rcgen::KeyPair) {
    let key = rcgen::KeyPair::generate().unwrap();
    let parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    (parameters.self_signed(&key).unwrap(), key)
}

/// Connects with TLS, trusting `certificate` alone, and hears the greeting.
fn greeting(
    address: &str,
    certificate: &rcgen::Certificate,
) -> std::io::Result<rustls::StreamOwned<rustls::ClientConnection, TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = rustls::StreamOwned::new(session, socket);
    stream.read_exact(&mut [0; 11])?;
    Ok(stream)
}

/// New connections are shown the new certificate; connections under way go on.
#[test]
fn changed_certificates_are_read_again() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    let (old, old_key) = certificate();
    write("guard.pem", &old.pem());
    write("guard.key", &old_key.serialize_pem());
    let top = "watch-files = \"10ms\"\ndrain = \"5s\"\n[admin]\nlisten = \"unix:admin.sock\"\n"
        .replace("admin.sock", &folder.0.join("admin.sock").display().to_string());
    let tls = "tls = { certificate = \"guard.pem\", key = \"guard.key\" }";
    write("guard.toml", &config(&polite_server(), tls, &top));
    let path = folder.0.join("guard.toml");
    let (started, address) = std::sync::mpsc::channel();
    let service = std::thread::spawn(move || {
        let started = |words: &[String]| {
            let line = words.iter().find(|line| line.contains("talk listens on")).unwrap();
            started.send(line.rsplit(' ').next().unwrap().to_owned()).unwrap();
        };
        let service =
            referee_guard::Service { path: &path, environment: &|_| None, stdio: None, started: &started };
        let plans = service.read().unwrap().unwrap_or_else(|(_, refusal)| panic!("{refusal:?}"));
        service.run(&plans).unwrap()
    });
    let address = address.recv_timeout(PATIENCE).unwrap();
    let mut before = greeting(&address, &old).unwrap();
    let (new, new_key) = certificate();
    // One file after the other: in between they do not belong together, and the old ones go on.
    write("guard.pem", &new.pem());
    std::thread::sleep(std::time::Duration::from_millis(100));
    greeting(&address, &old).unwrap();
    write("guard.key", &new_key.serialize_pem());
    let start = Instant::now();
    while greeting(&address, &new).is_err() {
        assert!(start.elapsed() < PATIENCE, "the new certificate is not shown");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(greeting(&address, &old).is_err());
    before.write_all(b"GET a\r\n").unwrap();
    let mut value = [0; 9];
    before.read_exact(&mut value).unwrap();
    assert_eq!(&value, b"VALUE 7\r\n");
    drop(before);
    let mut admin = std::os::unix::net::UnixStream::connect(folder.0.join("admin.sock")).unwrap();
    admin.write_all(b"POST /drain HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    service.join().unwrap();
}
