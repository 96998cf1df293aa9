//! The checks of a generated endpoint and the monitor of its role agree: what one admits, the other forwards; what has no value is wrong
//! for both; a predicate without an answer is a fault for both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use referee_monitor::{Event, FieldValue, Payload, Verdict};
use referee_pipeline::{Language, Parsed, Projected};
use referee_testkit::choices::{Choices, Random, law_cases, law_seeds};
use referee_theory::Term;
use referee_theory::expr::{Signature, Value};

use super::workbench::Workbench;
use crate::{Plan, Subject, python, rust, typescript};

/// A random expression of a type, as text.
struct Texts<'a>(&'a mut Random);

impl Texts<'_> {
    fn any(&mut self, leaves: &[&str], templates: &[&str], depth: usize) -> String {
        if depth == 0 || self.0.chance(1, 4) {
            return (*self.0.pick(leaves)).to_owned();
        }
        let template = *self.0.pick(templates);
        let mut text = String::new();
        for character in template.chars() {
            match character {
                'I' => text += &self.int(depth - 1),
                'F' => text += &self.float(depth - 1),
                'T' => text += &self.text(depth - 1),
                'B' => text += &self.bool(depth - 1),
                'L' => text += &self.list(depth - 1),
                other => text.push(other),
            }
        }
        text
    }

    fn int(&mut self, depth: usize) -> String {
        let leaves = ["i", "j", "0", "2", "(-1)", "9223372036854775807"];
        let templates = [
            "(I + I)",
            "(I - I)",
            "(I * I)",
            "(I / I)",
            "(I % I)",
            "(-I)",
            "abs(I)",
            "min(I, I, I)",
            "max(I, I)",
            "int(F)",
            "int(T)",
            "size(T)",
            "size(L)",
            "L[I]",
            "(B ? I : I)",
        ];
        self.any(&leaves, &templates, depth)
    }

    fn float(&mut self, depth: usize) -> String {
        let leaves = ["x", "y", "0.5", "0.0"];
        let templates = [
            "(F + F)",
            "(F - F)",
            "(F * F)",
            "(F / F)",
            "(-F)",
            "abs(F)",
            "min(F, F)",
            "max(F, F)",
            "double(I)",
            "double(T)",
            "(B ? F : F)",
        ];
        self.any(&leaves, &templates, depth)
    }

    fn text(&mut self, depth: usize) -> String {
        let templates = ["(T + T)", "string(I)", "string(F)", "string(B)", "string(T)", "(B ? T : T)"];
        self.any(&["s", "t", "\"7\"", "\"\"", "\"a\""], &templates, depth)
    }

    fn bool(&mut self, depth: usize) -> String {
        let templates = [
            "(I < I)",
            "(I >= I)",
            "(I == I)",
            "(F < F)",
            "(F == F)",
            "(F != F)",
            "(F >= F)",
            "(T == T)",
            "(T < T)",
            "(T >= T)",
            "(I in L)",
            "(L == L)",
            "(L != [])",
            "(!B)",
            "(B && B)",
            "(B || B)",
            "(B && B && B)",
            "(B || B || B)",
            "(B == B)",
            "(B < B)",
            "(B ? B : B)",
            "T.startsWith(T)",
            "T.endsWith(T)",
            "T.contains(T)",
            "T.matches(\"^a?[0-7]*$\")",
            "T.matches(\"\\\\w\")",
            "odd(I)",
            "((I / I) == I || B)",
            "(B && L[I] > I)",
        ];
        self.any(&["b", "c", "true", "false"], &templates, depth)
    }

    fn list(&mut self, depth: usize) -> String {
        self.any(&["l", "[0]"], &["(L + L)", "[I, I]", "(B ? L : L)", "[I]", "(L + [])"], depth)
    }
}

