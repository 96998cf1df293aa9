//! The shipped protocols where they are most often attacked, and how their servers may leave.

use std::net::TcpListener;

use referee_guard::Guard;

use super::support::*;

struct Preset {
    guard: Guard,
    _folder: Folder,
}

fn preset(name: &str, upstream: &str, extra: &str) -> Preset {
    let folder = Folder::new();
    let text = format!(
        "threads = 1\n[[listener]]\nname = \"talk\"\nlisten = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\n\
         protocol = \"preset:{name}\"\n{extra}\n"
    );
    let guard = Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    Preset { guard, _folder: folder }
}

impl Preset {
    fn connect(&self) -> Peer {
        Peer::new(std::net::TcpStream::connect(&self.guard.addresses()[0].1).unwrap())
    }

    /// The verdicts, as (role, kind), once all sessions have ended.
    fn verdicts(&self) -> Vec<(String, String)> {
        assert!(self.guard.wait_idle(std::time::Instant::now() + PATIENCE));
        let page = self.guard.metrics();
        let value = |line: &str, key: &str| {
            let start = line.find(&format!("{key}=\"")).unwrap() + key.len() + 2;
            line[start..].split('"').next().unwrap().to_owned()
        };
        let lines = page.lines().filter(|line| line.starts_with("referee_verdicts_total{"));
        lines.map(|line| (value(line, "role"), value(line, "kind"))).collect()
    }

    fn closed(&self, why: &str) -> Option<f64> {
        let page = self.guard.metrics();
        metric(&page, &format!("referee_sessions_closed_total{{listener=\"talk\",why=\"{why}\"}}"))
    }
}

fn blame(role: &str, kind: &str) -> Vec<(String, String)> {
    vec![(role.to_owned(), kind.to_owned())]
}

/// What is sent after STARTTLS and before its answer would be read by the server as if it had come under TLS.
#[test]
fn commands_smuggled_behind_starttls_do_not_pass() {
    for (cut, injected) in [
        (false, "MAIL FROM:<evil@client.test>\r\nRCPT TO:<x@y>\r\n"),
        (true, "MAIL FROM:<evil@client.test>\r\n"),
        (false, "MAI"),
        (true, "NOOP"),
        (false, "\x16\x03\x01"),
    ] {
        let (upstream, server) = server(|mut peer| {
            peer.say("220 mx\r\n");
            peer.hear("EHLO me\r\n");
            peer.say("250 STARTTLS\r\n");
            // Nothing but this: a server that has read more would take it for part of what follows.
            peer.hear("STARTTLS\r\n");
            std::thread::sleep(std::time::Duration::from_millis(100));
            peer.say("220 go ahead\r\n");
            peer.rest()
        });
        let preset = preset("smtp", &upstream, "");
        let mut client = preset.connect();
        client.hear("220 mx\r\n");
        client.say("EHLO me\r\n");
        client.hear("250 STARTTLS\r\n");
        if cut {
            client.say("STARTTLS\r\n");
            client.say(injected);
        } else {
            client.say(&format!("STARTTLS\r\n{injected}"));
        }
        assert_eq!(client.rest(), "220 go ahead\r\n");
        assert_eq!(server.join().unwrap(), "", "{injected:?} has reached the server");
        drop(client);
        let [(role, _)] = preset.verdicts().try_into().unwrap();
        assert_eq!(role, "client", "{}", preset.guard.metrics());
    }
}

/// Even behind other commands that were sent ahead.
#[test]
fn starttls_may_be_the_last_of_a_group_and_nothing_may_follow_it() {
    let (upstream, server) = server(|mut peer| {
        peer.say("220 mx\r\n");
        peer.hear("EHLO me\r\n");
        peer.say("250 STARTTLS\r\n");
        peer.hear("NOOP\r\nNOOP\r\nSTARTTLS\r\n");
        peer.say("250 ok\r\n250 ok\r\n");
        std::thread::sleep(std::time::Duration::from_millis(50));
        peer.say("220 go ahead\r\n");
        peer.rest()
    });
    let preset = preset("smtp", &upstream, "");
    let mut client = preset.connect();
    client.hear("220 mx\r\n");
    client.say("EHLO me\r\n");
    client.hear("250 STARTTLS\r\n");
    client.say("NOOP\r\nNOOP\r\nSTARTTLS\r\nNOOP\r\n");
    assert_eq!(client.rest(), "250 ok\r\n250 ok\r\n220 go ahead\r\n");
    assert_eq!(server.join().unwrap(), "");
    drop(client);
    assert_eq!(preset.verdicts().len(), 1);
}

