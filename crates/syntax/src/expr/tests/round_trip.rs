//! Parsing what is printed gives the same expression; parsing anything gives an answer.

use std::sync::Arc;

use proptest::prelude::*;
use referee_theory::expr::{Expr, Function, Literal, MAX_DEPTH, Node, Operator, Place, UnaryOperator};

use super::super::{Dialect, parse, parse_prefix};

fn name() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        "[a-c]'?",
        Just("in".to_owned()),
        Just("true".to_owned()),
        Just("2nd".to_owned()),
        Just("size".to_owned()),
        Just("r".to_owned()),
        Just("b".to_owned()),
        Just("_".to_owned()),
    ]
    .prop_map(Arc::from)
}

fn external() -> impl Strategy<Value = Arc<str>> {
    prop_oneof!["[a-c]", "[a-c]\\.[a-c]", "util\\.(size|min|in|matches)", "size|max|double|float|f\\.true"]
        .prop_map(Arc::from)
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<bool>().prop_map(Literal::Bool),
        (-3_i64..3).prop_map(Literal::Int),
        any::<i64>().prop_map(Literal::Int),
        any::<f64>().prop_filter("finite", |float: &f64| float.is_finite()).prop_map(Literal::Float),
        prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(-1e300)]
            .prop_filter("finite", |float: &f64| float.is_finite())
            .prop_map(Literal::Float),
        any::<String>().prop_map(|text| Literal::String(text.into())),
        "[\"'\\\\nrb\n]{0,4}".prop_map(|text| Literal::String(text.into())),
        any::<Vec<u8>>().prop_map(|bytes| Literal::Bytes(bytes.into())),
    ]
}

/// Shrinks to its leaves: `Expr::new` makes every node canonical.
fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![literal().prop_map(Expr::literal), name().prop_map(|name| Expr::variable(&name)),];
    leaf.prop_recursive(6, 64, 3, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..4).prop_map(Vec::into_boxed_slice);
        let two = [inner.clone(), inner.clone()].prop_map(Box::new);
        let unary = prop_oneof![Just(UnaryOperator::Not), Just(UnaryOperator::Negate)];
        prop_oneof![
            many.clone().prop_map(Node::List),
            (unary, inner.clone()).prop_map(|(operator, operand)| Node::Unary(operator, Box::new(operand))),
            (prop::sample::select(&Operator::ALL[..]), two.clone())
                .prop_map(|(operator, operands)| Node::Binary(operator, operands)),
            many.clone().prop_map(Node::And),
            many.clone().prop_map(Node::Or),
            [inner.clone(), inner.clone(), inner.clone()]
                .prop_map(|parts| Node::Conditional(Box::new(parts))),
            (inner.clone(), name()).prop_map(|(record, field)| Node::Member(Box::new(record), field)),
            two.prop_map(Node::Index),
            (prop::sample::select(&Function::ALL[..]), many.clone())
                .prop_map(|(function, args)| Node::Call(function, args)),
            (external(), many).prop_map(|(name, args)| Node::External { name, args }),
        ]
        .prop_map(|node| Expr::new(node, Place::NONE).expect("six levels are not too deep"))
    })
}

/// How many places there are for an expression in a construct.
const PLACES: usize = 9 + 2 * 16;

/// The construct around the `place`th of them, with `inner` there and variables elsewhere.
fn wrap(place: usize, inner: Expr) -> Expr {
    let x = || Expr::variable("x");
    let node = match place {
        0 => Node::List([inner].into()),
        1 => Node::Member(Box::new(inner), "f".into()),
        2 => Node::Call(Function::Size, [inner].into()),
        3 => Node::External { name: "f".into(), args: [x(), inner].into() },
        4 => Node::Unary(UnaryOperator::Not, Box::new(inner)),
        5 => Node::Unary(UnaryOperator::Negate, Box::new(inner)),
        6 => Node::Conditional(Box::new([inner, x(), x()])),
        7 => Node::Conditional(Box::new([x(), inner, x()])),
        8 => Node::Conditional(Box::new([x(), x(), inner])),
        _ => {
            let pair = if place.is_multiple_of(2) { [inner, x()] } else { [x(), inner] };
            match (place - 9) / 2 {
                0 => Node::And(pair.into()),
                1 => Node::Or(pair.into()),
                2 => Node::Index(Box::new(pair)),
                3 => Node::Call(Function::Contains, pair.into()),
                operator => Node::Binary(Operator::ALL[operator - 4], Box::new(pair)),
            }
        }
    };
    Expr::new(node, Place::NONE).unwrap()
}

fn around(inner: &Expr) -> Vec<Expr> {
    (0..PLACES).map(|place| wrap(place, inner.clone())).collect()
}

