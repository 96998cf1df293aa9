//! The product's multiparty monitors as the reference writes them.

use referee_monitor::multiparty::{RoleMonitor, Term, TermId};
use referee_reference::global::Branch;
use referee_reference::relamon::monitor::Monitor;
use referee_theory::Label;

pub(crate) fn tree(monitor: &RoleMonitor) -> Monitor {
    node(monitor, monitor.root()).canonical()
}

fn node(monitor: &RoleMonitor, id: TermId) -> Monitor {
    let vocabulary = monitor.vocabulary();
    let name = |role| vocabulary.role_name(role).to_owned();
    let me = name(monitor.role());
    let messages = |branches: &[(referee_theory::Message, TermId)]| -> Vec<Branch<Monitor>> {
        let branch = |(message, next): &(referee_theory::Message, TermId)| {
            let spec = vocabulary.spec(*message);
            let types: Vec<String> = spec.fields.iter().map(|field| field.ty.to_string()).collect();
            Branch::new(vocabulary.label_of(*message), &types.join(", "), node(monitor, *next))
        };
        branches.iter().map(branch).collect()
    };
    match monitor.term(id) {
        Term::End => Monitor::End,
        Term::Call { level } => Monitor::Call(format!("X{level}")),
        Term::Rec { level, body } => Monitor::Rec(format!("X{level}"), Box::new(node(monitor, *body))),
        Term::Output { peer, branches } => Monitor::Output(me, name(*peer), messages(branches)),
        Term::Input { peer, branches } => Monitor::Input(me, name(*peer), messages(branches)),
        Term::Inform { informed, label, next } => {
            let informed = informed.iter().map(|role| name(*role)).collect();
            let label = vocabulary.label_name(*label).to_owned();
            Monitor::DependencyOutput(me, informed, label, Box::new(node(monitor, *next)))
        }
        Term::Learn { informer, second, branches } => {
            let text = |label: &Label| vocabulary.label_name(*label).to_owned();
            let outer = branches.iter().map(|(told, next)| {
                let next = match second {
                    None => node(monitor, *next),
                    Some(second) => {
                        let inner = branches.iter().map(|(label, _)| {
                            let next = if label == told { node(monitor, *next) } else { Monitor::Error };
                            Branch::new(&text(label), "", next)
                        });
                        Monitor::DependencyInput(me.clone(), name(*second), inner.collect())
                    }
                };
                Branch::new(&text(told), "", next)
            });
            Monitor::DependencyInput(me.clone(), name(*informer), outer.collect())
        }
    }
}

/// Reads a monitor in the notation of the corpus, with payload types under Referee's names.
pub(crate) fn parse(text: &str) -> Monitor {
    let compact: String = text.replace("mu ", "mu:").split_whitespace().collect();
    let mut reader = Reader { rest: &compact };
    let monitor = reader.monitor();
    assert!(reader.rest.is_empty(), "left over in `{text}`: `{}`", reader.rest);
    monitor.canonical()
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && !"_'".contains(c));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn up_to(&mut self, end: &str) -> &'a str {
        let (before, rest) = self.rest.split_once(end).unwrap();
        self.rest = rest;
        before
    }

    fn monitor(&mut self) -> Monitor {
        if self.take("mu:") {
            let name = self.up_to(".").to_owned();
            return Monitor::Rec(name, Box::new(self.monitor()));
        }
        let me = self.word().to_owned();
        if self.take("!{") {
            let informed = self.up_to("}").split(',').filter(|name| !name.is_empty());
            let informed = informed.map(str::to_owned).collect();
            assert!(self.take("("));
            let label = self.up_to(").").to_owned();
            return Monitor::DependencyOutput(me, informed, label, Box::new(self.monitor()));
        }
        let sends = self.rest.starts_with('!');
        if !sends && !self.rest.starts_with('?') {
            return match &*me {
                "end" => Monitor::End,
                "error" => Monitor::Error,
                _ => Monitor::Call(me),
            };
        }
        self.rest = &self.rest[1..];
        let peer = self.up_to("{").to_owned();
        let (mut branches, mut payloads) = (Vec::new(), false);
        loop {
            let label = self.word();
            let payload = if self.take("<") {
                payloads = true;
                self.payload()
            } else {
                String::new()
            };
            assert!(self.take("."), "{}", self.rest);
            branches.push(Branch::new(label, &payload, self.monitor()));
            if !self.take(",") {
                assert!(self.take("}"), "{}", self.rest);
                break;
            }
        }
        match (sends, payloads) {
            (true, _) => Monitor::Output(me, peer, branches),
            (false, true) => Monitor::Input(me, peer, branches),
            (false, false) => Monitor::DependencyInput(me, peer, branches),
        }
    }

    fn payload(&mut self) -> String {
        let mut out = String::new();
        let mut depth = 1;
        loop {
            out.push_str(match self.word() {
                "str" => "string",
                "long" | "nat" => "int",
                "real" => "float",
                "array" => "list",
                other => other,
            });
            let mark = self.rest.chars().next().unwrap();
            self.rest = &self.rest[mark.len_utf8()..];
            match mark {
                '<' | '[' => depth += 1,
                '>' | ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return out;
            }
            out.push_str(match mark {
                '[' | '<' => "<",
                ']' | '>' => ">",
                _ => ", ",
            });
        }
    }
}
