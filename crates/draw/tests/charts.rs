//! Facts about drawn charts: of the sample pictures, and of random charts.
#![allow(clippy::expect_used, reason = "a test that cannot draw has failed")]

#[path = "gallery/samples.rs"]
mod gallery;

use proptest::prelude::*;
use referee_draw::geometry::Rect;
use referee_draw::sequence::layout::{ChartLayout, Mark};
use referee_draw::sequence::{DEPTH_LIMIT, STEP_LIMIT, Step};
use referee_draw::{Charset, DrawError, Message, MessageStyle, Participant, ParticipantId, Sequence};
use unicode_width::UnicodeWidthStr;

/// Every box that holds text.
fn texts(layout: &ChartLayout) -> Vec<Rect> {
    let mut frames = Vec::new();
    for line in &layout.lifelines {
        frames.push(line.head.frame);
        frames.extend(line.foot.as_ref().map(|foot| foot.frame));
    }
    for mark in &layout.marks {
        match mark {
            Mark::Message { label, note, .. } => {
                frames.push(label.frame);
                frames.extend(note.as_ref().map(|note| note.frame));
            }
            Mark::Frame { tab, title, .. } => frames.extend([tab.frame, title.frame]),
            Mark::Note(block) | Mark::Jump(block) | Mark::Divider(_, _, block) => frames.push(block.frame),
            Mark::Branch { title, .. } => frames.push(title.frame),
        }
    }
    frames.retain(|frame| frame.width > 0.0 && frame.height > 0.0);
    frames
}

fn assert_readable(chart: &Sequence) -> ChartLayout {
    let layout = chart.layout().expect("a valid chart");
    let picture = Rect { x: 0.0, y: 0.0, width: layout.width, height: layout.height };
    let texts = texts(&layout);
    for (index, a) in texts.iter().enumerate() {
        assert!(picture.contains(a), "{a:?} leaves the picture {picture:?}");
        for b in &texts[index + 1..] {
            assert!(!a.overlaps(b), "{a:?} overlaps {b:?}");
        }
    }
    let frames: Vec<Rect> = layout
        .marks
        .iter()
        .filter_map(|mark| if let Mark::Frame { frame, .. } = mark { Some(*frame) } else { None })
        .collect();
    for (index, a) in frames.iter().enumerate() {
        assert!(picture.contains(a), "{a:?} leaves the picture {picture:?}");
        for b in &frames[index + 1..] {
            assert!(!a.overlaps(b) || a.contains(b), "frames cross: {a:?} {b:?}");
        }
        for text in &texts {
            assert!(!a.overlaps(text) || a.contains(text), "text crosses a frame: {a:?} {text:?}");
        }
    }
    layout
}

fn assert_well_formed(chart: &Sequence) {
    let svg = chart.to_svg().expect("a valid chart");
    roxmltree::Document::parse(&svg).expect("well-formed XML");
    assert_eq!(svg, chart.to_svg().expect("a valid chart"));
    let mermaid = chart.to_mermaid().expect("a valid chart");
    let opened = mermaid
        .lines()
        .map(str::trim_start)
        .filter(|line| ["loop ", "alt ", "rect "].iter().any(|keyword| line.starts_with(keyword)));
    let closed = mermaid.lines().filter(|line| line.trim() == "end").count();
    assert_eq!(opened.count(), closed, "{mermaid}");
}

fn assert_aligned(chart: &Sequence) {
    for charset in [Charset::Unicode, Charset::Ascii] {
        let text = chart.to_text(charset).expect("a valid chart");
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
        for participant in chart.participants().iter().filter(|p| p.name.width() < 20) {
            assert!(text.contains(participant.name.trim()), "{text}");
        }
    }
}

#[test]
fn samples_are_readable_and_well_formed() {
    for (name, chart) in gallery::charts() {
        println!("{name}");
        assert_readable(&chart);
        assert_well_formed(&chart);
        assert_aligned(&chart);
    }
}

#[test]
fn a_counterexample_in_a_terminal() {
    let mut chart = Sequence::new("deadlock");
    let c = chart.add_participant(Participant::new("C").footer("q2"));
    let s = chart.add_participant(Participant::new("S").footer("waits for C?data"));
    chart.message(Message::new(c, s, "req"));
    chart.message(Message::new(s, c, "ko").style(MessageStyle::Highlight));
    chart.message(Message::new(c, c, "retry"));
    chart.message(Message::new(c, s, "Put").style(MessageStyle::Failed).note("expected Get"));
    chart.message(Message::new(s, c, "late").style(MessageStyle::Pending));
    chart.message(Message::new(c, s, "bye").style(MessageStyle::Pending));
    chart.message(Message::new(s, c, "late").style(MessageStyle::Late));
    chart.message(Message::new(c, s, "bye").style(MessageStyle::Late));
    let expected = "
┌───┐                 ┌───┐
│ C │                 │ S │
└─┬─┘                 └─┬─┘
  ├──────── req ───────▶│
  │◀━━━━━━━━ ko ━━━━━━━━┥
  ├──┐ retry            │
  │◀─┘                  │
  ├─────── Put ──────✗  │
  │   expected Get      │
  │  ○╌╌╌╌╌╌ late ╌╌╌╌╌╌┤
  ├╌╌╌╌╌╌╌ bye ╌╌╌╌╌╌○  │
  │◀╌╌╌╌╌╌ late ╌╌╌╌╌○  │
  │  ○╌╌╌╌╌╌ bye ╌╌╌╌╌╌▶│
┌─┴──┐         ┌────────┴─────────┐
│ q2 │         │ waits for C?data │
└────┘         └──────────────────┘
";
    let text = chart.to_text(Charset::Unicode).expect("a valid chart");
    assert_eq!(format!("\n{text}"), expected, "\n{text}");
}

