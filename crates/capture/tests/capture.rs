//! Captures as files: what is read of them, however they are cut, and what is said of what cannot be read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::sync::Arc;

use etherparse::PacketBuilder;
use referee_capture::{Break, Capture, CaptureCounts, CaptureError, CaptureRules, Unjudged, Unread};
use referee_monitor::{Monitor, Registry};
use referee_session::TwoPartyRules;
use referee_syntax::{Content, Language};
use referee_wire::Sender::{self, Client, Server};
use referee_wire::{Table, preset};

fn rules(protocol: &str, table: &str) -> Arc<TwoPartyRules> {
    let document = referee_syntax::parse(protocol, Language::Scr);
    assert!(document.diagnostics.is_empty(), "{:?}", document.diagnostics);
    let Content::Global(protocols) = document.content else { panic!("no protocol") };
    let global = protocols[0].global.as_ref().unwrap();
    let client = global.vocabulary().find_role("client").unwrap();
    let table = Table::parse(table).unwrap();
    let machine = table.interrupted(&global.project(client).unwrap(), global.vocabulary());
    let monitor = Monitor::synthesise(&machine, global.vocabulary(), &Registry::new()).unwrap();
    let rules = TwoPartyRules::compile(Arc::new(monitor), client, &table);
    Arc::new(rules.unwrap_or_else(|errors| panic!("{errors:#?}")))
}

fn redis() -> CaptureRules {
    let preset = preset::find("redis").unwrap();
    CaptureRules::new(rules(preset.protocol, preset.table), vec![6379])
}

/// Packets of connections to 10.0.0.2:6379.
#[derive(Clone, Default)]
struct Network {
    packets: Vec<Vec<u8>>,
}

/// One connection: its client's port, and the next numbers of both sides.
struct Connection {
    port: u16,
    next: [u32; 2],
}

impl Network {
    fn open(&mut self, port: u16, first: u32) -> Connection {
        let mut connection = Connection { port, next: [first, first ^ 0xffff] };
        self.send(&mut connection, Client, b"", "syn");
        self.send(&mut connection, Server, b"", "syn");
        self.send(&mut connection, Client, b"", "");
        connection
    }

    fn send(&mut self, connection: &mut Connection, sender: Sender, bytes: &[u8], flags: &str) {
        let (ports, addresses) = match sender {
            Client => ((connection.port, 6379), ([10, 0, 0, 1], [10, 0, 0, 2])),
            Server => ((6379, connection.port), ([10, 0, 0, 2], [10, 0, 0, 1])),
        };
        let sequence = connection.next[sender.index()];
        let acknowledged = connection.next[sender.other().index()];
        let mut tcp = PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4(addresses.0, addresses.1, 64)
            .tcp(ports.0, ports.1, sequence, 1000);
        if !(flags == "syn" && sender == Client) {
            tcp = tcp.ack(acknowledged);
        }
        tcp = match flags {
            "syn" => tcp.syn(),
            "fin" => tcp.fin(),
            "rst" => tcp.rst(),
            _ => tcp,
        };
        let mut packet = Vec::new();
        tcp.write(&mut packet, bytes).unwrap();
        self.packets.push(packet);
        let length = bytes.len() as u32 + u32::from(flags == "syn" || flags == "fin");
        connection.next[sender.index()] = sequence.wrapping_add(length);
    }

    fn pcap(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        for (number, packet) in (0..).zip(&self.packets) {
            let length = packet.len() as u32;
            for word in [1_770_091_506_u32, number, length, length] {
                file.extend_from_slice(&word.to_le_bytes());
            }
            file.extend_from_slice(packet);
        }
        file
    }

    fn pcapng(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let mut block = |kind: u32, body: &[u8]| {
            let padding = (4 - body.len() % 4) % 4;
            let length = (12 + body.len() + padding) as u32;
            for part in [
                &kind.to_be_bytes()[..],
                &length.to_be_bytes(),
                body,
                &[0; 3][..padding],
                &length.to_be_bytes(),
            ] {
                file.extend_from_slice(part);
            }
        };
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
        block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 0x0001_0000, u32::MAX, u32::MAX]));
        block(1, &words(&[0x0001_0000, 65_535]));
        for (number, packet) in (0_u64..).zip(&self.packets) {
            let (time, length) = (1_770_091_506_000_000 + number, packet.len() as u32);
            let head = words(&[0, (time >> 32) as u32, (time & 0xffff_ffff) as u32, length, length]);
            block(6, &[head, packet.clone()].concat());
        }
        file
    }
}

