//! Printing a global type and reading it gives the same global type.

use std::sync::Arc;

use proptest::prelude::*;
use referee_syntax::{Content, Language, parse, print};
use referee_theory::expr::{Expr, Literal, Node, Operator, Place, Scope};
use referee_theory::global::{Call, Parameter, Rec};
use referee_theory::{
    Branch, Exchange, Field, Global, GlobalType, GlobalTypeBuilder, Message, MessageSpec, NodeId, Origin,
    Role, Type, Vocabulary,
};

use crate::corpus::files;
use crate::same::{assert_bisimilar, assert_same_global};

/// The text of `global`, after checking that it says the same and is laid out as the formatter does.
fn check_printed(global: &GlobalType, externals: &[referee_syntax::External]) -> Option<String> {
    let text = print::scr("P", global, externals).ok()?;
    let document = parse(&text, Language::Scr);
    let errors: Vec<_> = document.diagnostics.iter().filter(|d| d.is_error()).map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let Content::Global(protocols) = &document.content else { panic!("{text}") };
    assert_same_global(global, protocols[0].global.as_ref().expect("a global type"), &text);
    assert_eq!(referee_syntax::scr::format(&text).as_deref().ok(), Some(&*text));
    Some(text)
}

fn check_text(text: &str) -> String {
    let document = parse(text, Language::Scr);
    assert!(document.is_usable(), "{:?}", document.diagnostics);
    let Content::Global(protocols) = &document.content else { panic!("{text}") };
    let protocol = &protocols[0];
    check_printed(protocol.global.as_ref().expect("a global type"), &protocol.externals).expect("a text")
}

#[test]
fn what_branches_share_is_printed_once() {
    let text = "\
external fn ok(int) -> bool;

protocol P(role a, role b, role c) {
  rec X [n<a>: int = 0] {
    choice at a {
      l(x: int) from a to b where ok(x);
    } or {
      r({f: list<int>, g: (int,)}) from a to b;
    } or {
      again() from a to b;
      again() from b to c;
      continue X [n + 1];
    }
    shared(y: Thing) from b to c;
    choice at b {
      back() from b to c;
      rec Y {
        m(java.util.List, P@b) from b to c;
        choice at a {
          () from a to b;
          continue X;
        } or {
          y() from a to b;
          continue Y;
        }
      }
    } or {
      done() from b to c;
    }
  }
  bye() from b to a;
}
";
    assert_eq!(check_text(text), text);
}

/// A branch that begins with a jump begins with the first messages of what it jumps to. The loops this makes
/// go through definitions all the same.
#[test]
fn choices_that_begin_with_jumps_are_loops_of_their_own() {
    let jumping = "protocol P(role a, role b) { rec X {
        choice at a { m1() from a to b; k1() from b to a; } or { m2() from a to b; k2() from b to a; }
        choice at a { continue X; } or { fin() from a to b; } } }";
    let spelt_out = "protocol P(role a, role b) {
        choice at a { m1() from a to b; k1() from b to a; } or { m2() from a to b; k2() from b to a; }
        rec Y { choice at a { m1() from a to b; k1() from b to a; continue Y; }
        or { m2() from a to b; k2() from b to a; continue Y; } or { fin() from a to b; } } }";
    let [left, right] = [jumping, spelt_out].map(|text| {
        let Content::Global(protocols) = parse(text, Language::Scr).content else { panic!("{text}") };
        protocols[0].global.clone().expect("a global type")
    });
    assert_bisimilar(&left, &right, jumping);
    check_text(jumping);
    // A loop with two ways in.
    check_text(&jumping.replace("k1() from b to a;", "rec Z { k1() from b to a; choice at a { continue X; } or { z() from a to b; continue Z; } or { n() from a to b; } }"));
}

#[test]
fn sharing_that_text_cannot_show_is_copied() {
    let (mut builder, mut vocabulary) = (GlobalTypeBuilder::new(), Vocabulary::new());
    let [a, b] = ["a", "b"].map(|name| vocabulary.add_role(name));
    let mut plain = |label: &str| vocabulary.add_plain_message(label);
    let [l, m, r, x, y] = ["l", "m", "r", "x", "y"].map(&mut plain);
    let to = |message, next| Branch { receiver: b, message, next, origin: Origin::NONE };
    let end = builder.end();
    let last = builder.exchange(a, vec![to(y, end)], Origin::NONE);
    let middle = builder.exchange(a, vec![to(x, last)], Origin::NONE);
    let root = builder.exchange(a, vec![to(l, middle), to(m, middle), to(r, last)], Origin::NONE);
    let global = builder.finish(Arc::new(vocabulary), root).expect("well formed");
    let text = check_printed(&global, &[]).expect("a text");
    assert_eq!(text.matches("x() from").count(), 2, "{text}");
    assert_eq!(text.matches("y() from").count(), 1, "{text}");
}

