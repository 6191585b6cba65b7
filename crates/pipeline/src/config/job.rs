use super::keywords;
use super::needs::{self, NeedEntry};
use super::reader::{Field, Path, Reader, Spanned};
use super::script::read_script;
use super::variables::{self, Place, Variables};
use super::{AllowFailure, Inherit, Inheritable, Parallel, PolicyKeyword, RulesKeyword, Trigger};
use super::{allow_failure, duration::parse_duration, inherit, parallel, when};
use super::{coverage, dast, environment, pages, release, run, secrets};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::yaml::Entry;
use executor_core::job::{
    EnvironmentDefinition, PagesDefinition, ReleaseDefinition, RunStep, Secrets, When,
};
use serde_json::Value;
use std::sync::Arc;

/// How long a job's name may be, in characters.
const LONGEST_NAME: usize = 255;
/// The longest `start_in`: one week.
const LONGEST_DELAY: u64 = 7 * 24 * 60 * 60;

/// A job as the file has it, `extends` applied; `None` means not given.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: Arc<str>,
    /// What it does its work with.
    pub kind: JobKind,
    /// Where its name stands.
    pub span: Span,
    /// Its stage.
    pub stage: Option<Spanned<String>>,
    /// Its commands; absent when it has steps or a trigger instead.
    pub script: Option<Vec<String>>,
    /// The pipeline it starts.
    pub trigger: Option<Box<Trigger>>,
    /// The rules of which the first that holds decides.
    pub rules: RulesKeyword,
    /// In which pipelines it is.
    pub only: Option<Box<PolicyKeyword>>,
    /// In which pipelines it is not.
    pub except: Option<Box<PolicyKeyword>>,
    /// The keywords it could have taken from `default`.
    pub inheritable: Inheritable,
    /// What it takes from `default` and the global variables.
    pub inherit: Inherit,
    /// Its own variables.
    pub variables: Variables,
    /// When it starts.
    pub when: Option<When>,
    /// The delay of a delayed job.
    pub start_in: Option<String>,
    /// Whether its failure lets the pipeline pass.
    pub allow_failure: Option<AllowFailure>,
    /// The jobs it needs.
    pub needs: Option<Vec<Spanned<NeedEntry>>>,
    /// The jobs whose artifacts it fetches.
    pub dependencies: Option<Vec<Spanned<String>>>,
    /// How it becomes several jobs.
    pub parallel: Option<Parallel>,
    /// Keywords without an effect yet.
    pub kept: Kept,
}

/// What a job does its work with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// The commands of `script`.
    #[default]
    Script,
    /// The steps of `run`.
    Run,
    /// Another pipeline: `trigger`, or `needs` alone, which mirrors one.
    Trigger,
}

/// Keywords that decide nothing about the pipeline; values are boxed, as they are rare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// The pattern that finds the coverage in the log, without its slashes.
    pub coverage: Option<String>,
    /// The environment.
    pub environment: Option<Box<EnvironmentDefinition>>,
    /// The inputs.
    pub inputs: Option<Box<Value>>,
    /// The pages.
    pub pages: Option<Box<PagesDefinition>>,
    /// The directory of the pages, in its old place.
    pub publish: Option<String>,
    /// The release.
    pub release: Option<Box<ReleaseDefinition>>,
    /// The resource group.
    pub resource_group: Option<String>,
    /// The secrets.
    pub secrets: Option<Box<Secrets>>,
    /// The steps it runs instead of a script.
    pub run: Option<Vec<RunStep>>,
}

