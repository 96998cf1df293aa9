//! How many cells the parts of a chart take in a terminal.

use unicode_width::UnicodeWidthStr;

use crate::sequence::layout::bracketed;
use crate::sequence::{Message, MessageStyle, Step};
use crate::text::{one_line, wrap_by};

pub(super) const LABEL_LIMIT: usize = 56;
pub(super) const NOTE_LIMIT: usize = 40;
pub(super) const NAME_LIMIT: usize = 28;
const LINES_LIMIT: usize = 8;

pub(super) fn wrap(text: &str, limit: usize) -> Vec<String> {
    wrap_by(text, LINES_LIMIT, |line| line.width() <= limit)
}

pub(super) fn fit(text: &str, limit: usize) -> String {
    let lines = wrap_by(&one_line(text), 1, |line| line.width() <= limit);
    lines.into_iter().next().unwrap_or_default()
}

pub(super) fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| line.width()).max().unwrap_or(0)
}

/// What a step is called on the frame that it opens.
pub(super) fn heading(kind: &str, title: &str) -> String {
    fit(format!("{kind} {}", title.trim()).trim(), LABEL_LIMIT)
}

/// What a jump says.
pub(super) fn jump_text(text: &str) -> String {
    format!("( {} )", fit(text, LABEL_LIMIT))
}

pub(super) fn message_lines(message: &Message) -> (Vec<String>, Vec<String>) {
    let note = message.note.as_ref().map(|note| wrap(note, LABEL_LIMIT)).unwrap_or_default();
    (wrap(&message.label, LABEL_LIMIT), note)
}

/// The width of each step, in the sense of [`Widths::steps`].
pub(super) fn step_width(step: &Step) -> usize {
    match step {
        Step::Message(message) => {
            let (label, note) = message_lines(message);
            let text = widest(&label).max(widest(&note));
            let end = match message.style {
                MessageStyle::Failed | MessageStyle::Pending | MessageStyle::Late => 2,
                _ => 0,
            };
            // A line of at least two on either side of the label, blanks around it, and the arrowhead.
            if message.from == message.to { text + 6 } else { text + end + 8 }
        }
        Step::Note { text, .. } => widest(&wrap(text, NOTE_LIMIT)) + 4,
        Step::OpenLoop { title } => heading("loop", title).width() + 6,
        Step::OpenPar { title } => heading("par", title).width() + 6,
        Step::OpenAlt { title, branch } => {
            heading("alt", title).width().max(fit(&bracketed(branch), LABEL_LIMIT).width()) + 6
        }
        Step::Branch { title } => fit(&bracketed(title), LABEL_LIMIT).width() + 6,
        Step::Jump { text } => jump_text(text).width() + 4,
        Step::Divider { text } => fit(text, LABEL_LIMIT).width() + 8,
        Step::Close => 0,
    }
}
