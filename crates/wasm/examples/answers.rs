//! What the module answers when it is no module: the answers about the files given, each after its path. Run by `./test wasm`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;

fn main() {
    let mut module = referee_wasm::Module::new();
    let paths: Vec<String> = std::env::args().skip(1).collect();
    for path in &paths {
        module.open(path, &String::from_utf8_lossy(&fs::read(path).expect("a file")));
    }
    for path in &paths {
        println!("{path}\n{}", module.answers(path));
    }
}
