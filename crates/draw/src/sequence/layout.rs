//! Where everything in a chart goes.

mod measure;

use super::blocks::{Blocks, range};
use super::columns::{Columns, Widths, columns};
use super::{Message, MessageStyle, Sequence, Step};
use crate::geometry::Rect;
use crate::text::Face;
use measure::{height, label_face, message_lines, step_width, tab_width, widest};

pub(super) use measure::bracketed;

pub(super) const NAME: Face = Face::semibold(13.0);
pub(super) const LABEL: Face = Face::regular(12.0);
pub(super) const BOLD: Face = Face::semibold(12.0);
pub(super) const SMALL: Face = Face::regular(11.0);

const MARGIN: f64 = 16.0;
const HEAD_HEIGHT: f64 = 34.0;
const NAME_LIMIT: f64 = 200.0;
const LABEL_LIMIT: f64 = 340.0;
const NOTE_LIMIT: f64 = 260.0;
const LINES_LIMIT: usize = 12;
/// How far a message to oneself reaches out, and how high it is.
pub(super) const SELF_REACH: f64 = 30.0;
pub(super) const SELF_HEIGHT: f64 = 18.0;
/// The height of the tab that names a frame.
const TAB: f64 = 20.0;

/// Lines of text with their place.
#[derive(Clone, Debug, PartialEq)]
pub struct TextBlock {
    /// The room they take.
    pub frame: Rect,
    /// The lines, already cut to fit.
    pub lines: Vec<String>,
}

/// A lifeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifeline {
    /// Where it stands.
    pub x: f64,
    /// The box with the participant's name.
    pub head: TextBlock,
    /// The box at its end.
    pub foot: Option<TextBlock>,
}

/// Something drawn on the lifelines.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// An arrow.
    Message {
        /// The sender's lifeline.
        from: f64,
        /// The receiver's lifeline.
        to: f64,
        /// The height of the arrow.
        y: f64,
        /// How it looks.
        style: MessageStyle,
        /// What is written on it.
        label: TextBlock,
        /// The remark below.
        note: Option<TextBlock>,
    },
    /// A text box.
    Note(TextBlock),
    /// The frame of a block. The tab is in its upper left corner.
    Frame {
        /// The outline.
        frame: Rect,
        /// `loop` or `alt`, and the tab around it.
        tab: TextBlock,
        /// What stands beside the tab.
        title: TextBlock,
    },
    /// The beginning of a branch.
    Branch {
        /// The line above, unless it is the first branch: left end, right end, height.
        split: Option<(f64, f64, f64)>,
        /// The branch's title.
        title: TextBlock,
    },
    /// Where the execution goes on.
    Jump(TextBlock),
    /// A line across: left end, right end, height.
    Divider(f64, f64, TextBlock),
}

/// Where everything goes.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ChartLayout {
    /// The width of the picture.
    pub width: f64,
    /// The height of the picture.
    pub height: f64,
    /// The lifelines, from left to right.
    pub lifelines: Vec<Lifeline>,
    /// Everything on them, frames before what they contain.
    pub marks: Vec<Mark>,
}

