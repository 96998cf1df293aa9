//! Every example in the pages of the languages is read; what it gets is what the comments in it say.

use referee_syntax::{Analysis, Language, parse};

const PAGES: [(&str, &str, usize); 7] = [
    ("scr", include_str!("../../../../docs/languages/scr.md"), 5),
    ("scr", include_str!("../../../../docs/languages/conditions.md"), 3),
    ("kmc", include_str!("../../../../docs/languages/kmc.md"), 3),
    ("fsm", include_str!("../../../../docs/languages/fsm.md"), 2),
    ("gt", include_str!("../../../../docs/languages/gt.md"), 2),
    ("st", include_str!("../../../../docs/languages/st.md"), 2),
    ("hml", include_str!("../../../../docs/languages/hml.md"), 2),
];

#[test]
fn the_pages_of_the_languages_say_what_is_so() {
    let mut untrue = Vec::new();
    for (name, page, least) in PAGES {
        let language = Language::from_name(name).expect("a language");
        let fence = format!("```{name}\n");
        let blocks: Vec<&str> =
            page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
        assert!(blocks.len() >= least, "{} examples of {name}", blocks.len());
        for block in blocks {
            let mut promised: Vec<&str> =
                block.split("error: ").skip(1).map(|rest| rest.get(..6).unwrap_or_default()).collect();
            let analysis = Analysis::of(parse(block, language));
            let errors = analysis.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
            let mut found: Vec<&str> = errors.map(|diagnostic| diagnostic.code.id).collect();
            promised.sort_unstable();
            found.sort_unstable();
            if found != promised {
                let said: Vec<&String> = analysis.diagnostics.iter().map(|d| &d.message).collect();
                untrue.push(format!("{found:?} instead of {promised:?}: {said:?}\n{block}"));
            }
        }
    }
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}
