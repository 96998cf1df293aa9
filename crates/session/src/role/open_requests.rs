//! The unanswered requests on the present connection to a service. HTTP servers may close idle connections at any time;
//! the client connects again, and nobody is to blame.

use bytes::Bytes;

/// Requests that may be made twice (RFC 9110, 9.2.2).
const IDEMPOTENT: [&[u8]; 6] = [b"GET ", b"HEAD ", b"OPTIONS ", b"TRACE ", b"PUT ", b"DELETE "];

#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    /// The requests since it last owed no answer.
    asked: Vec<Bytes>,
    /// Whether a request was sent, and one answered, on the present connection.
    used: bool,
    answered: bool,
}

/// What it means that the service closed its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceClose {
    /// It owes no answer.
    Idle {
        /// Whether a request was sent on it.
        used: bool,
    },
    /// The close crossed an idempotent request, which may be sent again.
    Crossed,
    /// The close crossed a request that may have been executed and must not be repeated.
    Unknown,
    /// It closed without an answer.
    Gone,
}

impl OpenRequests {
    /// `messages` are about to be written.
    pub(super) fn sent(&mut self, messages: Vec<Bytes>) {
        self.used |= !messages.is_empty();
        self.asked.extend(messages);
    }

    /// An answer arrived; if `idle`, no other is owed.
    pub(super) fn note_answer(&mut self, idle: bool) {
        self.answered = true;
        if idle {
            self.asked.clear();
        }
    }

    /// The service closed the connection; if `idle`, it owes no answer.
    pub(super) fn on_close(&self, idle: bool) -> ServiceClose {
        if idle {
            return ServiceClose::Idle { used: self.used };
        }
        // It accepted this connection for these requests.
        if !self.answered {
            return ServiceClose::Gone;
        }
        let may_repeat = |asked: &Bytes| IDEMPOTENT.iter().any(|method| asked.starts_with(method));
        if self.asked.iter().all(may_repeat) { ServiceClose::Crossed } else { ServiceClose::Unknown }
    }

    /// A new connection: the requests to repeat on it.
    pub(super) fn reset(&mut self) -> Vec<Bytes> {
        std::mem::take(self).asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_may_be_closed_between_exchanges_only() {
        let [a, b, c] =
            ["GET /a", "GET /b", "POST /c"].map(|link| Bytes::from(format!("{link} HTTP/1.1\r\n\r\n")));
        let mut requests = OpenRequests::default();
        assert_eq!(requests.on_close(true), ServiceClose::Idle { used: false });
        requests.sent(vec![a]);
        assert_eq!(requests.on_close(false), ServiceClose::Gone, "it accepted the connection for this");
        requests.note_answer(true);
        assert_eq!(requests.on_close(true), ServiceClose::Idle { used: true });
        requests.sent(vec![b.clone()]);
        assert_eq!(requests.on_close(false), ServiceClose::Crossed);
        assert_eq!(requests.reset(), vec![b.clone()]);
        requests.sent(vec![b]);
        assert_eq!(requests.on_close(false), ServiceClose::Gone, "asked twice");
        requests.note_answer(true);
        requests.sent(vec![c]);
        assert_eq!(requests.on_close(false), ServiceClose::Unknown);
    }
}
