//! What `referee fix` writes into texts with any slip: what had been meant, or nothing.

use referee_syntax::{Content, Document, Language, corrected, hml, parse, print};

use crate::edits::{Edited, edit};
use crate::mutator::{Random, mutations, tokens};
use crate::texts::texts;

const SEEDS: [u64; 2] = [101, 202];

fn words(text: &str) -> Vec<&str> {
    tokens(text).into_iter().map(|token| &text[token]).collect()
}

/// What a text says, in the canonical form of its language: names of variables and layout apart.
fn meaning(document: &Document) -> Option<String> {
    let said = match &document.content {
        Content::Global(protocols) => protocols
            .iter()
            .map(|protocol| {
                let name = protocol.name.as_deref().unwrap_or("P");
                let text = print::scr(name, protocol.global.as_ref()?, &protocol.externals).ok()?;
                Some(format!("{} {text}", protocol.auxiliary))
            })
            .collect::<Option<Vec<String>>>()?
            .concat(),
        Content::Binary(protocol) => print::st(protocol).ok()?,
        Content::System(system) => {
            let sessions: String = system.sessions.iter().map(print::session).collect();
            format!("{}{sessions}", print::fsm(system.system.as_ref()?).ok()?)
        }
        Content::Properties(file) => hml::print(&file.properties),
    };
    document.is_usable().then_some(said)
}

/// Whether `text` lies between `slip` and `meant`: whatever was added had been dropped, and whatever was removed had been written
/// once too often.
fn is_on_the_way(text: &str, slip: &str, meant: &str) -> bool {
    let [text, slip, meant] = [text, slip, meant].map(words);
    let prefix = slip.iter().zip(&meant).take_while(|(one, other)| one == other).count();
    let shorter = slip.len().min(meant.len()) - prefix;
    let suffix = slip
        .iter()
        .rev()
        .zip(meant.iter().rev())
        .take(shorter)
        .take_while(|(one, other)| one == other)
        .count();
    let middle = |words: &[&str]| words.get(prefix..words.len().checked_sub(suffix)?).map(|m| m.join(" "));
    let (before, after) = (middle(&slip).unwrap_or_default(), middle(&meant).unwrap_or_default());
    let keeps_rest = text.len() >= prefix + suffix
        && text[..prefix] == meant[..prefix]
        && text[text.len() - suffix..] == meant[meant.len() - suffix..];
    let is_part = |part: &str, whole: &str| {
        let mut rest = whole.split(' ');
        part.split(' ').filter(|word| !word.is_empty()).all(|word| rest.any(|other| other == word))
    };
    let here = middle(&text).unwrap_or_default();
    keeps_rest
        && (is_part(&before, &here) && is_part(&here, &after)
            || is_part(&after, &here) && is_part(&here, &before))
}

/// Whether a text that was corrected with certainty says what one of the texts said that may have been meant.
fn is_meant(text: &str, language: Language, edited: &Edited) -> bool {
    let said = meaning(&parse(text, language));
    edited.meant.iter().any(|meant| {
        words(meant) == words(text)
            || said.is_some() && said == meaning(&parse(meant, language))
            || is_on_the_way(text, &edited.text, meant)
    }) || is_written_once(text, &edited.text)
}

/// Whether all that was removed had been written twice: what dropped words leave behind may look like that.
fn is_written_once(text: &str, slip: &str) -> bool {
    let (mut right, slip) = (words(text).into_iter().peekable(), words(slip));
    let mut last = "";
    for word in slip {
        if right.peek() == Some(&word) {
            last = word;
            right.next();
        } else if word != last {
            return false;
        }
    }
    right.next().is_none()
}

/// No name, number or text of the author's is lost, apart from words that are written twice and words of other languages.
fn lost_words(slip: &str, corrected: &str) -> Vec<String> {
    let mut left = words(corrected);
    let mut lost = Vec::new();
    for word in words(slip) {
        match left.iter().position(|other| *other == word) {
            Some(place) => drop(left.swap_remove(place)),
            None if word.starts_with(|c: char| c.is_alphanumeric() || c == '"') => lost.push(word.to_owned()),
            None => {}
        }
    }
    lost
}

#[test]
fn what_is_certain_is_what_was_meant() {
    let mutations = mutations(1);
    let (mut refused, mut changed, mut restored, mut wrong) = (0, 0, 0, Vec::new());
    for seed in SEEDS.into_iter().chain(crate::mutator::seeds()) {
        let mut random = Random::new(seed);
        for text in texts().iter().flat_map(|text| std::iter::repeat_n(text, mutations)) {
            let Some(edited) = edit(&text.text, &mut random) else { continue };
            if parse(&edited.text, text.language).is_usable() {
                continue;
            }
            refused += 1;
            let once = corrected(&edited.text, text.language);
            if once.corrections.is_empty() {
                continue;
            }
            changed += 1;
            let is_restored = words(&once.text) == words(&edited.meant[0]);
            restored += usize::from(is_restored);
            if is_restored {
                continue;
            }
            let how: Vec<String> = once
                .corrections
                .iter()
                .map(|made| format!("    - {}\n    + {}", made.before, made.after))
                .collect();
            let meant = is_meant(&once.text, text.language, &edited);
            let lost = lost_words(&edited.text, &once.text);
            let name = text.name.rsplit('/').next().unwrap_or_default();
            let said = format!(
                "{name}: {}{}\n{}",
                edited.what,
                if lost.is_empty() { String::new() } else { format!(" (lost {lost:?})") },
                how.join("\n")
            );
            println!("{} {said}", if meant { "OTHER" } else { "WRONG" });
            if !meant {
                wrong.push(said);
            }
        }
    }
    println!(
        "{refused} texts with a slip, {changed} corrected with certainty, {restored} as before, {} otherwise",
        wrong.len()
    );
    assert!(changed > 20, "only {changed} texts are corrected");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
