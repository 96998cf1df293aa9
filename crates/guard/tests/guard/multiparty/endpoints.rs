//! Roles whose component is called by some and calls others: several endpoints, over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use referee_guard::report::{Report, VerdictReport};
use referee_guard::{Guard, Plans};

use crate::support::{Folder, PATIENCE};

/// The shop is called by the customer and calls the bank, which calls the customer before it answers.
const PROTOCOL: &str = "protocol Shop(role c, role s, role b) {
    order(item: string) from c to s; charge(sum: int) from s to b;
    receipt() from b to c; seen() from c to b;
    paid() from b to s; done() from s to c; }";

const ORDER: &str = "{ kind = \"http\", messages = { order = { pattern = \"GET /order\", fields = { item = \"query:item\" } }, done = \"200\" } }";
const CHARGE: &str = "{ kind = \"http\", messages = { charge = { pattern = \"GET /charge\", fields = { sum = \"query:sum\" } }, paid = \"200\" } }";
const RECEIPT: &str = "{ kind = \"http\", messages = { receipt = \"GET /receipt\", seen = \"200\" } }";

/// The head of what comes next on `stream`.
fn head(stream: &TcpStream) -> Option<String> {
    let (mut reader, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// Asks for `path`; the status, or nothing if the connection is closed without one.
fn ask(address: &str, path: &str, context: Option<&str>) -> Option<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let context = context.map(|context| format!("traceparent: {context}\r\n")).unwrap_or_default();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: h\r\n{context}\r\n").as_bytes()).unwrap();
    Some(head(&stream)?.split(' ').nth(1)?.to_owned())
}

/// The `traceparent` of a request.
fn context(head: &str) -> Option<String> {
    let line = head.lines().find(|line| line.starts_with("traceparent: "))?;
    Some(line.trim_start_matches("traceparent: ").to_owned())
}

/// A server that does `serve` with the head of each request, and answers 200 if it says so.
fn service(serve: impl Fn(&str) -> bool + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || {
                while let Some(head) = head(&stream) {
                    if !serve(&head) {
                        return;
                    }
                    let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            });
        }
    });
    address
}

struct Shop {
    guard: Guard,
    reports: Arc<Mutex<Vec<Report>>>,
    /// Where the monitors of the shop and of the bank are called.
    calls: Arc<Mutex<[String; 2]>>,
}

impl Shop {
    /// The shop calls the bank as `charge` does, whose argument is where and with which context.
    fn open(charge: impl Fn(&str, Option<&str>) -> bool + Send + Sync + 'static) -> Self {
        let calls: Arc<Mutex<[String; 2]>> = Arc::default();
        let (of_shop, of_bank) = (Arc::clone(&calls), Arc::clone(&calls));
        let customer = service(|_| true);
        let shop = service(move |head| {
            let address = of_shop.lock().unwrap()[0].clone();
            charge(&address, context(head).as_deref())
        });
        let bank = service(move |head| {
            let address = of_bank.lock().unwrap()[1].clone();
            ask(&address, "/receipt", context(head).as_deref()).as_deref() == Some("200")
        });
        let text = format!(
            "[multiparty]\nprotocol = \"\"\"{PROTOCOL}\"\"\"\n\
             [[multiparty.role]]\nname = \"c\"\nlisten = \"127.0.0.1:0\"\ncodec = {ORDER}\n\
             [[multiparty.role.endpoint]]\nwith = [\"b\"]\nupstream = \"{customer}\"\ncodec = {RECEIPT}\n\
             [[multiparty.role]]\nname = \"s\"\nupstream = \"{shop}\"\ntrace-context = true\ncodec = {ORDER}\n\
             [[multiparty.role.endpoint]]\nwith = [\"b\"]\nlisten = \"127.0.0.1:0\"\ncodec = {CHARGE}\n\
             [[multiparty.role]]\nname = \"b\"\nupstream = \"{bank}\"\ntrace-context = true\ncodec = {CHARGE}\n\
             [[multiparty.role.endpoint]]\nwith = [\"c\"]\nlisten = \"127.0.0.1:0\"\ncodec = {RECEIPT}\n"
        );
        let plans =
            Plans::read(&text, &Folder::new().0, &|_| None).unwrap_or_else(|refusal| panic!("{refusal:?}"));
        assert!(plans.in_words()[1].contains("and, s with b, connects to"), "{:?}", plans.in_words());
        let reports = Arc::new(Mutex::new(Vec::new()));
        let copy = Arc::clone(&reports);
        let observer = Box::new(move |report: &Report| copy.lock().unwrap().push(report.clone()));
        let guard = Guard::start_observed(&plans, Vec::new(), Some(observer)).unwrap();
        let addresses = guard.addresses();
        *calls.lock().unwrap() = ["Shop/s with b", "Shop/b with c"]
            .map(|name| addresses.iter().find(|(known, _)| known == name).unwrap().1.clone());
        Self { guard, reports, calls }
    }

    fn order(&self) -> Option<String> {
        ask(&self.guard.addresses()[0].1, "/order?item=tea", None)
    }

