use super::plan::exit;
use super::situated::Situated;
use super::{print, print_json};
use crate::args::VariablesArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use console::{self, Style};

/// Shows variables, those that win first: what all jobs share, or what one job gets.
pub(crate) fn variables(args: &VariablesArgs) -> Result<Exit, Failure> {
    let Some(situated) = Situated::read(&args.project)? else {
        return Ok(Exit::Usage);
    };
    let explainer = situated.explainer()?;
    let found = match &args.job {
        None => vec![explainer.shared_variables()],
        Some(name) => {
            let jobs = situated.instances(name)?.into_iter();
            jobs.filter_map(|job| explainer.variables(job)).collect()
        }
    };
    if args.json {
        print_json(&found)?;
    } else {
        let style = Style::of_stdout();
        let shown = |it| match (args.explain, found.len()) {
            (true, _) => console::explained_variables(it, style),
            (false, 1) => console::variables(it),
            (false, _) => console::variables_head(it, style) + &console::variables(it),
        };
        print(found.iter().map(shown).collect::<Vec<_>>().join("\n"))?;
    }
    situated.tell_refusal();
    Ok(exit(&situated.creation))
}
