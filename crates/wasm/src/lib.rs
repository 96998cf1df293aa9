//! The pure crates as one WebAssembly module: what a page without a server calls.
//!
//! A page writes `path`, a line feed and the text of a file into [`buffer`], and calls [`open`]; for the services, the check and
//! the pictures of a file it writes the path, calls [`answers`], and reads as many bytes. Natively [`Module`] is the same,
//! and `./test wasm` compares both. Language services are in `crates/ide`, pictures in `crates/referee/src/view`.

mod report;

use std::sync::{Mutex, MutexGuard, PoisonError};

use referee_ide::Workspace;

/// The files that were opened, and the bytes that go in and out.
#[derive(Debug, Default)]
pub struct Module {
    workspace: Option<Workspace>,
    buffer: Vec<u8>,
}

impl Module {
    /// A module without files.
    #[must_use]
    pub const fn new() -> Self {
        Self { workspace: None, buffer: Vec::new() }
    }

    /// The file at `path` holds `text`. Returns whether its language is known.
    pub fn open(&mut self, path: &str, text: &str) -> bool {
        self.workspace.get_or_insert_default().set(path, text)
    }

    /// What every service says about the file at `path`, what the check says, and the pictures.
    #[must_use]
    pub fn answers(&self, path: &str) -> String {
        self.workspace.as_ref().map_or_else(String::new, |workspace| report::of(workspace, path))
    }

    fn taken(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }
}

static MODULE: Mutex<Module> = Mutex::new(Module::new());

fn module() -> MutexGuard<'static, Module> {
    MODULE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where `length` bytes can be written, or the answer be read; the address is good until the next call.
#[expect(unsafe_code, reason = "the name that the module exports")]
#[unsafe(no_mangle)]
pub extern "C" fn buffer(length: usize) -> *mut u8 {
    let mut module = module();
    module.buffer.resize(length, 0);
    module.buffer.as_mut_ptr()
}

/// The buffer holds a path, a line feed and the text of a file. Returns 1 if its language is known.
#[expect(unsafe_code, reason = "the name that the module exports")]
#[unsafe(no_mangle)]
pub extern "C" fn open() -> u32 {
    let mut module = module();
    let given = module.taken();
    let (path, text) = given.split_once('\n').unwrap_or((&given, ""));
    u32::from(module.open(path, text))
}

/// The buffer holds a path. Afterwards it holds [`Module::answers`], of as many bytes as are returned.
#[expect(unsafe_code, reason = "the name that the module exports")]
#[unsafe(no_mangle)]
pub extern "C" fn answers() -> usize {
    let mut module = module();
    let path = module.taken();
    module.buffer = module.answers(&path).into_bytes();
    module.buffer.len()
}
