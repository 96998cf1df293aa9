//! The relay of one session: bytes from either side, judged, to the other side, unchanged.
//!
//! One task carries both directions. Bytes are read into a buffer that all sessions of a thread share and are
//! written from there; a session owns memory only for what could not be decided or written at once, and gives it
//! back when that is done. A side is not read from while the other has not taken what it was sent: whoever is slow
//! slows down the other side and nobody else.

mod end;

use std::cell::RefCell;
use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use referee_monitor::Policy;
use referee_wire::{Scratch, Sender};
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::time::{Instant, sleep_until};

use crate::judge::{Judge, Look};
use crate::metrics::lock;
use crate::report::{EndReason, Report};
use crate::stream::Stream;
use end::End;

/// What one read may bring.
const READ: usize = 64 << 10;
/// How long a side may take to receive what was accepted before, once the session is to be closed.
const LINGER: Duration = Duration::from_secs(2);
/// How much of what a side sends meanwhile is read, so that it sees the end instead of a reset.
const DISCARD: usize = 256 << 10;
/// Where no time limit is set.
const FAR: Duration = Duration::from_secs(86400 * 365);

/// What all sessions of a thread share.
struct Desk {
    buffer: Box<[u8]>,
    scratch: Scratch,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk { buffer: vec![0; READ].into(), scratch: Scratch::new() });
}

/// A session under way.
pub(crate) struct Relay {
    judge: Arc<Mutex<Judge>>,
    flow: Flow,
}

/// Both ends, and what is between them.
struct Flow {
    ends: [End; 2],
    /// Everything goes on at once, and is judged afterwards.
    observe: bool,
    /// How many bytes are read at a time, at most.
    read: usize,
    /// How many bytes may wait to be judged when nothing waits to be sent.
    backlog: usize,
    bytes: [u64; 2],
    closing: Option<EndReason>,
    /// Bytes that were read from both sides since.
    discarded: usize,
    active: bool,
    buffered: u64,
}

/// What a session came to.
pub(crate) struct Outcome {
    pub(crate) why: EndReason,
    pub(crate) bytes: [u64; 2],
}

enum Turn {
    /// There is something to tell.
    Tell(Vec<Report>),
    Done(EndReason),
}

impl Relay {
    pub(crate) fn new(judge: Arc<Mutex<Judge>>, client: Stream, server: Stream) -> Self {
        let (observe, limits) = {
            let judge = lock(&judge);
            (judge.plan.policy == Policy::Observe, judge.plan.limits)
        };
        let flow = Flow {
            ends: [End::new(client), End::new(server)],
            observe,
            read: READ.min(limits.buffer.0),
            backlog: limits.message.0.saturating_add(limits.buffer.0),
            bytes: [0; 2],
            closing: None,
            discarded: 0,
            active: false,
            buffered: 0,
        };
        Self { judge, flow }
    }

    /// Carries the session to its end. `tell` is called with what there is to tell, as it happens.
    pub(crate) async fn run<F: Future<Output = ()>>(mut self, tell: impl Fn(Vec<Report>) -> F) -> Outcome {
        let (idle, total) = lock(&self.judge).plan.times();
        let began = Instant::now();
        let mut last = began;
        let end = began + total.unwrap_or(FAR);
        let idle = idle.unwrap_or(FAR);
        let mut timer = pin!(sleep_until(end.min(last + idle)));
        let why = loop {
            let turn = poll_fn(|cx| {
                loop {
                    let turn = self.poll(cx);
                    if std::mem::take(&mut self.flow.active) {
                        last = Instant::now();
                    }
                    if turn.is_ready() {
                        return turn;
                    }
                    if timer.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    let now = Instant::now();
                    let deadline = end.min(last + idle);
                    match self.flow.closing {
                        Some(why) => return Poll::Ready(Turn::Done(why)),
                        // Something has happened since the timer was set.
                        None if now < deadline => timer.as_mut().reset(deadline),
                        None => {
                            self.flow.close(if now >= end { EndReason::TotalTime } else { EndReason::Idle });
                            timer.as_mut().reset(now + LINGER);
                        }
                    }
                }
            })
            .await;
            match turn {
                Turn::Tell(reports) => {
                    tell(reports).await;
                    if self.flow.closing.is_some() {
                        timer.as_mut().reset(Instant::now() + LINGER);
                    }
                }
                Turn::Done(why) => break why,
            }
        };
        lock(&self.judge).counters.buffered.subtract(self.flow.buffered);
        Outcome { why, bytes: self.flow.bytes }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        DESK.with_borrow_mut(|desk| {
            let mut judge = lock(&self.judge);
            let was_closing = self.flow.closing.is_some();
            let done = self.flow.turn(cx, &mut judge, desk);
            self.flow.settle(&judge);
            if !judge.reports.is_empty() || (self.flow.closing.is_some() && !was_closing) {
                return Poll::Ready(Turn::Tell(std::mem::take(&mut judge.reports)));
            }
            done.map_or(Poll::Pending, |why| Poll::Ready(Turn::Done(why)))
        })
    }
}

