//! What a body is: its media type and how it is coded.

use std::io::Read as _;

use crate::http::head::Head;
use crate::step::{Malformed, Scratch};

/// What a body is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Events,
    Other,
}

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    None,
    Gzip,
    Other,
}

const JSON: &[u8] = b"application/json";
pub(super) const EVENTS: &[u8] = b"text/event-stream";

/// The media type in `head`.
pub(super) fn of(head: &Head<'_>) -> Result<Media, Malformed> {
    let wrong = |reason: &'static str| Err(Malformed::new(reason, 0));
    let mut values = head.values("content-type");
    let Some(value) = values.next() else { return Ok(Media::Other) };
    if values.next().is_some() {
        return wrong("two Content-Type headers");
    }
    let mut parts = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let essence = parts.next().unwrap_or_default();
    for parameter in parts {
        let at = memchr::memchr(b'=', parameter).unwrap_or(parameter.len());
        let (name, charset) = parameter.split_at(at);
        if !name.trim_ascii().eq_ignore_ascii_case(b"charset") {
            continue;
        }
        let charset = charset.strip_prefix(b"=").unwrap_or_default().trim_ascii();
        let charset =
            charset.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(charset);
        // A reader that goes by another finds other members in the same bytes.
        if !charset.eq_ignore_ascii_case(b"utf-8") && !charset.eq_ignore_ascii_case(b"utf8") {
            return wrong("a charset other than UTF-8");
        }
    }
    Ok(if essence.eq_ignore_ascii_case(JSON) {
        Media::Json
    } else if essence.eq_ignore_ascii_case(EVENTS) {
        Media::Events
    } else if contains(value, JSON) || contains(value, EVENTS) {
        return wrong("a media type that only contains the one that some readers look for");
    } else {
        Media::Other
    })
}

/// Whether `text` has `part` in it, in any case.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// How the body after `head` is compressed.
pub(super) fn coding(head: &Head<'_>) -> Coding {
    let mut values = head.values("content-encoding").filter(|value| !value.eq_ignore_ascii_case(b"identity"));
    match (values.next(), values.next()) {
        (None, _) => Coding::None,
        (Some([]), None) => Coding::None,
        (Some(value), None)
            if value.eq_ignore_ascii_case(b"gzip") || value.eq_ignore_ascii_case(b"x-gzip") =>
        {
            Coding::Gzip
        }
        _ => Coding::Other,
    }
}

/// What `content` is that is coded so; not more than `limit` bytes.
pub(super) fn decoded<'b>(
    coding: Coding,
    content: &'b [u8],
    limit: usize,
    scratch: &'b Scratch,
) -> Result<&'b [u8], Malformed> {
    match coding {
        Coding::None => Ok(content),
        Coding::Other => Err(Malformed::unreadable("a body that is compressed in a way that is not read", 0)),
        Coding::Gzip => {
            let mut rest = content;
            let mut plain = Vec::new();
            let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
            let read = flate2::bufread::GzDecoder::new(&mut rest).take(most).read_to_end(&mut plain);
            if plain.len() > limit {
                return Err(Malformed::unreadable(
                    "a body that is longer than the limit once it is inflated",
                    0,
                ));
            }
            // Some readers go on with what follows the first member, others do not.
            match read {
                Ok(_) if rest.is_empty() => Ok(scratch.bump.alloc_slice_copy(&plain)),
                _ => Err(Malformed::new("a body that is no gzip", 0)),
            }
        }
    }
}