#[test]
fn blocks_in_a_terminal() {
    let mut chart = Sequence::new("");
    let a = chart.add_participant(Participant::new("A"));
    let b = chart.add_participant(Participant::new("B"));
    chart.open_loop("L");
    chart.open_alt("A", "ping");
    chart.message(Message::new(a, b, "ping"));
    chart.jump("continue L");
    chart.branch("stop");
    chart.message(Message::new(a, b, "stop"));
    chart.close();
    chart.close();
    let text = chart.to_text(Charset::Unicode).expect("a valid chart");
    let widths: Vec<usize> = text.lines().skip(3).map(|line| line.width()).collect();
    assert!(text.contains("loop L") && text.contains("alt A") && text.contains("[stop]"), "{text}");
    assert!(text.contains("( continue L )"), "{text}");
    assert_eq!(
        widths.first(),
        widths.get(widths.len() - 2),
        "the outer frame is as wide above as below\n{text}"
    );
}

#[test]
fn every_frame_contains_its_lifelines() {
    let layout = assert_readable(&gallery::auth_chart());
    for mark in &layout.marks {
        if let Mark::Frame { frame, .. } = mark {
            assert!(layout.lifelines.iter().all(|line| frame.x < line.x && line.x < frame.right()));
        }
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let one = |steps: &[Step]| {
        let mut chart = Sequence::new("");
        chart.add_participant(Participant::new("A"));
        steps.iter().for_each(|step| chart.push(step.clone()));
        chart.to_svg().err()
    };
    let open = Step::OpenLoop { title: String::new() };
    let branch = Step::Branch { title: String::new() };
    let nobody = Step::Message(Message::new(ParticipantId(0), ParticipantId(1), ""));
    assert_eq!(one(&[Step::Close]), Some(DrawError::Unbalanced { step: 0 }));
    assert_eq!(one(std::slice::from_ref(&open)), Some(DrawError::Unbalanced { step: 1 }));
    assert_eq!(one(&[open.clone(), branch, Step::Close]), Some(DrawError::Unbalanced { step: 1 }));
    assert_eq!(one(&[nobody]), Some(DrawError::UnknownParticipant { step: 0 }));
    assert_eq!(
        one(&vec![open; 100_000 / 10]),
        Some(DrawError::TooDeep { step: DEPTH_LIMIT, limit: DEPTH_LIMIT })
    );
    let many = vec![Step::Divider { text: String::new() }; STEP_LIMIT + 1];
    assert_eq!(one(&many), Some(DrawError::TooManySteps { steps: STEP_LIMIT + 1, limit: STEP_LIMIT }));
}

#[test]
fn the_deepest_chart_and_the_empty_one_are_drawn() {
    let mut chart = Sequence::new("");
    assert_readable(&chart);
    chart.jump("nowhere");
    assert_well_formed(&chart);
    let a = chart.add_participant(Participant::new("A"));
    (0..DEPTH_LIMIT).for_each(|level| chart.open_loop(level.to_string()));
    chart.message(Message::new(a, a, "m"));
    (0..DEPTH_LIMIT).for_each(|_| chart.close());
    assert_readable(&chart);
    assert_well_formed(&chart);
    assert_aligned(&chart);
}

prop_compose! {
    fn random_chart()(count in 1_u32..6)(
        names in prop::collection::vec("[a-zA-Z0-9é日&<]{0,16}", count as usize),
        steps in prop::collection::vec((0_u8..9, 0..count, 0..count, "[ -~]{0,60}", 0_usize..6), 0..40),
    ) -> Sequence {
        let mut chart = Sequence::new("random");
        for (index, name) in names.into_iter().enumerate() {
            let participant = Participant::new(name);
            chart.add_participant(if index % 2 == 0 { participant.footer("q1 & done") } else { participant });
        }
        let styles = [
            MessageStyle::Normal,
            MessageStyle::Highlight,
            MessageStyle::Dashed,
            MessageStyle::Failed,
            MessageStyle::Pending,
            MessageStyle::Late,
        ];
        let mut open: Vec<bool> = Vec::new();
        for (kind, from, to, text, style) in steps {
            let (from, to) = (ParticipantId(from), ParticipantId(to));
            match kind {
                0 => { open.push(false); chart.open_loop(text); }
                1 => { open.push(true); chart.open_alt(text.clone(), text); }
                2 if open.last() == Some(&true) => chart.branch(text),
                3 if open.pop().is_some() => chart.close(),
                4 => chart.note([from, to], text),
                5 => chart.jump(text),
                6 if open.is_empty() => chart.divider(text),
                7 => chart.message(Message::new(from, to, text.clone()).style(styles[style]).note(text)),
                _ => chart.message(Message::new(from, to, text).style(styles[style])),
            }
        }
        open.iter().for_each(|_| chart.close());
        chart
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_charts_are_readable_and_well_formed(chart in random_chart()) {
        assert_readable(&chart);
        assert_well_formed(&chart);
        assert_aligned(&chart);
    }
}
