//! The head of an HTTP/1 message: a line and headers, read so that no two readers can differ about its length.
//!
//! RFC 9112 lets a recipient forgive lone LF, folded headers, blanks before a colon, repeated lengths. Two
//! recipients in a row that forgive differently are how requests are smuggled. Nothing of it is forgiven here, and of
//! what it allows only that which every recipient reads alike, unless the table names it ([`HeadRules`]).

use crate::step::Malformed;

/// What is read although some recipients read it differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeadRules {
    /// A request of HTTP/1.1 without Host.
    pub(crate) missing_host: bool,
    /// Codings besides `chunked`.
    pub(crate) codings: bool,
}

/// What a head says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head<'b> {
    /// The first line, in its three parts.
    pub(crate) line: [&'b [u8]; 3],
    /// The header lines, each with its CR LF.
    pub(crate) headers: &'b [u8],
    /// How many bytes there are up to the body.
    pub(crate) bytes: usize,
    pub(crate) length: Option<u64>,
    pub(crate) chunked: bool,
    /// `Connection: upgrade`, with `Upgrade: websocket` or something else.
    pub(crate) upgrade: bool,
    pub(crate) close: bool,
    /// `Sec-WebSocket-Extensions`.
    pub(crate) extensions: Option<&'b [u8]>,
    /// HTTP/1.0.
    pub(crate) old: bool,
}

/// What may stand in a header's name or a method.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = is_token(byte as u8);
        byte += 1;
    }
    table
};

/// The head that `unread` begins with; `None` if it is not whole yet. Lines that are no header are told at once, what
/// several lines say together when all of them are there, so that it makes no difference how they came.
pub(crate) fn parse(unread: &[u8], request: bool, rules: HeadRules) -> Result<Option<Head<'_>>, Malformed> {
    let at = skip_empty(unread);
    let Some((line, mut next)) = line(unread, at, at)? else { return Ok(None) };
    let mut head = Head {
        line: if request { request_line(line, at)? } else { status_line(line, at)? },
        ..Head::default()
    };
    head.old = head.line[if request { 2 } else { 0 }] == b"HTTP/1.0";
    let first = next;
    let mut coded = false;
    let mut host = None;
    let mut flaw = None;
    loop {
        let Some((line, after)) = self::line(unread, next, next)? else { return Ok(None) };
        if line.is_empty() {
            head.headers = unread.get(first..next).unwrap_or_default();
            head.bytes = after;
            break;
        }
        let (name, value) = header(line, next)?;
        let mut wrong = |what: &'static str| flaw = flaw.or(Some((what, next)));
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                match (decimal(value.trim_ascii()), head.length) {
                    (_, Some(_)) => wrong("two Content-Length headers"),
                    (None, None) => wrong("a wrong Content-Length"),
                    (length, None) => head.length = length,
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let mut codings = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                head.chunked = codings.next_back().unwrap_or_default().eq_ignore_ascii_case(b"chunked");
                let twice =
                    codings.any(|coding| coding.eq_ignore_ascii_case(b"chunked") || coding.is_empty());
                if coded || twice || !head.chunked {
                    wrong("a Transfer-Encoding that does not end in one `chunked`");
                }
                if !rules.codings && memchr::memchr(b',', value).is_some() {
                    wrong("a Transfer-Encoding other than `chunked`");
                }
                coded = true;
            }
            4 if request && name.eq_ignore_ascii_case(b"host") => {
                let value = value.trim_ascii();
                if host.replace(value).is_some() {
                    wrong("two Host headers");
                } else if !value.iter().copied().all(is_authority) {
                    wrong("a Host that is no host");
                }
            }
            // CGI and its successors take an underscore for a hyphen.
            14 | 17 if is_disguised(name) => wrong("a length in a header that is written with an underscore"),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    head.upgrade |= option.eq_ignore_ascii_case(b"upgrade");
                    head.close |= option.eq_ignore_ascii_case(b"close");
                }
            }
            24 if name.eq_ignore_ascii_case(b"sec-websocket-extensions") => {
                let value = value.trim_ascii();
                if !value.is_empty() && head.extensions.replace(value).is_some() && !request {
                    wrong("two Sec-WebSocket-Extensions headers");
                }
            }
            _ => {}
        }
        next = after;
    }
    if coded && head.length.is_some() {
        flaw = flaw.or(Some(("both Content-Length and Transfer-Encoding", first)));
    }
    if coded && head.old {
        flaw = flaw.or(Some(("Transfer-Encoding in HTTP/1.0", first)));
    }
    if request {
        let named = authority(head.line[1]);
        let wrong = match (host, named) {
            (None, _) if !head.old && !rules.missing_host => Some("a request without Host"),
            // One recipient goes by the target, another by the header (RFC 9112, 3.2.2).
            (Some(host), Some(named)) if !host.eq_ignore_ascii_case(named) => {
                Some("a target and a Host that name different hosts")
            }
            _ => None,
        };
        flaw = flaw.or(wrong.map(|what| (what, first)));
    }
    match flaw {
        Some((what, at)) => Err(Malformed::new(what, at)),
        None => Ok(Some(head)),
    }
}

/// What may stand in the name of a host, with its port.
fn is_authority(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'$'..=b'.' | b':' | b';' | b'=' | b'[' | b']' | b'_' | b'~')
}

/// The host in a target that has one.
fn authority(target: &[u8]) -> Option<&[u8]> {
    if target.first() == Some(&b'/') {
        return None;
    }
    let rest = target.get(memchr::memmem::find(target, b"://")? + 3..)?;
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    rest.get(..end)
}

