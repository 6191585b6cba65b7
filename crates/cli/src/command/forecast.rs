//! The forecast of a run while it runs, and the times in its report.

use super::run_view::RunView;
use crate::args::OutputArgs;
use console::{announcement, print_notes};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use pipeline_insight::forecast::{Forecast, Outlook};
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use scheduler::report::{SlowerJob, TimeReport};
use scheduler::{JobReport, PipelineReport, ReportFormat, Status};
use std::sync::Arc;
use workstation::{Expectations, LocalRun};

/// The forecast of a run.
#[derive(Debug)]
pub(super) struct RunForecast {
    expectations: Expectations,
    forecast: Arc<Mutex<Forecast>>,
    first: Option<Outlook>,
}

impl RunForecast {
    /// Creates the forecast if a terminal, `--times` or a JSON report shows it. On a terminal, announces the
    /// expected duration.
    pub(super) fn of(run: &LocalRun, args: &OutputArgs, view: &RunView) -> Option<Self> {
        let is_json = |format| matches!(format, ReportFormat::Json);
        let is_reported = args.report.iter().any(|file| is_json(file.format));
        let is_shown = view.is_watched() || args.times;
        if !is_shown && !is_reported {
            return None;
        }
        let expectations = run.expectations();
        if is_shown {
            print_notes(expectations.notes());
        }
        let mut forecast = expectations.forecast(run.plan());
        let first = forecast.outlook(Timestamp::now());
        let forecast = Arc::new(Mutex::new(forecast));
        if is_shown {
            view.set_forecast(&forecast);
            if let Some(line) = first.as_ref().and_then(announcement) {
                view.announce(&line);
            }
        }
        Some(Self {
            expectations,
            forecast,
            first,
        })
    }

    /// Returns a sink that follows events and passes them on.
    pub(super) fn sink(&self, next: Arc<dyn EventSink>) -> Arc<dyn EventSink> {
        Arc::new(Follower {
            forecast: Arc::clone(&self.forecast),
            next,
        })
    }

    /// Returns how the time of the finished run was spent.
    pub(super) fn times(&self, report: &PipelineReport) -> TimeReport {
        let forecast = lock(&self.forecast);
        let course = forecast.course();
        let slower = report.jobs.iter().filter_map(|job| {
            let span = course.spans().get(course.index(&job.name)?)?;
            span.ended?;
            self.slower(job)
        });
        TimeReport {
            expected: self.first.as_ref().map(|outlook| outlook.total),
            is_at_least: self.first.as_ref().is_some_and(Outlook::is_at_least),
            path: course.critical_path(),
            slower: slower.collect(),
        }
    }

    /// Returns the job if it took longer than usual. Several attempts do not compare with one.
    fn slower(&self, job: &JobReport) -> Option<SlowerJob> {
        let usual = self.expectations.usual(&job.name)?;
        let is_measure = job.status == Status::Success && job.attempts == 1 && job.reused.is_none();
        (is_measure && usual.is_exceeded_by(job.duration)).then(|| SlowerJob {
            job: job.name.clone(),
            took: job.duration,
            usual: usual.median,
        })
    }
}

fn lock(forecast: &Mutex<Forecast>) -> MutexGuard<'_, Forecast> {
    forecast.lock()
}

/// Updates a forecast by events.
#[derive(Debug)]
struct Follower {
    forecast: Arc<Mutex<Forecast>>,
    next: Arc<dyn EventSink>,
}

impl EventSink for Follower {
    fn event(&self, event: &PipelineEvent) {
        if !matches!(
            event.kind,
            EventKind::JobLog { .. } | EventKind::JobStage { .. }
        ) {
            lock(&self.forecast).note(event);
        }
        self.next.event(event);
    }

    fn flush(&self) {
        self.next.flush();
    }
}
