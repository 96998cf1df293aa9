//! Properties back to text, in Referee's syntax, and those of detectEr's files in detectEr's. What is printed is read
//! back as the same property.

mod condition;
mod pattern;

use std::fmt::Write as _;
use std::sync::Arc;

use referee_theory::property::{
    Again, Fixpoint, Formula, FormulaId, Guard, Key, Modality, Property, Scope, Slot, TimeBound, Window,
    WindowSpan,
};

use referee_theory::property::window::placeholder;

/// All of `properties` as one file. Properties of detectEr's kind and of Referee's do not go into one file.
#[must_use]
pub fn print(properties: &[Arc<Property>]) -> String {
    let mut out = String::new();
    for (index, property) in properties.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let mut printer =
            Printer { property, names: vec![None; property.slots().len()], in_scope: Vec::new(), out };
        printer.property(index + 1 == properties.len());
        out = printer.out;
    }
    out
}

struct Printer<'a> {
    property: &'a Property,
    /// What each slot is called in the text.
    names: Vec<Option<String>>,
    /// The slots that have a value here, outermost first.
    in_scope: Vec<Slot>,
    out: String,
}

/// What remains to be written, innermost last.
enum Job {
    Formula { node: FormulaId, level: u8, indent: usize },
    Text(String),
    Leave { in_scope: usize },
}

/// How tightly what surrounds a formula binds: whatever is looser needs parentheses.
const LOOSE: u8 = 0;
const CONJUNCT: u8 = 1;
const PREFIXED: u8 = 2;

