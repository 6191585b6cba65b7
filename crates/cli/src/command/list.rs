use super::{find_project, pipeline_options, print, variables};
use crate::args::ListArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::{Style, Tone, columns, diagnostics, fit, shown_name};
use runwright::core::job::{JobDefinition, When};
use runwright::pipeline::ResolvedPipeline;
use std::sync::Arc;

/// Shows the jobs of the pipeline.
pub(crate) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let project = find_project(&args.project)?;
    let checked = project.read(&pipeline_options(&args.project)?)?;
    let given = variables(&args.project)?;
    let (pipeline, warnings) = match checked.into_result() {
        Ok(read) => read,
        Err(found) => {
            diagnostics(&found);
            return Ok(Exit::Usage);
        }
    };
    let mut pipeline = pipeline.resolved().clone();
    let jobs = pipeline.jobs.iter_mut();
    for job in jobs.map(|job| Arc::make_mut(&mut job.definition)) {
        for variable in &given {
            job.variables
                .insert(variable.key.clone(), variable.value.clone());
        }
    }
    let jobs = in_order(&pipeline);
    if args.json {
        print(serde_json::to_string_pretty(&jobs).map_err(Failure::environment)? + "\n")?;
    } else {
        diagnostics(&warnings);
        print(table(&jobs))?;
    }
    Ok(Exit::Success)
}

/// Returns the jobs by stage, and within a stage as the file has them.
fn in_order(pipeline: &ResolvedPipeline) -> Vec<&JobDefinition> {
    let mut jobs: Vec<&JobDefinition> = pipeline.jobs.iter().map(|job| &*job.definition).collect();
    let places = pipeline.stage_indices();
    jobs.sort_by_key(|job| places.get(&*job.stage));
    jobs
}

fn table(jobs: &[&JobDefinition]) -> String {
    let style = Style::of_stdout();
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| (shown_name(&job.name), shown_name(&job.stage), job))
        .collect();
    let names = rows
        .iter()
        .map(|(name, ..)| columns(name))
        .max()
        .unwrap_or(0);
    let stages = rows.iter().map(|(_, stage, _)| columns(stage)).max();
    let stages = stages.unwrap_or(0);
    let row = |(name, stage, job): &(String, String, &&JobDefinition)| {
        let tone = match job.when {
            When::Manual => Tone::Quiet,
            _ => Tone::Strong,
        };
        let padding = " ".repeat(names - columns(name));
        let stage = fit(stage, stages, "");
        let rest = format!("{padding}  {stage}  {}", remarks(job));
        format!("{}{}\n", style.paint(tone, name), rest.trim_end())
    };
    rows.iter().map(row).collect()
}

/// Returns what is special about when a job runs.
fn remarks(job: &JobDefinition) -> String {
    let mut remarks = Vec::new();
    if let Ok(serde_json::Value::String(when)) = serde_json::to_value(job.when)
        && job.when != When::OnSuccess
    {
        remarks.push(when);
    }
    if job.allow_failure {
        remarks.push("may fail".to_owned());
    }
    if let Some(needs) = &job.needs {
        let names: Vec<_> = needs.iter().map(|need| shown_name(&need.job)).collect();
        remarks.push(if names.is_empty() {
            "needs nothing".to_owned()
        } else {
            format!("needs {}", names.join(", "))
        });
    }
    remarks.join("; ")
}
