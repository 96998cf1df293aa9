//! From captured packets to events: pcap and pcapng, TCP streams put together, messages read by a codec.
//!
//! A [`Capture`] takes the bytes of a capture as they come and gives events as lines of JSON, in the shape that `crates/watch` reads. The
//! session is the connection, the number of an event that of the packet with which it was whole. Nobody can be blamed for what was not
//! captured: where something of a connection cannot be read, one lost event is given, and nothing after it.
//!
//! Reading order: [`packets`], [`reassembly`], `conversation`, [`Capture`].

mod conversation;
mod event;
mod joined;
pub mod packets;
pub mod reassembly;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use referee_session::TwoPartyRules;
use referee_wire::Sender;

pub use conversation::Unread;
use conversation::{Conversation, Said};
pub use packets::{CaptureError, PacketReader, Skipped, TcpPacket};
pub use reassembly::{Break, Delivered, Limits, Segment, TcpConnection};

/// What a capture is read by.
#[derive(Clone, Debug)]
pub struct CaptureRules {
    /// Protocol and codec.
    pub rules: Arc<TwoPartyRules>,
    /// The ports that servers listen on; other packets are not looked at.
    pub server_ports: Vec<u16>,
    /// Whether connections that began before the capture are read, from a packet of their clients on.
    pub join: bool,
    /// What a connection may hold.
    pub limits: Limits,
    /// How many connections are followed at a time, and how many bytes of them are held.
    pub max_connections: usize,
    /// How many bytes of all connections are held.
    pub max_held: usize,
}

impl CaptureRules {
    /// The defaults for `rules` and one port.
    #[must_use]
    pub fn new(rules: Arc<TwoPartyRules>, server_ports: Vec<u16>) -> Self {
        let limits = Limits::default();
        Self { rules, server_ports, join: false, limits, max_connections: 65_536, max_held: 256 << 20 }
    }
}

/// Why something of a connection was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unjudged {
    /// What was captured does not say.
    Stream(Break),
    /// What was said cannot be read.
    Said(Unread),
    /// There were too many connections, or too many bytes that wait.
    NoRoom,
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream(Break::Gap) => "packets are missing from the capture",
            Self::Stream(Break::Conflict) => "bytes were retransmitted with different contents",
            Self::Stream(Break::Reset) => "the connection was reset",
            Self::Stream(Break::NoBeginning) => "it began before the capture (--join reads it)",
            Self::Said(Unread::Encrypted) => "it is encrypted (TLS) and cannot be read",
            Self::Said(Unread::Switched) => {
                "its sides went on in another way (STARTTLS, a tunnel, a stream of pushes), which is not read"
            }
            Self::Said(Unread::Ahead) => {
                "it began before the capture, and what belongs to what was sent before cannot be told"
            }
            Self::Said(Unread::Ambiguous) => {
                "it began before the capture, and where its messages end cannot be told"
            }
            Self::Said(Unread::TooLong) => "a message is longer than the limit",
            Self::Said(Unread::NoMessage) => "it began before the capture, and its bytes are no message",
            Self::NoRoom => "too many connections, or bytes that wait for others, at a time",
        })
    }
}

/// What a capture came to.
#[derive(Clone, Debug, Default)]
pub struct CaptureCounts {
    /// Connections to the servers.
    pub connections: u64,
    /// Connections of which something was not read, by why; with the first of each.
    pub unjudged: BTreeMap<Unjudged, (u64, String)>,
    /// Packets that were not looked into.
    pub skipped: Skipped,
    /// Why the rest of the capture could not be read.
    pub error: Option<CaptureError>,
}

/// An event that was captured: the number of the packet, from 0, and a line of JSON.
pub type Give<'g> = dyn FnMut(u64, &str) + 'g;

/// Reads a capture.
pub struct Capture {
    rules: CaptureRules,
    reader: PacketReader,
    connections: HashMap<(SocketAddr, SocketAddr), Followed>,
    /// Connections that are over, the oldest first: packets of them may still come.
    over: VecDeque<(SocketAddr, SocketAddr)>,
    /// How many bytes all connections hold.
    held: usize,
    counts: CaptureCounts,
    /// Where events are written.
    line: String,
}

