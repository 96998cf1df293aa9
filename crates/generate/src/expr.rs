//! Expressions in languages where what fails throws, so that plain operators can stand around it: one walk over an expression, and a table of
//! spellings for each language. Rust, where what fails is a `Result`, has a walk of its own (`rust/expr.rs`).

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Node, Operator, UnaryOperator, Value};

use crate::names::among;
use crate::plan::{FieldPlan, Plan, StatePlan, StepPlan};
use crate::typing::Types;

/// Code with gaps: `{0}`, `{1}`, … for its operands, `{*}` for all of them; and whether it can throw though no operand does.
pub(crate) type Spelling = (&'static str, bool);

/// How a language spells expressions: templates with gaps, as in a [`Spelling`].
pub(crate) struct Spellings {
    pub(crate) not: &'static str,
    pub(crate) and: &'static str,
    pub(crate) or: &'static str,
    /// `false` and `true`.
    pub(crate) truth: [&'static str; 2],
    /// An operand that is looked at only if the others do not settle it.
    pub(crate) later: &'static str,
    /// The value that settles it, and the operands.
    pub(crate) settle: &'static str,
    /// Condition, then, otherwise.
    pub(crate) conditional: &'static str,
    /// An integer that must fit 64 bits.
    pub(crate) int64: &'static str,
    /// List, index.
    pub(crate) element: &'static str,
    /// Element, list.
    pub(crate) contains: &'static str,
    /// Table, text.
    pub(crate) matches: &'static str,
    /// How an operator is written between operands of this type, where it is not as in the protocol.
    pub(crate) operator: fn(Operator, &Type) -> Option<Spelling>,
    /// How a function is called on operands of this type.
    pub(crate) function: fn(Function, &Type) -> Spelling,
}

/// A language, and the names that a generated file has for what the protocol speaks of.
pub(crate) trait Names {
    const SPELLINGS: Spellings;

    fn constant(&self, value: &Value) -> String;

    /// The name of a field of a message, of a member of a record, or of a predicate, if nothing else is called so.
    fn written(&self, name: &str) -> String;

    fn field_names(&self, fields: &[FieldPlan]) -> Vec<String>;

    /// The variables that a state keeps, as its methods call them.
    fn kept_names(&self, state: &StatePlan) -> Vec<String>;

    /// The table of a regular expression.
    fn pattern(&self, pattern: &str) -> String;

    /// A call of a predicate of the program, with its name in the protocol and there.
    fn ask(&self, name: &str, called: &str, arguments: &[String]) -> String;
}

/// `expr` as code of a value of type `ty`, in a step of a state.
pub(crate) fn expression(
    names: &impl Names,
    plan: &Plan,
    (state, step): (&StatePlan, &StepPlan),
    expr: &Expr,
    ty: &Type,
) -> String {
    let types = plan.types(state, step);
    Walk { names, plan, state, step, types }.code(expr, Some(ty)).0
}

struct Walk<'a, N> {
    names: &'a N,
    plan: &'a Plan,
    state: &'a StatePlan,
    step: &'a StepPlan,
    types: Types<'a>,
}

/// Code, and whether it can throw.
type Code = (String, bool);

/// `template` with `parts` in its gaps.
fn fill(template: &str, parts: &[String]) -> String {
    let mut pieces = template.split('{');
    let mut code = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (gap, rest) = piece.split_once('}').unwrap_or((piece, ""));
        match gap.parse::<usize>() {
            Ok(at) => code.push_str(parts.get(at).map_or("", String::as_str)),
            Err(_) => code.push_str(&parts.join(", ")),
        }
        code.push_str(rest);
    }
    code
}

