//! The payload types of all languages, by name. `docs/types.md` has the same table for users.

use referee_theory::Type;

/// The names of types that mean the same in every language, canonical names first.
pub const NAMES: [&str; 7] = ["int", "float", "bool", "string", "bytes", "unit", "list"];

/// What a type of another language is called here.
#[must_use]
pub fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "number" | "Number" | "num" | "decimal" | "Decimal" | "float32" | "float64" | "f32" | "f64" => {
            "float"
        }
        "int8" | "int16" | "int32" | "int64" | "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32"
        | "u64" | "uint" | "uint32" | "uint64" | "short" | "byte" | "natural" | "Nat" => "int",
        "INT" | "INTEGER" | "LONG" => "int",
        "BOOL" | "BOOLEAN" => "bool",
        "FLOAT" | "DOUBLE" | "REAL" => "float",
        "STRING" | "STR" | "text" | "Text" | "TEXT" | "char" | "Char" | "varchar" => "string",
        "void" | "Void" | "none" | "None" => "unit",
        _ => return None,
    })
}

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
