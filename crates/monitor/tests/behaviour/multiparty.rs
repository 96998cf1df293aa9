//! Engines of a protocol of three parties with assertions: who is blamed, and what policies let through.

use referee_check::Options;
use referee_monitor::multiparty::{
    Arrival, Dependencies, Effect, Engine, Finding, Network, Rule, Run, Settings, Status, Turn,
};
use referee_monitor::{Event, EventLabel, FieldValue, Party, Payload, Policy, Registry};
use referee_theory::Role;

const ORDERS: &str = "
    protocol Orders(role buyer, role shop, role bank) {
      rec AGAIN {
        choice at buyer {
          Order(amount: int) from buyer to shop where amount > 0;
          Bill(due: int) from shop to bank where due == amount;
          Paid(sum: int) from bank to buyer where sum >= due;
          continue AGAIN;
        } or { Leave() from buyer to shop; Bye() from shop to bank; }
      }
    }";

/// A message with one integer, or none.
type Order = (&'static str, Option<i64>);

fn lend_order(order: &Order, look: &mut dyn FnMut(&Event<'_>)) {
    let values: Vec<FieldValue<'_>> = order.1.into_iter().map(FieldValue::Int).collect();
    let payload = Payload::Positional(&values);
    look(&Event { from: Party::Stranger, to: Party::Stranger, label: EventLabel::Text(order.0), payload });
}

fn orders(policy: Policy) -> Vec<Engine> {
    orders_with(Settings { policy, ..Settings::default() })
}

fn orders_with(settings: Settings) -> Vec<Engine> {
    let document = referee_syntax::parse(ORDERS, referee_syntax::Language::Scr);
    let referee_syntax::Content::Global(protocols) = &document.content else { panic!("global") };
    let global = protocols[0].global.as_ref().unwrap();
    let relative = global.relative_all().unwrap();
    let network = Network::synthesise(global, &relative, &Options::default(), None, &mut ());
    network.deployable().unwrap();
    let engine = |role| Engine::new(&network, role, &Registry::new(), settings).unwrap();
    global.vocabulary().roles().map(engine).collect()
}

/// Assertions are enforced where their variables are known, and the sender is blamed wherever it is found.
#[test]
fn assertions_blame_the_sender() {
    let (buyer, shop, bank) = (Role(0), Role(1), Role(2));
    let engines = orders(Policy::Halt);
    let mut effects: Vec<Effect<Order>> = Vec::new();
    // The buyer's own monitor stops what the buyer must not send.
    let mut run = engines[0].run(9);
    let zero = ("Order", Some(0));
    engines[0]
        .component_sends(&mut run, shop.into(), zero, &lend_order, &mut |e| effects.push(e))
        .ok()
        .unwrap();
    let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
    assert_eq!((notice.rule, &notice.blamed[..]), (Some(Rule::ErrorOut), &[buyer][..]));
    assert_eq!((notice.breach.name(), notice.assertion.as_deref()), ("assertion", Some("amount > 0")));
    // Where it gets through, the shop's monitor finds it, and blames the buyer.
    let mut run = engines[1].run(9);
    let message = Arrival::Message(zero);
    engines[1].arrives(&mut run, buyer, message, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
    let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
    assert_eq!((notice.rule, &notice.blamed[..]), (Some(Rule::ErrorIn), &[buyer][..]));
    // The bank does not know the amount: only the shop's monitor can compare the bill with it.
    let mut run = engines[1].run(9);
    let order = Arrival::Message(("Order", Some(3)));
    engines[1].arrives(&mut run, buyer, order, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
    effects.clear();
    let bill = ("Bill", Some(4));
    engines[1]
        .component_sends(&mut run, bank.into(), bill, &lend_order, &mut |e| effects.push(e))
        .ok()
        .unwrap();
    let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
    assert_eq!(
        (notice.rule, &notice.blamed[..], run.status()),
        (Some(Rule::ErrorOut), &[shop][..], Status::Halted)
    );
}

/// Dropped: the session goes on as if nothing had been sent. Observed: it goes through, and is reported.
#[test]
fn policies() {
    for (policy, forwarded, wrong) in [(Policy::Drop, 0, 1), (Policy::Observe, 1, 2)] {
        let engine = &orders(policy)[0];
        let mut run = engine.run(9);
        let mut effects: Vec<Effect<Order>> = Vec::new();
        for order in [("Order", Some(-1)), ("Order", Some(1))] {
            let sent = engine
                .component_sends(&mut run, Role(1).into(), order, &lend_order, &mut |e| effects.push(e));
            sent.ok().unwrap();
        }
        let sent = effects.iter().filter(|e| matches!(e, Effect::Send { .. })).count();
        let reports: Vec<_> =
            effects.iter().filter(|e| matches!(e, Effect::Report(n) if !n.halted)).collect();
        assert_eq!(
            (sent, reports.len(), run.status()),
            (1 + forwarded, wrong, Status::Running),
            "{policy:?}"
        );
    }
}

/// Where sender and receiver observe, a message whose label is possible is that step whatever it carries: its sender is
/// blamed once, and everything after it is judged from there. What reads a value that was not of its type cannot be
/// judged, and nobody is blamed for it. A receiver that does not observe judges it for itself.
#[test]
fn a_wrong_value_is_the_step_all_the_same() {
    let (buyer, shop, bank) = (Role(0), Role(1), Role(2));
    let sends = |engine: &Engine, run: &mut Run<Order>, to: Role, order: Order| {
        let mut effects: Vec<Effect<Order>> = Vec::new();
        engine.component_sends(run, to.into(), order, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
        effects
    };
    // Of the wrong type, the amount is not known; too small, it is.
    for (order, bill, billed) in [
        (("Order", Some(-1)), 7, Finding::Misstep),
        (("Order", Some(-1)), -1, Finding::Right),
        (("Order", None), 7, Finding::Right),
    ] {
        let engines = orders(Policy::Observe);
        let (mut buyers, mut shops) = (engines[0].run(9), engines[1].run(9));
        let sent = sends(&engines[0], &mut buyers, shop, order);
        assert!(
            matches!(
                &sent[..],
                [
                    Effect::Send { finding: Finding::Misstep, .. },
                    Effect::Report(_),
                    Effect::Inform { to, .. }
                ] if *to == bank
            ),
            "{sent:?}"
        );
        let mut effects: Vec<Effect<Order>> = Vec::new();
        let mut out = |e| effects.push(e);
        engines[1].arrives(&mut shops, buyer, Arrival::Misstep(order), &lend_order, &mut out).ok().unwrap();
        assert!(
            matches!(&effects[..], [Effect::Deliver { .. }, Effect::Inform { to, .. }] if *to == bank),
            "{effects:?}"
        );
        // Also after a journal.
        let bytes = engines[1].save(&shops, |_, _| ());
        for run in [&mut shops, &mut engines[1].restore(&bytes, |_| None).unwrap()] {
            let sent = sends(&engines[1], run, bank, ("Bill", Some(bill)));
            let found = sent
                .first()
                .map(|e| if let Effect::Send { finding, .. } = e { Some(*finding) } else { None });
            assert_eq!(found, Some(Some(billed)), "{order:?} {sent:?}");
            assert_eq!(sent.iter().any(|e| matches!(e, Effect::Report(_))), billed != Finding::Right);
        }
        // The buyer waits for its answer.
        assert_eq!(engines[0].turn(&buyers), Turn::Message(bank));
    }
    for policy in [Policy::Drop, Policy::Halt] {
        let engine = &orders(policy)[1];
        let mut run = engine.run(9);
        let mut effects: Vec<Effect<Order>> = Vec::new();
        let wrong = Arrival::Misstep(("Order", Some(0)));
        engine.arrives(&mut run, buyer, wrong, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
        let [Effect::Report(notice)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((&notice.blamed[..], notice.halted), (&[buyer][..], true));
    }
}

/// Who is told that something was let through may be wrong because of it; and is given what waits for a turn that may
/// never come, which is judged all the same when it comes.
#[test]
fn who_was_told_is_given_everything_and_not_blamed_first() {
    let (buyer, shop, bank) = (Role(0), Role(1), Role(2));
    let engines = orders_with(Settings {
        policy: Policy::Observe,
        dependencies: Dependencies::Hide,
        ..Settings::default()
    });
    let (mut shops, mut banks) = (engines[1].run(9), engines[2].run(9));
    let mut effects: Vec<Effect<Order>> = Vec::new();
    engines[1]
        .component_sends(&mut shops, bank.into(), ("Bill", Some(1)), &lend_order, &mut |e| effects.push(e))
        .ok()
        .unwrap();
    let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
    assert!(!notice.consequence);
    // The shop's bill waits until the buyer's monitor, too, has told of the order.
    let mut effects: Vec<Effect<Order>> = Vec::new();
    for arrival in [Arrival::Dependency("Order"), Arrival::Message(("Bill", Some(3)))] {
        engines[2].arrives(&mut banks, shop, arrival, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
    }
    assert_eq!((effects.len(), banks.waiting()), (0, 2));
    engines[2].told(&mut banks, &notice, &mut |e| effects.push(e));
    assert!(matches!(&effects[..], [Effect::Tell(_), Effect::Deliver { .. }]), "{effects:?}");
    assert_eq!(banks.waiting(), 2);
    let bytes = engines[2].save(&banks, |_, _| ());
    let mut restored = engines[2].restore(&bytes, |_| Some(("Bill", Some(3)))).unwrap();
    for run in [&mut banks, &mut restored] {
        let mut effects: Vec<Effect<Order>> = Vec::new();
        let told = Arrival::Dependency("Order");
        engines[2].arrives(run, buyer, told, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
        assert!(!effects.iter().any(|e| matches!(e, Effect::Deliver { .. })), "twice: {effects:?}");
        assert_eq!((run.waiting(), engines[2].turn(run)), (0, Turn::Component));
        engines[2].component_ends(run, &lend_order, &mut |e| effects.push(e));
        let Some(Effect::Report(notice)) = effects.pop() else { panic!("{effects:?}") };
        assert_eq!((notice.breach.name(), notice.consequence), ("premature-end", true));
    }
}

/// What only the receiver's monitor can see has been sent: it cannot be left out any more, for the sender's monitor has
/// moved on. Dropping or not, the session ends there, and with it the sender's.
#[test]
fn what_has_arrived_is_not_dropped() {
    let (buyer, shop) = (Role(0), Role(1));
    let engines = orders(Policy::Drop);
    let mut effects: Vec<Effect<Order>> = Vec::new();
    let (mut buyers, mut shops) = (engines[0].run(9), engines[1].run(9));
    let order = ("Order", Some(3));
    let sent = engines[0].component_sends(&mut buyers, shop.into(), order, &lend_order, &mut |_| ());
    sent.ok().unwrap();
    // The shop's monitor sees another value in it.
    let wrong = Arrival::Message(("Order", Some(0)));
    engines[1].arrives(&mut shops, buyer, wrong, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
    let [Effect::Report(notice)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((notice.rule, &notice.blamed[..], notice.halted), (Some(Rule::ErrorIn), &[buyer][..], true));
    engines[0].told(&mut buyers, notice, &mut |_: Effect<Order>| ());
    assert_eq!((buyers.status(), shops.status()), (Status::Halted, Status::Halted));
}

/// What an observing monitor let through is known to be wrong: the receiver's monitor lets it through as well, at once,
/// whosever turn it is, and says nothing; it overtakes nothing of its sender's, and waits for room. One that drops
/// leaves it out; one that halts judges it when it is its turn.
#[test]
fn what_was_let_through_is_judged_once() {
    let (buyer, shop, bank) = (Role(0), Role(1), Role(2));
    let (order, again) = (("Order", Some(3)), ("Order", Some(5)));
    let engine = &orders(Policy::Observe)[0];
    let mut run = engine.run(9);
    let mut sent = Vec::new();
    for message in [order, again] {
        let taken =
            engine.component_sends(&mut run, shop.into(), message, &lend_order, &mut |e| sent.push(e));
        taken.ok().unwrap();
    }
    assert!(
        matches!(
            &sent[..],
            [
                Effect::Send { finding: Finding::Right, .. },
                Effect::Inform { .. },
                Effect::Send { finding: Finding::Wrong, .. },
                Effect::Report(_)
            ]
        ),
        "{sent:?}"
    );
    let delivered = |effects: &[Effect<Order>]| -> Vec<Order> {
        effects
            .iter()
            .filter_map(|e| if let Effect::Deliver { message, .. } = e { Some(*message) } else { None })
            .collect()
    };
    for (policy, got) in
        [(Policy::Observe, vec![order, again]), (Policy::Drop, vec![order]), (Policy::Halt, vec![order])]
    {
        let engine = &orders(policy)[1];
        let mut run = engine.run(9);
        let mut effects = Vec::new();
        for arrival in [Arrival::Message(order), Arrival::Wrong(again)] {
            engine.arrives(&mut run, buyer, arrival, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
        }
        assert_eq!(delivered(&effects), got, "{policy:?}");
        assert_eq!(run.violations(), 0);
        // The session is where it was.
        effects.clear();
        let bill = ("Bill", Some(3));
        engine
            .component_sends(&mut run, bank.into(), bill, &lend_order, &mut |e| effects.push(e))
            .ok()
            .unwrap();
        assert!(matches!(effects.first(), Some(Effect::Send { finding: Finding::Right, .. })), "{effects:?}");
    }
    // In the sender's order, and not without room; also after a journal.
    let engine = &orders(Policy::Observe)[0];
    let mut run = engine.run(0);
    let mut effects: Vec<Effect<Order>> = Vec::new();
    let paid = ("Paid", Some(3));
    engine.component_sends(&mut run, shop.into(), order, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
    for arrival in [Arrival::Message(paid), Arrival::Wrong(again)] {
        engine.arrives(&mut run, bank, arrival, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
    }
    assert_eq!((delivered(&effects), run.waiting_from(bank)), (vec![], 2));
    let bytes = engine.save(&run, |message, bytes| bytes.extend(message.0.as_bytes()));
    let read = |bytes: &[u8]| Some(if bytes == b"Paid" { paid } else { again });
    let mut restored = engine.restore(&bytes, read).unwrap();
    for run in [&mut run, &mut restored] {
        let mut effects = Vec::new();
        engine.component_takes(run, 1, &lend_order, &mut |e| effects.push(e));
        assert_eq!(delivered(&effects), [paid]);
        engine.component_takes(run, 1, &lend_order, &mut |e| effects.push(e));
        assert_eq!((delivered(&effects), run.waiting()), (vec![paid, again], 0));
    }
}

/// What cannot be read has no receiver, and nothing after it can be read: the session ends, whatever the policy.
#[test]
fn what_cannot_be_read_ends_the_session() {
    for policy in [Policy::Halt, Policy::Drop, Policy::Observe] {
        let engine = &orders(policy)[0];
        let mut run = engine.run(9);
        let mut effects: Vec<Effect<Order>> = Vec::new();
        for _ in 0..2 {
            engine.component_garbles(&mut run, "no JSON", &mut |e| effects.push(e));
            engine.component_ends(&mut run, &lend_order, &mut |e| effects.push(e));
        }
        let [Effect::Report(notice)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((notice.breach.name(), &notice.blamed[..]), ("malformed", &[Role(0)][..]));
        assert_eq!((notice.halted, run.status(), run.violations()), (true, Status::Halted, 1));
    }
}

/// A predicate that gives no answer is nobody's fault. Observed, the session is lost: from then on everything goes
/// through and nothing is judged; otherwise it ends.
#[test]
fn a_fault_of_the_configuration_loses_the_session() {
    let text = "external fn known(int) -> bool;
        protocol P(role p, role q, role r) {
          rec X { choice at p { m(n: int) from p to q where known(n); k() from q to r; continue X; } or { e() from p to q; } }
        }";
    let document = referee_syntax::parse(text, referee_syntax::Language::Scr);
    let referee_syntax::Content::Global(protocols) = &document.content else { panic!("global") };
    let global = protocols[0].global.as_ref().unwrap();
    let network =
        Network::synthesise(global, &global.relative_all().unwrap(), &Options::default(), None, &mut ());
    let external = &protocols[0].externals[0];
    let mut registry = Registry::new();
    let parameters = external.parameters.clone().into();
    let result = external.result.clone();
    let signature = referee_theory::expr::Signature { parameters, result };
    registry.register(&external.name, signature, |_| Err("out of order".to_owned()));
    for (policy, status) in [(Policy::Halt, Status::Halted), (Policy::Observe, Status::Lost)] {
        let settings = Settings { policy, ..Settings::default() };
        let engine = Engine::new(&network, Role(0), &registry, settings).unwrap();
        let mut run = engine.run(9);
        let mut effects: Vec<Effect<Order>> = Vec::new();
        let mut send = |run: &mut Run<Order>, order| {
            let sent =
                engine.component_sends(run, Role(1).into(), order, &lend_order, &mut |e| effects.push(e));
            sent.ok().unwrap();
        };
        send(&mut run, ("m", Some(1)));
        assert_eq!(run.status(), status);
        // Nothing of this fits, and nobody says so.
        for order in [("nonsense", None), ("m", None), ("e", Some(7))] {
            send(&mut run, order);
        }
        let blamed: Vec<_> = effects
            .iter()
            .filter_map(|e| if let Effect::Report(notice) = e { Some(notice.blamed.len()) } else { None })
            .collect();
        let sent = effects.iter().filter(|e| matches!(e, Effect::Send { .. })).count();
        assert_eq!((blamed, sent), (vec![0], if status == Status::Lost { 4 } else { 0 }), "{policy:?}");
        // A lost session survives a restart as what it is, passes on what arrives, and ends when its component does.
        let bytes = engine.save(&run, |_, _| ());
        let mut run: Run<Order> = engine.restore(&bytes, |_| None).unwrap();
        assert_eq!(run.status(), status);
        let mut effects: Vec<Effect<Order>> = Vec::new();
        let arrival = Arrival::Message(("anything", None));
        engine.arrives(&mut run, Role(2), arrival, &lend_order, &mut |e| effects.push(e)).ok().unwrap();
        engine.component_ends(&mut run, &lend_order, &mut |e| effects.push(e));
        if status == Status::Lost {
            assert!(matches!(&effects[..], [Effect::Deliver { .. }, Effect::Finished]), "{effects:?}");
            assert_eq!(run.status(), Status::Finished);
        } else {
            assert!(effects.is_empty());
        }
    }
}
