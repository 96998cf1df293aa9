//! Symmetry: the renamings of roles under which a system stays the same.
//!
//! A renaming π of roles is one of the system if the machine of π(r) is that of r with every peer p called π(p), up to
//! the names of states, initial states included. The renamings are a group; it acts on configurations and keeps
//! steps, so configurations that differ by one have the same future up to it, and one of each class, its
//! *representative*, is enough. What is asked of representatives, and why that is enough: `docs/checking.md`,
//! "Symmetry".

use referee_theory::{Message, Role};
use rustc_hash::FxHashMap;

use crate::explore::Limits;
use crate::layout::Layout;
use crate::model::{Model, narrow};
use crate::store::{Words, zeros};

/// The most renamings that are made use of. Where a system has more, roles are left as they are until it has not.
const MOST: usize = 720;
/// How many partial renamings are looked at, with so many roles fixed, before there are too many.
const TRIES: usize = 20_000;

/// One renaming of a system. Everything is given by what is renamed.
#[derive(Clone, Debug)]
pub(crate) struct Renaming {
    /// The new role of each.
    pub(crate) roles: Vec<u32>,
    /// The role that becomes this one.
    before: Vec<u32>,
    /// By role and state, in the order of [`Model::locals`]: the state of the new role.
    locals: Vec<u32>,
    pub(crate) channels: Vec<u32>,
    /// The channel that becomes this one.
    channels_before: Vec<u32>,
    /// By channel and symbol: the symbol in the new channel.
    symbols: Vec<Vec<u32>>,
}

/// The renamings of a system, the identity included.
#[derive(Clone, Debug)]
pub(crate) struct Symmetry {
    renamings: Vec<Renaming>,
}

impl Symmetry {
    /// The symmetry of `model`, if it has any. A machine with two transitions for one action has none.
    pub(crate) fn of(model: &Model, limits: Limits<'_>) -> Option<Self> {
        // Where a role may wait for ever is not asked of representatives, and faults are not renamed.
        if model.faults.is_some() || model.locals.iter().any(|local| local.accepting) {
            return None;
        }
        let search = Search::new(model)?;
        // The more roles are left as they are, the fewer renamings: the fewest roles with which these can be made use of.
        let (mut least, mut most) = (0, model.role_count());
        let mut best = None;
        while least < most {
            if limits.cancelled() {
                return None;
            }
            let middle = usize::midpoint(least, most);
            match search.renamings(middle, limits) {
                Some(found) => (best, most) = (Some(found), middle),
                None => least = middle + 1,
            }
        }
        let complete = |to: &Vec<_>| if limits.cancelled() { None } else { search.complete(to) };
        let renamings = best?.iter().map(complete).collect::<Option<Vec<_>>>()?;
        (renamings.len() > 1).then_some(Self { renamings })
    }

    pub(crate) fn len(&self) -> usize {
        self.renamings.len()
    }

    pub(crate) fn get(&self, number: u32) -> &Renaming {
        &self.renamings[number as usize]
    }
}

/// Finds representatives. Has room for what it needs, so that nothing is allocated for each configuration.
pub(crate) struct Canon<'a> {
    model: &'a Model,
    symmetry: &'a Symmetry,
    /// By channel: the least of the channels that it can become.
    orbits: Vec<u32>,
    locals: Vec<u32>,
    /// The messages in each channel.
    lengths: Vec<u32>,
    /// By orbit: whether one of its channels holds something.
    is_used: Vec<bool>,
    left: Vec<u32>,
    image: Words,
}

impl<'a> Canon<'a> {
    pub(crate) fn new(model: &'a Model, symmetry: &'a Symmetry) -> Self {
        let images =
            |channel: usize| symmetry.renamings.iter().map(move |renaming| renaming.channels[channel]);
        let orbits = (0..model.channels.len()).map(|channel| images(channel).min().unwrap_or(0)).collect();
        let (locals, lengths, is_used, left) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { model, symmetry, orbits, locals, lengths, is_used, left, image: zeros(0) }
    }

    /// Turns `words` into its representative: which renaming does, and how many configurations it represents. Of all
    /// that `words` can become, it is the one with the least states, role by role, and then with the least contents, channel by
    /// channel. Renamings that lead to a greater one are left behind at the first difference.
    pub(crate) fn representative(&mut self, layout: &Layout, words: &mut Words) -> (u32, usize) {
        self.left.clear();
        self.left.extend(0..narrow(self.symmetry.len()));
        self.with_least_states(layout, words);
        self.with_least_contents(layout, words);
        // Those that are left all lead to the same configuration.
        let (best, same) = (self.left[0], self.left.len());
        self.rename(layout, words, best);
        words.copy_from_slice(&self.image);
        (best, self.symmetry.len() / same)
    }

