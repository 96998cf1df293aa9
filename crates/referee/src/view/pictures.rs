//! All pictures of a text, as a page shows them beside it.

use std::collections::HashMap;

use referee_draw::Graph;
use referee_monitor::multiparty::{RoleMonitor, draft};
use referee_pipeline::{Projected, SubjectKind, WellFormed};
use referee_syntax::{Language, scr};
use referee_theory::Origin;

use super::{machine, monitor, multiparty, relative, sequence};

/// Larger machines are not drawn: nobody finds a state in them.
pub const MAX_DRAWN_STATES: usize = 80;

/// A picture of a protocol.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What it shows, in a few words: `sequence`, `client`, `monitor of client`, `client and server`.
    pub name: String,
    /// The picture.
    pub svg: String,
    /// Its edges that stand in the text.
    pub edges: Vec<Link>,
}

/// The nodes before and after an edge, and the first and last line of the text that says so, from 1.
pub type Link = (usize, usize, (usize, usize));

/// The sequence diagrams of `text`, the machines and monitors of roles, and relative types, each kind after the other; at most `limit`
/// of each protocol.
#[must_use]
pub fn pictures(text: &WellFormed, limit: usize) -> Vec<Picture> {
    let protocols: Vec<Projected> = text.protocols().collect();
    let mut all = Vec::new();
    for protocol in &protocols {
        let mut found = of_protocol(protocol, text.analysed().analysis().document.language);
        found.truncate(limit);
        if protocols.len() > 1
            && let Some(of) = protocol.name()
        {
            for picture in &mut found {
                picture.name = format!("{of}: {}", picture.name);
            }
        }
        all.append(&mut found);
    }
    all
}

fn of_protocol(protocol: &Projected, language: Language) -> Vec<Picture> {
    let mut all = Vec::new();
    let mut add = |name: String, svg: Option<String>, edges: Vec<(usize, usize, Origin)>| {
        let lines = lines_of(protocol, edges.iter().map(|(.., origin)| *origin));
        let link = |(from, to, origin)| Some((from, to, *lines.get(&origin)?));
        let edges = edges.into_iter().filter_map(link).collect();
        all.extend(svg.map(|svg| Picture { name, svg, edges }));
    };
    if language == Language::Scr {
        let (module, _) = scr::parse_module(protocol.source().file(0).text);
        let declared = module.protocols.iter().find(|known| protocol.name() == Some(&*known.name.text));
        let svg = declared.and_then(|declared| sequence::chart(&module, declared).to_svg().ok());
        add("sequence".to_owned(), svg, Vec::new());
    }
    let vocabulary = protocol.vocabulary();
    let drawn = || protocol.machines().flatten().filter(|machine| machine.state_count() <= MAX_DRAWN_STATES);
    for machine in drawn() {
        let edges = machine.states().flat_map(|state| {
            let of = move |t: &referee_theory::Transition| (state.0 as usize, t.target.0 as usize, t.origin);
            machine.transitions(state).iter().map(of)
        });
        let svg = machine::graph(machine, vocabulary).to_svg().ok();
        add(vocabulary.role_name(machine.role()).to_owned(), svg, edges.collect());
    }
    let networked = network_monitors(protocol);
    if networked.is_empty() {
        for drawn in drawn() {
            let monitorable = protocol.monitorable(drawn.role()).ok();
            let Some(view) = monitorable.and_then(|it| it.monitor().ok()).map(|monitor| monitor.view())
            else {
                continue;
            };
            let states = view.states.iter().enumerate();
            let edges = states.flat_map(|(from, state)| {
                state.branches.iter().map(move |branch| (from, branch.target, branch.origin))
            });
            add(format!("monitor of {}", view.role), small(&monitor::graph(&view)), edges.collect());
        }
    }
    for found in networked {
        let role = vocabulary.role_name(found.role());
        add(format!("monitor of {role}"), small(&multiparty::graph(&found)), Vec::new());
    }
    for found in protocol.relative_types().unwrap_or_default() {
        let (p, q) = found.pair();
        let pair = format!("{} and {}", vocabulary.role_name(p), vocabulary.role_name(q));
        add(pair, small(&relative::graph(&found)), Vec::new());
    }
    all
}

/// The first and the last line of each of `origins` that is in the protocol's own file.
#[must_use]
pub fn lines_of(
    protocol: &Projected,
    origins: impl Iterator<Item = Origin>,
) -> HashMap<Origin, (usize, usize)> {
    let mut distinct: Vec<Origin> = origins.collect();
    distinct.sort_unstable();
    distinct.dedup();
    let own = protocol.extents(distinct).into_iter().filter(|(_, extent)| extent.imported.is_none());
    own.map(|(origin, extent)| (origin, (extent.start.line, extent.end.line))).collect()
}

fn small(graph: &Graph) -> Option<String> {
    if graph.nodes().len() <= MAX_DRAWN_STATES { graph.to_svg().ok() } else { None }
}

/// Whether the monitors of `protocol` are those of a network: more than two roles, or a language of relative types.
#[must_use]
pub fn is_network(protocol: &Projected) -> bool {
    protocol.global().is_some_and(|global| {
        let relative_first = protocol.kind() == SubjectKind::Global { relative_first: true };
        (relative_first || global.participants().len() > 2) && protocol.relative_types().is_ok()
    })
}

/// The multiparty monitors of `protocol`, where it has them and they are known without a check.
fn network_monitors(protocol: &Projected) -> Vec<RoleMonitor> {
    let (Some(global), true) = (protocol.global(), is_network(protocol)) else { return Vec::new() };
    let Ok(relative) = protocol.relative_types() else { return Vec::new() };
    let mut drafted = draft(global, &relative);
    if drafted.iter().any(|monitor| !monitor.followed().is_empty()) {
        return Vec::new();
    }
    let participants = global.participants();
    drafted.retain(|monitor| participants.contains(&monitor.role()));
    drafted
}
