//! Expressions in Python: its spellings, and the names of a generated file.

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Operator, Value};

use super::{Python, constant, field_names, kept_names, lower};
use crate::expr::{Names, Spelling, Spellings, expression};
use crate::plan::{FieldPlan, StatePlan, StepPlan};

impl Python<'_> {
    /// `expr` as code of a value of type `ty`, which raises where it has none.
    pub(super) fn expression(&self, state: &StatePlan, step: &StepPlan, expr: &Expr, ty: &Type) -> String {
        expression(self, self.plan, (state, step), expr, ty)
    }
}

impl Names for Python<'_> {
    const SPELLINGS: Spellings = Spellings {
        not: "(not {0})",
        and: "and",
        or: "or",
        truth: ["False", "True"],
        later: "lambda: {0}",
        settle: "_settle({0}, [{1}])",
        conditional: "({1} if {0} else {2})",
        int64: "_int64({0})",
        element: "_element({0}, {1})",
        contains: "_contains({0}, {1})",
        matches: "_matches({0}, {1})",
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
        kept_names(state).iter().map(|name| format!("self.{name}")).collect()
    }

    fn pattern(&self, pattern: &str) -> String {
        self.table(pattern)
    }

    fn ask(&self, name: &str, called: &str, arguments: &[String]) -> String {
        let arguments: String = arguments.iter().map(|argument| format!(", {argument}")).collect();
        format!("_ask({}, _predicates.{called}{arguments})", super::quoted(name))
    }
}

fn operator(operator: Operator, ty: &Type) -> Option<Spelling> {
    let structured = matches!(ty, Type::List(_) | Type::Tuple(_) | Type::Record(_));
    Some(match (operator, ty) {
        (Operator::Equal, _) if structured => ("_equal({0}, {1})", false),
        (Operator::NotEqual, _) if structured => ("(not _equal({0}, {1}))", false),
        (Operator::Divide, Type::Int) => ("_divide({0}, {1})", true),
        (Operator::Remainder, _) => ("_remainder({0}, {1})", true),
        (Operator::Divide, _) => ("_divide_floats({0}, {1})", false),
        _ => return None,
    })
}

fn function(function: Function, ty: &Type) -> Spelling {
    match (function, ty) {
        (Function::Size, _) => ("len({0})", false),
        (Function::StartsWith, _) => ("{0}.startswith({1})", false),
        (Function::EndsWith, _) => ("{0}.endswith({1})", false),
        (Function::Contains, _) => ("({1} in {0})", false),
        (Function::Int, Type::Float) => ("_float_to_int({0})", true),
        (Function::Int, Type::String) => ("_parse_int({0})", true),
        (Function::Float, Type::Int) => ("float({0})", false),
        (Function::Float, Type::String) => ("_parse_float({0})", true),
        (Function::String, Type::Bytes) => ("_text({0})", true),
        (Function::String, Type::Bool) => ("(\"true\" if {0} else \"false\")", false),
        (Function::String, Type::Int) => ("str({0})", false),
        (Function::String, Type::Float) => ("_show_float({0})", false),
        (Function::Int | Function::Float | Function::String, _) => ("{0}", false),
        (Function::Abs, Type::Int) => ("_int64(abs({0}))", true),
        (Function::Abs, _) => ("abs({0})", false),
        (Function::Min, _) => ("_min({*})", false),
        (Function::Max, _) => ("_max({*})", false),
        // Only guards of properties have the others.
        _ => ("", false),
    }
}
