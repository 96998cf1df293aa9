//! Rules about calls mean what they say: the property that a rule is translated to is violated where its sentence, read word by word, is first
//! untrue; on all traces of calls and results over two orders up to a length.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee_monitor::property::{PropertyMonitor, PropertyVerdict};
use referee_syntax::{Content, Language, parse};
use referee_theory::property::{EventKind, EventView, Fields, Property, Scope, Term};

/// What is called, or has answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Call(&'static str, i64),
    /// Whether it failed.
    Result(&'static str, i64, bool),
    /// A message that is about no call.
    Other,
}

const ALPHABET: [Event; 9] = [
    Event::Call("a", 1),
    Event::Call("a", 2),
    Event::Call("b", 1),
    Event::Result("b", 1, false),
    Event::Result("b", 1, true),
    Event::Result("b", 2, false),
    Event::Result("a", 1, false),
    Event::Call("c", 1),
    Event::Other,
];

const LENGTH: u32 = 5;

impl Event {
    fn key(self) -> Option<i64> {
        match self {
            Self::Call(_, key) | Self::Result(_, key, _) => Some(key),
            Self::Other => None,
        }
    }

    fn called(self, tools: &[&str]) -> bool {
        matches!(self, Self::Call(tool, _) if tools.contains(&tool))
    }

    fn answered(self, tools: &[&str]) -> bool {
        matches!(self, Self::Result(tool, _, false) if tools.contains(&tool))
    }
}

/// What makes the last event of a trace wrong, where those before it are given.
type Says = fn(&[Event], Event) -> bool;

/// Each rule, whether it is about each order by itself, and its sentence.
const RULES: [(&str, bool, Says); 10] = [
    ("rule r: before call a(id: x) there must be result of b(id: x)", true, |past, now| {
        now.called(&["a"]) && !past.iter().any(|event| event.answered(&["b"]))
    }),
    (
        "rule r: before call a(id: _) or call c there must be result of b or call b(id: _)",
        false,
        |past, now| {
            now.called(&["a", "c"])
                && !past.iter().any(|event| event.answered(&["b"]) || event.called(&["b"]))
        },
    ),
    // What is itself asked for needs nothing before it.
    ("rule r: before any call there must be call b", false, |past, now| {
        now.called(&["a", "c"]) && !past.iter().any(|event| event.called(&["b"]))
    }),
    ("rule r: before each call a(id: x) there must be a new result of b(id: x)", true, |past, now| {
        let last = |test: &dyn Fn(Event) -> bool| past.iter().rposition(|event| test(*event));
        let (used, new) = (last(&|event| event.called(&["a"])), last(&|event| event.answered(&["b"])));
        now.called(&["a"]) && (new.is_none() || used > new)
    }),
    ("rule r: before each any call there must be a new call b", false, |past, now| {
        let last = |tools: &[&str]| past.iter().rposition(|event| event.called(tools));
        now.called(&["a", "c"]) && (last(&["b"]).is_none() || last(&["a", "c"]) > last(&["b"]))
    }),
    ("rule r: never call a(id: 1) or call c", false, |_, now| {
        now == Event::Call("a", 1) || now.called(&["c"])
    }),
    ("rule r: never call a or any failure after call b or result of b", false, |past, now| {
        (now.called(&["a"]) || now == Event::Result("b", 1, true))
            && past.iter().any(|event| event.called(&["b"]) || event.answered(&["b"]))
    }),
    ("rule r: call a(id: x) at most once for each x", true, |past, now| {
        now.called(&["a"]) && past.iter().any(|event| event.called(&["a"]))
    }),
    ("rule r: call a or call b at most 2 times", false, |past, now| {
        now.called(&["a", "b"]) && past.iter().filter(|event| event.called(&["a", "b"])).count() >= 2
    }),
    ("rule r: call a(id: x) when (x > 1) or message Other at most once", false, |past, now| {
        let counted = |event: Event| event == Event::Call("a", 2) || event == Event::Other;
        counted(now) && past.iter().any(|event| counted(*event))
    }),
];

