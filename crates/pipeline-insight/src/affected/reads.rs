use pipeline::config::RulesKeyword;
use pipeline::context::expand_existing;
use pipeline::create::{CreatedJob, Layers};
use pipeline::pattern::Pattern;
use pipeline::rules::Changes;
use std::sync::Arc;

/// The files that a job reads.
#[derive(Debug)]
pub(super) enum Reads {
    /// Files that match one of these patterns.
    Patterns(Vec<ReadPattern>),
    /// Files that match a regular expression.
    Expression(Arc<Pattern>),
    /// Unknown files.
    Unknown,
}

/// A pattern with variables expanded, and as written.
#[derive(Debug)]
pub(super) struct ReadPattern {
    pub(super) pattern: String,
    pub(super) written: String,
}

impl Reads {
    /// Returns the declared files of a job.
    pub(super) fn declared(patterns: Vec<String>) -> Self {
        let same = |pattern: String| ReadPattern {
            written: pattern.clone(),
            pattern,
        };
        Self::Patterns(patterns.into_iter().map(same).collect())
    }

    /// Returns the files of the matching rule of a job, or of its `only`.
    pub(super) fn of_rule(job: &CreatedJob, layers: &Layers<'_>) -> Self {
        match &job.resolved.rules {
            RulesKeyword::List(rules) => {
                let rule = job.rule.and_then(|at| rules.get(at));
                match rule.and_then(|rule| rule.changes.as_deref()) {
                    Some(changes) => Self::of_changes(changes, job, layers),
                    None => Self::Unknown,
                }
            }
            RulesKeyword::Absent | RulesKeyword::Null => {
                let only = job.resolved.only.as_deref();
                match only.and_then(|only| only.changes.clone()) {
                    Some(patterns) => Self::declared(patterns),
                    None => Self::Unknown,
                }
            }
        }
    }

    fn of_changes(changes: &Changes, job: &CreatedJob, layers: &Layers<'_>) -> Self {
        if let Some(expression) = &changes.regexp {
            return Self::Expression(Arc::clone(expression));
        }
        let job_layers = layers.of_job(
            &job.resolved.definition,
            &job.resolved.inherited_variables,
            None,
        );
        let expanded = |written: &String| {
            if !written.contains(['$', '%']) {
                return Some(written.clone());
            }
            let values = job_layers.values_of(written).ok()?;
            Some(expand_existing(written, |name| values.get(name)).into_owned())
        };
        let patterns = changes.paths.iter().map(|written| {
            Some(ReadPattern {
                pattern: expanded(written)?,
                written: written.clone(),
            })
        });
        let patterns: Option<Vec<ReadPattern>> = patterns.collect();
        patterns.map_or(Self::Unknown, Self::Patterns)
    }
}
