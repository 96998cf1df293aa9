//! The trace context of a network session: taken from the component that begins it, carried to other monitors, given to components.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use referee_guard::report::{EndRecord, Report};
use referee_guard::{Guard, Plans};
use referee_testkit::ports::free_ports;

use crate::support::{Folder, PATIENCE};

const PROTOCOL: &str = "protocol Ask(role c, role s) { ask() from c to s; answer() from s to c; }";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// A server that answers one request, and tells its head.
fn service() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            let (mut reader, mut head) = (BufReader::new(stream.try_clone().unwrap()), String::new());
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            let _ = send.send(head);
        }
    });
    (address, receive)
}

fn role(name: &str, endpoint: &str, extra: &str) -> String {
    format!(
        "[[multiparty.role]]\nname = \"{name}\"\n{endpoint}\n{extra}\n\
         codec = {{ kind = \"http\", messages = {{ ask = \"GET /a\", answer = \"200\" }} }}\n"
    )
}

fn start(text: &str, ends: &mpsc::Sender<EndRecord>) -> Guard {
    let plans =
        Plans::read(text, &Folder::new().0, &|_| None).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let ends = ends.clone();
    let observer = Box::new(move |report: &Report| {
        if let Report::SessionEnd(end) = report {
            let _ = ends.send((**end).clone());
        }
    });
    Guard::start_observed(&plans, Vec::new(), Some(observer)).unwrap()
}

/// One session whose client sends `header`: what the server is asked, and the ends of both roles.
fn session(header: &str, gives: bool, is_split: bool) -> (String, EndRecord, EndRecord) {
    let (upstream, heads) = service();
    let (send, ends) = mpsc::channel();
    let gives = if gives { "trace-context = true" } else { "" };
    let (c, s) =
        (role("c", "listen = \"127.0.0.1:0\"", ""), role("s", &format!("upstream = \"{upstream}\""), gives));
    let top = format!("[multiparty]\nprotocol = \"{PROTOCOL}\"\n");
    let guards = if is_split {
        let [one, other] = free_ports(2)[..] else { panic!("two ports") };
        let peer = |name: &str, own: u16, port: u16| {
            format!("listen = \"127.0.0.1:{own}\"\npeer.{name}.address = \"127.0.0.1:{port}\"\n")
        };
        let texts =
            [format!("{top}{}{c}", peer("s", one, other)), format!("{top}{}{s}", peer("c", other, one))];
        texts.iter().map(|text| start(text, &send)).collect()
    } else {
        vec![start(&format!("{top}{c}{s}"), &send)]
    };
    let address = guards[0].addresses()[0].1.clone();
    let mut client = TcpStream::connect(&address).unwrap();
    client.write_all(format!("GET /a HTTP/1.1\r\nHost: h\r\n{header}\r\n").as_bytes()).unwrap();
    let head = heads.recv_timeout(PATIENCE).unwrap();
    client.read_exact(&mut [0; 15]).unwrap();
    drop(client);
    let both = [ends.recv_timeout(PATIENCE).unwrap(), ends.recv_timeout(PATIENCE).unwrap()];
    let [c, s] = ["c", "s"].map(|name| both.iter().find(|end| end.source == name).unwrap().clone());
    (head, c, s)
}

/// The parts of a context: trace, span, flags.
fn parts(end: &EndRecord) -> Vec<String> {
    let context = end.traceparent.as_deref().unwrap();
    context.split('-').skip(1).map(str::to_owned).collect()
}

#[test]
fn the_context_of_the_first_request_goes_to_all_monitors_and_on_to_components() {
    for is_split in [false, true] {
        let header = format!("traceparent: 00-{TRACE}-{SPAN}-01\r\n");
        let (head, c, s) = session(&header, true, is_split);
        assert_eq!((parts(&c)[0].as_str(), parts(&s)[0].as_str()), (TRACE, TRACE));
        assert_eq!((c.parent_span.as_deref(), s.parent_span), (Some(SPAN), Some(parts(&c)[1].clone())));
        // The service is called from within the span of its monitor.
        let given = format!("GET /a HTTP/1.1\r\ntraceparent: {}\r\nHost: h\r\n\r\n", s.traceparent.unwrap());
        assert_eq!(head, given);
        assert_eq!(c.network_session, s.network_session);
    }
}

#[test]
fn without_one_the_session_is_its_own_trace_and_nothing_is_rewritten_unasked() {
    let (head, c, s) = session("", false, true);
    assert_eq!(head, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(parts(&c)[0], c.network_session.clone().unwrap());
    assert_eq!((parts(&c)[0].clone(), c.parent_span.clone()), (parts(&s)[0].clone(), None));
    assert_ne!(parts(&c)[1], parts(&s)[1]);
    let (head, c, _) = session(&format!("traceparent: 00-{TRACE}-{SPAN}-01\r\n"), false, false);
    assert!(head.contains(SPAN) && parts(&c)[0] == TRACE, "{head}");
}

#[test]
fn a_context_can_be_given_in_requests_only() {
    let text = format!(
        "[multiparty]\nprotocol = \"{PROTOCOL}\"\n{}{}",
        role("c", "listen = \"127.0.0.1:0\"", "trace-context = true"),
        role("s", "upstream = \"127.0.0.1:1\"", "")
    );
    let Err(refusal) = Plans::read(&text, &Folder::new().0, &|_| None) else { panic!("accepted") };
    assert!(refusal.summary().contains("`trace-context`"), "{refusal:?}");
}
