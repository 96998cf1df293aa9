//! Every input of the original tools' own tests is accepted.

use referee_syntax::{Content, Language};

use crate::support::{corpus, errors, files, parse, said};

fn accept_all(folder: &str, extension: &str, language: Option<Language>, except: &[&str], at_least: usize) {
    let Some(corpus) = corpus() else { return };
    let mut accepted = 0;
    for (path, text) in files(&corpus.join(folder), extension) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if except.contains(&name) {
            continue;
        }
        let language = language.or_else(|| Language::detect(name, &text));
        let language = language.unwrap_or_else(|| panic!("{}: which language?", path.display()));
        let document = parse(language, &text).expect("one of our languages");
        assert!(document.is_usable(), "{} as {language}:\n{}", path.display(), said(&document));
        let complete = match &document.content {
            Content::Global(protocols) => protocols.iter().all(|protocol| protocol.global.is_some()),
            Content::Binary(protocol) => protocol.session.is_some(),
            Content::System(system) => system.system.is_some(),
            Content::Properties(file) => !file.properties.is_empty(),
        };
        assert!(complete, "{}", path.display());
        accepted += 1;
    }
    assert!(accepted >= at_least, "only {accepted} files in {folder}");
}

#[test]
fn stmonitor() {
    accept_all("st", "st", Some(Language::St), &[], 6);
}

#[test]
fn relamon_text() {
    accept_all("gt", "gt", Some(Language::Gt), &["19.go-fish.gt"], 23);
}

#[test]
fn relamon_json() {
    accept_all("gt/json", "json", Some(Language::GtJson), &[], 4);
}

#[test]
fn kmc() {
    // `scm.txt` is written for another tool, McScM: KMC refuses it too.
    accept_all("kmc", "txt", None, &["scm.txt"], 100);
}

#[test]
fn unfinished_text_is_refused_where_it_is_unfinished() {
    let Some(corpus) = corpus() else { return };
    let text = crate::support::read(&corpus.join("gt/19.go-fish.gt"));
    let document = referee_syntax::gt::parse(&text);
    assert_eq!(errors(&document)[..3], ["RF0701", "RF0701", "RF0701"], "{}", said(&document));
}
