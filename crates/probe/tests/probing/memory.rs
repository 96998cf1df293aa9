//! Peers in memory: a thread for each connection, bytes over channels.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender as Queue, channel};
use std::thread;
use std::time::Duration;

use referee_pipeline::Parsed;
use referee_probe::{Examples, Heard, Mock, Options, Peer, Player, Prober, Report};
use referee_syntax::Language;
use referee_wire::{Sender, Table};

/// One end of a connection.
pub(crate) struct End {
    out: Option<Queue<Vec<u8>>>,
    input: Receiver<Vec<u8>>,
}

impl End {
    fn pair() -> (Self, Self) {
        let ((left_out, right_in), (right_out, left_in)) = (channel(), channel());
        (Self { out: Some(left_out), input: left_in }, Self { out: Some(right_out), input: right_in })
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        self.input.recv().ok().map(|bytes| String::from_utf8(bytes).unwrap().trim_end().to_owned())
    }

    pub(crate) fn say(&mut self, line: &str) {
        let _ = self.send(format!("{line}\n").as_bytes());
    }
}

impl Peer for End {
    fn connect(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let out = self.out.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        out.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn receive(&mut self, patience: Duration) -> Heard {
        match self.input.recv_timeout(patience) {
            Ok(bytes) => Heard::Bytes(bytes),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    fn close(&mut self) {
        self.out = None;
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// A server in memory: what it does with the connection of each number.
pub(crate) struct Server {
    serve: Arc<dyn Fn(End, u64) + Send + Sync>,
    link: Option<End>,
    count: u64,
}

impl Server {
    pub(crate) fn new(serve: impl Fn(End, u64) + Send + Sync + 'static) -> Self {
        Self { serve: Arc::new(serve), link: None, count: 0 }
    }

    /// A server that does whatever the protocol allows.
    pub(crate) fn perfect(text: &str, examples: &str) -> Self {
        let mock = Mock::new(&player(text, Sender::Server, examples), options());
        Self::new(move |mut end, seed| {
            mock.serve(&mut end, seed);
        })
    }
}

impl Peer for Server {
    fn connect(&mut self) -> io::Result<()> {
        let (own, other) = End::pair();
        let (serve, seed) = (Arc::clone(&self.serve), self.count);
        self.count += 1;
        thread::spawn(move || serve(other, seed));
        self.link = Some(own);
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.link.as_mut().map_or_else(|| Err(io::ErrorKind::NotConnected.into()), |link| link.send(bytes))
    }

    fn receive(&mut self, patience: Duration) -> Heard {
        self.link.as_mut().map_or(Heard::Broken, |link| link.receive(patience))
    }

    fn close(&mut self) {
        self.link = None;
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// One side of the protocol `text`, over lines of JSON.
pub(crate) fn player(text: &str, own: Sender, examples: &str) -> Arc<Player> {
    let table = Table::parse("kind = 'json'\nframing = 'lines'").unwrap();
    let protocol = Parsed::new(text, Language::Scr).well_formed().unwrap().protocol(None).unwrap();
    let client = protocol.role("client").unwrap();
    let monitor = Arc::new(protocol.monitorable(client).unwrap().monitor().unwrap());
    let examples = Examples::parse(examples).unwrap();
    Arc::new(Player::new(&monitor, client, &table, (own, [true, false]), examples).unwrap())
}

/// Short waits: what comes in memory comes at once.
pub(crate) fn options() -> Options {
    Options { quiet: Duration::from_millis(5), timeout: Duration::from_secs(5), ..Options::default() }
}

/// What a probe of `server` by the client of `text` says.
pub(crate) fn probe(text: &str, server: Server, options: Options) -> Report {
    Prober::new(&player(text, Sender::Client, ""), server, options).run().unwrap()
}
