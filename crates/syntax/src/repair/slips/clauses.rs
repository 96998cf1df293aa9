//! Slips in what stands in a message and behind it: payloads, receivers, conditions, answers, connections.

use super::{Candidate, Scene, refused, replace, slip};
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(payload_behind_colon(scene));
    found.extend(colon_for_from(scene));
    found.extend(roles_first(scene));
    found.extend(actions(scene));
    found.extend(everybody(scene));
    found.extend(other_condition(scene));
    found.extend(bracketed_condition(scene));
    found.extend(early_condition(scene));
    found.extend(lone_condition(scene));
    found.extend(answer(scene));
    found.extend(seconds(scene));
    found.extend(annotation(scene));
    found.extend(connection(scene));
    found.extend(refined_type(scene));
    found.extend(generic_type(scene));
    found.extend(array_type(scene));
    found.extend(bracketed_type(scene));
    found.extend(several_types(scene));
    found.extend(qualified_field(scene));
    found.extend(more_fields(scene));
    found
}

/// `m: int from A to B;`
fn payload_behind_colon(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let from = (start + 2..statement.end).find(|&piece| scene.word(piece) == "from")?;
    if !scene.is_word(start)
        || scene.word(start + 1) != ":"
        || from < start + 3
        || scene.word(from + 2) != "to"
    {
        return None;
    }
    let payload = scene.words(start + 2..from);
    let right = format!("{}({payload})", scene.word(start));
    let edit = replace(scene.spans(start..from), right.clone());
    let message = "what a message carries stands in parentheses";
    Some(slip(scene.spans(start + 1..from), message, format!("write `{right}`"), [edit]))
}

/// `m(): A to B;`
fn colon_for_from(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let is_one = |piece: &usize| {
        *piece > 0
            && scene.word(piece - 1) == ")"
            && scene.word(*piece) == ":"
            && scene.is_word(piece + 1)
            && scene.word(piece + 2) == "to"
    };
    let colon = statement.clone().find(is_one)?;
    let sender = scene.word(colon + 1);
    let gap = Span { start: scene.span(colon - 1).end, end: scene.span(colon + 1).start };
    let help = format!("write `from {sender} to {}`", scene.word(colon + 3));
    Some(slip(scene.span(colon), "who sends stands behind `from`", help, [replace(gap, " from ")]))
}

/// `A to B: m();`
fn roles_first(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let is_one = scene.is_word(start)
        && scene.word(start + 1) == "to"
        && scene.is_word(start + 2)
        && scene.word(start + 3) == ":";
    if !is_one || start + 4 >= statement.end {
        return None;
    }
    let (from, to) = (scene.word(start), scene.word(start + 2));
    let right = format!("{} from {from} to {to}", scene.words(start + 4..statement.end));
    let help = format!("write `{right};`");
    let message = "the message comes first, then who sends it";
    Some(slip(scene.spans(start..start + 4), message, help, [replace(scene.spans(statement), right)]))
}

/// `A!B: m();`, `A?m;`: what one role does.
fn actions(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let mark = start + 1;
    if !scene.is_word(start) || !matches!(scene.word(mark), "!" | "?") || !scene.is_word(mark + 1) {
        return None;
    }
    let label = mark + 2 + usize::from(matches!(scene.word(mark + 2), ":" | "<" | "."));
    let (one, other) = (scene.word(start), scene.word(mark + 1));
    let message = "a global protocol says who sends to whom, not what one role does";
    if scene.word(mark) == "!" && scene.is_word(label) && label < statement.end {
        let right = format!("{} from {one} to {other}", scene.words(label..statement.end));
        let help = format!("write `{right};`");
        return Some(slip(
            scene.spans(start..mark + 2),
            message,
            help,
            [replace(scene.spans(statement), right)],
        ));
    }
    let end = statement.end + usize::from(scene.word(statement.end) == ";");
    let help = format!("write `{other}() from … to …;`, once for both sides");
    Some(refused(scene.spans(start..mark + 2), message, help, scene.spans(start..end)))
}

