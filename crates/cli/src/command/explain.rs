use super::created_pipeline::CreatedPipeline;
use super::list::remarks;
use super::plan::exit;
use super::prompt::one_job;
use super::stdout::{print, print_json};
use crate::args::{ExplainArgs, VariablesArgs};
use crate::failure::{Exit, Failure};
use console::{
    Style, explained_variables, explanation, shown_name, variables as variables_text,
    variables_head,
};
use pipeline::create::CreatedJob;

/// Explains jobs: why each is in the pipeline or not, and where its values come from.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let Some(created) = CreatedPipeline::read(&args.project)? else {
        return Ok(Exit::Usage);
    };
    let mut named = args.job.clone();
    if named.is_empty() {
        let all: Vec<&CreatedJob> = created.creation.jobs.iter().collect();
        let rows = all.iter().map(|job| {
            format!(
                "{}  {}",
                shown_name(job.name()),
                remarks(&created, job, None)
            )
        });
        let Some(at) = one_job("Which job should be explained?", &rows.collect::<Vec<_>>())? else {
            return Ok(Exit::Interrupted);
        };
        named.push(all[at].name().to_owned());
    }
    let mut jobs = Vec::new();
    for name in &named {
        jobs.extend(created.instances(name)?);
    }
    let explainer = created.explainer()?;
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

/// Shows variables in the order of precedence: those that all jobs share, or those of one job.
pub(crate) fn variables(args: &VariablesArgs) -> Result<Exit, Failure> {
    let Some(created) = CreatedPipeline::read(&args.project)? else {
        return Ok(Exit::Usage);
    };
    let explainer = created.explainer()?;
    let found = match &args.job {
        None => vec![explainer.shared_variables()],
        Some(name) => {
            let jobs = created.instances(name)?.into_iter();
            jobs.filter_map(|job| explainer.variables(job)).collect()
        }
    };
    if args.json {
        print_json(&found)?;
    } else {
        let style = Style::of_stdout();
        let shown = |it| match (args.explain, found.len()) {
            (true, _) => explained_variables(it, style),
            (false, 1) => variables_text(it),
            (false, _) => variables_head(it, style) + &variables_text(it),
        };
        print(found.iter().map(shown).collect::<Vec<_>>().join("\n"))?;
    }
    created.print_refusal("variables");
    Ok(exit(&created.creation))
}
