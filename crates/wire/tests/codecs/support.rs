//! A proxy without a network: what the guard does with a codec and a monitor, told as lines of text.

use std::fmt::Write as _;

use referee_monitor::{Ahead, Lead, Monitor, Payload, Registry, Session, Side, Verdict};
use referee_syntax::{Content, Language};
use referee_wire::{
    Codec, Connection, Encoder, Fields, Label, Limits, Reading, Readings, Scratch, Sender, Step, Table,
    TableError,
};

pub(crate) struct Proxy {
    pub(crate) monitor: Monitor,
    pub(crate) codec: Codec,
    pub(crate) encoder: Encoder,
    pub(crate) ahead: Ahead,
    readings: Readings,
}

pub(crate) fn monitor(protocol: &str) -> Monitor {
    interrupted_monitor(protocol, None)
}

fn interrupted_monitor(protocol: &str, table: Option<&Table>) -> Monitor {
    let document = referee_syntax::parse(protocol, Language::Scr);
    assert!(document.diagnostics.is_empty(), "{:?}", document.diagnostics);
    let Content::Global(protocols) = document.content else { panic!("no protocol") };
    let global = protocols[0].global.as_ref().expect("a global type");
    let client = global.vocabulary().find_role("client").expect("a role called client");
    let machine = global.project(client).expect("a projection");
    let machine = table.map_or(machine.clone(), |table| table.interrupted(&machine, global.vocabulary()));
    Monitor::synthesise(&machine, global.vocabulary(), &Registry::new()).expect("a monitor")
}

pub(crate) fn compile(protocol: &str, table: &str) -> Result<Codec, Vec<TableError>> {
    let monitor = monitor(protocol);
    let table = Table::parse(table).map_err(|error| vec![error])?;
    let codec = Codec::compile(&table, &monitor, monitor.machine().role())?;
    Readings::new(&codec, &monitor, &Ahead::new(&monitor))?;
    Ok(codec)
}

impl Proxy {
    pub(crate) fn new(protocol: &str, table: &str) -> Self {
        let table = Table::parse(table).unwrap_or_else(|error| panic!("{error}"));
        let monitor = interrupted_monitor(protocol, Some(&table));
        let codec = Codec::compile(&table, &monitor, monitor.machine().role());
        let codec = codec.unwrap_or_else(|errors| panic!("{errors:#?}"));
        let encoder = Encoder::new(&table, &codec);
        let ahead = Ahead::new(&monitor);
        let readings = Readings::new(&codec, &monitor, &ahead).unwrap_or_else(|errors| panic!("{errors:#?}"));
        Self { monitor, codec, encoder, ahead, readings }
    }

