//! Events that are letters: steps over them without building them (`PropertyFamily::step_letter`).

use super::clock::Clock;
use super::decode::Record;
use super::instances::NOBODY;
use super::lane::Shard;
use super::plan::{Family, PropertyPlan};

impl Shard {
    /// Steps over the event of `record` by its letter alone; false, and nothing has changed, if the event itself is needed.
    #[inline]
    pub(super) fn step_letter(
        &mut self,
        plan: &PropertyPlan,
        (record, key): (&Record, &[u8]),
        family: &Family,
        hint: u32,
        clock: &mut Clock,
    ) -> bool {
        if plan.options.replay || !family.indifference.as_ref().is_some_and(|(_, asked)| asked.decides) {
            return false;
        }
        let room = plan.limit().saturating_sub(self.held);
        let Some(instances) = self.families.get_mut(usize::from(record.family)) else { return false };
        let index = if hint == NOBODY { instances.find(record.hash, key) } else { hint };
        let Some(entry) = instances.entry(index) else { return false };
        let Some(bundle) = &mut entry.bundle else { return false };
        bundle.note_events(entry.events);
        let Some(grown) = family.properties.step_letter(bundle, record.letter, record.time, room) else {
            return false;
        };
        entry.events += 1;
        self.held = self.held.saturating_add_signed(grown);
        entry.rests = family.properties.rests(bundle);
        let deadline = family.properties.next_deadline(bundle);
        // INVARIANT: as many as the record has bits for.
        clock.wake(entry, deadline, (plan.shard_in_lane(record) as u16, record.family, index));
        true
    }
}
