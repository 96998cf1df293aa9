//! Deadlines on real connections: a slow server, a client that does not read, sessions with random delays around the limits.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use super::support::*;

/// The guard of `talk.scr` whose server has to answer `Get` within so many milliseconds.
fn timed(upstream: &str, within: u64, extra: &str) -> Setup {
    let protocol = PROTOCOL.replace(
        "Value(value: int) from server to client;",
        &format!("Value(value: int) from server to client within {within}ms;"),
    );
    let folder = Folder::new();
    let text = config(upstream, extra, JOURNAL).replace("FOLDER", &folder.0.display().to_string());
    std::fs::write(folder.0.join("talk.scr"), protocol).unwrap();
    let guard = referee_guard::Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    Setup { guard, address, folder }
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

#[test]
fn a_slow_server_is_blamed_and_only_it() {
    let (address, _) = server(|mut peer| {
        peer.say("HELLO you\r\n");
        peer.hear("GET a\r\n");
        peer.say("VALUE 1\r\n");
        peer.hear("GET b\r\n");
        pause(700);
        peer.say("VALUE 2\r\n");
        peer.hear("QUIT\r\n");
        peer.say("BYE\r\n");
    });
    let setup = timed(&address, 100, "tolerance = \"100ms\"\n");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    // The client may take its time: nothing is said about it.
    pause(500);
    for (get, value) in [("GET a\r\n", "VALUE 1\r\n"), ("GET b\r\n", "VALUE 2\r\n"), ("QUIT\r\n", "BYE\r\n")]
    {
        client.say(get);
        client.hear(value);
    }
    drop(client);
    let verdicts = setup.verdicts();
    let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!((verdict.blame.as_deref(), &*verdict.kind), (Some("server"), "deadline"));
    assert_eq!((verdict.certain, verdict.event, verdict.got.as_deref()), (true, 3, None));
    assert!(verdict.message.contains("no `Value` came within 100 ms of `Get`"), "{}", verdict.message);
    assert!(verdict.rule.as_deref().is_some_and(|rule| rule.starts_with("talk.scr:")), "{verdict:?}");
}

#[test]
fn an_http_client_whose_server_is_late_is_told_so() {
    let (address, _) = server(|mut peer| peer.rest());
    let folder = Folder::new();
    let text = format!(
        "threads = 1\n{}[[listener]]\nname = \"talk\"\nlisten = \"127.0.0.1:0\"\nupstream = \"{address}\"\n\
         deadlines = \"enforce\"\ntolerance = \"50ms\"\nprotocol = '''protocol P(role client, role server) {{ rec X {{\n\
         Request(method: string) from client to server; Response(status: int) from server to client within 200ms;\n\
         continue X; }} }}'''\n[listener.codec]\nkind = \"http\"\n[listener.codec.messages]\n\
         Request = {{ pattern = \"* *\", fields = {{ method = \"method\" }} }}\n\
         Response = {{ pattern = \"*\", fields = {{ status = \"status\" }} }}\n",
        JOURNAL.replace("FOLDER", &folder.0.display().to_string())
    );
    let guard = referee_guard::Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    let setup = Setup { guard, address, folder };
    let mut client = setup.connect();
    client.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = client.rest();
    assert!(answer.starts_with("HTTP/1.1 504 Gateway Timeout\r\n"), "{answer}");
    drop(client);
    let verdicts = setup.verdicts();
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    assert_eq!(verdicts[0].blame.as_deref(), Some("server"));
    assert_eq!(verdicts[0].record.action.map(|action| action.name()), Some("closed"));
}

#[test]
fn who_waits_for_a_client_that_does_not_read_is_not_late() {
    // Long answers go to a client that does not read them: the server is stuck in one, and the next is late for that reason alone.
    let text = "x".repeat(3_000_000);
    let said = text.clone();
    let (address, server) = server(move |mut peer| {
        peer.say("HELLO you\r\n");
        peer.hear("SET a 1\r\n");
        peer.say(&format!("NO {said}\r\n"));
        peer.hear("GET a\r\n");
        peer.say("VALUE 1\r\n");
        peer.rest();
    });
    let limits = "tolerance = \"50ms\"\nlimits = { message = \"8MiB\" }\n";
    let setup = timed(&address, 200, limits);
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("SET a 1\r\nGET a\r\n");
    pause(1_000);
    client.hear(&format!("NO {text}\r\nVALUE 1\r\n"));
    client.say("QUIT\r\n");
    client.reset();
    drop(setup.guard.metrics());
    let verdicts = setup.verdicts();
    assert!(verdicts.iter().all(|verdict| verdict.kind != "deadline"), "{verdicts:?}");
    let _ = server.join();
}

#[test]
fn the_times_of_a_preset_are_there_when_asked_for() {
    let folder = Folder::new();
    for (deadlines, timed) in [("", false), ("deadlines = \"report\"\n", true)] {
        for preset in ["smtp", "http", "redis", "postgres", "mqtt"] {
            let text = format!(
                "[[listener]]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"\nprotocol = \"preset:{preset}\"\n{deadlines}"
            );
            let words = plans(&folder, &text).in_words().join("\n");
            assert_eq!(words.contains("deadlines are reported"), timed && preset == "smtp", "{words}");
        }
    }
}

/// The property of `docs/guard.md`.
#[test]
fn a_client_of_mqtt_that_falls_silent_is_noticed_after_one_and_a_half_keep_alives() {
    let page = include_str!("../../../../docs/guard.md");
    let property = page.split_once("```hml\n").unwrap().1.split_once("```").unwrap().0;
    let (address, server) = server(|mut peer| {
        // Connect, with a keep-alive of a second.
        peer.hear("\x10\x10\0\x04MQTT\x04\x02\0\x01\0\x04test");
        peer.say("\x20\x02\0\0");
        peer.rest()
    });
    let folder = Folder::new();
    std::fs::write(folder.0.join("keep-alive.hml"), property).unwrap();
    let text = format!(
        "threads = 1\n{}[[listener]]\nname = \"talk\"\nlisten = \"127.0.0.1:0\"\nupstream = \"{address}\"\n\
         protocol = \"preset:mqtt\"\nproperties = \"keep-alive.hml\"\n",
        JOURNAL.replace("FOLDER", &folder.0.display().to_string())
    );
    let guard = referee_guard::Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let address = guard.addresses()[0].1.clone();
    let setup = Setup { guard, address, folder };
    let mut client = setup.connect();
    client.say("\x10\x10\0\x04MQTT\x04\x02\0\x01\0\x04test");
    client.hear("\x20\x02\0\0");
    // Whoever publishes need not ping.
    pause(900);
    client.say("\x30\x05\0\x01thi");
    let published = Instant::now();
    assert_eq!(client.rest(), "");
    let silent = published.elapsed().as_millis();
    assert!((1_400..2_600).contains(&silent), "{silent} ms");
    drop(client);
    assert_eq!(server.join().unwrap(), "\x30\x05\0\x01thi");
    let verdicts = setup.verdicts();
    let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!((verdict.property.as_deref(), verdict.certain), (Some("keep_alive"), true));
    assert!(verdict.message.contains("no event came within 1500 ms of event 2"), "{}", verdict.message);
}

/// A network to `upstream` on which every byte takes `delay`, in either direction.
fn delaying(upstream: &str, delay: Duration) -> String {
    let (listener, upstream) = (TcpListener::bind("127.0.0.1:0").unwrap(), upstream.to_owned());
    let address = listener.local_addr().unwrap().to_string();
    let carry = move |mut from: TcpStream, mut to: TcpStream| {
        let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = from.read(&mut buffer) {
                if sender.send((Instant::now() + delay, buffer[..count].to_vec())).is_err() || count == 0 {
                    break;
                }
            }
        });
        std::thread::spawn(move || {
            for (due, bytes) in receiver {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if bytes.is_empty() || to.write_all(&bytes).is_err() {
                    let _ = to.shutdown(Shutdown::Write);
                    break;
                }
            }
        });
    };
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&upstream) else { continue };
            carry(client.try_clone().unwrap(), server.try_clone().unwrap());
            carry(server, client);
        }
    });
    address
}