impl Flow {
    fn close(&mut self, why: EndReason) {
        self.closing.get_or_insert(why);
    }

    /// Does all that can be done now. The reason for the end, once everything is done.
    fn turn(&mut self, cx: &mut Context<'_>, judge: &mut Judge, desk: &mut Desk) -> Option<EndReason> {
        while self.closing.is_none() {
            let mut moved = false;
            for sender in Sender::BOTH {
                moved |= self.pump(cx, sender, judge, desk);
            }
            if self.closing.is_none() && self.ends.iter().all(End::is_done) {
                return Some(match (judge.is_inspecting() && judge.is_over(), judge.unanswered) {
                    (true, _) => EndReason::Over,
                    (false, true) => EndReason::Unanswered,
                    (false, false) => EndReason::Closed,
                });
            }
            if !moved {
                return None;
            }
        }
        // What was accepted is still delivered; what comes now is not even looked at.
        let mut finished = true;
        for end in &mut self.ends {
            end.finish();
            end.flush(cx);
            while !end.ended {
                let mut buffer = ReadBuf::new(&mut desk.buffer);
                match Pin::new(&mut end.stream).poll_read(cx, &mut buffer) {
                    Poll::Ready(Ok(())) => {
                        self.discarded += buffer.filled().len();
                        end.ended = buffer.filled().is_empty() || self.discarded > DISCARD;
                    }
                    Poll::Ready(Err(_)) => end.ended = true,
                    Poll::Pending => break,
                }
            }
            finished &= end.gone || (end.is_delivered() && end.ended);
        }
        self.closing.filter(|_| finished)
    }

    /// Moves what can be moved from `sender` to the other side. Whether anything was.
    fn pump(&mut self, cx: &mut Context<'_>, sender: Sender, judge: &mut Judge, desk: &mut Desk) -> bool {
        // What was passed on already is judged whether or not there is room for more.
        let mut moved = self.observe && self.look_again(cx, sender, judge, desk);
        if !self.sink(sender).flush(cx) {
            return moved;
        }
        if self.sink(sender).gone {
            self.lost(sender.other(), judge);
            return true;
        }
        moved |= !self.observe && self.look_again(cx, sender, judge, desk);
        while self.may_read(sender) && !self.is_first(sender.other(), judge) {
            let mut buffer = ReadBuf::new(desk.buffer.get_mut(..self.read).unwrap_or_default());
            match Pin::new(&mut self.source(sender).stream).poll_read(cx, &mut buffer) {
                Poll::Pending => break,
                Poll::Ready(Err(_)) => {
                    self.lost(sender, judge);
                    return true;
                }
                Poll::Ready(Ok(())) => {}
            }
            let read = buffer.filled().len();
            moved = true;
            if read == 0 {
                self.source(sender).ended = true;
                break;
            }
            self.active = true;
            let Desk { buffer, scratch } = desk;
            let bytes = buffer.get(..read).unwrap_or_default();
            if self.observe {
                self.forward(cx, sender, bytes, judge);
            }
            if self.source(sender).inbox.is_empty() {
                let decided = self.decide(cx, sender, bytes, judge, scratch);
                let rest = bytes.get(decided..).unwrap_or_default();
                self.source(sender).inbox.extend_from_slice(rest);
            } else {
                self.source(sender).inbox.extend_from_slice(bytes);
                self.reconsider(cx, sender, judge, desk);
            }
            if self.observe && judge.is_inspecting() && self.source(sender).inbox.len() > self.backlog {
                judge.stop_inspecting("too much was sent ahead");
                self.source(sender).inbox = Vec::new();
            }
        }
        moved | self.handle_end(sender, judge)
    }

    /// `sender` has ended: once all it said is decided, it is judged for that, and the other side is told.
    fn handle_end(&mut self, sender: Sender, judge: &mut Judge) -> bool {
        let closing = self.closing.is_some();
        let source = self.source(sender);
        if closing || !source.ended || source.is_worth_a_look(judge.version) || source.is_held() {
            return false;
        }
        let inbox = std::mem::take(&mut source.inbox);
        if let Err(why) = judge.end(sender, &inbox) {
            self.say_farewell(judge);
            self.close(why);
            return true;
        }
        let sink = self.sink(sender);
        let news = !sink.is_finishing();
        sink.finish();
        news
    }

