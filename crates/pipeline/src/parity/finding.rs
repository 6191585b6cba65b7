use super::{Class, table};
use executor_core::job::JobDefinition;

/// A keyword of a job that a local run does not honour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Finding {
    /// The keyword and the path to it, for example `artifacts:expose_as`.
    pub keyword: &'static str,
    /// How much it matters; never [`Class::Honoured`].
    pub class: Class,
    /// What happens here, and why; a sentence without its capital and its dot.
    pub text: &'static str,
}

impl Finding {
    /// Returns the finding as one sentence without its dot: `` `tags`: every job runs ... ``
    pub fn message(&self) -> String {
        format!("`{}`: {}", self.keyword, self.text)
    }
}

/// Returns what a local run does not honour of a job, in the order of the table.
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
/// let findings = check_job(&job);
/// assert_eq!(findings[0].keyword, "tags");
/// assert_eq!(findings[0].class, Class::Note);
/// ```
pub fn check_job(job: &JobDefinition) -> Vec<Finding> {
    let rows = table::of_jobs().iter();
    let used = rows.filter(|row| {
        let is_used = row.in_job.is_some_and(|has| has(job));
        is_used && row.class != Class::Honoured
    });
    let finding = |row: &super::Row| Finding {
        keyword: row.keyword,
        class: row.class,
        text: row.text,
    };
    used.map(finding).collect()
}