fn is_disguised(name: &[u8]) -> bool {
    let is = |plain: &[u8]| {
        name.len() == plain.len()
            && name.iter().zip(plain).all(|(a, b)| a.eq_ignore_ascii_case(b) || (*a == b'_' && *b == b'-'))
    };
    name.contains(&b'_') && (is(b"content-length") || is(b"transfer-encoding"))
}

/// How far a head was looked at that was not whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Where the line begins that is not whole; 0 before the first look.
    line: usize,
    seen: usize,
}

impl Progress {
    /// Whether the head is worth parsing: it has not been looked at, or it is whole by now. Every byte is looked at
    /// once, however they come.
    pub(crate) fn is_whole(&mut self, unread: &[u8], request: bool) -> Result<bool, Malformed> {
        let first = skip_empty(unread);
        self.line = self.line.max(first);
        while let Some((line, next)) = line(unread, self.line, self.seen.saturating_sub(1).max(self.line))? {
            if self.line == first {
                if request {
                    request_line(line, first)?
                } else {
                    status_line(line, first)?
                };
            } else if line.is_empty() {
                return Ok(true);
            } else {
                header(line, self.line)?;
            }
            self.line = next;
        }
        self.seen = unread.len();
        Ok(false)
    }

    pub(crate) fn has_begun(self) -> bool {
        self.seen > 0
    }
}

/// Empty lines before a message are for clients of old.
fn skip_empty(unread: &[u8]) -> usize {
    let mut at = 0;
    while unread.get(at..at + 2) == Some(b"\r\n") {
        at += 2;
    }
    at
}

/// The name and the value of a header line.
#[inline]
pub(crate) fn header(line: &[u8], at: usize) -> Result<(&[u8], &[u8]), Malformed> {
    let length = line.iter().take_while(|byte| TOKEN[usize::from(**byte)]).count();
    match line.split_at_checked(length) {
        Some((name @ [_, ..], [b':', value @ ..])) => {
            // Some take a control character for a blank.
            let control = |byte: u8| (byte < 0x20 && byte != b'\t') || byte == 0x7f;
            if value.iter().fold(false, |found, byte| found | control(*byte)) {
                return Err(Malformed::new("a control character in a header", at + length));
            }
            Ok((name, value))
        }
        _ => Err(Malformed::new("a header line that is not `name: value`", at + length)),
    }
}

/// The line at `start` without its CR LF, and where the next begins. There is no line end before `from`.
#[inline]
fn line(bytes: &[u8], start: usize, from: usize) -> Result<Option<(&[u8], usize)>, Malformed> {
    let rest = bytes.get(from..).unwrap_or_default();
    let Some(length) = memchr::memchr3(b'\r', b'\n', 0, rest) else { return Ok(None) };
    let end = from + length;
    match (bytes.get(end), bytes.get(end + 1)) {
        (Some(b'\r'), Some(b'\n')) => Ok(Some((bytes.get(start..end).unwrap_or_default(), end + 2))),
        (Some(b'\r'), None) => Ok(None),
        (Some(0), _) => Err(Malformed::new("a NUL in the head", end)),
        _ => Err(Malformed::new("a lone CR or LF in the head", end)),
    }
}

fn request_line(line: &[u8], at: usize) -> Result<[&[u8]; 3], Malformed> {
    let wrong = || Malformed::new("a request line that is not `METHOD target HTTP/1.1`", at);
    let method = line.iter().position(|byte| *byte == b' ').ok_or_else(wrong)?;
    let (method, rest) = line.split_at(method);
    let rest = rest.get(1..).unwrap_or_default();
    let target = memchr::memchr(b' ', rest).ok_or_else(wrong)?;
    let (target, version) = rest.split_at(target);
    let version = version.get(1..).unwrap_or_default();
    let sound = !method.is_empty() && method.iter().copied().all(is_token) && !target.is_empty();
    // No blanks or control characters in a target; a second blank is in the version.
    if !sound || target.iter().any(|byte| *byte < 0x21 || *byte == 0x7f) || !is_version(version) {
        return Err(wrong());
    }
    Ok([method, target, version])
}

fn status_line(line: &[u8], at: usize) -> Result<[&[u8]; 3], Malformed> {
    let wrong = || Malformed::new("a status line that is not `HTTP/1.1 200 reason`", at);
    let (version, rest) = line.split_at_checked(8).ok_or_else(wrong)?;
    let (status, reason) = rest.split_at_checked(4).ok_or_else(wrong)?;
    let [b' ', digits @ ..] = status else { return Err(wrong()) };
    let sound =
        matches!(digits, [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9']) && matches!(reason, [] | [b' ', ..]);
    if !sound || !is_version(version) {
        return Err(wrong());
    }
    Ok([version, digits, reason.get(1..).unwrap_or_default()])
}

fn is_version(bytes: &[u8]) -> bool {
    matches!(bytes, b"HTTP/1.1" | b"HTTP/1.0")
}

fn decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 19 {
        return None;
    }
    bytes.iter().try_fold(0_u64, |value, byte| {
        byte.is_ascii_digit().then(|| value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')))
    })
}

impl<'b> Head<'b> {
    /// The values of the headers called `name`, which is in lower case.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        let mut rest = self.headers;
        std::iter::from_fn(move || {
            loop {
                let end = memchr::memchr(b'\n', rest)?;
                let (line, tail) = rest.split_at(end + 1);
                rest = tail;
                if let Some((found, [b':', value @ ..])) = line.split_at_checked(name.len())
                    && found.eq_ignore_ascii_case(name.as_bytes())
                {
                    return Some(value.trim_ascii());
                }
            }
        })
    }
}
