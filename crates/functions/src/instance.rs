//! Running modules: one instance for each call that is under way, kept for the next.
//!
//! An instance that failed is thrown away, so that a trap leaves nothing behind.

use std::sync::{Mutex, PoisonError};

use referee_monitor::Argument;
use referee_theory::expr::Value;
use wasmi::{
    CompilationMode, Config, Engine, Error, Func, Linker, Memory, Module, Store, StoreLimits,
    StoreLimitsBuilder, TrapCode, Val,
};

use crate::Limits;
use crate::abi::{Shape, octets, scalar};
use crate::error::{FunctionsError, Problem};

/// A module and its idle instances.
pub(crate) struct Pool {
    pub(crate) name: String,
    module: Module,
    limits: Limits,
    idle: Mutex<Vec<Instance>>,
}

impl Pool {
    pub(crate) fn new(name: &str, wasm: &[u8], limits: Limits) -> Result<Self, FunctionsError> {
        let error = |problem| FunctionsError { module: name.to_owned(), problem };
        if !wasm.starts_with(b"\0asm") {
            return Err(error(Problem::NotWasm));
        }
        let mut config = Config::default();
        config.consume_fuel(true);
        // Lazily, translation would be charged to whichever call comes first.
        config.compilation_mode(CompilationMode::Eager);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, wasm).map_err(|why| error(Problem::Invalid(why.to_string())))?;
        let imports: Vec<_> =
            module.imports().map(|import| format!("{}.{}", import.module(), import.name())).collect();
        if !imports.is_empty() {
            return Err(error(Problem::Imports(imports)));
        }
        let pool = Self { name: name.to_owned(), module, limits, idle: Mutex::default() };
        let first = Instance::new(&pool.module, limits).map_err(|why| error(Problem::Start(why)))?;
        pool.put_back(first);
        Ok(pool)
    }

    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    pub(crate) fn error(&self, problem: Problem) -> FunctionsError {
        FunctionsError { module: self.name.clone(), problem }
    }

    /// What the exported function `export`, of shape `shape`, answers.
    pub(crate) fn call(&self, export: &str, shape: &Shape, args: &[Argument<'_>]) -> Result<Value, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut instance) = idle
            && let Ok(answer) = instance.call(export, shape, args, self.limits)
        {
            self.put_back(instance);
            return Ok(answer);
        }
        // Only what fails in a new instance fails: an old one may have used up its memory, and the answer must
        // not depend on which calls came before.
        let mut instance = Instance::new(&self.module, self.limits)?;
        let answer = instance.call(export, shape, args, self.limits)?;
        self.put_back(instance);
        Ok(answer)
    }

    fn put_back(&self, instance: Instance) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(instance);
    }
}

struct Instance {
    store: Store<StoreLimits>,
    exports: wasmi::Instance,
    memory: Option<Memory>,
    alloc: Option<Func>,
    /// Where arguments are put, and how much there is room for.
    room: (u32, usize),
    /// The arguments of the call, as they are passed.
    passed: Vec<Val>,
    /// The function that was called last: usually there is one.
    last: Option<(String, Func)>,
}

impl Instance {
    fn new(module: &Module, limits: Limits) -> Result<Self, String> {
        let bounds = StoreLimitsBuilder::new()
            .memory_size(limits.memory)
            .table_elements(1 << 16)
            .trap_on_grow_failure(true)
            .build();
        let mut store = Store::new(module.engine(), bounds);
        store.limiter(|bounds| bounds);
        store.set_fuel(limits.fuel).map_err(|why| why.to_string())?;
        let exports = Linker::new(module.engine())
            .instantiate_and_start(&mut store, module)
            .map_err(|why| explain(&why, limits))?;
        let memory = exports.get_memory(&store, "memory");
        let alloc = exports.get_func(&store, "alloc");
        Ok(Self { store, exports, memory, alloc, room: (0, 0), passed: Vec::new(), last: None })
    }

