//! When two texts, or two protocols, are the same.

use referee_syntax::scr::ast::Module;
use referee_syntax::scr::parse_module;

/// All that the parser makes of `text`, but for places: equal exactly if the modules are.
pub(crate) fn shape(text: &str) -> String {
    let (module, diagnostics) = parse_module(text);
    let errors: Vec<_> = diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    shape_of(&module)
}

fn shape_of(module: &Module) -> String {
    let all = format!("{module:#?}");
    // `Span { start: 1, end: 2 }` and `Place { … }`, each on four lines.
    let mut shape = String::with_capacity(all.len() / 2);
    let mut lines = all.lines();
    while let Some(line) = lines.next() {
        if line.ends_with("Span {") || line.ends_with("Place {") {
            lines.by_ref().take(3).for_each(drop);
            shape.push('@');
        } else {
            shape.push_str(line.trim_start());
        }
        shape.push('\n');
    }
    shape
}

/// The comments of `text`, line by line, without the blanks around their lines.
pub(crate) fn comments(text: &str) -> Vec<String> {
    let (module, _) = parse_module(text);
    module.comments.iter().map(|span| normalised(&text[span.range()])).collect()
}

fn normalised(comment: &str) -> String {
    let lines: Vec<&str> = comment.lines().map(str::trim).collect();
    lines.join("\n").replacen("(*#", "(* #", 1)
}

/// The first lines in which two texts differ.
pub(crate) fn difference(left: &str, right: &str) -> Option<String> {
    let mut right = right.lines().chain(std::iter::once("the end"));
    let mut before = "";
    for line in left.lines().chain(std::iter::once("the end")) {
        let other = right.next().unwrap_or_default();
        if line != other {
            return Some(format!("after {before:?}: {line:?} against {other:?}"));
        }
        before = line;
    }
    None
}
