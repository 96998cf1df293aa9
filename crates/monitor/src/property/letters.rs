//! Steps that need not see the event: where each pattern asks for one text of one and the same member, or for nothing, an event is a *letter*, which of
//! these texts it has. Nothing is built of it then, and nothing compared.
//!
//! What gives a verdict, passes a deadline or goes beyond a limit is left to the step that sees the event.

use smallvec::{SmallVec, smallvec};

use super::program::{Modality, ModalityId, Program, is_over};
use super::timed::{FEW, Member, Members, Timed};
use referee_theory::property::TimeBound;

/// The letter of an event that has none of the texts. Patterns that ask for nothing have it as well.
const OTHER: u8 = 0;

/// Modalities that begin to wait, each with the end of its time.
type NewTimes = SmallVec<[(ModalityId, i64); 2]>;

impl Program {
    /// Which letter each matcher asks for, if one member decides them all.
    pub(crate) fn asked_letters(&self) -> Option<Box<[u8]>> {
        let asked = self.indifference().filter(|_| self.windows.is_empty() && !self.has_data())?;
        let letter = |text: &str| {
            let place = asked.texts.iter().position(|known| **known == *text)?;
            u8::try_from(place + 1).ok()
        };
        let matchers = self.matchers.iter();
        matchers
            .map(
                |matcher| if matcher.is_any() { Some(OTHER) } else { letter(matcher.only_text(&asked.key)?) },
            )
            .collect()
    }

    #[inline]
    fn takes(&self, modality: &Modality, letter: u8) -> bool {
        let asked = self.letters.as_deref().and_then(|letters| letters.get(modality.pattern as usize));
        asked.is_some_and(|asked| *asked == OTHER || *asked == letter)
    }
}

impl Timed {
    /// Consumes an event with this letter, which happened at `time`; false, and nothing has changed, if the event itself is needed.
    #[inline]
    pub(crate) fn step_letter(&mut self, program: &Program, letter: u8, time: i64, limit: usize) -> bool {
        if program.letters.is_none() || self.waiting.is_some() || self.clauses.len() >= FEW {
            return false;
        }
        let Some((fixed, new)) = self.after_letter(program, letter, time) else { return false };
        // Which of those that wait for a time are decided.
        let mut decided: u32 = 0;
        for (place, clause) in self.clauses.iter().enumerate() {
            let [member] = clause.as_slice() else { return false };
            let Some(modality) = program.modalities.get(member.modality as usize) else { return false };
            let Some(part) = modality.timed.as_deref().filter(|_| member.until >= time) else { return false };
            if program.takes(modality, letter) {
                if part.bound == TimeBound::Never {
                    return false;
                }
                decided |= 1 << place;
            }
        }
        let count = self.kept() - self.fixed.count_ones() as usize + fixed.count_ones() as usize + new.len();
        if count <= decided.count_ones() as usize || count > limit {
            return false;
        }
        self.events += 1;
        self.fixed = fixed;
        if decided != 0 {
            let mut place = 0;
            self.clauses.retain(|_| {
                place += 1;
                decided & 1 << (place - 1) == 0
            });
        }
        for (modality, until) in new {
            let member = Member { modality, until, since: self.events, row: super::rows::Row::new() };
            let members: Members = smallvec![member];
            self.take(program, members);
        }
        true
    }

    /// What the modalities that wait for the next event lead to: those that wait again, and others with the ends of their times.
    #[inline]
    fn after_letter(&self, program: &Program, letter: u8, time: i64) -> Option<(u64, NewTimes)> {
        let (mut next, mut rest, mut new) = (0, self.fixed, NewTimes::new());
        while rest != 0 {
            let modality = program.modalities.get(rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            if !program.takes(modality, letter) {
                continue;
            }
            if is_over(&modality.after) {
                return None;
            }
            for clause in &modality.after {
                if let Some(bit) = program.fixed(clause) {
                    next |= bit;
                    continue;
                }
                let [only] = **clause else { return None };
                let length = program.modalities.get(only as usize)?.timed.as_deref()?.constant?;
                new.push((only, time.saturating_add(length)));
            }
        }
        Some((next, new))
    }
}
