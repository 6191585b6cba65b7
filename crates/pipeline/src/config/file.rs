use super::classify::{TopLevel, classify, job_kind};
use super::inheritable::DEFAULT_KEYS;
use super::keywords::{self, GLOBAL, LEGACY_DEFAULTS};
use super::path::Path;
use super::reader::{Field, Reader};
use super::variables::{self, Place};
use super::{Inheritable, Job, Variables, Workflow, read_job, stages, workflow};
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::suggest::did_you_mean;
use yaml::{Entry, Mapping, Node};

/// A whole pipeline file, keyword by keyword.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The stages in order, `.pre` and `.post` included.
    pub stages: Vec<String>,
    /// Whether the stages are those of the file; false when its `stages` are invalid.
    pub stages_are_known: bool,
    /// The global variables.
    pub variables: Variables,
    /// The keywords that jobs inherit.
    pub default: Inheritable,
    /// Conditions on the pipeline, and its name.
    pub workflow: Workflow,
    /// The jobs in the order of the file, without hidden ones.
    pub jobs: Vec<Job>,
}

/// Reads the keywords of a composed file.
///
/// Returns nothing when the file is not a mapping; entries with other errors are left out.
pub(crate) fn read(root: &Node, diagnostics: &mut Diagnostics) -> Option<Config> {
    let entries = root.as_mapping()?;
    let mut reader = Reader::new(diagnostics);
    let default = read_default(&mut reader, entries);
    let stages = read_global(&mut reader, entries, "stages", stages::read);
    let variables = read_global(&mut reader, entries, "variables", |reader, field| {
        variables::read(reader, field, Place::Global)
    });
    let has_workflow = entries.get("workflow").is_some_and(|entry| !is_job(entry));
    let workflow = has_workflow
        .then(|| read_global(&mut reader, entries, "workflow", workflow::read))
        .flatten();
    let jobs = read_jobs(&mut reader, root, entries);
    Some(Config {
        stages_are_known: !matches!(stages, Some(None)),
        stages: stages.flatten().unwrap_or_else(stages::default_stages),
        variables: variables.flatten().unwrap_or_default(),
        default,
        workflow: workflow.unwrap_or_default(),
        jobs,
    })
}

/// Reads a top-level keyword; `None` when it is absent.
fn read_global<T>(
    reader: &mut Reader<'_>,
    entries: &Mapping,
    name: &str,
    read: impl FnOnce(&mut Reader<'_>, Field<'_>) -> T,
) -> Option<T> {
    let entry = entries.get(name).filter(|entry| !entry.value.is_null())?;
    let path = Path::top(name);
    let node = &entry.value;
    Some(read(reader, Field { node, path: &path }))
}

/// Reads `default` and the old top-level keywords with the same meaning.
fn read_default(reader: &mut Reader<'_>, entries: &Mapping) -> Inheritable {
    let mut default = Inheritable::default();
    let given = entries.get("default").filter(|entry| !is_job(entry));
    if given.is_some() {
        read_global(reader, entries, "default", |reader, field| {
            reader.entries(field, &DEFAULT_KEYS, |reader, key, field| {
                default.read_key(reader, key, field);
            });
        });
    }
    for name in LEGACY_DEFAULTS {
        // It is meant as a job, which is reported elsewhere.
        if entries.get(name).is_some_and(is_job) {
            continue;
        }
        let twice = given.is_some_and(|default| default.value.get(name).is_some());
        read_global(reader, entries, name, |reader, field| {
            if twice {
                let words = "is given at the top level and in `default` too";
                reader.refuse(field, words);
            }
            default.read_key(reader, name, field);
        });
    }
    default
}

fn read_jobs(reader: &mut Reader<'_>, root: &Node, entries: &Mapping) -> Vec<Job> {
    let path = Path::top("jobs");
    let mut jobs = Vec::new();
    let mut seen = false;
    let unread = reader.diagnostics.unread();
    for (name, entry) in entries {
        match classify(name, entry, unread) {
            TopLevel::Keyword => check_reserved(reader, name, entry),
            TopLevel::Hidden => check_hidden(reader, name, entry),
            TopLevel::Job(kind) => {
                seen = true;
                reader.diagnostics.enter_job(Some(name));
                jobs.extend(read_job::read(reader, name, entry, kind, &path));
                reader.diagnostics.enter_job(None);
            }
            TopLevel::Unclear => {
                seen = true;
                refuse_job(reader, name, entry);
            }
        }
    }
    if !seen {
        let message = "jobs config should contain at least one visible job";
        let hidden = entries.keys().any(|name| name.starts_with('.'));
        let help = hidden.then(|| "a dot at the start of a name hides the job".to_owned());
        let error = Diagnostic::error("no-jobs", message).at(root.span);
        reader.diagnostics.push(error.with_help(help));
    }
    jobs
}

/// Returns whether an entry has something to run, so that it is meant as a job.
fn is_job(entry: &Entry) -> bool {
    job_kind(&entry.value).is_some()
}

/// Refuses a job that has the name of a keyword. (A variable may be called `script`.)
fn check_reserved(reader: &mut Reader<'_>, name: &str, entry: &Entry) {
    if name != "variables" && is_job(entry) {
        let message = format!("`{name}` is a keyword and cannot be the name of a job");
        let error = Diagnostic::error("reserved-name", message);
        reader.diagnostics.push(error.at(entry.key_span));
    }
}

fn check_hidden(reader: &mut Reader<'_>, name: &str, entry: &Entry) {
    if entry.value.is_blank() {
        let message = format!("jobs:{name} config can't be blank");
        let error = Diagnostic::error("invalid-value", message);
        reader.diagnostics.push(error.at(entry.key_span));
    } else if name.starts_with("./") || name.starts_with("../") {
        let message = format!("`{name}` starts with a dot, so it is hidden and will not run");
        let warning = Diagnostic::warning("hidden-job", message);
        reader.diagnostics.push(warning.at(entry.key_span));
    }
}

fn refuse_job(reader: &mut Reader<'_>, name: &str, entry: &Entry) {
    let shown: String = name.chars().take(40).collect();
    let shown = shown.escape_debug();
    let message =
        format!("jobs:{shown} config should implement the script:, run:, or trigger: keyword");
    let misspelt_script = entry.value.as_mapping().and_then(|entries| {
        let mut unknown = entries
            .iter()
            .filter(|(key, _)| !keywords::JOB.contains(&key.as_ref()));
        unknown.find(|(key, _)| did_you_mean(key, ["script"]).is_some())
    });
    if let Some((key, misspelt)) = misspelt_script {
        let help = format!(
            "`{}` is not a keyword; did you mean `script`?",
            key.escape_debug()
        );
        let error = Diagnostic::error("missing-script", message).at(misspelt.key_span);
        reader.diagnostics.push(error.with_help(help));
        return;
    }
    let help = did_you_mean(name, GLOBAL).or_else(|| {
        let words = "a job needs commands: add `script:`; start the name with a dot to hide it";
        Some(words.to_owned())
    });
    let error = Diagnostic::error("missing-script", message).at(entry.key_span);
    reader.diagnostics.push(error.with_help(help));
}
