use super::{CreatedJob, Creation};
use crate::config::Variables;
use executor_core::job::JobDefinition;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use yaml::diagnostic::Diagnostic;

/// A created pipeline as printed by `plan --json`.
///
/// `stages` are all stages, including `.pre` and `.post`. `variables` are the global ones merged
/// with those of the workflow rule; a job's `variables` are all that the file defines for it.
/// Variables from outside the file, which may be secret, are omitted. `jobs` are those in the
/// pipeline, by stage; without a pipeline there are none, and `reason` is `workflow`, `no_jobs` or
/// `seed_error`.
#[derive(Debug, Clone, Copy)]
pub struct PlanDocument<'c>(&'c Creation);

impl Serialize for PlanDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let creation = self.0;
        let refusal = creation.refusal.as_ref();
        let mut document = serializer.serialize_struct("Plan", 6)?;
        document.serialize_field("created", &refusal.is_none())?;
        document.serialize_field("reason", &refusal.map(|refusal| refusal.reason.word()))?;
        document.serialize_field("name", &creation.shown_name)?;
        document.serialize_field("stages", &creation.stages)?;
        document.serialize_field("variables", &creation.merged_globals())?;
        document.serialize_field("jobs", &Jobs(creation))?;
        document.end()
    }
}

/// The jobs, completed one at a time: a pipeline may have ten thousand.
struct Jobs<'c>(&'c Creation);

impl Serialize for Jobs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let jobs = self.0.document().jobs();
        serializer.collect_seq(jobs.map(|job| self.0.shown(job)))
    }
}

impl<'c> PlanDocument<'c> {
    /// Returns the jobs in the pipeline, by stage.
    pub fn jobs(self) -> impl Iterator<Item = &'c CreatedJob> {
        let creation = self.0;
        let jobs = match creation.refusal {
            Some(_) => Vec::new(),
            None => creation.included(),
        };
        jobs.into_iter()
    }
}

impl Creation {
    /// Returns the pipeline for `plan --json`.
    pub fn document(&self) -> PlanDocument<'_> {
        PlanDocument(self)
    }

    /// Returns a job's definition with its rules as written and all variables of the file: the
    /// global ones, those of the workflow rule, of the job and of its rule; later ones override
    /// earlier ones.
    pub fn complete(&self, job: &CreatedJob) -> JobDefinition {
        self.completed(job, &job.definition)
    }

    pub(super) fn completed(&self, job: &CreatedJob, definition: &JobDefinition) -> JobDefinition {
        let shared = [&*self.global_variables, &*self.workflow_variables];
        job.resolved
            .normalized(definition, &shared, job.rule_variables())
    }

    fn merged_globals(&self) -> Variables {
        let mut merged = self.global_variables.as_ref().clone();
        let of_rule = self.workflow_variables.iter();
        merged.extend(of_rule.map(|(name, value)| (name.clone(), value.clone())));
        merged
    }

    /// Returns the problems that prevented the creation; none when the pipeline was created.
    pub fn problems(&self) -> &[Diagnostic] {
        self.refusal
            .as_ref()
            .map_or(&[], |refusal| &refusal.problems)
    }
}
