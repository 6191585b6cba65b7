use crate::project::variable_files::parse_dotenv;
use executor_core::variable::JobVariable;
use pipeline::Diagnostics;
use pipeline::context::{ExternalSource, ExternalVariable};
use std::path::PathBuf;
use yaml::diagnostic::Checked;

/// The options of one source that concern the pipeline: a file, or the process environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileOptions {
    /// The name of the file; empty for the environment.
    pub(crate) name: String,
    /// The pipeline file (`FILE`).
    pub(crate) file: Option<PathBuf>,
    /// The project's file with variables (`VARIABLES_FILE`).
    pub(crate) variables_file: Option<PathBuf>,
    /// The project's file with inputs (`INPUTS_FILE`).
    pub(crate) inputs_file: Option<PathBuf>,
    /// Pipeline variables (`VARIABLE`).
    pub(crate) variables: Vec<ExternalVariable>,
    /// The names of variables that are removed (`UNSET_VARIABLE`).
    pub(crate) unset: Vec<String>,
    /// Inputs (`INPUT`).
    pub(crate) inputs: Vec<(String, String)>,
    /// Notes about ignored options.
    pub(crate) notes: Vec<String>,
}

/// An option that is ignored.
struct Ignored {
    name: &'static str,
    /// The value that needs no note, since it is what Runwright does.
    as_here: &'static str,
    /// The counterpart here.
    advice: &'static str,
}

const fn ignored(name: &'static str, as_here: &'static str, advice: &'static str) -> Ignored {
    Ignored {
        name,
        as_here,
        advice,
    }
}

const OTHERS: [Ignored; 50] = [
    ignored("ARTIFACTS_TO_SOURCE", "false", "use --artifacts-to-source"),
    ignored("CA_FILE", "", "use --ca-file"),
    ignored(
        "CLEANUP",
        "true",
        "everything is removed at the end; use `runwright shell` to look inside a job",
    ),
    ignored("COLOR", "true", "set NO_COLOR"),
    ignored("COMPLETION", "false", "use `runwright completion`"),
    ignored("CONCURRENCY", "", "use --concurrency"),
    ignored(
        "CONTAINER_EMULATE",
        "",
        "set `memory` and `cpus` of `[docker]` in your settings",
    ),
    ignored(
        "CONTAINER_EXECUTABLE",
        "docker",
        "set DOCKER_HOST to the socket of the engine",
    ),
    ignored("CWD", "", "use --cwd"),
    ignored("DEFAULT_IMAGE", "", "use --image"),
    ignored("DEVICE", "", "set `devices` of `[docker]` in your settings"),
    ignored("EVALUATE_RULE_CHANGES", "true", "use --changes"),
    ignored("EXTRA_HOST", "", "use --extra-host"),
    ignored("FETCH_INCLUDES", "false", "use --refresh"),
    ignored("FORCE_SHELL_EXECUTOR", "false", "use --executor shell"),
    ignored("GPUS", "", "set `gpus` of `[docker]` in your settings"),
    ignored("HELPER_IMAGE", "", "there are no helper containers"),
    ignored("HOME", "", "set HOME"),
    ignored(
        "IGNORES_FILE",
        "",
        "jobs get all files that git does not ignore",
    ),
    ignored("IGNORE_PREDEFINED_VARS", "", "there are no such warnings"),
    ignored("IGNORE_SCHEMA_PATHS", "", "the file is always checked"),
    ignored("JOB", "", "name the jobs"),
    ignored(
        "JSON_SCHEMA_VALIDATION",
        "true",
        "the file is always checked",
    ),
    ignored("LIST", "false", "use `runwright list`"),
    ignored("LIST_ALL", "false", "use `runwright list --all`"),
    ignored("LIST_CSV", "false", "use `runwright list --csv`"),
    ignored("LIST_CSV_ALL", "false", "use `runwright list --csv --all`"),
    ignored("LIST_JSON", "false", "use `runwright list --json --all`"),
    ignored("MANUAL", "", "use --manual"),
    ignored("MAXIMUM_INCLUDES", "150", "use --maximum-includes"),
    ignored(
        "MAX_JOB_NAME_PADDING",
        "",
        "names of jobs are shown in full",
    ),
    ignored("MOUNT_CACHE", "false", "caches work for all jobs"),
    ignored("NEEDS", "true", "use --needs or --no-needs"),
    ignored("NETWORK", "", "use --network"),
    ignored("ONLY_NEEDS", "false", "use --only-needs"),
    ignored("PREVIEW", "false", "use `runwright show`"),
    ignored("PRIVILEGED", "false", "use --privileged"),
    ignored("PULL_POLICY", "if-not-present", "use --pull-policy"),
    ignored("QUIET", "false", "use --quiet"),
    ignored(
        "REMOTE_VARIABLES",
        "",
        "use --variables-file or --gitlab-variables",
    ),
    ignored("SHELL_EXECUTOR_NO_IMAGE", "true", "use --executor"),
    ignored(
        "SHELL_ISOLATION",
        "true",
        "jobs are isolated; see --isolation",
    ),
    ignored(
        "SHM_SIZE",
        "",
        "set `shm-size` of `[docker]` in your settings",
    ),
    ignored("STAGE", "", "use --stage"),
    ignored("STATE_DIR", ".gitlab-ci-local", "set RUNWRIGHT_HOME"),
    ignored("TIMESTAMPS", "false", "use `runwright logs --timestamps`"),
    ignored("ULIMIT", "", "use --ulimit"),
    ignored("UMASK", "", "use --umask"),
    ignored("VALIDATE_DEPENDENCY_CHAIN", "false", "use `runwright lint`"),
    ignored("VOLUME", "", "use --volume"),
];

