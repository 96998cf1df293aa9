//! Peers that mean harm, or are broken, against a guard in a process of its own. Each case asserts two things: the guard's
//! memory stays within what its limits allow, and sessions that behave are served meanwhile.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::support::*;

const MIB: usize = 1 << 20;
/// What the allocator and the threads may take besides: it reserves some MiB for each thread and size, once.
const SLACK: usize = 16 * MIB;

/// A guard with small limits, and sessions that behave.
struct Arena {
    guard: Process,
    address: String,
    admin: String,
    before: usize,
    stop: Arc<AtomicBool>,
    innocent: Vec<(Arc<AtomicUsize>, JoinHandle<()>)>,
    _folder: Folder,
}

impl Arena {
    /// `limits` are the listener's; what else it says goes into `extra`.
    fn new(limits: &str, extra: &str) -> Self {
        Self::before(&talkative(), limits, extra)
    }

    fn before(upstream: &str, limits: &str, extra: &str) -> Self {
        let folder = Folder::new();
        let (hostile, behaving) = (listener("hostile", upstream, limits, extra), talkative());
        let text = format!(
            "threads = 2\n[admin]\nlisten = \"127.0.0.1:0\"\n{hostile}{}",
            listener("innocent", &behaving, "", "")
        );
        let path = folder.0.join("guard.toml");
        std::fs::write(&path, text).unwrap();
        let guard = Process::start(&path, "ulimit -n $(ulimit -Hn);");
        let admin = guard.address("admin on");
        let address = guard.address("hostile listens on");
        let other = guard.address("innocent listens on");
        let stop = Arc::new(AtomicBool::new(false));
        // The first sessions of each thread make it allocate what it keeps.
        for place in [&address, &other] {
            for _ in 0..8 {
                behave(place, 3);
            }
        }
        let before = guard.resident();
        // Two that go on and on, on the other listener; and new ones, on the one that is attacked.
        let innocent = [(&other, 200), (&other, 200), (&address, 3)].map(|(place, exchanges)| {
            let (place, stop, served) = (place.clone(), Arc::clone(&stop), Arc::new(AtomicUsize::new(0)));
            let count = Arc::clone(&served);
            let thread = std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    count.fetch_add(behave(&place, exchanges), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            (served, thread)
        });
        Self { guard, address, admin, before, stop, innocent: innocent.into(), _folder: folder }
    }

    fn connect(&self) -> TcpStream {
        connect(&self.address)
    }

    fn metric(&self, start: &str) -> f64 {
        let page = get(&self.admin, "GET", "/metrics", "");
        let lines = page.lines().filter(|line| line.starts_with(start));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            assert!(start.elapsed() < PATIENCE, "{what} did not happen:\n{}", self.guard.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a counter has come to `count`: the last hostile session may be the only one that is open, where one that
    /// behaves is allowed for.
    fn wait_for(&self, counter: &str, count: f64) {
        self.wait(counter, |arena| arena.metric(counter) >= count);
        assert_eq!(self.metric(counter), count, "{counter}");
    }

    /// Waits until nobody but those who behave is left on the attacked listener.
    fn wait_for_the_end(&self) {
        self.wait("the end of the hostile sessions", |arena| {
            arena.metric("referee_sessions_open{listener=\"hostile\"}") <= 1.0
        });
    }

    /// Those who behave were served all the time, and at no time the guard needed more than `allowance` besides.
    fn judge(mut self, allowance: usize) {
        let enough = |(served, thread): &(Arc<AtomicUsize>, JoinHandle<()>)| {
            assert!(!thread.is_finished(), "a session that behaves was not served");
            served.load(Ordering::Relaxed) > 10
        };
        self.wait("serving those who behave", |arena| arena.innocent.iter().all(enough));
        self.stop.store(true, Ordering::Relaxed);
        for (_, innocent) in self.innocent.drain(..) {
            innocent.join().expect("a session that behaves was not served");
        }
        assert_eq!(self.metric("referee_verdicts_total{listener=\"innocent\""), 0.0);
        let grown = self.guard.peak().saturating_sub(self.before);
        println!("{grown} bytes more than before, {allowance} are allowed");
        assert!(grown <= allowance, "{grown} bytes more than before, {allowance} are allowed");
        assert!(self.guard.child.try_wait().unwrap().is_none(), "the guard has ended");
    }
}

/// One session as it should be; how many exchanges it had.
fn behave(address: &str, exchanges: u32) -> usize {
    let mut stream = connect(address);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for number in 0..exchanges {
        exchange(&mut stream, number).expect("a session that behaves was not served");
    }
    stream.write_all(b"STOP\n").unwrap();
    exchanges as usize
}

/// What is held of one session at most: a message, and what was read beyond it, each way.
fn per_session(message: usize) -> usize {
    2 * (message + (64 << 10)) + (16 << 10)
}

#[test]
fn slow_clients() {
    let arena = Arena::new("message = \"4KiB\", total = \"3s\"", "");
    let mut slow: Vec<TcpStream> = (0..400).map(|_| arena.connect()).collect();
    // A byte at a time, and never the end of the line.
    for round in 0..20_u8 {
        for stream in &mut slow {
            let _ = stream.write_all(&[b"PING 0000000000000000"[usize::from(round)]]);
        }
    }
    arena.wait_for("referee_sessions_closed_total{listener=\"hostile\",why=\"total-time\"}", 400.0);
    // To be slow is not to be wrong.
    assert_eq!(arena.metric("referee_verdicts_total"), 0.0);
    arena.judge(400 * (16 << 10) + SLACK);
}

#[test]
fn garbage() {
    let arena = Arena::new("message = \"16KiB\"", "");
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..300 {
        let mut stream = arena.connect();
        let garbage: Vec<u8> = (0..64 << 10)
            .map(|_| {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed as u8
            })
            .collect();
        let _ = stream.write_all(&garbage);
        let _ = stream.read(&mut [0; 64]);
    }
    arena.wait_for("referee_verdicts_total{listener=\"hostile\",role=\"client\"", 300.0);
    arena.judge(8 * per_session(16 << 10) + SLACK);
}

#[test]
fn nul_bytes() {
    let arena = Arena::new("message = \"16KiB\"", "");
    for wrong in [
        &b"PING \0\n"[..],
        b"PING 1\0\n",
        b"\0PING 1\n",
        b"SAY a\0b\n",
        b"\0\n",
        &[0; 100_000],
        &[0, b'\n'].repeat(10_000),
    ] {
        let mut stream = arena.connect();
        let _ = stream.write_all(wrong);
        let _ = stream.shutdown(Shutdown::Write);
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        assert!(heard.is_empty(), "{wrong:?} was answered: {heard:?}");
    }
    arena.wait_for_the_end();
    arena.judge(8 * per_session(16 << 10) + SLACK);
}

/// Sends a line of a gibibyte to `stream`; how much of it went away.
fn gibibyte(stream: &mut TcpStream) -> usize {
    let piece = vec![b'x'; MIB];
    let mut sent = 0;
    while sent < 1 << 30 {
        match stream.write(&piece) {
            Ok(count @ 1..) => sent += count,
            _ => break,
        }
    }
    sent
}

#[test]
fn a_line_of_a_gibibyte_is_cut_off() {
    let arena = Arena::new("message = \"64KiB\"", "");
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = arena.connect();
            std::thread::spawn(move || gibibyte(&mut stream))
        })
        .collect();
    for client in clients {
        assert!(client.join().unwrap() < 1 << 30, "all of it was taken");
    }
    arena.wait_for("referee_sessions_closed_total{listener=\"hostile\",why=\"message-limit\"}", 4.0);
    assert_eq!(arena.metric("referee_verdicts_total"), 0.0);
    arena.judge(4 * per_session(64 << 10) + SLACK);
}

#[test]
fn a_line_of_a_gibibyte_passes_where_that_is_wanted() {
    for extra in ["at-limit = \"open\"", "policy = \"observe\""] {
        let sink = TcpListener::bind("127.0.0.1:0").unwrap();
        let upstream = sink.local_addr().unwrap().to_string();
        let taken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&taken);
        std::thread::spawn(move || {
            for stream in sink.incoming().flatten() {
                let count = Arc::clone(&count);
                std::thread::spawn(move || serve(stream, &count));
            }
        });
        let arena = Arena::before(&upstream, "message = \"64KiB\"", extra);
        let before = taken.load(Ordering::Relaxed);
        let mut stream = arena.connect();
        assert_eq!(gibibyte(&mut stream), 1 << 30);
        arena.wait("the arrival of it all", |_| taken.load(Ordering::Relaxed) >= before + (1 << 30));
        drop(stream);
        arena.wait_for("referee_sessions_unchecked_total{listener=\"hostile\"}", 1.0);
        arena.judge(2 * per_session(64 << 10) + SLACK);
    }
}

