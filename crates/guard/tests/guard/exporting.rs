//! Spans for an OpenTelemetry collector: one for each session, with an event for each violation.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use referee_guard::Guard;
use serde_json::Value;

use super::support::*;

/// A collector: what it was sent, as the line of the request and the body. With `tls` it speaks that.
fn collector(tls: Option<Arc<rustls::ServerConfig>>) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            match tls.clone() {
                None => collect(stream, &send),
                Some(tls) => {
                    let connection = rustls::ServerConnection::new(tls).unwrap();
                    collect(rustls::StreamOwned::new(connection, stream), &send);
                }
            }
        }
    });
    (address, receive)
}

/// Reads a request and answers it.
fn collect(stream: impl Read + Write, send: &Sender<(String, Value)>) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        // A client that does not trust this server says nothing.
        if reader.read_line(&mut line).is_err() {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let length = head.iter().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    assert!(head.iter().any(|line| line == "Content-Type: application/json"), "{head:?}");
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    // Before it answers: whoever has its answer may look at once.
    let _ = send.send((head[0].clone(), serde_json::from_slice(&body).unwrap()));
    let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    let _ = reader.get_mut().flush();
}

#[test]
fn collectors_may_speak_tls_and_must_be_who_they_say() {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let private = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.der().clone()], private).unwrap();
    let config = Arc::new(config);
    for (name, is_trusted) in [("localhost", true), ("127.0.0.1", false)] {
        let (address, received) = collector(Some(Arc::clone(&config)));
        let folder = Folder::new();
        std::fs::write(folder.0.join("ca.pem"), certificate.pem()).unwrap();
        let endpoint = address.replace("127.0.0.1", name);
        let top = format!("[otlp]\nendpoint = \"https://{endpoint}\"\ntls = {{ ca = \"ca.pem\" }}\n");
        let guard =
            Guard::start(&plans(&folder, &super::support::config(&polite_server(), "", &top)), Vec::new());
        let guard = guard.unwrap();
        let mut client = Peer::new(TcpStream::connect(&guard.addresses()[0].1).unwrap());
        client.hear("HELLO you\r\n");
        client.say("QUIT\r\n");
        client.hear("BYE\r\n");
        drop(client);
        assert!(guard.wait_idle(std::time::Instant::now() + PATIENCE));
        guard.halt();
        assert_eq!(received.try_iter().count(), usize::from(is_trusted), "{name}");
    }
}

fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let all = of["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    let value = &found.unwrap_or_else(|| panic!("no {key} in {of}"))["value"];
    value.as_object().unwrap().values().next().unwrap()
}

#[test]
fn a_span_for_each_session_and_an_event_for_each_violation() {
    let (address, received) = collector(None);
    let top = format!("[otlp]\nendpoint = \"http://{address}\"\nservice = \"mail-guard\"\n");
    let setup = guard_with(&polite_server(), "policy = \"drop\"", &top);
    for wrong in [0, 2] {
        let mut client = setup.connect();
        client.hear("HELLO you\r\n");
        for _ in 0..wrong {
            client.say("SET secret -1\r\n");
        }
        client.say("QUIT\r\n");
        client.hear("BYE\r\n");
        drop(client);
        setup.wait_idle();
    }
    // What was told is delivered before the guard is gone.
    setup.guard.halt();
    let mut spans = Vec::new();
    for (line, body) in received.try_iter() {
        assert_eq!(line, "POST /v1/traces HTTP/1.1");
        let resource = &body["resourceSpans"][0];
        assert_eq!(attribute(&resource["resource"], "service.name"), "mail-guard");
        assert_eq!(resource["scopeSpans"][0]["scope"]["name"], "referee");
        spans.extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().clone());
    }
    let [good, bad] = spans.as_slice() else { panic!("{spans:?}") };
    for span in [good, bad] {
        assert_eq!(span["name"], "session talk");
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        let time = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
    }
    assert_ne!(good["traceId"], bad["traceId"]);
    assert_eq!((good["status"]["code"].as_u64(), bad["status"]["code"].as_u64()), (Some(1), Some(2)));
    assert_eq!(good["events"].as_array().unwrap().len(), 0);
    assert_eq!(
        (attribute(good, "referee.violations"), attribute(good, "referee.why")),
        (&"0".into(), &"over".into())
    );
    assert_eq!(attribute(bad, "referee.violations"), "2");
    let events = bad["events"].as_array().unwrap();
    assert_eq!(events.len(), 2);
    for event in events {
        assert_eq!(event["name"], "violation");
        assert_eq!(attribute(event, "referee.kind"), "assertion");
        assert_eq!(attribute(event, "referee.blame"), "client");
        assert!(attribute(event, "exception.message").as_str().unwrap().contains("value >= 0"));
    }
}

#[test]
fn a_collector_that_is_not_there_holds_nobody_up() {
    let gone = format!("127.0.0.1:{}", referee_testkit::ports::free_ports(1)[0]);
    let setup = guard_with(&polite_server(), "", &format!("[otlp]\nendpoint = \"http://{gone}\"\n"));
    for _ in 0..20 {
        let mut client = setup.connect();
        client.hear("HELLO you\r\n");
        client.say("QUIT\r\n");
        client.hear("BYE\r\n");
    }
    setup.wait_idle();
    setup.guard.halt();
}
