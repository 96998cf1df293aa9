//! The page being written: indentation, blank lines, and the comments that stand between things.
//!
//! The page knows how far the source has been dealt with. Before a thing is printed, the comments that
//! precede it are; after it, those that follow it on its line. No comment can be left out: [`Page::finish`]
//! prints what remains.

use super::layout::{INDENT, Line};
use crate::source::Span;

/// Deeper levels are not indented further, or the text would grow with the square of its depth.
const MAX_LEVEL: usize = 40;

pub(super) struct Page<'a> {
    text: &'a str,
    /// The comments that were not printed yet, in order.
    comments: &'a [Span],
    out: String,
    level: usize,
    /// How many blanks the current line begins with.
    indent: usize,
    /// How far the source has been dealt with.
    done: usize,
    /// Whether nothing was printed yet in this block: no blank line here.
    at_start: bool,
    /// Whether there must be a blank line before the next line.
    owes_blank: bool,
    /// How long the page was when the last brace was opened: a block without anything closes on its line.
    opened: usize,
    /// Where the last comment ended, and how far the line on which it began was indented.
    last_comment: (usize, usize),
    /// A place in the source up to which lines were looked for, and the start of its line.
    line: (usize, usize),
}

impl<'a> Page<'a> {
    pub(super) fn new(text: &'a str, comments: &'a [Span]) -> Self {
        let out = String::with_capacity(text.len() + text.len() / 4);
        Self {
            text,
            comments,
            out,
            level: 0,
            indent: 0,
            done: 0,
            at_start: true,
            owes_blank: false,
            opened: 0,
            last_comment: (0, 0),
            line: (0, 0),
        }
    }

    /// How deep the current block is nested, as far as lines show it.
    pub(super) fn level(&self) -> usize {
        self.level.min(MAX_LEVEL)
    }

    /// The next line comes after a blank one, unless it is the first of its block.
    pub(super) fn owe_blank_line(&mut self) {
        self.owes_blank = true;
    }

    /// Starts the line of what stands at `start`; comments inside it, before `end`, go before it.
    pub(super) fn begin(&mut self, start: usize, end: usize) {
        self.comments_before(start);
        let mut blank = self.blank_before(start);
        while let Some(comment) = self.next_comment(end) {
            self.new_line(blank);
            self.comment(comment);
            blank = false;
        }
        self.new_line(blank);
    }

    /// Writes to the current line, and to further ones.
    pub(super) fn write(&mut self, lines: &[Line]) {
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                self.out.push('\n');
                self.indent(line.level);
            }
            self.out.push_str(&line.text);
        }
    }

    /// What was begun ends at `end`: the comments behind it, on its line, follow. Whether there are any.
    pub(super) fn complete(&mut self, end: usize) -> bool {
        self.done = end;
        let mut any = false;
        while let Some((&comment, rest)) = self.comments.split_first() {
            if !self.is_blank(self.done, comment.start as usize) {
                break;
            }
            self.comments = rest;
            self.out.push(' ');
            self.comment(comment);
            self.done = comment.end as usize;
            any = true;
        }
        any
    }

    /// Opens the block whose brace ends at `brace`.
    pub(super) fn open(&mut self, brace: usize) {
        self.out.push_str(" {");
        self.opened = self.out.len();
        self.complete(brace);
        self.level += 1;
        self.at_start = true;
        self.owes_blank = false;
    }

    /// Closes the block that ends at `end`.
    pub(super) fn close(&mut self, end: usize) {
        self.comments_before(end);
        self.level -= 1;
        self.owes_blank = false;
        if self.out.len() > self.opened {
            self.new_line(false);
        }
        self.out.push('}');
        self.at_start = false;
    }

    /// After a block that ended at `end`, another branch opens, with its brace up to `brace`.
    pub(super) fn alternative(&mut self, end: usize, brace: usize, word: &str) {
        self.behind(end, brace, word);
        self.open(brace);
    }

    /// After a block that ended at `end`, `text` follows, which stands before `until`.
    pub(super) fn behind(&mut self, end: usize, until: usize, text: &str) {
        let follows = self.complete(end);
        let stands_between = self.comments.first().is_some_and(|comment| (comment.start as usize) < until);
        if follows || stands_between {
            while let Some(comment) = self.next_comment(until) {
                self.new_line(false);
                self.comment(comment);
            }
            self.new_line(false);
        } else {
            self.out.push(' ');
        }
        self.out.push_str(text);
    }

    /// The whole text.
    pub(super) fn finish(mut self) -> String {
        self.comments_before(self.text.len());
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }

    /// Prints the comments before `start`, each on its own line.
    fn comments_before(&mut self, start: usize) {
        while let Some(comment) = self.next_comment(start) {
            let blank = self.blank_before(comment.start as usize);
            self.new_line(blank);
            self.comment(comment);
            self.done = comment.end as usize;
        }
    }

    /// Takes the next comment if it begins before `end`.
    fn next_comment(&mut self, end: usize) -> Option<Span> {
        let (&comment, rest) = self.comments.split_first()?;
        if comment.start as usize >= end {
            return None;
        }
        self.comments = rest;
        Some(comment)
    }

    /// Whether there is nothing but blanks between two places on one line.
    fn is_blank(&self, start: usize, end: usize) -> bool {
        let between = self.text.get(start..end);
        between.is_some_and(|gap| gap.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\x0c')))
    }

    /// Whether the author left a blank line before what stands at `start`.
    fn blank_before(&self, start: usize) -> bool {
        let gap = self.text.get(self.done..start).unwrap_or_default();
        gap.bytes().filter(|byte| *byte == b'\n').count() > 1
    }

    fn new_line(&mut self, blank: bool) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        if (blank || self.owes_blank) && !self.at_start {
            self.out.push('\n');
        }
        self.at_start = false;
        self.owes_blank = false;
        self.indent(0);
    }

    fn indent(&mut self, more: usize) {
        self.indent = INDENT * (self.level() + more);
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }

    /// Writes a comment. The further lines of one that has several keep their place relative to the line
    /// on which it begins.
    fn comment(&mut self, span: Span) {
        let comment = self.text[span.range()].trim_end();
        let (start, end) = (span.start as usize, span.end as usize);
        let old = if self.is_blank(self.last_comment.0, start) {
            self.last_comment.1
        } else {
            let (before, line) = self.line;
            let newer = self.text[before..start].rfind('\n').map(|at| before + at + 1);
            self.line = (start, newer.unwrap_or(line));
            leading_blanks(&self.text[self.line.1..])
        };
        self.last_comment = (end, old);
        for (index, line) in comment.split('\n').enumerate() {
            if index == 0 {
                // Inside an expression `(*#` opens a comment; outside it would open a pragma.
                match line.strip_prefix("(*#") {
                    Some(rest) => self.out.extend(["(* #", rest.trim_end()]),
                    None => self.out.push_str(line.trim_end_matches('\r')),
                }
                continue;
            }
            self.out.push('\n');
            let line = line.trim_end_matches('\r');
            let text = &line[leading_blanks(line).min(old)..];
            if !text.trim().is_empty() {
                self.out.extend(std::iter::repeat_n(' ', self.indent));
                self.out.push_str(text);
            }
        }
    }
}

/// How many blanks a line begins with: its first bytes.
fn leading_blanks(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
