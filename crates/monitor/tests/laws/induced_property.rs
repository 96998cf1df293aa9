//! The property that a protocol induces is violated by the first event at which the session monitor blames a side, and not
//! before: with one peer and well-shaped payloads a session can be watched with either.

use std::sync::Arc;

use referee_monitor::{Event, FieldValue, Monitor, Payload, Registry, Session, Verdict};
use referee_reference::property::first_verdict;
use referee_syntax::hml::{NotInduced, induced, print};
use referee_syntax::{Content, Language, parse};
use referee_testkit::choices::{Choices as _, Random, law_seeds};
use referee_theory::property::{EventKind, EventView, Fields, Polarity, Property, Term};
use referee_theory::{Machine, Vocabulary};

/// Named fields, assertions, loops within loops, a third role.
const PROTOCOLS: &[(&str, &[&str])] = &[
    (
        "protocol Auth(role client, role server) {
           rec LOGIN {
             Auth(uname: string) from client to server where uname != \"z\";
             choice at server {
               Succ(tok: int) from server to client;
               rec SESSION {
                 choice at client {
                   Get(reqTok: int) from client to server where reqTok == tok;
                   choice at server { Res() from server to client; continue SESSION; }
                   or { Timeout() from server to client; continue LOGIN; }
                 } or { Rvk(rvkTok: int) from client to server where rvkTok == tok && rvkTok < 3; }
               }
             } or { Fail(code: int) from server to client where code > 0; continue LOGIN; }
           }
         }",
        &["client", "server"],
    ),
    (
        "protocol Three(role a, role b, role c) {
           rec L {
             choice at a {
               Go(x: int) from a to b where x > 0;
               Told(y: int) from b to c where y == x;
               continue L;
             } or { Stop() from a to b; Over(why: string) from b to c; }
           }
         }",
        // `b` has two peers, whose messages the monitor lets overtake each other and a property does not.
        &["a"],
    ),
];

fn machine(text: &str, role: &str) -> (Machine, Arc<Vocabulary>) {
    let Content::Global(protocols) = parse(text, Language::Scr).content else { panic!("{text}") };
    let global = protocols[0].global.as_ref().unwrap();
    let role = global.vocabulary().find_role(role).unwrap();
    (global.project(role).unwrap(), Arc::clone(global.vocabulary()))
}

/// The property, by way of its text.
fn property(machine: &Machine, vocabulary: &Arc<Vocabulary>) -> Arc<Property> {
    let session = machine.session_type(vocabulary, 10_000).unwrap();
    let text = print(&[Arc::new(induced(&session, "p").unwrap())]);
    let document = parse(&text, Language::Hml);
    assert!(document.is_usable(), "{text}\n{:?}", document.diagnostics);
    let Content::Properties(file) = document.content else { panic!("{text}") };
    Arc::clone(&file.properties[0])
}

/// A message: from, to, label, and the fields with their names.
type Sent = (String, String, String, Vec<(String, Field)>);

