//! A connection: what a codec remembers between two looks. The messages themselves are not kept.

use crate::body::Block;
use crate::http::chunked::Chunked;
use crate::http::head::Progress;
use crate::http::{RequestKind, Unanswered};
use crate::json::Nesting;
use crate::json::rpc::Open;
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
        }
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
