use super::tally::{Tally, Weight};
use crate::Status;
use pipeline::plan::Plan;
use std::ops::Range;

/// The stages in order, and the stage that the pipeline has reached.
#[derive(Debug, Clone)]
pub(super) struct Stages {
    list: Vec<Stage>,
    /// The first stage with jobs that later ones wait for. Jobs without `needs` may start in this stage,
    /// and in no later one.
    reached: usize,
    /// The jobs of all earlier stages.
    passed: Tally,
}

#[derive(Debug, Clone)]
struct Stage {
    tally: Tally,
    /// The indices of its jobs; a plan has its jobs in the order of the stages.
    jobs: Range<usize>,
}

impl Stages {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut list = Vec::with_capacity(plan.stages().len());
        let mut end = 0;
        for stage in 0..plan.stages().len() {
            let first = end;
            let rest = plan.jobs()[first..].iter();
            end += rest.take_while(|job| job.stage_index == stage).count();
            list.push(Stage {
                tally: Tally::of_created(end - first),
                jobs: first..end,
            });
        }
        let mut stages = Self {
            list,
            reached: 0,
            passed: Tally::default(),
        };
        while stages.advance().is_some_and(|jobs| jobs.is_empty()) {}
        stages
    }

    /// Notes that a job of a stage now counts in another way.
    pub(super) fn change(&mut self, stage: usize, was: Weight, now: Weight) {
        self.list[stage].tally.change(was, now);
        if stage < self.reached {
            self.passed.change(was, now);
            if now.is_awaited() {
                self.go_back(stage);
            }
        }
    }

    /// Advances to the next stage if no job of the reached one is awaited, and returns the jobs there.
    pub(super) fn advance(&mut self) -> Option<Range<usize>> {
        let stage = self.list.get(self.reached)?;
        if stage.tally.is_awaited() {
            return None;
        }
        self.passed.add_all(&stage.tally);
        self.reached += 1;
        self.list.get(self.reached).map(|stage| stage.jobs.clone())
    }

    /// Goes back to a stage whose jobs are awaited again: the user started one of them.
    fn go_back(&mut self, stage: usize) {
        for passed in &self.list[stage..self.reached] {
            self.passed.remove_all(&passed.tally);
        }
        self.reached = stage;
    }

    /// Returns the joint result of all stages before `stage`, once none of their jobs is awaited.
    pub(super) fn outcome_before(&self, stage: usize) -> Option<Status> {
        (stage == self.reached).then(|| self.passed.status())
    }

    /// Returns whether a job before the reached stage failed and is allowed to.
    pub(super) fn has_warned(&self) -> bool {
        self.passed.has_warned()
    }

    /// Returns whether a job of a stage failed and is not allowed to.
    pub(super) fn has_failed(&self, stage: usize) -> bool {
        self.list[stage].tally.has(Status::Failed)
    }

    /// Returns the indices of the jobs of a stage.
    pub(super) fn jobs_of(&self, stage: usize) -> Range<usize> {
        self.list[stage].jobs.clone()
    }

    /// Returns the index of the first job after a stage.
    pub(super) fn end_of(&self, stage: usize) -> usize {
        self.list[stage].jobs.end
    }

    pub(super) fn status(&self, stage: usize) -> Status {
        self.list[stage].tally.status()
    }
}