#[test]
fn characters_that_come_in_pieces() {
    let arena = Arena::new("message = \"16KiB\"", "");
    let text = "SAY \u{e4}\u{20ac}\u{1f600}\u{10ffff}\n";
    let expected = text.replace("SAY", "HEARD");
    for cut in 1..text.len() {
        let mut stream = arena.connect();
        for piece in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]] {
            stream.write_all(piece).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut heard = vec![0; expected.len()];
        stream.read_exact(&mut heard).unwrap();
        assert_eq!(heard, expected.as_bytes(), "cut at {cut}");
        stream.write_all(b"STOP\n").unwrap();
    }
    assert_eq!(arena.metric("referee_verdicts_total"), 0.0);
    // Half a character, one that is too long, half a pair, and one beyond the last: no text, in one piece or in two.
    let wrong: [&[u8]; 5] = [b"\xe4", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"];
    for (index, bytes) in wrong.iter().enumerate() {
        for cut in [0, 1] {
            let mut stream = arena.connect();
            stream.write_all(b"SAY ").unwrap();
            stream.write_all(&bytes[..cut]).unwrap();
            std::thread::sleep(Duration::from_millis(2));
            stream.write_all(&bytes[cut..]).unwrap();
            let _ = stream.write_all(b"\n");
            assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0, "{index} was answered");
        }
    }
    arena.wait_for("referee_verdicts_total{listener=\"hostile\",role=\"client\"", 10.0);
    arena.judge(16 * per_session(16 << 10) + SLACK);
}