    /// Leaves the renamings after which the states, role by role, are least.
    fn with_least_states(&mut self, layout: &Layout, words: &[u64]) {
        let Self { model, symmetry, locals, left, .. } = self;
        locals.clear();
        locals.extend((0..model.role_count()).map(|role| layout.local(words, role)));
        for role in 0..locals.len() {
            if left.len() == 1 {
                return;
            }
            let state = |number: u32| {
                let renaming = symmetry.get(number);
                let before = renaming.before[role] as usize;
                renaming.locals[(model.offsets[before] + locals[before]) as usize]
            };
            let least = left.iter().map(|&number| state(number)).min();
            left.retain(|&number| Some(state(number)) == least);
        }
    }

    /// Leaves those of them after which the contents, channel by channel, are least: the shorter first.
    fn with_least_contents(&mut self, layout: &Layout, words: &[u64]) {
        let Self { symmetry, orbits, lengths, is_used, left, .. } = self;
        lengths.clear();
        lengths.extend((0..orbits.len()).map(|channel| layout.length(words, channel)));
        is_used.clear();
        is_used.resize(orbits.len(), false);
        (0..orbits.len()).for_each(|channel| is_used[orbits[channel] as usize] |= lengths[channel] > 0);
        for channel in 0..orbits.len() {
            if left.len() == 1 {
                return;
            }
            if !is_used[orbits[channel] as usize] {
                continue;
            }
            let length = |number: u32| lengths[symmetry.get(number).channels_before[channel] as usize];
            let least = left.iter().map(|&number| length(number)).min().unwrap_or(0);
            left.retain(|&number| length(number) == least);
            for position in 0..least {
                let symbol = |number: u32| {
                    let renaming = symmetry.get(number);
                    let before = renaming.channels_before[channel] as usize;
                    renaming.symbols[before][layout.symbol(words, before, position) as usize]
                };
                let first = left.iter().map(|&number| symbol(number)).min();
                left.retain(|&number| Some(symbol(number)) == first);
            }
        }
    }

    /// Makes `image` what `words` become.
    fn rename(&mut self, layout: &Layout, words: &[u64], number: u32) {
        let renaming = self.symmetry.get(number);
        self.image.resize(words.len(), 0);
        self.image.fill(0);
        for (role, &state) in self.locals.iter().enumerate() {
            let state = renaming.locals[(self.model.offsets[role] + state) as usize];
            layout.set_local(&mut self.image, renaming.roles[role] as usize, state);
        }
        for channel in 0..self.model.channels.len() {
            let to = renaming.channels[channel] as usize;
            for position in 0..layout.length(words, channel) {
                let symbol = layout.symbol(words, channel, position);
                layout.append(&mut self.image, to, renaming.symbols[channel][symbol as usize]);
            }
        }
    }
}

/// A transition as its role sees it: whether it sends, the peer, the message.
type Key = (bool, Role, Message);

struct Search<'a> {
    model: &'a Model,
    /// By local state: where each transition leads.
    steps: Vec<FxHashMap<Key, u32>>,
    /// Roles, each after one it talks to where possible: wrong guesses are noticed early.
    order: Vec<u32>,
    /// By role: the roles whose machine names it, and itself.
    neighbours: Vec<Vec<u32>>,
}

impl<'a> Search<'a> {
    fn new(model: &'a Model) -> Option<Self> {
        let mut steps: Vec<FxHashMap<Key, u32>> = vec![FxHashMap::default(); model.locals.len()];
        for step in &model.moves {
            let local = (model.offsets[step.role as usize] + step.source) as usize;
            let message = model.system().vocabulary().wire_signature(step.message);
            if steps[local].insert((step.sends, step.peer, message), step.target).is_some() {
                return None;
            }
        }
        let roles = model.role_count();
        let mut order: Vec<u32> = Vec::with_capacity(roles);
        for start in 0..narrow(roles) {
            let mut next = order.len();
            if !order.contains(&start) {
                order.push(start);
            }
            while let Some(&role) = order.get(next) {
                next += 1;
                for step in model.moves.iter().filter(|step| step.role == role) {
                    let peer = u32::from(step.peer.0);
                    if (peer as usize) < roles && !order.contains(&peer) {
                        order.push(peer);
                    }
                }
            }
        }
        let mut neighbours: Vec<Vec<u32>> = (0..narrow(roles)).map(|role| vec![role]).collect();
        for step in &model.moves {
            if let Some(known) = neighbours.get_mut(step.peer.index())
                && !known.contains(&step.role)
            {
                known.push(step.role);
            }
        }
        Some(Self { model, steps, order, neighbours })
    }

