//! A laid-out chart as SVG.

use super::layout::{
    BOLD, ChartLayout, LABEL, Lifeline, Mark, NAME, SELF_HEIGHT, SELF_REACH, SMALL, TextBlock,
};
use super::{MessageStyle, Sequence};
use crate::geometry::Rect;
use crate::svg::{Number as N, Svg};
use crate::text::Face;

pub(super) fn svg(chart: &Sequence, layout: &ChartLayout) -> String {
    let mut svg = Svg::open(&chart.title, layout.width, layout.height);
    let end = layout.lifelines.iter().filter_map(|line| line.foot.as_ref()).map(|foot| foot.frame.y);
    let end = end.fold(layout.height - 16.0, f64::min);
    for line in &layout.lifelines {
        let (x, top) = (N(crisp(line.x)), N(line.head.frame.bottom()));
        svg.raw(format_args!("<path class=\"rd-life\" d=\"M{x} {top}V{}\"/>\n", N(end)));
    }
    for mark in &layout.marks {
        paint_mark(&mut svg, mark);
    }
    for line in &layout.lifelines {
        paint_ends(&mut svg, line);
    }
    svg.close()
}

/// Thin upright and level lines are sharp when they run through the middle of pixels.
fn crisp(at: f64) -> f64 {
    at.floor() + 0.5
}

fn rect(svg: &mut Svg, class: &str, frame: Rect, corner: f64) {
    let right = crisp(frame.right());
    let bottom = crisp(frame.bottom());
    let (x, y) = (crisp(frame.x), crisp(frame.y));
    let [nx, ny, width, height, r] = [x, y, right - x, bottom - y, corner].map(N);
    svg.raw(format_args!(
        "<rect class=\"{class}\" x=\"{nx}\" y=\"{ny}\" width=\"{width}\" height=\"{height}\" rx=\"{r}\"/>"
    ));
}