/// Two questions, answered after so many milliseconds.
fn answering_after(milliseconds: u64) -> String {
    server(move |mut peer| {
        peer.say("HELLO you\r\n");
        for _ in 0..2 {
            peer.hear("GET a\r\n");
            pause(milliseconds);
            peer.say("VALUE 1\r\n");
        }
        peer.hear("QUIT\r\n");
        peer.say("BYE\r\n");
    })
    .0
}

/// Who is blamed for what after two questions.
fn blamed(setup: Setup) -> Vec<(Option<String>, String)> {
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    for (say, hear) in [("GET a\r\n", "VALUE 1\r\n"), ("GET a\r\n", "VALUE 1\r\n"), ("QUIT\r\n", "BYE\r\n")] {
        client.say(say);
        client.hear(hear);
    }
    drop(client);
    let verdicts = setup.verdicts();
    verdicts.iter().map(|verdict| (verdict.blame.clone(), verdict.kind.clone())).collect()
}

#[test]
fn a_slow_network_towards_the_client_blames_nobody() {
    let mut setup = timed(&answering_after(0), 100, "tolerance = \"150ms\"\n");
    setup.address = delaying(&setup.address, Duration::from_millis(700));
    assert_eq!(blamed(setup), []);
}

#[test]
fn a_slow_network_towards_the_server_is_what_tolerance_vouches_for() {
    let slow = |answer: u64, tolerance: &str| {
        let upstream = delaying(&answering_after(answer), Duration::from_millis(250));
        blamed(timed(&upstream, 100, &format!("tolerance = \"{tolerance}\"\n")))
    };
    let server = || (Some("server".to_owned()), "deadline".to_owned());
    assert_eq!(slow(0, "500ms"), []);
    assert_eq!(slow(1_200, "300ms"), [server(), server()]);
    // Nobody can tell a network that is slower than vouched for from a side that is slow: see `docs/limits.md`.
    assert_eq!(slow(0, "50ms"), [server(), server()]);
}

