use super::PlanError;
use crate::context::group_name;
use crate::create::{CreatedJob, Creation};
use crate::resolve::ResolvedPipeline;
use executor_core::job::When;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Whether chosen jobs bring along what they need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Only those of all these that have one of these names, in full; what they need comes along all
    /// the same. `None` means any.
    pub among: Option<BTreeSet<String>>,
    /// What becomes of names that no job has.
    pub unknown: UnknownNames,
}

/// What becomes of names that no job of a pipeline has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownNames {
    /// Nothing is run.
    #[default]
    Refused,
    /// The others are run, which may be none: whoever asks should be [told](Selection::unknown_jobs).
    LeftOut,
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
    /// Checks that the file has all that is named, whatever rules say of it.
    ///
    /// # Errors
    ///
    /// When there is no such job or stage.
    pub fn check(&self, pipeline: &ResolvedPipeline) -> Result<(), PlanError> {
        if self.unknown == UnknownNames::Refused
            && let Some(unknown) = self.unknown_jobs(pipeline).into_iter().next()
        {
            return Err(unknown);
        }
        let stages = pipeline.stages.iter().map(String::as_str);
        let unknown = self
            .stages
            .iter()
            .find(|stage| !pipeline.stages.contains(stage));
        unknown.map_or(Ok(()), |stage| Err(PlanError::unknown_stage(stage, stages)))
    }

    /// Says of each name of a job that the file has none of that name, whatever rules say.
    pub fn unknown_jobs(&self, pipeline: &ResolvedPipeline) -> Vec<PlanError> {
        let jobs = pipeline.jobs.iter().map(|job| &*job.definition.name);
        let known: HashSet<&str> = jobs.clone().chain(jobs.clone().map(group_name)).collect();
        let named = self.jobs.iter().chain(&self.manual);
        let unknown = named.filter(|name| !known.contains(name.as_str()));
        unknown
            .map(|name| PlanError::unknown_job(name, jobs.clone()))
            .collect()
    }

    /// Finds the chosen jobs.
    pub(super) fn choose(&self, creation: &Creation) -> Result<Chosen, PlanError> {
        let is_named = !(self.jobs.is_empty() && self.stages.is_empty());
        if let Some(refusal) = &creation.refusal
            && refusal.forbids(is_named)
        {
            return Err(PlanError::NotCreated(refusal.clone()));
        }
        let names = Names::of(creation);
        let mut chosen = Chosen::default();
        for name in &self.jobs {
            chosen.jobs.extend(self.find(&names, name)?);
        }
        self.narrow(creation, &mut chosen.jobs);
        chosen.played.extend(&chosen.jobs);
        for name in &self.manual {
            chosen.played.extend(self.find(&names, name)?);
        }
        if !is_named {
            chosen.jobs = whole(creation);
            if self.among.is_none() {
                return Ok(chosen);
            }
        }
        let stages = Stages::of(creation);
        for stage in &self.stages {
            chosen.jobs.extend(stages.jobs_of(stage)?);
        }
        self.narrow(creation, &mut chosen.jobs);
        if self.needs == NeedsMode::With {
            add_needed(&names, &stages, &mut chosen.jobs);
        }
        Ok(chosen)
    }

    /// Leaves out what is not [`among`](Self::among) the jobs that count.
    fn narrow(&self, creation: &Creation, chosen: &mut BTreeSet<usize>) {
        if let Some(among) = &self.among {
            chosen.retain(|&at| among.contains(creation.jobs[at].name()));
        }
    }

    /// Returns the jobs that a name of the selection means.
    fn find(&self, names: &Names<'_>, name: &str) -> Result<Vec<usize>, PlanError> {
        match names.find(name) {
            Ok(jobs) => Ok(jobs.collect()),
            Err(PlanError::UnknownJob { .. }) if self.unknown == UnknownNames::LeftOut => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }
}

/// A pipeline that is not created has no jobs.
fn whole(creation: &Creation) -> BTreeSet<usize> {
    match creation.refusal {
        Some(_) => BTreeSet::new(),
        None => included(creation).map(|(at, _)| at).collect(),
    }
}

/// Returns the jobs of a pipeline with their places.
fn included(creation: &Creation) -> impl Iterator<Item = (usize, &CreatedJob)> {
    let jobs = creation.jobs.iter().enumerate();
    jobs.filter(|(_, job)| job.is_included)
}

/// The jobs of a pipeline by name.
struct Names<'p> {
    creation: &'p Creation,
    /// Each job by its expanded name.
    jobs: HashMap<&'p str, usize>,
    /// The jobs made by `parallel`, by the name they have together.
    groups: HashMap<&'p str, Vec<usize>>,
}

impl<'p> Names<'p> {
    fn of(creation: &'p Creation) -> Self {
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, job) in included(creation) {
            if job.definition.parallel_total.is_some() {
                groups.entry(group_name(job.name())).or_default().push(at);
            }
        }
        let jobs = included(creation).map(|(at, job)| (job.name(), at));
        Self {
            creation,
            jobs: jobs.collect(),
            groups,
        }
    }

    /// Returns the jobs that somebody means by `name`.
    fn find(&self, name: &str) -> Result<impl Iterator<Item = usize>, PlanError> {
        let job = self.jobs.get(name);
        let group = self.groups.get(name);
        if job.is_none() && group.is_none() {
            return Err(self.missing(name));
        }
        Ok(job.into_iter().chain(group.into_iter().flatten()).copied())
    }

    /// Tells why the pipeline has no job of this name.
    fn missing(&self, name: &str) -> PlanError {
        let mut jobs = self.creation.jobs.iter();
        let is_it = |job: &&CreatedJob| job.name() == name || group_name(job.name()) == name;
        if let Some(left_out) = jobs.find(is_it) {
            return PlanError::LeftOut {
                name: name.to_owned(),
                by: left_out.left_out_by(),
            };
        }
        let known = self.creation.jobs.iter().map(CreatedJob::name);
        PlanError::unknown_job(name, known)
    }
}

/// The jobs of a pipeline by stage.
struct Stages<'p> {
    creation: &'p Creation,
    indices: HashMap<&'p str, usize>,
    jobs: Vec<Vec<usize>>,
}

impl<'p> Stages<'p> {
    fn of(creation: &'p Creation) -> Self {
        let indices = creation.stage_places();
        let mut jobs = vec![Vec::new(); creation.stages.len()];
        for (at, job) in included(creation) {
            if let Some(&stage) = indices.get(&*job.definition.stage) {
                jobs[stage].push(at);
            }
        }
        Self {
            creation,
            indices,
            jobs,
        }
    }

    fn jobs_of(&self, stage: &str) -> Result<&[usize], PlanError> {
        let Some(&index) = self.indices.get(stage) else {
            let known = self.creation.stages.iter().map(String::as_str);
            return Err(PlanError::unknown_stage(stage, known));
        };
        Ok(&self.jobs[index])
    }
}

/// Adds what the chosen jobs need: their `needs`, or else their `dependencies`, or else the jobs of
/// all earlier stages but manual ones, which nobody asked for.
fn add_needed(names: &Names<'_>, stages: &Stages<'_>, chosen: &mut BTreeSet<usize>) {
    let jobs = &names.creation.jobs;
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