#[test]
fn half_closes_in_any_order() {
    // A server that may close its side and go on listening.
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in upstream.incoming().flatten() {
            std::thread::spawn(move || half_closing(stream));
        }
    });
    let arena = Arena::before(&address, "message = \"16KiB\", idle = \"1s\"", "");
    let mut open = Vec::new();
    for round in 0..300 {
        let mut stream = arena.connect();
        match round % 5 {
            // Before anything was said.
            0 => stream.shutdown(Shutdown::Write).unwrap(),
            // Within a line.
            1 => {
                stream.write_all(b"PIN").unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            }
            // After a question, whose answer still comes.
            2 => {
                stream.write_all(b"PING 5\nSTOP\n").unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let mut heard = String::new();
                stream.read_to_string(&mut heard).unwrap();
                assert_eq!(heard, "PONG 5\n");
            }
            // The server first: it answers and closes its side.
            3 => {
                stream.write_all(b"SAY close\n").unwrap();
                let mut heard = Vec::new();
                let _ = stream.read_to_end(&mut heard);
            }
            // Nobody listens any more.
            _ => {
                stream.shutdown(Shutdown::Read).unwrap();
                let _ = stream.write_all(b"PING 1\nPING 2\n");
            }
        }
        open.push(stream);
    }
    // Whoever has not closed is closed when nothing happens.
    arena.wait_for_the_end();
    drop(open);
    arena.judge(300 * (32 << 10) + SLACK);
}

/// Answers like [`talkative`]; after `SAY close` it says nothing more, and listens.
fn half_closing(mut stream: TcpStream) {
    let mut pending = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            if line.starts_with(b"SAY close") {
                let _ = stream.write_all(b"HEARD close\n");
                let _ = stream.shutdown(Shutdown::Write);
            } else if line.starts_with(b"PING") {
                let _ = stream.write_all(&[b"PONG", &line[4..]].concat());
            }
        }
    }
}

