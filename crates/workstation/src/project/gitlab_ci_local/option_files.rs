use crate::project::variable_files::parse_dotenv;
use pipeline::Diagnostics;
use std::path::PathBuf;
use yaml::diagnostic::Checked;

/// The options of a file that concern the pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileOptions {
    /// The name of the file in messages.
    pub(crate) name: String,
    /// The pipeline file (`FILE`).
    pub(crate) file: Option<PathBuf>,
    /// The project's file with variables (`VARIABLES_FILE`).
    pub(crate) variables_file: Option<PathBuf>,
    /// Pipeline variables (`VARIABLE`), each with its line.
    pub(crate) variables: Vec<(String, String, u32)>,
    /// Inputs (`INPUT`).
    pub(crate) inputs: Vec<(String, String)>,
    /// Notes about ignored options.
    pub(crate) notes: Vec<String>,
}

/// Ignored options, and their counterpart here.
const OTHERS: [(&str, &str); 22] = [
    ("ARTIFACTS_TO_SOURCE", "artifacts stay with the run"),
    ("CLEANUP", "everything is removed at the end"),
    ("COLOR", "set NO_COLOR"),
    ("CONCURRENCY", "use --concurrency"),
    ("CWD", "use --cwd"),
    ("EVALUATE_RULE_CHANGES", "use --changes"),
    ("FORCE_SHELL_EXECUTOR", "use --executor shell"),
    ("HOME", "set HOME"),
    ("JOB", "name the jobs"),
    ("LIST", "use `runwright list`"),
    ("MANUAL", "use --manual"),
    ("NEEDS", "use --needs or --no-needs"),
    ("ONLY_NEEDS", "name the jobs that are needed"),
    ("PREVIEW", "use `runwright show`"),
    ("QUIET", "use --output"),
    ("SHELL_EXECUTOR_NO_IMAGE", "use --executor"),
    ("SHELL_ISOLATION", "jobs are isolated; see --isolation"),
    ("STAGE", "use --stage"),
    ("STATE_DIR", "set RUNWRIGHT_HOME"),
    ("TIMESTAMPS", "use --events"),
    ("UNSET_VARIABLE", "set the variable to empty text"),
    ("UMASK", "the umask is yours"),
];

/// Parses a file with options, one `NAME=value` a line; messages call it `name`.
pub(crate) fn read_options(name: &str, text: &str) -> Checked<FileOptions> {
    let (mut diagnostics, file) = Diagnostics::of_private_file(name, text);
    let (assignments, problems) = parse_dotenv(file, text);
    for problem in problems {
        diagnostics.push(problem);
    }
    let mut options = FileOptions {
        name: name.to_owned(),
        ..FileOptions::default()
    };
    for assignment in assignments {
        let line = assignment.span.line;
        let value = assignment.value;
        match assignment.name.as_str() {
            "FILE" => options.file = Some(value.into()),
            "VARIABLES_FILE" => options.variables_file = Some(value.into()),
            "VARIABLE" => {
                // Several values are separated by spaces.
                let pairs = value.split_whitespace().filter_map(|it| it.split_once('='));
                let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned(), line));
                options.variables.extend(pairs);
            }
            "INPUT" => {
                let pairs = value.split_whitespace().filter_map(|it| it.split_once('='));
                let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
                options.inputs.extend(pairs);
            }
            other => {
                let known = OTHERS.iter().find(|(option, _)| *option == other);
                let advice = known.map_or("it has no counterpart here", |(_, advice)| advice);
                let note = format!("{name}:{line}: {other} is ignored: {advice}");
                options.notes.push(note);
            }
        }
    }
    Checked {
        value: Some(options),
        diagnostics,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipeline_options_are_used_and_others_noted() {
        let text =
            "FILE=ci/main.yml\nVARIABLE=\"A=1 B=x=y\"\nINPUT=env=dev\nCONCURRENCY=2\nULIMIT=9\n";
        let (options, _) = read_options(".env", text).into_result().expect("no errors");
        assert_eq!(options.file, Some("ci/main.yml".into()));
        let owned = |name: &str, value: &str| (name.to_owned(), value.to_owned(), 2);
        assert_eq!(options.variables, [owned("A", "1"), owned("B", "x=y")]);
        assert_eq!(options.inputs, [("env".to_owned(), "dev".to_owned())]);
        assert_eq!(
            options.notes,
            [
                ".env:4: CONCURRENCY is ignored: use --concurrency",
                ".env:5: ULIMIT is ignored: it has no counterpart here",
            ]
        );
    }
}