/// The events of a capture that comes in pieces of `size` bytes, each with the number of its packet.
fn read(rules: &CaptureRules, file: &[u8], size: usize) -> (Vec<(u64, String)>, CaptureCounts) {
    let mut capture = Capture::new(rules.clone());
    let mut events = Vec::new();
    let mut give = |number: u64, event: &str| events.push((number, event.to_owned()));
    file.chunks(size).for_each(|bytes| capture.take(bytes, &mut give));
    capture.end(&mut give);
    let counts = capture.counts();
    (events, counts)
}

/// `>Label` for a client's message, `<Label` for a server's, `$role` for an end, `?` for a lost event.
fn short(events: &[(u64, String)]) -> String {
    let one = |(_, event): &(u64, String)| {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        match (event["label"].as_str(), event["end"].as_str()) {
            (Some(label), _) if event["from"] == "client" => format!(">{label}"),
            (Some(label), _) => format!("<{label}"),
            (None, Some(role)) => format!("${role}"),
            (None, None) => "?".to_owned(),
        }
    };
    events.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A client that pipelines, a transaction, and both sides end.
fn talk() -> Network {
    let mut network = Network::default();
    let mut c = network.open(40_000, 77);
    network.send(&mut c, Client, b"*1\r\n$4\r\nPING\r\n*1\r\n$5\r\nMULTI\r\n*1\r\n$4\r\nPI", "");
    network.send(&mut c, Server, b"+PONG\r\n+OK", "");
    network.send(&mut c, Client, b"NG\r\n*1\r\n$4\r\nEXEC\r\n", "");
    network.send(&mut c, Server, b"\r\n+QUEUED\r\n*1\r\n+PONG\r\n", "");
    network.send(&mut c, Client, b"", "fin");
    network.send(&mut c, Server, b"", "fin");
    network
}

const SAID: &str = ">Command <Reply >Multi <Ok >Command <Queued >Exec <Reply";

#[test]
fn a_capture_is_read_however_it_is_cut() {
    let (rules, network) = (redis(), talk());
    let (events, counts) = read(&rules, &network.pcap(), 1 << 20);
    assert_eq!(short(&events), SAID);
    assert_eq!(
        events[0],
        (
            3,
            r#"{"session":"10.0.0.1:40000-10.0.0.2:6379","from":"client","to":"server","label":"Command","time":1770091506000003000}"#.to_owned()
        )
    );
    assert_eq!((counts.connections, counts.unjudged.len(), counts.error), (1, 0, None));
    for size in [1, 3, 100] {
        assert_eq!(read(&rules, &network.pcap(), size).0, events);
        assert_eq!(read(&rules, &network.pcapng(), size).0, events);
    }
}

/// Law: any order of the packets gives the same messages.
#[test]
fn every_order_of_the_packets_gives_the_same_messages() {
    let (rules, network) = (redis(), talk());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..3000 {
        let mut shuffled = network.clone();
        for index in (1..shuffled.packets.len()).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            shuffled.packets.swap(index, (random % (index as u64 + 1)) as usize);
        }
        assert_eq!(short(&read(&rules, &shuffled.pcap(), 1 << 20).0), SAID);
    }
}

/// Nobody is blamed for what was not captured: whichever packet with data is missing, there is a beginning of the messages, and a lost event.
#[test]
fn what_is_missing_ends_the_reading() {
    let (rules, network) = (redis(), talk());
    for missing in 3..=6 {
        let mut without = network.clone();
        without.packets.remove(missing);
        let (events, counts) = read(&rules, &without.pcap(), 1 << 20);
        let said = short(&events);
        let before = said.strip_suffix('?').unwrap_or_else(|| panic!("{missing}: {said}"));
        assert!(SAID.starts_with(before.trim_end()), "{missing}: {said}");
        assert_eq!(counts.unjudged.keys().collect::<Vec<_>>(), [&Unjudged::Stream(Break::Gap)]);
    }
    // A capture that ends in the middle of a packet.
    let file = network.pcap();
    let (events, counts) = read(&rules, &file[..file.len() - 1], 1 << 20);
    assert_eq!((short(&events), counts.error), (format!("{SAID} ?"), Some(CaptureError::Damaged)));
    for size in [1, 4, 1 << 20] {
        let (events, counts) = read(&rules, b"{\"no\":\"capture\"}\nnor anything like it", size);
        assert_eq!((short(&events).as_str(), counts.error), ("?", Some(CaptureError::NoCapture)));
    }
}

