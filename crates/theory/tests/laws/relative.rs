//! The relative projection equals Algorithm 1 up to renaming of recursion variables, and is undefined at the
//! same exchange (RV'23, Definition 5); its locations are those of Algorithm 3, whose erasure is Algorithm 1
//! (Definitions 24 and 25); a type is accepted exactly if it is well formed (Definition 7).
//!
//! Hypotheses: closed, guarded, one receiver per choice, distinct labels; the generators build such types.
//! The product compares parts of types by number (see `referee_theory::global` on levels), so these laws also
//! say that equal numbers are equality up to renaming, on trees as on graphs with shared parts.

use std::collections::{BTreeMap, BTreeSet};

use referee_reference::global::{Tree, call, exchange, message, rec};
use referee_reference::relative::{self, Location, Locations, Readings};
use referee_testkit::choices::{Random, law_seeds, law_size};
use referee_testkit::global_types::{self, ROLES, Universe};
use referee_theory::relative::{Cause, Relative, RelativeId, RelativeType};
use referee_theory::{Global, GlobalType, NodeId};

/// How often each case arose.
#[derive(Debug, Default)]
struct Seen {
    types: usize,
    defined: usize,
    undefined: usize,
    dependencies: usize,
    recursive: usize,
    /// Nodes with more than one location.
    joined: usize,
    well_formed: usize,
}

impl Seen {
    fn check(&mut self, tree: &Tree, roles: usize) {
        self.types += 1;
        let roles = &ROLES[..roles];
        let global = tree.to_theory(roles).unwrap_or_else(|errors| panic!("{tree}: {errors:?}"));
        let shared = tree.to_shared_theory(roles).unwrap_or_else(|errors| panic!("{tree}: {errors:?}"));
        for (i, p) in roles.iter().enumerate() {
            for q in &roles[i + 1..] {
                let expected = relative::project(tree, p, q, Readings::DOCUMENTED);
                self.compare(tree, &global, (p, q), &expected);
                self.compare(tree, &shared, (p, q), &expected);
                self.locations(tree, &global, (p, q), &expected);
            }
        }
        let well_formed = relative::is_well_formed(tree);
        self.well_formed += usize::from(well_formed);
        assert_eq!(global.relative_all().is_ok(), well_formed, "{tree}");
        assert_eq!(shared.relative_all().is_ok(), well_formed, "{tree}, shared");
    }

    fn compare(
        &mut self,
        tree: &Tree,
        global: &GlobalType,
        (p, q): (&str, &str),
        expected: &Result<relative::Tree, relative::Undefined>,
    ) {
        let role = |name| global.vocabulary().find_role(name).unwrap();
        let found = global.relative(role(p), role(q));
        // A relative type belongs to an unordered pair.
        assert_eq!(global.relative(role(q), role(p)).is_ok(), found.is_ok(), "{tree}: ({q}, {p})");
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                self.defined += 1;
                let found = relative::Tree::from_theory(&found);
                assert!(found.equal_up_to_renaming(expected), "{tree}: ({p}, {q}): {found}, not {expected}");
                let text = expected.to_string();
                self.dependencies += usize::from(text.contains('('));
                self.recursive += usize::from(text.contains('μ'));
            }
            (Err(found), Err(expected)) => {
                self.undefined += 1;
                let Cause::Undefined(found) = found.cause else { panic!("{tree}: there is no `par`") };
                let at = &location_of_nodes(global)[&found.exchange];
                assert_eq!(*at, expected.at, "{tree}: ({p}, {q})");
                let sides = (found.left, found.right);
                assert_ne!(sides.0.0, sides.1.0, "{tree}: two branches");
                assert_ne!(sides.0.2, sides.1.2, "{tree}: two branches that differ");
            }
            (Ok(found), Err(expected)) => {
                panic!("{tree}: ({p}, {q}): {}, but undefined at {expected:?}", found.to_text());
            }
            (Err(found), Ok(expected)) => panic!("{tree}: ({p}, {q}): {found:?}, not {expected}"),
        }
    }

    /// The locations of a node are those that Algorithm 3 gives to all places the node stands at.
    fn locations(
        &mut self,
        tree: &Tree,
        global: &GlobalType,
        (p, q): (&str, &str),
        expected: &Result<relative::Tree, relative::Undefined>,
    ) {
        let located = relative::project_with_locations(tree, p, q);
        let Ok(plain) = expected else { return assert_eq!(located.as_ref().err(), expected.as_ref().err()) };
        let located = located.unwrap_or_else(|undefined| panic!("{tree}: ({p}, {q}): {undefined:?}"));
        assert!(located.erase().equal_up_to_renaming(plain), "{tree}: ({p}, {q}): {located}, not {plain}");
        let role = |name| global.vocabulary().find_role(name).unwrap();
        let found = global.relative(role(p), role(q)).unwrap();
        let mut places = BTreeMap::new();
        collect(&found, found.root(), &located, &mut places);
        let names = location_of_nodes(global);
        for (node, expected) in places {
            let ours: Locations = found.locations(node).iter().map(|at| names[at].clone()).collect();
            assert_eq!(ours, expected, "{tree}: ({p}, {q}): {}", found.text_at(node));
            self.joined += usize::from(ours.len() > 1);
        }
    }
}

