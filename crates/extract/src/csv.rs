//! Comma-separated values (RFC 4180): where records end, and their cells.

use std::borrow::Cow;

/// The cells of `record`, which has no line end. `None` if a quote is not closed, or text follows a closing one.
pub(crate) fn cells(record: &str, separator: char) -> Option<Vec<Cow<'_, str>>> {
    let mut found = Vec::new();
    let mut rest = record;
    loop {
        let after = if let Some(quoted) = rest.strip_prefix('"') {
            let (cell, after) = quoted_cell(quoted)?;
            found.push(cell);
            after
        } else {
            let end = rest.find(separator).unwrap_or(rest.len());
            let (cell, after) = rest.split_at(end);
            found.push(cell.into());
            after
        };
        if after.is_empty() {
            return Some(found);
        }
        rest = after.strip_prefix(separator)?;
    }
}

/// What stands before the closing quote, and what follows it.
fn quoted_cell(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut from = 0;
    loop {
        let quote = from + text.get(from..)?.find('"')?;
        let after = text.get(quote + 1..)?;
        if !after.starts_with('"') {
            let cell = text.get(..quote)?;
            let cell = if cell.contains('"') { cell.replace("\"\"", "\"").into() } else { cell.into() };
            return Some((cell, after));
        }
        from = quote + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_the_rfc() {
        let split = |record| cells(record, ',').map(|cells| cells.join("|"));
        assert_eq!(split("a,b,,d").as_deref(), Some("a|b||d"));
        assert_eq!(split("\"a,\"\"b\"\"\",\"\",c\nd").as_deref(), Some("a,\"b\"||c\nd"));
        assert_eq!(split("").as_deref(), Some(""));
        assert_eq!(split("a,").as_deref(), Some("a|"));
        assert_eq!((split("\"a"), split("\"a\"b,c")), (None, None));
        assert_eq!(cells("a;b,c", ';').map(|cells| cells.len()), Some(2));
    }
}
