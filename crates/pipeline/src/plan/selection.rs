use super::PlanError;
use super::names::Names;
use crate::context::group_name;
use crate::create::{CreatedJob, Creation};
use crate::resolve::ResolvedPipeline;
use crate::selector::{self, Meant, NamedJob};
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
/// Jobs are named as a [selector](crate::selector) does: by name, also the name that jobs made by
/// `parallel` have together, by a glob, or by the variables of copies (`test[OS=debian]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Only these jobs. They run also when they are manual, and without a failure when they wait for
    /// one; a delayed job keeps its delay. Those that only a glob means wait as they do in a whole
    /// pipeline.
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
    /// Never these jobs, nor what they alone need. What needs them does not wait for them, as if the
    /// need were optional and its job not in the pipeline.
    pub skip: Vec<String>,
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
    /// Those that would have been run if they were not skipped.
    pub(super) skipped: BTreeSet<usize>,
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
        let known: HashSet<&str> = jobs.clone().chain(jobs.map(group_name)).collect();
        let named = self.jobs.iter().chain(&self.manual).chain(&self.skip);
        let others: Vec<_> = named
            .filter(|name| !known.contains(name.as_str()))
            .collect();
        if others.is_empty() {
            return Vec::new();
        }
        let jobs = pipeline.jobs.iter();
        let jobs = jobs.map(|job| NamedJob::new(&job.definition.name, &job.matrix));
        let jobs: Vec<_> = jobs.collect();
        let found = others.into_iter().map(|text| selector::find(text, &jobs));
        found.filter_map(Result::err).map(PlanError::from).collect()
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
        for text in &self.jobs {
            let meant = self.find(&names, text)?;
            if meant.is_named {
                chosen.played.extend(&meant.places);
            }
            chosen.jobs.extend(meant.places);
        }
        for text in &self.manual {
            chosen.played.extend(self.find(&names, text)?.places);
        }
        let mut skipped = BTreeSet::new();
        for text in &self.skip {
            match self.find(&names, text) {
                Ok(meant) => skipped.extend(meant.places),
                // What is not in the pipeline need not be skipped.
                Err(PlanError::LeftOut { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if !is_named {
            chosen.jobs = whole(creation);
            if self.among.is_none() {
                chosen.leave_out(&skipped);
                return Ok(chosen);
            }
        }
        let stages = Stages::of(creation);
        for stage in &self.stages {
            chosen.jobs.extend(stages.jobs_of(stage)?);
        }
        self.narrow(creation, &mut chosen.jobs);
        if self.needs == NeedsMode::With {
            chosen.leave_out(&skipped);
            add_needed(&names, &stages, &skipped, &mut chosen);
        }
        chosen.leave_out(&skipped);
        Ok(chosen)
    }

    /// Leaves out what is not [`among`](Self::among) the jobs that count.
    fn narrow(&self, creation: &Creation, chosen: &mut BTreeSet<usize>) {
        if let Some(among) = &self.among {
            chosen.retain(|&at| among.contains(creation.jobs[at].name()));
        }
    }

    /// Returns the jobs that a text of the selection means.
    fn find(&self, names: &Names<'_>, text: &str) -> Result<Meant, PlanError> {
        match names.find(text) {
            Err(PlanError::UnknownJob(_)) if self.unknown == UnknownNames::LeftOut => Ok(Meant {
                places: Vec::new(),
                is_named: false,
            }),
            found => found,
        }
    }
}

impl Chosen {
    /// Takes away what is skipped.
    fn leave_out(&mut self, skipped: &BTreeSet<usize>) {
        self.skipped.extend(self.jobs.intersection(skipped));
        self.jobs.retain(|at| !skipped.contains(at));
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
pub(super) fn included(creation: &Creation) -> impl Iterator<Item = (usize, &CreatedJob)> {
    let jobs = creation.jobs.iter().enumerate();
    jobs.filter(|(_, job)| job.is_included)
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
/// all earlier stages but manual ones, which nobody asked for. What only a skipped job needs stays out.
fn add_needed(
    names: &Names<'_>,
    stages: &Stages<'_>,
    skipped: &BTreeSet<usize>,
    chosen: &mut Chosen,
) {
    let jobs = &stages.creation.jobs;
    let mut open: Vec<usize> = chosen.jobs.iter().copied().collect();
    // The stage below which all jobs were added already: no second job need look there again.
    let mut done_below = 0;
    while let Some(index) = open.pop() {
        let job = &jobs[index].definition;
        let mut needed: Vec<usize> = Vec::new();
        let of_needs = job.needs.iter().flatten().map(|need| &need.job);
        let wanted = of_needs.chain(job.dependencies.iter().flatten());
        needed.extend(wanted.filter_map(|name| names.job(name)));
        if job.needs.is_none() && job.dependencies.is_none() {
            let stage = stages.indices.get(&*job.stage).copied().unwrap_or(0);
            let earlier = stages.jobs.get(done_below..stage).into_iter().flatten();
            let is_wanted = |at: &&usize| jobs[**at].definition.when != When::Manual;
            needed.extend(earlier.flatten().filter(is_wanted));
            done_below = done_below.max(stage);
        }
        for at in needed {
            if skipped.contains(&at) {
                chosen.skipped.insert(at);
            } else if chosen.jobs.insert(at) {
                open.push(at);
            }
        }
    }
}