/// Every construct in every place of every construct, three deep.
#[test]
fn every_nesting_reads_back_and_needs_its_parentheses() {
    let float = Some(Literal::Float(1.5));
    let leaves = [Some(Literal::Int(5)), Some(Literal::Int(-5)), float].into_iter().flatten();
    let leaves: Vec<_> = leaves.map(Expr::literal).chain([Expr::variable("y")]).collect();
    let two = leaves.iter().flat_map(around).collect::<Vec<_>>();
    let three = two.iter().flat_map(around).collect::<Vec<_>>();
    let mut count = 0;
    for expr in leaves.iter().chain(&two).chain(&three) {
        reads_back(expr);
        needs_its_parentheses(expr);
        count += 1;
    }
    assert_eq!(count, 4 + 4 * PLACES + 4 * PLACES * PLACES);
}

/// Whatever can be built reads back: every two constructs in turn, down to the limit.
#[test]
fn the_deepest_expressions_read_back() {
    let mut deepest = 0;
    for first in 0..PLACES {
        for second in 0..PLACES {
            let mut expr = Expr::variable("y");
            for level in 1..MAX_DEPTH {
                expr = wrap(if level.is_multiple_of(2) { first } else { second }, expr);
            }
            reads_back(&expr);
            deepest += usize::from(expr.depth() == MAX_DEPTH);
        }
    }
    // Conjunctions of conjunctions and disjunctions of disjunctions are flat, on either side.
    assert_eq!(deepest, PLACES * PLACES - 2 * 4);
}

fn reads_back(expr: &Expr) {
    let text = expr.to_string();
    assert_eq!(parse(&text, 0, Dialect::Cel).as_ref(), Ok(expr), "{text}");
}

/// Without any one pair of parentheses that is not a call's, the text means something else.
fn needs_its_parentheses(expr: &Expr) {
    let text = expr.to_string();
    for (open, close) in grouping_pairs(&text) {
        let mut without = text.clone();
        without.replace_range(close..=close, " ");
        without.replace_range(open..=open, " ");
        assert_ne!(parse(&without, 0, Dialect::Cel).as_ref(), Ok(expr), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_what_is_printed_gives_the_same(expr in expr()) {
        reads_back(&expr);
    }

    #[test]
    fn random_parentheses_are_needed(expr in expr()) {
        needs_its_parentheses(&expr);
    }

    #[test]
    fn every_text_has_an_answer(text in any::<String>()) {
        answers(&text);
    }

    #[test]
    fn every_sequence_of_tokens_has_an_answer(
        tokens in prop::collection::vec(prop::sample::select(&TOKENS[..]), 0..12),
        separator in prop::sample::select(&["", " "][..]),
    ) {
        answers(&tokens.join(separator));
    }
}

const TOKENS: [&str; 44] = [
    "a", "b'", "in", "not", "true", "size", "util", "len", "r", "1", "-", "0x", "1.5", "5L", "\"", "'",
    "\"\"\"", "r\"", "b\"", "\\", "`", "(", ")", "[", "]", ".", ",", "?", ":", "&&", "||", "=", "==", "<>",
    "!", "+", "*", "/", "//", "/*", "(*", "*)", "é", "\n",
];

/// All dialects agree between whole texts and prefixes, and what they read prints and reads back.
fn answers(text: &str) {
    for dialect in [Dialect::Cel, Dialect::NuScr, Dialect::Scala] {
        let prefix = parse_prefix(text, 5, dialect);
        if let Ok(expr) = parse(text, 5, dialect) {
            assert_eq!(prefix.as_ref().map(|(prefix, _)| prefix), Ok(&expr));
            assert_eq!(parse(&expr.to_string(), 0, Dialect::Cel).as_ref(), Ok(&expr), "{text}");
        }
        if let Ok((expr, consumed)) = prefix {
            assert_eq!(parse(&text[..consumed], 5, dialect), Ok(expr), "{text}");
        }
    }
}

/// The pairs of parentheses in printed text that group, strings and quoted names skipped.
fn grouping_pairs(text: &str) -> Vec<(usize, usize)> {
    let (mut pairs, mut open, mut quote, mut escaped) = (Vec::new(), Vec::new(), None, false);
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(closing) if c == closing => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '`' => quote = Some(c),
                // A call's parentheses follow a name.
                '(' => open.push((at, before.is_alphanumeric() || matches!(before, '_' | '\'' | '`'))),
                ')' => {
                    if let Some((start, false)) = open.pop() {
                        pairs.push((start, at));
                    }
                }
                _ => {}
            },
        }
        before = c;
    }
    pairs
}
