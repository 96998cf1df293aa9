//! Random `.scr` texts that are syntactically right, with blanks and comments anywhere between tokens.

use proptest::prelude::*;

type Tokens = Vec<String>;

fn tokens(text: &str) -> Tokens {
    // Blanks inside strings are written as `~` here.
    text.split_whitespace().map(|token| token.replace('~', " ")).collect()
}

fn one_of(texts: &'static [&'static str]) -> BoxedStrategy<Tokens> {
    prop::sample::select(texts).prop_map(tokens).boxed()
}

fn name() -> BoxedStrategy<Tokens> {
    one_of(&["a", "b'", "220", "Größe", "role", "from", "choice", "where", "as_", "_"])
}

/// Names that statements may begin with when another name follows.
fn plain_name() -> BoxedStrategy<Tokens> {
    one_of(&["a", "b'", "220", "Größe", "X", "_"])
}

/// `parts` one after the other.
fn all(parts: Vec<BoxedStrategy<Tokens>>) -> BoxedStrategy<Tokens> {
    parts.prop_map(|parts| parts.concat()).boxed()
}

fn word(text: &'static str) -> BoxedStrategy<Tokens> {
    Just(tokens(text)).boxed()
}

/// `least` or more, with commas between them.
fn separated(part: BoxedStrategy<Tokens>, least: usize) -> BoxedStrategy<Tokens> {
    prop::collection::vec(part, least..least + 3).prop_map(|parts| parts.join(&",".to_owned())).boxed()
}

fn maybe(part: BoxedStrategy<Tokens>) -> BoxedStrategy<Tokens> {
    prop::option::of(part).prop_map(Option::unwrap_or_default).boxed()
}

fn ty() -> BoxedStrategy<Tokens> {
    let leaf = one_of(&["int", "Token", "java . lang . String", "( )", "{ }"]);
    let strategy = leaf.prop_recursive(3, 8, 3, |inner| {
        let inner = inner.boxed();
        let field = all(vec![name(), word(":"), inner.clone()]);
        prop_oneof![
            all(vec![word("list <"), inner.clone(), word(">")]),
            all(vec![word("array ["), inner.clone(), word("]")]),
            all(vec![word("("), separated(inner.clone(), 1), maybe(word(",")), word(")")]),
            all(vec![word("{"), separated(field, 1), word("}")]),
        ]
    });
    strategy.boxed()
}

fn cel() -> BoxedStrategy<Tokens> {
    one_of(&[
        "x > 0",
        "x == 1 && ( y < - 2 || z ) && ! w",
        "f . g ( x , \"a~~b\\n\" , 'c' )",
        "x in [ 1 , 2 , ]",
        "s . matches ( r\"[a-z]+//\" ) ? a [ 0 ] : b . c",
        "longEnoughToBeBroken1 == longEnoughToBeBroken2 && longEnoughToBeBroken3 == longEnoughToBeBroken4 || x",
    ])
}

fn nuscr() -> BoxedStrategy<Tokens> {
    one_of(&[
        "x > 0 && y <> 2 || z",
        "not x",
        "- x + 1",
        "len ( \"a~//~b\" ) = 2nd",
        "x",
        "( x ) * ( 3 - 4 )",
    ])
}

fn field() -> BoxedStrategy<Tokens> {
    let refinement = maybe(all(vec![word("{"), nuscr(), word("}")]));
    prop_oneof![
        all(vec![maybe(all(vec![name(), word(":")])), ty(), refinement]),
        one_of(&["P @ r", "x : P @ r"]),
    ]
    .boxed()
}

fn message() -> BoxedStrategy<Tokens> {
    all(vec![maybe(name()), word("("), separated(field(), 0), word(")")])
}

fn simple() -> BoxedStrategy<Tokens> {
    let condition = maybe(all(vec![word("where"), cel()]));
    let route = || all(vec![word("from"), name(), word("to"), separated(name(), 1)]);
    let arguments = || maybe(all(vec![word("["), separated(nuscr(), 1), word("]")]));
    let renamed = || all(vec![plain_name(), maybe(one_of(&["as B"]))]);
    let roles = || all(vec![word("("), separated(renamed(), 1), word(")")]);
    let argument = prop_oneof![renamed(), all(vec![message(), maybe(one_of(&["as S"]))])].boxed();
    let kind = prop_oneof![
        4 => all(vec![message(), route(), condition]),
        1 => all(vec![plain_name(), route()]),
        1 => all(vec![message(), word("connect"), name(), word("to"), name()]),
        1 => all(vec![word("continue"), plain_name(), arguments()]),
        1 => all(vec![word("do"), plain_name(), maybe(all(vec![word("<"), separated(argument, 1), word(">")])), roles()]),
        1 => all(vec![plain_name(), word("calls"), name(), roles()]),
        1 => one_of(&["connect a to b", "disconnect a and b", "wrap a to b"]),
    ];
    let annotation = maybe(one_of(&["@ \"x~>~1\"", "@ \"~y~~=~2~\""]));
    all(vec![kind.boxed(), word(";"), annotation])
}