    /// What happens when the pieces arrive one after the other.
    pub(crate) fn run<'a>(&self, pieces: impl IntoIterator<Item = (Sender, &'a [u8])>) -> Vec<String> {
        let mut said = self.run_with_bytes(pieces);
        said.retain(|line| !line.starts_with("bytes: "));
        said
    }

    /// What each side says, as a guard hears them by default: the client is heard out first, and may send ahead; a server
    /// that speaks before its turn is stopped.
    pub(crate) fn heard<'a>(&self, pieces: impl IntoIterator<Item = (Sender, &'a [u8])>) -> [Vec<String>; 2] {
        let mut run = self.start(4096);
        run.strict = true;
        for (sender, piece) in pieces {
            run.unread[sender.index()].extend_from_slice(piece);
            loop {
                while run.step(Sender::Client) {}
                if !run.step(Sender::Server) {
                    break;
                }
            }
        }
        ["Client: ", "Server: "].map(|side| {
            let of = |line: &&String| line.starts_with(side) && !line.ends_with("transparent");
            run.said.iter().filter(of).cloned().collect()
        })
    }

    /// How many bytes of `sender` go on.
    pub(crate) fn forwarded<'a>(
        &self,
        sender: Sender,
        pieces: impl IntoIterator<Item = (Sender, &'a [u8])>,
    ) -> usize {
        let mut run = self.start(4096);
        for (sender, piece) in pieces {
            run.feed(sender, piece);
        }
        run.forwarded[sender.index()]
    }

    /// The same as [`run`](Self::run), with messages of up to `limit` bytes.
    pub(crate) fn run_limited<'a>(
        &self,
        pieces: impl IntoIterator<Item = (Sender, &'a [u8])>,
        limit: usize,
    ) -> Vec<String> {
        let mut run = self.start(limit);
        for (sender, piece) in pieces {
            run.feed(sender, piece);
        }
        run.said
    }

    fn start(&self, limit: usize) -> Run<'_> {
        let mut connection = self.codec.connection(Limits { message: limit });
        connection.take_batches_apart();
        Run {
            proxy: self,
            connection,
            session: self.monitor.session(),
            lead: Lead::default(),
            unread: [Vec::new(), Vec::new()],
            passing: [0, 0],
            done: [false, false],
            totals: [Vec::new(), Vec::new()],
            within: [false; 2],
            forwarded: [0, 0],
            said: Vec::new(),
            strict: false,
        }
    }

    /// The same as [`run`](Self::run), and how many bytes each message had.
    fn run_with_bytes<'a>(&self, pieces: impl IntoIterator<Item = (Sender, &'a [u8])>) -> Vec<String> {
        let mut run = self.start(4096);
        for (sender, piece) in pieces {
            run.feed(sender, piece);
        }
        run.said.push(format!("bytes: {:?} {:?}", run.totals[0], run.totals[1]));
        for sender in Sender::BOTH {
            let left = run.unread[sender.index()].len();
            if left > 0 && !run.done[sender.index()] {
                run.said.push(format!("{sender:?} has {left} bytes left"));
            }
        }
        run.said
    }

    /// Runs `conversation` as it is, cut into two at every place, byte by byte, and cut at random; every time the
    /// same must happen. Returns what.
    pub(crate) fn converse(&self, conversation: &[(Sender, &[u8])]) -> Vec<String> {
        let expected = self.run_with_bytes(conversation.iter().copied());
        for (index, (sender, bytes)) in conversation.iter().enumerate() {
            for cut in 0..=bytes.len() {
                let mut pieces = conversation.to_vec();
                pieces[index] = (*sender, &bytes[..cut]);
                pieces.insert(index + 1, (*sender, &bytes[cut..]));
                assert_eq!(self.run_with_bytes(pieces), expected, "cut {index} at {cut}");
            }
        }
        let single =
            conversation.iter().flat_map(|(sender, bytes)| bytes.chunks(1).map(|byte| (*sender, byte)));
        assert_eq!(self.run_with_bytes(single), expected, "byte by byte");
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..50 {
            let mut pieces = Vec::new();
            for (sender, bytes) in conversation {
                let mut rest = *bytes;
                while !rest.is_empty() {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let (piece, tail) = rest.split_at(1 + (random % 17) as usize % rest.len());
                    pieces.push((*sender, piece));
                    rest = tail;
                }
            }
            assert_eq!(self.run_with_bytes(pieces), expected, "cut at random");
        }
        expected.into_iter().filter(|line| !line.starts_with("bytes: ")).collect()
    }
}

struct Run<'p> {
    proxy: &'p Proxy,
    connection: Connection,
    session: Session,
    lead: Lead,
    unread: [Vec<u8>; 2],
    /// How many bytes are part of a body, and still to come.
    passing: [u64; 2],
    done: [bool; 2],
    /// How many bytes each message had.
    totals: [Vec<u64>; 2],
    /// More of the last message is to come.
    within: [bool; 2],
    /// How many bytes have gone on.
    forwarded: [usize; 2],
    said: Vec<String>,
    /// Whether the server must wait for its turn.
    strict: bool,
}