/// `m() from A to *;`, `broadcast m() from A;`
fn everybody(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let end = statement.end + usize::from(scene.word(statement.end) == ";");
    let star = statement
        .clone()
        .find(|&piece| scene.word(piece) == "*" && piece > 0 && scene.word(piece - 1) == "to");
    let word = Some(statement.start).filter(|&word| matches!(scene.word(word), "broadcast" | "multicast"));
    let at = star.or(word)?;
    let message = "each receiver is named";
    let help = "write `m() from A to B, C;`";
    Some(refused(scene.span(at), message, help, scene.spans(statement.start..end)))
}

const CONDITION_WORDS: [&str; 11] =
    ["if", "when", "with", "requires", "require", "ensures", "assert", "given", "provided", "such", "iff"];

/// Where the header of a message ends, `m(…) from A to B, C`: the piece behind it.
fn behind_roles(scene: &Scene<'_>) -> Option<usize> {
    let statement = scene.statement();
    let from = statement.clone().find(|&piece| scene.word(piece) == "from")?;
    let to = (from + 2..statement.end).find(|&piece| scene.word(piece) == "to")?;
    let mut end = to + 2;
    while scene.word(end) == "," && scene.is_word(end + 1) {
        end += 2;
    }
    (end <= statement.end.max(scene.at)).then_some(end)
}

/// `m(x: int) from A to B if x > 0;`, `…: x > 0;`
fn other_condition(scene: &Scene<'_>) -> Option<Candidate> {
    let word = behind_roles(scene)?;
    let found = scene.word(word);
    let is_one = CONDITION_WORDS.contains(&found) || found == ":";
    let next = word + 1 + usize::from(found == "such" && scene.word(word + 1) == "that");
    if !is_one || matches!(scene.word(next), ";" | "") {
        return None;
    }
    let gap = Span { start: scene.span(word - 1).end, end: scene.span(next).start };
    let help = format!("write `where {}`", scene.words(next..scene.statement().end.max(next + 1)));
    Some(slip(scene.span(word), "a condition stands behind `where`", help, [replace(gap, " where ")]))
}

/// `m(x: int) from A to B [x > 0];`, `… {x > 0};`
fn bracketed_condition(scene: &Scene<'_>) -> Option<Candidate> {
    let open = behind_roles(scene)?;
    if !matches!(scene.word(open), "[" | "{") {
        return None;
    }
    let close = scene.closing(open);
    let has_operator = (open..close)
        .any(|piece| matches!(scene.word(piece), ">" | "<" | "=" | "==" | "!=" | ">=" | "<=" | "&&"));
    if !matches!(scene.word(close), "]" | "}") || close < open + 2 || !has_operator {
        return None;
    }
    let condition = scene.words(open + 1..close);
    let gap = Span { start: scene.span(open - 1).end, end: scene.span(open + 1).start };
    let edits = [
        replace(gap, " where "),
        replace(Span { start: scene.span(close - 1).end, end: scene.span(close).end }, ""),
    ];
    Some(slip(
        scene.span(open),
        "a condition stands behind `where`",
        format!("write `where {condition}`"),
        edits,
    ))
}

/// `m(x: int) where x > 0 from A to B;`
fn early_condition(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let condition = statement.clone().find(|&piece| scene.word(piece) == "where")?;
    let from = (condition + 1..statement.end).find(|&piece| scene.word(piece) == "from")?;
    if statement.clone().any(|piece| scene.word(piece) == "from" && piece < condition) {
        return None;
    }
    let (clause, roles) = (scene.words(condition..from), scene.words(from..statement.end));
    let right = format!("{roles} {clause}");
    let help = format!("write `{right};`");
    let edit = replace(scene.spans(condition..statement.end), right);
    Some(slip(
        scene.spans(condition..from),
        "a condition stands behind who sends and who receives",
        help,
        [edit],
    ))
}

