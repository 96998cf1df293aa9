//! The golden endpoints at work: against each other, against bytes that others wrote, over every link.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the links are tried over real connections"
)]
#![allow(
    unreachable_pub,
    missing_docs,
    unused_qualifications,
    reason = "generated files are public to their crate"
)]

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use referee_endpoint::{
    Asynchronous, Blocking, Buffered, Codec, Error, Expect, JsonLines, Local, LocalTask, Message, Opaque,
    Peer, Polled, Session as _, local, local_tasks,
};

#[path = "golden/auth.rs"]
mod auth;
#[path = "golden/auth3.rs"]
mod auth3;
#[path = "golden/auth_client.rs"]
mod auth_client;
#[path = "golden/game.rs"]
mod game;
#[path = "golden/relay.rs"]
mod relay;
#[path = "golden/rounds.rs"]
mod rounds;
#[path = "golden/shop.rs"]
mod shop;
#[path = "golden/smtp_client.rs"]
mod smtp_client;
#[path = "golden/timed.rs"]
mod timed;

/// What the assertions of `shop.scr` call.
mod predicates {
    use referee_endpoint::Opaque;

    pub(crate) fn known_customer(name: &str, account: &Opaque) -> Result<bool, &'static str> {
        match account.0.as_str() {
            "broken" => Err("the database is down"),
            account => Ok(account == format!("account of {name}")),
        }
    }
}

/// The links of two roles that talk to each other.
fn pair<M>(first: &str, second: &str) -> (Local<M>, Local<M>) {
    let mut links = local(&[(first, &[second]), (second, &[first])]).into_iter();
    (links.next().unwrap(), links.next().unwrap())
}

fn serve(link: Local<auth::Message>) -> Result<usize, Error> {
    use auth::server::{AfterAuth, AfterGet, AfterSucc, AfterSuccEvent, Start, StartEvent};
    let mut start = Start::new(link);
    let mut served = 0;
    loop {
        let StartEvent::Auth { uname, pwd, next } = start.recv()?;
        let next: AfterAuth<_> = next;
        if pwd != "secret" {
            start = next.fail(401)?;
            continue;
        }
        let mut session: AfterSucc<_> = next.succ(format!("token of {uname}"))?;
        start = loop {
            match session.recv()? {
                AfterSuccEvent::Get { resource, next, .. } => {
                    let next: AfterGet<_> = next;
                    served += 1;
                    if resource == "slow" {
                        break next.timeout()?;
                    }
                    session = next.res(format!("<{resource}>"))?;
                }
                AfterSuccEvent::Rvk { next, .. } => {
                    next.close();
                    return Ok(served);
                }
            }
        };
    }
}

fn log_in(
    link: Local<auth::Message>,
    pwd: &str,
) -> Result<auth::client::AfterSucc<Local<auth::Message>>, Error> {
    use auth::client::{AfterAuthEvent, Start};
    match Start::new(link).auth("bob", pwd)?.recv()? {
        AfterAuthEvent::Succ { tok, next } => {
            assert_eq!(tok, "token of bob");
            Ok(next)
        }
        AfterAuthEvent::Fail { code, next } => {
            assert_eq!(code, 401);
            match next.auth("bob", "secret")?.recv()? {
                AfterAuthEvent::Succ { next, .. } => Ok(next),
                AfterAuthEvent::Fail { .. } => panic!("the password is right"),
            }
        }
    }
}

#[test]
fn two_endpoints_talk_to_each_other() {
    use auth::client::AfterGetEvent;
    let (client, server) = pair("client", "server");
    let server = thread::spawn(|| serve(server));
    let session = log_in(client, "wrong").unwrap();
    let AfterGetEvent::Res { content, next } = session.get("page", "token of bob").unwrap().recv().unwrap()
    else {
        panic!("the page is there")
    };
    assert_eq!(content, "<page>");
    let AfterGetEvent::Timeout { next } = next.get("slow", "token of bob").unwrap().recv().unwrap() else {
        panic!("it is slow")
    };
    let next = next.auth("bob", "secret").unwrap().recv().unwrap();
    let auth::client::AfterAuthEvent::Succ { tok, next } = next else { panic!("the password is right") };
    next.rvk(tok).unwrap().close();
    assert_eq!(server.join().unwrap(), Ok(2));
}

