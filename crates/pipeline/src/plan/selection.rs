use super::PlanError;
use super::names::{Names, included};
use crate::context::group_name;
use crate::create::Creation;
use crate::resolve::ResolvedPipeline;
use crate::selector::{self, NamedJob, SelectedJobs};
use executor_core::job::When;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Whether selected jobs run together with the jobs they need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedsMode {
    /// With the jobs they need, directly or indirectly.
    #[default]
    With,
    /// Alone, as if the needed jobs had run.
    Without,
    /// Not themselves, only the jobs they need.
    Only,
}

/// The jobs of a pipeline to run. The default is all of them.
///
/// Jobs are named by a [selector](crate::selector): a name, the common name of `parallel`
/// instances, a glob, or the variables of instances (`test[OS=debian]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Only these jobs. They run even if they are manual or wait for a failure; a delayed job keeps
    /// its delay. Jobs selected only by a glob wait as they do in a whole pipeline.
    pub jobs: Vec<String>,
    /// Only the jobs of these stages.
    pub stages: Vec<String>,
    /// Whether they run together with the jobs they need.
    pub needs: NeedsMode,
    /// Manual jobs that start anyway, also beside the selected ones; those named in `jobs` need not be repeated here.
    pub manual: Vec<String>,
    /// Restricts the selected jobs to these full names; the jobs they need are added regardless.
    /// `None` means no restriction.
    pub among: Option<BTreeSet<String>>,
    /// Never these jobs, nor jobs that only they need. Jobs that need them do not wait, as if the
    /// need were optional and its job not in the pipeline.
    pub skip: Vec<String>,
    /// How names that match no job are treated.
    pub unknown: UnknownNames,
}

/// How names that match no job of a pipeline are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownNames {
    /// They are an error.
    #[default]
    Refused,
    /// They are ignored, and possibly nothing runs: the caller should report
    /// [them](Selection::unknown_jobs).
    LeftOut,
}

/// The result of a selection in one pipeline, as indices of its jobs.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// The jobs to run, in file order.
    pub(super) jobs: BTreeSet<usize>,
    /// The jobs selected by name.
    pub(super) played: HashSet<usize>,
    /// The jobs that would run if they were not skipped.
    pub(super) skipped: BTreeSet<usize>,
}

impl Selection {
    /// Checks that the file has all selected jobs and stages, regardless of rules.
    ///
    /// # Errors
    ///
    /// When a job or stage does not exist.
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

    /// Returns an error for each name that matches no job of the file, regardless of rules.
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

    /// Finds the selected jobs.
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
            let selected = self.find(&names, text)?;
            if selected.is_named {
                chosen.played.extend(&selected.indices);
            }
            chosen.jobs.extend(selected.indices);
        }
        let mut manual = BTreeSet::new();
        for text in &self.manual {
            manual.extend(self.find(&names, text)?.indices);
        }
        chosen.played.extend(&manual);
        let mut skipped = BTreeSet::new();
        for text in &self.skip {
            match self.find(&names, text) {
                Ok(selected) => skipped.extend(selected.indices),
                // A job outside the pipeline need not be skipped.
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
        self.narrow(creation, &mut manual);
        let selected = chosen.jobs.clone();
        chosen.jobs.extend(&manual);
        if self.needs != NeedsMode::Without {
            chosen.leave_out(&skipped);
            add_needed(&names, &stages, &skipped, &mut chosen);
            if self.needs == NeedsMode::Only {
                let is_wanted = |job: &usize| manual.contains(job) || !selected.contains(job);
                chosen.jobs.retain(is_wanted);
            }
        }
        chosen.leave_out(&skipped);
        Ok(chosen)
    }

    /// Removes jobs that are not [`among`](Self::among) the allowed names.
    fn narrow(&self, creation: &Creation, chosen: &mut BTreeSet<usize>) {
        if let Some(among) = &self.among {
            chosen.retain(|&at| among.contains(creation.jobs[at].name()));
        }
    }

    /// Returns the jobs that a text of the selection selects.
    fn find(&self, names: &Names<'_>, text: &str) -> Result<SelectedJobs, PlanError> {
        match names.find(text) {
            Err(PlanError::UnknownJob(_)) if self.unknown == UnknownNames::LeftOut => {
                Ok(SelectedJobs {
                    indices: Vec::new(),
                    is_named: false,
                })
            }
            found => found,
        }
    }
}

impl Chosen {
    /// Removes skipped jobs.
    fn leave_out(&mut self, skipped: &BTreeSet<usize>) {
        self.skipped.extend(self.jobs.intersection(skipped));
        self.jobs.retain(|at| !skipped.contains(at));
    }
}

/// Returns all jobs of a pipeline; none if it was not created.
fn whole(creation: &Creation) -> BTreeSet<usize> {
    match creation.refusal {
        Some(_) => BTreeSet::new(),
        None => included(creation).map(|(at, _)| at).collect(),
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
        let indices = creation.stage_indices();
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

/// Adds the jobs that the selected ones need: their `needs`, or else their `dependencies`, or else
/// all but the manual jobs of earlier stages. Jobs that only a skipped job needs are not added.
fn add_needed(
    names: &Names<'_>,
    stages: &Stages<'_>,
    skipped: &BTreeSet<usize>,
    chosen: &mut Chosen,
) {
    let jobs = &stages.creation.jobs;
    let mut open: Vec<usize> = chosen.jobs.iter().copied().collect();
    // All jobs of stages below this index are already added.
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
