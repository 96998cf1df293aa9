//! A thread that does one job after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

/// Something to do on another thread.
type Job = Box<dyn FnOnce() + Send>;

/// A thread that does jobs in the order in which they come. It ends when it is dropped, after the jobs it has.
pub(crate) struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn new(name: &str) -> Self {
        let (jobs, queue) = mpsc::channel::<Job>();
        let run = move || {
            while let Ok(job) = queue.recv() {
                // A job that panics answers nothing, and the next one is done all the same.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).ok();
        Self { jobs: Some(jobs), thread }
    }

    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Box::new(job));
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