/// `n` choices, each of which skips the next: the copies would be exponentially many.
#[test]
fn what_would_be_too_large_is_refused() {
    let (mut builder, mut vocabulary) = (GlobalTypeBuilder::new(), Vocabulary::new());
    let [a, b] = ["a", "b"].map(|name| vocabulary.add_role(name));
    let [l, r] = ["l", "r"].map(|label| vocabulary.add_plain_message(label));
    let to = |message, next| Branch { receiver: b, message, next, origin: Origin::NONE };
    let mut ahead = [builder.end(); 2];
    for _ in 0..60 {
        let node = builder.exchange(a, vec![to(l, ahead[0]), to(r, ahead[1])], Origin::NONE);
        ahead = [node, ahead[0]];
    }
    let global = builder.finish(Arc::new(vocabulary), ahead[0]).expect("well formed");
    let refused = print::scr("P", &global, &[]).expect_err("too large");
    assert!(refused.to_string().contains("too large"), "{refused}");
}

#[test]
fn names_that_are_none_are_refused() {
    for (role, label, field, ty) in [
        ("a-b", "m", "x", Type::Int),
        ("", "m", "x", Type::Int),
        ("a", "m n", "x", Type::Int),
        ("a", "m", "x y", Type::Int),
        ("a", "m", "x", Type::opaque("int")),
        ("a", "m", "x", Type::opaque("list<int>")),
        ("a", "m", "x", Type::opaque("a..b")),
        ("a", "m", "x", Type::list(Type::opaque("P@a"))),
        ("a", "m", "x", Type::Tuple(Arc::new([]))),
    ] {
        let (mut builder, mut vocabulary) = (GlobalTypeBuilder::new(), Vocabulary::new());
        let [a, b] = [role, "b"].map(|name| vocabulary.add_role(name));
        let label = vocabulary.add_label(label);
        let fields = Arc::new([Field { name: Some(field.into()), ty }]);
        let message = vocabulary.add_message(MessageSpec::new(label, fields, None));
        let next = builder.end();
        let root = builder.exchange(
            a,
            vec![Branch { receiver: b, message, next, origin: Origin::NONE }],
            Origin::NONE,
        );
        let global = builder.finish(Arc::new(vocabulary), root).expect("well formed");
        assert!(print::scr("P", &global, &[]).is_err(), "{global:?}");
    }
}

#[test]
fn the_corpus_is_printed_and_read_back() {
    for (folder, extension, language) in [("nuscr", "nuscr", Language::Scr), ("gt", "gt", Language::Gt)] {
        let (mut printed, mut all) = (0, 0);
        for path in files(folder, &[extension]) {
            let document = parse(&std::fs::read_to_string(&path).expect("a readable file"), language);
            let Content::Global(protocols) = &document.content else { continue };
            for protocol in protocols.iter().filter(|_| document.is_usable()) {
                let Some(global) = &protocol.global else { continue };
                all += 1;
                match check_printed(global, &protocol.externals) {
                    Some(_) => printed += 1,
                    None => println!("{}: {:?}", path.display(), print::scr("P", global, &[]).err()),
                }
            }
        }
        println!("{folder}: {printed} of {all} printed");
        assert_eq!(printed, all);
    }
}

/// Builds a random protocol: every number drawn decides something, none left means to end.
struct Generator {
    builder: GlobalTypeBuilder,
    vocabulary: Vocabulary,
    roles: [Role; 3],
    numbers: std::vec::IntoIter<u8>,
    scope: Vec<NodeId>,
    /// What was built, with the definitions around it: it can stand wherever these are.
    built: Vec<(NodeId, Vec<NodeId>)>,
}

/// The data of the recursion at `node`: recursions inside one another have different ones.
fn data_of(node: NodeId) -> String {
    format!("n{}", node.0)
}

impl Generator {
    fn draw(&mut self, below: u8) -> u8 {
        self.numbers.next().map_or(0, |number| number % below)
    }

    /// What follows a message.
    fn next(&mut self) -> NodeId {
        match self.draw(10) {
            0 | 1 => self.builder.end(),
            2 | 3 if !self.scope.is_empty() => {
                let chosen = usize::from(self.draw(4));
                let target = self.scope[chosen % self.scope.len()];
                let arguments = if self.draw(2) == 0 {
                    Vec::new()
                } else {
                    let one = Expr::literal(Literal::Int(1));
                    let sum = Node::Binary(Operator::Add, Box::new([Expr::variable(&data_of(target)), one]));
                    vec![Arc::new(Expr::new(sum, Place::NONE).expect("shallow"))]
                };
                self.builder.add(Global::Call(Call { target, arguments, origin: Origin::NONE }))
            }
            4 | 5 if !self.built.is_empty() => self.again(),
            6 | 7 => self.rec(),
            _ => self.exchange(),
        }
    }

