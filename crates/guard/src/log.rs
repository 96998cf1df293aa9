//! The log: lines for people or for machines, on standard error or in a file.

use std::fs::OpenOptions;
use std::io::IsTerminal as _;
use std::sync::Arc;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::config::{Log, LogFormat, Problem};

/// Logs a remark for whoever runs the guard, where the log is for machines and plain lines would be in its way.
pub fn remark(line: &str) {
    tracing::info!("{line}");
}

/// Logs a warning.
pub fn warn(line: &str) {
    tracing::warn!("{line}");
}

/// Logs why the guard cannot go on.
pub fn error(line: &str) {
    tracing::error!("{line}");
}

/// Begins to log as `config` says. A second call changes nothing.
///
/// # Errors
/// The level is no filter, or the file cannot be written.
pub fn start(config: &Log) -> Result<(), Problem> {
    let level = config.level.as_ref().map_or("info", |level| level.get_ref());
    let filter = EnvFilter::try_new(level).map_err(|error| {
        let span = config.level.as_ref().map_or(0..0, toml::Spanned::span);
        Problem::new(format!("this is no log level: {error}"), span)
            .with_help("info, warn, error, debug or trace")
    })?;
    let (writer, colours) = match &config.file {
        None => (BoxMakeWriter::new(std::io::stderr), std::io::stderr().is_terminal()),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let file = file.map_err(|error| {
                let message = format!("the log file `{}` cannot be written: {error}", path.display());
                Problem::new(message, 0..0)
            })?;
            (BoxMakeWriter::new(Arc::new(file)), false)
        }
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    let _ = match config.format {
        LogFormat::Json => builder.json().flatten_event(true).with_target(false).try_init(),
        LogFormat::Pretty => builder.with_target(false).with_ansi(colours).try_init(),
    };
    Ok(())
}
