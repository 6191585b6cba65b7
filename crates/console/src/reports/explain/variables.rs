use super::{WIDTH, heading, place, push_pair, push_wrapped};
use crate::text::{Style, columns, cut, strip_controls};
use pipeline::context::Level;
use pipeline_insight::explain::{ExplainedVariable, VariableSource};

/// Adds the variables of a job, each with its value, where it comes from, and what it wins over;
/// long values are cut.
///
/// GitLab's own are many and the same for all jobs, so they are left out unless they are asked for,
/// or stand against one of another origin.
pub(super) fn push(
    text: &mut String,
    variables: &[ExplainedVariable],
    style: Style,
    with_predefined: bool,
) {
    let is_shown = |variable: &&ExplainedVariable| {
        with_predefined
            || variable.source != VariableSource::Predefined
            || !variable.shadows.is_empty()
    };
    let shown: Vec<_> = variables.iter().filter(is_shown).collect();
    let hides = shown.len() < variables.len();
    if !variables.is_empty() {
        heading(text, "variables", style);
    }
    for variable in shown {
        push_variable(text, variable, style);
    }
    if hides {
        text.push_str("  and GitLab's own: --predefined shows them\n");
    }
}

/// Adds one variable.
pub(super) fn push_variable(text: &mut String, variable: &ExplainedVariable, style: Style) {
    let name = strip_controls(&variable.name);
    let room = WIDTH.saturating_sub(columns(&name) + "   = ".len());
    let value = cut(&one_line(&variable.value), room, style.ellipsis());
    push_pair(
        text,
        &format!("  {name} = {value}"),
        &origin(&variable.source),
        style,
    );
    let mut remarks = Vec::new();
    if let Some(expanded) = &variable.expanded {
        let value = cut(&one_line(expanded), WIDTH, style.ellipsis());
        remarks.push(format!("expands to {value}"));
    }
    if variable.is_raw && !variable.is_masked && variable.value.contains(['$', '%']) {
        remarks.push("is not expanded".to_owned());
    }
    if variable.is_file {
        remarks.push("is the path of a file that holds the value".to_owned());
    }
    if let VariableSource::External {
        is_protected: true, ..
    } = variable.source
    {
        remarks.push("is for protected branches and tags".to_owned());
    }
    let hidden: Vec<_> = variable.shadows.iter().map(origin).collect();
    if !hidden.is_empty() {
        remarks.push(format!("wins over {}", hidden.join("; ")));
    }
    for remark in remarks {
        push_wrapped(text, "    ", "      ", &remark);
    }
}

/// Returns a value as it is when it is one plain line, else in quotes.
pub(super) fn one_line(value: &str) -> String {
    let is_plain = !value.is_empty() && value.trim() == value && !value.contains(char::is_control);
    if is_plain {
        strip_controls(value)
    } else {
        format!("{value:?}")
    }
}

/// Returns where a variable comes from, in a few words.
pub(super) fn origin(source: &VariableSource) -> String {
    match source {
        VariableSource::Predefined => "predefined".to_owned(),
        VariableSource::Global { place: at } => format!("global, {}", place(at)),
        VariableSource::WorkflowRule { place: at } => format!("workflow rule, {}", place(at)),
        VariableSource::Job { place: at } => match &at.key {
            Some(key) => format!("{}, {}", strip_controls(key), place(at)),
            None => place(at),
        },
        VariableSource::Matrix { place: at } => format!("matrix, {}", place(at)),
        VariableSource::Rule { place: at } => format!("rule, {}", place(at)),
        VariableSource::External {
            level,
            source,
            scope,
            ..
        } => {
            let level = match level {
                Level::Instance => "all projects",
                Level::Group => "group",
                Level::Project => "project",
                Level::Pipeline => "pipeline",
            };
            let environments = match &**scope {
                "*" => String::new(),
                scope => format!(" for {}", strip_controls(scope)),
            };
            let source = strip_controls(&source.to_string());
            format!("{level}, {source}{environments}")
        }
    }
}
