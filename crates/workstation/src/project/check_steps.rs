//! Checks the steps of jobs (`run`) when a pipeline is read, so that errors show before anything runs.

use executor_core::job::RunStep;
use pipeline::{Pipeline, ResolvedPipeline};
use std::collections::HashSet;
use steps::language::Function;
use steps::language::expression::Template;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::{SourceMap, Span};
use yaml::{Kind, Node};

/// The keys of a step that have texts with expressions.
const KEYS: [&str; 5] = ["script", "func", "step", "inputs", "env"];

/// Reports errors in the steps of jobs.
pub(crate) fn check_steps(
    loaded: &Pipeline,
    resolved: &ResolvedPipeline,
    diagnostics: &mut Diagnostics,
) {
    // Errors in the keys were reported already, and would be reported again.
    if diagnostics.has_errors() {
        return;
    }
    let (mut jobs, mut reported) = (HashSet::new(), HashSet::new());
    for job in &resolved.jobs {
        let name = &*job.name_in_file;
        let Some(steps) = &job.definition.run else {
            continue;
        };
        let run = loaded.tree().get(name).and_then(|it| it.get("run"));
        let Some(run) = run.filter(|_| jobs.insert(name)) else {
            continue;
        };
        for (span, problem) in problems(run, steps, diagnostics.sources()) {
            // Jobs that extend the same one have the same steps.
            if reported.insert((span, problem.clone())) {
                let message = format!("jobs:{name}:run {problem}");
                diagnostics.push(Diagnostic::error("invalid-step", message).at(span));
            }
        }
    }
}

/// Returns the problems of steps with their locations.
fn problems(run: &Node, steps: &[RunStep], sources: &SourceMap) -> Vec<(Span, String)> {
    let items = run.as_sequence().unwrap_or_default();
    let mut found = Vec::new();
    for (index, (node, step)) in items.iter().zip(steps).enumerate() {
        let number = index + 1;
        let before = found.len();
        for key in KEYS {
            let value = node.get(key);
            let mut wrong = |of: &str, node: &Node, text: &str| {
                if let Err(error) = Template::parse(text) {
                    let span = location(sources, node.span, text, error.at);
                    found.push((span, format!("step {number}: `{of}`: {}", error.message)));
                }
            };
            if let Some(value) = value {
                each_text(key, value, &mut wrong);
            }
        }
        if found.len() == before
            && let Some(words) = refused(std::slice::from_ref(step))
        {
            let words = words.strip_prefix("step 1: ").unwrap_or(&words);
            found.push((node.span, format!("step {number}: {words}")));
        }
    }
    if found.is_empty()
        && let Some(words) = refused(steps)
    {
        found.push((location_of_step(&words, run), words));
    }
    found
}

/// Returns why the step language refuses steps, if it does.
fn refused(steps: &[RunStep]) -> Option<String> {
    let json = serde_json::to_string(steps).ok()?;
    let refused = Function::of_job(&json).err()?;
    Some(refused.message)
}

/// Returns the location of the step that a message starts with.
fn location_of_step(message: &str, run: &Node) -> Span {
    let number = message
        .strip_prefix("step ")
        .and_then(|rest| rest.split_once(':'))
        .and_then(|(number, _)| number.parse::<usize>().ok());
    let items = run.as_sequence().unwrap_or_default();
    let step = number.and_then(|number| items.get(number.checked_sub(1)?));
    step.map_or(run.span, |step| step.span)
}

/// Visits all texts in a value, with their names.
fn each_text(of: &str, node: &Node, visit: &mut dyn FnMut(&str, &Node, &str)) {
    match &node.kind {
        Kind::String(text) => visit(of, node, text),
        Kind::Sequence(items) => {
            for item in items {
                each_text(of, item, visit);
            }
        }
        Kind::Mapping(entries) => {
            for (name, entry) in entries.iter() {
                each_text(&format!("{of}.{name}"), &entry.value, visit);
            }
        }
        _ => {}
    }
}