#[test]
fn after_starttls_everything_passes_and_after_its_refusal_smtp_goes_on() {
    let (upstream, server) = server(|mut peer| {
        peer.say("220 mx\r\n");
        peer.hear("EHLO me\r\n");
        peer.say("250 STARTTLS\r\n");
        peer.hear("STARTTLS\r\n");
        peer.say("454 not now\r\n");
        // Sent ahead of the refusal, which makes it an ordinary command.
        peer.hear("NOOP\r\n");
        peer.say("250 ok\r\n");
        peer.hear("STARTTLS\r\n");
        peer.say("220 go ahead\r\n");
        peer.hear("\x16\x03\x01 whatever");
        peer.say("\x16\x03\x03 indeed");
    });
    let preset = preset("smtp", &upstream, "");
    let mut client = preset.connect();
    client.hear("220 mx\r\n");
    client.say("EHLO me\r\n");
    client.hear("250 STARTTLS\r\n");
    client.say("STARTTLS\r\nNOOP\r\n");
    client.hear("454 not now\r\n250 ok\r\n");
    client.say("STARTTLS\r\n");
    client.hear("220 go ahead\r\n");
    client.say("\x16\x03\x01 whatever");
    client.hear("\x16\x03\x03 indeed");
    server.join().unwrap();
    drop(client);
    assert!(preset.verdicts().is_empty());
    assert_eq!(metric(&preset.guard.metrics(), "referee_sessions_unchecked_total"), Some(1.0));
}

#[test]
fn a_startup_smuggled_behind_a_request_for_tls_does_not_pass() {
    let request = "\0\0\0\x08\x04\u{d2}\x16\x2f".chars().map(|c| c as u8).collect::<Vec<_>>();
    let (upstream, server) = server(move |mut peer| {
        let mut heard = [0; 8];
        std::io::Read::read_exact(&mut peer.0, &mut heard).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        peer.say("S");
        peer.rest()
    });
    let preset = preset("postgres", &upstream, "");
    let mut client = preset.connect();
    let startup = b"\0\0\0\x10\0\x03\0\0user\0x\0\0";
    std::io::Write::write_all(&mut client.0, &[&request[..], startup].concat()).unwrap();
    assert_eq!(client.rest(), "S");
    assert_eq!(server.join().unwrap(), "");
    drop(client);
    assert_eq!(preset.verdicts().len(), 1);
}

/// Where it is not its turn, a server may say what may come anywhere, and nothing else.
#[test]
fn out_of_turn_a_server_may_say_that_it_goes() {
    for (unasked, verdicts) in [("421 4.4.2 timeout\r\n", vec![]), ("250 ok\r\n", blame("server", "order"))] {
        let (upstream, server) = server(move |mut peer| {
            peer.say("220 mx\r\n");
            peer.hear("EHLO me\r\n");
            peer.say("250 hello\r\n");
            peer.say(unasked);
        });
        let preset = preset("smtp", &upstream, "");
        let mut client = preset.connect();
        client.say("EHLO me\r\n");
        let heard = client.rest();
        server.join().unwrap();
        assert_eq!(heard.ends_with(unasked), verdicts.is_empty(), "{heard}");
        drop(client);
        assert_eq!(preset.verdicts(), verdicts);
    }
}

