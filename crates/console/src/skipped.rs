use super::{counted, notes, shown_name};
use pipeline::Plan;

/// So many jobs are named that do without a skipped one.
const MOST_NAMES: usize = 3;

/// Says on standard error what does without the jobs that are skipped.
pub fn skipped(plan: &Plan) {
    let told = told(plan);
    notes(&told.iter().map(String::as_str).collect::<Vec<_>>());
}

fn told(plan: &Plan) -> Vec<String> {
    let missed = plan
        .skipped()
        .iter()
        .filter(|job| !job.needed_by.is_empty());
    let told = missed.map(|job| {
        let needed_by: Vec<_> = job.needed_by.iter().map(|name| shown_name(name)).collect();
        let without = if job.leaves_artifacts {
            "runs without its artifacts"
        } else {
            "does not wait for it"
        };
        let name = shown_name(&job.name);
        match needed_by.as_slice() {
            [one] => format!("{name} is skipped: {one} {without}"),
            many if many.len() <= MOST_NAMES => {
                format!("{name} is skipped: each of {} {without}", many.join(", "))
            }
            many => {
                let shown = many[..MOST_NAMES].join(", ");
                let more = counted(many.len() - MOST_NAMES, "other job");
                format!("{name} is skipped: each of {shown} and {more} {without}")
            }
        }
    });
    told.collect()
}
