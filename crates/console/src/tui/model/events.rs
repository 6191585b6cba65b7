use super::{End, Job, Model, Stage};
use crate::clean::shown_name;
use crate::entry::Entry;
use crate::lines::Piece;
use crate::outcome::Outcome;
use crate::tui::log::JobLog;
use crate::{BELOW, source_of};
use executor_core::PipelineId;
use scheduler::Status;
use scheduler::event::{EventKind, JobNode, ParentJob, PipelineEvent, StageState};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Model {
    /// Takes note of what happened.
    pub(in crate::tui) fn event(&mut self, event: &PipelineEvent, now: Instant) {
        let pipeline = event.pipeline;
        self.is_stale = true;
        match &event.kind {
            EventKind::PipelineStarted { graph, parent, .. } => {
                self.begin(pipeline, graph, parent.as_ref(), now);
            }
            EventKind::JobStatus {
                job,
                status,
                attempt,
                ..
            } => self.status(pipeline, job, *status, *attempt, now),
            EventKind::JobLog {
                job,
                stream,
                line,
                cont,
                open,
                level,
            } => {
                let piece = Piece {
                    source: source_of(*stream, *level),
                    text: line,
                    continues: *cont,
                    open: *open,
                };
                if let Some(job) = self.find(pipeline, job) {
                    job.log.piece(piece);
                }
            }
            EventKind::JobStage {
                job,
                name,
                state,
                user_code,
                duration_ms,
            } => {
                let Some(job) = self.find(pipeline, job) else {
                    return;
                };
                let entry = if *state == StageState::Started {
                    job.step = Some(Arc::clone(name));
                    Entry::StageStarted {
                        name,
                        user_code: *user_code,
                    }
                } else {
                    job.step = None;
                    Entry::StageEnded {
                        succeeded: *state == StageState::Succeeded,
                        millis: duration_ms.unwrap_or_default(),
                    }
                };
                job.log.stage(entry);
            }
            EventKind::JobFinished {
                job,
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
                if outcome.may_fail {
                    let name = self.lineage.name(pipeline, job);
                    self.board.allow(&name);
                }
                if let Some(job) = self.find(pipeline, job) {
                    job.log.end();
                    job.step = None;
                    job.outcome = Some(outcome);
                    job.tests.clone_from(tests);
                    job.coverage = *coverage;
                    job.changed.clone_from(changed);
                    job.artifacts.clone_from(artifacts);
                }
            }
            EventKind::PipelineDone { status, .. } if self.lineage.is_first(pipeline) => {
                self.end = Some(End { status: *status });
            }
            EventKind::PipelineDone { .. } | EventKind::StageStart { .. } => {}
        }
        let settled = self.is_settled();
        self.settled = settled.then(|| self.settled.unwrap_or(now));
    }

    fn begin(
        &mut self,
        pipeline: PipelineId,
        graph: &[JobNode],
        parent: Option<&ParentJob>,
        now: Instant,
    ) {
        let title = match parent {
            None => {
                let head = std::mem::take(&mut self.head);
                // It knows who tells how long the run goes on.
                let board = std::mem::take(&mut self.board);
                *self = Self::new(self.style, self.verbose, head);
                self.board = board;
                self.head.pipeline = Some(pipeline);
                self.board.begin(graph, now);
                self.add(pipeline, graph, graph, "");
                return;
            }
            Some(parent) => self.lineage.name(parent.pipeline, &parent.job),
        };
        if let Some(parent) = parent {
            let named = self.lineage.add(pipeline, parent, graph);
            self.board.add(&named);
            let title = format!("{}{BELOW}", shown_name(&title));
            self.add(pipeline, graph, &named, &title);
        }
    }

    /// Adds the jobs of a pipeline; `named` are the same with the names they have among all.
    fn add(&mut self, pipeline: PipelineId, graph: &[JobNode], named: &[JobNode], title: &str) {
        let mut stages: HashMap<&str, usize> = HashMap::new();
        for (node, named) in graph.iter().zip(named) {
            let at = self.jobs.len();
            let stage = *stages.entry(&node.stage).or_insert_with(|| {
                self.stages.push(Stage {
                    title: format!("{title}{}", shown_name(&node.stage)),
                    jobs: Vec::new(),
                });
                self.stages.len() - 1
            });
            self.stages[stage].jobs.push(at);
            self.index.insert(Arc::clone(&named.job), at);
            let log = JobLog::new(self.store.clone(), self.style.has_colours(), self.verbose);
            self.jobs
                .push(Job::new(pipeline, Arc::clone(&node.job), stage, log));
        }
    }

    fn status(
        &mut self,
        pipeline: PipelineId,
        job: &Arc<str>,
        status: Status,
        attempt: u32,
        now: Instant,
    ) {
        let name = self.lineage.name(pipeline, job);
        self.board.set_status(&name, status, now);
        if let Some(job) = self.find(pipeline, job) {
            let is_again = attempt > job.attempt;
            job.attempt = job.attempt.max(attempt);
            if is_again {
                job.outcome = None;
                job.tests = None;
                job.coverage = None;
                job.changed = None;
                job.artifacts.clear();
            }
            if status == Status::Running && attempt > 1 {
                job.log.note(&format!("attempt {attempt}"));
            }
        }
    }

    fn find(&mut self, pipeline: PipelineId, job: &Arc<str>) -> Option<&mut Job> {
        let name = self.lineage.name(pipeline, job);
        let at = *self.index.get(&name)?;
        self.jobs.get_mut(at)
    }
}