/// The values of `i, x, s, b, l` and of `j, y, t, c`.
#[derive(Clone)]
struct Values {
    ints: [i64; 2],
    floats: [f64; 2],
    texts: [&'static str; 2],
    bools: [bool; 2],
    list: &'static [i64],
}

fn values(choices: &mut Random) -> Values {
    let mut int = || *choices.pick(&[i64::MIN, -1, 0, 1, 2, 7, i64::MAX]);
    let ints = [int(), int()];
    let mut float =
        || *choices.pick(&[-0.5, 0.0, -0.0, 1.0, 2.0, f64::NAN, f64::INFINITY, 1e300, 1e-7, 123_456_789.125]);
    let floats = [float(), float()];
    let mut text = || *choices.pick(&["", "a", "7", "aé7", "-9223372036854775808", "1e3", "+2", "NaN"]);
    let texts = [text(), text()];
    let bools = [choices.chance(1, 2), choices.chance(1, 2)];
    Values { ints, floats, texts, bools, list: choices.pick::<&[i64]>(&[&[], &[0], &[2, -1, i64::MAX]]) }
}

fn protocol(assertions: &[String]) -> Projected {
    let mut text = "external fn odd(int) -> bool;\nprotocol P(role a, role b) {\n\
         Set(i: int, x: float, s: string, b: bool, l: list<int>) from a to b;\nchoice at a {"
        .to_owned();
    for (index, assertion) in assertions.iter().enumerate() {
        let or = if index > 0 { "} or {" } else { "" };
        writeln!(text, "{or} M{index}(j: int, y: float, t: string, c: bool) from a to b where {assertion};")
            .unwrap();
    }
    text.push_str("} }");
    let parsed = Parsed::new(&text, Language::Scr).well_formed();
    parsed.unwrap_or_else(|error| panic!("{error}\n{text}")).protocol(None).unwrap()
}

/// Whether a number is odd: unknown for 0.
fn odd(args: &[Term<'_>]) -> Result<Value, String> {
    match args {
        [Term::Int(0)] => Err("nobody knows".to_owned()),
        [Term::Int(number)] => Ok(Value::Bool(number % 2 != 0)),
        _ => Err("no number".to_owned()),
    }
}

/// `1`: forwarded; `0`: violated; `p`: the predicate has no answer.
fn judged(protocol: &Projected, cases: &[Values], assertions: usize) -> String {
    let mut monitorable = protocol.monitorable(protocol.role("a").unwrap()).unwrap();
    let signature = monitorable.registry().declared("odd").unwrap().clone();
    monitorable.registry_mut().register("odd", signature, odd);
    let monitor = monitorable.monitor().unwrap();
    let (a, b) = (monitor.party("a"), monitor.party("b"));
    let mut judged = String::new();
    for case in cases {
        let list: Vec<FieldValue<'_>> = case.list.iter().map(|value| FieldValue::Int(*value)).collect();
        let (mut set, mut own) = (Vec::new(), Vec::new());
        for (at, fields) in [&mut set, &mut own].into_iter().enumerate() {
            fields.push(FieldValue::Int(case.ints[at]));
            fields.push(FieldValue::Float(case.floats[at]));
            fields.push(FieldValue::Str(case.texts[at]));
            fields.push(FieldValue::Bool(case.bools[at]));
        }
        set.push(FieldValue::List(&list));
        let mut session = monitor.session();
        let event = Event::new(a, b, "Set", Payload::Positional(&set));
        assert_eq!(monitor.step(&mut session, &event), Verdict::Forward);
        for index in 0..assertions {
            let label = format!("M{index}");
            let event = Event::new(a, b, &label, Payload::Positional(&own));
            judged.push(match monitor.step(&mut session.clone(), &event) {
                Verdict::Forward => '1',
                Verdict::Fault(_) => 'p',
                _ => '0',
            });
        }
        judged.push('\n');
    }
    judged
}

fn plan(protocol: &Projected) -> Plan {
    let machine = protocol.machine(protocol.role("a").unwrap()).unwrap();
    let external = &protocol.externals()[0];
    let (parameters, result) = (external.parameters.clone().into(), external.result.clone());
    Plan::new(&Subject {
        protocol: "P",
        file: "p.scr",
        vocabulary: protocol.vocabulary(),
        machines: &[machine],
        predicates: BTreeMap::from([(Arc::from("odd"), Signature { parameters, result })]),
        comment: &|_| Vec::new(),
        about: Vec::new(),
    })
    .unwrap()
}

fn rust_program(cases: &[Values], assertions: usize) -> String {
    let mut main = "mod endpoint;\nmod predicates {\n    pub fn odd(number: i64) -> Result<bool, &'static str> {\n        \
         if number == 0 { Err(\"nobody knows\") } else { Ok(number % 2 != 0) }\n    }\n}\n\
         use referee_endpoint::{Error, local};\nfn show(result: Result<(), Error>) -> char {\n    match result {\n        \
         Ok(()) => '1',\n        Err(Error::Predicate { .. }) => 'p',\n        Err(_) => '0',\n    }\n}\nfn main() {\n"
        .to_owned();
    main.push_str("    let cases: &[(i64, f64, &str, bool, &[i64], i64, f64, &str, bool)] = &[\n");
    for case in cases {
        let float = |value: f64| format!("f64::from_bits({})", value.to_bits());
        let Values { ints, floats, texts, bools, list } = case;
        writeln!(
            main,
            "({}, {}, {:?}, {}, &{list:?}, {}, {}, {:?}, {}),",
            ints[0],
            float(floats[0]),
            texts[0],
            bools[0],
            ints[1],
            float(floats[1]),
            texts[1],
            bools[1]
        )
        .unwrap();
    }
    main.push_str(
        "    ];\n    for &(i, x, s, b, l, j, y, t, c) in cases {\n        let mut line = String::new();\n",
    );
    main.push_str(
        "        let (_b, a) = { let mut links = local(&[(\"a\", &[\"b\"]), (\"b\", &[\"a\"])]); (links.pop().unwrap(), links.pop().unwrap()) };\n        let state = endpoint::Start::new(a).set(i, x, s, b, l.to_vec()).unwrap();\n",
    );
    for index in 0..assertions {
        writeln!(main, "        line.push(show(state.admits_m{index}(j, y, t, c)));").unwrap();
    }
    main.push_str("        println!(\"{line}\");\n    }\n}\n");
    main
}

fn python_program(cases: &[Values], assertions: usize) -> String {
    let mut main = "import math\nimport struct\nimport endpoint\n\nclass Nowhere:\n    def send(self, *_):\n        pass\n    \
         def end(self, over):\n        pass\n\ndef show(check, *fields):\n    try:\n        check(*fields)\n        return '1'\n    \
         except endpoint.PredicateFailed:\n        return 'p'\n    except endpoint._Undefined:\n        return '0'\n\ndef f(bits):\n    \
         return struct.unpack('<d', struct.pack('<Q', bits))[0]\n\nfor i, x, s, b, l, j, y, t, c in [\n"
        .to_owned();
    for Values { ints, floats, texts, bools, list } in cases {
        let python = |value: bool| if value { "True" } else { "False" };
        writeln!(
            main,
            "    ({}, f({}), {:?}, {}, {list:?}, {}, f({}), {:?}, {}),",
            ints[0],
            floats[0].to_bits(),
            texts[0],
            python(bools[0]),
            ints[1],
            floats[1].to_bits(),
            texts[1],
            python(bools[1])
        )
        .unwrap();
    }
    main.push_str("]:\n    state = endpoint.Start(Nowhere()).set(i, x, s, b, l)\n    line = ''\n");
    for index in 0..assertions {
        writeln!(main, "    line += show(state._admits_m{index}, j, y, t, c)").unwrap();
    }
    main.push_str("    print(line)\n");
    main
}

fn typescript_program(cases: &[Values], assertions: usize) -> String {
    let mut main = "import * as endpoint from './endpoint.js';\n\nconst nowhere: endpoint.Link = {\n    async send() {},\n    \
         async receive() { throw new Error('nothing comes'); },\n    end() {},\n};\n\n\
         function show(check: () => unknown): string {\n    try {\n        check();\n        return '1';\n    } catch (error) {\n        \
         return error instanceof endpoint.PredicateFailed ? 'p' : '0';\n    }\n}\n\n\
         function f(bits: bigint): number {\n    return new Float64Array(BigUint64Array.of(bits).buffer)[0] ?? 0;\n}\n\n\
         type Case = readonly [bigint, number, string, boolean, readonly bigint[], bigint, number, string, boolean];\n\
         const cases: readonly Case[] = [\n"
        .to_owned();
    for Values { ints, floats, texts, bools, list } in cases {
        let list: Vec<String> = list.iter().map(|value| format!("{value}n")).collect();
        let value = |at: usize| {
            format!("{}n, f({}n), {:?}, {}", ints[at], floats[at].to_bits(), texts[at], bools[at])
        };
        writeln!(main, "    [{}, [{}], {}],", value(0), list.join(", "), value(1)).unwrap();
    }
    main.push_str("];\n\nfor (const [i, x, s, b, l, j, y, t, c] of cases) {\n");
    main.push_str(
        "    const state: any = await new endpoint.Start(nowhere).set(i, x, s, b, l);\n    let line = '';\n",
    );
    for index in 0..assertions {
        writeln!(main, "    line += show(() => state._admitsM{index}(j, y, t, c));").unwrap();
    }
    main.push_str("    console.log(line);\n}\n");
    main
}

/// Fails where a program says something else than the monitor.
fn compare(found: &str, expected: &str, assertions: &[String], seed: u64) {
    for (case, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        for (index, (found, expected)) in found.chars().zip(expected.chars()).enumerate() {
            assert_eq!(found, expected, "seed {seed}, case {case}: {}", assertions[index]);
        }
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn endpoints_and_monitors_agree() {
    let bench = Workbench::new("agree");
    for seed in law_seeds(1) {
        let mut choices = Random::new(seed);
        let assertions: Vec<String> = (0..law_cases(150)).map(|_| Texts(&mut choices).bool(4)).collect();
        let cases: Vec<Values> = (0..100).map(|_| values(&mut choices)).collect();
        let protocol = protocol(&assertions);
        let expected = judged(&protocol, &cases, assertions.len());
        let plan = plan(&protocol);
        bench.write("endpoint.rs", &rust(&plan, "crate::predicates"));
        bench.write("main.rs", &rust_program(&cases, assertions.len()));
        compare(&bench.run("main.rs"), &expected, &assertions, seed);
        bench.write("endpoint.py", &python(&plan, "predicates"));
        bench.write("main.py", &python_program(&cases, assertions.len()));
        let predicate = "def odd(number):\n    if number == 0:\n        raise ValueError('nobody knows')\n    return number % 2 != 0\n";
        bench.write("predicates.py", predicate);
        match bench.run_python("main.py") {
            Some(found) => compare(&found, &expected, &assertions, seed),
            None => eprintln!("skipped: there is no Python 3.11"),
        }
        bench.write("package.json", "{\"type\": \"module\"}");
        bench.write("endpoint.ts", &typescript(&plan, "./predicates.js"));
        bench.write("main.ts", &typescript_program(&cases, assertions.len()));
        let predicate = "export function odd(number: bigint): boolean {\n    if (number === 0n) throw new Error('nobody knows');\n    return number % 2n !== 0n;\n}\n";
        bench.write("predicates.ts", predicate);
        match bench.run_typescript("main.ts") {
            Some(found) => compare(&found, &expected, &assertions, seed),
            None => eprintln!("skipped: there is no tsc, or no Node"),
        }
        let count = |wanted: char| expected.chars().filter(|verdict| *verdict == wanted).count();
        // The law says nothing if there is only one answer.
        assert!(
            count('1') > 2_000 && count('0') > 2_000 && count('p') > 30,
            "{} {} {}",
            count('1'),
            count('0'),
            count('p')
        );
    }
}