/// Keeps a lifeline from striking text through.
fn halo(svg: &mut Svg, frame: Rect) {
    if frame.width > 0.0 {
        let [x, y, width, height] = [frame.x - 3.0, frame.y, frame.width + 6.0, frame.height].map(N);
        svg.raw(format_args!(
            "<rect class=\"rd-halo\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }
}

/// The lines of a block, centred in it.
fn lines(svg: &mut Svg, classes: &str, face: Face, block: &TextBlock) {
    let centre = block.frame.centre();
    let height = face.line_height();
    let mut y = centre.y - height * (block.lines.len() as f64 - 1.0) / 2.0;
    for line in &block.lines {
        svg.text(format!("rd-middle {classes}").trim_end(), face, centre.x, y, line);
        y += height;
    }
}

/// The lines of a block, each beginning at its left edge.
fn flush_lines(svg: &mut Svg, classes: &str, face: Face, block: &TextBlock) {
    let height = face.line_height();
    let mut y = block.frame.centre().y - height * (block.lines.len() as f64 - 1.0) / 2.0;
    for line in &block.lines {
        svg.text(classes, face, block.frame.x, y, line);
        y += height;
    }
}

fn paint_ends(svg: &mut Svg, line: &Lifeline) {
    svg.group("rd-who", None);
    rect(svg, "rd-box", line.head.frame, 6.0);
    lines(svg, "rd-name", NAME, &line.head);
    if let Some(foot) = &line.foot {
        rect(svg, "rd-box", foot.frame, 6.0);
        lines(svg, "", LABEL, foot);
    }
    svg.end();
}

fn paint_mark(svg: &mut Svg, mark: &Mark) {
    match mark {
        Mark::Message { from, to, y, style, label, note } => {
            let class = match style {
                MessageStyle::Normal => "rd-msg",
                MessageStyle::Highlight => "rd-msg rd-mark",
                MessageStyle::Dashed => "rd-msg rd-dash",
                MessageStyle::Failed => "rd-msg rd-fail",
                MessageStyle::Pending | MessageStyle::Late => "rd-msg rd-left",
            };
            svg.group(class, None);
            halo(svg, label.frame);
            if let Some(note) = note {
                halo(svg, note.frame);
            }
            if (from - to).abs() < 1.0 {
                paint_self_arrow(svg, crisp(*from), crisp(*y), *style);
                flush_lines(svg, "rd-label", LABEL, label);
                note.iter().for_each(|note| flush_lines(svg, "rd-detail", SMALL, note));
            } else {
                paint_arrow(svg, crisp(*from), crisp(*to), crisp(*y), *style);
                lines(svg, "rd-label", LABEL, label);
                note.iter().for_each(|note| lines(svg, "rd-detail", SMALL, note));
            }
            svg.end();
        }
        Mark::Note(block) => {
            rect(svg, "rd-note", block.frame, 2.0);
            lines(svg, "", LABEL, block);
            svg.raw(format_args!("\n"));
        }
        Mark::Frame { frame, tab, title } => {
            svg.group("rd-block", None);
            rect(svg, "rd-frame", *frame, 3.0);
            let (x, y) = (crisp(tab.frame.x), crisp(tab.frame.y));
            let (right, bottom) = (crisp(tab.frame.right()), crisp(tab.frame.bottom()));
            let [nx, ny, nr, nb, cx, cy] = [x, y, right, bottom, right - 8.0, bottom - 8.0].map(N);
            svg.raw(format_args!("<path class=\"rd-tab\" d=\"M{nx} {ny}H{nr}V{cy}L{cx} {nb}H{nx}Z\"/>"));
            let text = Rect { width: tab.frame.width - 4.0, ..tab.frame };
            lines(svg, "rd-hot", BOLD, &TextBlock { frame: text, lines: tab.lines.clone() });
            // Below the upper edge of the frame, which stays whole.
            halo(svg, Rect { y: title.frame.y + 2.0, height: title.frame.height - 2.0, ..title.frame });
            flush_lines(svg, "rd-hot", BOLD, title);
            svg.end();
        }
        Mark::Branch { split, title } => {
            if let Some((left, right, y)) = split {
                let [left, right, y] = [*left, *right, crisp(*y)].map(N);
                svg.raw(format_args!("<path class=\"rd-split\" d=\"M{left} {y}H{right}\"/>"));
            }
            halo(svg, title.frame);
            flush_lines(svg, "rd-italic", LABEL, title);
            svg.raw(format_args!("\n"));
        }
        Mark::Jump(block) => {
            rect(svg, "rd-pill", block.frame, 11.0);
            lines(svg, "rd-italic", LABEL, block);
            svg.raw(format_args!("\n"));
        }
        Mark::Divider(left, right, block) => {
            let [left, right, y] = [*left, *right, crisp(block.frame.centre().y)].map(N);
            svg.raw(format_args!("<path class=\"rd-split\" d=\"M{left} {y}H{right}\"/>"));
            if block.lines.iter().any(|line| !line.is_empty()) {
                let [x, y, width, height] =
                    [block.frame.x, block.frame.y, block.frame.width, block.frame.height].map(N);
                svg.raw(format_args!(
                    "<rect class=\"rd-paper\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
                ));
                lines(svg, "rd-hot", BOLD, block);
            }
            svg.raw(format_args!("\n"));
        }
    }
}

fn paint_arrow(svg: &mut Svg, from: f64, to: f64, y: f64, style: MessageStyle) {
    let side = (to - from).signum();
    // The arrowhead touches the lifeline; crosses and open dots stop before it.
    let end = match style {
        MessageStyle::Failed => to - side * 14.0,
        MessageStyle::Pending => to - side * 28.0,
        _ => to - side * 7.0,
    };
    let start = if style == MessageStyle::Late { from + side * 28.0 } else { from };
    if style == MessageStyle::Late {
        paint_dot(svg, start, y);
    }
    let [start, stop, ny] = [start, end, y].map(N);
    svg.raw(format_args!("<path class=\"rd-stroke\" d=\"M{start} {ny}H{stop}\"/>"));
    paint_tip(svg, to, end, y, side, style);
}

fn paint_self_arrow(svg: &mut Svg, x: f64, y: f64, style: MessageStyle) {
    let out = x + SELF_REACH;
    let bottom = y + SELF_HEIGHT;
    let end = if style == MessageStyle::Failed { x + 14.0 } else { x + 7.0 };
    let [nx, ny, nout, nb, nend, corner, top, low] =
        [x, y, out, bottom, end, out - 6.0, y + 6.0, bottom - 6.0].map(N);
    svg.raw(format_args!(
        "<path class=\"rd-stroke\" d=\"M{nx} {ny}H{corner}Q{nout} {ny} {nout} {top}V{low}Q{nout} {nb} {corner} {nb}H{nend}\"/>"
    ));
    paint_tip(svg, x, end, bottom, -1.0, style);
}

fn paint_tip(svg: &mut Svg, to: f64, end: f64, y: f64, side: f64, style: MessageStyle) {
    match style {
        MessageStyle::Failed => {
            let [left, right, top, bottom] = [end - 5.0, end + 5.0, y - 5.0, y + 5.0].map(N);
            svg.raw(format_args!(
                "<path class=\"rd-stroke\" d=\"M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}\"/>"
            ));
        }
        MessageStyle::Pending => paint_dot(svg, end, y),
        MessageStyle::Normal | MessageStyle::Highlight | MessageStyle::Dashed | MessageStyle::Late => {
            let [tip, back, y, top, bottom] = [to - side * 0.5, to - side * 10.0, y, y - 4.5, y + 4.5].map(N);
            svg.raw(format_args!("<path class=\"rd-head\" d=\"M{tip} {y}L{back} {top}V{bottom}Z\"/>"));
        }
    }
}

fn paint_dot(svg: &mut Svg, x: f64, y: f64) {
    let [x, y] = [x, y].map(N);
    svg.raw(format_args!("<circle class=\"rd-head\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"));
}
