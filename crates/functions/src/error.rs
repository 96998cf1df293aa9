//! What is wrong with a module of functions: what, where, and what to do.

use std::fmt;

use referee_monitor::SynthesisError;

/// What is wrong with a module.
#[derive(Debug)]
pub struct FunctionsError {
    pub(crate) module: String,
    pub(crate) problem: Problem,
}

#[derive(Debug)]
pub(crate) enum Problem {
    NotWasm,
    Invalid(String),
    Imports(Vec<String>),
    Start(String),
    /// It takes or gives something that cannot be passed.
    Type {
        function: String,
        ty: String,
    },
    Signature {
        function: String,
        expected: String,
        found: String,
    },
    NoMemory {
        function: String,
    },
    NoAlloc {
        function: String,
    },
    Twice {
        function: String,
        other: String,
    },
}

impl fmt::Display for FunctionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the functions of `{}` cannot be used: ", self.module)?;
        match &self.problem {
            Problem::NotWasm => f.write_str(
                "it is not a WebAssembly module; text (WAT) has to be assembled first, for instance with wat2wasm",
            ),
            Problem::Invalid(why) => write!(f, "it is not a valid WebAssembly module: {why}"),
            Problem::Imports(names) => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                write!(
                    f,
                    "it imports {}, and functions get nothing from outside; build it as a library for \
                     wasm32-unknown-unknown, without WASI",
                    names.join(", ")
                )
            }
            Problem::Start(why) => write!(f, "it does not start: {why}"),
            Problem::Type { function, ty } => write!(
                f,
                "`{function}` passes a value of type `{ty}`; only bool, int, float, string, bytes and opaque \
                 types can be passed"
            ),
            Problem::Signature { function, expected, found } => {
                write!(f, "`{function}` has to be {expected} there, but it is {found}")
            }
            Problem::NoMemory { function } => {
                write!(f, "`{function}` passes text, but the module does not export its memory as `memory`")
            }
            Problem::NoAlloc { function } => write!(
                f,
                "`{function}` takes text, but the module exports no function `alloc`, (i32) -> i32, that says \
                 where to put it"
            ),
            Problem::Twice { function, other } => write!(f, "`{function}` is also defined by `{other}`"),
        }
    }
}

impl std::error::Error for FunctionsError {}

/// Why there is no monitor.
#[derive(Debug)]
pub enum NoMonitor {
    /// Because of a module of functions.
    Functions(FunctionsError),
    /// Because of the protocol, or of predicates that nobody defines.
    Synthesis(SynthesisError),
}

impl From<FunctionsError> for NoMonitor {
    fn from(error: FunctionsError) -> Self {
        Self::Functions(error)
    }
}

impl fmt::Display for NoMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Functions(error) => error.fmt(f),
            Self::Synthesis(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoMonitor {}