/// Reads the job `name`, whose value is a mapping with a script.
pub(super) fn read(
    reader: &mut Reader<'_>,
    name: &str,
    entry: &Entry,
    jobs: &Path<'_>,
) -> Option<Job> {
    let path = jobs.child(name);
    let field = Field {
        node: &entry.value,
        path: &path,
    };
    let entries = entry.value.as_mapping()?;
    check_name(reader, name, entry);
    keywords::check_support(reader, field, entries);

    let mut job = Job {
        name: name.into(),
        kind: JobKind::Script,
        span: entry.key_span,
        stage: None,
        script: None,
        trigger: None,
        rules: RulesKeyword::Absent,
        only: None,
        except: None,
        inheritable: Inheritable::default(),
        inherit: Inherit::default(),
        variables: Variables::new(),
        when: None,
        start_in: None,
        allow_failure: None,
        needs: None,
        dependencies: None,
        parallel: None,
        kept: Kept::default(),
    };
    reader.entries(field, &keywords::job_names(), |reader, key, field| {
        job.read_key(reader, key, field);
    });
    if let Some(script) = entries
        .get("script")
        .filter(|script| script.value.is_null())
    {
        let path = path.child("script");
        let node = &script.value;
        reader.refuse(Field { node, path: &path }, "can't be blank");
    }
    job.check_delay(reader, field);
    Some(job)
}

impl Job {
    fn read_key(&mut self, reader: &mut Reader<'_>, key: &str, field: Field<'_>) {
        let span = field.node.span;
        let json = || Some(Box::new(field.node.to_json()));
        match key {
            "stage" => {
                let stage = reader.string(field);
                self.stage = stage.map(|value| Spanned { value, span });
            }
            "script" => self.script = read_script(reader, field),
            "inherit" => self.inherit = inherit::read(reader, field),
            "variables" => {
                let variables = variables::read(reader, field, Place::Job);
                self.variables = variables.unwrap_or_default();
            }
            "when" => self.when = when::read(reader, field),
            "start_in" => self.start_in = reader.string(field),
            "allow_failure" => self.allow_failure = allow_failure::read(reader, field),
            "needs" => self.needs = needs::read(reader, field),
            "dependencies" => self.dependencies = needs::read_dependencies(reader, field),
            "parallel" => self.parallel = parallel::read(reader, field),
            "coverage" => self.kept.coverage = coverage::read(reader, field),
            "dast_configuration" => dast::check(reader, field),
            "environment" => {
                self.kept.environment = environment::read(reader, field).map(Box::new);
            }
            "inputs" => self.kept.inputs = json(),
            "pages" => self.kept.pages = pages::read(reader, field).map(Box::new),
            "publish" => self.kept.publish = reader.string(field),
            "release" => self.kept.release = release::read(reader, field).map(Box::new),
            "resource_group" => self.kept.resource_group = reader.string(field),
            "run" => self.kept.run = run::read(reader, field),
            "secrets" => self.kept.secrets = secrets::read(reader, field).map(Box::new),
            _ => self.inheritable.read_key(reader, key, field),
        }
    }

    fn check_delay(&self, reader: &mut Reader<'_>, field: Field<'_>) {
        let delayed = self.when == Some(When::Delayed);
        match &self.start_in {
            None if delayed => reader.refuse(field, "with `when: delayed` needs `start_in`"),
            Some(_) if !delayed => {
                reader.refuse(field, "may have `start_in` only with `when: delayed`");
            }
            Some(text) => match parse_duration(text).map(|delay| delay.as_secs()) {
                Some(..=LONGEST_DELAY) => {}
                Some(_) => reader.refuse(field, "start in should not exceed the limit of a week"),
                None => reader.refuse(field, "start in should be a duration"),
            },
            None => {}
        }
    }
}

fn check_name(reader: &mut Reader<'_>, name: &str, entry: &Entry) {
    let words = if !entry.key_is_text {
        "must be text; put quotes around it"
    } else if name.trim().is_empty() {
        "can't be blank"
    } else if name.chars().count() > LONGEST_NAME {
        "is too long (the maximum is 255 characters)"
    } else if name.contains(['\n', '\r', '\0']) {
        "holds a line break or NUL"
    } else {
        return;
    };
    let shown: String = name.chars().take(40).collect();
    let message = format!("jobs:{}: the job name {words}", shown.escape_debug());
    let error = Diagnostic::error("invalid-job-name", message);
    reader.diagnostics.push(error.at(entry.key_span));
}