    /// The connection with `who` broke.
    fn lost(&mut self, who: Sender, judge: &mut Judge) {
        let end = self.source(who);
        (end.ended, end.gone) = (true, true);
        let inbox = std::mem::take(&mut end.inbox);
        match judge.end(who, &inbox) {
            Err(why) => {
                self.say_farewell(judge);
                self.close(why);
            }
            Ok(()) => self.close(EndReason::Reset),
        }
    }

    fn may_read(&mut self, sender: Sender) -> bool {
        let room = self.sink(sender).is_flushed();
        let observe = self.observe;
        let closing = self.closing.is_some();
        let source = self.source(sender);
        !source.ended && !closing && room && (observe || !source.is_held())
    }

    /// Looks again at what `sender` has sent before, if that is worth it.
    fn look_again(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        judge: &mut Judge,
        desk: &mut Desk,
    ) -> bool {
        self.closing.is_none()
            && self.source(sender).is_worth_a_look(judge.version)
            && self.reconsider(cx, sender, judge, desk)
    }

    fn reconsider(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        judge: &mut Judge,
        desk: &mut Desk,
    ) -> bool {
        let inbox = std::mem::take(&mut self.source(sender).inbox);
        let decided = self.decide(cx, sender, &inbox, judge, &mut desk.scratch);
        let source = self.source(sender);
        source.inbox = inbox;
        source.inbox.drain(..decided);
        decided > 0
    }

    /// Decides about the messages at the beginning of `bytes`; says how many bytes that were.
    fn decide(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        bytes: &[u8],
        judge: &mut Judge,
        scratch: &mut Scratch,
    ) -> usize {
        let (began, judged) = (Instant::now(), judge.judged);
        let (mut from, mut at) = (0, 0);
        self.source(sender).look_again();
        let mut close = None;
        while at < bytes.len() {
            match judge.look(sender, bytes.get(at..).unwrap_or_default(), scratch, cx.waker()) {
                Look::Forward(count) => {
                    at += count;
                    if count > 0 && self.is_first(sender.other(), judge) {
                        break;
                    }
                }
                Look::Everything => at = bytes.len(),
                Look::Discard(count) => {
                    self.accept(cx, sender, bytes.get(from..at).unwrap_or_default(), judge);
                    at += count;
                    from = at;
                }
                Look::More(need) => {
                    self.source(sender).need(need);
                    break;
                }
                Look::Hold => {
                    self.source(sender).hold(judge.version);
                    break;
                }
                Look::Wait => {
                    self.source(sender).hold_until_woken();
                    break;
                }
                Look::Close(why) => {
                    close = Some(why);
                    break;
                }
            }
        }
        if judge.judged > judged {
            let time = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            judge.counters.decided(judge.judged - judged, time);
        }
        self.accept(cx, sender, bytes.get(from..at).unwrap_or_default(), judge);
        if let Some(why) = close {
            self.say_farewell(judge);
            self.close(why);
        }
        at
    }

    /// Whether something that `who` has sent is to be judged before anything more of the other side. Where everything goes
    /// on at once, what the other side says next may answer it.
    fn is_first(&mut self, who: Sender, judge: &Judge) -> bool {
        self.observe && self.source(who).is_to_be_judged(judge.version)
    }

    fn accept(&mut self, cx: &mut Context<'_>, sender: Sender, bytes: &[u8], judge: &Judge) {
        if !self.observe {
            self.forward(cx, sender, bytes, judge);
        }
    }

    fn forward(&mut self, cx: &mut Context<'_>, sender: Sender, bytes: &[u8], judge: &Judge) {
        if bytes.is_empty() {
            return;
        }
        self.bytes[sender.index()] += bytes.len() as u64;
        judge.counters.bytes[sender.index()].add(bytes.len() as u64);
        self.sink(sender).send(cx, bytes);
    }

    /// Each side is told what it can understand, unless it is in the middle of a message.
    fn say_farewell(&mut self, judge: &Judge) {
        for receiver in Sender::BOTH {
            if !judge.is_within_message(receiver.other()) {
                let farewell = &judge.plan.farewell[receiver.index()];
                self.source(receiver).queue(farewell);
            }
        }
    }

    /// Gives back memory that is not needed, and counts what is.
    fn settle(&mut self, judge: &Judge) {
        let now: usize = self.ends.iter_mut().map(End::settle).sum();
        let now = now as u64;
        if now != self.buffered {
            judge.counters.buffered.add(now.wrapping_sub(self.buffered));
            self.buffered = now;
        }
    }

    fn source(&mut self, sender: Sender) -> &mut End {
        &mut self.ends[sender.index()]
    }

    fn sink(&mut self, sender: Sender) -> &mut End {
        &mut self.ends[sender.other().index()]
    }
}
