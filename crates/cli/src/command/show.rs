use super::pipeline_options::{find_project, pipeline_options};
use super::stdout::{print, print_json};
use crate::args::{ShowArgs, ShowFormat};
use crate::failure::{Exit, Failure};
use console::print_diagnostics;
use pipeline::selector::{self, NamedJob};
use pipeline::show::{Comments, origin_records, to_yaml};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use workstation::LocalPipeline;
use yaml::{Kind, Mapping, Node};

/// Shows the pipeline file with includes and `extends` resolved.
///
/// A file with errors is shown as far as it resolves, since that may show where they are.
pub(crate) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let project = find_project(&args.project)?;
    let checked = project.read(&pipeline_options(&args.project)?)?;
    print_diagnostics(&checked.diagnostics);
    let exit = if checked.diagnostics.has_errors() {
        Exit::Usage
    } else {
        Exit::Success
    };
    let Some(pipeline) = checked.value else {
        return Ok(exit);
    };
    let jobs = jobs(&pipeline, &args.job)?;
    let pipeline = pipeline.loaded();
    let tree = jobs.as_ref().unwrap_or(pipeline.tree());
    match args.format() {
        ShowFormat::Yaml => {
            let comments = if args.with_origins() {
                Comments::Origins(pipeline.origins())
            } else {
                Comments::None
            };
            print(to_yaml(tree, comments))?;
        }
        ShowFormat::Json if args.with_origins() => print_json(&json!({
            "config": tree.to_json(),
            "origins": origin_records(tree, pipeline.origins()),
        }))?,
        ShowFormat::Json => print_json(&tree.to_json())?,
    }
    Ok(exit)
}

/// Returns the part of the merged file that has these jobs; `None` without any.
fn jobs(pipeline: &LocalPipeline, texts: &[String]) -> Result<Option<Arc<Node>>, Failure> {
    let tree = pipeline.loaded().tree();
    let Some(entries) = tree.as_mapping().filter(|_| !texts.is_empty()) else {
        return Ok(None);
    };
    let jobs = &pipeline.resolved().jobs;
    let named = jobs.iter();
    let named = named.map(|job| NamedJob::new(&job.definition.name, &job.matrix));
    let named: Vec<_> = named.collect();
    let mut kept = HashSet::new();
    for text in texts {
        if entries.contains_key(text.as_str()) {
            kept.insert(text.as_str());
            continue;
        }
        let selected = selector::find(text, &named).map_err(|error| {
            let help = error.help();
            Failure::usage(error).with_help(
                help.unwrap_or_else(|| "`runwright show` shows the whole file".to_owned()),
            )
        })?;
        let selected = selected.indices.into_iter();
        kept.extend(selected.map(|at| &*jobs[at].name_in_file));
    }
    let kept = entries.iter().filter(|(name, _)| kept.contains(&***name));
    let entries: Mapping = kept
        .map(|(name, entry)| (Arc::clone(name), entry.clone()))
        .collect();
    Ok(Some(Arc::new(Node::new(Kind::Mapping(entries), tree.span))))
}
