use super::pipeline_options::{find_project, pipeline_options};
use super::stdout::{print, print_json};
use crate::args::{ShowArgs, ShowFormat};
use crate::failure::{Exit, Failure};
use console::print_diagnostics;
use pipeline::show::{Comments, origin_records, to_yaml};
use serde_json::json;

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
    let pipeline = pipeline.loaded();
    let tree = pipeline.tree();
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