#[test]
fn what_the_protocol_forbids_is_refused_before_it_leaves() {
    let (client, server) = pair("client", "server");
    let server = thread::spawn(|| serve(server));
    let session = log_in(client, "secret").unwrap();
    assert_eq!(session.admits_get("page", "token of bob"), Ok(()));
    let refused = session.get("page", "token of eve").unwrap_err();
    assert_eq!(refused, Error::Refused { label: "Get", assertion: "reqTok == tok" });
    assert_eq!(refused.blame(), None);
    assert_eq!(refused.to_string(), "`Get` was not sent: `reqTok == tok` does not hold");
    // The session was dropped with it, which the server is told of. The message never arrived.
    assert_eq!(server.join().unwrap(), Err(Error::Ended { by: "client" }));
}

#[test]
fn dropping_a_session_is_an_abort_on_every_link() {
    let (client, server) = pair("client", "server");
    drop(log_in_later(client));
    assert_eq!(serve(server), Err(Error::Ended { by: "client" }));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let still_open = stream.try_clone().unwrap();
    let (accepted, _) = listener.accept().unwrap();
    drop(auth::client::Start::new(Blocking::new(stream)));
    let error = auth::server::Start::new(Blocking::new(accepted)).recv().unwrap_err();
    assert_eq!(error, Error::Ended { by: "client" });
    drop(still_open);
}

fn log_in_later(link: Local<auth::Message>) -> auth::client::Start<Local<auth::Message>> {
    auth::client::Start::new(link)
}

/// A peer that writes bytes, and what an endpoint says about them.
fn server_hears(lines: &str) -> Error {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(lines.as_bytes()).unwrap();
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    let session = || -> Result<(), Error> {
        let auth::server::StartEvent::Auth { next, .. } =
            auth::server::Start::new(Blocking::new(ours)).recv()?;
        let mut next = next.succ("t")?;
        loop {
            match next.recv()? {
                auth::server::AfterSuccEvent::Get { next: asked, .. } => next = asked.res("x")?,
                auth::server::AfterSuccEvent::Rvk { next, .. } => {
                    next.close();
                    return Ok(());
                }
            }
        }
    };
    session().unwrap_err()
}

#[test]
fn whoever_breaks_the_protocol_is_blamed() {
    let login = "{\"type\":\"Auth\",\"uname\":\"bob\",\"pwd\":\"x\"}\n";
    for (lines, shown) in [
        (
            "{\"type\":\"Auth\",\"uname\":\"123\",\"pwd\":\"x\"}\n",
            "client sent `Auth` although `uname.matches(\"[a-z]+\")` does not hold",
        ),
        ("{\"type\":\"Rvk\",\"rvkTok\":\"t\"}\n", "client sent `Rvk`; expected `Auth` from client"),
        (
            "{\"type\":\"Auth\",\"uname\":7,\"pwd\":\"x\"}\n",
            "client sent `Auth` with a `uname` of the wrong type",
        ),
        ("{\"type\":\"Auth\",\"uname\":\"bob\"}\n", "client sent `Auth` with a `pwd` of the wrong type"),
        ("hello\n", "client sent what is no message: neither a value nor a number"),
        (
            "{\"type\":\"Auth\",\"type\":\"Auth\"}\n",
            "client sent what is no message: an object with a name twice",
        ),
        (login, "client ended the session before its end"),
    ] {
        let error = server_hears(lines);
        assert_eq!((error.to_string().as_str(), error.blame()), (shown, Some("client")), "{lines}");
    }
    let error = server_hears(&format!("{login}{{\"type\":\"Get\",\"resource\":\"a\",\"reqTok\":\"u\"}}\n"));
    assert_eq!(error.to_string(), "client sent `Get` although `reqTok == tok` does not hold");
}

#[test]
fn the_file_of_one_role_speaks_with_the_file_of_both() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(|| -> Result<(), Error> {
        let auth::server::StartEvent::Auth { next, .. } =
            auth::server::Start::new(Blocking::new(theirs)).recv()?;
        let auth::server::AfterSuccEvent::Rvk { rvk_tok, next } = next.succ("é\n\"")?.recv()? else {
            panic!("it revokes at once")
        };
        assert_eq!(rvk_tok, "é\n\"");
        next.close();
        Ok(())
    });
    let started = auth_client::Start::new(Blocking::new(ours)).auth("bob", "").unwrap();
    let auth_client::AfterAuthEvent::Succ { tok, next } = started.recv().unwrap() else {
        panic!("it succeeds")
    };
    next.rvk(tok).unwrap().close();
    assert_eq!(server.join().unwrap(), Ok(()));
}