/// A connection that is followed.
struct Followed {
    name: String,
    /// How its events begin.
    head: String,
    tcp: TcpConnection,
    conversation: Option<Conversation>,
    held: usize,
    /// The number of the byte before the client's first, as its opening segment says.
    opened: Option<u32>,
    /// How many connections had these addresses before.
    earlier: u32,
    is_over: bool,
}

/// How many connections that are over are remembered.
const MAX_OVER: usize = 4096;

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl Capture {
    /// A capture, before its first byte.
    #[must_use]
    pub fn new(rules: CaptureRules) -> Self {
        Self {
            rules,
            reader: PacketReader::default(),
            connections: HashMap::default(),
            over: VecDeque::new(),
            held: 0,
            counts: CaptureCounts::default(),
            line: String::new(),
        }
    }

    /// What it has come to so far.
    #[must_use]
    pub fn counts(&self) -> CaptureCounts {
        CaptureCounts { skipped: self.reader.skipped, ..self.counts.clone() }
    }

    /// Takes the next bytes and gives the events that are whole with them.
    pub fn take(&mut self, bytes: &[u8], give: &mut Give<'_>) {
        let mut reader = std::mem::take(&mut self.reader);
        let taken = reader.take(bytes, &mut |packet| self.packet(&packet, give));
        self.reader = reader;
        if let Err(error) = taken {
            self.fail(error, give);
        }
    }

    /// The capture has ended.
    pub fn end(&mut self, give: &mut Give<'_>) {
        if self.reader.is_cut() {
            self.fail(CaptureError::Damaged, give);
        }
        let mut connections: Vec<_> = self.connections.drain().map(|(_, followed)| followed).collect();
        connections.sort_by(|left, right| left.name.cmp(&right.name));
        for mut followed in connections {
            let mut delivered = |what: Delivered<'_>| {
                if let Delivered::Broken { why, at } = what {
                    lost(&mut self.counts, Unjudged::Stream(why), &followed.name, at, give);
                }
            };
            followed.tcp.end(&mut delivered);
        }
    }

    /// The rest cannot be read: it may hold anything.
    fn fail(&mut self, error: CaptureError, give: &mut Give<'_>) {
        if self.counts.error.is_none() {
            self.counts.error = Some(error);
            give(0, event::LOST);
        }
    }

    fn packet(&mut self, packet: &TcpPacket<'_>, give: &mut Give<'_>) {
        let is_server = |address: &SocketAddr| self.rules.server_ports.contains(&address.port());
        let (sender, key) = match (is_server(&packet.to), is_server(&packet.from)) {
            (true, _) => (Sender::Client, (packet.from, packet.to)),
            (false, true) => (Sender::Server, (packet.to, packet.from)),
            (false, false) => return,
        };
        let segment = &packet.segment;
        let opens = segment.syn && segment.acknowledges.is_none() && sender == Sender::Client;
        if let Some(known) = self.connections.get_mut(&key) {
            let is_another = opens && known.opened.is_some_and(|opened| opened != segment.sequence);
            let is_reused = opens && known.opened.is_none() && known.is_over;
            if is_another || is_reused {
                let earlier = known.earlier + 1;
                self.close(key, give);
                self.connections.insert(key, Followed::new(key, earlier));
                self.counts.connections += 1;
            }
        } else if segment.syn || !segment.bytes.is_empty() {
            self.counts.connections += 1;
            if self.connections.len() >= self.rules.max_connections {
                let name = name(key, 0);
                return lost(&mut self.counts, Unjudged::NoRoom, &name, segment.at, give);
            }
            self.connections.insert(key, Followed::new(key, 0));
        }
        let Some(followed) = self.connections.get_mut(&key).filter(|followed| !followed.is_over) else {
            return;
        };
        if opens {
            followed.opened = Some(segment.sequence);
        }
        followed.segment(&self.rules, (sender, segment), &mut self.counts, &mut self.line, give);
        self.held = self.held + followed.held() - followed.held;
        followed.held = followed.held();
        if self.held > self.rules.max_held {
            lost(&mut self.counts, Unjudged::NoRoom, &followed.name, segment.at, give);
            followed.is_over = true;
        }
        if followed.is_over {
            self.held -= followed.held;
            *followed =
                Followed { is_over: true, opened: followed.opened, ..Followed::new(key, followed.earlier) };
            self.over.push_back(key);
            if self.over.len() > MAX_OVER
                && let Some(oldest) = self.over.pop_front()
                && self.connections.get(&oldest).is_some_and(|followed| followed.is_over)
            {
                self.connections.remove(&oldest);
            }
        }
    }

    /// Another connection takes the place of one that was not seen to end.
    fn close(&mut self, key: (SocketAddr, SocketAddr), give: &mut Give<'_>) {
        let Some(mut followed) = self.connections.remove(&key) else { return };
        self.held -= followed.held;
        let mut delivered = |what: Delivered<'_>| {
            if let Delivered::Broken { why, at } = what {
                lost(&mut self.counts, Unjudged::Stream(why), &followed.name, at, give);
            }
        };
        followed.tcp.end(&mut delivered);
    }
}

