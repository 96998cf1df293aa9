//! The payload types of all languages, by name. `docs/types.md` has the same table for users.

use referee_theory::Type;

/// The names of types that mean the same in every language, canonical names first.
pub const NAMES: [&str; 7] = ["int", "float", "bool", "string", "bytes", "unit", "list"];

/// The type that `name` means, whichever language it comes from.
#[must_use]
pub fn builtin(name: &str) -> Option<Type> {
    Some(match name {
        "int" | "Int" | "Integer" | "integer" | "long" | "Long" | "nat" | "java.lang.Integer" => Type::Int,
        "float" | "Float" | "double" | "Double" | "real" | "Real" => Type::Float,
        "bool" | "Bool" | "boolean" | "Boolean" => Type::Bool,
        "string" | "String" | "str" | "Str" | "java.lang.String" => Type::String,
        "bytes" | "Bytes" => Type::Bytes,
        "unit" | "Unit" => Type::Unit,
        _ => return None,
    })
}
