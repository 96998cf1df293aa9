//! A connection: what a codec remembers between two looks. The messages themselves are not kept.

use crate::body::Block;
use crate::http::chunked::Chunked;
use crate::http::head::Progress;
use crate::http::{RequestKind, Unanswered};
use crate::json::Nesting;
use crate::json::rpc::Open;
use crate::json_http::{Done, Exchange};
use crate::resp::Values;
use crate::signature::Sender;
use crate::step::Malformed;
use crate::table::Then;
use crate::websocket::Deflate;

/// The state of a codec on one connection, both directions. Made by
/// [`Codec::connection`](crate::Codec::connection).
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) limit: usize,
    pub(crate) transparent: bool,
    /// Whether the client and the server have said that they will go.
    pub(crate) leaving: [bool; 2],
    pub(crate) flows: [Flow; 2],
    /// HTTP requests without a response yet.
    pub(crate) unanswered: Unanswered,
    /// Whether HTTP has become WebSocket.
    pub(crate) upgraded: bool,
    /// What both sides of a WebSocket have agreed to compress with; before its answer is taken, what it agrees to.
    pub(crate) deflate: Option<Box<Deflate>>,
    /// Whether frames of WebSocket have had their masks taken off.
    pub(crate) unmasked: bool,
    /// JSON-RPC requests without an answer yet.
    pub(crate) rpc: Option<Box<Open>>,
    /// Where in an array of messages each side is; `None` where arrays are not taken apart.
    pub(crate) batches: Option<[Batch; 2]>,
    /// What HTTP that carries JSON is about.
    pub(crate) exchange: Option<Box<Exchange>>,
}

/// Requests without an answer yet, of a session that has several connections.
#[derive(Debug, Default)]
pub struct OpenRequests(Option<Box<Open>>);

impl OpenRequests {
    /// Whether these are all there are, and every answer is to one of them.
    pub fn note_seen(&mut self, seen: bool) {
        self.0.get_or_insert_default().note_unseen([!seen; 2]);
    }
}

/// Where in an array of messages a side is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batch {
    /// Where the member begins that is to be looked at; 0 for the first.
    pub(crate) at: usize,
    /// Where the one after it does; 0 if there is none.
    pub(crate) next: usize,
    pub(crate) count: u32,
    /// Whether what was looked at last is a member.
    pub(crate) is_member: bool,
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// How many of the unread bytes were looked at before, so that none is looked at twice.
    pub(crate) scanned: usize,
    /// Where, among them, the part begins that is being looked at: a line of a reply.
    pub(crate) anchor: usize,
    /// Where in a block that is kept as a whole we are.
    pub(crate) block: Option<Block>,
    /// Where in the head of an HTTP message we are.
    pub(crate) head: Progress,
    /// Where in a JSON document we are.
    pub(crate) nesting: Nesting,
    /// Where in a chunked body that is kept as a whole we are, and whether that is its end.
    pub(crate) chunked: Chunked,
    pub(crate) is_whole: bool,
    /// What is left of the message that was taken last.
    pub(crate) body: Body,
}

impl Flow {
    /// Goes on in a chunked body that begins at `anchor`. Says whether it is whole.
    pub(crate) fn chunks(&mut self, unread: &[u8]) -> Result<bool, Malformed> {
        if !self.is_whole
            && let Some(rest) = unread.get(self.scanned..)
        {
            let (bytes, last) = self.chunked.scan(rest, |_| {}).map_err(|malformed| {
                let at = malformed.at + self.scanned;
                Malformed { at, ..malformed }
            })?;
            // Perhaps beyond what there is: then this is where to go on.
            self.scanned = self.scanned.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.is_whole = last;
        }
        Ok(self.is_whole)
    }
}

/// The rest of a message whose beginning was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Body {
    #[default]
    None,
    /// So many bytes.
    Exactly(u64),
    /// Everything up to a line with a single dot.
    Dotted(Block),
    /// Chunks of HTTP.
    Chunked(Chunked),
    /// Everything to the end of the connection.
    UntilEnd,
    /// Values of RESP.
    Resp(Values),
}

/// What taking a message does to the connection as a whole, if it is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Nothing after this can be read.
    Transparent,
    /// Its sender may close.
    Leave,
    /// Both may.
    HangUp,
    /// An HTTP request, which will be answered, and whether it is no part of the protocol.
    Request(RequestKind, bool),
    /// The answer to the oldest one.
    Response,
    /// The answer after which this is no HTTP any more.
    Switch,
    /// A JSON-RPC request or answer.
    Rpc,
    /// A step in an exchange of HTTP that carries JSON.
    Exchange(Done),
}

impl From<Option<Then>> for Effect {
    fn from(then: Option<Then>) -> Self {
        match then {
            None => Self::None,
            Some(Then::Transparent | Then::Switch) => Self::Transparent,
            Some(Then::Close) => Self::Leave,
            Some(Then::HangUp) => Self::HangUp,
        }
    }
}

impl Connection {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            transparent: false,
            leaving: [false; 2],
            flows: [Flow::default(), Flow::default()],
            unanswered: Unanswered::default(),
            upgraded: false,
            deflate: None,
            unmasked: false,
            rpc: None,
            batches: None,
            exchange: None,
        }
    }

    /// Arrays of JSON-RPC messages are taken apart from here on. All but the last of an array have no bytes: the array goes on as it
    /// came, with the last.
    pub fn take_batches_apart(&mut self) {
        self.batches = Some(Default::default());
    }

    /// Whether the message of `sender` that was looked at last is one of an array.
    #[must_use]
    pub fn is_in_batch(&self, sender: Sender) -> bool {
        self.batch(sender).is_some_and(|batch| batch.is_member)
    }

    /// How many bytes that message has, where its frame has so many.
    pub(crate) fn bytes_of(&self, sender: Sender, frame: usize) -> usize {
        if self.batch(sender).is_some_and(|batch| batch.next > 0) { 0 } else { frame }
    }

    fn batch(&self, sender: Sender) -> Option<&Batch> {
        self.batches.as_ref()?.get(sender.index())
    }

    pub(crate) fn batch_mut(&mut self, sender: Sender) -> Option<&mut Batch> {
        self.batches.as_mut()?.get_mut(sender.index())
    }

    /// Either side may answer requests that were made elsewhere.
    pub fn note_unseen(&mut self) {
        self.rpc.get_or_insert_default().note_unseen([true; 2]);
    }

    /// It has ended: whether or not its last request was answered, no answer comes on it.
    pub fn abandon(&mut self) {
        Exchange::end(self);
    }

    /// From here on this connection has the unanswered requests `others`, which are now those that it had.
    pub fn exchange_requests(&mut self, others: &mut OpenRequests) {
        std::mem::swap(&mut self.rpc, &mut others.0);
    }

    pub(crate) fn flow(&mut self, sender: Sender) -> &mut Flow {
        let [client, server] = &mut self.flows;
        match sender {
            Sender::Client => client,
            Sender::Server => server,
        }
    }

    /// Whether `sender` has said that it will end its side of the connection.
    #[must_use]
    pub fn is_leaving(&self, sender: Sender) -> bool {
        self.leaving.get(sender.index()).copied().unwrap_or(false)
    }

    /// Whether inspection has ended: both directions are passed on as they are.
    #[must_use]
    pub fn is_transparent(&self) -> bool {
        self.transparent
    }
}
