//! How values are passed to a function and back.
//!
//! | type | parameter | result |
//! |---|---|---|
//! | bool | `i32`, 0 or 1 | `i32`, 0 is false |
//! | int | `i64` | `i64` |
//! | float | `f64` | `f64` |
//! | string, bytes, opaque | `i32` address, `i32` length | `i64`: the address in its upper half, the length in its lower |
//!
//! Text is UTF-8, without a byte behind its end. The arguments of a call lie in memory that the module's
//! `alloc` gave, and are the function's to read until it returns.

use referee_monitor::Argument;
use referee_theory::Type;
use referee_theory::expr::{Signature, Value};
use wasmi::{FuncType, Val, ValType};

/// How one value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    Opaque,
}

impl Form {
    fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::Bool => Some(Self::Bool),
            Type::Int => Some(Self::Int),
            Type::Float => Some(Self::Float),
            Type::String => Some(Self::Text),
            Type::Bytes => Some(Self::Bytes),
            Type::Opaque(_) => Some(Self::Opaque),
            Type::Unit | Type::List(_) | Type::Tuple(_) | Type::Record(_) => None,
        }
    }

    fn is_in_memory(self) -> bool {
        matches!(self, Self::Text | Self::Bytes | Self::Opaque)
    }

    fn result(self) -> ValType {
        match self {
            Self::Bool => ValType::I32,
            Self::Float => ValType::F64,
            Self::Int | Self::Text | Self::Bytes | Self::Opaque => ValType::I64,
        }
    }
}

/// How the arguments and the result of a function are passed.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    parameters: Box<[Form]>,
    result: Form,
}

impl Shape {
    /// The shape of functions with `signature`; else the type that cannot be passed.
    pub(crate) fn of(signature: &Signature) -> Result<Self, String> {
        let form = |ty: &Type| Form::of(ty).ok_or_else(|| ty.to_string());
        let parameters = signature.parameters.iter().map(form).collect::<Result<_, _>>()?;
        Ok(Self { parameters, result: form(&signature.result)? })
    }

    pub(crate) fn func_type(&self) -> FuncType {
        let parameters = self.parameters.iter().flat_map(|form| {
            let (one, two): (ValType, Option<ValType>) = match form {
                Form::Bool => (ValType::I32, None),
                Form::Int => (ValType::I64, None),
                Form::Float => (ValType::F64, None),
                Form::Text | Form::Bytes | Form::Opaque => (ValType::I32, Some(ValType::I32)),
            };
            std::iter::once(one).chain(two)
        });
        FuncType::new(parameters.collect::<Vec<_>>(), [self.result.result()])
    }

    pub(crate) fn fits(&self, found: &FuncType) -> bool {
        let wanted = self.func_type();
        wanted.params() == found.params() && wanted.results() == found.results()
    }

    /// Whether some argument lies in memory.
    pub(crate) fn takes_text(&self) -> bool {
        self.parameters.iter().any(|form| form.is_in_memory())
    }

    /// Whether some argument or the result lies in memory.
    pub(crate) fn needs_memory(&self) -> bool {
        self.takes_text() || self.result.is_in_memory()
    }

    /// What the result is before the call.
    pub(crate) fn blank(&self) -> Val {
        Val::default_for_ty(self.result.result())
    }

    /// The value that `answer` stands for; texts are looked up in `memory`.
    pub(crate) fn result(&self, answer: &Val, memory: &[u8]) -> Result<Value, String> {
        Ok(match (self.result, answer) {
            (Form::Bool, Val::I32(value)) => Value::Bool(*value != 0),
            (Form::Int, Val::I64(value)) => Value::Int(*value),
            (Form::Float, Val::F64(value)) => Value::Float(value.to_float()),
            (form, Val::I64(packed)) => {
                let packed = packed.cast_unsigned();
                let (address, length) = ((packed >> 32) as usize, (packed & 0xffff_ffff) as usize);
                let bytes = memory
                    .get(address..)
                    .and_then(|rest| rest.get(..length))
                    .ok_or("its answer lies outside its memory")?;
                if form == Form::Bytes {
                    return Ok(Value::Bytes(bytes.into()));
                }
                let text = std::str::from_utf8(bytes).map_err(|_| "its answer is not UTF-8")?;
                if form == Form::Opaque { Value::Opaque(text.into()) } else { Value::string(text) }
            }
            _ => return Err("its answer has the wrong type".to_owned()),
        })
    }
}

/// The bytes of `argument` that lie in memory, if any do.
pub(crate) fn octets<'a>(argument: &Argument<'a>) -> Option<&'a [u8]> {
    match argument {
        Argument::Text(text) => Some(text.as_bytes()),
        Argument::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// `argument` as it is passed if it does not lie in memory.
pub(crate) fn scalar(argument: &Argument<'_>) -> Option<Val> {
    match argument {
        Argument::Bool(value) => Some(Val::I32(i32::from(*value))),
        Argument::Int(value) => Some(Val::I64(*value)),
        Argument::Float(value) => Some(Val::F64((*value).into())),
        _ => None,
    }
}