#[test]
fn without_io_a_receive_gives_the_state_back_until_the_message_is_whole() {
    let mut state = auth_client::Start::new(Buffered::new(1)).auth("bob", "x").unwrap();
    let sent = state.link().take(0);
    assert_eq!(sent, b"{\"type\":\"Auth\",\"uname\":\"bob\",\"pwd\":\"x\"}\n");
    let answer = b"{\"tok\": \"t\", \"more\": [1, {}], \"type\": \"Succ\"}\n";
    for (at, byte) in answer.iter().enumerate() {
        state.link().feed(0, &[*byte]);
        match state.recv().unwrap() {
            Polled::Waiting(waiting) => state = waiting,
            Polled::Event(auth_client::AfterAuthEvent::Succ { tok, mut next }) => {
                assert_eq!((at + 1, tok.as_str()), (answer.len(), "t"));
                assert!(!next.link().is_over());
                assert!(next.rvk("t").unwrap().close().is_over());
                return;
            }
            Polled::Event(other) => panic!("{other:?}"),
        }
    }
    panic!("the answer is whole");
}

/// Lines of JSON, and how many bytes were looked through for them.
#[derive(Debug, Default)]
struct Counting {
    lines: JsonLines,
    looked_at: Cell<usize>,
}

impl<M: Message> Codec<M> for Counting {
    fn encode(&mut self, message: &M, out: &mut Vec<u8>) -> Result<(), String> {
        self.lines.encode(message, out)
    }

    fn decode(
        &mut self,
        bytes: &[u8],
        from: Peer,
        expected: &'static [Expect],
    ) -> Result<Option<(M, usize)>, Error> {
        self.looked_at.set(self.looked_at.get() + bytes.len());
        self.lines.decode(bytes, from, expected)
    }

    fn may_be_whole(&self, bytes: &[u8], seen: usize) -> bool {
        self.looked_at.set(self.looked_at.get() + bytes.len() - seen);
        Codec::<M>::may_be_whole(&self.lines, bytes, seen)
    }
}

#[test]
fn a_long_line_that_comes_in_pieces_is_read_once() {
    let counting = Buffered::with_codec(1, Counting::default());
    let mut state = auth_client::Start::new(counting).auth("bob", "x").unwrap();
    let answer = format!("{{\"type\":\"Succ\",\"tok\":\"{}\"}}\n", "t".repeat(100_000));
    for piece in answer.as_bytes().chunks(10) {
        state.link().feed(0, piece);
        match state.recv().unwrap() {
            Polled::Waiting(waiting) => state = waiting,
            Polled::Event(auth_client::AfterAuthEvent::Succ { tok, mut next }) => {
                assert_eq!(tok.len(), 100_000);
                let looked_at = next.link().codec().looked_at.get();
                assert!(looked_at <= 2 * answer.len() + 100, "{looked_at} of {}", answer.len());
                return;
            }
            Polled::Event(other) => panic!("{other:?}"),
        }
    }
    panic!("the answer is whole");
}

#[test]
fn recursion_data_are_counted_by_both_sides() {
    let (host, player) = pair("host", "player");
    let player = thread::spawn(|| -> Result<(), Error> {
        let rounds::player::StartEvent::Begin { rounds: count, next } =
            rounds::player::Start::new(player).recv()?;
        assert_eq!(count, 2);
        let mut next = next;
        loop {
            match next.recv()? {
                rounds::player::AfterBeginEvent::Ask { next: asked, .. } => next = asked.answer("yes")?,
                rounds::player::AfterBeginEvent::End { next } => {
                    next.close();
                    return Ok(());
                }
            }
        }
    });
    let mut state = rounds::host::Start::new(host).begin(2).unwrap();
    assert!(state.admits_end().is_err());
    for left in [2, 1] {
        assert!(state.admits_ask(left + 1).is_err());
        let rounds::host::AfterAskEvent::Answer { text, next } = state.ask(left).unwrap().recv().unwrap();
        assert_eq!(text, "yes");
        state = next;
    }
    state.end().unwrap().close();
    assert_eq!(player.join().unwrap(), Ok(()));
}

