//! Long and deep inputs end in an answer, never in a crash: on a small stack.

use std::collections::HashMap;

use referee_theory::expr::{MAX_DEPTH, NoExternals, Scope, Value, check, eval};

use super::super::{Dialect, SyntaxErrorKind, parse, parse_prefix};

fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

/// A quarter of what a thread gets by default.
const STACK: usize = 512 << 10;

#[test]
fn long_conjunctions_are_fine() {
    on_a_small_stack(|| {
        let text = vec!["x == 1"; 100_000].join(" && ");
        let expr = parse(&text, 0, Dialect::Cel).unwrap();
        assert_eq!(expr.node().children().len(), 100_000);
        assert_eq!(expr.to_string(), text);
        let mut scope = Scope::new();
        scope.bind("x", referee_theory::Type::Int);
        assert!(check(&expr, &scope).is_ok());
        let bindings = HashMap::from([("x".into(), Value::Int(1))]);
        assert_eq!(eval(&expr, &bindings, &NoExternals), Ok(Value::Bool(true)));
        assert_eq!(expr.free_variables().len(), 1);
        assert_eq!(expr.clone(), expr);
    });
}

#[test]
fn depth_is_limited() {
    on_a_small_stack(|| {
        let deep: [(&str, &str, &str); 9] = [
            ("(", "a", ")"),
            ("!", "a", ""),
            ("-", "a", ""),
            ("a + ", "a", " + a"),
            ("[", "", "]"),
            ("f(", "a", ")"),
            ("a ? b : ", "a", ""),
            ("a||b&&c==d+e*-(", "a", ")"),
            ("a.b", "", "[0]"),
        ];
        for (open, middle, close) in deep {
            let text = [&open.repeat(100_000), middle, &close.repeat(100_000)].concat();
            let error = parse(&text, 0, Dialect::Cel).unwrap_err();
            assert!(matches!(error.kind, SyntaxErrorKind::TooDeep), "{open}: {error} {:?}", error.place);
        }
        let error = parse(&"not ".repeat(100_000), 0, Dialect::NuScr).unwrap_err();
        assert_eq!(error.kind, SyntaxErrorKind::TooDeep);
        assert!(parse_prefix(&"a || b && ".repeat(100_000), 0, Dialect::NuScr).is_err());
    });
}

#[test]
fn the_limit_is_exact() {
    let sum = |terms: usize| vec!["a"; terms].join(" + ");
    assert_eq!(parse(&sum(MAX_DEPTH), 0, Dialect::Cel).unwrap().depth(), MAX_DEPTH);
    assert_eq!(parse(&sum(MAX_DEPTH + 1), 0, Dialect::Cel).unwrap_err().kind, SyntaxErrorKind::TooDeep);
}

#[test]
fn long_tokens_are_fine() {
    on_a_small_stack(|| {
        let long = |text: &str| text.repeat(1_000_000 / text.len());
        for good in [long("a'1_"), format!("\"{}\"", long("a\\n")), long(" ") + "a", long("/**/(**)") + "a"] {
            assert!(parse(&good, 0, Dialect::Cel).is_ok(), "{}", &good[..9]);
        }
        assert_eq!(parse(&(long("//\n") + "a"), 0, Dialect::Cel).map(|expr| expr.depth()), Ok(1));
        for bad in [long("1"), long("(*"), long("\"\\"), long("`"), long("0x"), long("1e1")] {
            assert!(parse(&bad, 0, Dialect::Cel).is_err(), "{}", &bad[..9]);
        }
    });
}
