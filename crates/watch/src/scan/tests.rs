//! The scanner accepts JSON and nothing else, over many small texts and some nasty ones.

use referee_monitor::FieldValue;

use super::{number, skip_value, text};

fn accepts(text: &str) -> bool {
    skip_value(text.as_bytes(), 0) == Ok(text.len())
}

#[test]
fn accepts_json_and_nothing_else() {
    let good = [
        "0",
        "-0",
        "10",
        "1.5",
        "1e5",
        "1E+5",
        "-1.25e-3",
        "true",
        "false",
        "null",
        "\"\"",
        "\"a\"",
        r#""\n\"\\\/\b\f\r\t\u00e9""#,
        "[]",
        "{}",
        "[ ]",
        "{ }",
        "[1,2]",
        "[ 1 , [ ] ]",
        r#"{"a":1}"#,
        r#"{ "a" : [ { "b" : null } ] , "c" : "]}" }"#,
        r#"{"a":{"b":{"c":[[[]]]}}}"#,
    ];
    for text in good {
        assert!(accepts(text), "{text}");
    }
    let bad = [
        "",
        " ",
        "01",
        "-",
        "+1",
        ".5",
        "1.",
        "1e",
        "1e+",
        "tru",
        "True",
        "nul",
        "NaN",
        "Infinity",
        "-Infinity",
        "\"",
        "\"a",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\",
        "\"\t\"",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,]",
        "[1 2]",
        "{",
        "{]",
        "[}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{1:2}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "[1\n]",
        "\"a\nb\"",
    ];
    for text in bad {
        assert!(!accepts(text), "{text}");
    }
}

/// Every text of up to seven of these pieces: accepted if and only if brackets, commas and colons are in place.
#[test]
fn agrees_with_a_recursive_reading() {
    const PIECES: [&str; 8] = ["{", "}", "[", "]", ",", ":", "\"k\"", "1"];
    fn value(pieces: &[usize], i: usize) -> Option<usize> {
        match PIECES.get(*pieces.get(i)?)? {
            &"{" => members(pieces, i + 1, true),
            &"[" => members(pieces, i + 1, false),
            &"\"k\"" | &"1" => Some(i + 1),
            _ => None,
        }
    }
    fn members(pieces: &[usize], mut i: usize, object: bool) -> Option<usize> {
        let close = if object { 1 } else { 3 };
        if *pieces.get(i)? == close {
            return Some(i + 1);
        }
        loop {
            if object {
                if *pieces.get(i)? != 6 || *pieces.get(i + 1)? != 5 {
                    return None;
                }
                i += 2;
            }
            i = value(pieces, i)?;
            match *pieces.get(i)? {
                4 => i += 1,
                piece if piece == close => return Some(i + 1),
                _ => return None,
            }
        }
    }
    let mut accepted = 0;
    for length in 1..=7_u32 {
        for number in 0..8_usize.pow(length) {
            let pieces: Vec<usize> = (0..length).map(|k| number / 8_usize.pow(k) % 8).collect();
            let text: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
            // `11` is one number and two pieces.
            if text.contains("11") {
                continue;
            }
            let expected = value(&pieces, 0) == Some(pieces.len());
            assert_eq!(accepts(&text), expected, "{text}");
            accepted += usize::from(expected);
        }
    }
    assert!(accepted > 50, "only {accepted} texts were accepted");
}

#[test]
fn nesting_is_bounded_and_costs_no_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(accepts(&nested(128)) && accepts(&nested(129)), "an empty container inside is not a level");
    assert!(!accepts(&nested(130)));
    assert!(!accepts(&"[".repeat(1_000_000)));
    assert!(!accepts(&"{\"a\":".repeat(1_000_000)));
}

#[test]
fn numbers_have_their_values() {
    let value = |text: &str| number::value(text, 0).unwrap().0;
    assert_eq!(value("0"), FieldValue::Int(0));
    assert_eq!(value("-0"), FieldValue::Int(0));
    assert_eq!(value("9223372036854775807"), FieldValue::Int(i64::MAX));
    assert_eq!(value("-9223372036854775808"), FieldValue::Int(i64::MIN));
    assert_eq!(value("9223372036854775808"), FieldValue::Float(9_223_372_036_854_775_808.0));
    assert_eq!(value("999999999999999999"), FieldValue::Int(999_999_999_999_999_999));
    assert_eq!(value("1.0"), FieldValue::Float(1.0));
    assert!(matches!(value("1e999"), FieldValue::Malformed(_)));
    assert!(number::value("007", 0).is_err() && number::value("-", 0).is_err());
}

#[test]
fn escapes_stand_for_their_characters() {
    let read = |raw: &str| {
        let mut out = String::new();
        text::unescape(raw, &mut out).map(|()| out)
    };
    assert_eq!(read(r"a\n\t\r\b\f\/\\\u0041\u00e9").unwrap(), "a\n\t\r\u{8}\u{c}/\\Aé");
    assert_eq!(read(r"\ud83d\ude00!").unwrap(), "😀!");
    for lone in [r"\ud83d", r"\ud83d\n", r"\ude00", r"\ud83d\u0041", r"\ud83dxx"] {
        assert!(read(lone).is_err(), "{lone}");
    }
}