    /// All renamings that leave the first `fixed` roles as they are, by role; `None`: too many, or no time for more. Depth first,
    /// without recursion.
    fn renamings(&self, fixed: usize, limits: Limits<'_>) -> Option<Vec<Vec<Option<u32>>>> {
        let roles = self.order.len();
        let (mut found, mut tries) = (Vec::new(), 0);
        let mut to: Vec<Option<u32>> = vec![None; roles];
        // By depth, what the role is tried as.
        let mut tried = vec![0_u32];
        while let Some(&candidate) = tried.last() {
            let depth = tried.len() - 1;
            let role = self.order[depth];
            to[role as usize] = None;
            if candidate as usize == roles {
                tried.pop();
                if let Some(above) = tried.last_mut() {
                    *above += 1;
                }
                continue;
            }
            tried[depth] += 1;
            if to.contains(&Some(candidate)) || depth < fixed && candidate != role {
                continue;
            }
            tries += 1;
            if tries > TRIES || limits.cancelled() {
                return None;
            }
            to[role as usize] = Some(candidate);
            // The others match as before.
            let mut concerned =
                self.neighbours[role as usize].iter().filter(|&&role| to[role as usize].is_some());
            if !concerned.all(|&role| self.matches(role, &to).is_some()) {
                continue;
            }
            if depth + 1 < roles {
                tried[depth] -= 1;
                tried.push(0);
                continue;
            }
            found.push(to.clone());
            if found.len() > MOST {
                return None;
            }
        }
        Some(found)
    }

    /// The state of the new role for each state of `role` that is reached by transitions whose peers are renamed; `None`
    /// if one has no counterpart.
    fn matches(&self, role: u32, to: &[Option<u32>]) -> Option<FxHashMap<u32, u32>> {
        let new = to[role as usize]?;
        let offsets = &self.model.offsets;
        let mut states = FxHashMap::from_iter([(0, 0)]);
        let mut agenda = vec![(0, 0)];
        while let Some((state, image)) = agenda.pop() {
            let local = (offsets[role as usize] + state) as usize;
            let other = (offsets[new as usize] + image) as usize;
            let (steps, others) = (&self.steps[local], self.steps.get(other)?);
            if steps.len() != others.len() {
                return None;
            }
            for (&(sends, peer, message), &target) in steps {
                let Some(&Some(peer)) = to.get(peer.index()) else { continue };
                let counterpart = *others.get(&(sends, Role(peer as u16), message))?;
                match states.insert(target, counterpart) {
                    None => agenda.push((target, counterpart)),
                    Some(known) if known == counterpart => {}
                    Some(_) => return None,
                }
            }
        }
        let mut images: Vec<u32> = states.values().copied().collect();
        images.sort_unstable();
        images.dedup();
        (images.len() == states.len()).then_some(states)
    }

    /// What a renaming of all roles does to everything else.
    fn complete(&self, to: &[Option<u32>]) -> Option<Renaming> {
        let model = self.model;
        let roles = to.iter().copied().collect::<Option<Vec<u32>>>()?;
        let mut before = vec![0; roles.len()];
        (0..).zip(&roles).for_each(|(role, &new)| before[new as usize] = role);
        let mut locals = vec![0; model.locals.len()];
        for role in 0..narrow(roles.len()) {
            for (state, image) in self.matches(role, to)? {
                locals[(model.offsets[role as usize] + state) as usize] = image;
            }
        }
        let rename = |role: Role| roles.get(role.index()).map(|&new| Role(new as u16));
        let (mut channels, mut symbols) = (Vec::new(), Vec::new());
        for channel in &model.channels {
            let from = match channel.from {
                Some(from) => Some(rename(from)?),
                None => None,
            };
            let image = (from, rename(channel.to)?);
            let new = model.channels.iter().position(|other| (other.from, other.to) == image)?;
            let signature = |message| model.system().vocabulary().wire_signature(message);
            let mut own = Vec::new();
            for &(sender, message) in &channel.symbols {
                let image = (rename(sender)?, signature(message));
                let same = |&(sender, message): &(Role, _)| (sender, signature(message)) == image;
                own.push(narrow(model.channels[new].symbols.iter().position(same)?));
            }
            channels.push(narrow(new));
            symbols.push(own);
        }
        let mut channels_before = vec![0; channels.len()];
        (0..).zip(&channels).for_each(|(channel, &new)| channels_before[new as usize] = channel);
        Some(Renaming { roles, before, locals, channels, channels_before, symbols })
    }
}