/// `assert x > 0;`
fn lone_condition(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let is_one =
        matches!(scene.word(start), "assert" | "require" | "requires" | "assume" | "check" | "ensure");
    let is_message = statement.clone().any(|piece| matches!(scene.word(piece), "from" | "to"));
    if !is_one || is_message || statement.len() < 2 {
        return None;
    }
    let end = statement.end + usize::from(scene.word(statement.end) == ";");
    let first = start + 1 + usize::from(scene.word(start + 1) == "(");
    let last = statement.end - usize::from(first > start + 1 && scene.word(statement.end - 1) == ")");
    let help = format!("write `m(…) from A to B where {};`", scene.words(first..last.max(first + 1)));
    Some(refused(scene.spans(statement), "a condition belongs to a message", help, scene.spans(start..end)))
}

/// `m() from A to B returns n();`
fn answer(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let word = behind_roles(scene)?;
    if !matches!(scene.word(word), "returns" | "returning" | "reply" | "replies" | "->" | "then")
        || !scene.is_word(word + 1)
    {
        return None;
    }
    let to = word.checked_sub(2).filter(|&to| scene.word(to) == "to" && scene.word(to - 2) == "from")?;
    let roles = format!("from {} to {}", scene.word(to + 1), scene.word(to - 1));
    let payload = if scene.word(word + 2) == "(" { "" } else { "()" };
    let message = "an answer is a message of its own";
    let right = format!("{}{payload} {roles}", scene.words(word + 1..statement.end));
    let gap = Span { start: scene.span(word - 1).end, end: scene.span(statement.end - 1).end };
    Some(slip(scene.span(word), message, format!("write `; {right};`"), [replace(gap, format!("; {right}"))]))
}

/// `within 5 seconds`, `timeout 5s`
fn seconds(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let is_number = |piece: usize| scene.word(piece).starts_with(|first: char| first.is_ascii_digit());
    let unit = |word: &str| match word {
        "milliseconds" | "millisecond" | "millis" | "msec" | "ms" => Some("ms"),
        "seconds" | "second" | "secs" | "sec" | "s" => Some("s"),
        "minutes" | "minute" | "mins" | "min" | "m" => Some("m"),
        "hours" | "hour" | "h" => Some("h"),
        _ => None,
    };
    if let Some(word) = (statement.start + 2..statement.end)
        .find(|&word| is_number(word - 1) && unit(scene.word(word)).is_some())
        && matches!(scene.word(word - 2), "within" | "after")
    {
        let right = format!("{}{}", scene.word(word - 1), unit(scene.word(word))?);
        let span = scene.spans(word - 1..word + 1);
        return Some(slip(
            span,
            "a time is a number with its unit, in one word",
            format!("write `{right}`"),
            [replace(span, right)],
        ));
    }
    let is_word =
        |piece: &usize| matches!(scene.word(*piece), "timeout" | "deadline" | "before" | "until" | "in");
    let word = statement.clone().find(is_word).filter(|&word| is_number(word + 1))?;
    let is_clear = !matches!(scene.word(word), "until" | "in");
    let help = format!("write `within {}`", scene.word(word + 1));
    let found = slip(
        scene.span(word),
        "how long a message may take stands behind `within`",
        help,
        [replace(scene.span(word), "within")],
    );
    Some(found.doubtful_if(!is_clear))
}

/// `m() from A to B @"x > 0";`
fn annotation(scene: &Scene<'_>) -> Option<Candidate> {
    let at = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "@")?;
    let last = at.checked_sub(1).filter(|&last| scene.is_word(last))?;
    let is_one = scene.word(at + 1).starts_with('"') && scene.word(at + 2) == ";";
    let edits = [super::insert(scene.span(last).end, ";"), replace(scene.span(at + 2), "")];
    let message = "an annotation stands behind the `;` of its message";
    let help = format!("write `; @{}`", scene.word(at + 1));
    is_one.then(|| slip(scene.spans(at..at + 2), message, help, edits).doubtful())
}