#[test]
fn resets_in_any_state() {
    let arena = Arena::new("message = \"16KiB\"", "");
    let reset = |stream: TcpStream| {
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    };
    for round in 0..60 {
        // Before anything; within a line; with an answer under way; after it; within a flood; twice the end.
        let talk: &[&[u8]] = match round % 6 {
            0 => &[],
            1 => &[b"PIN"],
            2 => &[b"PING 1\n"],
            3 => &[b"PING 1\n", b"PING 2\nPING 3\n"],
            4 => &[b"FLOOD\n"],
            _ => &[b"STOP\n"],
        };
        let mut stream = arena.connect();
        for piece in talk {
            stream.write_all(piece).unwrap();
        }
        if round % 2 == 1 || round % 6 == 4 {
            let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
            let _ = stream.read(&mut [0; 4096]);
        }
        reset(stream);
    }
    arena.wait_for_the_end();
    arena.judge(16 * per_session(16 << 10) + SLACK);
}

#[test]
fn servers_that_reset() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    let taken = AtomicUsize::new(0);
    std::thread::spawn(move || {
        for mut stream in upstream.incoming().flatten() {
            let number = taken.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || {
                let mut line = [0; 64];
                match number % 3 {
                    0 => {}
                    1 => drop(stream.read(&mut line)),
                    _ => {
                        let _ = stream.read(&mut line);
                        let _ = stream.write_all(b"PON");
                    }
                }
                socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
            });
        }
    });
    // Those who behave are on the other listener: nobody is served by this server.
    let folder = Folder::new();
    let innocent = talkative();
    let text =
        format!("{}{}", listener("hostile", &address, "", ""), listener("innocent", &innocent, "", ""));
    let path = folder.0.join("guard.toml");
    std::fs::write(&path, format!("threads = 2\n{text}")).unwrap();
    let guard = Process::start(&path, "");
    let (hostile, innocent) = (guard.address("hostile listens on"), guard.address("innocent listens on"));
    behave(&innocent, 3);
    let before = guard.resident();
    for _ in 0..300 {
        let mut stream = connect(&hostile);
        let _ = stream.write_all(b"PING 1\n");
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        assert_eq!(heard, b"", "half a line was passed on");
        behave(&innocent, 1);
    }
    let grown = guard.peak().saturating_sub(before);
    assert!(grown <= SLACK, "{grown} bytes more than before");
}

#[test]
fn clients_that_never_read() {
    let arena = Arena::new("message = \"64KiB\", buffer = \"64KiB\"", "");
    let deaf: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = arena.connect();
            stream.write_all(b"FLOOD\n").unwrap();
            stream
        })
        .collect();
    // Until nothing moves any more: all buffers on the way are full.
    let mut last = -1.0;
    loop {
        let bytes = arena.metric("referee_bytes_total{listener=\"hostile\",role=\"server\"}");
        std::thread::sleep(Duration::from_millis(300));
        if bytes - last < 64.0 * 1024.0 {
            break;
        }
        last = bytes;
    }
    let held = arena.metric("referee_buffered_bytes{listener=\"hostile\"}");
    assert!(held > 0.0 && held <= (40 * per_session(64 << 10)) as f64, "{held} bytes are held");
    drop(deaf);
    arena.wait_for_the_end();
    arena.judge(40 * per_session(64 << 10) + SLACK);
}

