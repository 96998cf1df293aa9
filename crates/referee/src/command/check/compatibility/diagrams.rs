//! Counterexamples as diagrams, each in a file of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use referee::check::{PropertyAnswer, Report};
use referee::draw::DrawError;
use referee::theory::System;
use referee::view::execution::Run;

use crate::output;

/// Where counterexamples are drawn: the first in the files that were asked for, each further one beside them.
pub(crate) struct Diagrams {
    svg: Option<PathBuf>,
    mermaid: Option<PathBuf>,
    count: usize,
    failure: Option<anyhow::Error>,
}

impl Diagrams {
    pub(super) fn new(svg: Option<PathBuf>, mermaid: Option<PathBuf>) -> Self {
        Self { svg, mermaid, count: 0, failure: None }
    }

    /// Draws the counterexample of `report` and of each property that is violated, if there are any, and tells where. What
    /// cannot be written is told in the end: it must not keep the answer back.
    pub(super) fn draw(
        &mut self,
        report: &Report,
        properties: &[PropertyAnswer],
        system: &System,
    ) -> Vec<String> {
        let witness = report.verdict.witness().map(|witness| Run::of_witness(witness, system));
        let executions = properties.iter().filter_map(|answer| {
            Some(Run::of_execution(answer.judgement.execution()?, &answer.name, system))
        });
        witness.into_iter().chain(executions).flat_map(|run| self.draw_one(&run)).collect()
    }

    fn draw_one(&mut self, run: &Run<'_>) -> Vec<String> {
        self.count += 1;
        let chart = run.chart(true);
        let mut drawn = Vec::new();
        let mut write = |file: Option<&Path>, text: &dyn Fn() -> Result<String, DrawError>| -> Result<()> {
            if let Some(file) = file {
                let file = numbered(file, self.count);
                std::fs::write(&file, text()?)
                    .with_context(|| format!("cannot write `{}`", file.display()))?;
                drawn.push(file.display().to_string());
            }
            Ok(())
        };
        let written = [
            write(self.svg.as_deref(), &|| chart.to_svg()),
            write(self.mermaid.as_deref(), &|| chart.to_mermaid()),
        ];
        self.failure = self.failure.take().or(written.into_iter().find_map(Result::err));
        drawn
    }

    /// Says so where diagrams were asked for and there was nothing to draw: a file that is there is an old one.
    ///
    /// # Errors
    /// One could not be written.
    pub(crate) fn finish(self) -> Result<()> {
        for file in [self.svg, self.mermaid].into_iter().flatten().filter(|_| self.count == 0) {
            output::remark(&format!("there is no counterexample: `{}` was not written", file.display()));
        }
        self.failure.map_or(Ok(()), Err)
    }
}

/// `trace.svg`, `trace-2.svg`, `trace-3.svg`.
fn numbered(file: &Path, count: usize) -> PathBuf {
    if count < 2 {
        return file.to_owned();
    }
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{count}"));
    if let Some(extension) = file.extension() {
        name.push(".");
        name.push(extension);
    }
    file.with_file_name(name)
}
