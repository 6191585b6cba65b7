use super::created_pipeline::CreatedPipeline;
use super::plan::{exit, present};
use super::stdout::{print, print_json};
use super::touched::Touched;
use crate::args::{ListArgs, ProjectArgs};
use crate::failure::{Exit, Failure};
use console::reports::plan::{may_fail, start};
use console::{Style, Tone, columns, fit, shown_name, strip_controls};
use executor_core::job::{JobDefinition, When};
use pipeline::create::{CreatedJob, Creation, RefusalReason};
use pipeline_insight::affected::Cause;
use pipeline_insight::explain::{ClauseKind, Explainer};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// Shows the jobs of the pipeline.
pub(crate) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let project = ProjectArgs {
        is_partial: args.partial,
        ..args.project.clone()
    };
    let Some(created) = CreatedPipeline::read(&project)? else {
        return Ok(Exit::Usage);
    };
    let creation = &created.creation;
    let mut jobs = if args.partial {
        creation.included()
    } else {
        present(creation)
    };
    if args.all {
        let places = creation.stage_indices();
        jobs = creation.jobs.iter().collect();
        jobs.sort_by_key(|job| places.get(&*job.definition.stage));
    }
    let touched = created.touched(&args.changed, &args.project)?;
    let causes = touched.as_ref().map(Touched::causes);
    if let Some(causes) = causes.as_ref().filter(|_| !args.all) {
        jobs.retain(|job| causes.contains_key(job.name()));
    }
    let jobs = wanted(&created, jobs, args)?;
    if args.json {
        let jobs = jobs.iter().map(|job| {
            let left_out = left_out(creation, job);
            let mut shown = creation.shown(job);
            if left_out.is_some() {
                shown.when = When::Never;
            }
            Listed {
                job: shown,
                left_out,
                touched_by: causes.as_ref().and_then(|it| it.get(job.name()).copied()),
            }
        });
        print_json(&jobs.collect::<Vec<_>>())?;
    } else if args.csv {
        let jobs = jobs.iter();
        let rows = jobs.map(|job| csv_row(&creation.shown(job), left_out(creation, job).is_none()));
        print(format!("{CSV_HEAD}\n{}", rows.collect::<String>()))?;
    } else {
        // With `--changed`, the rows say what a change touches.
        let has_changes = causes.is_none() && jobs.iter().any(|job| has_changes(job));
        let explainer = has_changes.then(|| created.explainer()).transpose()?;
        let rows = jobs.iter().map(|job| {
            let changes = explainer
                .as_ref()
                .and_then(|it| decided_by_changes(it, job));
            let remarks = [Some(remarks(&created, job, causes.as_ref())), changes];
            let remarks: Vec<_> = remarks.into_iter().flatten().collect();
            let remarks = remarks.iter().filter(|remark| !remark.is_empty());
            Row {
                job,
                name: shown_name(job.name()),
                stage: shown_name(&job.definition.stage),
                remarks: remarks.cloned().collect::<Vec<_>>().join("; "),
            }
        });
        print(table(&rows.collect::<Vec<_>>()))?;
    }
    created.print_refusal("list");
    // What is missing may refuse a pipeline whose jobs are listed all the same.
    Ok(if args.partial {
        Exit::Success
    } else {
        exit(creation)
    })
}

/// A job in the JSON output.
#[derive(Serialize)]
struct Listed<'c> {
    #[serde(flatten)]
    job: JobDefinition,
    /// Why the job is not in the pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    touched_by: Option<&'c Cause>,
}

/// The first line of a list in CSV, which is that of gitlab-ci-local.
const CSV_HEAD: &str = "name;stage;when;allowFailure;environment;needs";

fn csv_row(job: &JobDefinition, is_included: bool) -> String {
    // The delay of `delayed` follows the word.
    let when = start(job);
    let when = when.split(' ').next().filter(|_| is_included);
    let codes = job.allow_failure_exit_codes.as_deref();
    let allow_failure = match codes.filter(|codes| !codes.is_empty()) {
        Some(codes) => format!("[{}]", joined(codes)),
        None => job.allow_failure.to_string(),
    };
    let environment = job.environment.as_ref().map(|it| it.name.as_str());
    let needs = job.needs.as_ref().map_or_else(String::new, |needs| {
        let names: Vec<_> = needs.iter().map(|need| &*need.job).collect();
        format!("[{}]", joined(&names))
    });
    let cells = [
        &job.name,
        &job.stage,
        when.unwrap_or("never"),
        &allow_failure,
        environment.unwrap_or_default(),
        &needs,
    ];
    let cells: Vec<String> = cells.into_iter().map(csv_cell).collect();
    format!("{}\n", cells.join(";"))
}

fn joined(items: &[impl ToString]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(",")
}

