use super::PlanError;
use crate::config::{FIRST_STAGE, LAST_STAGE};
use crate::context::group_name;
use crate::resolve::ResolvedPipeline;
use crate::suggest::nearest;
use executor_core::job::{JobDefinition, When};
use std::collections::{BTreeSet, HashMap, HashSet};

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

/// What a selection means in one pipeline, as places of its jobs.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// The jobs that are run, in the file's order.
    pub(super) jobs: BTreeSet<usize>,
    /// Those that somebody asked for by name.
    pub(super) played: HashSet<usize>,
}

impl Selection {
    /// Finds the chosen jobs.
    pub(super) fn choose(&self, pipeline: &ResolvedPipeline) -> Result<Chosen, PlanError> {
        let names = Names::of(pipeline);
        let mut chosen = Chosen::default();
        for name in &self.jobs {
            chosen.jobs.extend(names.find(name)?);
        }
        chosen.played.extend(&chosen.jobs);
        for name in &self.manual {
            chosen.played.extend(names.find(name)?);
        }
        if self.jobs.is_empty() && self.stages.is_empty() {
            chosen.jobs = whole(pipeline);
            return Ok(chosen);
        }
        let stages = Stages::of(pipeline);
        for stage in &self.stages {
            chosen.jobs.extend(stages.jobs_of(stage)?);
        }
        if self.needs == NeedsMode::With {
            add_needed(&names, &stages, &mut chosen.jobs);
        }
        Ok(chosen)
    }
}

/// A pipeline that has jobs in `.pre` and `.post` only is not created.
fn whole(pipeline: &ResolvedPipeline) -> BTreeSet<usize> {
    let is_edge = |job: &JobDefinition| job.stage == FIRST_STAGE || job.stage == LAST_STAGE;
    if pipeline.jobs.iter().all(|job| is_edge(&job.definition)) {
        return BTreeSet::new();
    }
    (0..pipeline.jobs.len()).collect()
}

/// The jobs of a pipeline by name.
struct Names<'p> {
    pipeline: &'p ResolvedPipeline,
    /// Each job by its expanded name.
    jobs: HashMap<&'p str, usize>,
    /// The jobs made by `parallel`, by the name they have together.
    groups: HashMap<&'p str, Vec<usize>>,
}

impl<'p> Names<'p> {
    fn of(pipeline: &'p ResolvedPipeline) -> Self {
        let jobs = pipeline.jobs.iter().map(|job| &*job.definition).enumerate();
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, job) in jobs.clone() {
            if job.parallel_total.is_some() {
                groups.entry(group_name(&job.name)).or_default().push(index);
            }
        }
        Self {
            pipeline,
            jobs: jobs.map(|(index, job)| (&*job.name, index)).collect(),
            groups,
        }
    }

    /// Returns the jobs that somebody means by `name`.
    fn find(&self, name: &str) -> Result<impl Iterator<Item = usize>, PlanError> {
        let job = self.jobs.get(name);
        let group = self.groups.get(name);
        if job.is_none() && group.is_none() {
            let known = self.pipeline.jobs.iter();
            let known = known.map(|job| job.definition.name.as_str());
            return Err(PlanError::UnknownJob {
                name: name.to_owned(),
                nearest: nearest(name, known).map(ToOwned::to_owned),
            });
        }
        Ok(job.into_iter().chain(group.into_iter().flatten()).copied())
    }
}

/// The jobs of a pipeline by stage.
struct Stages<'p> {
    pipeline: &'p ResolvedPipeline,
    indices: HashMap<&'p str, usize>,
    jobs: Vec<Vec<usize>>,
}

impl<'p> Stages<'p> {
    fn of(pipeline: &'p ResolvedPipeline) -> Self {
        let indices = pipeline.stage_indices();
        let mut jobs = vec![Vec::new(); pipeline.stages.len()];
        for (at, job) in pipeline.jobs.iter().enumerate() {
            if let Some(&stage) = indices.get(&*job.definition.stage) {
                jobs[stage].push(at);
            }
        }
        Self {
            pipeline,
            indices,
            jobs,
        }
    }

    fn jobs_of(&self, stage: &str) -> Result<&[usize], PlanError> {
        let Some(&index) = self.indices.get(stage) else {
            let known = self.pipeline.stages.iter().map(String::as_str);
            return Err(PlanError::UnknownStage {
                name: stage.to_owned(),
                nearest: nearest(stage, known).map(ToOwned::to_owned),
            });
        };
        Ok(&self.jobs[index])
    }
}

/// Adds what the chosen jobs need: their `needs`, or else their `dependencies`, or else the jobs of
/// all earlier stages but manual ones, which nobody asked for.
fn add_needed(names: &Names<'_>, stages: &Stages<'_>, chosen: &mut BTreeSet<usize>) {
    let jobs = &names.pipeline.jobs;
    let mut open: Vec<usize> = chosen.iter().copied().collect();
    // The stage below which all jobs were added already: no second job need look there again.
    let mut done_below = 0;
    while let Some(index) = open.pop() {
        let job = &jobs[index].definition;
        let mut needed: Vec<usize> = Vec::new();
        let of_needs = job.needs.iter().flatten().map(|need| &need.job);
        let wanted = of_needs.chain(job.dependencies.iter().flatten());
        needed.extend(wanted.filter_map(|name| names.jobs.get(name.as_str())));
        if job.needs.is_none() && job.dependencies.is_none() {
            let stage = stages.indices.get(&*job.stage).copied().unwrap_or(0);
            let earlier = stages.jobs.get(done_below..stage).into_iter().flatten();
            let is_wanted = |at: &&usize| jobs[**at].definition.when != When::Manual;
            needed.extend(earlier.flatten().filter(is_wanted));
            done_below = done_below.max(stage);
        }
        open.extend(needed.into_iter().filter(|&at| chosen.insert(at)));
    }
}
