//! A chart as text for a terminal.
//!
//! The chart is written row by row. A row begins with the lifelines and the sides of the open frames; what
//! happens in it is drawn over them, and lines that meet join (`row`).

mod measure;
mod row;

use unicode_width::UnicodeWidthStr;

use super::blocks::{Blocks, range};
use super::columns::{Columns, Widths, columns};
use super::layout::bracketed;
use super::{Charset, Message, MessageStyle, Sequence, Step};
use measure::{
    LABEL_LIMIT, NAME_LIMIT, NOTE_LIMIT, fit, heading, jump_text, message_lines, step_width, widest, wrap,
};
use row::{Row, Stroke};

pub(super) fn text(chart: &Sequence, blocks: &Blocks, charset: Charset) -> String {
    let names: Vec<String> = chart.participants().iter().map(|p| fit(&p.name, NAME_LIMIT)).collect();
    let feet: Vec<Option<Vec<String>>> =
        chart.participants().iter().map(|p| p.footer.as_ref().map(|foot| wrap(foot, NAME_LIMIT))).collect();
    let boxes = |text: usize| (text + 4) as f64;
    let widths = Widths {
        steps: chart.steps().iter().map(|step| step_width(step) as f64).collect(),
        heads: names
            .iter()
            .zip(&feet)
            .map(|(name, foot)| boxes(name.width().max(foot.as_deref().map_or(0, widest))))
            .collect(),
        head_gap: 3.0,
        pad: 4.0,
        nest: 2.0,
        clear: 2.0,
    };
    let columns = columns(chart, blocks, &widths);
    let x = columns.x.iter().map(|&x| cell(x)).collect();
    let mut pen = Pen {
        chart,
        blocks,
        x,
        width: cell(columns.width) + 1,
        columns,
        charset,
        open: Vec::new(),
        out: String::new(),
    };
    pen.ends(&names.into_iter().map(|name| Some(vec![name])).collect::<Vec<_>>(), true);
    for index in 0..chart.steps().len() {
        pen.step(index);
    }
    if feet.iter().any(Option::is_some) {
        pen.ends(&feet, false);
    } else {
        pen.blank();
    }
    flush_left(&pen.out)
}

/// Takes away the blanks that all lines begin with.
fn flush_left(text: &str) -> String {
    let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let common = text.lines().filter(|line| !line.is_empty()).map(blanks).min().unwrap_or(0);
    text.lines().flat_map(|line| [line.get(common..).unwrap_or_default(), "\n"]).collect()
}

/// Positions are whole and not negative by construction.
fn cell(position: f64) -> usize {
    position.max(0.0).floor() as usize
}

struct Pen<'a> {
    chart: &'a Sequence,
    blocks: &'a Blocks,
    columns: Columns,
    /// Each lifeline.
    x: Vec<usize>,
    width: usize,
    charset: Charset,
    /// The left and right edges of the open frames.
    open: Vec<(usize, usize)>,
    out: String,
}

