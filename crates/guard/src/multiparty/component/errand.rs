//! What a service was asked on its present connection. HTTP servers close connections when they like, whenever they owe
//! no answer; whoever asks next connects again, and nobody is to blame.

use hyper::body::Bytes;

/// Requests that may be made twice (RFC 9110, 9.2.2).
const IDEMPOTENT: [&[u8]; 6] = [b"GET ", b"HEAD ", b"OPTIONS ", b"TRACE ", b"PUT ", b"DELETE "];

#[derive(Debug, Default)]
pub(super) struct Errand {
    /// What it was asked since it last owed no answer.
    asked: Vec<Bytes>,
    /// How many of these are not counted as delivered yet.
    uncounted: u32,
    /// Whether something was asked, and answered, on the present connection.
    used: bool,
    answered: bool,
}

/// What it means that the service has closed its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// It owes nothing: nothing is lost. `used` says whether the connection was of any use.
    Idle { used: bool },
    /// It was about to close before it was asked, and may be asked again.
    Crossed,
    /// The same, but whether it has done what it was asked, nobody can tell.
    Unknown,
    /// It does not answer.
    Gone,
}

impl Errand {
    /// These messages are about to be written, of which so many will then be delivered.
    pub(super) fn asks(&mut self, messages: &[Bytes], count: u32) {
        self.asked.extend_from_slice(messages);
        self.uncounted += count;
        self.used = true;
    }

    /// They are delivered.
    pub(super) fn counted(&mut self) {
        self.uncounted = 0;
    }

    /// There was an answer, and if `idle` no other is owed.
    pub(super) fn answers(&mut self, idle: bool) {
        self.answered = true;
        if idle {
            self.asked.clear();
        }
    }

    /// The service has closed the connection, and owes nothing if `idle`.
    pub(super) fn closes(&self, idle: bool) -> Closing {
        if idle {
            return Closing::Idle { used: self.used };
        }
        // On a new connection it knew what it would be asked.
        if !self.answered {
            return Closing::Gone;
        }
        let may_repeat = |asked: &Bytes| IDEMPOTENT.iter().any(|method| asked.starts_with(method));
        if self.asked.iter().all(may_repeat) { Closing::Crossed } else { Closing::Unknown }
    }

    /// There is a new connection: what is to be asked on it first, and how many will then be delivered.
    pub(super) fn anew(&mut self) -> (Vec<Bytes>, u32) {
        let again = std::mem::take(self);
        (again.asked, again.uncounted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_may_be_closed_between_exchanges_only() {
        let [a, b, c] =
            ["GET /a", "GET /b", "POST /c"].map(|line| Bytes::from(format!("{line} HTTP/1.1\r\n\r\n")));
        let mut errand = Errand::default();
        assert_eq!(errand.closes(true), Closing::Idle { used: false });
        errand.asks(&[a], 1);
        errand.counted();
        assert_eq!(errand.closes(false), Closing::Gone, "it accepted the connection for this");
        errand.answers(true);
        assert_eq!(errand.closes(true), Closing::Idle { used: true });
        errand.asks(std::slice::from_ref(&b), 1);
        assert_eq!(errand.closes(false), Closing::Crossed);
        assert_eq!(errand.anew(), (vec![b.clone()], 1));
        errand.asks(&[b], 1);
        assert_eq!(errand.closes(false), Closing::Gone, "asked twice");
        errand.answers(true);
        errand.asks(&[c], 1);
        assert_eq!(errand.closes(false), Closing::Unknown);
    }
}