impl Printer<'_> {
    fn erlang(&self) -> bool {
        matches!(self.property.scope(), Scope::PerProcess(_))
    }

    fn property(&mut self, last: bool) {
        let comment = if self.erlang() { "%%" } else { "///" };
        for line in self.property.documentation().lines() {
            let _ = writeln!(self.out, "{comment} {line}");
        }
        match self.property.scope() {
            Scope::PerProcess(process) => {
                self.out.push_str("with ");
                let start = &process.start;
                self.function(&start.payload);
                if let Some(guard) = &start.guard {
                    self.out.push_str(" when ");
                    self.guard(guard);
                }
                self.out.push_str(" check\n  ");
                self.formula();
                self.out.push_str(if last { ".\n" } else { ",\n" });
            }
            scope => {
                let _ = write!(self.out, "property {}", self.property.name());
                if let Scope::PerKey(keys) = scope {
                    let keys: Vec<String> = keys.iter().map(key).collect();
                    let _ = write!(self.out, " for each {}", keys.join(", "));
                }
                match self.property.again() {
                    Again::Never => {}
                    Again::EachTime => self.out.push_str(" again each time"),
                    Again::After(wait) => {
                        let wait = referee_theory::time::show_duration(wait);
                        let _ = write!(self.out, " again after {wait}");
                    }
                }
                self.out.push_str(" {\n  ");
                self.formula();
                self.out.push_str("\n}\n");
            }
        }
    }

    /// The formula, without recursion: it may be nested as deep as memory allows.
    fn formula(&mut self) {
        let mut jobs = vec![Job::Formula { node: self.property.root(), level: LOOSE, indent: 1 }];
        while let Some(job) = jobs.pop() {
            match job {
                Job::Text(text) => self.out.push_str(&text),
                Job::Leave { in_scope } => self.in_scope.truncate(in_scope),
                Job::Formula { node, level, indent } => self.node(node, level, indent, &mut jobs),
            }
        }
    }

    fn node(&mut self, node: FormulaId, level: u8, indent: usize, jobs: &mut Vec<Job>) {
        let first = jobs.len();
        match self.property.node(node) {
            Formula::True => self.out.push_str("tt"),
            Formula::False => self.out.push_str("ff"),
            Formula::Call { target } => {
                if let Formula::Fixpoint { name, .. } = self.property.node(*target) {
                    self.out.push_str(name);
                }
            }
            Formula::And(parts) => self.joined(parts, "and", (PREFIXED, level > CONJUNCT), indent, jobs),
            Formula::Or(parts) => self.joined(parts, "or", (CONJUNCT, level > LOOSE), indent, jobs),
            Formula::Timed { bound, pattern, duration } => {
                let in_scope = self.in_scope.len();
                let (word, before) = match bound {
                    TimeBound::Expect => ("expect ", " within "),
                    TimeBound::Never => ("never ", " for "),
                };
                self.out.push_str(word);
                self.modality(Modality::Necessity, self.property.pattern(*pattern));
                self.in_scope.truncate(in_scope);
                self.out.push_str(before);
                let duration = self.native_text(duration);
                self.out.push_str(&duration);
            }
            Formula::Modal { modality, pattern, next } => {
                let in_scope = self.in_scope.len();
                self.modality(*modality, self.property.pattern(*pattern));
                jobs.push(Job::Formula { node: *next, level: PREFIXED, indent });
                jobs.push(Job::Leave { in_scope });
            }
            Formula::Fixpoint { fixpoint, name, body } => {
                let word = match fixpoint {
                    Fixpoint::Greatest => "max",
                    Fixpoint::Least => "min",
                };
                let _ = write!(self.out, "{word} {name}.(");
                jobs.push(Job::Formula { node: *body, level: LOOSE, indent: indent + 1 });
                jobs.push(Job::Text(")".into()));
            }
        }
        jobs[first..].reverse();
    }

    /// `parts`, each at `level`, with `word` between them, on lines of their own; parentheses if `around`.
    fn joined(
        &mut self,
        parts: &[FormulaId],
        word: &str,
        (level, around): (u8, bool),
        indent: usize,
        jobs: &mut Vec<Job>,
    ) {
        if around {
            self.out.push('(');
        }
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                jobs.push(Job::Text(format!("\n{}{word} ", "  ".repeat(indent))));
            }
            jobs.push(Job::Formula { node: *part, level, indent: indent + 1 });
        }
        if around {
            jobs.push(Job::Text(")".into()));
        }
    }

    fn modality(&mut self, modality: Modality, pattern: &referee_theory::property::EventPattern) {
        let (open, close) = match (modality, self.erlang()) {
            (Modality::Necessity, false) => ("[", "]"),
            (Modality::Possibility, false) => ("<", ">"),
            (Modality::Necessity, true) => ("[{", "}]"),
            (Modality::Possibility, true) => ("<{", "}>"),
        };
        self.out.push_str(open);
        self.event(pattern);
        if let Some(slot) = pattern.at {
            let name = self.bind(slot, false);
            self.out.push_str(" at ");
            self.out.push_str(&name);
        }
        if let Some(guard) = &pattern.guard {
            let parentheses = modality == Modality::Possibility && !self.erlang();
            self.out.push_str(if parentheses { " when (" } else { " when " });
            self.guard_in(pattern, guard);
            if parentheses {
                self.out.push(')');
            }
        }
        let in_scope = self.in_scope.len();
        for (index, except) in pattern.except.iter().enumerate() {
            self.out.push_str(if index == 0 { " except " } else { ", " });
            self.event(except);
            if let Some(guard) = &except.guard {
                let parentheses = modality == Modality::Possibility;
                self.out.push_str(if parentheses { " when (" } else { " when " });
                self.guard(guard);
                self.out.push_str(if parentheses { ")" } else { "" });
            }
            self.in_scope.truncate(in_scope);
        }
        self.out.push_str(close);
    }

    /// A guard, with the windows it asks.
    fn guard_in(&mut self, pattern: &referee_theory::property::EventPattern, guard: &Guard) {
        let mut windows = Vec::new();
        for (number, (slot, window)) in pattern.windows.iter().enumerate() {
            let name = placeholder(number);
            windows.push((format!("`{name}`"), self.window(window)));
            self.names[slot.index()] = Some(name);
        }
        let start = self.out.len();
        self.guard(guard);
        let mut text = self.out.split_off(start);
        for (name, window) in windows {
            text = text.replace(&name, &window);
        }
        self.out.push_str(&text);
    }

    fn window(&mut self, window: &Window) -> String {
        let (in_scope, start) = (self.in_scope.len(), self.out.len());
        let _ = write!(self.out, "{}(", window.aggregate.name());
        let at = self.out.len();
        self.modality(Modality::Necessity, &window.pattern);
        if let Some(slot) = window.value {
            let value = format!("{} of ", self.name(slot));
            self.out.insert_str(at, &value);
        }
        self.in_scope.truncate(in_scope);
        self.out.push_str(" in ");
        match &window.span {
            WindowSpan::Duration(length) => {
                self.out.push_str(&referee_theory::time::show_duration(*length));
            }
            WindowSpan::Last(count) => {
                let _ = write!(self.out, "last {count}");
            }
            WindowSpan::LastOf(count, pattern) => {
                let _ = write!(self.out, "last {count} of ");
                self.modality(Modality::Necessity, pattern);
                self.in_scope.truncate(in_scope);
            }
            WindowSpan::Day => self.out.push_str("day"),
        }
        self.out.push(')');
        self.out.split_off(start)
    }

    /// Gives `slot` a name that no slot in scope has; in process patterns it begins with a capital letter.
    fn bind(&mut self, slot: Slot, capital: bool) -> String {
        let original = &self.property.slots()[slot.index()].name;
        let mut base: String = original.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let bad_start = base.starts_with(|c: char| c.is_ascii_digit()) || base.is_empty() || base == "_";
        if bad_start || (capital && !base.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')) {
            let mut chars = base.chars();
            base = match chars.next() {
                Some(c) if c.is_ascii_lowercase() => format!("{}{}", c.to_ascii_uppercase(), chars.as_str()),
                _ => format!("V{base}"),
            };
        }
        let reserved = ["true", "false", "null", "when", "in", "at", "except"];
        let taken = |name: &str| {
            reserved.contains(&name)
                || self.in_scope.iter().any(|slot| self.names[slot.index()].as_deref() == Some(name))
        };
        let mut name = base.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{base}{number}");
            number += 1;
        }
        self.names[slot.index()] = Some(name.clone());
        self.in_scope.push(slot);
        name
    }

    fn name(&self, slot: Slot) -> &str {
        self.names[slot.index()].as_deref().unwrap_or("_")
    }
}

/// A key as it is written: a name, or a pointer or odd name in quotes.
fn key(key: &Key) -> String {
    match key.steps() {
        [name] if is_name(name) => name.to_string(),
        [name] if !name.starts_with('/') => quoted(name),
        _ => {
            let steps =
                key.steps().iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")));
            quoted(&steps.collect::<String>())
        }
    }
}

fn quoted(text: &str) -> String {
    referee_theory::Term::Text(text).to_string()
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text != "_"
}
