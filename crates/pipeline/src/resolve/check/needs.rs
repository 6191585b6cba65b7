use super::{Checker, NEED};
use crate::config::{Job, JobNeed, NeedEntry, Parallel, Spanned};
use crate::resolve::expand::{chosen_names, combination_name};
use crate::resolve::matrix_value::interpolate;
use crate::resolve::needs::{need_depends_on_matrix, with_values};
use crate::selector::{NamedJob, NoMatch};
use indexmap::IndexMap;
use std::collections::HashSet;
use yaml::source::Span;

impl<'c> Checker<'c> {
    /// Checks the needs of a job and those of its rules.
    pub(super) fn check_needs(&mut self, job: &'c Job) {
        self.check_entries(job, job.needs.as_deref().unwrap_or_default());
        self.check_duplicates(job);
        for rule in job.rules.entries() {
            self.check_entries(job, rule.needs.as_deref().unwrap_or_default());
        }
    }

    /// Checks that dependencies are among the needs; GitLab skips this check when there are no
    /// needs.
    pub(super) fn check_dependencies_are_needed(&mut self, job: &Job, names: &[Spanned<String>]) {
        let needs = job.needs.as_deref().unwrap_or_default();
        if needs.is_empty() || names.is_empty() {
            return;
        }
        let needed: HashSet<&str> = needs.iter().filter_map(job_name).collect();
        if needed.is_empty() {
            let message = format!(
                "jobs:{} needs corresponding to dependencies must be from the same pipeline",
                job.name
            );
            self.report("dependency-not-needed", message, names[0].span, None);
            return;
        }
        // An unknown job has its own error.
        let exists = |name: &&Spanned<String>| self.expansion.find(&name.value).is_some();
        let names = names.iter().filter(|name| !needed.contains(&*name.value));
        for name in names.filter(exists).collect::<Vec<_>>() {
            let message = format!(
                "jobs:{} dependencies the {} should be part of needs",
                job.name, name.value
            );
            let help = format!("add `{}` to `needs`, or remove it here", name.value);
            self.report("dependency-not-needed", message, name.span, Some(help));
        }
    }

    fn check_entries(&mut self, job: &'c Job, entries: &'c [Spanned<NeedEntry>]) {
        for entry in entries {
            let NeedEntry::Job(need) = &entry.value else {
                continue;
            };
            match &job.parallel {
                Some(Parallel::Matrix(matrix)) if need_depends_on_matrix(need) => {
                    for values in &matrix.combinations {
                        if !self.check_for_instance(job, need, values, entry.span) {
                            break;
                        }
                    }
                }
                _ => {
                    self.check_need(job, need, entry.span);
                }
            }
        }
    }

    /// Checks a need of one instance; returns whether it is correct.
    fn check_for_instance(
        &mut self,
        job: &'c Job,
        need: &JobNeed,
        values: &[(String, String)],
        span: Span,
    ) -> bool {
        let combinations = need.matrix.iter().flat_map(|matrix| &matrix.combinations);
        let texts = combinations.flatten().map(|(_, value)| value.as_str());
        for text in texts.chain([need.need.job.as_str()]) {
            if let Err(name) = interpolate(text, values) {
                let message = format!(
                    "{} job: matrix expression `{name}` is not a name in the job's matrix",
                    job.name
                );
                let known = values.iter().map(|(name, _)| name.as_str());
                let help = yaml::suggest::did_you_mean(name, known);
                self.report("unknown-matrix-name", message, span, help);
                return false;
            }
        }
        self.check_need(job, &with_values(need, values), span)
    }

    /// Checks that the jobs of a need exist; returns whether they do.
    fn check_need(&mut self, job: &'c Job, need: &JobNeed, span: Span) -> bool {
        let name = &need.need.job;
        let Some(matrix) = &need.matrix else {
            let may_lack = need.need.optional && self.expansion.find(name).is_none();
            return may_lack || self.check_earlier(job, name, NEED, span);
        };
        for (chosen, combination) in chosen_names(need, matrix).zip(&matrix.combinations) {
            self.lookups_left = self.lookups_left.saturating_sub(1);
            if self.lookups_left == 0 {
                return false;
            }
            if self.expansion.index_of(&chosen).is_some() {
                if !self.check_earlier(job, &chosen, NEED, span) {
                    return false;
                }
            } else if !need.need.optional {
                self.report_unknown_instance(job, name, combination, span);
                return false;
            }
        }
        true
    }

    fn report_unknown_instance(
        &mut self,
        job: &Job,
        name: &str,
        wanted: &[(String, String)],
        span: Span,
    ) {
        let Some(needed) = self.expansion.find(name) else {
            self.report_unknown(job, name, NEED, span);
            return;
        };
        let chosen = combination_name(name, wanted);
        let message = format!("{} job: undefined need: {chosen}", job.name);
        let instances = match &needed.parallel {
            Some(Parallel::Matrix(matrix)) => &*matrix.combinations,
            Some(Parallel::Count(_)) | None => &[],
        };
        let names = |values: &[(String, String)]| {
            let names = values.iter().map(|(name, _)| name.clone());
            names.collect::<Vec<_>>()
        };
        let wanted_names = names(wanted);
        let help = if instances.iter().any(|known| names(known) == wanted_names) {
            let wanted: Vec<(&str, &str)> = wanted
                .iter()
                .map(|(name, value)| (&**name, &**value))
                .collect();
            let instances: Vec<_> = instances
                .iter()
                .map(|values| NamedJob::new(name, values))
                .collect();
            Some(NoMatch::values(name, &wanted, &instances).to_string())
        } else {
            let first = self.expansion.expand(name).next();
            let first = first.filter(|&first| first != name);
            first.map(|first| {
                format!("`{name}` expands to jobs like `{first}`: give all names of its matrix, in the same order")
            })
        };
        self.report("unknown-need", message, span, help);
    }

    /// Checks that no job is needed twice; of a matrix only the first instance is checked.
    fn check_duplicates(&mut self, job: &Job) {
        let values = match &job.parallel {
            Some(Parallel::Matrix(matrix)) => matrix.combinations.first(),
            _ => None,
        };
        let values = values.map_or(&[][..], Vec::as_slice);
        let entries = job.needs.as_deref().unwrap_or_default();
        if entries.len() < 2 {
            return;
        }
        let mut seen: HashSet<String> = HashSet::new();
        let mut twice: IndexMap<String, Span> = IndexMap::new();
        for entry in entries {
            let NeedEntry::Job(need) = &entry.value else {
                continue;
            };
            let need = with_values(need, values);
            let names: Vec<String> = match &need.matrix {
                Some(matrix) => chosen_names(&need, matrix).collect(),
                None => self
                    .expansion
                    .expand(&need.need.job)
                    .map(ToOwned::to_owned)
                    .collect(),
            };
            self.lookups_left = self.lookups_left.saturating_sub(names.len());
            if self.lookups_left == 0 {
                return;
            }
            let again = names.into_iter().filter_map(|name| seen.replace(name));
            if let Some(name) = again.take(1).next() {
                twice.entry(name).or_insert(entry.span);
            }
        }
        for (name, span) in twice {
            let message = format!("{} has the following needs duplicated: {name}", job.name);
            self.report("duplicate-need", message, span, None);
        }
    }
}

pub(super) fn job_name(entry: &Spanned<NeedEntry>) -> Option<&str> {
    match &entry.value {
        NeedEntry::Job(need) => Some(&need.need.job),
        NeedEntry::Cross(_) | NeedEntry::Mirror(_) => None,
    }
}