fn csv_cell(text: &str) -> String {
    let text = strip_controls(text);
    if text.contains([';', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Keeps only the jobs that the arguments select.
fn wanted<'j>(
    created: &'j CreatedPipeline,
    mut jobs: Vec<&'j CreatedJob>,
    args: &ListArgs,
) -> Result<Vec<&'j CreatedJob>, Failure> {
    let names = |texts: &[String]| -> Result<HashSet<&str>, Failure> {
        let meant = created.meant(texts)?.into_iter();
        let meant = meant.zip(&created.creation.jobs);
        Ok(meant
            .filter(|(is_meant, _)| *is_meant)
            .map(|(_, job)| job.name())
            .collect())
    };
    let skipped = names(&args.jobs.skipped())?;
    let chosen = names(&args.jobs.job)?;
    jobs.retain(|job| {
        let is_chosen = args.jobs.job.is_empty() || chosen.contains(job.name());
        is_chosen && !skipped.contains(job.name())
    });
    Ok(jobs)
}

/// Returns whether a job has rules with `changes`.
fn has_changes(job: &CreatedJob) -> bool {
    let mut rules = job.resolved.rules.entries().iter();
    rules.any(|rule| rule.changes.is_some())
}

/// Returns a remark on the rule whose `changes` decided whether a job is in the pipeline: the one that matched, or, of a
/// job that is left out, the first whose other conditions hold.
fn decided_by_changes(explainer: &Explainer<'_>, job: &CreatedJob) -> Option<String> {
    if !has_changes(job) {
        return None;
    }
    let rules = explainer.explain(job)?.rules;
    let found = rules.iter().enumerate().find_map(|(at, rule)| {
        let mut clauses = rule.clauses.iter();
        let changes = clauses.find(|clause| clause.kind == ClauseKind::Changes)?;
        let is_decisive = match job.rule {
            Some(matched) => matched == at,
            None => changes.holds == Some(false),
        };
        is_decisive.then_some((at + 1, changes))
    });
    let (number, changes) = found?;
    let note = changes.note.as_deref().unwrap_or(&changes.text);
    Some(format!(
        "changes of rule {number}: {}",
        strip_controls(note)
    ))
}

struct Row<'j> {
    job: &'j CreatedJob,
    name: String,
    stage: String,
    remarks: String,
}

fn table(rows: &[Row<'_>]) -> String {
    let style = Style::of_stdout();
    let names = rows.iter().map(|row| columns(&row.name)).max();
    let stages = rows.iter().map(|row| columns(&row.stage)).max();
    let (names, stages) = (names.unwrap_or(0), stages.unwrap_or(0));
    let line = |row: &Row<'_>| {
        let tone = match row.job.definition.when {
            _ if !row.job.is_included => Tone::Quiet,
            When::Manual => Tone::Quiet,
            _ => Tone::Strong,
        };
        let padding = " ".repeat(names - columns(&row.name));
        let stage = fit(&row.stage, stages, "");
        let rest = format!("{padding}  {stage}  {}", row.remarks);
        format!("{}{}\n", style.paint(tone, &row.name), rest.trim_end())
    };
    rows.iter().map(line).collect()
}

/// Returns why a job is not in the pipeline.
fn left_out(creation: &Creation, job: &CreatedJob) -> Option<String> {
    if !job.is_included {
        return Some(job.left_out_by().to_string());
    }
    let refusal = creation.refusal.as_ref()?;
    match refusal.reason {
        RefusalReason::WorkflowRules => Some("`workflow:rules` prevent the pipeline".to_owned()),
        RefusalReason::NoJobs => Some("the other stages have no job".to_owned()),
        // The error names the job that cannot be created.
        RefusalReason::SeedError => None,
    }
}

/// Returns the remarks on a job: its purpose, when it runs, or why it does not.
pub(super) fn remarks(
    created: &CreatedPipeline,
    job: &CreatedJob,
    causes: Option<&HashMap<&str, &Cause>>,
) -> String {
    let definition = &job.definition;
    let mut remarks = Vec::new();
    let decoration = created.pipeline.decorations().of(job.name());
    if let Some(description) = decoration.and_then(|it| it.description.as_deref()) {
        remarks.push(strip_controls(description));
    }
    if let Some(reason) = left_out(&created.creation, job) {
        remarks.push(format!("left out: {reason}"));
        return remarks.join("; ");
    }
    if let Some(causes) = causes {
        remarks.push(match causes.get(job.name()) {
            Some(cause) => strip_controls(&cause.to_string()),
            None => "not touched".to_owned(),
        });
    }
    let start = start(definition);
    if start != "on_success" {
        remarks.push(start);
    }
    remarks.extend(may_fail(definition));
    if let Some(needs) = &definition.needs {
        let names: Vec<_> = needs.iter().map(|need| shown_name(&need.job)).collect();
        remarks.push(if names.is_empty() {
            "needs nothing".to_owned()
        } else {
            format!("needs {}", names.join(", "))
        });
    }
    remarks.join("; ")
}