#[test]
fn three_roles_over_threads() {
    let roles = [
        (auth3::s::ROLE, &auth3::s::PEERS[..]),
        (auth3::c::ROLE, &auth3::c::PEERS),
        (auth3::a::ROLE, &auth3::a::PEERS),
    ];
    let mut links = local(&roles).into_iter();
    let (s, c, a) = (links.next().unwrap(), links.next().unwrap(), links.next().unwrap());
    let client = thread::spawn(|| -> Result<usize, Error> {
        let mut state = auth3::c::Start::new(c);
        let mut logins = 0;
        loop {
            match state.recv()? {
                auth3::c::StartEvent::Login { next } => {
                    logins += 1;
                    state = next.passwd("secret")?;
                }
                auth3::c::StartEvent::Quit { next } => {
                    next.quit()?.close();
                    return Ok(logins);
                }
            }
        }
    });
    let authorizer = thread::spawn(|| -> Result<usize, Error> {
        let mut state = auth3::a::Start::new(a);
        let mut checked = 0;
        loop {
            match state.recv()? {
                auth3::a::StartEvent::Passwd { field1, next } => {
                    checked += 1;
                    state = next.auth(field1 == "secret")?;
                }
                auth3::a::StartEvent::Quit { next } => {
                    next.close();
                    return Ok(checked);
                }
            }
        }
    });
    let mut state = auth3::s::Start::new(s);
    for _ in 0..3 {
        let auth3::s::AfterLoginEvent::Auth { field1, next } = state.login().unwrap().recv().unwrap();
        assert!(field1);
        state = next;
    }
    state.quit().unwrap().close();
    assert_eq!((client.join().unwrap(), authorizer.join().unwrap()), (Ok(3), Ok(3)));
}

#[test]
fn a_state_that_waits_for_several_peers_takes_whoever_comes() {
    let roles = [("A", &relay::a::PEERS[..]), ("B", &relay::b::PEERS), ("C", &relay::c::PEERS)];
    let mut links = local(&roles).into_iter();
    let (a, b, c) = (links.next().unwrap(), links.next().unwrap(), links.next().unwrap());
    let c = thread::spawn(move || {
        let relay::c::StartEvent::Report { next } = relay::c::Start::new(c).recv().unwrap();
        next.close();
    });
    let b = thread::spawn(move || {
        let relay::b::StartEvent::Task { next } = relay::b::Start::new(b).recv().unwrap();
        next.report().unwrap().done().unwrap().close();
    });
    match relay::a::Start::new(a).task().unwrap().recv().unwrap() {
        relay::a::AfterTaskEvent::Done { next } => drop(next.close()),
        relay::a::AfterTaskEvent::Lost { .. } => panic!("nobody sends it"),
    }
    b.join().unwrap();
    c.join().unwrap();

    let (ours, _theirs) = UnixStream::pair().unwrap();
    let (other, _theirs_too) = UnixStream::pair().unwrap();
    let state = relay::a::Start::new(Blocking::with_peers([ours, other])).task().unwrap();
    let error = state.recv().unwrap_err();
    assert_eq!(error.blame(), None);
    assert!(error.to_string().starts_with("a blocking link cannot wait for several connections"), "{error}");
}

fn order(count: i64, price: f64) -> (shop::OrderArticle, i64, f64, (i64, bool)) {
    (shop::OrderArticle { id: 1, tags: vec!["tea".to_owned()] }, count, price, (2, true))
}