/// How long the answers to each client really took.
type Took = Mutex<HashMap<String, Vec<Duration>>>;

/// A server whose answers take as long as it is asked for, and how long the answers to each client really took.
fn dawdling() -> (String, Arc<Took>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 1024).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let took = Arc::new(Took::default());
    let all = Arc::clone(&took);
    let dawdle = move |mut stream: TcpStream, all: &Took| -> Option<()> {
        stream.set_nodelay(true).ok()?;
        stream.write_all(b"HELLO you\r\n").ok()?;
        let mut buffer = [0; 256];
        loop {
            let count = stream.read(&mut buffer).ok()?;
            let read = Instant::now();
            let line = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let Some((client, delay)) =
                line.trim_end().strip_prefix("GET ").and_then(|it| it.split_once('-'))
            else {
                return stream.write_all(b"BYE\r\n").ok();
            };
            pause(delay.parse().ok()?);
            all.lock().unwrap().entry(client.to_owned()).or_default().push(read.elapsed());
            stream.write_all(b"VALUE 7\r\n").ok()?;
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let all = Arc::clone(&all);
            let serve = move || dawdle(stream, &all);
            std::thread::Builder::new().stack_size(128 << 10).spawn(serve).unwrap();
        }
    });
    (address, took)
}

/// How many sessions, and requests in each: `REFEREE_SESSIONS=1000` is what `docs/benchmarks.md` tells of.
fn sessions() -> (u64, u64) {
    let asked = std::env::var("REFEREE_SESSIONS").ok().and_then(|text| text.parse().ok());
    asked.map_or((200, 5), |sessions| (sessions, 10))
}

/// Random delays around the limits: nobody who was in time is blamed, nobody who was not is missed.
#[test]
fn many_sessions_with_delays_around_the_limits() {
    let (sessions, rounds) = sessions();
    // In time, in doubt, and late by more than the tolerance both ways.
    const WITHIN: u64 = 300;
    const LIMIT: u64 = WITHIN + 2 * 400;
    let (address, took) = dawdling();
    let setup = timed(&address, WITHIN, "tolerance = \"400ms\"\n");
    let clients: Vec<_> = (0..sessions)
        .map(|number| {
            let mut client = setup.connect();
            let source = client.0.local_addr().unwrap().to_string();
            let talk = move || {
                client.hear("HELLO you\r\n");
                for round in 0..rounds {
                    let chance = (number * 7 + round * 13) % 20;
                    let delay = if chance == 0 { LIMIT + 250 } else { chance * 15 };
                    client.say(&format!("GET {number}-{delay}\r\n"));
                    client.hear("VALUE 7\r\n");
                }
                client.say("QUIT\r\n");
                client.hear("BYE\r\n");
            };
            let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(talk).unwrap();
            (number.to_string(), source, thread)
        })
        .collect();
    let sources: HashMap<String, String> = clients
        .into_iter()
        .map(|(number, source, thread)| {
            thread.join().unwrap();
            (number, source)
        })
        .collect();
    let verdicts = setup.verdicts();
    let took = took.lock().unwrap();
    let (mut late, mut blamed) = (0, 0);
    for (number, source) in &sources {
        let own: Vec<_> = verdicts.iter().filter(|v| v.source.as_deref() == Some(source)).collect();
        assert!(own.iter().all(|verdict| verdict.kind == "deadline"), "{own:?}");
        let count = |most: u64| took[number].iter().filter(|it| it.as_millis() as u64 > most).count();
        let found = own.iter().filter(|verdict| verdict.blame.as_deref() == Some("server")).count();
        assert!(found <= count(WITHIN), "{number}: {:?} {own:?}", took[number]);
        assert!(own.len() >= count(LIMIT + 200), "{number}: {:?} {own:?}", took[number]);
        (late, blamed) = (late + count(LIMIT + 200), blamed + found);
    }
    assert!(late > 20 && blamed > 0, "{late} {blamed}");
}
