use super::{Class, job_keywords};
use executor_core::job::JobDefinition;

/// A keyword of a job that a local run does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Deviation {
    /// The keyword and the path to it, for example `artifacts:expose_as`.
    pub keyword: &'static str,
    /// The consequence; never [`Class::Supported`].
    pub class: Class,
    /// What a local run does instead, and why; a sentence without capital and final dot.
    pub text: &'static str,
}

impl Deviation {
    /// Returns a message without final dot: `` `tags`: every job runs ... ``
    pub fn message(&self) -> String {
        format!("`{}`: {}", self.keyword, self.text)
    }
}

/// Returns the keywords of a job that a local run does not support, in table order.
///
/// # Examples
///
/// ```
/// use executor_core::job::JobDefinition;
/// use pipeline::parity::{Class, check_job};
///
/// let job = JobDefinition {
///     tags: Some(vec!["linux".to_owned()]),
///     ..JobDefinition::default()
/// };
/// let deviations = check_job(&job);
/// assert_eq!(deviations[0].keyword, "tags");
/// assert_eq!(deviations[0].class, Class::Note);
/// ```
pub fn check_job(job: &JobDefinition) -> Vec<Deviation> {
    let rows = job_keywords().iter();
    let used = rows.filter(|row| {
        let is_used = row.in_job.is_some_and(|has| has(job));
        is_used && row.class != Class::Supported
    });
    let finding = |row: &super::Row| Deviation {
        keyword: row.keyword,
        class: row.class,
        text: row.text,
    };
    used.map(finding).collect()
}