/// What a connection is called: its addresses, and which connection between them it is.
fn name((client, server): (SocketAddr, SocketAddr), earlier: u32) -> String {
    match earlier {
        0 => format!("{client}-{server}"),
        earlier => format!("{client}-{server}#{}", earlier + 1),
    }
}

/// Counts that something of a connection was not read, and says that an event of it was lost.
fn lost(counts: &mut CaptureCounts, why: Unjudged, name: &str, at: (i64, u64), give: &mut Give<'_>) {
    counts.unjudged.entry(why).or_insert_with(|| (0, format!("{name}, packet {}", at.1 + 1))).0 += 1;
    // Who was reset need not have said all; nothing else is missing.
    if why != Unjudged::Stream(Break::Reset) {
        give(at.1, &event::lost(name));
    }
}

impl Followed {
    fn new(key: (SocketAddr, SocketAddr), earlier: u32) -> Self {
        let name = name(key, earlier);
        Self {
            head: event::head(&name),
            name,
            tcp: TcpConnection::default(),
            conversation: None,
            held: 0,
            opened: None,
            earlier,
            is_over: false,
        }
    }

    fn held(&self) -> usize {
        self.tcp.held() + self.conversation.as_ref().map_or(0, Conversation::held)
    }

    fn segment(
        &mut self,
        capture: &CaptureRules,
        (sender, segment): (Sender, &Segment<'_>),
        counts: &mut CaptureCounts,
        line: &mut String,
        give: &mut Give<'_>,
    ) {
        let rules = &*capture.rules;
        let is_joined = !self.tcp.has_begun() && !segment.syn;
        if is_joined && capture.join && sender == Sender::Client && !segment.bytes.is_empty() {
            self.tcp.join(sender, segment);
            self.conversation = Some(Conversation::new(rules, true));
        }
        let Self { name, head, tcp, conversation, is_over, .. } = self;
        let event = (name.as_str(), head.as_str());
        let mut broken = None;
        let mut delivered = |what: Delivered<'_>| {
            let conversation = conversation.get_or_insert_with(|| Conversation::new(rules, false));
            match what {
                Delivered::Bytes { sender, bytes, is_aware, at } => {
                    let mut tell = |said: Said<'_>| match event::write(line, event, rules, &said, at.0) {
                        Ok(()) => give(at.1, line),
                        Err(why) => {
                            broken = Some(why);
                            lost(counts, Unjudged::Said(why), name, at, give);
                        }
                    };
                    conversation.bytes(rules, sender, bytes, is_aware, &mut tell);
                }
                Delivered::End { sender, at } => {
                    let mut tell = |said: Said<'_>| {
                        if event::write(line, event, rules, &said, at.0).is_ok() {
                            give(at.1, line);
                        }
                    };
                    conversation.end(rules, sender, &mut tell);
                }
                Delivered::Broken { why, at } => lost(counts, Unjudged::Stream(why), name, at, give),
            }
        };
        tcp.segment(sender, segment, &capture.limits, &mut delivered);
        *is_over |= tcp.is_over() || broken.is_some();
    }
}