/// `connect A -> B;`, `connect A, B;`, `disconnect A to B;`
fn connection(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let (right, message) = match scene.word(start) {
        "connect" => ("to", "`connect` names who connects, and to whom"),
        "disconnect" => ("and", "`disconnect` names both roles"),
        _ => return None,
    };
    let joined = scene.word(start + 2);
    if !scene.is_word(start + 1) || joined == right || !scene.is_word(start + 3) || start + 4 != statement.end
    {
        return None;
    }
    let (one, other) = (scene.word(start + 1), scene.word(start + 3));
    let gap = Span { start: scene.span(start + 1).end, end: scene.span(start + 3).start };
    let help = format!("write `{} {one} {right} {other};`", scene.word(start));
    let found = slip(scene.span(start + 2), message, help, [replace(gap, format!(" {right} "))]);
    // Between two roles that are joined nothing says which one connects.
    Some(found.doubtful_if(right == "to" && matches!(joined, "and" | "," | "&")))
}

/// `x: int | x > 0`, `x: {v: int | v > 0}`
fn refined_type(scene: &Scene<'_>) -> Option<Candidate> {
    let bar = (scene.at.saturating_sub(1)..=scene.at + 4).find(|&piece| scene.word(piece) == "|")?;
    if !scene.in_parentheses(bar) || !scene.is_word(bar.checked_sub(1)?) || !scene.is_word(bar + 1) {
        return None;
    }
    let message = "what must hold of a field stands in braces behind its type";
    let (ty, name) = (scene.word(bar - 1), scene.word(bar.checked_sub(3)?));
    let braces = bar.checked_sub(4).filter(|&open| scene.word(open) == "{" && scene.word(bar - 2) == ":");
    let end = (bar..scene.pieces.len()).find(|&piece| matches!(scene.word(piece), ")" | "}" | ","))?;
    let condition = scene.words(bar + 1..end);
    if let Some(open) = braces {
        // The field may be called otherwise than the value in its type.
        let field =
            if scene.word(open.checked_sub(1)?) == ":" { scene.word(open.checked_sub(2)?) } else { name };
        let help = format!("write `{field}: {ty}{{{}}}`", condition.replace(name, field));
        return Some(refused(scene.spans(open..end + 1), message, help, scene.spans(bar..end)));
    }
    let right = format!("{ty}{{{condition}}}");
    let edit = replace(scene.spans(bar - 1..end), right.clone());
    Some(slip(scene.span(bar), message, format!("write `{right}`"), [edit]))
}

/// `List<int>`, `Option<int>`, `map<string, int>`
fn generic_type(scene: &Scene<'_>) -> Option<Candidate> {
    let open = (scene.at.saturating_sub(4)..=scene.at).rev().find(|&piece| scene.word(piece) == "<")?;
    let name = open.checked_sub(1).filter(|&name| scene.is_word(name) && scene.in_parentheses(open))?;
    let close = (open..scene.pieces.len().min(open + 20)).find(|&piece| scene.word(piece) == ">")?;
    let element = scene.words(open + 1..close);
    let skipped = Span { start: scene.span(name).end, end: scene.span(close).end };
    match scene.word(name).to_ascii_lowercase().as_str() {
        "list" | "array" | "vec" | "vector" | "seq" | "sequence" | "set" | "slice" | "iterable"
            if scene.word(name) != "list" =>
        {
            let help = format!("write `list<{element}>`");
            Some(slip(
                scene.span(name),
                "a list is written `list<…>`",
                help,
                [replace(scene.span(name), "list")],
            ))
        }
        "option" | "optional" | "maybe" | "nullable" => {
            let help = "write a choice of two messages, one of them without the field";
            Some(refused(scene.spans(name..close + 1), "there are no optional fields", help, skipped))
        }
        "map" | "dict" | "hashmap" | "dictionary" | "record" => {
            let help =
                format!("write `list<({element})>`, or a record `{{key: …}}` where the keys are known");
            Some(refused(scene.spans(name..close + 1), "there are no maps", help, skipped))
        }
        "list" => None,
        _ => {
            let help = format!(
                "declare `type {};`, and write `{}`: its values are not looked into",
                scene.word(name),
                scene.word(name)
            );
            Some(refused(
                scene.spans(name..close + 1),
                "types of one's own have no parameters",
                help,
                skipped,
            ))
        }
    }
}

