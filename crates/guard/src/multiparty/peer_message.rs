//! Peer messages: what monitors send each other. Each carries its session and a sequence number for session, sender and
//! receiver: whatever the transport does, duplicates are dropped and gaps detected.

use hyper::body::Bytes;

use referee_session::role::payload::{Payload, put_block, take, take_block};

use super::trace_context::TraceContext;

/// The id of a session, the same at all its monitors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SessionId(pub(super) u128);

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl std::fmt::Debug for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A message between monitors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerMessage {
    pub(super) session: SessionId,
    /// From 0, for each session, sender and receiver.
    pub(super) number: u32,
    /// The state of the sender's monitor.
    pub(super) state: u32,
    pub(super) kind: MessageKind,
}

/// The kinds of peer messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// The initiator invites to a session; the trace context that its component gave.
    Join(Option<TraceContext>),
    /// The component is connected.
    Joined,
    /// This role cannot take part, and why.
    Refused(Box<str>),
    /// Everyone has joined.
    Start,
    /// A message for the component.
    Message(Payload),
    /// A wrong message that was let through and counts as the step with its label.
    Misstep(Payload),
    /// A wrong message that was let through and is no step.
    Wrong(Payload),
    /// The label of a choice.
    Dependency(Box<str>),
    /// A violation, as JSON.
    Violation(Bytes),
    /// Flow control: so many messages, of so many bytes, were processed.
    Credit(u32, u32),
    /// The component ended as it may.
    Ended,
    /// Something happened at the sender's role, of which the receiver may not have heard: the session is not idle.
    Active,
}

impl PeerMessage {
    pub(super) fn write(&self) -> Bytes {
        let mut out = Vec::with_capacity(64);
        let tag = match &self.kind {
            MessageKind::Join(_) => 0,
            MessageKind::Joined => 1,
            MessageKind::Refused(_) => 2,
            MessageKind::Start => 3,
            MessageKind::Message(_) => 4,
            MessageKind::Dependency(_) => 5,
            MessageKind::Violation(_) => 6,
            MessageKind::Credit(..) => 7,
            MessageKind::Ended => 8,
            MessageKind::Wrong(_) => 9,
            MessageKind::Misstep(_) => 10,
            MessageKind::Active => 11,
        };
        out.push(tag);
        out.extend(self.session.0.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(self.state.to_le_bytes());
        match &self.kind {
            MessageKind::Join(context) => {
                if let Some(context) = context {
                    context.write(&mut out);
                }
            }
            MessageKind::Joined | MessageKind::Start | MessageKind::Ended | MessageKind::Active => {}
            MessageKind::Refused(text) | MessageKind::Dependency(text) => out.extend(text.as_bytes()),
            MessageKind::Violation(json) => out.extend(json),
            MessageKind::Credit(messages, bytes) => {
                out.extend(messages.to_le_bytes());
                out.extend(bytes.to_le_bytes());
            }
            MessageKind::Message(payload) | MessageKind::Misstep(payload) | MessageKind::Wrong(payload) => {
                write_payload(payload, &mut out);
            }
        }
        out.into()
    }

    /// Decodes a peer message.
    pub(super) fn read(bytes: &Bytes) -> Option<Self> {
        let mut rest: &[u8] = bytes;
        let [tag] = take(&mut rest)?;
        let session = SessionId(u128::from_le_bytes(take(&mut rest)?));
        let number = u32::from_le_bytes(take(&mut rest)?);
        let state = u32::from_le_bytes(take(&mut rest)?);
        let text = |rest: &[u8]| Some(std::str::from_utf8(rest).ok()?.into());
        let kind = match tag {
            0 if rest.is_empty() => MessageKind::Join(None),
            0 => {
                let context = TraceContext::read(&mut rest)?;
                rest.is_empty().then_some(MessageKind::Join(Some(context)))?
            }
            1 if rest.is_empty() => MessageKind::Joined,
            2 => MessageKind::Refused(text(rest)?),
            3 if rest.is_empty() => MessageKind::Start,
            4 => MessageKind::Message(read_payload(bytes.slice_ref(rest))?),
            5 => MessageKind::Dependency(text(rest)?),
            6 => MessageKind::Violation(bytes.slice_ref(rest)),
            7 => {
                let messages = u32::from_le_bytes(take(&mut rest)?);
                MessageKind::Credit(messages, u32::from_le_bytes(rest.try_into().ok()?))
            }
            8 if rest.is_empty() => MessageKind::Ended,
            9 => MessageKind::Wrong(read_payload(bytes.slice_ref(rest))?),
            10 => MessageKind::Misstep(read_payload(bytes.slice_ref(rest))?),
            11 if rest.is_empty() => MessageKind::Active,
            _ => return None,
        };
        Some(Self { session, number, state, kind })
    }
}

/// Appends `payload`.
pub(super) fn write_payload(payload: &Payload, out: &mut Vec<u8>) {
    let (tag, label) = match &payload.label {
        Ok(label) => (0, label),
        Err(why) => (1, why),
    };
    out.push(tag);
    put_block(label.as_bytes(), out);
    put_block(&payload.fields, out);
    out.extend(&payload.bytes);
}

/// Decodes a payload.
pub(super) fn read_payload(whole: Bytes) -> Option<Payload> {
    let mut rest: &[u8] = &whole;
    let [tag] = take(&mut rest)?;
    let label = std::str::from_utf8(take_block(&mut rest)?).ok()?.into();
    let label = match tag {
        0 => Ok(label),
        1 => Err(label),
        _ => return None,
    };
    let fields = whole.slice_ref(take_block(&mut rest)?);
    Some(Payload { label, fields, bytes: whole.slice_ref(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<PeerMessage> {
        let payload = Payload {
            label: Ok("login".into()),
            fields: Bytes::from_static(&[0, 0, 0, 0]),
            bytes: "x\n".into(),
        };
        [
            MessageKind::Join(None),
            MessageKind::Join(TraceContext::of_request(
                b"GET / HTTP/1.1\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n",
            )),
            MessageKind::Joined,
            MessageKind::Refused("no component".into()),
            MessageKind::Start,
            MessageKind::Message(payload.clone()),
            MessageKind::Misstep(payload.clone()),
            MessageKind::Wrong(payload),
            MessageKind::Dependency("quit".into()),
            MessageKind::Violation("{}".into()),
            MessageKind::Credit(32, 70_000),
            MessageKind::Ended,
            MessageKind::Active,
        ]
        .into_iter()
        .map(|kind| PeerMessage { session: SessionId(u128::MAX - 5), number: 7, state: 3, kind })
        .collect()
    }

    #[test]
    fn letters_come_back_as_they_were() {
        for message in all() {
            assert_eq!(PeerMessage::read(&message.write()), Some(message));
        }
    }

    #[test]
    fn what_is_cut_or_changed_does_no_harm() {
        for message in all() {
            let whole = message.write();
            for cut in 0..25.min(whole.len()) {
                assert_eq!(PeerMessage::read(&whole.slice(..cut)), None, "{message:?} {cut}");
            }
            for at in 0..whole.len() {
                let mut bytes = whole.to_vec();
                bytes[at] ^= 0x81;
                let _ = PeerMessage::read(&bytes.into());
            }
        }
    }
}