    fn rec(&mut self) -> NodeId {
        let node = self.builder.reserve();
        self.scope.push(node);
        let body = match self.draw(6) {
            // Nothing is left to draw.
            0 => self.builder.end(),
            1 => self.rec(),
            2 if !self.built.is_empty() => self.again(),
            _ => self.exchange(),
        };
        self.scope.pop();
        let initial = Arc::new(Expr::literal(Literal::Int(0)));
        let (name, roles) = (data_of(node).into(), vec![self.roles[0], self.roles[2]]);
        // Every recursion carries data, so that every call may.
        let parameter =
            Parameter { name, roles, ty: Type::Int, initial, refinement: None, origin: Origin::NONE };
        let name = ["X", "Y", "from", "é-"][usize::from(self.draw(4))].into();
        let rec = Rec { name, level: 0, parameters: vec![parameter], body, origin: Origin::NONE };
        self.builder.set(node, Global::Rec(rec));
        self.keep(node)
    }

    /// Something that was built before, if it can stand here.
    fn again(&mut self) -> NodeId {
        let chosen = usize::from(self.draw(200));
        let (node, around) = self.built[chosen % self.built.len()].clone();
        if self.scope.starts_with(&around) { node } else { self.builder.end() }
    }

    fn keep(&mut self, node: NodeId) -> NodeId {
        self.built.push((node, self.scope.clone()));
        node
    }

    fn exchange(&mut self) -> NodeId {
        let sender = usize::from(self.draw(3));
        let count = [1, 1, 2, 3][usize::from(self.draw(4))];
        let mut branches = Vec::new();
        for index in 0..count {
            let receiver = self.roles[(sender + 1 + usize::from(self.draw(2))) % 3];
            let message = self.message(index);
            let next = if self.numbers.len() == 0 { self.builder.end() } else { self.next() };
            branches.push(Branch { receiver, message, next, origin: Origin::NONE });
        }
        let exchange =
            Exchange { sender: self.roles[sender], branches: branches.into(), origin: Origin::NONE };
        let node = self.builder.add(Global::Exchange(exchange));
        self.keep(node)
    }

    fn message(&mut self, index: u8) -> Message {
        let types =
            [Type::Int, Type::Unit, Type::opaque("T"), Type::list(Type::Tuple(Arc::new([Type::Bool])))];
        let ty = types[usize::from(self.draw(4))].clone();
        let mut fields = vec![Field { name: Some("x".into()), ty: Type::Int }, Field { name: None, ty }];
        fields.truncate(usize::from(self.draw(3)));
        let zero = Expr::literal(Literal::Int(0));
        let positive = Node::Binary(Operator::Greater, Box::new([Expr::variable("x"), zero]));
        let positive = Expr::new(positive, Place::NONE).expect("shallow");
        let assertion = (!fields.is_empty() && self.draw(2) == 0).then(|| Arc::new(positive));
        let label = self.vocabulary.add_label(["2l", "choice", "rec'"][usize::from(index)]);
        self.vocabulary.add_message(MessageSpec::new(label, fields.into(), assertion))
    }
}

fn global() -> impl Strategy<Value = GlobalType> {
    prop::collection::vec(any::<u8>(), 0..120).prop_map(|numbers| {
        let mut vocabulary = Vocabulary::new();
        let roles = ["a", "from", "to"].map(|name| vocabulary.add_role(name));
        let (builder, numbers) = (GlobalTypeBuilder::new(), numbers.into_iter());
        let mut generator =
            Generator { builder, vocabulary, roles, numbers, scope: Vec::new(), built: Vec::new() };
        let root = generator.exchange();
        let mut global = generator.builder.finish(Arc::new(generator.vocabulary), root).expect("well formed");
        let assertions = global.check_assertions(&Scope::new());
        global.enforce(&assertions);
        global
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn reading_what_is_printed_gives_the_same(global in global()) {
        prop_assert!(check_printed(&global, &[]).is_some());
    }
}

/// A branch that begins with a recursion has its first message read before the choice, so data of one name are in force within
/// others: in a text each has its name.
#[test]
fn data_of_a_branch_that_begins_with_a_recursion_have_names_of_their_own() {
    let text = "protocol P(role a, role b) {
  choice at a {
    rec X [n<a, b>: int = 1] {
      M(x: int) from a to b where x == n;
      continue X [n + 1];
    }
  } or {
    Z() from a to b;
  }
}
";
    let written = "protocol P(role a, role b) {
  rec X [n<a, b>: int = 1] {
    choice at a {
      M(x: int) from a to b where x == n;
      rec X_2 [n_2<a, b>: int = n + 1] {
        M(x: int) from a to b where x == n_2;
        continue X_2 [n_2 + 1];
      }
    } or {
      Z() from a to b;
    }
  }
}
";
    assert_eq!(in_scr(text), written);
    assert_eq!(in_scr(written), written);
    for begin in ["", "Hi(n_2: int) from a to b;"] {
        for refined in ["int", "(n: int{n < 9})"] {
            let text = format!(
                "protocol P(role a, role b) {{
  {begin}
  rec Y [k<a, b>: int = 2] {{
    choice at a {{
      rec X [n<a, b>: {refined} = 1] {{
        choice at a {{
          M(x: int) from a to b where x == n;
          continue X [n + 1];
        }} or {{ Y() from a to b; continue Y [k + 1]; }}
          or {{ W() from a to b; continue X; }}
      }}
    }} or {{ Z(x: int) from a to b where x > k; }}
  }}
}}
"
            );
            let once = in_scr(&text);
            assert_eq!(in_scr(&once), once);
        }
    }
}

