//! The trace context of a network session (W3C, <https://www.w3.org/TR/trace-context/>): which trace its spans are of, and which span
//! is whose parent.
//!
//! The trace is the one that the initiator's component names in its first HTTP request, or else the session's own id, which is random
//! and the same at all monitors. Each role's monitor has a span, whose id follows from the session and the role: what has to be
//! carried from monitor to monitor is only what the component said.

use hyper::body::Bytes;
use referee_session::role::payload::take;
use referee_theory::Role;

use super::peer_message::SessionId;

/// The header of a request.
const HEADER: &str = "traceparent";
/// `00-TRACE-SPAN-FLAGS`; later versions may have more behind it.
const LENGTH: usize = 55;
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// What a component says: the trace, and the span in which it called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceContext {
    trace: u128,
    parent: u64,
    flags: u8,
}

impl TraceContext {
    /// Reads the value of a `traceparent` header. What is not well formed says nothing.
    fn parse(text: &str) -> Option<Self> {
        let known = text.get(..LENGTH)?;
        let mut parts = known.split('-');
        let mut number = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            let is_hex = part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            is_hex.then(|| u128::from_str_radix(part, 16).ok()).flatten()
        };
        let (version, trace, parent, flags) = (number(2)?, number(32)?, number(16)?, number(2)?);
        let is_whole = text.len() == LENGTH || (version > 0 && text.as_bytes().get(LENGTH) == Some(&b'-'));
        let (parent, flags) = (u64::try_from(parent).ok()?, u8::try_from(flags).ok()?);
        (is_whole && version != 0xff && trace != 0 && parent != 0).then_some(Self { trace, parent, flags })
    }

    /// The context in the head of an HTTP request, if it has exactly one.
    pub(super) fn of_request(request: &[u8]) -> Option<Self> {
        let mut found = header_lines(request).filter_map(|line| value(line));
        let first = found.next()?;
        if found.next().is_some() { None } else { Self::parse(first) }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.trace.to_le_bytes());
        out.extend(self.parent.to_le_bytes());
        out.push(self.flags);
    }

    pub(super) fn read(rest: &mut &[u8]) -> Option<Self> {
        let (trace, parent) = (u128::from_le_bytes(take(rest)?), u64::from_le_bytes(take(rest)?));
        let [flags] = take(rest)?;
        Some(Self { trace, parent, flags })
    }

    /// The trace.
    pub(super) fn trace(&self) -> u128 {
        self.trace
    }
}

/// The span of one role's monitor in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoleSpan {
    trace: u128,
    span: u64,
    parent: Option<u64>,
    flags: u8,
}

impl RoleSpan {
    /// The span of `role` in `session`, which the component of `initiator` began and said `context`.
    pub(super) fn new(
        session: SessionId,
        role: Role,
        initiator: Role,
        context: Option<TraceContext>,
    ) -> Self {
        let of = |role: Role| {
            // The finaliser of SplitMix64: other ids for other roles, the same at every monitor.
            let [low, high] = [session.0, session.0 >> 64].map(|part| part as u64);
            let seed =
                low ^ high.rotate_left(32) ^ (u64::from(role.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)).max(1)
        };
        Self {
            trace: context.map_or(session.0, |context| context.trace),
            span: of(role),
            parent: if role == initiator {
                context.map(|context| context.parent)
            } else {
                Some(of(initiator))
            },
            flags: context.map_or(SAMPLED, |context| context.flags),
        }
    }

    pub(super) fn trace(&self) -> u128 {
        self.trace
    }

    /// What is called from within this span: the value of a `traceparent` header.
    pub(super) fn traceparent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }

    /// The id of the span in which this one was begun.
    pub(super) fn parent(&self) -> Option<String> {
        self.parent.map(|parent| format!("{parent:016x}"))
    }

    /// `request` as a call from within this span. What has no head of HTTP is left as it is.
    pub(super) fn give(&self, request: &Bytes) -> Bytes {
        let Some(first) = request.iter().position(|byte| *byte == b'\n') else { return request.clone() };
        let mut out = Vec::with_capacity(request.len() + LENGTH + HEADER.len() + 4);
        let (line, mut rest) = request.split_at(first + 1);
        out.extend(line);
        out.extend(format!("{HEADER}: {}\r\n", self.traceparent()).as_bytes());
        for line in header_lines(request) {
            let (line, after) = rest.split_at(line.len().min(rest.len()));
            if value(line).is_none() {
                out.extend(line);
            }
            rest = after;
        }
        out.extend(rest);
        out.into()
    }
}