pub(super) fn layout(chart: &Sequence, blocks: &Blocks) -> ChartLayout {
    let names: Vec<String> = chart.participants().iter().map(|p| NAME.fit(&p.name, NAME_LIMIT)).collect();
    let feet: Vec<Option<Vec<String>>> = chart
        .participants()
        .iter()
        .map(|p| p.footer.as_ref().map(|footer| LABEL.wrap(footer, NAME_LIMIT, LINES_LIMIT)))
        .collect();
    let head_widths: Vec<f64> = names.iter().map(|name| (NAME.width(name) + 32.0).ceil().max(72.0)).collect();
    let foot_widths: Vec<f64> =
        feet.iter().map(|foot| foot.as_ref().map_or(0.0, |lines| widest(LABEL, lines) + 24.0)).collect();
    let widths = Widths {
        steps: chart.steps().iter().map(step_width).collect(),
        heads: head_widths.iter().zip(&foot_widths).map(|(head, foot)| head.max(*foot)).collect(),
        head_gap: 24.0,
        pad: 30.0,
        nest: 12.0,
        clear: 14.0,
    };
    let mut columns = columns(chart, blocks, &widths);
    columns.x.iter_mut().for_each(|x| *x += MARGIN);

    let mut pen =
        Pen { chart, blocks, columns, y: MARGIN + HEAD_HEIGHT + 12.0, open: Vec::new(), marks: Vec::new() };
    for index in 0..chart.steps().len() {
        pen.step(index);
    }
    let end = pen.y + 14.0;
    let box_at = |x: f64, y: f64, width: f64, height: f64| Rect { x: x - width / 2.0, y, width, height };
    let mut foot_height = 0.0_f64;
    let lifelines = names
        .into_iter()
        .zip(feet)
        .enumerate()
        .map(|(index, (name, foot))| {
            let x = pen.columns.at(index);
            let foot = foot.map(|lines| {
                let tall = height(LABEL, &lines) + 12.0;
                foot_height = foot_height.max(tall);
                TextBlock { frame: box_at(x, end, foot_widths[index], tall), lines }
            });
            let head =
                TextBlock { frame: box_at(x, MARGIN, head_widths[index], HEAD_HEIGHT), lines: vec![name] };
            Lifeline { x, head, foot }
        })
        .collect();
    ChartLayout {
        width: pen.columns.width + 2.0 * MARGIN,
        height: end + foot_height + MARGIN,
        lifelines,
        marks: pen.marks,
    }
}

/// A block whose end has not been reached: its mark, and its left and right edges.
struct Open {
    mark: usize,
    left: f64,
    right: f64,
}

struct Pen<'a> {
    chart: &'a Sequence,
    blocks: &'a Blocks,
    columns: Columns,
    y: f64,
    open: Vec<Open>,
    marks: Vec<Mark>,
}