#[test]
fn connections_that_began_before_the_capture_are_joined_if_asked_for() {
    let mut network = talk();
    network.packets.drain(..3);
    let mut rules = redis();
    let (events, counts) = read(&rules, &network.pcap(), 1 << 20);
    assert_eq!((short(&events).as_str(), counts.unjudged.len()), ("?", 1));
    assert!(counts.unjudged.contains_key(&Unjudged::Stream(Break::NoBeginning)));
    rules.join = true;
    // A request that is sent before the last one was answered may be one of many: which answer is whose cannot be told.
    let (events, counts) = read(&rules, &network.pcap(), 1 << 20);
    assert_eq!(short(&events), ">Command ?");
    assert_eq!(counts.unjudged.keys().collect::<Vec<_>>(), [&Unjudged::Said(Unread::Ahead)]);
    // Where requests and answers alternate, they are read.
    let mut network = Network::default();
    let mut connection = network.open(50_000, 1);
    for _ in 0..3 {
        network.send(&mut connection, Client, b"*1\r\n$4\r\nPING\r\n", "");
        network.send(&mut connection, Server, b"+PONG\r\n", "");
    }
    network.packets.drain(..3);
    let (events, counts) = read(&rules, &network.pcap(), 1 << 20);
    assert_eq!(short(&events), ">Command <Reply >Command <Reply >Command <Reply");
    assert_eq!(counts.unjudged.len(), 0);
}

#[test]
fn tls_is_said_to_be_unreadable_and_ports_are_used_again() {
    let rules = redis();
    let mut network = Network::default();
    let mut first = network.open(50_000, 1);
    network.send(&mut first, Client, &[0x16, 3, 1, 0, 200, 1, 0, 0], "");
    let mut second = network.open(50_000, 99_999);
    network.send(&mut second, Client, b"*1\r\n$4\r\nPING\r\n", "");
    network.send(&mut second, Server, b"", "rst");
    let mut third = network.open(50_000, 5_000_000);
    network.send(&mut third, Server, b"+surprise\r\n", "");
    let (events, counts) = read(&rules, &network.pcap(), 1 << 20);
    assert_eq!(short(&events), "? >Command <Reply");
    let session = |index: usize| -> serde_json::Value { serde_json::from_str(&events[index].1).unwrap() };
    assert_eq!(session(0)["session"], "10.0.0.1:50000-10.0.0.2:6379");
    assert_eq!(session(1)["session"], "10.0.0.1:50000-10.0.0.2:6379#2");
    assert_eq!(session(2)["session"], "10.0.0.1:50000-10.0.0.2:6379#3");
    let why: Vec<_> = counts.unjudged.keys().copied().collect();
    assert_eq!(why, [Unjudged::Stream(Break::Reset), Unjudged::Said(Unread::Encrypted)]);
    assert_eq!(counts.connections, 3);
}

/// Ends are told where the protocol does not allow them, and fields are carried.
#[test]
fn ends_and_fields_are_those_of_the_codec() {
    let protocol = "protocol P(role client, role server) { Hi(n: int, s: string) from client to server; Bye() from server to client; }";
    let table = "kind = 'text'\nmessages.Hi = 'HI {n} {s}'\nmessages.Bye = 'BYE'";
    let rules = CaptureRules::new(rules(protocol, table), vec![6379]);
    let mut network = Network::default();
    let mut c = network.open(50_000, 1);
    network.send(&mut c, Client, b"HI 7 x\"y\r\n", "");
    let ended = |network: &Network, flags: &str, bytes: &[u8]| {
        let (mut network, mut c) = (network.clone(), Connection { port: c.port, next: c.next });
        network.send(&mut c, Server, bytes, flags);
        let (events, _) = read(&rules, &network.pcap(), 1 << 20);
        assert!(events[0].1.contains(r#""label":"Hi","payload":[7,"x\"y"]"#), "{events:?}");
        short(&events)
    };
    assert_eq!(ended(&network, "fin", b""), ">Hi $server");
    assert_eq!(ended(&network, "fin", b"BY"), ">Hi $server");
    assert_eq!(ended(&network, "fin", b"BYE\r\n"), ">Hi <Bye");
    assert_eq!(ended(&network, "rst", b""), ">Hi");
    assert_eq!(ended(&network, "", b"\x01\x02\xff\r\n").split(' ').count(), 2);
}

/// Two connections to a real Redis, recorded with tcpdump on the loopback interface: pipelining, a transaction, a body of bytes.
#[test]
fn a_recording_of_redis_is_read() {
    let mut rules = redis();
    rules.server_ports = vec![16_399];
    let (events, counts) = read(&rules, include_bytes!("samples/redis.pcap"), 1000);
    let first = ">Command <Reply >Multi <Ok >Command <Queued >Command <Queued >Exec <Reply >Command <Reply";
    assert_eq!(short(&events), format!("{first} >Command <Reply >Quit <Ok"));
    assert_eq!((counts.connections, counts.unjudged.len()), (2, 0));
}

/// No bytes make it panic or grow.
#[test]
fn damaged_captures_are_read_as_far_as_they_go() {
    let rules = redis();
    for file in [talk().pcap(), talk().pcapng()] {
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0xff;
            read(&rules, &damaged, 1 << 20);
        }
    }
}
