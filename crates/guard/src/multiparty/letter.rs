//! What monitors send each other. Every letter says of which session it is, and its number among those of the session
//! from this monitor to that one: whatever carries letters, none is taken twice, and a gap is noticed.

use hyper::body::Bytes;

use super::parcel::{Parcel, put_block, take, take_block};

/// A session, the same for all its monitors.
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

/// A letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) session: SessionId,
    /// From 0, for each session, sender and receiver.
    pub(super) number: u32,
    /// Where the sender's monitor stands.
    pub(super) state: u32,
    pub(super) matter: Matter,
}

/// What a letter is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Matter {
    /// Whoever begins a session asks the others to take part.
    Join,
    /// The component is there.
    Joined,
    /// This role cannot take part, and why.
    Refused(Box<str>),
    /// Everyone is there.
    Start,
    /// A message for the component.
    Message(Parcel),
    /// One that is wrong and was let through, as the step that it should have been.
    Misstep(Parcel),
    /// One that is wrong, no step, and was let through.
    Wrong(Parcel),
    /// What was chosen.
    Dependency(Box<str>),
    /// A violation, as JSON.
    Violation(Bytes),
    /// So many messages, of so many bytes, have been taken and make room for others.
    Credit(u32, u32),
    /// The component ended as it may.
    Ended,
}

impl Letter {
    pub(super) fn write(&self) -> Bytes {
        let mut out = Vec::with_capacity(64);
        let tag = match &self.matter {
            Matter::Join => 0,
            Matter::Joined => 1,
            Matter::Refused(_) => 2,
            Matter::Start => 3,
            Matter::Message(_) => 4,
            Matter::Dependency(_) => 5,
            Matter::Violation(_) => 6,
            Matter::Credit(..) => 7,
            Matter::Ended => 8,
            Matter::Wrong(_) => 9,
            Matter::Misstep(_) => 10,
        };
        out.push(tag);
        out.extend(self.session.0.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(self.state.to_le_bytes());
        match &self.matter {
            Matter::Join | Matter::Joined | Matter::Start | Matter::Ended => {}
            Matter::Refused(text) | Matter::Dependency(text) => out.extend(text.as_bytes()),
            Matter::Violation(json) => out.extend(json),
            Matter::Credit(messages, bytes) => {
                out.extend(messages.to_le_bytes());
                out.extend(bytes.to_le_bytes());
            }
            Matter::Message(parcel) | Matter::Misstep(parcel) | Matter::Wrong(parcel) => {
                write_parcel(parcel, &mut out);
            }
        }
        out.into()
    }

    /// The letter that `bytes` are.
    pub(super) fn read(bytes: &Bytes) -> Option<Self> {
        let mut rest: &[u8] = bytes;
        let [tag] = take(&mut rest)?;
        let session = SessionId(u128::from_le_bytes(take(&mut rest)?));
        let number = u32::from_le_bytes(take(&mut rest)?);
        let state = u32::from_le_bytes(take(&mut rest)?);
        let text = |rest: &[u8]| Some(std::str::from_utf8(rest).ok()?.into());
        let matter = match tag {
            0 if rest.is_empty() => Matter::Join,
            1 if rest.is_empty() => Matter::Joined,
            2 => Matter::Refused(text(rest)?),
            3 if rest.is_empty() => Matter::Start,
            4 => Matter::Message(read_parcel(bytes.slice_ref(rest))?),
            5 => Matter::Dependency(text(rest)?),
            6 => Matter::Violation(bytes.slice_ref(rest)),
            7 => {
                let messages = u32::from_le_bytes(take(&mut rest)?);
                Matter::Credit(messages, u32::from_le_bytes(rest.try_into().ok()?))
            }
            8 if rest.is_empty() => Matter::Ended,
            9 => Matter::Wrong(read_parcel(bytes.slice_ref(rest))?),
            10 => Matter::Misstep(read_parcel(bytes.slice_ref(rest))?),
            _ => return None,
        };
        Some(Self { session, number, state, matter })
    }
}

/// Appends `parcel`.
pub(super) fn write_parcel(parcel: &Parcel, out: &mut Vec<u8>) {
    let (tag, label) = match &parcel.label {
        Ok(label) => (0, label),
        Err(why) => (1, why),
    };
    out.push(tag);
    put_block(label.as_bytes(), out);
    put_block(&parcel.fields, out);
    out.extend(&parcel.bytes);
}

/// The parcel that `whole` is.
pub(super) fn read_parcel(whole: Bytes) -> Option<Parcel> {
    let mut rest: &[u8] = &whole;
    let [tag] = take(&mut rest)?;
    let label = std::str::from_utf8(take_block(&mut rest)?).ok()?.into();
    let label = match tag {
        0 => Ok(label),
        1 => Err(label),
        _ => return None,
    };
    let fields = whole.slice_ref(take_block(&mut rest)?);
    Some(Parcel { label, fields, bytes: whole.slice_ref(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Letter> {
        let parcel = Parcel {
            label: Ok("login".into()),
            fields: Bytes::from_static(&[0, 0, 0, 0]),
            bytes: "x\n".into(),
        };
        [
            Matter::Join,
            Matter::Joined,
            Matter::Refused("no component".into()),
            Matter::Start,
            Matter::Message(parcel.clone()),
            Matter::Misstep(parcel.clone()),
            Matter::Wrong(parcel),
            Matter::Dependency("quit".into()),
            Matter::Violation("{}".into()),
            Matter::Credit(32, 70_000),
            Matter::Ended,
        ]
        .into_iter()
        .map(|matter| Letter { session: SessionId(u128::MAX - 5), number: 7, state: 3, matter })
        .collect()
    }

    #[test]
    fn letters_come_back_as_they_were() {
        for letter in all() {
            assert_eq!(Letter::read(&letter.write()), Some(letter));
        }
    }

    #[test]
    fn what_is_cut_or_changed_does_no_harm() {
        for letter in all() {
            let whole = letter.write();
            for cut in 0..25.min(whole.len()) {
                assert_eq!(Letter::read(&whole.slice(..cut)), None, "{letter:?} {cut}");
            }
            for at in 0..whole.len() {
                let mut bytes = whole.to_vec();
                bytes[at] ^= 0x81;
                let _ = Letter::read(&bytes.into());
            }
        }
    }
}