/// The labels that lead to each node; the first way if there are several.
fn location_of_nodes(global: &GlobalType) -> BTreeMap<NodeId, Location> {
    let mut found = BTreeMap::new();
    let mut pending = vec![(global.root(), Location::new())];
    while let Some((node, location)) = pending.pop() {
        if found.contains_key(&node) {
            continue;
        }
        match global.node(node) {
            Global::End | Global::Call(_) | Global::Par(_) | Global::Join(_) => {}
            Global::Rec(rec) => pending.push((rec.body, location.clone())),
            Global::Exchange(exchange) => {
                for branch in exchange.branches.iter().rev() {
                    let label = global.vocabulary().label_of(branch.message).to_owned();
                    pending.push((branch.next, [location.as_slice(), &[label]].concat()));
                }
            }
        }
        found.insert(node, location);
    }
    found
}

/// Walks a type and its located tree side by side, and joins the locations of each node's places. An end has
/// no locations in the paper.
fn collect(
    found: &RelativeType,
    node: RelativeId,
    located: &relative::Tree,
    places: &mut BTreeMap<RelativeId, BTreeSet<Location>>,
) {
    let (locations, children): (&Locations, Vec<(RelativeId, &relative::Tree)>) =
        match (found.node(node), located) {
            (Relative::Call { .. }, relative::Tree::Call(_, locations)) => (locations, Vec::new()),
            (Relative::Rec { body, .. }, relative::Tree::Rec(_, locations, tree)) => {
                (locations, vec![(*body, tree)])
            }
            (
                Relative::Exchange { branches, .. } | Relative::Dependency { branches, .. },
                relative::Tree::Exchange { locations, branches: trees, .. }
                | relative::Tree::Dependency { locations, branches: trees, .. },
            ) => {
                let label = |message| found.vocabulary().label_of(message);
                let child = |&(message, next): &(referee_theory::Message, RelativeId)| {
                    (next, &trees.iter().find(|tree| tree.label == label(message)).unwrap().next)
                };
                (locations, branches.iter().map(child).collect())
            }
            _ => return,
        };
    places.entry(node).or_default().extend(locations.iter().cloned());
    for (next, tree) in children {
        collect(found, next, tree, places);
    }
}

#[test]
fn every_small_type() {
    let mut seen = Seen::default();
    let universe = Universe { roles: 3, labels: 2, payloads: &[""] };
    universe.for_each(4 + law_size(), |tree| seen.check(tree, 3));
    let universe = Universe { roles: 4, labels: 2, payloads: &[""] };
    universe.for_each(4 + law_size(), |tree| seen.check(tree, 4));
    let universe = Universe { roles: 3, labels: 2, payloads: &["", "T"] };
    universe.for_each(3 + law_size(), |tree| seen.check(tree, 3));
    println!("relative: {seen:?}");
    assert!(seen.defined > 50_000 && seen.undefined > 500 && seen.dependencies > 4_000, "{seen:?}");
    assert!(seen.recursive > 10_000 && seen.joined > 100, "{seen:?}");
}

#[test]
fn random_large_types() {
    let mut seen = Seen::default();
    let seeds = law_seeds(1_500);
    println!("relative: seeds {seeds:?}");
    for seed in seeds {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 5, labels: 3, payloads: &["", "T"] };
        seen.check(&global_types::random(universe, 20, choices), 5);
        // With three roles, every pair takes part in every exchange: always defined.
        seen.check(&global_types::random(Universe { roles: 3, ..universe }, 30, choices), 3);
    }
    println!("relative: {seen:?}");
    assert!(seen.defined > 10_000 && seen.undefined > 5_000 && seen.joined > 1_000, "{seen:?}");
}

