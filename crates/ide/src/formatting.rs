//! The canonical layout as edits: only lines that change are touched, so that cursors stay.

use referee_syntax::{Diagnostic, Edit, Language, Span, hml, scr};

use crate::workspace::File;

/// The edits that bring `file` into the layout of `referee fmt`; `None` for languages that have none.
///
/// # Errors
/// What is wrong with the syntax: such a text is not touched.
pub fn format(file: &File) -> Result<Option<Vec<Edit>>, Vec<Diagnostic>> {
    let formatted = match file.language() {
        Language::Scr => scr::format(file.text())?,
        Language::Hml => hml::format(file.text())?,
        _ => return Ok(None),
    };
    // Lines end as they did: editors show nothing of it, and would show every line as changed.
    let formatted = if file.text().contains("\r\n") { formatted.replace('\n', "\r\n") } else { formatted };
    Ok(Some(line_edits(file.text(), &formatted)))
}

/// One edit from the first line that differs to the last.
fn line_edits(old: &str, new: &str) -> Vec<Edit> {
    if old == new {
        return Vec::new();
    }
    let lines = |text: &str| text.split_inclusive('\n').map(str::len).collect::<Vec<_>>();
    let (old_lines, new_lines) = (lines(old), lines(new));
    let start: usize = old
        .split_inclusive('\n')
        .zip(new.split_inclusive('\n'))
        .take_while(|(old, new)| old == new)
        .map(|(line, _)| line.len())
        .sum();
    let (mut old_end, mut new_end) = (old.len(), new.len());
    for (old_length, new_length) in old_lines.iter().rev().zip(new_lines.iter().rev()) {
        let (old_start, new_start) = (old_end - old_length, new_end - new_length);
        if old_start < start || new_start < start || old[old_start..old_end] != new[new_start..new_end] {
            break;
        }
        (old_end, new_end) = (old_start, new_start);
    }
    vec![Edit { span: Span::new(start, old_end), text: new[start..new_end].to_owned() }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_change_are_touched() {
        let old = "a\n b\nc\nd\n";
        let edits = line_edits(old, "a\nb\nc\nd\n");
        assert_eq!(edits, [Edit { span: Span::new(2, 5), text: "b\n".to_owned() }]);
        assert!(line_edits(old, old).is_empty());
        assert_eq!(line_edits("a\na\n", "a\n").len(), 1);
    }
}