#[test]
fn servers_that_never_read() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
    std::thread::spawn(move || {
        for stream in upstream.incoming().flatten() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || {
                // Whoever begins with a text is not listened to.
                let mut first = [0; 1];
                match stream.peek(&mut first) {
                    Ok(1) if &first == b"S" => kept.lock().unwrap().push(stream),
                    _ => serve(stream, &AtomicUsize::new(0)),
                }
            });
        }
    });
    // A guard that does not read from a client does not see it go; that is what the limit is for.
    let arena = Arena::before(&address, "message = \"64KiB\", buffer = \"64KiB\", idle = \"2s\"", "");
    let writers: Vec<_> = (0..60)
        .map(|_| {
            let mut stream = arena.connect();
            std::thread::spawn(move || {
                stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
                // Each waits for its answer, which never comes; the guard holds one message and stops reading.
                let line = [&b"SAY "[..], &vec![b'x'; 60_000], b"\n"].concat();
                let mut sent = 0;
                while let Ok(count @ 1..) = stream.write(&line[sent % line.len()..]) {
                    sent += count;
                    assert!(sent < 64 * MIB, "{sent} bytes were taken");
                }
                stream
            })
        })
        .collect();
    let streams: Vec<TcpStream> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    drop(streams);
    arena.wait_for_the_end();
    arena.judge(60 * per_session(64 << 10) + SLACK);
}

#[test]
fn without_descriptors_those_who_are_in_are_served() {
    let folder = Folder::new();
    let path = folder.0.join("guard.toml");
    std::fs::write(&path, format!("threads = 1\n{}", listener("hostile", &talkative(), "", ""))).unwrap();
    let guard = Process::start(&path, "ulimit -n 60;");
    let address = guard.address("hostile listens on");
    let mut inside: Vec<TcpStream> = (0..10).map(|_| connect(&address)).collect();
    for stream in &mut inside {
        exchange(stream, 1).unwrap();
    }
    let before = guard.resident();
    let outside: Vec<TcpStream> = (0..200).map(|_| connect(&address)).collect();
    for round in 0..20 {
        for stream in &mut inside {
            exchange(stream, round).unwrap();
        }
    }
    drop(outside);
    // There is room again.
    let start = Instant::now();
    while exchange(&mut connect(&address), 9).is_err() {
        assert!(start.elapsed() < PATIENCE);
    }
    let grown = guard.peak().saturating_sub(before);
    assert!(grown <= SLACK, "{grown} bytes more than before");
}

#[test]
fn ten_thousand_idle_connections_cost_little() {
    // Two descriptors for each session in this process and two in the guard's.
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = limits.maximum.unwrap_or(1 << 20);
    let raised = rustix::process::Rlimit { current: Some(most), maximum: limits.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let count = (usize::try_from(most).unwrap().saturating_sub(1500) / 2).min(10_000);
    println!("{count} connections; {most} descriptors may be open");
    let folder = Folder::new();
    let quiet = TcpListener::bind("127.0.0.1:0").unwrap();
    // The standard library lets 128 connections wait; more than that come while this process is busy.
    rustix::net::listen(&quiet, 4096).unwrap();
    let upstream = quiet.local_addr().unwrap().to_string();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = send.send(quiet.incoming().take(count + 1).collect::<Result<Vec<_>, _>>().unwrap());
    });
    let path = folder.0.join("guard.toml");
    let listeners = [listener("hostile", &upstream, "", ""), listener("innocent", &talkative(), "", "")];
    std::fs::write(&path, listeners.concat()).unwrap();
    let guard = Process::start(&path, "ulimit -n $(ulimit -Hn);");
    let (address, innocent) = (guard.address("hostile listens on"), guard.address("innocent listens on"));
    let first = connect(&address);
    behave(&innocent, 3);
    let before = guard.resident();
    let mut clients = Vec::new();
    for number in 0..count {
        clients.push(connect(&address));
        if number % 500 == 0 {
            behave(&innocent, 3);
        }
    }
    let mut servers = receive.recv_timeout(PATIENCE).unwrap();
    let each = guard.resident().saturating_sub(before) / count;
    println!("{each} bytes for each idle session");
    assert!(each <= 16 << 10, "{each} bytes for each idle session");
    // All of them still work.
    behave(&innocent, 100);
    let mut client = &clients[count / 2];
    client.write_all(b"PING 3\n").unwrap();
    let start = Instant::now();
    let mut found = false;
    for server in &servers {
        server.set_nonblocking(true).unwrap();
    }
    while !found {
        assert!(start.elapsed() < PATIENCE);
        found = servers.iter_mut().any(|server| server.read(&mut [0; 16]).is_ok_and(|count| count == 7));
    }
    drop((first, clients));
}