impl Pen<'_> {
    /// A row with the lifelines and the sides of the open frames.
    fn row(&self) -> Row {
        let mut row = Row::new(self.width);
        self.x.iter().for_each(|&x| row.pass(x));
        self.open.iter().for_each(|&(left, right)| {
            row.pass(left);
            row.pass(right);
        });
        row
    }

    fn write(&mut self, row: &Row) {
        row.write(self.charset, &mut self.out);
    }

    fn blank(&mut self) {
        let row = self.row();
        self.write(&row);
    }

    /// The boxes at the beginnings or ends of the lifelines.
    fn ends(&mut self, texts: &[Option<Vec<String>>], beginning: bool) {
        let height = texts.iter().flatten().map(Vec::len).max().unwrap_or(0);
        for line in 0..height + 2 {
            let mut row = Row::new(self.width);
            for (&x, text) in self.x.iter().zip(texts) {
                let Some(lines) = text else { continue };
                let width = widest(lines) + 4;
                let left = x.saturating_sub((width - 1) / 2);
                boxed(&mut row, left, width, lines, line);
                if beginning && line == lines.len() + 1 {
                    row.join_below(x);
                } else if !beginning && line == 0 {
                    row.join_above(x);
                }
            }
            self.write(&row);
        }
    }

    fn step(&mut self, index: usize) {
        let chart = self.chart;
        match &chart.steps()[index] {
            Step::Message(message) if message.from == message.to => self.self_message(message),
            Step::Message(message) => self.message(message),
            step @ Step::Note { text, .. } => {
                let Some(range) = range(step) else { return };
                self.note(range, &wrap(text, NOTE_LIMIT));
            }
            Step::OpenLoop { title } => self.open(index, &heading("loop", title)),
            Step::OpenPar { title } => self.open(index, &heading("par", title)),
            Step::OpenAlt { title, branch } => {
                self.open(index, &heading("alt", title));
                let branch = fit(&bracketed(branch), LABEL_LIMIT);
                if !branch.is_empty() {
                    let mut row = self.row();
                    row.text(self.open.last().map_or(0, |open| open.0 + 2), &format!(" {branch} "));
                    self.write(&row);
                }
            }
            Step::Branch { title } => self.edge(&fit(&bracketed(title), LABEL_LIMIT), Edge::Middle),
            Step::Close => {
                self.edge("", Edge::Bottom);
                self.open.pop();
            }
            Step::Jump { text } => {
                let (left, right) = self.open.last().copied().unwrap_or((0, self.width.saturating_sub(1)));
                let text = format!(" {} ", jump_text(text));
                let mut row = self.row();
                row.text((left + right + 1).saturating_sub(text.width()) / 2, &text);
                self.write(&row);
            }
            Step::Divider { text } => {
                let mut row = self.row();
                row.line(0, self.width.saturating_sub(1), Stroke::Dashed);
                let text = fit(text, LABEL_LIMIT);
                if !text.is_empty() {
                    let text = format!(" {text} ");
                    row.text(self.width.saturating_sub(text.width()) / 2, &text);
                }
                self.write(&row);
            }
        }
    }

    fn message(&mut self, message: &Message) {
        let (label, note) = message_lines(message);
        let (from, to) = (self.x[message.from.index()], self.x[message.to.index()]);
        let (left, right) = (from.min(to), from.max(to));
        let rightwards = from < to;
        // Where a message does not arrive, or was sent before, a blank remains before the lifeline.
        let (late, short) = match message.style {
            MessageStyle::Failed | MessageStyle::Pending => (0, 2),
            MessageStyle::Late => (3, 0),
            _ => (0, 0),
        };
        let (start, end) =
            if rightwards { (left + late, right - 1 - short) } else { (left + 1 + short, right - late) };
        let centred = |text: &str| start + (end + 1 - start).saturating_sub(text.width()).div_ceil(2);
        let (last, above) = label.split_last().map_or(("", &[][..]), |(last, above)| (last.as_str(), above));
        for line in above {
            let mut row = self.row();
            row.text(centred(line), line);
            self.write(&row);
        }
        let stroke = match message.style {
            MessageStyle::Normal | MessageStyle::Failed => Stroke::Light,
            MessageStyle::Highlight => Stroke::Heavy,
            MessageStyle::Dashed | MessageStyle::Pending | MessageStyle::Late => Stroke::Dashed,
        };
        let mut row = self.row();
        row.line(start, end, stroke);
        if !last.is_empty() {
            let text = format!(" {last} ");
            row.text(centred(&text), &text);
        }
        let tip = match (message.style, self.charset, rightwards) {
            (MessageStyle::Failed, Charset::Unicode, _) => "✗",
            (MessageStyle::Failed, Charset::Ascii, _) => "x",
            (MessageStyle::Pending, Charset::Unicode, _) => "○",
            (MessageStyle::Pending, Charset::Ascii, _) => "o",
            (_, Charset::Unicode, true) => "▶",
            (_, Charset::Unicode, false) => "◀",
            (_, Charset::Ascii, true) => ">",
            (_, Charset::Ascii, false) => "<",
        };
        row.text(if rightwards { end } else { start }, tip);
        if message.style == MessageStyle::Late {
            let dot = if self.charset == Charset::Unicode { "○" } else { "o" };
            row.text(if rightwards { start } else { end }, dot);
        }
        self.write(&row);
        for line in &note {
            let mut row = self.row();
            row.text(centred(line), line);
            self.write(&row);
        }
    }

    fn self_message(&mut self, message: &Message) {
        let (label, note) = message_lines(message);
        let x = self.x[message.from.index()];
        let tip = match (message.style, self.charset) {
            (MessageStyle::Failed, Charset::Unicode) => "✗",
            (MessageStyle::Failed, Charset::Ascii) => "x",
            (MessageStyle::Pending, Charset::Unicode) => "○",
            (MessageStyle::Pending, Charset::Ascii) => "o",
            (_, Charset::Unicode) => "◀",
            (_, Charset::Ascii) => "<",
        };
        let lines: Vec<&String> = label.iter().chain(&note).collect();
        for line in 0..lines.len().max(2) {
            let mut row = self.row();
            if line == 0 {
                row.line(x, x + 3, Stroke::Light);
                row.join_below(x + 3);
            } else if line == 1 {
                row.line(x + 1, x + 3, Stroke::Light);
                row.join_above(x + 3);
                row.text(x + 1, tip);
            }
            if let Some(text) = lines.get(line) {
                row.text(x + 5, text);
            }
            self.write(&row);
        }
    }

    fn note(&mut self, (first, last): (usize, usize), lines: &[String]) {
        let (from, to) = (self.x[first], self.x[last]);
        let least = widest(lines) + 4;
        let width = if first == last { least } else { (to - from + 7).max(least) };
        let left = usize::midpoint(from, to).saturating_sub((width - 1) / 2);
        for line in 0..lines.len() + 2 {
            let mut row = self.row();
            let covered: Vec<usize> =
                self.x.iter().copied().filter(|&x| x >= left && x < left + width).collect();
            row.clear(left, width);
            boxed(&mut row, left, width, lines, line);
            for x in covered {
                if line == 0 {
                    row.join_above(x);
                } else if line == lines.len() + 1 {
                    row.join_below(x);
                }
            }
            self.write(&row);
        }
    }

    fn open(&mut self, index: usize, heading: &str) {
        let Some((block, around)) = self.blocks.opened(index) else { return };
        let (left, right) = self.columns.frame(block, around.first, around.last);
        self.open.push((cell(left), cell(right)));
        self.edge(heading, Edge::Top);
    }

    /// A level line of the innermost frame, with a text on it.
    fn edge(&mut self, text: &str, edge: Edge) {
        let Some(&(left, right)) = self.open.last() else { return };
        let mut row = self.row();
        let stroke = if edge == Edge::Middle { Stroke::Dashed } else { Stroke::Light };
        match edge {
            Edge::Top => {
                row.end_above(left);
                row.end_above(right);
            }
            Edge::Bottom => {
                row.end_below(left);
                row.end_below(right);
            }
            Edge::Middle => {}
        }
        row.line(left, right, stroke);
        if !text.is_empty() {
            row.text(left + 2, &format!(" {text} "));
        }
        self.write(&row);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Top,
    Middle,
    Bottom,
}

/// Line `line` of a box around `lines`: first its upper edge, last its lower one.
fn boxed(row: &mut Row, left: usize, width: usize, lines: &[String], line: usize) {
    let right = left + width - 1;
    if line == 0 || line == lines.len() + 1 {
        row.line(left, right, Stroke::Light);
        for corner in [left, right] {
            if line == 0 { row.join_below(corner) } else { row.join_above(corner) }
        }
    } else if let Some(text) = lines.get(line - 1) {
        row.pass(left);
        row.pass(right);
        row.text(left + (width - text.width()) / 2, text);
    }
}
