//! A monitored component does what it would do without its monitor (RV'23, Theorem 23): the relation of the paper's
//! proof is a weak bisimulation under the label oracle (Definitions 19 to 21, Figures 6 and 7).
//!
//! Hypotheses: as for soundness. Messages are simulated two ahead per sender, and locations of up to
//! `satisfaction::DEPTH` labels looked at; what lies beyond is not held against anyone.

use referee_reference::global::Tree;
use referee_reference::relamon::monitor::{Lines, of_role};
use referee_reference::relamon::network::{Action, Blackbox, Message, Monitored};
use referee_reference::relamon::satisfaction::transparent;
use referee_reference::relative::is_well_formed;
use referee_testkit::choices::law_size;
use referee_testkit::global_types::Universe;

fn monitored(g: &Tree, p: &str) -> Monitored {
    let monitor = of_role(g, p, Lines::CORRECTED);
    Monitored::new(p, Blackbox::following(&monitor), &monitor)
}

#[test]
fn every_small_type() {
    let (mut components, mut triples) = (0, 0);
    let mut check = |g: &Tree| {
        if !is_well_formed(g) {
            return;
        }
        for p in g.participants() {
            let found = transparent(&monitored(g, &p), g).unwrap_or_else(|why| panic!("{g}: {p}: {why}"));
            components += 1;
            triples += found;
        }
    };
    Universe { roles: 3, labels: 2, payloads: &[""] }.for_each(3 + law_size(), &mut check);
    Universe { roles: 4, labels: 2, payloads: &[""] }.for_each(3 + law_size(), &mut check);
    println!("multiparty transparency: {components} components, {triples} triples");
    assert!(components > 1_500 && triples > 10_000, "{components} components, {triples} triples");
}

/// Teeth: a monitor that stops its component is not transparent.
#[test]
fn a_component_that_is_stopped_is_noticed() {
    let g = referee_reference::global::exchange("a", "b", vec![("l1", "", Tree::End), ("l2", "", Tree::End)]);
    let narrow = referee_reference::global::exchange("a", "b", vec![("l1", "", Tree::End)]);
    let blackbox = Blackbox::following(&of_role(&g, "a", Lines::CORRECTED));
    let stopped = Monitored::new("a", blackbox, &of_role(&narrow, "a", Lines::CORRECTED));
    assert!(transparent(&stopped, &g).is_err());
    let action = Action::Output("b".to_owned(), Message::data("l2", ""));
    assert!(stopped.component.steps().iter().any(|(found, _)| *found == action));
}
