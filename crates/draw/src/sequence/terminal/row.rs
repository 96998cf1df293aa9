//! One row of a terminal picture, whose lines join where they meet.

use unicode_width::UnicodeWidthChar;

use crate::sequence::Charset;

/// How a level line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    /// `─`
    Light,
    /// `━`
    Heavy,
    /// `╌`
    Dashed,
}

/// What is in a cell.
#[derive(Clone, Debug, Default, PartialEq)]
enum Cell {
    #[default]
    Blank,
    /// Lines to the neighbouring cells.
    Lines(Joint),
    /// A character with whatever combines with it.
    Glyph(String),
    /// The right half of a wide character.
    Covered,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Joint {
    above: bool,
    below: bool,
    left: Option<Stroke>,
    right: Option<Stroke>,
}

/// One row.
pub(super) struct Row {
    cells: Vec<Cell>,
}

impl Row {
    pub(super) fn new(width: usize) -> Self {
        Self { cells: vec![Cell::Blank; width] }
    }

    fn joint(&mut self, at: usize, change: impl FnOnce(&mut Joint)) {
        let Some(cell) = self.cells.get_mut(at) else { return };
        let mut joint = if let Cell::Lines(joint) = cell { *joint } else { Joint::default() };
        change(&mut joint);
        *cell = Cell::Lines(joint);
    }

    /// An upright line passes.
    pub(super) fn pass(&mut self, at: usize) {
        self.joint(at, |joint| (joint.above, joint.below) = (true, true));
    }

    /// An upright line comes from above.
    pub(super) fn join_above(&mut self, at: usize) {
        self.joint(at, |joint| joint.above = true);
    }

    /// An upright line leads down.
    pub(super) fn join_below(&mut self, at: usize) {
        self.joint(at, |joint| joint.below = true);
    }

    /// Nothing comes from above after all.
    pub(super) fn end_above(&mut self, at: usize) {
        self.joint(at, |joint| joint.above = false);
    }

    /// Nothing leads down after all.
    pub(super) fn end_below(&mut self, at: usize) {
        self.joint(at, |joint| joint.below = false);
    }

    /// A level line from one cell to another, both included.
    pub(super) fn line(&mut self, from: usize, to: usize, stroke: Stroke) {
        for at in from..=to {
            self.joint(at, |joint| {
                if at > from {
                    joint.left = Some(stroke);
                }
                if at < to {
                    joint.right = Some(stroke);
                }
            });
        }
    }

    /// Empties some cells.
    pub(super) fn clear(&mut self, from: usize, count: usize) {
        self.cells.iter_mut().skip(from).take(count).for_each(|cell| *cell = Cell::Blank);
    }

    /// Writes over whatever is there. The row grows if it must: text is never lost.
    pub(super) fn text(&mut self, from: usize, text: &str) {
        let mut at = from;
        for c in text.chars() {
            let width = c.width().unwrap_or(0);
            if width == 0 {
                if let Some(Cell::Glyph(glyph)) = at.checked_sub(1).and_then(|last| self.cells.get_mut(last))
                {
                    glyph.push(c);
                }
                continue;
            }
            if self.cells.len() < at + width {
                self.cells.resize(at + width, Cell::Blank);
            }
            self.cells[at] = Cell::Glyph(c.to_string());
            for covered in at + 1..at + width {
                self.cells[covered] = Cell::Covered;
            }
            at += width;
        }
    }

    /// Appends the row to `out`, without blanks at its end.
    pub(super) fn write(&self, charset: Charset, out: &mut String) {
        let start = out.len();
        for cell in &self.cells {
            match cell {
                Cell::Blank => out.push(' '),
                Cell::Lines(joint) => out.push(match charset {
                    Charset::Unicode => joint.unicode(),
                    Charset::Ascii => joint.ascii(),
                }),
                Cell::Glyph(glyph) if charset == Charset::Ascii && glyph == "…" => out.push('~'),
                Cell::Glyph(glyph) => out.push_str(glyph),
                Cell::Covered => {}
            }
        }
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    }
}

impl Joint {
    fn unicode(self) -> char {
        let heavy = |side: Option<Stroke>| side == Some(Stroke::Heavy);
        let dashed = self.left.or(self.right) == Some(Stroke::Dashed);
        match (self.above, self.below, self.left.is_some(), self.right.is_some()) {
            (false, false, false, false) => ' ',
            (false, false, _, _) if heavy(self.left) || heavy(self.right) => '━',
            (false, false, _, _) if dashed => '╌',
            (false, false, _, _) => '─',
            (_, _, false, false) => '│',
            (true, true, true, true) if heavy(self.left) => '┿',
            (true, true, true, true) => '┼',
            (true, true, true, false) if heavy(self.left) => '┥',
            (true, true, true, false) => '┤',
            (true, true, false, true) if heavy(self.right) => '┝',
            (true, true, false, true) => '├',
            (true, false, true, true) => '┴',
            (false, true, true, true) => '┬',
            (true, false, false, true) => '└',
            (true, false, true, false) => '┘',
            (false, true, false, true) => '┌',
            (false, true, true, false) => '┐',
        }
    }

    fn ascii(self) -> char {
        let upright = self.above || self.below;
        let level = self.left.or(self.right);
        match (upright, level) {
            (false, None) => ' ',
            (true, None) => '|',
            (true, Some(_)) => '+',
            (false, Some(Stroke::Light)) => '-',
            (false, Some(Stroke::Heavy)) => '=',
            (false, Some(Stroke::Dashed)) => '.',
        }
    }
}
