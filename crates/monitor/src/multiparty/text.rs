//! Monitors in the paper's notation: `mu X.c?s{login<>.c!{a}(login).c!a{pwd<str>.c!{}(pwd).X}, …}`.
//!
//! Shared nodes are written once per use, so the text may be exponentially longer than the monitor: past
//! [`MAX_TEXT`] it is cut off with `…`.

use std::fmt::Write as _;
use std::sync::Arc;

use referee_theory::{Label, Message, Role};

use super::term::{RoleMonitor, Term, TermId};

const MAX_TEXT: usize = 1 << 20;

enum Step {
    Node(TermId),
    Text(&'static str),
    Message(Message),
    Label(Label),
    /// The branches of a second informer after the first has told `label`.
    Confirm {
        informer: Role,
        label: Label,
        choice: TermId,
    },
    Leave {
        level: usize,
        outer: Option<Arc<str>>,
    },
}

impl RoleMonitor {
    /// The monitor in the paper's notation, on one line.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut writer = Writer { monitor: self, out: String::new(), scope: Vec::new(), stack: Vec::new() };
        writer.stack.push(Step::Node(self.root));
        writer.run();
        writer.out
    }
}

struct Writer<'a> {
    monitor: &'a RoleMonitor,
    out: String,
    /// What the recursion variable of each level is called here.
    scope: Vec<Option<Arc<str>>>,
    stack: Vec<Step>,
}

impl Writer<'_> {
    fn run(&mut self) {
        let vocabulary = &self.monitor.vocabulary;
        while let Some(step) = self.stack.pop() {
            if self.out.len() > MAX_TEXT {
                return self.out.push('…');
            }
            match step {
                Step::Text(text) => self.out.push_str(text),
                Step::Leave { level, outer } => self.scope[level] = outer,
                Step::Label(label) => {
                    let _ = write!(self.out, "{}.", vocabulary.label_name(label));
                }
                Step::Message(message) => {
                    let spec = vocabulary.spec(message);
                    let types: Vec<String> = spec.fields.iter().map(|field| field.ty.to_string()).collect();
                    let _ = write!(self.out, "{}<{}>", vocabulary.label_name(spec.label), types.join(","));
                    if let Some(assertion) = &spec.assertion {
                        let _ = write!(self.out, "[{assertion}]");
                    }
                    for update in &*spec.updates {
                        let _ = write!(self.out, ".{update}");
                    }
                    self.out.push('.');
                }
                Step::Node(node) => self.node(node),
                Step::Confirm { informer, label, choice } => self.confirm(informer, label, choice),
            }
        }
    }

    fn node(&mut self, node: TermId) {
        let monitor = self.monitor;
        let name = |role| monitor.vocabulary.role_name(role);
        let me = name(monitor.role);
        match monitor.term(node) {
            Term::End => self.out.push_str("end"),
            Term::Call { level } => {
                let called = self.scope.get(*level as usize).and_then(|name| name.as_deref());
                self.out.push_str(called.unwrap_or("X"));
            }
            Term::Rec { level, body } => self.define(node, *level as usize, *body),
            Term::Output { peer, branches } => {
                let _ = write!(self.out, "{me}!{}{{", name(*peer));
                self.branches(branches, |&(message, next)| [Step::Message(message), Step::Node(next)]);
            }
            Term::Input { peer, branches } => {
                let _ = write!(self.out, "{me}?{}{{", name(*peer));
                self.branches(branches, |&(message, next)| [Step::Message(message), Step::Node(next)]);
            }
            Term::Learn { informer, second, branches } => {
                let _ = write!(self.out, "{me}?{}{{", name(*informer));
                self.branches(branches, |&(label, next)| {
                    let then = match *second {
                        Some(informer) => Step::Confirm { informer, label, choice: node },
                        None => Step::Node(next),
                    };
                    [Step::Label(label), then]
                });
            }
            Term::Inform { informed, label, next } => {
                let names: Vec<&str> = informed.iter().map(|role| name(*role)).collect();
                let label = monitor.vocabulary.label_name(*label);
                let _ = write!(self.out, "{me}!{{{}}}({label}).", names.join(","));
                self.stack.push(Step::Node(*next));
            }
        }
    }

    fn confirm(&mut self, informer: Role, told: Label, choice: TermId) {
        let monitor = self.monitor;
        let Term::Learn { branches, .. } = monitor.term(choice) else { return };
        let name = |role| monitor.vocabulary.role_name(role);
        let _ = write!(self.out, "{}?{}{{", name(monitor.role), name(informer));
        self.branches(branches, |&(label, next)| {
            [Step::Label(label), if label == told { Step::Node(next) } else { Step::Text("error") }]
        });
    }

    fn branches<T>(&mut self, branches: &[T], steps: impl Fn(&T) -> [Step; 2]) {
        self.stack.push(Step::Text("}"));
        for (index, branch) in branches.iter().enumerate().rev() {
            let [head, then] = steps(branch);
            self.stack.push(then);
            self.stack.push(head);
            if index > 0 {
                self.stack.push(Step::Text(", "));
            }
        }
    }

    fn define(&mut self, node: TermId, level: usize, body: TermId) {
        if self.scope.len() <= level {
            self.scope.resize(level + 1, None);
        }
        let mut fresh = self.monitor.name(node).to_owned();
        while self.scope.iter().enumerate().any(|(l, name)| l != level && name.as_deref() == Some(&*fresh)) {
            fresh.push('\'');
        }
        let _ = write!(self.out, "mu {fresh}.");
        let outer = self.scope[level].replace(fresh.into());
        self.stack.push(Step::Leave { level, outer });
        self.stack.push(Step::Node(body));
    }
}
