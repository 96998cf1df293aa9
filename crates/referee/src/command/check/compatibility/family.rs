//! `--instances R=1..6`: the same protocol with so many copies of a role.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, anyhow, bail};
use referee::Projected;
use referee::check::{self, MOST_INSTANCES, Observer, Options, Report, Rounds, Verdict};
use referee::theory::{GlobalType, Message, NodeId, Role, System};
use serde_json::{Value, json};

use super::CANCELLED;
use super::named::has_word_for_copies;

/// A role and the numbers of its copies.
#[derive(Clone, Debug)]
pub(super) struct Instances {
    role: String,
    from: u16,
    to: u16,
}

/// For clap: `Worker=1..6`, or `Worker=3`.
pub(super) fn parse(text: &str) -> Result<Instances, String> {
    let wrong = || "this is not of the form ROLE=FROM..TO, as in Worker=1..6".to_owned();
    let (role, range) = text.split_once('=').ok_or_else(wrong)?;
    let (from, to) = range.split_once("..").unwrap_or((range, range));
    let number = |text: &str| text.trim().parse::<u16>().map_err(|_| wrong());
    let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
    if from == 0 || to < from || to > MOST_INSTANCES {
        return Err(format!("there are from 1 to {MOST_INSTANCES} copies, the smaller number first"));
    }
    Ok(Instances { role: role.to_owned(), from, to })
}

/// What was found with one number of copies.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) role: String,
    pub(super) copies: u16,
    pub(super) verdict: &'static str,
    /// The last bound and how many configurations it has.
    explored: Option<(u32, usize)>,
}

/// What was found with all numbers of copies.
pub(super) struct Family {
    pub(super) members: Vec<Member>,
    /// The system of the first number that is unsafe, or else of the first that is not safe, or else of the last, and what was found
    /// of it.
    pub(super) shown: System,
    pub(super) report: Report,
}

/// Of which roles `protocol` says that there may be several copies.
pub(super) fn declared(protocol: &Projected) -> Vec<&str> {
    let vocabulary = protocol.vocabulary();
    let copied = |role: &Role| protocol.global().is_some_and(|global| global.copies_of(*role).is_some());
    vocabulary.roles().filter(copied).map(|role| vocabulary.role_name(role)).collect()
}

impl Instances {
    /// What is found with each number of copies of a role of `system`, whose protocol is `protocol`.
    pub(super) fn check(
        &self,
        system: &System,
        protocol: &Projected,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Family> {
        let role = self.find(system, protocol)?;
        let mut members = Vec::new();
        let mut shown: Option<(System, Report)> = None;
        for copies in self.from..=self.to {
            let found = check::check_instances(system, role, copies, options, Some(&CANCELLED), observer);
            let Some((family, report)) = found else { bail!("{}", self.too_large(copies)) };
            members.push(Member {
                role: self.role.clone(),
                copies,
                verdict: report.verdict.name(),
                explored: report.bounds.last().map(|bound| (bound.k, bound.states)),
            });
            if shown.as_ref().is_none_or(|(_, before)| is_worse(&report, before)) {
                shown = Some((family, report));
            }
        }
        let Some((shown, report)) = shown else { bail!("--instances: no number of copies") };
        Ok(Family { members, shown, report })
    }

    /// The system with each number of copies, which have no order: of these properties are asked.
    pub(super) fn systems(
        &self,
        system: &System,
        protocol: &Projected,
    ) -> Result<impl Iterator<Item = Result<(u16, System)>>> {
        let role = self.find(system, protocol)?;
        Ok((self.from..=self.to).map(move |copies| {
            let family = check::instances(system, role, copies, Rounds::AnyOrder);
            Ok((copies, family.ok_or_else(|| anyhow!("{}", self.too_large(copies)))?))
        }))
    }

    pub(super) fn role(&self) -> &str {
        &self.role
    }

    fn find(&self, system: &System, protocol: &Projected) -> Result<Role> {
        let (vocabulary, name) = (system.vocabulary(), &self.role);
        let Some(role) = vocabulary.find_role(name) else {
            let known: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
            bail!("--instances: there is no role `{name}`; roles are {}", known.join(", "));
        };
        if has_word_for_copies(protocol) && !declared(protocol).contains(&&**name) {
            bail!(
                "--instances: the protocol has one `{name}`; declare it as `role {name}[n]` if there may be several"
            );
        }
        if let Some((other, label)) = protocol.global().and_then(|global| round_beside_blocks(global, role)) {
            let (other, label) = (vocabulary.role_name(other), vocabulary.shown_label(label));
            bail!(
                "--instances: `{other}` deals with `{name}` in one block of a `par` (`{label}`) and goes on in another meanwhile, but \
                 copies of a role are dealt with one message at a time: declare the copies as roles of their own"
            );
        }
        Ok(role)
    }

    fn too_large(&self, copies: u16) -> String {
        format!("--instances: with {copies} copies of `{}` a role has too many states", self.role)
    }
}

/// A role that exchanges a message with `copied` in a block of a `par` while it is in another block, too, and that message. A round with
/// all copies is made of what the role's machine does, blocks interleaved: it would hold up the other blocks.
fn round_beside_blocks(global: &GlobalType, copied: Role) -> Option<(Role, Message)> {
    // The first block of each `par` that each role takes part in, and those who take part in another one of it.
    let mut first: HashMap<(NodeId, Role), usize> = HashMap::new();
    let mut several = HashSet::new();
    for (node, exchange) in global.exchanges() {
        let receivers = exchange.branches.iter().map(|branch| branch.receiver);
        for role in receivers.chain([exchange.sender]) {
            for (par, block) in global.blocks_around(node) {
                if *first.entry((par, role)).or_insert(block) != block {
                    several.insert((par, role));
                }
            }
        }
    }
    global.exchanges().find_map(|(node, exchange)| {
        exchange.branches.iter().find_map(|branch| {
            let other = match (exchange.sender, branch.receiver) {
                (sender, other) if sender == copied => other,
                (other, receiver) if receiver == copied => other,
                _ => return None,
            };
            let is_beside = global.blocks_around(node).any(|(par, _)| several.contains(&(par, other)));
            is_beside.then_some((other, branch.message))
        })
    })
}

/// Whether `report` is to be shown in the place of `before`, of fewer copies.
fn is_worse(report: &Report, before: &Report) -> bool {
    match (&before.verdict, &report.verdict) {
        (Verdict::Safe { .. }, _) => true,
        (Verdict::Unknown { .. }, now) => matches!(now, Verdict::Unsafe { .. }),
        (Verdict::Unsafe { .. }, _) => false,
    }
}

impl Member {
    pub(super) fn text(&self) -> String {
        let Self { role, copies, verdict, explored } = self;
        let explored = explored.map(|(k, states)| format!(" (k = {k}, {states} configurations)"));
        format!("  {role} × {copies}: {verdict}{}\n", explored.unwrap_or_default())
    }

    pub(super) fn to_json(&self) -> Value {
        let (k, states) = self.explored.unzip();
        json!({"role": self.role, "copies": self.copies, "verdict": self.verdict, "k": k, "states": states})
    }
}