/// `int[]`
fn array_type(scene: &Scene<'_>) -> Option<Candidate> {
    let open = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "[")?;
    let element =
        open.checked_sub(1).filter(|&element| scene.is_word(element) && scene.in_parentheses(open))?;
    if scene.word(open + 1) != "]" {
        return None;
    }
    let right = format!("list<{}>", scene.word(element));
    let span = scene.spans(element..open + 2);
    Some(slip(span, "a list is written `list<…>`", format!("write `{right}`"), [replace(span, right)]))
}

/// `[int]`
fn bracketed_type(scene: &Scene<'_>) -> Option<Candidate> {
    let open = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "[")?;
    if !scene.is_word(open + 1) || scene.word(open + 2) != "]" || !scene.in_parentheses(open) {
        return None;
    }
    let right = format!("list<{}>", scene.word(open + 1));
    let span = scene.spans(open..open + 3);
    Some(slip(span, "a list is written `list<…>`", format!("write `{right}`"), [replace(span, right)]))
}

/// `x: "a" | "b"`, `x: int | string`
fn several_types(scene: &Scene<'_>) -> Option<Candidate> {
    let colon = (scene.at.saturating_sub(3)..=scene.at).rev().find(|&piece| scene.word(piece) == ":")?;
    let field = colon.checked_sub(1).filter(|&field| scene.is_word(field) && scene.in_parentheses(colon))?;
    let end = (colon..scene.pieces.len()).find(|&piece| matches!(scene.word(piece), ")" | ","))?;
    let texts: Vec<usize> = (colon + 1..end).filter(|&piece| scene.word(piece).starts_with('"')).collect();
    let name = scene.word(field);
    if texts.is_empty() {
        return None;
    }
    let all: Vec<&str> = texts.iter().map(|&piece| scene.word(piece)).collect();
    let help =
        format!("write `{name}: string`, and `where {name} in [{}]` behind the message", all.join(", "));
    let gap = Span { start: scene.span(colon).start, end: scene.span(end - 1).end };
    Some(refused(scene.spans(colon + 1..end), "a value is not a type", help, gap))
}

/// `m(in x: int)`
fn qualified_field(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |piece: &usize| {
        matches!(
            scene.word(*piece),
            "in" | "out" | "inout" | "const" | "final" | "var" | "val" | "let" | "ref" | "mut" | "required"
        ) && *piece > 0
            && matches!(scene.word(piece - 1), "(" | ",")
            && scene.is_word(piece + 1)
            && scene.word(piece + 2) == ":"
    };
    let word = (scene.at.saturating_sub(2)..=scene.at + 1).find(is_one)?;
    let gap = Span { start: scene.span(word).start, end: scene.span(word + 1).start };
    let message = format!("a field is its name and its type, without `{}`", scene.word(word));
    Some(slip(scene.span(word), message, "remove it", [replace(gap, "")]))
}

/// `m(x: int, ...)`
fn more_fields(scene: &Scene<'_>) -> Option<Candidate> {
    let dots = (scene.at.saturating_sub(2)..=scene.at)
        .find(|&piece| matches!(scene.word(piece), "." | "…") && scene.in_parentheses(piece))?;
    let end =
        (dots..scene.pieces.len()).find(|&piece| scene.word(piece) != "." && scene.word(piece) != "…")?;
    let is_rest = matches!(scene.word(dots.checked_sub(1)?), "," | "(") && scene.word(end) == ")";
    let start = if scene.word(dots - 1) == "," { dots - 1 } else { dots };
    let help = "write all of them, or one field that carries the rest, such as `rest: list<string>`";
    is_rest.then(|| {
        refused(
            scene.spans(dots..end),
            "the fields of a message are named one by one",
            help,
            scene.spans(start..end),
        )
    })
}