impl Pen<'_> {
    fn step(&mut self, index: usize) {
        let chart = self.chart;
        match &chart.steps()[index] {
            Step::Message(message) => self.message(message),
            step @ Step::Note { text, .. } => {
                let Some((first, last)) = range(step) else { return };
                let lines = LABEL.wrap(text, NOTE_LIMIT, LINES_LIMIT);
                let (from, to) = (self.columns.at(first), self.columns.at(last));
                let least = widest(LABEL, &lines) + 24.0;
                let width = if first == last { least } else { (to - from + 48.0).max(least) };
                let frame = Rect {
                    x: f64::midpoint(from, to) - width / 2.0,
                    y: self.y + 6.0,
                    width,
                    height: height(LABEL, &lines) + 10.0,
                };
                self.y = frame.bottom() + 8.0;
                self.marks.push(Mark::Note(TextBlock { frame, lines }));
            }
            Step::OpenLoop { title } => self.open(index, "loop", title),
            Step::OpenPar { title } => self.open(index, "par", title),
            Step::OpenAlt { title, branch } => {
                self.open(index, "alt", title);
                self.branch(branch, false);
            }
            Step::Branch { title } => self.branch(title, true),
            Step::Close => {
                self.y += 10.0;
                if let Some(open) = self.open.pop()
                    && let Some(Mark::Frame { frame, .. }) = self.marks.get_mut(open.mark)
                {
                    frame.height = self.y - frame.y;
                }
                self.y += 8.0;
            }
            Step::Jump { text } => {
                let text = LABEL.fit(text, LABEL_LIMIT);
                let (left, right) = self.edges();
                let width = LABEL.width(&text).ceil() + 28.0;
                let frame = Rect {
                    x: f64::midpoint(left, right) - width / 2.0,
                    y: self.y + 8.0,
                    width,
                    height: 22.0,
                };
                self.y = frame.bottom() + 6.0;
                self.marks.push(Mark::Jump(TextBlock { frame, lines: vec![text] }));
            }
            Step::Divider { text } => {
                let text = LABEL.fit(text, LABEL_LIMIT);
                let width = LABEL.width(&text).ceil() + 12.0;
                let (left, right) = (MARGIN, MARGIN + self.columns.width);
                let frame = Rect {
                    x: f64::midpoint(left, right) - width / 2.0,
                    y: self.y + 8.0,
                    width,
                    height: 18.0,
                };
                self.y = frame.bottom() + 8.0;
                self.marks.push(Mark::Divider(left, right, TextBlock { frame, lines: vec![text] }));
            }
        }
    }

    /// The edges of the innermost block, or of everything.
    fn edges(&self) -> (f64, f64) {
        self.open.last().map_or((MARGIN, MARGIN + self.columns.width), |open| (open.left, open.right))
    }

    fn message(&mut self, message: &Message) {
        let (label, note) = message_lines(message);
        let face = label_face(message.style);
        let (from, to) = (self.columns.at(message.from.index()), self.columns.at(message.to.index()));
        let (label_width, label_height) = (widest(face, &label), height(face, &label));
        let (note_width, note_height) = (widest(SMALL, &note), height(SMALL, &note));
        let label_frame;
        let note_frame;
        let y;
        if message.from == message.to {
            y = self.y + 10.0;
            let x = from + SELF_REACH + 8.0;
            let top = y + (SELF_HEIGHT - label_height).max(0.0) / 2.0;
            label_frame = Rect { x, y: top, width: label_width, height: label_height };
            let below = label_frame.bottom().max(y + SELF_HEIGHT);
            note_frame = Rect { x, y: below, width: note_width, height: note_height };
            self.y = note_frame.bottom() + 6.0;
        } else {
            let gap = 28.0 * (to - from).signum();
            let middle = match message.style {
                MessageStyle::Failed | MessageStyle::Pending => f64::midpoint(from, to - gap),
                MessageStyle::Late => f64::midpoint(from + gap, to),
                _ => f64::midpoint(from, to),
            };
            label_frame = Rect {
                x: middle - label_width / 2.0,
                y: self.y + 6.0,
                width: label_width,
                height: label_height,
            };
            y = (label_frame.bottom() + 4.0).round();
            note_frame =
                Rect { x: middle - note_width / 2.0, y: y + 4.0, width: note_width, height: note_height };
            self.y = if note.is_empty() { y + 6.0 } else { note_frame.bottom() + 6.0 };
        }
        self.marks.push(Mark::Message {
            from,
            to,
            y,
            style: message.style,
            label: TextBlock { frame: label_frame, lines: label },
            note: (!note.is_empty()).then_some(TextBlock { frame: note_frame, lines: note }),
        });
    }

    fn open(&mut self, index: usize, kind: &str, title: &str) {
        let Some((block, around)) = self.blocks.opened(index) else { return };
        let (left, right) = self.columns.frame(block, around.first, around.last);
        self.y += 10.0;
        let title = BOLD.fit(title, LABEL_LIMIT);
        let tab = Rect { x: left, y: self.y, width: tab_width(kind), height: TAB };
        let title_frame =
            Rect { x: tab.right() + 8.0, y: self.y, width: BOLD.width(&title).ceil(), height: TAB };
        self.open.push(Open { mark: self.marks.len(), left, right });
        self.marks.push(Mark::Frame {
            frame: Rect { x: left, y: self.y, width: right - left, height: TAB },
            tab: TextBlock { frame: tab, lines: vec![kind.to_owned()] },
            title: TextBlock { frame: title_frame, lines: vec![title] },
        });
        self.y += TAB + 4.0;
    }

    fn branch(&mut self, title: &str, split: bool) {
        let (left, right) = self.edges();
        let text = LABEL.fit(&bracketed(title), LABEL_LIMIT);
        let split = split.then(|| {
            self.y += 10.0;
            (left, right, self.y.round())
        });
        let frame = Rect { x: left + 12.0, y: self.y + 4.0, width: LABEL.width(&text).ceil(), height: 17.0 };
        if !text.is_empty() {
            self.y = frame.bottom();
        }
        self.marks.push(Mark::Branch { split, title: TextBlock { frame, lines: vec![text] } });
    }
}
