//! A minimal reader of formulas and actions in the plain form, so that the reference does not depend on the parser it
//! is compared with. It accepts what is right and says nothing useful about anything else.

use referee_reference::shml::{Action, ActionPattern, Direction, Formula, Pattern, Value};

/// Reads a formula.
#[must_use]
pub fn read_formula(text: &str) -> Option<Formula> {
    let mut reader = Reader { text };
    let formula = reader.conjunction()?;
    reader.rest().is_empty().then_some(formula)
}

/// Reads an action.
#[must_use]
pub fn read_action(text: &str) -> Option<Action> {
    let mut reader = Reader { text };
    let ActionPattern { direction, process, value } = reader.action()?;
    reader.rest().is_empty().then_some(())?;
    Some(Action { direction, process: ground(&process)?, value: ground(&value)? })
}

fn ground(pattern: &Pattern) -> Option<Value> {
    match pattern {
        Pattern::Value(value) => Some(value.clone()),
        Pattern::Tuple(parts) => parts.iter().map(ground).collect::<Option<_>>().map(Value::Tuple),
        Pattern::List(parts) => parts.iter().map(ground).collect::<Option<_>>().map(Value::List),
        _ => None,
    }
}

struct Reader<'a> {
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn rest(&mut self) -> &'a str {
        self.text = self.text.trim_start();
        self.text
    }

    fn eat(&mut self, token: &str) -> Option<()> {
        self.text = self.rest().strip_prefix(token)?;
        Some(())
    }

    fn word(&mut self) -> Option<&'a str> {
        let text = self.rest();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        self.text = &text[end..];
        (end > 0).then_some(&text[..end])
    }

    fn conjunction(&mut self) -> Option<Formula> {
        let mut formula = self.unary()?;
        loop {
            let before = self.text;
            if self.word() != Some("and") {
                self.text = before;
                return Some(formula);
            }
            formula = Formula::And(formula.into(), self.unary()?.into());
        }
    }

    fn unary(&mut self) -> Option<Formula> {
        if self.eat("[").is_some() {
            let action = self.action()?;
            self.eat("]")?;
            return Some(Formula::Necessity(action, self.unary()?.into()));
        }
        if self.eat("(").is_some() {
            let inner = self.conjunction()?;
            self.eat(")")?;
            return Some(inner);
        }
        match self.word()? {
            "ff" => Some(Formula::Ff),
            "tt" => Some(Formula::Tt),
            "max" => {
                let name = self.word()?.to_owned();
                self.eat(".")?;
                self.eat("(")?;
                let body = self.conjunction()?;
                self.eat(")")?;
                Some(Formula::Max(name, body.into()))
            }
            name => Some(Formula::Variable(name.to_owned())),
        }
    }

    fn action(&mut self) -> Option<ActionPattern> {
        let process = self.pattern()?;
        let direction = match self.eat("?") {
            Some(()) => Direction::Input,
            None => {
                self.eat("!")?;
                Direction::Output
            }
        };
        Some(ActionPattern { direction, process, value: self.pattern()? })
    }

    fn pattern(&mut self) -> Option<Pattern> {
        for (open, close, make) in [
            ("{", "}", Pattern::Tuple as fn(Vec<Pattern>) -> Pattern),
            ("[", "]", Pattern::List as fn(Vec<Pattern>) -> Pattern),
        ] {
            if self.eat(open).is_some() {
                let mut parts = Vec::new();
                while self.eat(close).is_none() {
                    if !parts.is_empty() {
                        self.eat(",")?;
                    }
                    parts.push(self.pattern()?);
                }
                return Some(make(parts));
            }
        }
        let sign = if self.eat("-").is_some() { -1 } else { 1 };
        let word = self.word()?;
        match word.chars().next()? {
            '0'..='9' => Some(Pattern::Value(Value::Int(sign * word.parse::<i64>().ok()?))),
            'a'..='z' => Some(Pattern::Value(Value::Atom(word.to_owned()))),
            '_' if word == "_" => Some(Pattern::Any),
            _ => Some(Pattern::Variable(word.to_owned())),
        }
    }
}
