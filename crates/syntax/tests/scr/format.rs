//! The canonical layout.

use referee_syntax::scr::format;

use crate::same::{comments, difference, shape};

/// `text` is formatted to the same module with the same comments, once and for all. Returns the result.
pub(crate) fn check_formatted(text: &str) -> String {
    let once = format(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0].message));
    let twice = format(&once).unwrap_or_else(|errors| panic!("{}\n{text}\n=>\n{once}", errors[0].message));
    assert_eq!(once, twice, "not stable\n{text}");
    if let Some(different) = difference(&shape(text), &shape(&once)) {
        panic!("{different}\n{text}\n=>\n{once}");
    }
    assert_eq!(comments(text), comments(&once), "\n{text}\n=>\n{once}");
    for line in once.lines() {
        assert!(line.trim_end() == line || !comments(text).is_empty(), "trailing blanks: {line:?}");
    }
    once
}

#[test]
fn the_example_of_the_design() {
    let text = r#"type Token = string;

protocol Auth(role client, role server) {
  rec LOGIN {
    Auth(uname: string, pwd: string) from client to server where uname.matches("[a-z]+");
    choice at server {
      Succ(tok: Token) from server to client;
      rec SESSION {
        choice at client {
          Get(resource: string, reqTok: Token) from client to server where reqTok == tok;
          choice at server { Res(content: string) from server to client; continue SESSION; }
          or               { Timeout() from server to client; continue LOGIN; }
        } or { Rvk(rvkTok: Token) from client to server where rvkTok == tok; }
      }
    } or { Fail(code: int) from server to client; continue LOGIN; }
  }
}
"#;
    let expected = r#"type Token = string;

protocol Auth(role client, role server) {
  rec LOGIN {
    Auth(uname: string, pwd: string) from client to server where uname.matches("[a-z]+");
    choice at server {
      Succ(tok: Token) from server to client;
      rec SESSION {
        choice at client {
          Get(resource: string, reqTok: Token) from client to server where reqTok == tok;
          choice at server {
            Res(content: string) from server to client;
            continue SESSION;
          } or {
            Timeout() from server to client;
            continue LOGIN;
          }
        } or {
          Rvk(rvkTok: Token) from client to server where rvkTok == tok;
        }
      }
    } or {
      Fail(code: int) from server to client;
      continue LOGIN;
    }
  }
}
"#;
    assert_eq!(check_formatted(text), expected);
}

#[test]
fn comments_stay_where_they_are() {
    let text = "
// header

(*# RefinementTypes #*) // pragma
module a . b; import c.d as e;


type <java> \"X\" from \"y.java\" as T; // a type
/* about
     f */
external fn f(int,
  string) -> bool;
// about P
protocol P(role a, // the client
           role b) /* odd */ { // body
  // first

  // second
  m(x:int{x>0 && /* why */ x  < 5}, string) from a to b where x /* hm */ > 0 // end
   ; @\" x > 1 \"


  /* c */ n() from a to b; /* d */ k from b to a; // e
  choice at a { // left

    l() from a to b;
    // last of left
  } // after left
  // before right
  or /* inside */ {
    /* only */
  } // after
  do Q<int as T, (string)>(a as x, b);
}
// tail
";
    let expected = "\
// header

(*# RefinementTypes #*) // pragma

module a.b;

import c.d as e;

type <java> \"X\" from \"y.java\" as T; // a type

/* about
     f */
external fn f(int, string) -> bool;

// about P
// the client
/* odd */
protocol P(role a, role b) { // body
  // first

  // second
  /* why */
  /* hm */
  // end
  m(x: int{x>0 && x < 5}, string) from a to b where x > 0; @\"x > 1\"

  /* c */
  n() from a to b; /* d */
  k from b to a; // e
  choice at a { // left
    l() from a to b;
    // last of left
  } // after left
  // before right
  /* inside */
  or {
    /* only */
  } // after
  do Q<int as T, (string)>(a as x, b);
}
// tail
";
    assert_eq!(check_formatted(text), expected);
}

#[test]
fn long_lines_are_broken() {
    let long = "a".repeat(30);
    let text = format!(
        "protocol P(role {long}, role {long}1, role {long}2) {{
m({long}: int, {long}1: string, {long}2: list[{{x: int, y: (int, bool)}}]) from {long} to {long}1;
m(x: int) from {long} to {long}1, {long}2, {long}, {long}1, b where x > 0;
m(x: int) from a to b where x > 0 && x < 1 && (x == 3 || x == 4) && x != 1000000000000000 && x > 12345678;
m(x: int) from a to b where {long} > 0 && x < 1 && (x == 3 || x == 4) && x != 100000000000 && x > 12345678;
rec X [{long}<a, b>: (x: int{{x > 0}}) = 1, {long}1: int = -2, {long}2: ((int)) = 3] {{
continue X [{long}, {long} + 1, {long}2 + 1, 1];
}} }}"
    );
    let expected = "\
protocol P(
  role L,
  role L1,
  role L2
) {
  m(
    L: int,
    L1: string,
    L2: list<{x: int, y: (int, bool)}>
  ) from L to L1;
  m(x: int) from L to L1,
      L2, L,
      L1, b where x > 0;
  m(x: int) from a to b
    where x > 0 && x < 1 && (x == 3 || x == 4) && x != 1000000000000000 && x > 12345678;
  m(x: int) from a to b
    where L > 0
      && x < 1
      && (x == 3 || x == 4)
      && x != 100000000000
      && x > 12345678;
  rec X [
    L<a, b>: (x: int{x > 0}) = 1,
    L1: int = -2,
    L2: (int,) = 3
  ] {
    continue X [
      L,
      L + 1,
      L2 + 1,
      1
    ];
  }
}
";
    assert_eq!(check_formatted(&text).replace(&long, "L"), expected);
}

#[test]
fn text_with_syntax_errors_is_refused() {
    for text in ["protocol", "protocol P(role a) { m() from a to ; }", "/* open", "protocol P(role a) { § }"]
    {
        assert!(format(text).is_err_and(|errors| !errors.is_empty()), "{text}");
    }
    // Names are not looked at.
    assert!(format("protocol P(role a) { m() from x to y; continue Z; }").is_ok());
    assert_eq!(format("").as_deref().ok(), Some(""));
    assert_eq!(format(" \n // c \n\n").as_deref().ok(), Some("// c\n"));
    assert_eq!(format("protocol P(role a){}").as_deref().ok(), Some("protocol P(role a) {}\n"));
    assert_eq!(format("protocol P(role a){// {\n}").as_deref().ok(), Some("protocol P(role a) { // {\n}\n"));
}
