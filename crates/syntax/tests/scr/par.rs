//! `par { … } and { … }`: reading, printing, laying out, and what is said about it. What each rule says is on the pages of
//! its codes; what the machines are is a law of `referee-theory`.

use referee_syntax::{Analysis, Content, Language, parse, print};

use crate::same::assert_same_global;

/// The codes of what is wrong with a protocol of `a`, `b` and `c`.
fn codes(body: &str) -> Vec<&'static str> {
    let text = format!("protocol P(role a, role b, role c) {{ {body} }}");
    let analysis = Analysis::of(parse(&text, Language::Scr));
    analysis.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.code.id).collect()
}

#[test]
fn printing_and_laying_out() {
    let text = "\
protocol P(role a, role b) {
  rec X {
    Begin() from a to b;
    par {
      choice at a {
        L(x: int) from a to b;
      } or {
        R(x: int) from a to b;
      }
      Seen() from b to a;
    } and {
      rec Y {
        choice at b {
          Tick() from b to a;
          continue Y;
        } or {
          Stop() from b to a;
        }
      }
    } and {
      par {
        U() from a to b;
      } and {
        V() from b to a;
      }
      W() from a to b;
    }
    Next(y: int) from a to b where y > x;
    continue X;
  }
}
";
    let document = parse(text, Language::Scr);
    assert!(document.is_usable(), "{:?}", document.diagnostics);
    let Content::Global(protocols) = &document.content else { panic!("{text}") };
    let global = protocols[0].global.as_ref().expect("a global type");
    let printed = print::scr("P", global, &[]).expect("a text");
    assert_eq!(printed, text);
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(referee_syntax::scr::format(&squeezed).as_deref().ok(), Some(text));
    let Content::Global(again) = parse(&squeezed, Language::Scr).content else { panic!("{squeezed}") };
    assert_same_global(global, again[0].global.as_ref().expect("a global type"), text);
    for refused in [print::gt(global), print::gt_json(global), print::nuscr("P", global)] {
        assert_eq!(refused.map_err(|e| e.to_string()), Err("it runs blocks side by side (`par`)".to_owned()));
    }
}

/// Comments stay where they are; a message may be called `par` or `and`.
#[test]
fn comments_and_names() {
    let text = "\
protocol P(role a, role b) {
  // both
  par {
    // one
    par() from a to b;
  }
  // other
  and {
    and() from b to a;
  } // done
  and() from a to b;
}
";
    assert_eq!(referee_syntax::scr::format(text).as_deref().ok(), Some(text));
    assert!(parse(text, Language::Scr).is_usable());
}

#[test]
fn variables() {
    let bound = "par { M(x: int) from a to b; } and { K() from b to a; }";
    assert_eq!(codes(&format!("{bound} E(y: int) from b to a where y > x; E2() from a to c;")), [""; 0]);
    // Bound on some ways of its block only.
    let some =
        "par { choice at a { M(x: int) from a to b; } or { N() from a to b; } } and { K() from b to a; }";
    assert_eq!(codes(&format!("{some} E(y: int) from b to a where y > x; E2() from a to c;")), ["RF0309"]);
    // A field that nobody reads binds nothing.
    assert_eq!(codes("par { M(x: int) from a to b; } and { K(x: int) from b to c; }"), [""; 0]);
    let read = "par { M(x: int) from a to b; } and { K(x: int) from b to a; } E(y: int) from b to a where y > x; F() from a to c;";
    assert_eq!(codes(read), ["RF0232"]);
    // Bound before, and again in another block: whoever is faster would decide.
    let raced = "I(x: int) from a to b; rec X { par { M(x: int) from a to b; } and { K(y: int) from b to a where y > x; } \
                 F() from a to c; continue X; }";
    assert_eq!(codes(raced), ["RF0232"]);
    let own = "par { M(x: int) from a to b; N(y: int) from b to a where y > x; } and { K() from b to c; }";
    assert_eq!(codes(own), [""; 0]);
}

#[test]
fn jumps() {
    let beside = "rec X { par { rec Y { choice at a { M() from a to b; continue Y; } or { S() from a to b; } } } \
                  and { K() from b to c; } F() from c to a; continue X; }";
    assert_eq!(codes(beside), [""; 0]);
    assert_eq!(codes("rec X { par { M() from a to b; continue X; } and { K() from b to c; } }"), ["RF0231"]);
    assert_eq!(codes("par { M() from a to b; continue Z; } and { K() from b to c; }"), ["RF0105"]);
    // Doing the whole again in a block is no jump either.
    let text = "protocol P(role a, role b) { par { M() from a to b; do P(a, b); } and { K() from b to a; } }";
    let found = parse(text, Language::Scr).diagnostics;
    assert_eq!(found.iter().map(|found| found.code.id).collect::<Vec<_>>(), ["RF0208"]);
    // Behind the `par`, it is.
    let text = "protocol P(role a, role b) { par { M() from a to b; } and { K() from b to a; } do P(a, b); }";
    assert!(parse(text, Language::Scr).is_usable());
}

/// A choice that begins with a jump is unfolded; a `par` in what is copied keeps its blocks to itself.
#[test]
fn copies() {
    let text = "protocol P(role a, role b) { rec X { A() from a to b; par { M() from a to b; } and { K() from b to a; } \
                choice at a { continue X; } or { E() from a to b; } } }";
    let document = parse(text, Language::Scr);
    assert!(document.is_usable(), "{:?}", document.diagnostics);
    let Content::Global(protocols) = &document.content else { panic!("{text}") };
    let global = protocols[0].global.as_ref().expect("a global type");
    let machine = global.project(global.vocabulary().find_role("a").expect("a")).expect("a projection");
    // Begin; both, one, the other; the choice; the end.
    assert_eq!(machine.minimised(global.vocabulary()).state_count(), 6);
}

#[test]
fn hostile_texts() {
    let wide = |blocks: usize| {
        let block = |number: usize| format!("{{ M{number}() from a to b; }}");
        format!("par {}", (0..blocks).map(block).collect::<Vec<_>>().join(" and "))
    };
    assert_eq!(codes(&wide(30)), ["RF0209", "RF0209"]);
    assert_eq!(codes(&wide(5)), [""; 0]);
    let deep = format!("{} M() from a to b; {}", "par { ".repeat(50_000), "} and { }".repeat(50_000));
    assert!(!codes(&deep).is_empty());
    let deep = format!("{} M() from a to b; {}", "par { ".repeat(50_000), "}".repeat(50_000));
    assert_eq!(codes(&deep), [""; 0]);
    for broken in [
        "par",
        "par {",
        "par { M() from a to b; } and",
        "par { } and }",
        "par { M() from a to b; } and x { }",
    ] {
        assert!(!codes(broken).is_empty(), "{broken}");
    }
}