impl Run<'_> {
    /// Everything that happens when `piece` arrives.
    fn feed(&mut self, sender: Sender, piece: &[u8]) {
        self.unread[sender.index()].extend_from_slice(piece);
        let mut both = [true, true];
        while both != [false, false] {
            for sender in Sender::BOTH {
                both[sender.index()] = self.step(sender);
            }
        }
    }

    /// One step of `sender`'s loop. Says whether anything happened.
    fn step(&mut self, sender: Sender) -> bool {
        let index = sender.index();
        let proxy = self.proxy;
        if self.passing[index] > 0 {
            let passed = (self.unread[index].len() as u64).min(self.passing[index]);
            self.unread[index].drain(..passed as usize);
            self.passing[index] -= passed;
            self.forwarded[index] += passed as usize;
            return passed > 0;
        }
        if self.done[index] {
            return false;
        }
        let side = if proxy.codec.is_process(sender) { Side::Process } else { Side::Environment };
        let reading: Option<Reading<'_>> = proxy
            .ahead
            .position(&self.session, &self.lead, side)
            .and_then(|position| proxy.readings.at(sender, position));
        let early = self.strict && sender == Sender::Server && !proxy.ahead.is_turn(&self.session, side);
        let reading = if early { Some(proxy.readings.out_of_turn(sender)) } else { reading };
        // The rest of a message is read whoever is to speak next.
        let reading = if self.within[index] { Some(Reading::anything()) } else { reading };
        let Some(reading) = reading else { return false };
        let unread = std::mem::take(&mut self.unread[index]);
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let step = proxy.codec.decode(&mut self.connection, sender, &unread, reading, &scratch, &mut fields);
        let mut consumed = 0;
        let mut happened = false;
        match step {
            Step::More { at_least } => assert!(at_least > unread.len(), "{at_least} of {}", unread.len()),
            Step::Wait => {}
            Step::Transparent => {
                self.done = [true, true];
                self.said.push(format!("{sender:?}: transparent"));
            }
            Step::Malformed(malformed) => {
                self.done[index] = true;
                // How much of a body had gone on by then depends on how it came.
                self.totals[index].pop();
                self.said.push(format!("{sender:?}: malformed: {malformed}"));
            }
            Step::Body { bytes, last } => {
                self.passing[index] = bytes;
                self.within[index] = !last;
                if let Some(total) = self.totals[index].last_mut() {
                    *total += bytes;
                }
                happened = bytes > 0 || last;
            }
            Step::Message(message) => {
                assert!(message.bytes <= unread.len());
                let mut line = format!("{sender:?}: {}", proxy.codec.name(message.label));
                if !fields.is_empty() {
                    let shown: Vec<String> = fields.iter().map(ToString::to_string).collect();
                    write!(line, "({})", shown.join(", ")).unwrap();
                }
                if let Some(session) = message.session {
                    write!(line, " of {}", String::from_utf8_lossy(session)).unwrap();
                }
                let verdict = match message.label {
                    _ if message.aside => Verdict::Forward,
                    _ if early => {
                        self.said.push(format!("{line}: out of turn"));
                        self.done = [true, true];
                        Verdict::Early
                    }
                    Label::Known(_) | Label::Unknown(_) => proxy.ahead.judge(
                        &proxy.monitor,
                        &mut self.session,
                        &mut self.lead,
                        side,
                        proxy.monitor.label(proxy.codec.name(message.label)),
                        Payload::Positional(&fields),
                    ),
                };
                match verdict {
                    Verdict::Early => {}
                    Verdict::Forward => {
                        happened = true;
                        consumed = message.bytes;
                        self.within[index] = message.has_body;
                        self.forwarded[index] += consumed;
                        self.totals[index].push(message.bytes as u64);
                        proxy.codec.take(&mut self.connection, sender, message.after, true);
                        self.said.push(line);
                    }
                    other => {
                        let Verdict::Violation(violation) = other else { panic!("{other:?}") };
                        self.said.push(format!("{line}: {:?}", violation.kind));
                        self.done = [true, true];
                    }
                }
            }
        }
        drop(fields);
        self.unread[index] = unread;
        self.unread[index].drain(..consumed);
        happened
    }
}

/// The preset called `name`.
pub(crate) fn preset(name: &str) -> Proxy {
    let preset = referee_wire::preset::find(name).unwrap();
    Proxy::new(preset.protocol, preset.table)
}

/// A conversation from text: `C: ` and `S: ` lines, each ended by CR LF.
pub(crate) fn script(text: &str) -> Vec<(Sender, Vec<u8>)> {
    text.lines()
        .map(|line| line.trim_start())
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (who, what) = line.split_at(2);
            let sender = if who == "C:" { Sender::Client } else { Sender::Server };
            (sender, format!("{}\r\n", what.strip_prefix(' ').unwrap_or(what)).into_bytes())
        })
        .collect()
}

pub(crate) fn borrowed(script: &[(Sender, Vec<u8>)]) -> Vec<(Sender, &[u8])> {
    script.iter().map(|(sender, bytes)| (*sender, &**bytes)).collect()
}