/// The lines of an HTTP head after the first, each with its end, up to the empty one.
fn header_lines(request: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = request.split_inclusive(|byte| *byte == b'\n').skip(1);
    lines.take_while(|line| !matches!(line, [b'\n'] | [b'\r', b'\n']) && line.ends_with(b"\n"))
}

/// The value, if `line` is such a header.
fn value(line: &[u8]) -> Option<&str> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    name.eq_ignore_ascii_case(HEADER).then(|| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn only_what_is_well_formed_is_taken() {
        let text = format!("00-{TRACE}-{SPAN}-01");
        let context = TraceContext::parse(&text).unwrap();
        assert_eq!(
            format!("{:032x}-{:016x}-{:02x}", context.trace, context.parent, context.flags),
            text[3..]
        );
        assert!(TraceContext::parse(&format!("cc-{TRACE}-{SPAN}-01-what-the-future-brings")).is_some());
        for wrong in [
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}-{SPAN}-é"),
            String::new(),
        ] {
            assert_eq!(TraceContext::parse(&wrong), None, "{wrong}");
        }
        let mut bytes = Vec::new();
        context.write(&mut bytes);
        assert_eq!(TraceContext::read(&mut &bytes[..]), Some(context));
        assert_eq!(TraceContext::read(&mut &bytes[1..]), None);
    }

    #[test]
    fn a_request_is_taken_and_given_with_its_context() {
        let request = |headers: &str| {
            Bytes::from(format!("GET /a HTTP/1.1\r\nHost: h\r\n{headers}\r\nbody: {SPAN}\r\n"))
        };
        let one = format!("TraceParent:  00-{TRACE}-{SPAN}-01 \r\n");
        let context = TraceContext::of_request(&request(&one)).unwrap();
        assert_eq!(context.trace(), u128::from_str_radix(TRACE, 16).unwrap());
        // Two of them say nothing, and neither does one in the body.
        assert_eq!(TraceContext::of_request(&request(&format!("{one}{one}"))), None);
        assert_eq!(TraceContext::of_request(format!("GET / HTTP/1.1\r\n\r\n{one}").as_bytes()), None);

        let (session, [s, c]) = (SessionId(7), [Role(0), Role(1)]);
        let own = RoleSpan::new(session, c, s, Some(context));
        let expected = format!(
            "GET /a HTTP/1.1\r\ntraceparent: {}\r\nHost: h\r\n\r\nbody: {SPAN}\r\n",
            own.traceparent()
        );
        for headers in [String::new(), one] {
            assert_eq!(own.give(&request(&headers)), expected);
        }
        assert_eq!(TraceContext::of_request(expected.as_bytes()).unwrap().trace, context.trace);
        assert_eq!(own.give(&Bytes::from_static(b"no head")), "no head");
    }

    #[test]
    fn spans_are_one_for_each_role_and_hang_together() {
        let (session, [s, c, a]) = (SessionId(u128::MAX / 3), [Role(0), Role(1), Role(2)]);
        let context = TraceContext { trace: 5, parent: 6, flags: 0 };
        for context in [None, Some(context)] {
            let spans = [s, c, a].map(|role| RoleSpan::new(session, role, s, context));
            let first = spans[0];
            assert_eq!(first.parent, context.map(|context| context.parent));
            assert!(
                spans.iter().all(|span| span.trace == context.map_or(session.0, |context| context.trace))
            );
            assert!(spans[1..].iter().all(|span| span.parent == Some(first.span) && span.span != first.span));
            assert_ne!(spans[1].span, spans[2].span);
        }
        assert_ne!(
            RoleSpan::new(SessionId(1), s, s, None).span,
            RoleSpan::new(SessionId(2), s, s, None).span
        );
    }
}