#[test]
fn every_type_travels_and_every_expression_is_computed() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let seller = thread::spawn(|| -> Result<i64, Error> {
        let shop::shop::StartEvent::Hello { account, key, next, .. } =
            shop::shop::Start::new(Blocking::new(theirs)).recv()?;
        assert_eq!((account.0.as_str(), key.as_slice()), ("account of ann", &b"\0key"[..]));
        let mut state = next;
        loop {
            match state.recv()? {
                shop::shop::AfterHelloEvent::Order { article, count, price, box_, next } => {
                    assert_eq!((article.tags.as_slice(), box_), (&["tea".to_owned()][..], (2, true)));
                    assert!(next.admits_confirm(0.5, "").is_err());
                    assert!(next.admits_refuse(&[String::new()]).is_err());
                    state = if count > 1 {
                        next.confirm(count as f64 * price, format!("order {count}"))?
                    } else {
                        next.refuse(vec!["too few".to_owned()])?
                    };
                }
                shop::shop::AfterHelloEvent::Bye { loop_, next } => {
                    next.close();
                    return Ok(loop_);
                }
            }
        }
    });
    let start = shop::customer::Start::new(Blocking::new(ours));
    let hello = |account: &str, key: &[u8]| start.admits_hello("ann", &Opaque::from(account), key, ());
    assert_eq!(hello("account of ann", b"\0key"), Ok(()));
    assert!(hello("account of ann", b"key").is_err());
    // A predicate that fails is nobody's fault, unless something else settles the matter.
    assert!(matches!(hello("broken", b"\0key"), Err(Error::Predicate { name: "knownCustomer", .. })));
    assert!(matches!(hello("broken", b"key"), Err(Error::Refused { .. })));
    let mut state = start.hello("ann", "account of ann", b"\0key".to_vec(), ()).unwrap();
    for (count, price, right) in [(0, 1.0, false), (i64::MAX, 1.0, false), (2, 99.0, false), (2, 1.5, true)] {
        let (article, count, price, which) = order(count, price);
        assert_eq!(state.admits_order(&article, count, price, &which).is_ok(), right, "{count} {price}");
    }
    for count in [2, 1, 3] {
        let (article, count, price, which) = order(count, 1.5);
        state = match state.order(article, count, price, which).unwrap().recv().unwrap() {
            shop::customer::AfterOrderEvent::Confirm { total, next, .. } => {
                assert!(total > 2.0 && count > 1);
                next
            }
            shop::customer::AfterOrderEvent::Refuse { reasons, next } => {
                assert_eq!((reasons.as_slice(), count), (&["too few".to_owned()][..], 1));
                next
            }
        };
    }
    assert!(state.admits_bye(3).is_err() && state.admits_bye(-8).is_ok());
    state.bye(2).unwrap().close();
    assert_eq!(seller.join().unwrap(), Ok(2));
}

#[test]
fn a_mail_client_over_lines() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    for label in ["220", "250", "250", "250", "354", "250", "221"] {
        let field = if label == "220" { "greeting" } else { "text" };
        writeln!(theirs, "{{\"type\":\"{label}\",\"{field}\":\"ok\"}}").unwrap();
    }
    let session = || -> Result<(), Error> {
        use smtp_client::*;
        let StartEvent::M220 { next, .. } = Start::new(Blocking::new(ours)).recv()?;
        let AfterHeloEvent::M250 { next, .. } = next.helo("here")?.recv()?;
        let AfterMailFromEvent::M250 { next, .. } = next.mail_from("a@b")?.recv()?;
        let AfterRcptToEvent::M250 { next, .. } = next.rcpt_to("c@d")?.recv()?;
        let AfterDataEvent::M354 { next, .. } = next.data()?.recv()?;
        let AfterContentEvent::M250 { next, .. } = next.content("hi")?.recv()?;
        let event = next.quit()?.recv()?;
        drop(event);
        Ok(())
    };
    assert_eq!(session(), Ok(()));
    let mut sent = String::new();
    theirs.read_to_string(&mut sent).unwrap();
    assert_eq!(sent.lines().count(), 6, "{sent}");
}

async fn play(player: game::player::Start<LocalTask<game::Message>>) -> Result<i64, Error> {
    let mut state = player;
    for num in 2.. {
        match state.guess(num).await?.recv().await? {
            game::player::AfterGuessEvent::Correct { ans, next } => {
                next.close();
                return Ok(ans);
            }
            game::player::AfterGuessEvent::Incorrect { next } => state = next,
        }
    }
    Ok(0)
}