/// Types whose branches go on alike for those who are not involved: well formed by construction, with equal
/// parts under different names and, as graphs, shared.
#[test]
fn types_built_to_be_well_formed() {
    let mut seen = Seen::default();
    for seed in law_seeds(300) {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 5, labels: 3, payloads: &["", "T"] };
        let tree = global_types::independent(universe, 8, choices);
        assert!(relative::is_well_formed(&tree), "seed {seed}: {tree}");
        seen.check(&tree, 5);
    }
    println!("relative, independent: {seen:?}");
    assert!(seen.undefined == 0 && seen.joined > 1_000 && seen.recursive > 1_000, "{seen:?}");
}

/// Teeth: for each documented reading of Algorithm 1 (docs/differences.md), a type on which the printed text says
/// something else.
mod readings {
    use super::*;

    fn check(tree: &Tree, pair: (&str, &str), printed: Readings) {
        let documented = relative::project(tree, pair.0, pair.1, Readings::DOCUMENTED);
        let printed = relative::project(tree, pair.0, pair.1, printed);
        let same = match (&documented, &printed) {
            (Ok(documented), Ok(printed)) => documented.equal_up_to_renaming(printed),
            _ => documented == printed,
        };
        assert!(!same, "{tree}: {documented:?}");
        Seen::default().check(tree, 4);
    }

    #[test]
    fn renaming() {
        let loop_of = |name| rec(name, message("c", "d", "m", call(name)));
        let tree = exchange("a", "b", vec![("l1", "", loop_of("X")), ("l2", "", loop_of("Y"))]);
        check(&tree, ("c", "d"), Readings { up_to_renaming: false, ..Readings::DOCUMENTED });
        assert!(relative::is_well_formed(&tree));
    }

    #[test]
    fn free_calls() {
        // For (a, b) both loops hold nothing but dependencies on what a says to c. The inner one is kept for
        // the sake of X; then the outer one contains Y, but not free.
        let inner = rec("Y", exchange("a", "c", vec![("l1", "", call("Y")), ("l2", "", call("X"))]));
        let outer = rec("X", exchange("a", "c", vec![("l1", "", inner), ("l2", "", Tree::End)]));
        check(&outer, ("a", "b"), Readings { free_calls_only: false, ..Readings::DOCUMENTED });
        let documented = relative::project(&outer, "a", "b", Readings::DOCUMENTED);
        assert_eq!(documented, Ok(relative::Tree::End));
    }

    #[test]
    fn labels() {
        let then = |next| message("a", "d", "m", next);
        let after = |payload| {
            exchange("a", "c", vec![("l1", payload, then(Tree::End)), ("l2", "", then(then(Tree::End)))])
        };
        let tree = exchange("b", "c", vec![("l1", "", after("T")), ("l2", "", after("U"))]);
        check(&tree, ("a", "d"), Readings { labels_only: false, ..Readings::DOCUMENTED });
    }
}

/// Branches are a set: the order in which they are listed does not make two types differ.
#[test]
fn the_order_of_branches_does_not_count() {
    let branches = |first, second| exchange("c", "d", vec![(first, "", Tree::End), (second, "", Tree::End)]);
    let tree = exchange("a", "b", vec![("l1", "", branches("m", "n")), ("l2", "", branches("n", "m"))]);
    assert!(relative::is_well_formed(&tree));
    Seen::default().check(&tree, 4);
}

/// What docs/differences.md says about loops that are pruned: they are projected first, and may be undefined.
#[test]
fn pruned_loops_are_projected_first() {
    let inner = rec("X", exchange("c", "d", vec![("l1", "", call("X")), ("l2", "", Tree::End)]));
    let tree = message("a", "b", "l", inner);
    assert!(!relative::is_well_formed(&tree));
    Seen::default().check(&tree, 4);
}

/// Payload types count when branches are compared, assertions aside; field names do not exist here.
#[test]
fn payloads_count() {
    let after = |payload| exchange("c", "d", vec![("m", payload, Tree::End)]);
    let differ = exchange("a", "b", vec![("l1", "", after("T")), ("l2", "", after("U"))]);
    let equal = exchange("a", "b", vec![("l1", "", after("T")), ("l2", "", after("T"))]);
    assert!(!relative::is_well_formed(&differ) && relative::is_well_formed(&equal));
    Seen::default().check(&differ, 4);
    Seen::default().check(&equal, 4);
}
