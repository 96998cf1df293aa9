//! What the sessions of a listener have seen, where a session has several connections at once: MCP over HTTP.
//!
//! A message is judged with what its session has seen on all of them: which requests are unanswered, and the instances of properties; of
//! properties that are not about one session, with what all of them have. Whoever lends this sees to it that one message is judged at a time.
//! The protocol has one state there, so that nobody waits for what comes on another connection.

use std::collections::{BTreeMap, HashMap};

use referee_wire::{Connection, OpenRequests};

use crate::property::{Observed, Properties, SessionProperties};

/// Sessions with longer names are not known.
const MAX_NAME: usize = 4096;

/// The sessions of a listener.
#[derive(Debug)]
pub struct SharedSessions {
    /// What all of them have seen.
    common: Observed,
    /// Of messages without a session.
    nameless: SessionProperties,
    named: HashMap<Box<[u8]>, SharedSession>,
    /// Their names, by when they were used last.
    by_use: BTreeMap<u64, Box<[u8]>>,
    /// How many have been used, of all.
    uses: u64,
    begun: u64,
    /// How many are kept; the least recently used make room.
    most: usize,
}

/// What one session has seen.
#[derive(Debug, Default)]
struct SharedSession {
    number: u64,
    last_use: u64,
    requests: OpenRequests,
    properties: SessionProperties,
}

/// Who lends [`SharedSessions`] to the connections of a listener.
pub trait SharedStore: Send + Sync {
    /// Lets `work` have them, and nobody else meanwhile.
    fn with(&self, work: &mut dyn FnMut(&mut SharedSessions));
}

impl SharedSessions {
    /// None yet, and never more than `most`.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            common: Observed::default(),
            nameless: SessionProperties::default(),
            named: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            begun: 0,
            most: most.max(1),
        }
    }

    /// Gives `connection` and `observed` what the session called `name` has seen, until it [leaves](Self::leave) it. Without a name, what
    /// messages without a session have seen. The session's number, from 1; 0 if it has no name, `None` if it is not known.
    pub(crate) fn enter(
        &mut self,
        name: Option<&[u8]>,
        connection: &mut Connection,
        observed: &mut Observed,
        properties: Option<&Properties>,
    ) -> Option<u64> {
        let (number, own) = match name {
            None => (0, &mut self.nameless),
            Some(name) => {
                let session = self.named.get_mut(name)?;
                connection.exchange_requests(&mut session.requests);
                (session.number, &mut session.properties)
            }
        };
        if let Some(properties) = properties {
            std::mem::swap(observed, &mut self.common);
            observed.exchange_session(properties, own);
        }
        if let Some(name) = name {
            self.note_use(name);
        }
        Some(number)
    }

    /// Takes back what [`enter`](Self::enter) has given.
    pub(crate) fn leave(
        &mut self,
        name: Option<&[u8]>,
        connection: &mut Connection,
        observed: &mut Observed,
        properties: Option<&Properties>,
    ) {
        let session = name.and_then(|name| self.named.get_mut(name));
        debug_assert_eq!(session.is_some(), name.is_some(), "a session that was entered is there");
        let own = match session {
            None => &mut self.nameless,
            Some(session) => {
                connection.exchange_requests(&mut session.requests);
                &mut session.properties
            }
        };
        if let Some(properties) = properties {
            observed.exchange_session(properties, own);
            std::mem::swap(observed, &mut self.common);
        }
    }

    /// The session called `name` begins, with the unanswered requests of `connection`; or it was begun before that could be `seen`. Nothing
    /// if it is known.
    pub(crate) fn begin(&mut self, name: &[u8], connection: &mut Connection, seen: bool) {
        if name.len() > MAX_NAME || self.named.contains_key(name) {
            return;
        }
        self.begun += 1;
        let mut session = SharedSession { number: self.begun, ..SharedSession::default() };
        connection.exchange_requests(&mut session.requests);
        session.requests.note_seen(seen);
        self.named.insert(name.into(), session);
        self.note_use(name);
        while self.named.len() > self.most {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.named.remove(&oldest);
        }
    }

    /// The connection has ended, within an exchange of the session called `name` perhaps.
    pub(crate) fn abandon(&mut self, name: Option<&[u8]>, connection: &mut Connection) {
        if let Some(session) = name.and_then(|name| self.named.get_mut(name)) {
            connection.exchange_requests(&mut session.requests);
            connection.abandon();
            connection.exchange_requests(&mut session.requests);
        }
    }

    /// The session called `name` is used.
    fn note_use(&mut self, name: &[u8]) {
        let Some(session) = self.named.get_mut(name) else { return };
        self.uses += 1;
        let known = self.by_use.remove(&session.last_use);
        session.last_use = self.uses;
        self.by_use.insert(self.uses, known.unwrap_or_else(|| name.into()));
    }
}
