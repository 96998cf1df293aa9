//! Captured packets: bodies that nobody reads, and small messages beside the same events as lines of JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Bench, ROUNDS};
use crate::bench::tools::{Cost, measure, median};

/// How much of a stream is in a packet, as on Ethernet.
const SEGMENT: usize = 1448;
const BODY: usize = 4 << 20;
const BODIES: usize = 64;
const CONNECTIONS: usize = 1_000;
/// A command and its reply, of each connection.
const TURNS: usize = 500;
const SERVER: [u8; 4] = [10, 1, 0, 2];
const SYN: u8 = 2;
const PUSH: u8 = 8;
const ACKNOWLEDGES: u8 = 16;

/// A capture in the format of libpcap, of Ethernet.
struct Capture {
    bytes: Vec<u8>,
    packets: u64,
    port: u16,
}

/// A connection of a client, which has a port of its own: what its sides say next.
struct Connection {
    port: u16,
    next: [u32; 2],
}

impl Capture {
    fn new(port: u16) -> Self {
        let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1];
        Self { bytes: header.iter().flat_map(|word| word.to_le_bytes()).collect(), packets: 0, port }
    }

    fn open(&mut self, number: usize) -> Connection {
        let mut connection = Connection { port: 10_000 + number as u16, next: [1_000, 5_000] };
        self.packet(&mut connection, 0, SYN, b"");
        self.packet(&mut connection, 1, SYN | ACKNOWLEDGES, b"");
        connection
    }

    /// What the side says, in as many packets as that takes.
    fn say(&mut self, connection: &mut Connection, side: usize, bytes: &[u8]) {
        bytes.chunks(SEGMENT).for_each(|part| self.packet(connection, side, PUSH | ACKNOWLEDGES, part));
    }

    /// Nanoseconds since 1970 of the next packet.
    fn time(&self) -> u64 {
        1_770_091_506_000_000_000 + self.packets * 10_000
    }

    fn packet(&mut self, connection: &mut Connection, side: usize, flags: u8, payload: &[u8]) {
        let client = [10, 0, 0, 1];
        let (from, to, ports) = match side {
            0 => (client, SERVER, [connection.port, self.port]),
            _ => (SERVER, client, [self.port, connection.port]),
        };
        let length = (40 + payload.len()) as u16;
        let mut packet = vec![2; 12];
        packet.extend([8, 0, 0x45, 0]);
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        packet.extend(from.into_iter().chain(to));
        packet.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        let (sequence, other) = (connection.next[side], connection.next[1 - side]);
        packet.extend(sequence.to_be_bytes());
        packet.extend(if flags & ACKNOWLEDGES == 0 { [0; 4] } else { other.to_be_bytes() });
        packet.extend([5 << 4, flags, 4, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        let (time, size) = (self.time(), packet.len() as u32);
        let words = [(time / 1_000_000_000) as u32, (time % 1_000_000_000 / 1_000) as u32, size, size];
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.bytes.extend(packet);
        self.packets += 1;
        connection.next[side] = sequence.wrapping_add(payload.len() as u32 + u32::from(flags & SYN != 0));
    }
}

/// Answers of HTTP whose bodies nobody reads.
fn bodies() -> Capture {
    let mut capture = Capture::new(8080);
    let mut connections: Vec<Connection> = (0..4).map(|number| capture.open(number)).collect();
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + BODY, b'x');
    for number in 0..BODIES {
        let connection = &mut connections[number % 4];
        capture.say(connection, 0, b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
        capture.say(connection, 1, &answer);
    }
    capture
}

/// Commands of Redis and their replies, and the same as events.
fn commands() -> (Capture, String) {
    let (mut capture, mut events) = (Capture::new(6379), String::new());
    let mut connections: Vec<Connection> = (0..CONNECTIONS).map(|number| capture.open(number)).collect();
    for turn in 0..TURNS {
        for connection in &mut connections {
            let command = format!("*2\r\n$3\r\nGET\r\n$6\r\nkey{:03}\r\n", turn % 1_000);
            let port = connection.port;
            for (side, label, from, to, bytes) in [
                (0, "Command", "client", "server", command.as_bytes()),
                (1, "Reply", "server", "client", b"$5\r\nhello\r\n"),
            ] {
                let time = capture.time();
                capture.say(connection, side, bytes);
                let _ = writeln!(
                    events,
                    r#"{{"session":"10.0.0.1:{port}-10.1.0.2:6379","from":"{from}","to":"{to}","label":"{label}","time":{time}}}"#
                );
            }
        }
    }
    (capture, events)
}

impl Bench {
    /// Packets beside lines of JSON, alternately.
    pub(super) fn captures(&self) -> Result<()> {
        let file = self.folder.join("bodies.pcap");
        fs::write(&file, bodies().bytes)?;
        let costs: Result<Vec<f64>> =
            (0..ROUNDS).map(|_| Ok(self.capture("http", 8080, &file)?.processor)).collect();
        let rate = (BODY * BODIES) as f64 / median(costs?) / 1e9;
        println!("a capture of bodies of HTTP that nobody reads: {rate:.2} GB a second of a processor");
        fs::remove_file(&file)?;
        let (file, lines) = (self.folder.join("small.pcap"), self.folder.join("small-events.jsonl"));
        let (capture, events) = commands();
        fs::write(&file, capture.bytes)?;
        fs::write(&lines, &events)?;
        let (mut packets, mut texts) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            packets.push(self.capture("redis", 6379, &file)?.processor);
            let mut command = Command::new(&self.referee);
            command.args(["watch", "--format", "json", "--threads", "1", "--protocol", "preset:redis"]);
            texts.push(measure(command.arg(&lines))?.processor);
        }
        let (packets, texts) = (median(packets), median(texts));
        println!(
            "small messages of Redis: {:.2} million a second of a processor from a capture, {:.2} from lines of JSON: {:.2} times as fast",
            events.lines().count() as f64 / packets / 1e6,
            events.lines().count() as f64 / texts / 1e6,
            texts / packets
        );
        fs::remove_file(file)?;
        fs::remove_file(lines)?;
        Ok(())
    }

    fn capture(&self, preset: &str, port: u16, file: &Path) -> Result<Cost> {
        let mut command = Command::new(&self.referee);
        command.args([
            "watch",
            "--format",
            "json",
            "--threads",
            "1",
            "--protocol",
            &format!("preset:{preset}"),
        ]);
        measure(command.args(["--server-port", &port.to_string(), "--pcap"]).arg(file))
    }
}
