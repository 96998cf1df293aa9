//! Any text read as an assertion, in each dialect: no panic, and what was read prints to what reads the same.

#![no_main]

use referee_syntax::expr::{Dialect, parse, parse_prefix};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for dialect in [Dialect::Cel, Dialect::NuScr, Dialect::Scala] {
        if let Ok((_, consumed)) = parse_prefix(text, 0, dialect) {
            assert!(text.is_char_boundary(consumed));
        }
        if let Ok(expr) = parse(text, 0, dialect) {
            let printed = expr.to_string();
            assert_eq!(parse(&printed, 0, Dialect::Cel).as_ref(), Ok(&expr), "printed as {printed}");
        }
    }
});
