//! Sequence charts: who sends what to whom, in which order, with loops and alternatives.
//!
//! A [`Sequence`] is a flat list of steps in which blocks are opened and closed, rather than a tree: it can
//! be written while walking over anything, and neither building, drawing nor dropping it recurses.

use crate::error::DrawError;

mod blocks;
mod columns;
pub mod layout;
mod mermaid;
mod paint;
mod terminal;

use blocks::Blocks;
use layout::ChartLayout;

/// Charts with blocks nested deeper than this are not drawn.
pub const DEPTH_LIMIT: usize = 64;
/// Charts with more steps are not drawn: nobody could read them.
pub const STEP_LIMIT: usize = 10_000;
/// Charts with more participants are not drawn.
pub const PARTICIPANT_LIMIT: usize = 200;

/// A participant of a [`Sequence`]: its position in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParticipantId(pub u32);

impl ParticipantId {
    /// This participant as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Someone who sends and receives.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Participant {
    /// What stands at the top of the lifeline.
    pub name: String,
    /// What stands at its end, such as the state reached.
    pub footer: Option<String>,
}

impl Participant {
    /// A participant without a footer.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), footer: None }
    }

    /// The same participant with a footer.
    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = Some(footer.into());
        self
    }
}

/// How a message is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MessageStyle {
    /// An arrow.
    #[default]
    Normal,
    /// An arrow that stands out.
    Highlight,
    /// A dashed arrow, for what is not really sent.
    Dashed,
    /// An arrow that ends in a cross: the message that broke a rule.
    Failed,
    /// An arrow that ends in an open dot before it arrives: a message nobody takes from its channel, or not yet.
    Pending,
    /// An arrow that begins in an open dot and arrives: a message that was sent before other steps of its receiver.
    Late,
}

/// A message to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sends it.
    pub from: ParticipantId,
    /// Who receives it. May be the sender.
    pub to: ParticipantId,
    /// What is written on the arrow.
    pub label: String,
    /// How the arrow looks.
    pub style: MessageStyle,
    /// A remark below the arrow.
    pub note: Option<String>,
}

impl Message {
    /// A normal message.
    #[must_use]
    pub fn new(from: ParticipantId, to: ParticipantId, label: impl Into<String>) -> Self {
        Self { from, to, label: label.into(), style: MessageStyle::Normal, note: None }
    }

    /// The same message in this style.
    #[must_use]
    pub fn style(mut self, style: MessageStyle) -> Self {
        self.style = style;
        self
    }

    /// The same message with a remark.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// One step of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message.
    Message(Message),
    /// A text box over one participant or from the leftmost to the rightmost of several.
    Note {
        /// Over whom.
        over: Vec<ParticipantId>,
        /// What it says.
        text: String,
    },
    /// The following steps, up to the matching [`Step::Close`], may repeat.
    OpenLoop {
        /// What is repeated.
        title: String,
    },
    /// One of several branches happens; the steps of the first follow.
    OpenAlt {
        /// What is chosen, or by whom.
        title: String,
        /// The title of the first branch.
        branch: String,
    },
    /// Several blocks run side by side; the steps of the first follow.
    OpenPar {
        /// What they are.
        title: String,
    },
    /// The next branch of the innermost alternative, or the next of several blocks side by side.
    Branch {
        /// Its title.
        title: String,
    },
    /// The end of the innermost block.
    Close,
    /// The execution goes on elsewhere.
    Jump {
        /// Where.
        text: String,
    },
    /// A line across all lifelines.
    Divider {
        /// What stands on the line. May be empty.
        text: String,
    },
}

/// With which characters a chart is drawn in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Charset {
    /// Box-drawing characters and arrows.
    #[default]
    Unicode,
    /// ASCII only, apart from the user's text.
    Ascii,
}

/// A chart to draw.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sequence {
    /// What the chart shows, for readers who cannot see it.
    pub title: String,
    participants: Vec<Participant>,
    steps: Vec<Step>,
}

impl Sequence {
    /// An empty chart.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a participant, to the right of those already there.
    pub fn add_participant(&mut self, participant: Participant) -> ParticipantId {
        let id = ParticipantId(u32::try_from(self.participants.len()).unwrap_or(u32::MAX));
        self.participants.push(participant);
        id
    }

    /// Adds any step.
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Adds a message.
    pub fn message(&mut self, message: Message) {
        self.push(Step::Message(message));
    }

    /// Adds a text box over one or several participants.
    pub fn note(&mut self, over: impl IntoIterator<Item = ParticipantId>, text: impl Into<String>) {
        self.push(Step::Note { over: over.into_iter().collect(), text: text.into() });
    }

    /// Opens a loop.
    pub fn open_loop(&mut self, title: impl Into<String>) {
        self.push(Step::OpenLoop { title: title.into() });
    }

    /// Opens an alternative and its first branch.
    pub fn open_alt(&mut self, title: impl Into<String>, branch: impl Into<String>) {
        self.push(Step::OpenAlt { title: title.into(), branch: branch.into() });
    }

    /// Opens blocks that run side by side, and the first of them.
    pub fn open_par(&mut self, title: impl Into<String>) {
        self.push(Step::OpenPar { title: title.into() });
    }

    /// Begins the next branch of the innermost block, which must be an alternative or several blocks side by side.
    pub fn branch(&mut self, title: impl Into<String>) {
        self.push(Step::Branch { title: title.into() });
    }

    /// Closes the innermost block.
    pub fn close(&mut self) {
        self.push(Step::Close);
    }

    /// Says where the execution goes on.
    pub fn jump(&mut self, text: impl Into<String>) {
        self.push(Step::Jump { text: text.into() });
    }

    /// Draws a line across.
    pub fn divider(&mut self, text: impl Into<String>) {
        self.push(Step::Divider { text: text.into() });
    }

    /// The participants, from left to right.
    #[must_use]
    pub fn participants(&self) -> &[Participant] {
        &self.participants
    }

    /// The participants, to be changed: footers are often known last.
    pub fn participants_mut(&mut self) -> &mut [Participant] {
        &mut self.participants
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Decides where everything goes.
    ///
    /// # Errors
    /// If the chart exceeds [`STEP_LIMIT`], [`PARTICIPANT_LIMIT`] or [`DEPTH_LIMIT`], names an unknown
    /// participant, or its blocks are not properly nested.
    pub fn layout(&self) -> Result<ChartLayout, DrawError> {
        Ok(layout::layout(self, &Blocks::of(self)?))
    }

    /// The chart as a self-contained SVG document.
    ///
    /// # Errors
    /// As [`Sequence::layout`].
    pub fn to_svg(&self) -> Result<String, DrawError> {
        Ok(paint::svg(self, &self.layout()?))
    }

    /// The chart as a Mermaid sequence diagram.
    ///
    /// # Errors
    /// As [`Sequence::layout`].
    pub fn to_mermaid(&self) -> Result<String, DrawError> {
        Blocks::of(self)?;
        Ok(mermaid::sequence_diagram(self))
    }

    /// The chart as lines of text for a terminal with a fixed-width font.
    ///
    /// # Errors
    /// As [`Sequence::layout`].
    pub fn to_text(&self, charset: Charset) -> Result<String, DrawError> {
        Ok(terminal::text(self, &Blocks::of(self)?, charset))
    }
}
