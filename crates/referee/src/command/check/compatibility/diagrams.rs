//! Counterexamples as diagrams, each in a file of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use referee::Projected;
use referee::check::{Judgement, Report};
use referee::draw::DrawError;
use referee::studio::{self, Trace};
use referee::theory::System;
use referee::view::execution::Run;

use super::question::Asked;
use crate::output;

/// Where counterexamples are drawn: the first in the files that were asked for, each further one beside them.
pub(crate) struct Diagrams {
    svg: Option<PathBuf>,
    mermaid: Option<PathBuf>,
    /// Where all of them are written as one page.
    page: Option<PathBuf>,
    traces: Vec<Trace>,
    count: usize,
    failure: Option<anyhow::Error>,
}

impl Diagrams {
    pub(super) fn new(svg: Option<PathBuf>, mermaid: Option<PathBuf>, page: Option<PathBuf>) -> Self {
        Self { svg, mermaid, page, traces: Vec::new(), count: 0, failure: None }
    }

    /// Draws the counterexample of `report` and of each property that is violated, if there are any, and tells where. What
    /// cannot be written is told in the end: it must not keep the answer back.
    pub(super) fn draw(
        &mut self,
        report: &Report,
        properties: &[Asked],
        system: &System,
        protocol: &Projected,
    ) -> Vec<String> {
        let witness = report.verdict.witness().map(|witness| Run::of_witness(witness, system));
        let executions = properties.iter().filter_map(|Asked { answer, system, .. }| {
            let certain = matches!(answer.judgement, Judgement::Violated(_));
            Some(Run::of_execution(answer.judgement.execution()?, &answer.name, certain, system))
        });
        let mut drawn = Vec::new();
        for run in witness.into_iter().chain(executions) {
            if self.page.is_some() {
                self.traces.push(run.trace(protocol));
            }
            drawn.extend(self.draw_one(&run));
            drawn.extend(self.page.as_ref().map(|page| page.display().to_string()));
        }
        drawn
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
    pub(crate) fn finish(mut self) -> Result<()> {
        if let Some(page) = self.page.as_ref().filter(|_| !self.traces.is_empty()) {
            let title = self.traces.iter().find_map(|trace| Some(trace.source.as_ref()?.name.clone()));
            let written = std::fs::write(page, studio::export(&title.unwrap_or_default(), &self.traces, &[]))
                .with_context(|| format!("cannot write `{}`", page.display()));
            self.failure = self.failure.take().or(written.err());
        }
        for file in [self.svg, self.mermaid, self.page].into_iter().flatten().filter(|_| self.count == 0) {
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
