//! The multiparty monitors of a global protocol.

use anyhow::{Result, bail};
use referee::check::Options;
use referee::monitor::multiparty::{RoleMonitor, draft};
use referee::{NoNetwork, Projected, view};

use super::{Arguments, Format, MonitorName, View, need_global, not_available, pretty};

/// Where a monitor follows a branch, the check that looks for the right one explores at most so much.
const MAX_STATES: usize = 1_000_000;

/// Whether the monitor view of `subject` shows multiparty monitors.
pub(super) fn is_meant(subject: &Projected, asked: Option<MonitorName>) -> bool {
    match asked {
        Some(name) => name == MonitorName::Multiparty,
        None => view::pictures::is_network(subject),
    }
}

pub(super) fn show(subject: &Projected, arguments: &Arguments) -> Result<String> {
    let global = need_global(subject)?;
    let mut monitors = monitors(subject)?;
    if let Some(role) = &arguments.role {
        let role = subject.role(role)?;
        monitors.retain(|monitor| monitor.role() == role);
    } else {
        let participants = global.participants();
        monitors.retain(|monitor| participants.contains(&monitor.role()));
    }
    match (arguments.format, &monitors[..]) {
        (Format::Text, monitors) => Ok(monitors.iter().map(view::multiparty::text).collect()),
        (Format::Json, monitors) => Ok(pretty(&monitors.iter().map(view::multiparty::to_json).collect())),
        (Format::Dot | Format::Mermaid | Format::Svg, [monitor]) => {
            arguments.format.draw(&view::multiparty::graph(monitor))
        }
        (Format::Dot | Format::Mermaid | Format::Svg, _) => {
            bail!("a picture shows one role: choose it with --role ({})", subject.role_names().join(", "))
        }
        (Format::Scr | Format::Nuscr | Format::Fsm, _) => Err(not_available(View::Monitor, arguments.format)),
    }
}

/// The monitors as they would be deployed.
fn monitors(subject: &Projected) -> Result<Vec<RoleMonitor>> {
    let relative = subject.relative_types().map_err(NoNetwork::NotRelative)?;
    let drafted = draft(need_global(subject)?, &relative);
    if drafted.iter().all(|monitor| monitor.followed().is_empty()) {
        return Ok(drafted);
    }
    let options = Options { max_states: MAX_STATES, ..Options::default() };
    Ok(subject.network(&options, None, &mut ())?.monitors().to_vec())
}