/// Returns the location of a character of a text, if the text is in the file literally; else that of the text.
fn location(sources: &SourceMap, whole: Span, text: &str, at: usize) -> Span {
    let source = sources.file(whole.file).text();
    let before: String = text.chars().take(at).collect();
    let offset = if text.contains('\n') {
        in_block(source, whole, text, &before)
    } else {
        let written = source.get(whole.bytes()).unwrap_or_default();
        let begin = written.find(text).map(|begin| whole.bytes().start + begin);
        begin.map(|begin| begin + before.len())
    };
    let offset = offset.filter(|offset| source.is_char_boundary(*offset));
    offset.map_or(whole, |offset| Span::of_offset(whole.file, source, offset))
}

/// Returns the offset in the file of what follows `before` in a block of lines (`|`).
fn in_block(source: &str, whole: Span, text: &str, before: &str) -> Option<usize> {
    let number = before.matches('\n').count();
    let of_line = before.rsplit('\n').next()?.len();
    let line = text.split('\n').nth(number)?;
    // The block starts after the line of its `|`.
    let skipped = usize::try_from(whole.line).ok()? + number;
    let mut offset = 0;
    for (index, written) in source.split_inclusive('\n').enumerate() {
        if index == skipped {
            let written = written.trim_end_matches(['\n', '\r']);
            let indent = written.strip_suffix(line)?;
            let is_indent = indent.chars().all(|c| c == ' ');
            return is_indent.then_some(offset + indent.len() + of_line);
        }
        offset += written.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use yaml::diagnostic::Severity;

    /// Returns the errors with line and column.
    fn found(text: &str) -> Vec<String> {
        let mut checked = Pipeline::from_text("p.yml", text);
        let loaded = checked.value.expect("a pipeline");
        let resolved = loaded.resolve(&mut checked.diagnostics);
        check_steps(&loaded, &resolved, &mut checked.diagnostics);
        let errors = checked.diagnostics.records(Severity::Error);
        let errors = errors.into_iter().map(|it| {
            let place = |place: Option<u32>| place.map_or_else(String::new, |it| it.to_string());
            let (line, column) = (place(it.line), place(it.column));
            format!("{line}:{column}: {}", it.message)
        });
        errors.collect()
    }

    #[test]
    fn errors_in_expressions_have_a_location() {
        let text = "\
a:
  run:
    - name: one
      script: \"echo ${{ steps.a\"
    - name: two
      script: |
        echo begin

          echo ${{ 1 1 }}
    - name: three
      func: ./x/${{ }}
      inputs: {list: [a, '${{ b. }}']}
      env: {A: \"${{ 'x }}\"}
    - name: four
      func: {git: {url: \"${{ vars.X }}/y\", rev: \"v${{ 1 + }}\"}}
    - name: good
      script: echo ${{ job.X }} }} '\\${{'
";
        assert_eq!(
            found(text),
            [
                "4:21: jobs:a:run step 1: `script`: unterminated expression: `}}` is missing",
                "9:22: jobs:a:run step 2: `script`: expected an operator or `}}`",
                "11:21: jobs:a:run step 3: `func`: expected an expression",
                "12:34: jobs:a:run step 3: `inputs.list`: expected a name after `.`",
                "13:21: jobs:a:run step 3: `env.A`: unterminated string in single quotes",
                "15:59: jobs:a:run step 4: `func.git.rev`: expected an expression",
            ]
        );
    }

    #[test]
    fn other_errors_are_reported_once_at_the_step() {
        let text = "\
.base:
  run:
    - {name: one, func: nowhere}
    - {name: two, func: {git: {url: x, rev: y, dir: ../z}}}
a: {extends: .base}
b: {extends: .base, parallel: 2}
c: {script: 'echo ${{ }'}
";
        let found = found(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("3:7: jobs:a:run step 1: `nowhere` is not a reference"),
            "{found:?}"
        );
        let dir = "4:7: jobs:a:run step 2: git: `dir` must be below the root, and `file` a file name in it";
        assert_eq!(found[1], dir);
    }
}