fn with_view<T>(event: Event, look: impl FnOnce(&EventView<'_>) -> T) -> T {
    let exchange = EventView::new(EventKind::Exchange);
    let (from, to, label, tool, key, failed) = match event {
        Event::Call(tool, key) => ("client", "server", "Call", tool, key, None),
        Event::Result(tool, key, failed) => ("server", "client", "CallResult", tool, key, Some(failed)),
        Event::Other => {
            let (subject, object) = (Term::Text("client"), Term::Text("server"));
            return look(&EventView { subject, object, label: Term::Text("Other"), ..exchange });
        }
    };
    let arguments = [("id", Term::Int(key))];
    let failed = failed.map_or(Term::Null, |failed| if failed { Term::Bool(true) } else { Term::Null });
    let payload = [
        ("tool", Term::Text(tool)),
        ("arguments", Term::Record(Fields::Terms(&arguments))),
        ("failed", failed),
    ];
    let payload = Term::Record(Fields::Terms(&payload));
    look(&EventView {
        subject: Term::Text(from),
        object: Term::Text(to),
        label: Term::Text(label),
        payload,
        ..exchange
    })
}

fn property(text: &str) -> Arc<Property> {
    let document = parse(text, Language::Hml);
    assert!(document.diagnostics.iter().all(|found| !found.is_error()), "{text}: {:?}", document.diagnostics);
    let Content::Properties(file) = document.content else { panic!("{text}") };
    Arc::clone(&file.properties[0])
}

/// At which event of the trace each instance is violated first.
fn given(monitor: &PropertyMonitor, trace: &[Event]) -> BTreeMap<Option<i64>, usize> {
    let keys: &[_] = match monitor.property().scope() {
        Scope::PerKey(keys) => keys,
        _ => &[],
    };
    let mut memory = monitor.memory();
    let mut instances = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (at, event) in trace.iter().enumerate() {
        with_view(*event, |view| {
            let key = match keys {
                [] => None,
                [key] => match view.key(key) {
                    Some(Term::Int(key)) => Some(key),
                    _ => return,
                },
                _ => panic!("one key"),
            };
            let instance = instances.entry(key).or_insert_with(|| monitor.begin(view));
            let Some(instance) = instance else { return };
            if monitor.step(&mut memory, instance, view, 1000) == Some(PropertyVerdict::Violation) {
                found.insert(key, at);
            }
        });
    }
    found
}

fn expected(is_keyed: bool, says: Says, trace: &[Event]) -> BTreeMap<Option<i64>, usize> {
    let mut found = BTreeMap::new();
    for (at, event) in trace.iter().enumerate() {
        let key = event.key().filter(|_| is_keyed);
        if is_keyed && key.is_none() {
            continue;
        }
        let same = |other: &&Event| !is_keyed || other.key() == key;
        let past: Vec<Event> = trace[..at].iter().filter(same).copied().collect();
        if says(&past, *event) {
            found.entry(key).or_insert(at);
        }
    }
    found
}

#[test]
fn rules_are_violated_where_their_sentences_are_untrue() {
    for (text, is_keyed, says) in RULES {
        let property = property(text);
        assert_eq!(is_keyed, matches!(property.scope(), Scope::PerKey(_)), "{text}");
        let monitor = PropertyMonitor::new(property).unwrap();
        let (mut violated, mut content) = (0, 0);
        for number in 0..ALPHABET.len().pow(LENGTH) {
            let digits = (0..LENGTH).map(|digit| number / ALPHABET.len().pow(digit) % ALPHABET.len());
            let trace: Vec<Event> = digits.map(|digit| ALPHABET[digit]).collect();
            let (given, expected) = (given(&monitor, &trace), expected(is_keyed, says, &trace));
            assert_eq!(given, expected, "{text}: trace {number}");
            if given.is_empty() { content += 1 } else { violated += 1 }
        }
        assert!(violated > 100 && content > 100, "{text}: {violated} of {content}");
    }
}

/// What is printed of a rule is a property that means the same: it is read back as the same.
#[test]
fn the_property_of_a_rule_is_read_back() {
    for (text, _, _) in RULES {
        let own = property(text);
        let printed = referee_syntax::hml::print(&[Arc::clone(&own)]);
        let again = property(&printed);
        assert_eq!(referee_syntax::hml::print(&[Arc::clone(&again)]), printed, "{text}");
        assert_eq!(again.patterns().len(), own.patterns().len(), "{text}\n{printed}");
    }
}