#[tokio::test(flavor = "current_thread")]
async fn the_same_files_serve_tasks() {
    let mut links = local_tasks(&[("player", &["server"]), ("server", &["player"])]).into_iter();
    let (player, server) = (links.next().unwrap(), links.next().unwrap());
    let player = tokio::spawn(play(game::player::Start::new(player)));
    let mut state = game::server::Start::new(server);
    let tries = loop {
        match state.recv().await.unwrap() {
            game::server::StartEvent::Guess { num: 5, next } => {
                assert!(next.admits_correct(6).is_err());
                next.correct(5).await.unwrap().close();
                break 4;
            }
            game::server::StartEvent::Guess { next, .. } => state = next.incorrect().await.unwrap(),
            game::server::StartEvent::Quit { .. } => break 0,
        }
    };
    assert_eq!((player.await.unwrap(), tries), (Ok(5), 4));
}

#[tokio::test(flavor = "current_thread")]
async fn asynchronous_streams_carry_what_blocking_ones_do() {
    // Seven bytes at a time: every message is written and read in pieces.
    let (ours, theirs) = tokio::io::duplex(7);
    let server = tokio::spawn(async move {
        let start = game::server::Start::new(Asynchronous::new(theirs));
        match start.recv().await? {
            game::server::StartEvent::Guess { num, next } => next.correct(num).await?.close(),
            game::server::StartEvent::Quit { next } => next.close(),
        };
        Ok::<(), Error>(())
    });
    let player = game::player::Start::new(Asynchronous::new(ours));
    let event = player.guess(42).await.unwrap().recv().await.unwrap();
    let game::player::AfterGuessEvent::Correct { ans, next } = event else { panic!("it is right") };
    next.close();
    assert_eq!((ans, server.await.unwrap()), (42, Ok(())));

    let (ours, theirs) = tokio::io::duplex(64);
    drop(game::player::Start::new(Asynchronous::new(ours)));
    let error = game::server::Start::new(Asynchronous::new(theirs)).recv().await.unwrap_err();
    assert_eq!(error, Error::Ended { by: "player" });
    let (ours, _theirs) = tokio::io::duplex(64);
    let refused = game::player::Start::new(Asynchronous::new(ours)).guess(100).await.unwrap_err();
    assert_eq!(refused, Error::Refused { label: "Guess", assertion: "num > 1 && num < 100" });
}

/// A client that waits for an answer over a link with this tolerance, and the other end of its connection.
fn timed_client(
    tolerance: Duration,
) -> (impl Future<Output = Result<&'static str, Error>>, tokio::io::DuplexStream) {
    let (ours, theirs) = tokio::io::duplex(1024);
    let link = Asynchronous::new(ours).with_tolerance(tolerance);
    let waits = async {
        match timed::client::Start::new(link).ask("why?").await?.recv().await? {
            timed::client::AfterAskEvent::Answer { next, .. } => next.close(),
            timed::client::AfterAskEvent::Busy { next } => next.close(),
        };
        Ok("answered")
    };
    (waits, theirs)
}

#[tokio::test(start_paused = true)]
async fn a_link_with_a_timer_waits_as_long_as_the_protocol_says() {
    let (client, server) = timed_client(Duration::ZERO);
    let began = tokio::time::Instant::now();
    let late = client.await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert_eq!(late, Error::Late { by: "server", within: Duration::from_secs(5) });
    assert_eq!(late.to_string(), "server sent nothing within 5s");
    // How long the question was on its way is not known.
    assert_eq!(late.blame(), None);
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_has_begun_in_time_is_in_time() {
    let (client, mut server) = timed_client(Duration::ZERO);
    let answers = async move {
        tokio::time::sleep(Duration::from_secs(4)).await;
        server.write_all(b"{\"type\":").await.unwrap();
        tokio::time::sleep(Duration::from_secs(4)).await;
        server.write_all(b"\"Busy\"}\n").await.unwrap();
        server
    };
    let (said, _server) = tokio::join!(client, answers);
    assert_eq!(said, Ok("answered"));
}

#[tokio::test(start_paused = true)]
async fn what_may_be_on_its_way_is_waited_for() {
    for (tolerance, answered) in [(2, true), (0, false)] {
        let (client, mut server) = timed_client(Duration::from_secs(tolerance));
        let answers = async move {
            tokio::time::sleep(Duration::from_secs(6)).await;
            let _ = server.write_all(b"{\"type\":\"Busy\"}\n").await;
            server
        };
        let (said, _server) = tokio::join!(client, answers);
        assert_eq!(said.is_ok(), answered, "{said:?}");
    }
}
