//! `--instances R=1..6`: the same protocol with so many copies of a role.

use anyhow::{Result, bail};
use referee::check::{self, MOST_INSTANCES, Observer, Options, Verdict};
use referee::theory::System;
use serde_json::{Value, json};

use super::CANCELLED;

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
    role: String,
    copies: u16,
    verdict: &'static str,
    /// The last bound and how many configurations it has.
    explored: Option<(u32, usize)>,
}

impl Instances {
    /// What is found with each number of copies, and the system of the first that is not safe, or else of the last.
    pub(super) fn check(
        &self,
        system: System,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<(System, Vec<Member>)> {
        let vocabulary = system.vocabulary();
        let Some(role) = vocabulary.find_role(&self.role) else {
            let known: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
            bail!("--instances: there is no role `{}`; roles are {}", self.role, known.join(", "));
        };
        let mut members = Vec::new();
        let mut shown = None;
        for copies in self.from..=self.to {
            let family = check::instances(&system, role, copies);
            let report = check::check(&family, options, Some(&CANCELLED), observer);
            members.push(Member {
                role: self.role.clone(),
                copies,
                verdict: report.verdict.name(),
                explored: report.bounds.last().map(|bound| (bound.k, bound.states)),
            });
            let safe = matches!(report.verdict, Verdict::Safe { .. });
            if !safe || copies == self.to {
                shown = shown.or(Some(family));
            }
        }
        Ok((shown.unwrap_or(system), members))
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
