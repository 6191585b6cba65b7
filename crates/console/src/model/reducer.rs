use super::run::{JobState, RunModel, StageState, blocks_others};
use super::{CHILD_SEPARATOR, Outcome};
use crate::log::{Entry, Piece};
use crate::text::shown_name;
use executor_core::PipelineId;
use scheduler::Status;
use scheduler::event::{EventKind, JobNode, ParentJob, PipelineEvent, StageState as StageProgress};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an event changed. Jobs are named by their positions in the model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'e> {
    /// Nothing that a view shows.
    None,
    /// A run started; what was known before is gone.
    Started,
    /// A job started another pipeline, whose jobs are the last of the model.
    ChildStarted,
    /// A job has another status.
    Status { job: usize, status: Status },
    /// A job wrote a piece of a line.
    Log { job: usize, piece: Piece<'e> },
    /// A stage of the runner started or ended.
    Stage { job: usize, entry: Entry<'e> },
    /// An attempt of a job ended.
    Finished { job: usize, outcome: Outcome },
    /// The first pipeline ended.
    Done,
}

impl RunModel {
    /// Changes the model by an event. A piece of a line does not ask for the time: lines come in floods.
    pub(crate) fn apply<'e>(
        &mut self,
        event: &'e PipelineEvent,
        now: impl Fn() -> Instant,
    ) -> Change<'e> {
        let change = self.reduce(event, &now);
        if !matches!(change, Change::Log { .. } | Change::Stage { .. }) {
            let is_settled = self.is_settled();
            self.settled = is_settled.then(|| self.settled.unwrap_or_else(now));
        }
        change
    }

    fn reduce<'e>(&mut self, event: &'e PipelineEvent, now: &impl Fn() -> Instant) -> Change<'e> {
        let pipeline = event.pipeline;
        match &event.kind {
            EventKind::PipelineStarted { graph, parent, .. } => match parent {
                None => {
                    *self = Self {
                        first_pipeline: Some(pipeline),
                        started: Some(now()),
                        forecast: self.forecast.take(),
                        ..Self::default()
                    };
                    self.add(pipeline, "", graph);
                    Change::Started
                }
                Some(parent) => {
                    let prefix = format!("{}{CHILD_SEPARATOR}", self.name_of(parent));
                    self.add(pipeline, &prefix, graph);
                    Change::ChildStarted
                }
            },
            EventKind::PipelineDone { status, .. } if self.is_first(pipeline) => {
                self.end = Some(*status);
                (self.forecast, self.outlook) = (None, None);
                Change::Done
            }
            EventKind::PipelineDone { .. } | EventKind::StageStart { .. } => Change::None,
            EventKind::JobStatus { job, .. }
            | EventKind::JobLog { job, .. }
            | EventKind::JobStage { job, .. }
            | EventKind::JobFinished { job, .. } => match self.find(pipeline, job) {
                Some(at) => self.reduce_job(at, &event.kind, now),
                None => Change::None,
            },
        }
    }

    fn reduce_job<'e>(
        &mut self,
        job: usize,
        event: &'e EventKind,
        now: &impl Fn() -> Instant,
    ) -> Change<'e> {
        match event {
            EventKind::JobStatus {
                status, attempt, ..
            } => {
                self.set_status(job, *status, *attempt, now());
                Change::Status {
                    job,
                    status: *status,
                }
            }
            EventKind::JobLog { .. } => match Piece::of(event) {
                Some(piece) => Change::Log { job, piece },
                None => Change::None,
            },
            EventKind::JobStage {
                name,
                state,
                user_code,
                duration_ms,
                ..
            } => {
                let has_started = *state == StageProgress::Started;
                self.jobs[job].runner_stage = has_started.then(|| Arc::clone(name));
                let entry = if has_started {
                    Entry::StageStarted {
                        name,
                        user_code: *user_code,
                    }
                } else {
                    Entry::StageEnded {
                        succeeded: *state == StageProgress::Succeeded,
                        millis: duration_ms.unwrap_or_default(),
                    }
                };
                Change::Stage { job, entry }
            }
            EventKind::JobFinished {
                status,
                exit_code,
                failure_reason,
                allow_failure,
                attempt,
                duration_ms,
                tests,
                coverage,
                reused,
                changed,
                artifacts,
                ..
            } => {
                let outcome = Outcome {
                    status: *status,
                    exit_code: *exit_code,
                    reason: *failure_reason,
                    may_fail: *allow_failure,
                    attempt: *attempt,
                    duration: Duration::from_millis(*duration_ms),
                    reused: reused.as_ref().map(|from| from.pipeline),
                };
                self.change(job, |job| {
                    job.may_fail |= outcome.may_fail;
                    job.runner_stage = None;
                    job.outcome = Some(outcome);
                    job.tests.clone_from(tests);
                    job.coverage = *coverage;
                    job.changed.clone_from(changed);
                    job.artifacts.clone_from(artifacts);
                });
                Change::Finished { job, outcome }
            }
            _ => Change::None,
        }
    }

    /// Adds the jobs of a pipeline; `prefix` names the job that started it.
    fn add(&mut self, pipeline: PipelineId, prefix: &str, graph: &[JobNode]) {
        let (first_job, first_stage) = (self.jobs.len(), self.stages.len());
        let positions = graph.iter().enumerate();
        let positions: HashMap<Arc<str>, usize> = positions
            .map(|(at, node)| (Arc::clone(&node.job), first_job + at))
            .collect();
        let mut stages: HashMap<&str, usize> = HashMap::new();
        for node in graph {
            // Jobs come by stage, so stages appear in their order.
            let stage = *stages.entry(&node.stage).or_insert_with(|| {
                let name = shown_name(&node.stage);
                self.stages.push(StageState {
                    title: format!("{prefix}{name}"),
                    name,
                    jobs: Vec::new(),
                    blocking: 0,
                });
                self.stages.len() - 1
            });
            self.stages[stage].blocking += 1;
            self.stages[stage].jobs.push(self.jobs.len());
            let position = |name: &Arc<str>| positions.get(name).copied();
            let needs = node.needs.as_ref();
            let job = JobState {
                pipeline,
                file_name: Arc::clone(&node.job),
                name: format!("{prefix}{}", shown_name(&node.job)),
                stage,
                first_stage,
                needs: needs.map(|needs| needs.iter().filter_map(position).collect()),
                status: Status::Created,
                started: None,
                attempt: 1,
                may_fail: false,
                outcome: None,
                tests: None,
                coverage: None,
                changed: None,
                artifacts: Vec::new(),
                runner_stage: None,
                last_line: String::new(),
            };
            *self.counts.of(&job) += 1;
            self.jobs.push(job);
        }
        self.positions.insert(pipeline, positions);
        self.last_found = None;
    }

    fn set_status(&mut self, job: usize, status: Status, attempt: u32, now: Instant) {
        let before = self.jobs[job].status;
        let blocking = &mut self.stages[self.jobs[job].stage].blocking;
        match (blocks_others(before), blocks_others(status)) {
            (true, false) => *blocking = blocking.saturating_sub(1),
            (false, true) => *blocking += 1,
            _ => {}
        }
        self.change(job, |job| {
            if attempt > job.attempt {
                job.attempt = attempt;
                job.outcome = None;
                job.tests = None;
                job.coverage = None;
                job.changed = None;
                job.artifacts.clear();
            }
            if status == Status::Running {
                job.started = Some(now);
                job.last_line.clear();
            }
            job.status = status;
        });
    }

    /// Changes a job, and the counts with it.
    fn change(&mut self, job: usize, change: impl FnOnce(&mut JobState)) {
        let job = &mut self.jobs[job];
        *self.counts.of(job) -= 1;
        change(job);
        *self.counts.of(job) += 1;
    }

    /// Returns whether no job started this pipeline.
    pub(crate) fn is_first(&self, pipeline: PipelineId) -> bool {
        self.first_pipeline == Some(pipeline)
    }

    fn name_of(&self, job: &ParentJob) -> String {
        let jobs = self.positions.get(&job.pipeline);
        let at = jobs.and_then(|jobs| jobs.get(&job.job));
        at.map_or_else(|| shown_name(&job.job), |&at| self.jobs[at].name.clone())
    }

    fn find(&mut self, pipeline: PipelineId, name: &Arc<str>) -> Option<usize> {
        if let Some((of, last, at)) = &self.last_found
            && *of == pipeline
            && Arc::ptr_eq(last, name)
        {
            return Some(*at);
        }
        let at = *self.positions.get(&pipeline)?.get(name)?;
        self.last_found = Some((pipeline, Arc::clone(name), at));
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::Counts;
    use super::super::testing::{apply, node, set_status, start, start_child};
    use super::*;

    fn wait_reasons(run: &RunModel) -> Vec<String> {
        let jobs = run.waiting();
        let lines = jobs.map(|job| format!("{}: {}", job.name, run.wait_reason(job)));
        lines.collect()
    }

    #[test]
    fn a_job_waits_for_its_needs_or_for_the_stage_before_it() {
        let mut run = start(
            vec![
                node("a", "build", None),
                node("b", "build", None),
                node("c", "test", Some(&["a", "b"])),
                node("d", "test", Some(&[])),
                node("e", "test", None),
                node("f", "deploy", None),
            ],
            Instant::now(),
        );
        let set = |run: &mut RunModel, job, status| set_status(run, job, status, Instant::now());
        set(&mut run, "a", Status::Running);
        set(&mut run, "b", Status::Running);
        set(&mut run, "d", Status::Pending);
        let expect = [
            "c: waits for a, b",
            "d: waits for a free worker",
            "e: waits for stage build",
            "f: waits for stage test",
        ];
        assert_eq!(wait_reasons(&run), expect);
        set(&mut run, "a", Status::Success);
        set(&mut run, "b", Status::Failed);
        set(&mut run, "c", Status::Skipped);
        set(&mut run, "e", Status::Skipped);
        set(&mut run, "d", Status::Running);
        assert_eq!(wait_reasons(&run), ["f: waits for stage test"]);
        let mut counts = Counts {
            failed: 1,
            done: 1,
            skipped: 2,
            running: 1,
            waiting: 1,
            manual: 0,
        };
        assert_eq!(run.counts(), counts);
        run.change(1, |job| job.may_fail = true);
        (counts.failed, counts.done) = (0, 2);
        assert_eq!(run.counts(), counts);
        // A retry makes the job block others again.
        set(&mut run, "d", Status::Failed);
        assert_eq!(wait_reasons(&run), ["f: about to start"]);
        set(&mut run, "d", Status::Pending);
        assert_eq!(wait_reasons(&run)[1], "f: waits for stage test");
    }

    #[test]
    fn only_the_last_state_of_a_line_is_kept() {
        let mut run = start(vec![node("a", "test", None)], Instant::now());
        set_status(&mut run, "a", Status::Running, Instant::now());
        run.set_last_line(0, "10%\r20%");
        assert_eq!(run.running().next().unwrap().last_line, "20%");
    }

    #[test]
    fn jobs_are_named_after_the_job_that_started_their_pipeline() {
        let graph = || {
            vec![
                node("build", "a", None),
                node("ship", "b", Some(&["build"])),
            ]
        };
        let mut run = start(
            vec![node("deploy", "a", None), node("build", "a", None)],
            Instant::now(),
        );
        start_child(&mut run, 2, 1, "deploy", graph());
        start_child(&mut run, 3, 2, "ship", graph());
        let names: Vec<&str> = run.jobs().iter().map(|job| &*job.name).collect();
        let expect = [
            "deploy",
            "build",
            "deploy > build",
            "deploy > ship",
            "deploy > ship > build",
            "deploy > ship > ship",
        ];
        assert_eq!(names, expect);
        assert_eq!(run.jobs()[3].needs, Some(vec![2]));
        assert_eq!(run.stages[1].title, "deploy > a");
        assert!(run.is_first(PipelineId(1)) && !run.is_first(PipelineId(3)));
        let found = apply(&mut run, 3, "build", Status::Running);
        assert!(matches!(found, Change::Status { job: 4, .. }), "{found:?}");
        let found = apply(&mut run, 3, "unknown", Status::Running);
        assert!(matches!(found, Change::None), "{found:?}");
    }
}
