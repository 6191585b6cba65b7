use super::situated::Situated;
use super::{print, print_json};
use crate::args::ExplainArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::{Style, explanation};

/// Explains jobs: why each is in the pipeline or not, and where all it has comes from.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let Some(situated) = Situated::read(&args.project)? else {
        return Ok(Exit::Usage);
    };
    let mut jobs = Vec::new();
    for name in &args.job {
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
