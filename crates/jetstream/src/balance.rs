//! Who takes which partitions: every worker has its share, and moves no more than it must.

/// What one worker should do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// Partitions to take: nobody has them.
    pub(crate) take: Vec<u16>,
    /// Partitions to give away: others have too few.
    pub(crate) give: Vec<u16>,
    /// How many more are to come, when others have given theirs away.
    pub(crate) missing: usize,
}

/// What `me`, one of the `living` in their order, should do when the partitions have these owners.
pub(crate) fn balance(me: &str, living: &[String], owners: &[Option<String>]) -> Moves {
    let Some(rank) = living.iter().position(|member| member == me) else { return Moves::default() };
    let quota = owners.len() / living.len() + usize::from(rank < owners.len() % living.len());
    let numbered = || (0_u16..).zip(owners);
    let is_mine = |owner: &Option<String>| owner.as_deref() == Some(me);
    let mine: Vec<u16> = numbered().filter(|(_, owner)| is_mine(owner)).map(|(number, _)| number).collect();
    let is_free = |owner: &Option<String>| owner.as_ref().is_none_or(|owner| !living.contains(owner));
    let mut take: Vec<u16> =
        numbered().filter(|(_, owner)| is_free(owner)).map(|(number, _)| number).collect();
    let wanted = quota.saturating_sub(mine.len());
    take.truncate(wanted);
    Moves { missing: wanted - take.len(), take, give: mine.get(quota..).unwrap_or_default().to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets everybody act in turn until nobody moves anything.
    fn settle(living: &[String], owners: &mut [Option<String>]) -> usize {
        let mut moved = 0;
        for _ in 0..10 {
            let before = owners.to_vec();
            for me in living {
                let moves = balance(me, living, owners);
                moved += moves.take.len();
                moves.give.iter().for_each(|number| owners[usize::from(*number)] = None);
                moves.take.iter().for_each(|number| owners[usize::from(*number)] = Some(me.clone()));
            }
            if before == owners {
                return moved;
            }
        }
        panic!("nobody is content: {owners:?}");
    }

    #[test]
    fn everybody_has_a_share_and_little_moves() {
        let names = |count: usize| (0..count).map(|number| format!("w{number}")).collect::<Vec<_>>();
        let mut owners = vec![None; 16];
        assert_eq!(settle(&names(1), &mut owners), 16);
        for (count, moves) in [(2, 8), (3, 5), (5, 6), (4, 3), (1, 12)] {
            assert_eq!(settle(&names(count), &mut owners), moves, "{count} workers");
            for name in names(count) {
                let share = owners.iter().filter(|owner| **owner == Some(name.clone())).count();
                assert!(
                    share == 16 / count || share == 16 / count + 1,
                    "{count} workers, {name} has {share}"
                );
            }
        }
    }

    #[test]
    fn more_workers_than_partitions() {
        let living: Vec<String> = (0..5).map(|number| format!("w{number}")).collect();
        let mut owners = vec![None; 2];
        settle(&living, &mut owners);
        assert!(owners.iter().all(Option::is_some));
        assert_eq!(balance("stranger", &living, &owners), Moves::default());
    }
}
