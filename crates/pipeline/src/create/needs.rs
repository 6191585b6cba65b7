use super::{CreatedJob, Problem};
use crate::context::PipelineContext;
use std::collections::HashSet;

/// Finds the needs of the jobs of a pipeline that it does not have.
pub(super) fn check(jobs: &[CreatedJob], context: &PipelineContext, problems: &mut Vec<Problem>) {
    let included = jobs.iter().filter(|job| job.is_included);
    let names: HashSet<&str> = included.clone().map(CreatedJob::name).collect();
    for job in included {
        let Some(needs) = &job.definition.needs else {
            continue;
        };
        let (name, span, count) = (job.name(), job.resolved.span, needs.len());
        if count > context.most_needs {
            let most = context.most_needs;
            let message = format!("`{name}` needs {count} jobs; at most {most} are allowed");
            problems.push(Problem::new(message, span));
            continue;
        }
        let missing = needs.iter().filter(|need| !need.optional);
        for need in missing.filter(|need| !names.contains(need.job.as_str())) {
            let needed = &need.job;
            let message = format!("`{name}` needs `{needed}`, which is not in the pipeline");
            let help = format!(
                "its rules leave `{needed}` out; with `optional: true` the need is dropped then"
            );
            problems.push(Problem::new(message, span).with_help(help));
        }
    }
}