    fn call(
        &mut self,
        export: &str,
        shape: &Shape,
        args: &[Argument<'_>],
        limits: Limits,
    ) -> Result<Value, String> {
        self.pass(args, limits)?;
        // `alloc` is called seldom: what it used must not be missing in some calls and not in others.
        self.store.set_fuel(limits.fuel).map_err(|why| why.to_string())?;
        let function = match &self.last {
            Some((name, function)) if name == export => *function,
            _ => {
                let function = self.exports.get_func(&self.store, export).ok_or("it is not exported")?;
                self.last = Some((export.to_owned(), function));
                function
            }
        };
        let mut answer = [shape.blank()];
        function
            .call(&mut self.store, &self.passed, &mut answer)
            .map_err(|why| format!("it {}", explain(&why, limits)))?;
        let memory = self.memory.map_or(&[][..], |memory| memory.data(&self.store));
        let [answer] = &answer;
        shape.result(answer, memory)
    }

    /// Puts texts into the module's memory, and everything into `passed`.
    fn pass(&mut self, args: &[Argument<'_>], limits: Limits) -> Result<(), String> {
        let length = args.iter().filter_map(octets).map(<[u8]>::len).fold(0, usize::saturating_add);
        self.make_room(length, limits)?;
        self.passed.clear();
        let mut at = self.room.0;
        for argument in args {
            if let Some(bytes) = octets(argument) {
                let memory = self.memory.ok_or("it has no memory")?;
                memory
                    .write(&mut self.store, at as usize, bytes)
                    .map_err(|_| "its memory has become smaller")?;
                // INVARIANT: all lengths fit into the room, whose end is an address of 32 bits.
                let length = bytes.len() as u32;
                self.passed.extend([Val::I32(at.cast_signed()), Val::I32(length.cast_signed())]);
                at = at.wrapping_add(length);
            } else {
                self.passed.push(scalar(argument).ok_or("such a value cannot be passed")?);
            }
        }
        Ok(())
    }

    /// Sees to it that `length` bytes fit. What `alloc` gave is kept and used again, and asked for at least in
    /// doubles, so that a module need not free anything.
    fn make_room(&mut self, length: usize, limits: Limits) -> Result<(), String> {
        if length <= self.room.1 {
            return Ok(());
        }
        let too_much = || format!("arguments of {length} bytes do not fit into its {} bytes", limits.memory);
        if length > limits.memory {
            return Err(too_much());
        }
        let wanted = length.max(2 * self.room.1).clamp(256, limits.memory.max(256));
        let alloc = self.alloc.ok_or("it exports no `alloc`")?;
        self.store.set_fuel(limits.fuel).map_err(|why| why.to_string())?;
        let mut answer = [Val::I32(0)];
        let size = i32::try_from(wanted).map_err(|_| too_much())?;
        alloc
            .call(&mut self.store, &[Val::I32(size)], &mut answer)
            .map_err(|why| format!("`alloc` {}", explain(&why, limits)))?;
        let [Val::I32(start)] = answer else { return Err("`alloc` does not give an address".to_owned()) };
        let start = start.cast_unsigned();
        let size = self.memory.map_or(0, |memory| memory.data_size(&self.store));
        if start == 0 {
            return Err(format!("`alloc` gave no memory for {wanted} bytes"));
        }
        if (start as usize).checked_add(wanted).is_none_or(|end| end > size) {
            return Err(format!("`alloc` gave {wanted} bytes at {start}, outside its memory of {size}"));
        }
        self.room = (start, wanted);
        Ok(())
    }
}

/// Why a call gave no answer, after “it”.
fn explain(error: &Error, limits: Limits) -> String {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => {
            format!("did not come to an end within {} units of fuel", limits.fuel)
        }
        Some(TrapCode::GrowthOperationLimited) => {
            format!("needs more than {} bytes of memory", limits.memory)
        }
        Some(TrapCode::UnreachableCodeReached) => "gave up (`unreachable`, as after a panic)".to_owned(),
        Some(code) => format!("failed: {code}"),
        None => format!("failed: {error}"),
    }
}