/// Returns the counterpart of an option of gitlab-ci-local, as on its command line: `--list-all`.
pub fn advice_on_option(option: &str) -> Option<&'static str> {
    let name = option.strip_prefix("--")?;
    let name = name.strip_prefix("no-").unwrap_or(name);
    let name = name.replace('-', "_").to_uppercase();
    let known = OTHERS.iter().find(|option| option.name == name);
    known.map(|option| option.advice)
}

/// The prefix of options in the process environment.
const PREFIX: &str = "GCL_";

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
        let given = GivenOption {
            name: &assignment.name,
            value: &assignment.value,
            separator: ' ',
            source: ExternalSource::File {
                path: name.to_owned(),
                line,
            },
        };
        options.add(&given, &format!("{name}:{line}: {}", assignment.name));
    }
    Checked {
        value: Some(options),
        diagnostics,
    }
}

/// Reads the options of the process environment; others are not options.
pub(crate) fn read_environment(variables: &[(String, String)]) -> FileOptions {
    let mut options = FileOptions::default();
    for (name, value) in variables {
        let Some(option) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let source = ExternalSource::Option(name.clone());
        if let Some(variable) = option.strip_prefix("VARIABLE_") {
            options.add_variable(variable, value, source);
            continue;
        }
        let given = GivenOption {
            name: option,
            value,
            separator: ';',
            source,
        };
        options.add(&given, name);
    }
    options
}

/// An option as a source gives it.
struct GivenOption<'a> {
    /// Its name in capitals.
    name: &'a str,
    value: &'a str,
    /// Separates the values of a list.
    separator: char,
    source: ExternalSource,
}

impl GivenOption<'_> {
    fn list(&self) -> impl Iterator<Item = &str> {
        let values = self.value.split(self.separator).map(str::trim);
        values.filter(|value| !value.is_empty())
    }

    /// Returns the values of a list of `NAME=value`, and adds notes on others; a note calls the option `shown`.
    fn pairs(&self, shown: &str, notes: &mut Vec<String>) -> Vec<(&str, &str)> {
        let mut pairs = Vec::new();
        for value in self.list() {
            match value.split_once('=') {
                Some(pair) => pairs.push(pair),
                None => notes.push(format!(
                    "{shown}: `{value}` is ignored: expected `NAME=value`"
                )),
            }
        }
        pairs
    }
}

