//! External predicates from WebAssembly: what `validToken(tok)` in an assertion calls, written in any language.
//!
//! A module is bytes; reading files is not done here. It gets nothing from outside (no imports, so no clock, no
//! files, no network), a bounded number of steps for each call ([`Limits::fuel`]) and a bounded memory. Whatever
//! goes wrong with it, when it is loaded or when it is called, is an error of the configuration: a monitor then
//! answers [`Verdict::Fault`](referee_monitor::Verdict::Fault) and blames nobody.
//!
//! ```
//! use referee_functions::{Functions, Limits};
//!
//! let wasm = wat::parse_str(
//!     r#"(module (func (export "isEven") (param i64) (result i32)
//!          (i64.eqz (i64.and (local.get 0) (i64.const 1)))))"#,
//! )?;
//! let functions = Functions::load("even.wasm", &wasm, Limits::default())?;
//!
//! use referee_monitor::Argument;
//! use referee_theory::expr::{Signature, Value};
//! use referee_theory::Type;
//! let signature = Signature { parameters: [Type::Int].into(), result: Type::Bool };
//! let is_even = functions.predicate("isEven", &signature)?.expect("the module exports it");
//! assert_eq!(is_even.call(&[Argument::Int(4)]), Ok(Value::Bool(true)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How values are passed is in `abi`, and for authors of modules in `docs/functions.md`. [`synthesise`] makes a
//! monitor whose predicates come from modules. Reading order: `abi`, `instance`, [`error`].

mod abi;
pub mod error;
mod instance;

use std::sync::Arc;

use referee_monitor::{Argument, Monitor, Predicate, Registry, SynthesisError, SynthesisProblem};
use referee_theory::expr::{Signature, Value};
use referee_theory::{Machine, Vocabulary};
use wasmi::{ExternType, FuncType, ValType};

pub use error::{FunctionsError, NoMonitor};

use crate::abi::Shape;
use crate::error::Problem;
use crate::instance::Pool;

/// How much a module may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For each call: about one for each instruction, more for those that touch much memory.
    pub fuel: u64,
    /// The bytes of its memory, arguments included.
    pub memory: usize,
}

impl Default for Limits {
    /// Ten million instructions and 16 MiB.
    fn default() -> Self {
        Self { fuel: 10_000_000, memory: 16 << 20 }
    }
}

/// A module of functions, loaded and checked.
pub struct Functions {
    pool: Arc<Pool>,
}

impl Functions {
    /// The functions of the module `wasm`, called `name` in messages.
    ///
    /// # Errors
    /// If `wasm` is no WebAssembly module, imports something, or does not start within `limits`.
    pub fn load(name: &str, wasm: &[u8], limits: Limits) -> Result<Self, FunctionsError> {
        Pool::new(name, wasm, limits).map(|pool| Self { pool: Arc::new(pool) })
    }

    /// What it is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.pool.name
    }

    /// The function `name` as a predicate with `signature`; `None` if the module does not export it. A dot in
    /// `name` may be an underscore in the module, for languages whose names have no dots.
    ///
    /// # Errors
    /// If what is exported is not a function of that signature.
    pub fn predicate(
        &self,
        name: &str,
        signature: &Signature,
    ) -> Result<Option<Arc<dyn Predicate>>, FunctionsError> {
        let plain = name.replace('.', "_");
        let Some((export, exported)) = [name, plain.as_str()]
            .into_iter()
            .find_map(|export| Some((export, self.pool.module().get_export(export)?)))
        else {
            return Ok(None);
        };
        let error = |problem| self.pool.error(problem);
        let wanted = format!("{name}{signature}");
        let shape =
            Shape::of(signature).map_err(|ty| error(Problem::Type { function: wanted.clone(), ty }))?;
        let found = match &exported {
            ExternType::Func(found) if shape.fits(found) => None,
            ExternType::Func(found) => Some(describe(found)),
            _ => Some("no function".to_owned()),
        };
        if let Some(found) = found {
            let expected = describe(&shape.func_type());
            return Err(error(Problem::Signature { function: wanted, expected, found }));
        }
        if shape.needs_memory()
            && !matches!(self.pool.module().get_export("memory"), Some(ExternType::Memory(_)))
        {
            return Err(error(Problem::NoMemory { function: wanted }));
        }
        if shape.takes_text() {
            let alloc = FuncType::new([ValType::I32], [ValType::I32]);
            match self.pool.module().get_export("alloc") {
                Some(ExternType::Func(found))
                    if found.params() == alloc.params() && found.results() == alloc.results() => {}
                _ => return Err(error(Problem::NoAlloc { function: wanted })),
            }
        }
        let function = Function {
            pool: Arc::clone(&self.pool),
            export: export.to_owned(),
            signature: signature.clone(),
            shape,
        };
        Ok(Some(Arc::new(function)))
    }
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Functions").field(&self.name()).finish()
    }
}

/// The monitor of `machine`'s role, like [`Monitor::synthesise`], with the predicates that `registry` lacks
/// taken from `modules`.
///
/// # Errors
/// If two modules define a predicate, one defines it with another signature, or there is no monitor for
/// another reason.
pub fn synthesise(
    machine: &Machine,
    vocabulary: &Arc<Vocabulary>,
    registry: &Registry,
    modules: &[Functions],
) -> Result<Monitor, NoMonitor> {
    with_functions(registry, modules, |registry| Monitor::synthesise(machine, vocabulary, registry))
}

/// What `make` makes, whose predicates are in `registry` or in `modules`.
///
/// # Errors
/// As [`synthesise`].
pub fn with_functions<T>(
    registry: &Registry,
    modules: &[Functions],
    make: impl Fn(&Registry) -> Result<T, SynthesisError>,
) -> Result<T, NoMonitor> {
    let error = match make(registry) {
        Err(error) if !modules.is_empty() => error,
        result => return result.map_err(NoMonitor::Synthesis),
    };
    let mut registry = registry.clone();
    let mut found: Vec<(Arc<str>, &str)> = Vec::new();
    for problem in error.problems() {
        let SynthesisProblem::Missing { name, signature: Some(signature) } = problem else { continue };
        for module in modules {
            let Some(predicate) = module.predicate(name, signature)? else { continue };
            if let Some((_, other)) = found.iter().find(|(known, _)| known == name) {
                let problem = Problem::Twice { function: name.to_string(), other: (*other).to_owned() };
                return Err(module.pool.error(problem).into());
            }
            found.push((Arc::clone(name), module.name()));
            registry.insert(name, predicate);
        }
    }
    if found.is_empty() {
        return Err(NoMonitor::Synthesis(error));
    }
    make(&registry).map_err(NoMonitor::Synthesis)
}

/// One function of a module.
struct Function {
    pool: Arc<Pool>,
    export: String,
    signature: Signature,
    shape: Shape,
}

impl Predicate for Function {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn call(&self, args: &[Argument<'_>]) -> Result<Value, String> {
        self.pool.call(&self.export, &self.shape, args).map_err(|why| format!("{}: {why}", self.pool.name))
    }
}

/// `(i32, i32) -> i32`.
fn describe(ty: &FuncType) -> String {
    let list = |types: &[ValType]| {
        let names: Vec<_> = types.iter().map(|ty| format!("{ty:?}").to_lowercase()).collect();
        names.join(", ")
    };
    let result = list(ty.results());
    let result = if result.is_empty() { "nothing" } else { &result };
    format!("({}) -> {result}", list(ty.params()))
}
