use super::situated::Situated;
use super::{print, print_json};
use crate::args::ExplainArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::{Style, explanation};
use anyhow::anyhow;
use runwright::pipeline::create::{CreatedJob, Creation};
use runwright::pipeline::did_you_mean;

/// Explains jobs: why each is in the pipeline or not, and where all it has comes from.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let Some(situated) = Situated::read(&args.project)? else {
        return Ok(Exit::Usage);
    };
    let mut jobs = Vec::new();
    for name in &args.job {
        jobs.extend(instances(&situated.creation, name)?);
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

/// Returns the jobs that a name means: one, or all that `parallel` makes of it.
fn instances<'c>(creation: &'c Creation, name: &str) -> Result<Vec<&'c CreatedJob>, Failure> {
    if let Some(job) = creation.job(name) {
        return Ok(vec![job]);
    }
    let is_meant = |job: &&CreatedJob| &*job.resolved.name_in_file == name;
    let all: Vec<_> = creation.jobs.iter().filter(is_meant).collect();
    if !all.is_empty() {
        return Ok(all);
    }
    let failure = Failure::usage(anyhow!("there is no job {name:?}"));
    let names = creation.jobs.iter().map(CreatedJob::name);
    let help = did_you_mean(name, names);
    Err(failure
        .with_help(help.unwrap_or_else(|| "`runwright list --all` shows all jobs".to_owned())))
}
