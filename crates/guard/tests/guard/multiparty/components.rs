//! What components may do, and what becomes of the others: wrong messages that are let through, connections that are
//! closed one way, components that do not read or say nothing.

use super::network::{Component, Network, ROLES, Setup};
use super::policies;

/// An assertion over what another role sent.
const BARGAIN: &str = "protocol Bargain(role s, role c, role a) {
    price(p: int) from s to c where p > 0;
    limit(l: int) from a to c;
    pay(q: int) from c to a where q <= l;
    top(t: int) from s to a;
}";

fn verdicts(network: &Network, role: &str) -> Vec<String> {
    let start = "referee_multiparty_verdicts_total{";
    let metrics = network.guards[role].metrics();
    let blamed = |line: &str| line.split_once("blame=").map(|(_, blamed)| blamed.to_owned());
    metrics.lines().filter(|line| line.starts_with(start)).filter_map(blamed).collect()
}

/// Observed, a message whose label fits is the step that it should have been, whatever it carries: everyone reacts to it
/// as to a right one, everything goes on, and nobody is blamed for anything but its sender, once. What an unknown value
/// is compared with is nobody's fault.
#[test]
fn observed_a_wrong_value_keeps_nothing_back() {
    for (price, limit, kind) in
        [("0", "20", "assertion"), (r#""cheap""#, "20", "type"), ("5", r#""low""#, "type")]
    {
        let network =
            Setup { role: policies("observe"), protocol: Some(BARGAIN), ..Setup::default() }.start();
        let [mut s, mut c, mut a] = network.session();
        let (price, limit) =
            (format!(r#"{{"type":"price","p":{price}}}"#), format!(r#"{{"type":"limit","l":{limit}}}"#));
        s.send(&price);
        c.expect(&price);
        a.send(&limit);
        c.expect(&limit);
        c.send(r#"{"type":"pay","q":7}"#);
        a.expect(r#"{"type":"pay","q":7}"#);
        s.send(r#"{"type":"top","t":1}"#);
        a.expect(r#"{"type":"top","t":1}"#);
        [s, c, a].into_iter().for_each(Component::end);
        network.wait_idle();
        let blamed = if limit.contains("low") { "a" } else { "s" };
        for role in ROLES {
            assert_eq!(verdicts(&network, role), [format!("\"{blamed}\",kind=\"{kind}\"}} 1")], "{role}");
        }
    }
}

/// Observed, who was to receive something before is given what comes from others all the same once a message was let through
/// that is no step; and when it comes after all, everything is judged from where it was.
#[test]
fn observed_nothing_waits_for_what_may_never_come() {
    let network = Setup { role: policies("observe"), protocol: Some(BARGAIN), ..Setup::default() }.start();
    let [mut s, mut c, mut a] = network.session();
    s.send(r#"{"type":"top","t":1}"#);
    a.expect(r#"{"type":"top","t":1}"#);
    a.send(r#"{"type":"limit","l":20}"#);
    c.expect(r#"{"type":"limit","l":20}"#);
    s.send(r#"{"type":"price","p":5}"#);
    c.expect(r#"{"type":"price","p":5}"#);
    c.send(r#"{"type":"pay","q":7}"#);
    a.expect(r#"{"type":"pay","q":7}"#);
    s.send(r#"{"type":"top","t":2}"#);
    a.expect(r#"{"type":"top","t":2}"#);
    [s, c, a].into_iter().for_each(Component::end);
    network.wait_idle();
    for role in ROLES {
        assert_eq!(verdicts(&network, role), ["\"s\",kind=\"order\"} 1"], "{role}");
    }
}

/// Who gives up after somebody else's violation was let through may do so because of it.
#[test]
fn who_gives_up_after_a_violation_elsewhere_is_marked_so() {
    let network = Setup { role: policies("observe"), protocol: Some(BARGAIN), ..Setup::default() }.start();
    let [mut s, c, mut a] = network.session();
    s.send(r#"{"type":"top","t":1}"#);
    network.wait("the violation known to c", |network| !verdicts(network, "c").is_empty());
    drop(c);
    for (component, before) in [(&mut s, 0), (&mut a, 1)] {
        (0..before).for_each(|_| component.expect(r#"{"type":"top","t":1}"#));
        let notice = component.notice();
        let said = (&notice["kind"], &notice["blame"][0], &notice["consequence"]);
        assert_eq!(said, (&"premature-end".into(), &"c".into(), &true.into()), "{notice}");
    }
}
