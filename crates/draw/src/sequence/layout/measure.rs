//! How much room the parts of a chart take in a picture.

use super::{BOLD, LABEL, LABEL_LIMIT, LINES_LIMIT, NOTE_LIMIT, SELF_REACH, SMALL};
use crate::sequence::{Message, MessageStyle, Step};
use crate::text::Face;

pub(super) fn label_face(style: MessageStyle) -> Face {
    match style {
        MessageStyle::Highlight | MessageStyle::Failed => BOLD,
        MessageStyle::Normal | MessageStyle::Dashed | MessageStyle::Pending | MessageStyle::Late => LABEL,
    }
}

pub(super) fn widest(face: Face, lines: &[String]) -> f64 {
    lines.iter().map(|line| face.width(line)).fold(0.0, f64::max).ceil()
}

pub(super) fn height(face: Face, lines: &[String]) -> f64 {
    face.line_height() * lines.len() as f64
}

pub(super) fn message_lines(message: &Message) -> (Vec<String>, Vec<String>) {
    let label = label_face(message.style).wrap(&message.label, LABEL_LIMIT, LINES_LIMIT);
    let note = message.note.as_ref().map(|note| SMALL.wrap(note, LABEL_LIMIT, LINES_LIMIT));
    (label, note.unwrap_or_default())
}

/// What a branch's title says: in brackets, as is the custom.
pub(in crate::sequence) fn bracketed(title: &str) -> String {
    if title.trim().is_empty() { String::new() } else { format!("[{}]", title.trim()) }
}

/// The width of each step, in the sense of [`Widths::steps`].
pub(super) fn step_width(step: &Step) -> f64 {
    match step {
        Step::Message(message) => {
            let (label, note) = message_lines(message);
            let text = widest(label_face(message.style), &label).max(widest(SMALL, &note));
            // Crosses and open dots stand before an end of the arrow: the label is centred on the rest.
            let end = match message.style {
                MessageStyle::Failed | MessageStyle::Pending | MessageStyle::Late => 28.0,
                _ => 0.0,
            };
            if message.from == message.to { SELF_REACH + 10.0 + text } else { text + end + 40.0 }
        }
        Step::Note { text, .. } => widest(LABEL, &LABEL.wrap(text, NOTE_LIMIT, LINES_LIMIT)) + 24.0,
        Step::OpenLoop { title } => tab_width("loop") + 24.0 + BOLD.width(&BOLD.fit(title, LABEL_LIMIT)),
        Step::OpenPar { title } => tab_width("par") + 24.0 + BOLD.width(&BOLD.fit(title, LABEL_LIMIT)),
        Step::OpenAlt { title, branch } => {
            let title = tab_width("alt") + 24.0 + BOLD.width(&BOLD.fit(title, LABEL_LIMIT));
            title.max(24.0 + LABEL.width(&LABEL.fit(&bracketed(branch), LABEL_LIMIT)))
        }
        Step::Branch { title } => 24.0 + LABEL.width(&LABEL.fit(&bracketed(title), LABEL_LIMIT)),
        Step::Jump { text } | Step::Divider { text } => LABEL.width(&LABEL.fit(text, LABEL_LIMIT)) + 32.0,
        Step::Close => 0.0,
    }
}

pub(super) fn tab_width(kind: &str) -> f64 {
    (BOLD.width(kind) + 20.0).ceil()
}
