use super::ask::one_job;
use super::list::remarks;
use super::situated::Situated;
use super::{print, print_json};
use crate::args::ExplainArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use console::{Style, explanation, shown_name};
use pipeline::create::CreatedJob;

/// Explains jobs: why each is in the pipeline or not, and where all it has comes from.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let Some(situated) = Situated::read(&args.project)? else {
        return Ok(Exit::Usage);
    };
    let mut named = args.job.clone();
    if named.is_empty() {
        let all: Vec<&CreatedJob> = situated.creation.jobs.iter().collect();
        let rows = all.iter().map(|job| {
            format!(
                "{}  {}",
                shown_name(job.name()),
                remarks(&situated, job, None)
            )
        });
        let Some(at) = one_job("Which job is to be explained?", &rows.collect::<Vec<_>>())? else {
            return Ok(Exit::Interrupted);
        };
        named.push(all[at].name().to_owned());
    }
    let mut jobs = Vec::new();
    for name in &named {
        jobs.extend(situated.instances(name)?);
    }
    let explainer = situated.explainer()?;
    let found = jobs.iter().filter_map(|job| explainer.explain(job));
    let found: Vec<_> = found.collect();
    if args.json {
        print_json(&found)?;
    } else {
        let style = Style::of_stdout();
        let texts = found.iter();
        let texts: Vec<_> = texts
            .map(|job| explanation(job, style, args.predefined))
            .collect();
        print(texts.join("\n"))?;
    }
    Ok(Exit::Success)
}