fn statement() -> BoxedStrategy<Tokens> {
    let strategy = simple().prop_recursive(4, 24, 4, |inner| {
        let block = prop::collection::vec(inner, 0..4)
            .prop_map(|statements| [tokens("{"), statements.concat(), tokens("}")].concat());
        let parameter = all(vec![
            name(),
            maybe(all(vec![word("<"), separated(name(), 1), word(">")])),
            word(":"),
            prop_oneof![
                ty(),
                one_of(&["( x : int { x >= 0 } )", "( int { x > 1 } )", "( int )", "( int , )"])
            ]
            .boxed(),
            word("="),
            nuscr(),
        ]);
        let parameters = maybe(all(vec![word("["), separated(parameter, 1), word("]")]));
        let branches =
            prop::collection::vec(block.clone(), 1..4).prop_map(|blocks| blocks.join(&"or".to_owned()));
        let parallel =
            prop::collection::vec(block.clone(), 1..4).prop_map(|blocks| blocks.join(&"and".to_owned()));
        prop_oneof![
            all(vec![word("choice at"), name(), branches.boxed()]),
            all(vec![word("par"), parallel.boxed()]),
            all(vec![word("rec"), plain_name(), parameters, block.boxed()]),
        ]
    });
    strategy.boxed()
}

fn statements() -> BoxedStrategy<Tokens> {
    prop::collection::vec(statement(), 0..5).prop_map(|statements| statements.concat()).boxed()
}

fn protocol() -> BoxedStrategy<Tokens> {
    let role = || all(vec![word("role"), plain_name(), maybe(one_of(&["as C"]))]);
    let parameters = maybe(one_of(&["< type T , sig S as R >", "< sig S >"]));
    let header = || {
        let new = maybe(all(vec![word("; new"), separated(role(), 1)]));
        all(vec![plain_name(), parameters.clone(), word("("), separated(role(), 1), new, word(")")])
    };
    let keywords = one_of(&[
        "protocol",
        "global protocol",
        "global",
        "aux global protocol",
        "aux protocol",
        "explicit global protocol",
        "global explicit protocol",
    ]);
    let nested = all(vec![word("nested protocol"), header(), word("{"), statements(), word("}")]);
    let nested = prop::collection::vec(nested, 0..2).prop_map(|nested| nested.concat()).boxed();
    all(vec![keywords, header(), word("{"), nested, statements(), word("}")])
}

fn declaration() -> BoxedStrategy<Tokens> {
    prop_oneof![
        3 => protocol(),
        1 => one_of(&["import a . b ;", "import c as d ;", "type T ;", "sig < j > \"x~y\" from \"z\" as S ;"]),
        1 => one_of(&["type < java . x > \"X\" from \"y.java\" as T ;"]),
        1 => all(vec![word("type"), plain_name(), word("="), ty(), word(";")]),
        1 => all(vec![word("external fn f . g ("), separated(ty(), 0), word(") ->"), ty(), word(";")]),
    ]
    .boxed()
}

const BETWEEN: [&str; 17] = [
    " ",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n\n",
    "\r\n \r\n",
    "\n\n\n",
    "\t",
    " /* c */ ",
    " // d\n",
    "\n  // {e\n",
    "\n\n(* f (* g *) *) ",
    " /* h\n   i\n  \n       */ ",
    " (*) j\r\n",
    "\n\n// k \n\n",
];

/// A text and nothing wrong with its syntax.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let pragmas = maybe(one_of(&["(*# A #*)", "(*# A , B : c , #*) (*# #*)"]));
    let module = maybe(one_of(&["module m . n ;"]));
    let declarations = prop::collection::vec(declaration(), 0..4).prop_map(|all| all.concat()).boxed();
    let tokens = all(vec![pragmas, module, declarations]);
    // Many texts have few comments.
    let between = prop_oneof![Just(5_usize), Just(10), Just(BETWEEN.len())];
    let gaps = between.prop_flat_map(|kinds| prop::collection::vec(0..kinds, 64));
    (tokens, gaps).prop_map(|(tokens, gaps)| {
        let mut text = String::new();
        for (token, gap) in tokens.iter().zip(gaps.iter().cycle()) {
            let tight = matches!(&**token, ";" | ",") && *gap < 3;
            text.push_str(if tight { "" } else { BETWEEN[*gap] });
            text.push_str(token);
        }
        text + BETWEEN[gaps[0]]
    })
}

const SOUP: [&str; 72] = [
    "protocol",
    "global",
    "aux",
    "nested",
    "explicit",
    "module",
    "import",
    "type",
    "sig",
    "external",
    "fn",
    "role",
    "new",
    "choice",
    "at",
    "or",
    "rec",
    "continue",
    "do",
    "calls",
    "from",
    "to",
    "where",
    "as",
    "connect",
    "disconnect",
    "and",
    "a",
    "b",
    "P",
    "X",
    "m",
    "1",
    "x",
    "é",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    ".",
    "@",
    "=",
    "->",
    "-",
    "&&",
    "\"s\"",
    "\"",
    "(*#",
    "#*)",
    "//",
    "/*",
    "*/",
    "(*",
    "*)",
    "(*)",
    "\n",
    "'",
    "§",
    "protocol P(role a, role b) {",
    "m() from a to b;",
    "choice at a {",
    "} or {",
    "par {",
    "} and {",
    "x > 0",
];

/// Words and signs in any order.
pub(crate) fn soup() -> impl Strategy<Value = String> {
    let separator = prop::sample::select(&[" ", "", "\n"][..]);
    let tokens = prop::collection::vec(prop::sample::select(&SOUP[..]), 0..60);
    (tokens, separator).prop_map(|(tokens, separator)| tokens.join(separator))
}

/// A right text with some of it cut out or repeated.
pub(crate) fn damaged() -> impl Strategy<Value = String> {
    (text(), any::<prop::sample::Index>(), 0_usize..20, any::<bool>()).prop_map(
        |(text, at, length, twice)| {
            let floor = |mut at: usize| {
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let start = floor(at.index(text.len() + 1));
            let end = floor((start + length).min(text.len()));
            let end = end.max(start);
            let again = if twice { &text[start..end] } else { "" };
            format!("{}{again}{again}{}", &text[..start], &text[end..])
        },
    )
}
