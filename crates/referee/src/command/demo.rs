//! `referee demo`: the whole product on an embedded example, nothing else needed.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use clap::Args;
use referee::draw::Charset;
use referee::syntax::scr;
use referee::{Language, Parsed, Source, view};

mod guarded;

use crate::Outcome;
use crate::output::{self, Renderer, SOFT, STRONG, styled};

/// Show what Referee does, on an embedded example.
#[derive(Args)]
pub(crate) struct Arguments {}

const PROTOCOL: &str = include_str!("demo/auth.scr");
const MISTAKE: (&str, &str) = ("continue SESSION;", "continue SESION;");

pub(crate) fn run(_: &Arguments) -> Result<Outcome> {
    let mut out = output::stdout();
    title(&mut out, "A protocol, written once")?;
    for line in PROTOCOL.lines() {
        writeln!(out, "    {line}")?;
    }

    title(&mut out, "Checked before anything runs")?;
    let renderer = Renderer::new(&std::io::stdout());
    let parsed = |text: &str| Parsed::with_language(Source::new("auth.scr", text), Language::Scr);
    let well_formed = parsed(PROTOCOL).well_formed()?;
    write!(out, "{}", renderer.render("auth.scr", PROTOCOL, well_formed.analysed().diagnostics()))?;
    let projected = well_formed.protocol(None)?;
    writeln!(out, "    well formed; what each role does, as a machine:\n")?;
    for machine in projected.machines() {
        for line in view::machine::table(machine.map_err(Clone::clone)?, projected.vocabulary()).lines() {
            writeln!(out, "    {line}")?;
        }
        writeln!(out)?;
    }

    title(&mut out, "Drawn")?;
    let (module, _) = scr::parse_module(PROTOCOL);
    let protocol = module.protocols.first().context("the embedded text holds a protocol")?;
    for line in view::sequence::chart(&module, protocol).to_text(Charset::Unicode)?.lines() {
        writeln!(out, "    {line}")?;
    }

    title(&mut out, "And with a mistake in it")?;
    let wrong = PROTOCOL.replacen(MISTAKE.0, MISTAKE.1, 1);
    if let Err(ill_formed) = parsed(&wrong).well_formed() {
        write!(out, "{}", renderer.render("auth.scr", &wrong, ill_formed.analysed().diagnostics()))?;
    }
    title(&mut out, "Guarded while it runs")?;
    guarded::run(&mut out)?;
    let hint = "Next: referee check FILE, referee show FILE --view machine --role R --format svg, referee guard CONFIG";
    writeln!(out, "{}", styled(SOFT, hint))?;
    out.flush()?;
    Ok(Outcome::Holds)
}

fn title(out: &mut impl std::io::Write, text: &str) -> std::io::Result<()> {
    writeln!(out, "\n{}\n", styled(STRONG, format!("── {text} ──")))
}
