//! The driver with a fake job runner, in virtual time.

mod children;
mod controls;
mod errors;
mod events;
mod groups;
mod manual;
mod order;
mod retry;
mod stop;

use crate::fake::{Act, FakeRunner, Recorder, driver, plan};
use executor_core::Cancellation;
use scheduler::PipelineReport;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn run(
    text: &str,
    acts: &[(&str, &[Act])],
) -> (PipelineReport, Arc<FakeRunner>, Arc<Recorder>) {
    let runner = FakeRunner::new(acts);
    let sink = Arc::new(Recorder::default());
    let report = driver(&runner, &sink)
        .run(plan(text), &Cancellation::new())
        .await;
    (report, runner, sink)
}

fn statuses(report: &PipelineReport) -> String {
    let status = |job: &scheduler::JobReport| format!("{} {}", job.name, job.status);
    report
        .jobs
        .iter()
        .map(status)
        .collect::<Vec<_>>()
        .join(", ")
}

fn sink_of() -> Arc<Recorder> {
    Arc::new(Recorder::default())
}
