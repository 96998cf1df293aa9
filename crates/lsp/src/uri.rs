//! `file:` addresses and paths.

use gen_lsp_types::Uri;

/// The path that `uri` means; an address of another kind stands for itself.
pub(crate) fn to_path(uri: &Uri) -> String {
    let Some(rest) = uri.0.strip_prefix("file://") else { return uri.0.clone() };
    let path = rest.find('/').map_or(rest, |slash| &rest[slash..]);
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |at: usize| bytes.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// The address of the file at `path`.
pub(crate) fn of_path(path: &str) -> Uri {
    if !path.starts_with('/') {
        return Uri(path.to_owned());
    }
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    Uri(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses_are_inverse() {
        for path in ["/a/b.scr", "/a b/ü%41.scr", "untitled:Untitled-1", "/a#?/x.kmc"] {
            assert_eq!(to_path(&of_path(path)), path);
        }
        assert_eq!(to_path(&Uri("file:///a%20b/%C3%BC.scr".to_owned())), "/a b/ü.scr");
        assert_eq!(to_path(&Uri("file:///a%zz".to_owned())), "/a%zz");
        assert_eq!(to_path(&Uri("file:///%".to_owned())), "/%");
        assert_eq!(to_path(&Uri("file:///a%+1%é".to_owned())), "/a%+1%é");
    }
}
