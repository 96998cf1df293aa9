//! Payload types: what a message field may hold.

use std::fmt;
use std::sync::Arc;

/// The type of a payload field.
///
/// The surface languages' own names (`Int`, `str`, `real`, …) are mapped onto these when a protocol is
/// read; a name nobody declared becomes [`Type::Opaque`], which is compared by name and never inspected.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// No information: `unit`.
    Unit,
    /// `true` or `false`.
    Bool,
    /// A signed 64-bit integer.
    Int,
    /// An IEEE 754 double.
    Float,
    /// Unicode text.
    String,
    /// Raw bytes.
    Bytes,
    /// A list whose elements share one type.
    List(Arc<Type>),
    /// A fixed sequence of types.
    Tuple(Arc<[Type]>),
    /// Named fields, in declaration order.
    Record(Arc<[(Arc<str>, Type)]>),
    /// A type known by name only.
    Opaque(Arc<str>),
}

impl Type {
    /// An opaque type called `name`.
    #[must_use]
    pub fn opaque(name: &str) -> Self {
        Self::Opaque(name.into())
    }

    /// A list of `element`.
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("unit"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Float => f.write_str("float"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::List(element) => write!(f, "list<{element}>"),
            Self::Tuple(parts) => {
                f.write_str("(")?;
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{part}")?;
                }
                f.write_str(if parts.len() == 1 { ",)" } else { ")" })
            }
            Self::Record(fields) => {
                f.write_str("{")?;
                for (i, (name, ty)) in fields.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{name}: {ty}")?;
                }
                f.write_str("}")
            }
            Self::Opaque(name) => f.write_str(name),
        }
    }
}