    fn wait(&self, holds: impl Fn(&[Report]) -> bool) {
        let began = std::time::Instant::now();
        while !holds(&self.reports.lock().unwrap()) {
            assert!(began.elapsed() < PATIENCE, "{:?}", self.reports.lock().unwrap());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    fn verdicts(&self) -> Vec<VerdictReport> {
        let reports = self.reports.lock().unwrap();
        let verdicts = reports.iter().filter_map(|report| match report {
            Report::Verdict(verdict) => Some((**verdict).clone()),
            Report::SessionEnd(_) | Report::Message(_) => None,
        });
        verdicts.collect()
    }
}

fn is_paid(address: &str, context: Option<&str>) -> bool {
    ask(address, "/charge?sum=7", context).as_deref() == Some("200")
}

#[test]
fn calls_belong_to_the_session_of_their_trace() {
    let shop = Arc::new(Shop::open(is_paid));
    let customers: Vec<_> = (0..8)
        .map(|_| {
            let shop = Arc::clone(&shop);
            std::thread::spawn(move || (0..3).all(|_| shop.order().as_deref() == Some("200")))
        })
        .collect();
    assert!(customers.into_iter().all(|customer| customer.join().unwrap()), "{:?}", shop.verdicts());
    shop.wait(|reports| reports.len() >= 8 * 3 * 3);
    assert!(shop.verdicts().is_empty(), "{:?}", shop.verdicts());
    let page = shop.guard.metrics();
    for role in ["c", "s", "b"] {
        let over = format!(
            "referee_multiparty_sessions_closed_total{{protocol=\"Shop\",role=\"{role}\",why=\"over\"}} 24"
        );
        assert!(page.contains(&over), "{page}");
    }
}

#[test]
fn without_a_trace_a_call_belongs_to_the_only_session_or_to_none() {
    let shop = Shop::open(|address, _| is_paid(address, None));
    // The bank's calls have a context; the shop's have not.
    assert_eq!(shop.order().as_deref(), Some("200"), "{:?}", shop.verdicts());
    let address = shop.calls.lock().unwrap()[0].clone();
    shop.wait(|reports| reports.len() >= 3);
    assert_eq!(ask(&address, "/charge?sum=7", None).as_deref(), Some("409"));
    let unknown = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(ask(&address, "/charge?sum=7", Some(unknown)).as_deref(), Some("409"));
    assert!(shop.verdicts().is_empty(), "{:?}", shop.verdicts());
}

#[test]
fn what_is_wrong_at_a_further_endpoint_is_the_components() {
    for (path, kind) in [("/charge?sum=many", "malformed"), ("/refund", "label")] {
        let shop = Shop::open(move |address, context| ask(address, path, context).is_some());
        assert_ne!(shop.order().as_deref(), Some("200"));
        shop.wait(|reports| reports.iter().any(|report| matches!(report, Report::Verdict(_))));
        let verdict = shop.verdicts().remove(0);
        assert_eq!((verdict.kind.as_str(), verdict.blame.as_deref()), (kind, Some("s")), "{verdict:?}");
    }
}

#[test]
fn a_caller_that_does_not_wait_for_the_answer_is_not_blamed() {
    let shop = Shop::open(|address, context| {
        let context = context.unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!("GET /charge?sum=7 HTTP/1.1\r\nHost: h\r\ntraceparent: {context}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let stream = socket_reset(stream);
        drop(stream);
        std::thread::sleep(std::time::Duration::from_millis(300));
        true
    });
    let _ = shop.order();
    shop.wait(|reports| reports.iter().any(|report| matches!(report, Report::Verdict(_))));
    let verdicts = shop.verdicts();
    assert!(verdicts.iter().all(|verdict| verdict.blame.is_none()), "{verdicts:?}");
}

/// Closed, it is reset: nobody waits for what still comes.
fn socket_reset(stream: TcpStream) -> TcpStream {
    let linger = rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO));
    linger.unwrap();
    stream
}

#[test]
fn endpoints_are_checked() {
    let refused = |shop: &str, further: &str| {
        let text = format!(
            "[multiparty]\nprotocol = \"\"\"{PROTOCOL}\"\"\"\nlisten = \"127.0.0.1:0\"\n\
             [multiparty.peer]\nc.address = \"127.0.0.1:1\"\nb.address = \"127.0.0.1:2\"\n\
             [[multiparty.role]]\nname = \"s\"\nupstream = \"127.0.0.1:3\"\n{shop}\n\
             [[multiparty.role.endpoint]]\n{further}\n"
        );
        let Err(refusal) = Plans::read(&text, &Folder::new().0, &|_| None) else {
            panic!("accepted: {text}")
        };
        refusal.problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ")
    };
    let (order, charge) = (format!("codec = {ORDER}"), format!("codec = {CHARGE}"));
    let listen = "listen = \"127.0.0.1:0\"";
    assert!(
        refused(&order, &format!("with = [\"x\"]\n{listen}\n{charge}"))
            .contains("exchanges nothing with `x`")
    );
    assert!(
        refused(&order, &format!("with = [\"b\"]\n{charge}"))
            .contains("where is the component of `s with b`")
    );
    let json = "with = [\"b\"]\nlisten = \"127.0.0.1:0\"\ncodec = { kind = \"json\" }";
    assert!(refused(&order, json).contains("speaks HTTP at all of them"));
    let other = "upstream = \"127.0.0.1:4\"";
    let twice = format!(
        "with = [\"b\"]\n{listen}\n{charge}\n[[multiparty.role.endpoint]]\nwith = [\"b\"]\n{other}\n{charge}"
    );
    assert!(refused(&order, &twice).contains("messages with `b` go over another endpoint already"));
}
