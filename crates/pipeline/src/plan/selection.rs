use super::PlanError;
use crate::config::{FIRST_STAGE, LAST_STAGE};
use crate::context::group_name;
use crate::resolve::ResolvedPipeline;
use crate::suggest::nearest;
use executor_core::job::{JobDefinition, When};
use std::collections::{BTreeSet, HashMap};

/// Whether chosen jobs bring along what they need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NeedsMode {
    /// Yes, and what that needs.
    #[default]
    With,
    /// No; they start as if it had run.
    Without,
}

/// Which jobs of a pipeline are run. The default is all of them.
///
/// Jobs made by `parallel` can be named one by one (`test 1/2`) or together (`test`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these jobs. They run also when they are manual, and without a failure when they wait for
    /// one; a delayed job keeps its delay.
    pub jobs: Vec<String>,
    /// Only the jobs of these stages.
    pub stages: Vec<String>,
    /// Whether they bring along what they need.
    pub needs: NeedsMode,
    /// Manual jobs that start all the same; jobs named in `jobs` do so anyway.
    pub manual: Vec<String>,
}

impl Selection {
    /// Returns the places of the chosen jobs in the file's order.
    pub(super) fn choose(&self, pipeline: &ResolvedPipeline) -> Result<BTreeSet<usize>, PlanError> {
        for name in &self.manual {
            find(pipeline, name)?;
        }
        if self.jobs.is_empty() && self.stages.is_empty() {
            return Ok(whole(pipeline));
        }
        let mut chosen = BTreeSet::new();
        for name in &self.jobs {
            chosen.extend(find(pipeline, name)?);
        }
        for stage in &self.stages {
            chosen.extend(jobs_of_stage(pipeline, stage)?);
        }
        if self.needs == NeedsMode::With {
            add_needed(pipeline, &mut chosen);
        }
        Ok(chosen)
    }

    /// Returns whether somebody asked for a job by name.
    pub(super) fn plays(&self, job: &JobDefinition) -> bool {
        let mut names = self.jobs.iter().chain(&self.manual);
        names.any(|name| is_called(job, name))
    }
}

/// A pipeline that has jobs in `.pre` and `.post` only is not created.
fn whole(pipeline: &ResolvedPipeline) -> BTreeSet<usize> {
    let is_edge = |job: &JobDefinition| job.stage == FIRST_STAGE || job.stage == LAST_STAGE;
    if pipeline.jobs.iter().all(|job| is_edge(job)) {
        return BTreeSet::new();
    }
    (0..pipeline.jobs.len()).collect()
}

fn find(pipeline: &ResolvedPipeline, name: &str) -> Result<Vec<usize>, PlanError> {
    let jobs = pipeline.jobs.iter().enumerate();
    let found = jobs.filter(|(_, job)| is_called(job, name));
    let found: Vec<usize> = found.map(|(index, _)| index).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let known = pipeline.jobs.iter().map(|job| job.name.as_str());
    Err(PlanError::UnknownJob {
        name: name.to_owned(),
        nearest: nearest(name, known).map(ToOwned::to_owned),
    })
}

fn is_called(job: &JobDefinition, name: &str) -> bool {
    job.name == name || (job.parallel_total.is_some() && group_name(&job.name) == name)
}

fn jobs_of_stage(
    pipeline: &ResolvedPipeline,
    stage: &str,
) -> Result<impl Iterator<Item = usize>, PlanError> {
    if pipeline.stage_index(stage).is_none() {
        let known = pipeline.stages.iter().map(String::as_str);
        return Err(PlanError::UnknownStage {
            name: stage.to_owned(),
            nearest: nearest(stage, known).map(ToOwned::to_owned),
        });
    }
    let jobs = pipeline.jobs.iter().enumerate();
    let found: Vec<usize> = jobs
        .filter(|(_, job)| job.stage == stage)
        .map(|(index, _)| index)
        .collect();
    Ok(found.into_iter())
}

/// Adds what the chosen jobs need: their `needs`, or else their `dependencies`, or else the jobs of
/// all earlier stages but manual ones, which nobody asked for.
fn add_needed(pipeline: &ResolvedPipeline, chosen: &mut BTreeSet<usize>) {
    let indices = pipeline.jobs.iter().enumerate();
    let indices: HashMap<&str, usize> = indices.map(|(at, job)| (&*job.name, at)).collect();
    let stage_of = |job: &JobDefinition| pipeline.stage_index(&job.stage);
    let mut open: Vec<usize> = chosen.iter().copied().collect();
    // The stage below which all jobs were added already: no second job need look there again.
    let mut done_below = 0;
    while let Some(index) = open.pop() {
        let job = &pipeline.jobs[index];
        let mut needed: Vec<usize> = Vec::new();
        let names = job.needs.iter().flatten().map(|need| &need.job);
        needed.extend(names.filter_map(|name| indices.get(name.as_str())));
        let names = job.dependencies.iter().flatten();
        needed.extend(names.filter_map(|name| indices.get(name.as_str())));
        if job.needs.is_none() && job.dependencies.is_none() {
            let stage = stage_of(job).unwrap_or(0);
            if stage > done_below {
                let jobs = pipeline.jobs.iter().enumerate();
                let is_earlier = |job: &JobDefinition| {
                    job.when != When::Manual && stage_of(job).is_some_and(|other| other < stage)
                };
                needed.extend(jobs.filter(|(_, job)| is_earlier(job)).map(|(at, _)| at));
                done_below = stage;
            }
        }
        open.extend(needed.into_iter().filter(|&at| chosen.insert(at)));
    }
}
