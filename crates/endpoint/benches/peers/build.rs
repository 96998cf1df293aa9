//! Generates the endpoints of each of `protocols`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use referee_generate::{Plan, Subject, rust};
use referee_pipeline::{Language, Parsed};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
    for entry in std::fs::read_dir("protocols").unwrap() {
        let path = entry.unwrap().path();
        println!("cargo::rerun-if-changed={}", path.display());
        let parsed = Parsed::new(&std::fs::read_to_string(&path).unwrap(), Language::Scr);
        let protocol = parsed.well_formed().unwrap_or_else(|error| panic!("{error}")).protocol(None).unwrap();
        let vocabulary = protocol.vocabulary();
        let machines: Vec<_> = vocabulary.roles().map(|role| protocol.machine(role).unwrap()).collect();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let plan = Plan::new(&Subject {
            protocol: name,
            file: name,
            vocabulary,
            machines: &machines,
            predicates: BTreeMap::new(),
            comment: &|_| Vec::new(),
            about: Vec::new(),
        })
        .unwrap();
        // The attributes of a file have no place where it is included.
        let text = rust(&plan, "predicates");
        let lines = text.lines().filter(|line| !line.starts_with("//!") && !line.starts_with("#!["));
        std::fs::write(out.join(name).with_extension("rs"), lines.collect::<Vec<_>>().join("\n")).unwrap();
    }
}