impl<N: Names> Walk<'_, N> {
    fn code(&self, expr: &Expr, hint: Option<&Type>) -> Code {
        match expr.node() {
            Node::Literal(literal) => (self.names.constant(literal), false),
            Node::Variable(name) => (self.variable(name), false),
            Node::List(elements) => {
                let wanted = if let Some(Type::List(wanted)) = hint { Some(&**wanted) } else { None };
                let (parts, fails) = self.all(elements, wanted);
                (format!("[{}]", parts.join(", ")), fails)
            }
            Node::Unary(operator, operand) => {
                let (code, fails) = self.code(operand, hint);
                match (operator, self.types.of(operand, hint)) {
                    (UnaryOperator::Not, _) => (fill(N::SPELLINGS.not, &[code]), fails),
                    (UnaryOperator::Negate, Type::Float) => (format!("(-{code})"), fails),
                    (UnaryOperator::Negate, _) => (fill(N::SPELLINGS.int64, &[format!("-{code}")]), true),
                }
            }
            Node::Binary(operator, operands) => self.binary(*operator, operands, hint),
            Node::And(operands) => self.settle(operands, N::SPELLINGS.and, N::SPELLINGS.truth[0]),
            Node::Or(operands) => self.settle(operands, N::SPELLINGS.or, N::SPELLINGS.truth[1]),
            Node::Conditional(parts) => {
                let ty = self.types.of_all(&parts[1..], hint);
                let (condition, a) = self.code(&parts[0], Some(&Type::Bool));
                let ((then, b), (otherwise, c)) =
                    (self.code(&parts[1], Some(&ty)), self.code(&parts[2], Some(&ty)));
                (fill(N::SPELLINGS.conditional, &[condition, then, otherwise]), a || b || c)
            }
            Node::Member(record, field) => {
                let (code, fails) = self.code(record, None);
                (format!("{code}.{}", self.member(record, field)), fails)
            }
            Node::Index(parts) => self.index(&parts[0], &parts[1]),
            Node::Call(function, args) => self.call(*function, args),
            Node::Matches(text, pattern) => {
                let (text, fails) = self.code(text, Some(&Type::String));
                (self.matches(pattern.text(), text), fails)
            }
            // Only guards of properties have these; the monitor, and so `Plan`, refuses them in a protocol.
            Node::Tuple(_) | Node::AndAlso(_) | Node::OrElse(_) => (String::new(), false),
            Node::External { name, args } => {
                let called = among(name, self.plan.predicates.keys(), |name| self.names.written(name));
                (self.names.ask(name, &called, &self.all(args, None).0), true)
            }
        }
    }

    fn all(&self, exprs: &[Expr], hint: Option<&Type>) -> (Vec<String>, bool) {
        let codes: Vec<Code> = exprs.iter().map(|expr| self.code(expr, hint)).collect();
        let fails = codes.iter().any(|(_, fails)| *fails);
        (codes.into_iter().map(|(code, _)| code).collect(), fails)
    }

    fn variable(&self, name: &str) -> String {
        let message = &self.plan.messages[self.step.message];
        let own = message.fields.iter().position(|field| field.variable.as_deref() == Some(name));
        if let Some(at) = own {
            return self.names.field_names(&message.fields)[at].clone();
        }
        let kept = self.state.kept.iter().position(|(known, _)| **known == *name);
        kept.map_or_else(String::new, |at| self.names.kept_names(self.state)[at].clone())
    }

    fn member(&self, record: &Expr, field: &str) -> String {
        let Type::Record(fields) = self.types.of(record, None) else { return self.names.written(field) };
        among(field, fields.iter().map(|(name, _)| name), |name| self.names.written(name))
    }

    fn index(&self, container: &Expr, index: &Expr) -> Code {
        let (code, fails) = self.code(container, None);
        match (self.types.of(container, None), index.node()) {
            (Type::Tuple(_), Node::Literal(Value::Int(at))) => (format!("{code}[{at}]"), fails),
            (Type::Record(_), Node::Literal(Value::String(field))) => {
                (format!("{code}.{}", self.member(container, field)), fails)
            }
            _ => {
                let (index, _) = self.code(index, Some(&Type::Int));
                (fill(N::SPELLINGS.element, &[code, index]), true)
            }
        }
    }

    fn binary(&self, operator: Operator, operands: &[Expr; 2], hint: Option<&Type>) -> Code {
        if operator == Operator::In {
            let element = self.types.of(&operands[0], None);
            let (left, a) = self.code(&operands[0], Some(&element));
            let (right, b) = self.code(&operands[1], Some(&Type::list(element)));
            return (fill(N::SPELLINGS.contains, &[left, right]), a || b);
        }
        let ty = self.types.of_all(operands, hint);
        let (parts, fails) = self.all(operands, Some(&ty));
        if let Some((template, throws)) = (N::SPELLINGS.operator)(operator, &ty) {
            return (fill(template, &parts), fails || throws);
        }
        let plain = parts.join(&format!(" {} ", operator.symbol()));
        match (operator, &ty) {
            (Operator::Add | Operator::Subtract | Operator::Multiply, Type::Int) => {
                (fill(N::SPELLINGS.int64, &[plain]), true)
            }
            _ => (format!("({plain})"), fails),
        }
    }

    fn settle(&self, operands: &[Expr], word: &str, settled: &str) -> Code {
        let (parts, fails) = self.all(operands, Some(&Type::Bool));
        if !fails {
            return (format!("({})", parts.join(&format!(" {word} "))), false);
        }
        let parts: Vec<String> = parts.into_iter().map(|part| fill(N::SPELLINGS.later, &[part])).collect();
        (fill(N::SPELLINGS.settle, &[settled.to_owned(), parts.join(", ")]), true)
    }

    fn matches(&self, pattern: &str, text: String) -> String {
        fill(N::SPELLINGS.matches, &[self.names.pattern(pattern), text])
    }

    fn call(&self, function: Function, args: &[Expr]) -> Code {
        let ty = self.types.of_all(args, None);
        let (parts, fails) = self.all(args, Some(&ty));
        if function == Function::Matches {
            let pattern = match args.get(1).map(Expr::node) {
                Some(Node::Literal(Value::String(pattern))) => pattern,
                _ => "",
            };
            return (self.matches(pattern, parts.into_iter().next().unwrap_or_default()), fails);
        }
        let (template, throws) = (N::SPELLINGS.function)(function, &ty);
        (fill(template, &parts), fails || throws)
    }
}
