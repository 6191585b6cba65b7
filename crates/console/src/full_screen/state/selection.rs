use super::ScreenState;
use crate::full_screen::layout::{Layout, Wanted};
use crate::full_screen::log::Direction;
use scheduler::Status;

impl ScreenState {
    /// Returns whether a job is among those that are shown.
    pub(in crate::full_screen) fn is_shown(&self, at: usize) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let filter = self.filter.to_lowercase();
        let job = self.run.jobs().get(at);
        job.is_some_and(|job| job.name.to_lowercase().contains(&filter))
    }

    /// Returns the jobs of a stage that are shown.
    pub(in crate::full_screen) fn shown_of(&self, stage: usize) -> Vec<usize> {
        let jobs = self
            .run
            .stages()
            .get(stage)
            .map_or(&[][..], |stage| &stage.jobs);
        let jobs = jobs.iter().copied();
        jobs.filter(|&at| self.is_shown(at)).collect()
    }

    /// Returns all jobs that are shown, in their order.
    fn shown(&self) -> Vec<usize> {
        (0..self.run.jobs().len())
            .filter(|&at| self.is_shown(at))
            .collect()
    }

    /// Chooses a job.
    pub(super) fn choose(&mut self, at: usize) {
        if at == self.selected || at >= self.run.jobs().len() {
            return;
        }
        self.selected = at;
        self.goes = None;
        self.search = self
            .search
            .as_ref()
            .map(crate::full_screen::log::Search::anew);
    }

    /// Moves the selection by a number of jobs, in either direction.
    pub(super) fn choose_by(&mut self, by: isize) {
        let shown = self.shown();
        let Some(last) = shown.len().checked_sub(1) else {
            return;
        };
        let now = shown.partition_point(|&at| at < self.selected);
        self.choose(shown[now.saturating_add_signed(by).min(last)]);
    }

    /// Goes to the stage beside, to the job at the same height.
    pub(super) fn choose_beside(&mut self, way: Direction) {
        let Some(job) = self.job() else {
            return;
        };
        let stage = job.stage;
        let here = self.shown_of(stage);
        let height = here.partition_point(|&at| at < self.selected);
        let stages: Vec<usize> = match way {
            Direction::Forward => (stage + 1..self.run.stages().len()).collect(),
            Direction::Backward => (0..stage).rev().collect(),
        };
        let beside = stages.into_iter().map(|stage| self.shown_of(stage));
        let beside = beside.into_iter().find(|jobs| !jobs.is_empty());
        if let Some(beside) = beside {
            self.choose(beside[height.min(beside.len() - 1)]);
        }
    }

    /// Goes to the next job that failed, around the end too.
    pub(super) fn choose_failed(&mut self, way: Direction) {
        let jobs = self.run.jobs();
        let is_failed = |at: &usize| jobs[*at].status == Status::Failed;
        let count = self.run.jobs().len();
        let around = 1..=count;
        let found = match way {
            Direction::Forward => around
                .map(|by| (self.selected + by) % count)
                .find(is_failed),
            Direction::Backward => around
                .map(|by| (self.selected + count - by) % count)
                .find(is_failed),
        };
        match found {
            Some(at) => {
                if !self.is_shown(at) {
                    self.filter.clear();
                }
                self.choose(at);
            }
            None => self.say("no job has failed"),
        }
    }

    /// Chooses a job that is shown when the selected one is not any more.
    pub(super) fn choose_shown(&mut self) {
        if !self.is_shown(self.selected)
            && let Some(first) = self.shown().first()
        {
            self.choose(*first);
        }
    }

    /// Computes the layout for a screen of this size.
    pub(in crate::full_screen) fn lay_out(&mut self, columns: u16, rows: u16) {
        let stages = (0..self.run.stages().len()).map(|stage| self.shown_of(stage).len());
        let stages: Vec<usize> = stages.filter(|count| *count > 0).collect();
        self.layout = Layout::of(&Wanted {
            columns,
            rows,
            beside: stages.iter().max().map_or(0, |most| most + 1),
            below: stages.iter().sum::<usize>() + stages.len(),
            is_zoomed: self.is_zoomed,
            is_log: self.focus == super::Focus::Log,
            details: self.details,
        });
    }
}
