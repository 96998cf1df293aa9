//! The corpus beside the repository, and a minimal reader of KMC's two languages.
//!
//! The reader accepts what the corpus contains and reports nothing useful about anything else: diagnostics
//! are the business of `referee-syntax`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use referee_theory::{Action, Machine, MachineBuilder, Origin, Role, State, System, Transition, Vocabulary};

/// Where the corpus is: `REFEREE_CORPUS`, or `../shared/corpus` beside the workspace. `None` where there is
/// none: the caller says plainly that it skips.
#[must_use]
pub fn corpus_root() -> Option<PathBuf> {
    let named = std::env::var_os("REFEREE_CORPUS").map(PathBuf::from);
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus"));
    named.into_iter().chain([beside]).find(|path| path.is_dir())
}

/// Reads KMC's session types: `S: rec x . C?req; {C!ko; x, C!ok; end}`.
///
/// # Errors
/// A rough description of what could not be read.
pub fn read_types(text: &str) -> Result<System, String> {
    let tokens = tokenise(text);
    let mut reader = Reader { tokens: &tokens, at: 0 };
    let mut parts = Vec::new();
    while reader.at < tokens.len() {
        let name = reader.word()?;
        reader.expect(":")?;
        parts.push((name, reader.term()?));
    }
    let mut vocabulary = Vocabulary::new();
    for (name, _) in &parts {
        vocabulary.add_role(name);
    }
    let mut machines = Vec::new();
    for (name, term) in &parts {
        let role = vocabulary.add_role(name);
        let mut builder = TypeBuilder { builder: MachineBuilder::new(role), vocabulary: &mut vocabulary };
        let start = builder.builder.add_state();
        builder.fill(term, start, &HashMap::new())?;
        machines.push(builder.builder.finish());
    }
    Ok(System::new(Arc::new(vocabulary), machines))
}

/// Reads KMC's automata: `.outputs .state graph q0 1 ! hello q1 .marking q0 .end`, machine `i` being role `i`.
///
/// # Errors
/// A rough description of what could not be read.
pub fn read_automata(text: &str) -> Result<System, String> {
    let tokens = tokenise(text);
    let machine_texts: Vec<&[String]> = tokens
        .split(|token| token == ".end")
        .filter(|part| part.iter().any(|token| token.starts_with('.')))
        .collect();
    let mut vocabulary = Vocabulary::new();
    for index in 0..machine_texts.len() {
        vocabulary.add_role(&index.to_string());
    }
    let machines = machine_texts
        .iter()
        .enumerate()
        .map(|(index, part)| read_automaton(index, part, &mut vocabulary))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(System::new(Arc::new(vocabulary), machines))
}

fn read_automaton(index: usize, tokens: &[String], vocabulary: &mut Vocabulary) -> Result<Machine, String> {
    let graph = tokens.iter().position(|token| token == "graph").ok_or("no `.state graph`")?;
    let marking = tokens.iter().position(|token| token == ".marking").ok_or("no `.marking`")?;
    let initial = tokens.get(marking + 1).ok_or("no initial state")?;
    let role = vocabulary.add_role(&index.to_string());
    let mut builder = MachineBuilder::new(role);
    let mut states: HashMap<&str, State> = HashMap::new();
    let mut state = |builder: &mut MachineBuilder, name| {
        *states.entry(name).or_insert_with(|| builder.add_named_state(name))
    };
    for row in tokens[graph + 1..marking].chunks(5) {
        let [source, peer, direction, message, target] = row else { return Err("incomplete row".into()) };
        let source = state(&mut builder, source);
        let target = state(&mut builder, target);
        let peer = vocabulary.find_role(peer).ok_or_else(|| format!("unknown peer {peer}"))?;
        builder.add_transition(source, transition(vocabulary, direction, peer, message, target)?);
    }
    let initial = state(&mut builder, initial);
    Ok(builder.finish_from(initial))
}

