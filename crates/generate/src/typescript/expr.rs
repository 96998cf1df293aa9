//! Expressions in TypeScript: its spellings, and the names of a generated file.

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Operator, Value};

use super::{TypeScript, constant, field_names, kept_names, lower, quoted};
use crate::expr::{Names, Spelling, Spellings, expression};
use crate::plan::{FieldPlan, StatePlan, StepPlan};

impl TypeScript<'_> {
    /// `expr` as code of a value of type `ty`, which throws where it has none.
    pub(super) fn expression(&self, state: &StatePlan, step: &StepPlan, expr: &Expr, ty: &Type) -> String {
        expression(self, self.plan, (state, step), expr, ty)
    }
}

impl Names for TypeScript<'_> {
    const SPELLINGS: Spellings = Spellings {
        not: "(!{0})",
        and: "&&",
        or: "||",
        truth: ["false", "true"],
        later: "() => {0}",
        settle: "settle({0}, [{1}])",
        conditional: "({0} ? {1} : {2})",
        int64: "int64({0})",
        element: "element({0}, {1})",
        contains: "contains({0}, {1})",
        matches: "matches({0}, {1})",
        operator,
        function,
    };

    fn constant(&self, value: &Value) -> String {
        constant(value)
    }

    fn written(&self, name: &str) -> String {
        lower(name)
    }

    fn field_names(&self, fields: &[FieldPlan]) -> Vec<String> {
        field_names(fields)
    }

    fn kept_names(&self, state: &StatePlan) -> Vec<String> {
        kept_names(state).iter().map(|name| format!("this.{name}")).collect()
    }

    fn pattern(&self, pattern: &str) -> String {
        self.table(pattern)
    }

    fn ask(&self, name: &str, called: &str, arguments: &[String]) -> String {
        format!("ask({}, () => predicates.{called}({}))", quoted(name), arguments.join(", "))
    }
}

fn operator(operator: Operator, ty: &Type) -> Option<Spelling> {
    let is_number = matches!(ty, Type::Int | Type::Float);
    // TypeScript refuses comparisons between literals that differ; it does not look into a function.
    Some(match (operator, ty) {
        (Operator::Equal, _) => ("equal({0}, {1})", false),
        (Operator::NotEqual, _) => ("(!equal({0}, {1}))", false),
        (Operator::Less, _) if !is_number => ("less({0}, {1})", false),
        (Operator::Greater, _) if !is_number => ("less({1}, {0})", false),
        (Operator::LessEqual, _) if !is_number => ("notAbove({0}, {1})", false),
        (Operator::GreaterEqual, _) if !is_number => ("notAbove({1}, {0})", false),
        (Operator::Divide, Type::Int) => ("divide({0}, {1})", true),
        (Operator::Remainder, _) => ("remainder({0}, {1})", true),
        (Operator::Add, Type::List(_)) => ("[...{0}, ...{1}]", false),
        (Operator::Add, Type::Bytes) => ("Uint8Array.of(...{0}, ...{1})", false),
        _ => return None,
    })
}

fn function(function: Function, ty: &Type) -> Spelling {
    match (function, ty) {
        // Characters, not the halves of them that JavaScript counts.
        (Function::Size, Type::String) => ("BigInt([...{0}].length)", false),
        (Function::Size, _) => ("BigInt({0}.length)", false),
        (Function::StartsWith, _) => ("{0}.startsWith({1})", false),
        (Function::EndsWith, _) => ("{0}.endsWith({1})", false),
        (Function::Contains, _) => ("{0}.includes({1})", false),
        (Function::Int, Type::Float) => ("floatToInt({0})", true),
        (Function::Int, Type::String) => ("parseInteger({0})", true),
        (Function::Float, Type::Int) => ("Number({0})", false),
        (Function::Float, Type::String) => ("parseReal({0})", true),
        (Function::String, Type::Bytes) => ("textOf({0})", true),
        (Function::String, Type::Bool | Type::Int) => ("String({0})", false),
        (Function::String, Type::Float) => ("showFloat({0})", false),
        (Function::Int | Function::Float | Function::String, _) => ("{0}", false),
        (Function::Abs, Type::Int) => ("magnitude({0})", true),
        (Function::Abs, _) => ("Math.abs({0})", false),
        (Function::Min, _) => ("least({*})", false),
        (Function::Max, _) => ("greatest({*})", false),
        // Only guards of properties have the others.
        _ => ("", false),
    }
}
