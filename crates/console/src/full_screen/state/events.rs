use super::{JobView, ScreenState};
use crate::full_screen::log::JobLog;
use crate::model::Change;
use scheduler::Status;
use scheduler::event::PipelineEvent;
use std::time::Instant;

impl ScreenState {
    /// Applies an event to the run and to the logs of its jobs.
    pub(in crate::full_screen) fn event(&mut self, event: &PipelineEvent, now: Instant) {
        self.is_stale = true;
        match self.run.apply(event, || now) {
            Change::Started => {
                let run = std::mem::take(&mut self.run);
                let head = std::mem::take(&mut self.head);
                *self = Self::new(self.style, self.verbose, head);
                self.run = run;
                self.add_views();
            }
            Change::ChildStarted => self.add_views(),
            Change::Status { job, status } => {
                let attempt = self.run.jobs()[job].attempt;
                if status == Status::Running && attempt > 1 {
                    self.views[job].log.note(&format!("attempt {attempt}"));
                }
            }
            Change::Log { job, piece } => self.views[job].log.piece(piece),
            Change::Stage { job, entry } => self.views[job].log.stage(entry),
            Change::Finished { job, .. } => self.views[job].log.end(),
            Change::Done | Change::None => {}
        }
    }

    /// Adds an empty log for each job that has none.
    fn add_views(&mut self) {
        let (colours, verbose) = (self.style.has_colours(), self.verbose);
        for _ in self.views.len()..self.run.jobs().len() {
            let log = JobLog::new(self.store.clone(), colours, verbose);
            self.views.push(JobView {
                log,
                pager: super::Pager::default(),
            });
        }
    }
}
