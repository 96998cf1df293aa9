//! Sub-sessions: the protocols that are opened, before the one that opens them, and the statements that open and close them.

use std::fmt::Write as _;

use referee_theory::calls::{Calls, SubProtocol};
use referee_theory::{GlobalType, Origin, Stage};

use super::{Form, Inexpressible, Printer, word};

impl Printer<'_> {
    /// The protocols that are opened, each once.
    pub(super) fn subs(&mut self) -> Result<(), Inexpressible> {
        let Some(calls) = self.global.calls() else { return Ok(()) };
        if self.form == Form::NuScr {
            return Err(Inexpressible::calls());
        }
        let mut printed: Vec<&SubProtocol> = Vec::new();
        for sub in &calls.subs {
            if let Some(same_name) = printed.iter().find(|known| known.name == sub.name) {
                if same_name.declared != sub.declared {
                    return Err(Inexpressible::new(format!("two protocols are called `{}`", sub.name)));
                }
                continue;
            }
            self.out.push_str(&Printer::new(&sub.global, Form::Scr).protocol(&sub.name)?);
            printed.push(sub);
        }
        Ok(())
    }

    /// `per id: string`, behind the roles.
    pub(super) fn key(&self) -> Result<String, Inexpressible> {
        let Some(keyed) = self.global.keyed() else { return Ok(String::new()) };
        if self.form == Form::NuScr {
            return Err(Inexpressible::calls());
        }
        Ok(format!(" per {}: {}", word(&keyed.field, "field")?, super::payload_type(&keyed.ty, 0)?))
    }

    /// `interrupted by …`, behind the body.
    pub(super) fn interrupt(&mut self) -> Result<(), Inexpressible> {
        let Some(interrupt) = self.global.keyed().and_then(|keyed| keyed.interrupt) else { return Ok(()) };
        let vocabulary = self.global.vocabulary();
        self.out.push_str(" interrupted by ");
        self.message_text(vocabulary.spec(interrupt.message), None)?;
        let _ = write!(self.out, " from {}", word(vocabulary.role_name(interrupt.sender), "role")?);
        Ok(())
    }

    /// What is opened and closed before the first message.
    pub(super) fn opened_first(&mut self) -> Result<(), Inexpressible> {
        let Some(calls) = self.global.calls() else { return Ok(()) };
        let closed = vec![Stage::Closed; calls.subs.len()];
        self.marks(calls, &closed, &calls.start)
    }

    /// What is opened and closed behind the message, or the `par`, at `origin`.
    pub(super) fn opened_behind(&mut self, origin: Origin, is_par: bool) -> Result<(), Inexpressible> {
        let Some(calls) = self.global.calls() else { return Ok(()) };
        let Some(spot) = calls.spots.get(&origin) else { return Ok(()) };
        let before = if is_par { spot.before.to_vec() } else { spot.sent() };
        self.marks(calls, &before, &spot.after)
    }

    fn marks(&mut self, calls: &Calls, before: &[Stage], after: &[Stage]) -> Result<(), Inexpressible> {
        for (sub, (before, after)) in calls.subs.iter().zip(before.iter().zip(after)) {
            let word = match (before, after) {
                (Stage::Closed, Stage::Open) => "open",
                (Stage::Open, Stage::Closing) => "close",
                _ => continue,
            };
            self.spend()?;
            let _ = writeln!(self.out, "{word} {};", sub.signature());
        }
        Ok(())
    }
}

/// Refuses what opens sub-sessions, or is one: other languages have none.
pub(crate) fn without_calls(global: &GlobalType) -> Result<(), Inexpressible> {
    if global.calls().is_some() || global.keyed().is_some() { Err(Inexpressible::calls()) } else { Ok(()) }
}
