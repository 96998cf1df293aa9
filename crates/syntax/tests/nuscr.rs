//! nuScr's examples: what nuScr accepts is accepted, what it rejects is rejected for the real reason.
//! Exceptions are listed here and in `docs/differences.md`, each with its reason.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

use std::path::{Path, PathBuf};

use referee_syntax::{Analysis, Language, parse};

/// Accepted by nuScr's test suite, but not by Referee: the code that says why.
const REJECTED: [(&str, &str); 9] = [
    // nuScr answers "not implemented" to these, which its test suite counts as accepted.
    ("consensus/Clock.nuscr", "RF0208"),
    ("consensus/ClockAnnot.nuscr", "RF0208"),
    ("annot/Mcrsrv.nuscr", "RF0401"),
    ("from-scribble-java/demo/supplierinfo/SupplierInfoDemo.nuscr", "RF0401"),
    ("from-scribble-java/demo/supplierinfo/SupplierInfoOrig.nuscr", "RF0401"),
    // All of it is a comment.
    ("consensus/ClockAnnotRecTR.nuscr", "RF0006"),
    // nuScr's test suite leaves these out.
    ("consensus/ClockAnnotRec.nuscr", "RF0004"),
    ("from-scribble-java/demo/supplierinfo/SupplierInfoExper.nuscr", "RF0004"),
    ("from-scribble-java/demo/fase17/overview/P1.nuscr", "RF0401"),
];

/// Rejected by nuScr because no projection is defined, accepted by Referee because monitors can follow them
/// through relative types; or because two branches begin with the same message, which Scribble and Referee read as one.
const ACCEPTED: [&str; 3] = ["errors/ClockTR.nuscr", "errors/ClockAnnotTR.nuscr", "errors/Scratch1.nuscr"];

/// Rejected by nuScr: the code that names the real cause.
const CAUSES: [(&str, &str); 15] = [
    ("errors/MissingParticipant.nuscr", "RF0004"),
    ("ast-checks/errors/ArityMismatch.nuscr", "RF0107"),
    ("ast-checks/errors/DoCallsMismatch.nuscr", "RF0101"),
    ("ast-checks/errors/DuplicateRole.nuscr", "RF0108"),
    ("ast-checks/errors/OutOfScope.nuscr", "RF0101"),
    ("ast-checks/errors/RedefinedGlobal.nuscr", "RF0102"),
    ("ast-checks/errors/RedefinedNested.nuscr", "RF0102"),
    ("ast-checks/errors/UnboundRole.nuscr", "RF0103"),
    ("ltypes/errors/DuplicateLabel.nuscr", "RF0202"),
    ("ltypes/errors/UnmergeableChoice.nuscr", "RF0402"),
    ("ltypes/errors/UnmergeableRecv.nuscr", "RF0403"),
    ("ltypes/errors/WrongCaller1.nuscr", "RF0206"),
    ("ltypes/errors/WrongCaller2.nuscr", "RF0403"),
    ("parser/errors/ContAfterChoice.nuscr", "RF0218"),
    ("parser/errors/ContAfterRec.nuscr", "RF0218"),
];

fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("REFEREE_CORPUS").map_or(beside, PathBuf::from).join("nuscr");
    folder.is_dir().then_some(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "nuscr") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn nuscr_examples_are_read_as_nuscr_reads_them() {
    let Some(folder) = corpus() else {
        println!("skipped: no corpus beside the project");
        return;
    };
    let files = files(&folder);
    assert!(files.len() > 60, "only {} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        let is = |listed: &str| name.ends_with(listed);
        let text = std::fs::read_to_string(&file).unwrap();
        let analysis = Analysis::of(parse(&text, Language::Scr));
        let errors: Vec<&str> =
            analysis.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.id).collect();
        let listed = CAUSES.iter().chain(&REJECTED).find(|(file, _)| is(file));
        let todo = name.starts_with("TODO");
        let should_fail = listed.is_some() || name.contains("errors/") && !ACCEPTED.iter().any(|f| is(f));
        match (should_fail, errors.is_empty()) {
            _ if todo => {}
            (true, true) => wrong.push(format!("{name} is accepted")),
            (false, false) => wrong.push(format!("{name} is rejected: {errors:?}")),
            (true, false) => {
                if let Some((_, code)) = listed
                    && !errors.contains(code)
                {
                    wrong.push(format!("{name}: {errors:?} instead of {code}"));
                }
            }
            (false, true) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