#[derive(Clone, Debug)]
enum Field {
    Int(i64),
    Text(&'static str),
}

/// Messages of the protocol, now and then with a wrong value or number of fields, or between the wrong roles.
fn sent(random: &mut Random, vocabulary: &Vocabulary) -> Sent {
    let roles: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
    let from = random.choose(roles.len());
    let to = (from + 1 + random.choose(roles.len() - 1)) % roles.len();
    let messages: Vec<_> = vocabulary.messages().collect();
    let spec = vocabulary.spec(messages[random.choose(messages.len())]);
    let value = |random: &mut Random, text: bool| match (text, random.chance(1, 20)) {
        (true, false) | (false, true) => Field::Text(["a", "z"][random.choose(2)]),
        _ => Field::Int(i64::try_from(random.choose(4)).unwrap()),
    };
    let mut fields: Vec<(String, Field)> = spec
        .fields
        .iter()
        .map(|field| {
            let text = field.ty == referee_theory::Type::String;
            (field.name.as_deref().unwrap().to_owned(), value(random, text))
        })
        .collect();
    if random.chance(1, 20) {
        fields.push(("extra".to_owned(), Field::Int(1)));
    } else if random.chance(1, 20) {
        fields.pop();
    }
    (roles[from].to_owned(), roles[to].to_owned(), vocabulary.label_name(spec.label).to_owned(), fields)
}

fn step(monitor: &Monitor, session: &mut Session, sent: &Sent) -> Verdict {
    let fields: Vec<(&str, FieldValue<'_>)> = sent
        .3
        .iter()
        .map(|(name, field)| match field {
            Field::Int(value) => (&**name, FieldValue::Int(*value)),
            Field::Text(text) => (&**name, FieldValue::Str(text)),
        })
        .collect();
    let (from, to) = (monitor.party(&sent.0), monitor.party(&sent.1));
    monitor.step(session, &Event::new(from, to, &sent.2, Payload::Named(&fields)))
}

/// The first event at which the property is violated.
fn violated(property: &Property, trace: &[Sent]) -> Option<i64> {
    let payloads: Vec<Vec<(&str, Term<'_>)>> = trace
        .iter()
        .map(|sent| {
            let field = |(name, field): &'_ (String, Field)| -> (&str, Term<'_>) {
                // The names live as long as the trace.
                let name: &str = trace
                    .iter()
                    .flat_map(|sent| &sent.3)
                    .map(|(known, _)| known.as_str())
                    .find(|known| known == name)
                    .unwrap();
                match field {
                    Field::Int(value) => (name, Term::Int(*value)),
                    Field::Text(text) => (name, Term::Text(text)),
                }
            };
            sent.3.iter().map(field).collect()
        })
        .collect();
    let keys: Vec<[(&str, Term<'_>); 1]> =
        payloads.iter().map(|payload| [("payload", Term::Record(Fields::Terms(payload)))]).collect();
    let views: Vec<EventView<'_>> = trace
        .iter()
        .zip(&keys)
        .map(|(sent, keys)| EventView {
            subject: Term::Text(&sent.0),
            object: Term::Text(&sent.1),
            label: Term::Text(&sent.2),
            payload: keys[0].1,
            keys: Fields::Terms(keys),
            ..EventView::new(EventKind::Exchange)
        })
        .collect();
    first_verdict(property, Polarity::Violation, &[], &views)
}

#[test]
fn a_protocol_and_the_property_it_induces_blame_the_same_event() {
    let (mut wrong, mut accepted_events) = (0, 0);
    for (text, roles) in PROTOCOLS {
        for role in *roles {
            let (machine, vocabulary) = machine(text, role);
            let property = property(&machine, &vocabulary);
            let monitor = Monitor::synthesise(&machine, &vocabulary, &Registry::new()).unwrap();
            for seed in law_seeds(400) {
                let mut random = Random::new(seed);
                let mut session = monitor.session();
                let mut trace = Vec::new();
                let mut blamed = None;
                while trace.len() < 12 && blamed.is_none() {
                    let mut next = sent(&mut random, &vocabulary);
                    // Mostly go on rightly, so that wrong events come late.
                    for _ in 0..60 {
                        let accepted =
                            !matches!(step(&monitor, &mut session.clone(), &next), Verdict::Violation(_));
                        if accepted || random.chance(1, 40) {
                            break;
                        }
                        next = sent(&mut random, &vocabulary);
                    }
                    if matches!(step(&monitor, &mut session, &next), Verdict::Violation(_)) {
                        blamed = Some(i64::try_from(trace.len()).unwrap());
                    }
                    trace.push(next);
                }
                assert_eq!(violated(&property, &trace), blamed, "seed {seed}, {role}: {trace:?}\n{text}");
                wrong += usize::from(blamed.is_some());
                accepted_events += trace.len() - usize::from(blamed.is_some());
            }
        }
    }
    assert!(wrong > 500 && accepted_events > 1_000, "{wrong} wrong, {accepted_events} events before them");
}

/// What a property cannot say is refused, not left out.
#[test]
fn what_a_loop_carries_round_is_refused() {
    let text = "protocol Up(role a, role b) {
      M(x: int) from a to b;
      rec L { M(x: int) from a to b where x > 0; N(y: int) from b to a where y == x; continue L; }
    }";
    let (up, vocabulary) = machine(text, "a");
    assert!(induced(&up.session_type(&vocabulary, 100).unwrap(), "p").is_ok(), "bound afresh in each round");
    let text = "protocol Up(role a, role b) {
      M(x: int) from a to b;
      rec L { N(y: int) from b to a where y > x; M(x: int) from a to b; continue L; }
    }";
    let (up, vocabulary) = machine(text, "a");
    let refused = induced(&up.session_type(&vocabulary, 100).unwrap(), "p");
    assert_eq!(refused.err(), Some(NotInduced::CarriedRound("x".into())));
}
