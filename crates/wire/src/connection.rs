//! A connection: what a codec remembers between two looks. The messages themselves are not kept.

use crate::body::DotPlace;
use crate::signature::Sender;

/// The state of a codec on one connection, both directions. Made by
/// [`Codec::connection`](crate::Codec::connection).
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) limit: usize,
    pub(crate) transparent: bool,
    pub(crate) flows: [Flow; 2],
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// How many of the unread bytes were looked at before, so that none is looked at twice.
    pub(crate) scanned: usize,
    /// Where, among them, the part begins that is being looked at: a line of a reply.
    pub(crate) anchor: usize,
    /// Where in a block that is kept as a whole we are.
    pub(crate) dot: DotPlace,
    /// What is left of the message that was taken last.
    pub(crate) body: Body,
}

/// The rest of a message whose beginning was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Body {
    #[default]
    None,
    /// So many bytes.
    Exactly(u64),
    /// Everything up to a line with a single dot.
    Dotted(DotPlace),
}

/// What taking a message does to the connection as a whole, if it is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Nothing after this can be read.
    Transparent,
}

impl Connection {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, transparent: false, flows: [Flow::default(), Flow::default()] }
    }

    pub(crate) fn flow(&mut self, sender: Sender) -> &mut Flow {
        let [client, server] = &mut self.flows;
        match sender {
            Sender::Client => client,
            Sender::Server => server,
        }
    }

    /// Whether inspection has ended: both directions are passed on as they are.
    #[must_use]
    pub fn is_transparent(&self) -> bool {
        self.transparent
    }
}