/// What follows a loop and never ends is printed inside it, where a field called like the data would be something else.
#[test]
fn data_of_a_loop_have_another_name_where_a_field_behind_it_has_theirs() {
    let text = "protocol P(role a, role b) {
  rec X [n<a, b>: (n: int{n >= 0}) = 3] {
    choice at a {
      M(x: int) from a to b where x == n;
      continue X [n - x];
    } or {
      Stop() from a to b where n == 1;
    }
  }
  Behind(n: int) from a to b where n > 7;
  rec Y [k<a, b>: int = n] {
    Tick(z: int) from a to b where z == k + n;
    continue Y [k + n];
  }
}
";
    let written = "protocol P(role a, role b) {
  rec X [n_2<a, b>: (n_2: int{n_2 >= 0}) = 3] {
    choice at a {
      M(x: int) from a to b where x == n_2;
      continue X [n_2 - x];
    } or {
      Stop() from a to b where n_2 == 1;
      Behind(n: int) from a to b where n > 7;
      rec Y [k<a, b>: int = n] {
        Tick(z: int) from a to b where z == k + n;
        continue Y [k + n];
      }
    }
  }
}
";
    assert_eq!(in_scr(text), written);
    assert_eq!(in_scr(written), written);
}

/// What follows a loop with data is printed behind it, where a field may be called like the data.
#[test]
fn what_follows_a_loop_with_data_is_printed_behind_it() {
    let text = "protocol P(role a, role b) {
  rec X [n<a, b>: (n: int{n >= 0}) = 3] {
    choice at a {
      M(x: int) from a to b where x == n;
      continue X [n - x];
    } or {
      Stop() from a to b where n == 1;
    }
  }
  Behind(n: int) from a to b where n > 7;
  Last(z: int) from a to b where z == n;
}
";
    assert_eq!(in_scr(text), text);
    // nuScr has nothing behind a loop: there the data have another name.
    let Content::Global(protocols) = parse(text, Language::Scr).content else { panic!("{text}") };
    let global = protocols[0].global.as_ref().expect("a global type");
    let written = print::nuscr("P", global).expect("a text");
    assert!(written.contains("rec X [n_2<a, b>: (n_2: int{n_2 >= 0}) = 3]"), "{written}");
    assert!(written.contains("M(x: int{x = n_2}) from a to b;"), "{written}");
    assert!(written.contains("Behind(n: int{n > 7}) from a to b;"), "{written}");
}

/// The last message of a branch that begins with a loop reads data that have one name before the branch is chosen and another behind it.
#[test]
fn no_name_is_captured() {
    let text = "protocol P(role a, role b) {
  choice at a {
    No() from a to b;
  } or {
    rec X [y<a, b>: int = 3] {
      Begin() from a to b;
      choice at a {
        Again(k: int) from a to b;
        continue X [k];
      } or {
        Stop() from a to b;
        Last(v: int) from b to a where v == y;
      }
    }
  }
}
";
    let written = in_scr(text);
    for (count, said) in
        [(1, "Last(v: int) from b to a where v == y;"), (1, "Last(v: int) from b to a where v == y_2;")]
    {
        assert_eq!(written.matches(said).count(), count, "{written}");
    }
    assert_eq!(in_scr(&written), written);
}

/// The only protocol of `text`, printed; what is printed has no mistake.
fn in_scr(text: &str) -> String {
    let protocol = |text: &str| {
        let document = parse(text, Language::Scr);
        let errors: Vec<_> = document.diagnostics.iter().filter(|found| found.is_error()).collect();
        assert!(errors.is_empty(), "{text}\n{errors:#?}");
        let Content::Global(mut protocols) = document.content else { panic!("global protocols") };
        protocols.remove(0).global.expect("a protocol without mistakes")
    };
    let printed = print::scr("P", &protocol(text), &[]).expect("it can be printed");
    protocol(&printed);
    printed
}
