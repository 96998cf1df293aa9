//! Peers that mean harm, or are broken: the guard keeps serving the others, and its memory stays bounded.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use super::support::*;

#[test]
fn slow_clients_do_not_hold_up_others() {
    let setup = guard(&polite_server(), "");
    let mut slow: Vec<Peer> = (0..50).map(|_| setup.connect()).collect();
    for peer in &mut slow {
        peer.hear("HELLO you\r\n");
    }
    for byte in "SET key 12345\r\n".chars() {
        for peer in &mut slow {
            peer.say(&byte.to_string());
        }
        complete_session(&setup);
    }
    for peer in &mut slow {
        peer.hear("OK\r\n");
        peer.say("QUIT\r\n");
        peer.hear("BYE\r\n");
    }
    drop(slow);
    setup.wait_idle();
    assert!(setup.metric("referee_verdicts_total").is_none());
}

#[test]
fn a_line_without_end_is_cut_off_at_the_limit() {
    let setup = guard(&polite_server(), "limits = { message = \"64KiB\", buffer = \"16KiB\" }");
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    let flood = vec![b'x'; 1 << 20];
    let mut sent = 0;
    // The guard stops reading and closes; the kernel's own buffers take some more.
    while let Ok(count @ 1..) = client.0.write(&flood) {
        sent += count;
        assert!(setup.metric("referee_buffered_bytes").unwrap() < 200_000.0);
        assert!(sent < 1 << 30, "a line of {sent} bytes was taken");
    }
    complete_session(&setup);
    drop(client);
    setup.wait_idle();
    let closed = "referee_sessions_closed_total{listener=\"talk\",why=\"message-limit\"}";
    assert_eq!(setup.metric(closed), Some(1.0));
    // Nobody is to blame for the guard's limit.
    assert!(setup.metric("referee_verdicts_total").is_none());
}

#[test]
fn garbage_is_stopped_and_blamed() {
    let setup = guard(&polite_server(), "");
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..100 {
        let mut client = setup.connect();
        client.hear("HELLO you\r\n");
        let mut garbage: Vec<u8> = (0..200)
            .map(|_| {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed as u8
            })
            .collect();
        garbage.extend(b"\0\xff\xfe\r\n");
        let _ = client.0.write_all(&garbage);
        let _ = client.rest();
    }
    complete_session(&setup);
    setup.wait_idle();
    let page = setup.guard.metrics();
    let blamed: f64 = page
        .lines()
        .filter(|line| line.starts_with("referee_verdicts_total{listener=\"talk\",role=\"client\""))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum();
    assert_eq!(blamed, 100.0, "{page}");
    // What a peer sends never becomes the name of a counter.
    assert!(page.lines().filter(|line| line.starts_with("referee_verdicts_total")).count() < 10, "{page}");
}

#[test]
fn a_client_that_never_reads_stops_its_server_and_nobody_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = listener.local_addr().unwrap().to_string();
    let (stuck, wait) = mpsc::channel();
    let flood = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_write_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
        stream.write_all(b"HELLO you\r\n").unwrap();
        let mut question = [0; 7];
        stream.read_exact(&mut question).unwrap();
        // One answer of many megabytes, in lines the codec passes on as they come.
        let answer = "VALUE 1\r\n".repeat(100_000);
        let mut sent = 0;
        while let Ok(count) = stream.write(&answer.as_bytes()[sent % 9..]) {
            sent += count;
        }
        // The last line is made whole, once there is room for it.
        let rest = answer.as_bytes()[sent % 9..9].to_vec();
        stuck.send(()).unwrap();
        (stream, rest, sent)
    });
    let protocol = "protocol Talk(role server, role client) { Hello(text: string) from server to client; \
        Get(key: string) from client to server; rec X { Value(value: int) from server to client; continue X; } }";
    let folder = Folder::new();
    std::fs::write(folder.0.join("talk.scr"), protocol).unwrap();
    let codec = "[listener.codec]\nkind = \"text\"\nmessages.Hello = \"HELLO {text}\"\n\
                 messages.Get = \"GET {key}\"\nmessages.Value = \"VALUE {value}\"\n";
    let text = format!(
        "threads = 1\n[[listener]]\nname = \"talk\"\nlisten = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\n\
         protocol = \"talk.scr\"\n{codec}"
    );
    let guard = referee_guard::Guard::start(&plans(&folder, &text), Vec::new()).unwrap();
    let mut client = Peer::new(TcpStream::connect(&guard.addresses()[0].1).unwrap());
    client.hear("HELLO you\r\n");
    client.say("GET a\r\n");
    wait.recv_timeout(PATIENCE).unwrap();
    let buffered = metric(&guard.metrics(), "referee_buffered_bytes").unwrap();
    assert!(buffered > 0.0 && buffered <= 200_000.0, "{buffered} bytes are held");
    // Nothing is lost: when the client reads at last, all that the server could send arrives.
    let (mut stream, rest, sent) = flood.join().unwrap();
    let server = std::thread::spawn(move || {
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&rest).unwrap();
        sent + rest.len()
    });
    let mut heard = 0;
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.0.read(&mut buffer) {
        heard += count;
    }
    assert_eq!(heard, server.join().unwrap(), "{}", guard.metrics());
}

#[test]
fn a_reset_in_any_state_ends_that_session_only() {
    let setup = guard(&polite_server(), "");
    let script = [
        ("", "HELLO you\r\n"),
        ("SET a 1\r\n", "OK\r\n"),
        ("GET a\r\n", "VALUE 7\r\n"),
        ("QUIT\r\n", "BYE\r\n"),
    ];
    for steps in 0..=script.len() {
        for half_said in [false, true] {
            let mut client = setup.connect();
            for (say, hear) in script.iter().take(steps) {
                client.say(say);
                client.hear(hear);
            }
            if let (true, Some((say, _))) = (half_said, script.get(steps)) {
                client.say(&say[..say.len() / 2]);
            }
            client.reset();
            complete_session(&setup);
        }
    }
    setup.wait_idle();
    // And servers that reset.
    for steps in 1..script.len() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let upstream = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let mut peer = Peer::new(listener.accept().unwrap().0);
            for (hear, say) in script.iter().take(steps) {
                peer.hear(hear);
                peer.say(say);
            }
            peer.hear(script[steps].0);
            peer.reset();
        });
        let setup = guard(&upstream, "");
        let mut client = setup.connect();
        for (say, hear) in script.iter().take(steps) {
            client.say(say);
            client.hear(hear);
        }
        client.say(script[steps].0);
        assert_eq!(client.rest(), "");
        server.join().unwrap();
        setup.wait_idle();
        let verdict = "referee_verdicts_total{listener=\"talk\",role=\"server\",kind=\"premature-end\"";
        assert_eq!(setup.metric(verdict), Some(1.0), "{}", setup.guard.metrics());
    }
}

#[test]
fn an_unreachable_server_closes_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap().to_string();
    drop(listener);
    let setup = guard(&nobody, "");
    assert_eq!(setup.connect().rest(), "");
    setup.wait_idle();
    assert_eq!(setup.metric("referee_sessions_closed_total{listener=\"talk\",why=\"upstream\"}"), Some(1.0));
}
