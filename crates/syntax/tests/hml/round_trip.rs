//! Parse, print, parse again: the same property.

use referee_syntax::hml::{action, print};
use referee_theory::property::{EventKind, Property, Scope};

use crate::read;

/// Every construct, in each of the three ways of writing.
pub(crate) const ACCEPTED: &[&str] = &[
    "max X.([a?alpha][a?alpha][b!beta]ff and [a?alpha]X)",
    "[wrk?{req,C,N}]max X.([C!{rply,N}][C!{rply,N}]ff and [C!{rply,N}][wrk?{req,C,_}]X)",
    "([a?b]ff and [a?c]ff) and [b!{1,{c}}]ff or [a?[]]ff or ([_?[x,Y|_]]ff or [a?-1]ff)",
    "ff",
    "% a comment\nmax X.([p?V](max Y.([q!V]ff and [p?_]Y)) and [p?_]X)",
    "min X.(<a?done>tt or <_>X) and <a?1.5e3>tt",
    "/// No request is answered twice.\nproperty once for each session {\n  [client -> worker : Request(id, _)]\n  max X.([worker -> client : Reply(id)][worker -> client : Reply(id)]ff)\n}\n\nproperty other for each \"/user/id\", tenant { [{status >= 500 && method == \"GET\"}]ff }",
    "property roles { [$p -> _ : $l(x, {a: x, \"odd name\": [1, 2.5, ...rest]}, ...) {time: t, seq}]\n  [_ -> $p : $l(id: x, b: (true, null, 'atom'), n: -3) when t > 5 && rest.size() == 0]ff }",
    "property guarded { [\"a b\" -> c : D(x) when x.matches(\"^a+$\") || x in [1, 2] || !(x == null)]<_ -> _ : E(y) when (y > x)>ff }",
    "property processes { [P -> C, m:f(a, _)][C <- P, m:F([])][P ** {shutdown, R}][P : C ! R][<0.1.0> ? '$x y']ff }",
    "property excepted { max X.([_ except a -> b : C(x) when x > 1, {e: 1}]X and [a -> b : C(x) at t when x > 2 except a -> b : C(x), _ -> b : D(y: x)]ff) }",
    "property optional { <_ except a -> b : C(x) when (x > 1)>tt }",
    "rule first: before call refund(order_id: o) there must be result of lookup(order_id: o)\n/// Told.\nrule second: any call at most 10 times in 1m in the same session",
    "rule r: before each call \"delete file\"(id: i, how: {force: true, depth: d}) when (d > -1) there must be a new result of confirm(id: i) or failure of x(id: i)\nproperty p { [_]ff }\nrule q: message M(a: x, b: x) from p to \"q r\" at most 3 times in 1.5h for each x",
    "with worker:loop(_) check [{_ <- _, worker:loop(_)}]max X.([{_ ? {Clt, {add, A, B}}}]([{_ : Clt2 ! {ok, Res} when Clt2 =:= Clt andalso Res =/= A + B}]ff and [{_ : _ ! {ok, Res} when Res =:= A + B}]X)).",
    "%% The older form.\nwith m:f(A, B) when A > 1, is_list(B); B == \"ab\" monitor and([P ? X when not (X < -(1)) orelse hd(X) /= {a, [1]}]ff, max(X. [P ** normal]X)).",
    "with a:b() check [{_ ? x}]ff or <{_ ? y when length([1,2]) =:= 2}>tt, with c:d([H|T]) when H rem 2 =:= 1 check [{P ? \"text\" when P > 1, T ++ [a] =/= $a}]ff.",
];

/// Everything but names and places.
pub(crate) fn shape(property: &Property) -> String {
    let nodes: Vec<_> = (0u32..)
        .map(referee_theory::property::FormulaId)
        .take(property.node_count())
        .map(|node| format!("{:?}", property.node(node)))
        .collect();
    let scope = match property.scope() {
        Scope::PerProcess(process) => format!("{:?}", without_place(&process.start)),
        other => format!("{other:?}"),
    };
    let patterns: Vec<String> = property.patterns().iter().map(without_place).collect();
    format!("{:?} {scope} {nodes:?} {patterns:?} {:?}", property.root(), property.documentation())
}

fn without_place(pattern: &referee_theory::property::EventPattern) -> String {
    let text = format!("{pattern:?}");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Place {").into_iter().chain(rest.find("origin: Origin(")).min() {
        out.push_str(&rest[..at]);
        let close = if rest[at..].starts_with('P') { '}' } else { ')' };
        let end = rest[at..].find(close).map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn what_is_printed_is_read_back() {
    for text in ACCEPTED {
        let first = read(text);
        let printed = print(&first);
        let again = read(&printed);
        let shapes = |properties: &[std::sync::Arc<Property>]| {
            properties.iter().map(|property| shape(property)).collect::<Vec<_>>()
        };
        assert_eq!(shapes(&first), shapes(&again), "{text}\nprinted as\n{printed}");
        assert_eq!(print(&again), printed);
    }
}

#[test]
fn a_chain_of_modalities_may_be_as_long_as_it_likes() {
    let long = format!("{}ff", "[a?b]".repeat(100_000));
    let properties = read(&long);
    assert_eq!(properties[0].node_count(), 100_001);
    assert_eq!(read(&print(&properties))[0].node_count(), 100_001);
}

#[test]
fn actions_are_read_and_hold_no_variables() {
    let event = action("b!{ok,7,[x]}").unwrap();
    assert_eq!(event.kind, EventKind::Send);
    assert_eq!(event.payload.view().to_string(), "{ok,7,[x]}");
    assert_eq!(event.process.view().to_string(), "b");
    for wrong in ["", "a", "a?", "a?X", "a?_", "a?b c", "?b", "a?{b", "a?[b|c]"] {
        assert!(action(wrong).is_err(), "{wrong}");
    }
}
