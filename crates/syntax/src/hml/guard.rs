//! Guards: the assertion language with the variables of the property, and Erlang's guards.

use std::sync::Arc;

use referee_theory::expr::{
    CompiledPattern, Dialect, Expr, Function, Literal, Node, Operator, TooDeep, UnaryOperator,
};
use referee_theory::property::guard::Condition;
use referee_theory::property::window::placeholder;
use referee_theory::property::{Guard, Slot, Value};

use super::cursor::{Cursor, MAX_NESTING, Parsed, Reported, Token};
use super::parser::Parser;
use super::window::Asked;
use crate::diagnostics::RF0303;
use crate::diagnostics::assertions::{assertion_syntax, bad_pattern, wrong_number_of_arguments};
use crate::diagnostics::lexical::nested_too_deep;
use crate::diagnostics::properties::unbound_variable;
use crate::expr::{self, SyntaxError};
use crate::source::{Span, narrow};

/// `first` and `second`, both of one dialect.
pub(super) fn both(first: Option<Guard>, second: Guard, cursor: &mut Cursor<'_>) -> Parsed<Option<Guard>> {
    let Some(first) = first else { return Ok(Some(second)) };
    let span = Span::from(second.condition.place());
    let parts = [first.condition, second.condition];
    let condition = build(Node::And(parts.into()), span, cursor)?;
    Ok(Some(Guard { dialect: second.dialect, condition }))
}

fn build(node: Node<Slot>, span: Span, cursor: &mut Cursor<'_>) -> Parsed<Condition> {
    Condition::new(node, span.into()).map_err(|TooDeep| cursor.report(nested_too_deep(span, MAX_NESTING)))
}

/// The expression `expr` as a guard; `find` knows the variables, `names` are suggested for others.
pub(super) fn native(
    expr: &Expr,
    find: &dyn Fn(&str) -> Option<Slot>,
    names: &[&str],
    cursor: &mut Cursor<'_>,
) -> Parsed<Guard> {
    let condition = Lowering { find, names, cursor }.condition(expr)?;
    Ok(Guard { dialect: Dialect::Native, condition })
}

struct Lowering<'l, 'a> {
    find: &'l dyn Fn(&str) -> Option<Slot>,
    names: &'l [&'l str],
    cursor: &'l mut Cursor<'a>,
}

impl Lowering<'_, '_> {
    fn condition(&mut self, expr: &Expr) -> Parsed<Condition> {
        let span = Span::from(expr.place());
        let node = match expr.node() {
            Node::Literal(Literal::Bytes(_)) => {
                let error = RF0303.at(span, "events carry no bytes to compare with");
                return Err(self.cursor.report(error.help("write a string instead")));
            }
            Node::Variable(name) if &**name == "null" => Node::Literal(Value::Unit),
            Node::Variable(name) => match (self.find)(name) {
                Some(slot) => Node::Variable(slot),
                None => return Err(self.cursor.report(unbound_variable(span, name, self.names))),
            },
            Node::Call(Function::Matches, args) => return self.matches(args, span),
            Node::Call(function, args) if !function.arity().admits(args.len()) => {
                let what = format!("`{}` takes {}", function.name(), function.arity());
                return Err(self.cursor.report(wrong_number_of_arguments(span, what)));
            }
            Node::External { name, args } => match kind_test(name) {
                Some(function) if function.arity().admits(args.len()) => {
                    Node::Call(function, self.all(args)?)
                }
                Some(function) => {
                    let what = format!("`{name}` takes {}", function.arity());
                    return Err(self.cursor.report(wrong_number_of_arguments(span, what)));
                }
                None => return Err(no_function(span, name, self.cursor)),
            },
            other => match other.over(&mut |expr| self.condition(expr))? {
                Some(node) => node,
                // Variables are dealt with above.
                None => Node::Literal(Value::Unit),
            },
        };
        build(node, span, self.cursor)
    }

    fn all(&mut self, parts: &[Expr]) -> Parsed<Box<[Condition]>> {
        parts.iter().map(|part| self.condition(part)).collect()
    }

    fn matches(&mut self, args: &[Expr], span: Span) -> Parsed<Condition> {
        let [text, pattern] = args else {
            return Err(self
                .cursor
                .report(wrong_number_of_arguments(span, "`matches` takes a pattern".into())));
        };
        let place = Span::from(pattern.place());
        let Node::Literal(Literal::String(source)) = pattern.node() else {
            return Err(self.cursor.report(bad_pattern(place, "the pattern is no constant".into())));
        };
        let compiled = CompiledPattern::new(source)
            .map_err(|error| self.cursor.report(bad_pattern(place, error.reason().to_owned())))?;
        let text = Box::new(self.condition(text)?);
        build(Node::Matches(text, compiled), span, self.cursor)
    }
}

fn no_function(span: Span, name: &str, cursor: &mut Cursor<'_>) -> Reported {
    let error = RF0303.at(span, format!("there is no function `{name}` in guards"));
    cursor.report(error.help("the guards of properties know built-in functions only"))
}

