//! The typing rules of calls.
//!
//! | call | arguments | result |
//! |---|---|---|
//! | `size(x)` | string, bytes or list | int |
//! | `startsWith`, `endsWith`, `contains` | two strings | bool |
//! | `matches` | a string, a constant pattern | bool |
//! | `int(x)`, `double(x)` | int, float or string | int, float |
//! | `string(x)` | bool, int, float, string or bytes | string |
//! | `abs(x)` | int or float | that type |
//! | `min`, `max` | two or more of one type, int or float | that type |
//! | external | as declared; undeclared: as its first call | as declared; undeclared: bool |

use std::sync::Arc;

use super::super::error::{Expected, TypeErrorKind};
use super::super::{Arity, Expr, Function, InferredExternal, Literal, Lookup, Node, Pattern, Signature};
use super::Checker;
use crate::payload::Type;

impl Checker<'_> {
    pub(super) fn built_in(&mut self, expr: &Expr, function: Function, args: &[Expr]) -> Option<Type> {
        let types: Vec<_> = args.iter().map(|arg| self.infer(arg, None)).collect();
        if !function.arity().admits(args.len()) {
            let function_name = function.name().into();
            self.wrong_arity(expr, function_name, function.arity(), args.len());
            return result_of(function);
        }
        let expected = match function {
            Function::Size => Expected::Sized,
            Function::StartsWith | Function::EndsWith | Function::Contains | Function::Matches => {
                Expected::Type(Type::String)
            }
            Function::Int | Function::Float => Expected::Numeral,
            Function::String => Expected::Printable,
            Function::Abs | Function::Min | Function::Max => Expected::Number,
            // No text of the assertion language calls what only guards know.
            _ => return None,
        };
        let mut first = None;
        let mut suits = true;
        for (position, (arg, ty)) in args.iter().zip(types).enumerate() {
            let Some(found) = ty else {
                suits = false;
                continue;
            };
            // The arguments of `min` and `max` follow the first one.
            let expected = match (&first, function) {
                (Some(first), Function::Min | Function::Max) => Expected::Type(Type::clone(first)),
                _ => expected.clone(),
            };
            if expected.admits(&found) {
                first.get_or_insert(found);
            } else {
                let function = function.name().into();
                self.report(arg, TypeErrorKind::WrongArgument { function, position, expected, found });
                suits = false;
            }
        }
        if let (Function::Matches, [_, pattern]) = (function, args) {
            self.pattern(pattern, suits);
        }
        result_of(function).or(first.filter(|_| suits))
    }

    fn pattern(&mut self, pattern: &Expr, suits: bool) {
        match pattern.node() {
            Node::Literal(Literal::String(text)) => {
                if let Err(error) = Pattern::new(text) {
                    let (pattern_text, reason) = (Arc::clone(text), error.reason().to_owned());
                    self.report(pattern, TypeErrorKind::BadPattern { pattern: pattern_text, reason });
                }
            }
            // An argument of another type is reported as such.
            _ if suits => self.report(pattern, TypeErrorKind::NonLiteralPattern),
            _ => {}
        }
    }

    pub(super) fn external(&mut self, expr: &Expr, name: &Arc<str>, args: &[Expr]) -> Option<Type> {
        match self.environment.external(name) {
            Lookup::Declared(signature) => {
                self.declared(expr, name, args, &signature);
                Some(signature.result)
            }
            Lookup::Undeclared => {
                let types: Vec<_> = args.iter().map(|arg| self.infer(arg, None)).collect();
                if let Some(types) = types.into_iter().collect::<Option<Arc<[Type]>>>() {
                    self.undeclared(expr, name, types);
                }
                Some(Type::Bool)
            }
            Lookup::Unknown => {
                for arg in args {
                    self.infer(arg, None);
                }
                let built_in = Function::ALL.iter().map(|function| Arc::from(function.name()));
                let candidates = self.environment.externals().into_iter().chain(built_in).collect();
                let name = Arc::clone(name);
                self.report(expr, TypeErrorKind::UnknownFunction { name, candidates });
                None
            }
        }
    }

    fn declared(&mut self, expr: &Expr, name: &Arc<str>, args: &[Expr], signature: &Signature) {
        if args.len() != signature.parameters.len() {
            let arity = Arity::Exactly(signature.parameters.len());
            self.wrong_arity(expr, Arc::clone(name), arity, args.len());
        }
        for (position, (arg, expected)) in args.iter().zip(&*signature.parameters).enumerate() {
            let Some(found) = self.infer(arg, Some(expected)) else { continue };
            if found != *expected {
                let (function, expected) = (Arc::clone(name), Expected::Type(expected.clone()));
                self.report(arg, TypeErrorKind::WrongArgument { function, position, expected, found });
            }
        }
        for surplus in args.iter().skip(signature.parameters.len()) {
            self.infer(surplus, None);
        }
    }

    fn undeclared(&mut self, expr: &Expr, name: &Arc<str>, found: Arc<[Type]>) {
        match self.inferred.iter().find(|external| external.name == *name) {
            Some(known) if known.signature.parameters != found => {
                let first = Arc::clone(&known.signature.parameters);
                let function = Arc::clone(name);
                self.report(expr, TypeErrorKind::UnequalCalls { function, first, found });
            }
            Some(_) => {}
            None => self.inferred.push(InferredExternal {
                name: Arc::clone(name),
                signature: Signature { parameters: found, result: Type::Bool },
            }),
        }
    }

    fn wrong_arity(&mut self, expr: &Expr, function: Arc<str>, expected: Arity, found: usize) {
        self.report(expr, TypeErrorKind::WrongArity { function, expected, found });
    }
}

/// The type of a call that does not depend on its arguments.
fn result_of(function: Function) -> Option<Type> {
    match function {
        Function::Size | Function::Int => Some(Type::Int),
        Function::StartsWith | Function::EndsWith | Function::Contains | Function::Matches => {
            Some(Type::Bool)
        }
        Function::Float => Some(Type::Float),
        Function::String => Some(Type::String),
        _ => None,
    }
}
