//! Scala's names for payload types.

use referee_theory::Type;

use crate::payload;

/// The type that STMonitor's files call `name`; names nobody knows are opaque.
pub(crate) fn from_name(name: &str) -> Type {
    payload::builtin(name).unwrap_or_else(|| Type::opaque(name))
}

/// What STMonitor's files call `ty`, if they have a name for it.
pub(crate) fn name(ty: &Type) -> Option<&str> {
    match ty {
        Type::Int => Some("Int"),
        Type::Float => Some("Double"),
        Type::Bool => Some("Boolean"),
        Type::String => Some("String"),
        Type::Unit => Some("Unit"),
        Type::Bytes => Some("bytes"),
        Type::Opaque(name) => Some(name),
        Type::List(_) | Type::Tuple(_) | Type::Record(_) => None,
    }
}