/// Who may close instead of answering is for each protocol to say.
#[test]
fn a_server_that_closes_instead_of_answering() {
    // RFC 5321, 3.8: a server answers, or says 421 before it goes.
    let smtp = |last: &'static str| {
        let (upstream, server) = server(move |mut peer| {
            peer.say("220 mx\r\n");
            peer.hear("EHLO me\r\n");
            peer.say("250 hello\r\n");
            peer.hear("MAIL FROM:<a@b>\r\n");
            peer.say(last);
        });
        let preset = preset("smtp", &upstream, "");
        let mut client = preset.connect();
        client.say("EHLO me\r\n");
        client.hear("220 mx\r\n250 hello\r\n");
        client.say("MAIL FROM:<a@b>\r\n");
        // Half a line is not passed on.
        assert_eq!(client.rest(), if last.ends_with('\n') { last } else { "" });
        server.join().unwrap();
        drop(client);
        preset.verdicts()
    };
    assert_eq!(smtp(""), blame("server", "premature-end"));
    assert_eq!(smtp("421 going down\r\n"), []);
    // Within a reply it is wrong in any protocol.
    assert_eq!(smtp("250-half"), blame("server", "premature-end"));

    // While it is the client's turn a server that has lost patience may go.
    let (upstream, server_thread) = server(|mut peer| {
        peer.say("220 mx\r\n");
        peer.hear("EHLO me\r\n");
        peer.say("250 hello\r\n");
    });
    let mail = preset("smtp", &upstream, "");
    let mut client = mail.connect();
    client.say("EHLO me\r\n");
    assert_eq!(client.rest(), "220 mx\r\n250 hello\r\n");
    server_thread.join().unwrap();
    drop(client);
    assert_eq!(mail.verdicts(), []);

    // HTTP and Redis close idle connections without a word, so nobody can tell whether the request had arrived.
    for (name, question) in [("http", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), ("redis", "PING\r\n")] {
        let (upstream, server) = server(move |mut peer| peer.hear(question));
        let preset = preset(name, &upstream, "");
        let mut client = preset.connect();
        client.say(question);
        assert_eq!(client.rest(), "");
        server.join().unwrap();
        drop(client);
        assert_eq!(preset.verdicts(), []);
        assert_eq!(preset.closed("unanswered"), Some(1.0), "{}", preset.guard.metrics());
    }

    // Where there is no server at all, an HTTP client is told so by a status it knows.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let web = preset("http", &nobody, "");
    let mut client = web.connect();
    client.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    let answer = client.rest();
    assert!(
        answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n")
            && answer.ends_with("\r\n\r\nthe server cannot be reached\n"),
        "{answer}"
    );
    drop(client);
    assert_eq!((web.verdicts(), web.closed("upstream")), (Vec::new(), Some(1.0)));
    let redis = preset("redis", &nobody, "");
    assert_eq!(redis.connect().rest(), "");

    // A response that breaks off is wrong.
    let (upstream, server_thread) = server(|mut peer| {
        peer.hear("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    });
    let web = preset("http", &upstream, "");
    let mut client = web.connect();
    client.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(client.rest().ends_with("half"));
    server_thread.join().unwrap();
    drop(client);
    assert_eq!(web.verdicts(), blame("server", "premature-end"));
}

#[test]
fn commands_behind_quit_are_reported_and_those_a_shutdown_overtakes_are_not() {
    for (said, passes, answer, verdicts) in [
        ("QUIT\r\nMAIL FROM:<a@b>\r\n", "QUIT\r\n", "221 bye\r\n", blame("client", "after-end")),
        (
            "NOOP\r\nQUIT\r\nNOOP\r\n",
            "NOOP\r\nQUIT\r\n",
            "250 ok\r\n221 bye\r\n",
            blame("client", "after-end"),
        ),
        ("AUTH PLAIN x\r\nMAIL FROM:<a@b>\r\n", "AUTH PLAIN x\r\n", "421 going down\r\n", vec![]),
    ] {
        let (upstream, server) = server(move |mut peer| {
            peer.say("220 mx\r\n");
            peer.hear("EHLO me\r\n");
            peer.say("250 hello\r\n");
            peer.hear(passes);
            peer.say(answer);
            peer.rest()
        });
        let preset = preset("smtp", &upstream, "");
        let mut client = preset.connect();
        client.say("EHLO me\r\n");
        client.hear("220 mx\r\n250 hello\r\n");
        client.say(said);
        client.hear(answer);
        client.stop_sending();
        assert_eq!(client.rest(), "");
        assert_eq!(server.join().unwrap(), "", "{said:?}");
        drop(client);
        assert_eq!(preset.verdicts(), verdicts, "{said:?}");
    }
}

/// RFC 9110, 10.1.1 and RFC 9112, 9.6: after a final response nobody needs the rest of the request. Before it, who breaks off an
/// upload is no wrongdoer, either.
#[test]
fn a_request_may_be_abandoned() {
    let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n";
    for (length, sent) in
        [("Content-Length: 9", ""), ("Content-Length: 9", "half"), ("Transfer-Encoding: chunked", "4\r\nha")]
    {
        for answer in [
            "HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n",
            // Not answered yet.
            "HTTP/1.1 100 Continue\r\n\r\n",
        ] {
            let said = format!("{head}{length}\r\n\r\n{sent}");
            let heard = said.clone();
            let (upstream, server) = server(move |mut peer| {
                peer.hear(&heard);
                peer.say(answer);
                peer.rest()
            });
            let preset = preset("http", &upstream, "");
            let mut client = preset.connect();
            client.say(&said);
            client.hear(answer);
            drop(client);
            assert_eq!(server.join().unwrap(), "");
            assert_eq!(preset.verdicts(), [], "{length} {sent:?} {answer:?}");
        }
    }
}

/// PostgreSQL says why it goes; who does not has crashed.
#[test]
fn postgres_goes_with_a_fatal_error() {
    let frame = |tag: &str, content: &[u8]| {
        [tag.as_bytes(), &(content.len() as u32 + 4).to_be_bytes(), content].concat()
    };
    let ready = [frame("R", &0_u32.to_be_bytes()), frame("Z", b"I")].concat();
    let fatal = frame("E", b"SFATAL\0Mterminating connection\0\0");
    for (last, verdicts) in [(Vec::new(), blame("server", "premature-end")), (fatal, vec![])] {
        let (ready, query) = (ready.clone(), frame("Q", b"select 1\0"));
        let expected = query.clone();
        let (upstream, server) = server(move |mut peer| {
            let mut heard = [0; 16];
            std::io::Read::read_exact(&mut peer.0, &mut heard).unwrap();
            std::io::Write::write_all(&mut peer.0, &ready).unwrap();
            let mut heard = vec![0; expected.len()];
            std::io::Read::read_exact(&mut peer.0, &mut heard).unwrap();
            std::io::Write::write_all(&mut peer.0, &last).unwrap();
        });
        let preset = preset("postgres", &upstream, "");
        let mut client = preset.connect();
        std::io::Write::write_all(&mut client.0, b"\0\0\0\x10\0\x03\0\0user\0x\0\0").unwrap();
        std::io::Write::write_all(&mut client.0, &query).unwrap();
        let _ = client.rest();
        server.join().unwrap();
        drop(client);
        assert_eq!(preset.verdicts(), verdicts);
    }
}