/// What both dialects of guards have and assertions do not: the tests of kinds, and `time`.
fn kind_test(name: &str) -> Option<Function> {
    Function::GUARDS_ONLY.into_iter().find(|function| function.name() == name)
}

/// Erlang's functions in guards, and how many arguments each takes.
fn erlang_function(name: &str) -> Option<(Function, usize)> {
    Some(match name {
        "abs" => (Function::Abs, 1),
        "length" => (Function::Length, 1),
        "tuple_size" => (Function::TupleSize, 1),
        "size" => (Function::Size, 1),
        "hd" => (Function::Head, 1),
        "tl" => (Function::Tail, 1),
        "element" => (Function::Element, 2),
        "trunc" => (Function::Int, 1),
        "round" => (Function::Round, 1),
        "float" => (Function::Float, 1),
        "min" => (Function::Min, 2),
        "max" => (Function::Max, 2),
        _ => (kind_test(name)?, 1),
    })
}

impl Parser<'_> {
    pub(super) fn guard_syntax(&mut self, error: &SyntaxError) -> Reported {
        self.cursor.report(assertion_syntax(error))
    }

    /// A guard in the assertion language, and the windows it asks; in parentheses unless it is `open`.
    pub(super) fn native_guard(&mut self, open: bool) -> Parsed<(Guard, Asked)> {
        if !open {
            self.cursor.expect_as(Token::OpenParen, "`(`, as `>` ends the modality,")?;
        }
        let start = self.cursor.span().start as usize;
        let (source, windows) = self.windows(start)?;
        let (expr, length) =
            expr::parse_guard_prefix(&source, narrow(start)).map_err(|error| self.guard_syntax(&error))?;
        self.cursor.seek(start + length);
        if !open {
            self.cursor.expect(Token::CloseParen)?;
        }
        let condition = self.condition(&expr, &windows)?;
        Ok((Guard { dialect: Dialect::Native, condition }, windows))
    }

    /// `expr` over the variables in scope, and over `windows` by their names.
    pub(super) fn condition(&mut self, expr: &Expr, windows: &Asked) -> Parsed<Condition> {
        let names = self.data_names();
        let window = |name: &str| {
            let at = (0..windows.len()).find(|at| placeholder(*at) == name)?;
            windows.get(at).map(|(slot, _)| *slot)
        };
        let known: Vec<(Arc<str>, Slot)> = expr
            .free_variables()
            .into_iter()
            .filter_map(|name| {
                let slot = window(name).or_else(|| self.data_slot(name))?;
                Some((Arc::clone(name), slot))
            })
            .collect();
        let find = |name: &str| known.iter().find(|(known, _)| **known == *name).map(|(_, slot)| *slot);
        Lowering { find: &find, names: &names, cursor: &mut self.cursor }.condition(expr)
    }

    /// Erlang's guard: alternatives separated by `;`, each of tests separated by `,`.
    pub(super) fn erlang_guard(&mut self) -> Parsed<Guard> {
        let start = self.cursor.span();
        let mut alternatives = Vec::new();
        loop {
            let first = self.cursor.span();
            let mut tests = vec![self.erlang_expression()?];
            while self.cursor.eat(Token::Comma) {
                tests.push(self.erlang_expression()?);
            }
            let span = first.to(self.cursor.previous());
            alternatives.push(build(Node::And(tests.into()), span, &mut self.cursor)?);
            if !self.cursor.eat(Token::Semicolon) {
                break;
            }
        }
        let span = start.to(self.cursor.previous());
        let condition = build(Node::Or(alternatives.into()), span, &mut self.cursor)?;
        Ok(Guard { dialect: Dialect::Erlang, condition })
    }

    fn erlang_expression(&mut self) -> Parsed<Condition> {
        self.cursor.enter(MAX_NESTING)?;
        let expression = self.shortcut("orelse", Node::OrElse, |parser| {
            parser.shortcut("andalso", Node::AndAlso, |parser| parser.operators(0))
        });
        self.cursor.leave();
        expression
    }

    /// Operands with `word` between them.
    fn shortcut(
        &mut self,
        word: &str,
        join: fn(Box<[Condition]>) -> Node<Slot>,
        operand: impl Fn(&mut Self) -> Parsed<Condition>,
    ) -> Parsed<Condition> {
        let start = self.cursor.span();
        let mut parts = vec![operand(self)?];
        while self.cursor.eat_word(word) {
            parts.push(operand(self)?);
        }
        let span = start.to(self.cursor.previous());
        build(join(parts.into()), span, &mut self.cursor)
    }

    /// Operators from `level` on: comparisons (0, which do not chain), `++` (1, to the right), sums (2), products (3).
    fn operators(&mut self, level: u8) -> Parsed<Condition> {
        if level == 4 {
            return self.erlang_unary();
        }
        let start = self.cursor.span();
        let mut left = self.operators(level + 1)?;
        while let Some(operator) = self.infix(level) {
            self.cursor.bump();
            let right = if level == 1 {
                self.cursor.enter(MAX_NESTING)?;
                let right = self.operators(1);
                self.cursor.leave();
                right?
            } else {
                self.operators(level + 1)?
            };
            let span = start.to(self.cursor.previous());
            left = build(Node::Binary(operator, Box::new([left, right])), span, &mut self.cursor)?;
            if level == 0 {
                break;
            }
        }
        Ok(left)
    }

    fn infix(&self, level: u8) -> Option<Operator> {
        use Operator as Op;
        let text = match self.cursor.token() {
            Token::Operator | Token::Name | Token::Less | Token::Greater => self.cursor.text(),
            _ => return None,
        };
        Some(match (level, text) {
            (0, "=:=") => Op::Identical,
            (0, "=/=") => Op::NotIdentical,
            (0, "==") => Op::Equal,
            (0, "/=") => Op::NotEqual,
            (0, "<") => Op::Less,
            (0, "=<") => Op::LessEqual,
            (0, ">") => Op::Greater,
            (0, ">=") => Op::GreaterEqual,
            (1, "++") => Op::Append,
            (2, "+") => Op::Add,
            (2, "-") => Op::Subtract,
            (2, "or") => Op::StrictOr,
            (2, "xor") => Op::StrictXor,
            (3, "*") => Op::Multiply,
            (3, "/") => Op::FloatDivide,
            (3, "div") => Op::IntDivide,
            (3, "rem") => Op::Remainder,
            (3, "and") => Op::StrictAnd,
            _ => return None,
        })
    }

    fn erlang_unary(&mut self) -> Parsed<Condition> {
        let start = self.cursor.span();
        let text = self.cursor.text();
        let minus = text == "-" && self.cursor.is_at(Token::Operator);
        if minus || (text == "not" && self.cursor.is_at(Token::Name)) {
            // A negative number is a constant, so that what is printed is read back.
            let rest = self.cursor.whole_text().get(start.end as usize..).unwrap_or_default().trim_start();
            if minus && rest.starts_with(|c: char| c.is_ascii_digit()) {
                let term = self.erlang_constant()?;
                let span = start.to(self.cursor.previous());
                return build(Node::Literal(term), span, &mut self.cursor);
            }
            self.cursor.bump();
            self.cursor.enter(MAX_NESTING)?;
            let operand = self.erlang_unary();
            self.cursor.leave();
            let operand = Box::new(operand?);
            let span = start.to(self.cursor.previous());
            let node = if minus {
                Node::Unary(UnaryOperator::Negate, operand)
            } else {
                Node::Unary(UnaryOperator::Not, operand)
            };
            return build(node, span, &mut self.cursor);
        }
        self.erlang_primary()
    }

    fn erlang_primary(&mut self) -> Parsed<Condition> {
        let (text, span) = (self.cursor.text(), self.cursor.span());
        let node = match self.cursor.token() {
            Token::OpenParen => {
                self.cursor.bump();
                let inner = self.erlang_expression()?;
                self.cursor.expect(Token::CloseParen)?;
                return Ok(inner);
            }
            Token::OpenBrace => {
                self.cursor.bump();
                let parts = self.erlang_expressions(Token::CloseBrace)?;
                self.cursor.expect_as(Token::CloseBrace, "`,` or `}`")?;
                Node::Tuple(parts)
            }
            Token::OpenBracket => {
                self.cursor.bump();
                let parts = self.erlang_expressions(Token::CloseBracket)?;
                self.cursor.expect_as(Token::CloseBracket, "`,` or `]`")?;
                Node::List(parts)
            }
            Token::Name => {
                self.cursor.bump();
                if self.cursor.eat(Token::OpenParen) {
                    return self.erlang_call(text, span);
                }
                if text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') {
                    match self.data_slot(text) {
                        Some(slot) => Node::Variable(slot),
                        None => {
                            let names = self.data_names();
                            return Err(self.cursor.report(unbound_variable(span, text, &names)));
                        }
                    }
                } else {
                    Node::Literal(Value::atom(text))
                }
            }
            _ if self.at_erlang_constant() => Node::Literal(self.erlang_constant()?),
            _ => return Err(self.cursor.unexpected(&["an expression"])),
        };
        build(node, span.to(self.cursor.previous()), &mut self.cursor)
    }

    fn erlang_call(&mut self, name: &str, start: Span) -> Parsed<Condition> {
        let args = self.erlang_expressions(Token::CloseParen)?;
        let end = self.cursor.expect_as(Token::CloseParen, "`,` or `)`")?;
        let span = start.to(end);
        let Some((function, count)) = erlang_function(name) else {
            return Err(no_function(start, name, &mut self.cursor));
        };
        if args.len() != count {
            let what = format!("`{name}` takes {count} argument{}", if count == 1 { "" } else { "s" });
            return Err(self.cursor.report(wrong_number_of_arguments(span, what)));
        }
        build(Node::Call(function, args), span, &mut self.cursor)
    }

    fn erlang_expressions(&mut self, close: Token) -> Parsed<Box<[Condition]>> {
        let mut parts = Vec::new();
        while !self.cursor.is_at(close) {
            parts.push(self.erlang_expression()?);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        Ok(parts.into())
    }
}