impl FileOptions {
    /// Adds an option; a note calls it `shown`.
    fn add(&mut self, given: &GivenOption<'_>, shown: &str) {
        match given.name {
            "FILE" => self.file = Some(given.value.into()),
            "VARIABLES_FILE" => self.variables_file = Some(given.value.into()),
            "INPUTS_FILE" => self.inputs_file = Some(given.value.into()),
            "VARIABLE" => {
                for (name, value) in given.pairs(shown, &mut self.notes) {
                    self.add_variable(name, value, given.source.clone());
                }
            }
            "UNSET_VARIABLE" => self.unset.extend(given.list().map(ToOwned::to_owned)),
            "INPUT" => {
                let pairs = given.pairs(shown, &mut self.notes).into_iter();
                let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
                self.inputs.extend(pairs);
            }
            name => {
                let known = OTHERS.iter().find(|option| option.name == name);
                if known.is_some_and(|option| option.as_here == given.value) {
                    return;
                }
                let advice = known.map_or("it has no counterpart here", |option| option.advice);
                self.notes.push(format!("{shown} is ignored: {advice}"));
            }
        }
    }

    fn add_variable(&mut self, name: &str, value: &str, source: ExternalSource) {
        self.variables.push(ExternalVariable {
            source,
            ..ExternalVariable::of_pipeline(JobVariable::public(name, value))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(options: &FileOptions) -> Vec<(&str, &str, String)> {
        let variables = options.variables.iter().map(|given| {
            let variable = &given.variable;
            (&*variable.key, &*variable.value, given.source.to_string())
        });
        variables.collect()
    }

    #[test]
    fn pipeline_options_are_used_and_others_noted() {
        let text = "FILE=ci/main.yml\nVARIABLE=\"A=1 B=x=y D\"\nINPUT=env=dev\nCONCURRENCY=2\nOTHER=9\n\
                    UNSET_VARIABLE=\"CI X\"\nNEEDS=true\nLIST=false\n";
        let (options, _) = read_options(".env", text).into_result().expect("no errors");
        assert_eq!(options.file, Some("ci/main.yml".into()));
        let of_file = ".env:2".to_owned();
        assert_eq!(
            variables(&options),
            [("A", "1", of_file.clone()), ("B", "x=y", of_file)]
        );
        assert_eq!(options.inputs, [("env".to_owned(), "dev".to_owned())]);
        assert_eq!(options.unset, ["CI", "X"]);
        assert_eq!(
            options.notes,
            [
                ".env:2: VARIABLE: `D` is ignored: expected `NAME=value`",
                ".env:4: CONCURRENCY is ignored: use --concurrency",
                ".env:5: OTHER is ignored: it has no counterpart here",
            ]
        );
    }

    #[test]
    fn options_of_the_environment_are_used_or_noted() {
        let given = [
            ("GCL_VARIABLE", "A=1;B=a b;D"),
            ("GCL_VARIABLE_C", "x;y"),
            ("GCL_INPUTS_FILE", "in.yml"),
            ("GCL_PRIVILEGED", "true"),
            ("GCLX", "no"),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = read_environment(&given);
        let of_list = "GCL_VARIABLE".to_owned();
        assert_eq!(
            variables(&options),
            [
                ("A", "1", of_list.clone()),
                ("B", "a b", of_list),
                ("C", "x;y", "GCL_VARIABLE_C".to_owned()),
            ]
        );
        assert_eq!(options.inputs_file, Some("in.yml".into()));
        assert_eq!(
            options.notes,
            [
                "GCL_VARIABLE: `D` is ignored: expected `NAME=value`",
                "GCL_PRIVILEGED is ignored: use --privileged",
            ]
        );
    }
}