fn transition(
    vocabulary: &mut Vocabulary,
    direction: &str,
    peer: Role,
    label: &str,
    target: State,
) -> Result<Transition, String> {
    let action = match direction {
        "!" => Action::Send,
        "?" => Action::Receive,
        other => return Err(format!("`!` or `?`, not {other}")),
    };
    let message = vocabulary.add_plain_message(label);
    Ok(Transition { action, peer, message, target, origin: Origin::NONE })
}

enum Term {
    Act { peer: String, direction: String, label: String, next: Box<Term> },
    Choice(Vec<Term>),
    Rec(String, Box<Term>),
    Var(String),
    End,
}

struct TypeBuilder<'a> {
    builder: MachineBuilder,
    vocabulary: &'a mut Vocabulary,
}

impl TypeBuilder<'_> {
    fn fill(&mut self, term: &Term, state: State, bound: &HashMap<String, State>) -> Result<(), String> {
        match term {
            Term::Act { peer, direction, label, next } => {
                let target = self.target(next, bound)?;
                let peer =
                    self.vocabulary.find_role(peer).ok_or_else(|| format!("undeclared peer {peer}"))?;
                let step = transition(self.vocabulary, direction, peer, label, target)?;
                self.builder.add_transition(state, step);
            }
            Term::Choice(branches) => {
                for branch in branches {
                    self.fill(branch, state, bound)?;
                }
            }
            Term::Rec(name, body) => {
                let mut bound = bound.clone();
                bound.insert(name.clone(), state);
                self.fill(body, state, &bound)?;
            }
            Term::Var(_) | Term::End => {}
        }
        Ok(())
    }

    fn target(&mut self, term: &Term, bound: &HashMap<String, State>) -> Result<State, String> {
        if let Term::Var(name) = term {
            return bound.get(name).copied().ok_or_else(|| format!("unbound {name}"));
        }
        let state = self.builder.add_state();
        self.fill(term, state, bound)?;
        Ok(state)
    }
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn word(&mut self) -> Result<String, String> {
        let token = self.peek().to_owned();
        if token.is_empty() {
            return Err("unexpected end".into());
        }
        self.at += 1;
        Ok(token)
    }

    fn expect(&mut self, what: &str) -> Result<(), String> {
        let token = self.word()?;
        if token == what { Ok(()) } else { Err(format!("expected {what}, found {token}")) }
    }

    fn term(&mut self) -> Result<Term, String> {
        match self.word()?.as_str() {
            "end" => Ok(Term::End),
            "rec" => {
                let name = self.word()?;
                self.expect(".")?;
                Ok(Term::Rec(name, Box::new(self.term()?)))
            }
            "{" => {
                let mut branches = vec![self.term()?];
                while self.peek() == "," {
                    self.at += 1;
                    branches.push(self.term()?);
                }
                self.expect("}")?;
                Ok(Term::Choice(branches))
            }
            name if self.peek() == "!" || self.peek() == "?" => {
                let peer = name.to_owned();
                let direction = self.word()?;
                let mut label = self.word()?;
                if self.peek() == "<" {
                    self.at += 1;
                    label = format!("{label}<{}>", self.word()?);
                    self.expect(">")?;
                }
                self.expect(";")?;
                Ok(Term::Act { peer, direction, label, next: Box::new(self.term()?) })
            }
            name => Ok(Term::Var(name.to_owned())),
        }
    }
}

/// Words, `.words` and single punctuation marks; `--` and nested `/* */` comments left out.
fn tokenise(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("--") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = after_comment(rest);
        } else if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let begins = usize::from(first == '.');
            let length = rest[begins..].find(|c| !is_word(c)).map_or(rest.len(), |end| end + begins);
            let length = length.max(first.len_utf8());
            // `. x` is a dot, `.x` a directive unless a recursion binder stands before it.
            let length = if first == '.' && !is_directive(&rest[..length]) { 1 } else { length };
            tokens.push(rest[..length].to_owned());
            rest = &rest[length..];
        }
    }
    tokens
}

fn is_directive(token: &str) -> bool {
    [".outputs", ".state", ".marking", ".end"].contains(&token)
}

fn after_comment(text: &str) -> &str {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return &text[at..];
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    ""
}
