//! Every property in the user documentation is read; what it gets is what the text beside it says.

use referee_syntax::{Language, parse};

#[test]
fn the_documentation_says_what_is_so() {
    let text = include_str!("../../../../docs/properties.md");
    let blocks: Vec<&str> =
        text.split("```hml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= 15, "{} blocks", blocks.len());
    for block in blocks {
        let promised: Vec<&str> =
            block.split("warning: ").skip(1).map(|rest| rest.get(..6).unwrap_or_default()).collect();
        let diagnostics = parse(block, Language::Hml).diagnostics;
        let found: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect();
        assert_eq!(found, promised, "{block}\n{diagnostics:?}");
    }
}
