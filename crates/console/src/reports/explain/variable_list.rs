use super::variables::{one_line, origin, push_variable};
use super::{heading, push_pair, push_wrapped};
use crate::text::{Style, Tone, shown_name, strip_controls};
use pipeline_insight::explain::{ExplainedVariables, LeftOutReason, LeftOutVariable};
use std::fmt::Write as _;

/// Returns variables as lines of `NAME = VALUE`, with the values that the job gets.
pub fn variables(explained: &ExplainedVariables) -> String {
    let mut text = String::new();
    for variable in &explained.variables {
        let value = variable.expanded.as_ref().unwrap_or(&variable.value);
        let name = strip_controls(&variable.name);
        let _ = writeln!(text, "{name} = {}", one_line(value));
    }
    text
}

/// Returns whose variables they are, as a line above them.
pub fn variables_head(explained: &ExplainedVariables, style: Style) -> String {
    let name = match &explained.job {
        Some(job) => shown_name(job),
        None => "all jobs".to_owned(),
    };
    style.paint(Tone::Strong, &name) + "\n"
}

/// Returns variables with their origins, what they win over, and which are left out.
pub fn explained_variables(explained: &ExplainedVariables, style: Style) -> String {
    let mut text = variables_head(explained, style);
    for variable in &explained.variables {
        push_variable(&mut text, variable, style);
    }
    if !explained.left_out.is_empty() {
        heading(&mut text, "left out", style);
    }
    for variable in &explained.left_out {
        push_left_out(&mut text, variable, style);
    }
    text
}

fn push_left_out(text: &mut String, variable: &LeftOutVariable, style: Style) {
    let name = format!("  {}", strip_controls(&variable.name));
    push_pair(text, &name, &origin(&variable.source), style);
    let reason = match variable.reason {
        LeftOutReason::Protected => {
            "is for protected branches and tags, and this one is not protected"
        }
        LeftOutReason::Scope => "is for other environments",
    };
    push_wrapped(text, "    ", "      ", reason);
}
