//! The multiparty monitors of a global protocol.

use anyhow::{Result, bail};
use referee::check::Options;
use referee::monitor::multiparty::{Network, RoleMonitor, draft};
use referee::theory::GlobalType;
use referee::theory::relative::RelativeType;
use referee::view;

use super::{Arguments, Format, MonitorName, View, need_global, not_available, pretty};
use crate::command::show::subject::Subject;

/// Where a monitor follows a branch, the check that looks for the right one explores at most so much.
const MAX_STATES: usize = 1_000_000;

/// Whether the monitor view of `subject` shows multiparty monitors.
pub(super) fn is_meant(subject: &Subject, asked: Option<MonitorName>) -> bool {
    match asked {
        Some(name) => name == MonitorName::Multiparty,
        None => subject.global.as_deref().is_some_and(|global| {
            (subject.relative_first || global.participants().len() > 2) && global.relative_all().is_ok()
        }),
    }
}

pub(super) fn show(subject: &Subject, arguments: &Arguments) -> Result<String> {
    let global = need_global(subject)?;
    let relative = match global.relative_all() {
        Ok(relative) => relative,
        Err(errors) => match errors.first() {
            Some(error) => bail!("{}", subject.explain_relative(error)),
            None => bail!("this protocol has no relative types"),
        },
    };
    let mut monitors = monitors(global, &relative);
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
        (Format::Scr | Format::Fsm, _) => Err(not_available(View::Monitor, arguments.format)),
    }
}

/// The monitors as they would be deployed.
fn monitors(global: &GlobalType, relative: &[RelativeType]) -> Vec<RoleMonitor> {
    let drafted = draft(global, relative);
    if drafted.iter().all(|monitor| monitor.followed().is_empty()) {
        return drafted;
    }
    let options = Options { max_states: MAX_STATES, ..Options::default() };
    Network::synthesise(global, relative, &options, None, &mut ()).monitors().to_vec()
}
