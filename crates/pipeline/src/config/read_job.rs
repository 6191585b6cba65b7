//! Reads a job: its keywords, and how they may be combined.

use super::Spanned;
use super::need::NeedPlace;
use super::needs;
use super::path::Path;
use super::reader::{Field, Reader, quotes_help};
use super::rule::read_rules;
use super::rule_list::{RulePlace, RulesKeyword};
use super::script::read_script;
use super::variables::{self, Place};
use super::{AllowFailure, Job, JobKind, keywords};
use super::{delay, environment, inherit, job_inputs, parallel, policy, release, run};
use super::{secrets, trigger, when};
use crate::pattern::Pattern;
use executor_core::job::{PagesDefinition, PagesSettings, When};
use executor_core::parse_duration;
use yaml::diagnostic::Diagnostic;
use yaml::suggest::did_you_mean;
use yaml::{Entry, Kind, Mapping};

/// The maximum length of a job's name, in characters.
const LONGEST_NAME: usize = 255;

/// The keywords of a trigger job.
const TRIGGER_KEYS: [&str; 15] = [
    "trigger",
    "parallel",
    "extends",
    "stage",
    "only",
    "except",
    "rules",
    "variables",
    "inherit",
    "allow_failure",
    "when",
    "needs",
    "resource_group",
    "environment",
    "interruptible",
];

/// The keywords that GitLab validates as part of the job.
const ATTRIBUTES: [&str; 7] = [
    "dependencies",
    "extends",
    "manual_confirmation",
    "publish",
    "resource_group",
    "start_in",
    "when",
];

/// The keywords that cannot be combined with `rules`.
const NOT_WITH_RULES: [&str; 3] = ["only", "except", "start_in"];

/// The pairs of keywords that exclude each other.
const EXCLUSIVE: [(&str, &str); 5] = [
    ("script", "run"),
    ("before_script", "run"),
    ("after_script", "run"),
    ("script", "trigger"),
    ("run", "trigger"),
];

/// Reads the job `name`, whose value is a mapping.
pub(super) fn read(
    reader: &mut Reader<'_>,
    name: &str,
    entry: &Entry,
    kind: JobKind,
    jobs: &Path<'_>,
) -> Option<Job> {
    let shown = if name.trim().is_empty() { "job" } else { name };
    let path = jobs.child(shown);
    let field = Field {
        node: &entry.value,
        path: &path,
    };
    let entries = entry.value.as_mapping()?;
    check_name(reader, name, entry, field);
    check_exclusions(reader, field, entries);
    let known = known_keys(kind, entries);
    reader.check_keys(field, entries, known);

    let mut job = Job::new(name, kind, entry.key_span);
    if entries.contains_key("rules") {
        job.rules = RulesKeyword::Null;
    }
    for (key, entry) in entries {
        let key = key.as_ref();
        if entry.value.is_null() || !known.contains(&key) {
            continue;
        }
        let path = if ATTRIBUTES.contains(&key) {
            path.attribute(key)
        } else {
            path.child(key)
        };
        let node = &entry.value;
        read_key(&mut job, reader, key, Field { node, path: &path });
    }
    check(&job, reader, field, entries);
    Some(job)
}

/// Returns the keywords a job may have.
///
/// A job with `needs` and without `trigger` most likely lacks `script`. It may have all keywords
/// here, so that only the missing script is reported.
fn known_keys(kind: JobKind, entries: &Mapping) -> &'static [&'static str] {
    if kind == JobKind::Trigger && entries.contains_key("trigger") {
        &TRIGGER_KEYS
    } else {
        &keywords::JOB
    }
}

fn read_key(job: &mut Job, reader: &mut Reader<'_>, key: &str, field: Field<'_>) {
    let is_trigger = job.kind == JobKind::Trigger;
    let span = field.node.span;
    match key {
        "stage" => {
            let stage = reader.string(field);
            job.stage = stage.map(|value| Spanned { value, span });
        }
        "script" => job.script = read_script(reader, field),
        "trigger" if is_trigger => job.trigger = trigger::read(reader, field).map(Box::new),
        // `check_exclusions` refuses it beside a script.
        "trigger" => {}
        "rules" => job.rules = read_rules(reader, field, RulePlace::Job),
        "only" => job.only = policy::read(reader, field).map(Box::new),
        "except" => job.except = policy::read(reader, field).map(Box::new),
        "inherit" => job.inherit = inherit::read(reader, field),
        "variables" => {
            let variables = variables::read(reader, field, Place::Job);
            job.variables = variables.unwrap_or_default();
        }
        "when" if is_trigger => job.when = when::read_of_trigger(reader, field),
        "when" => job.when = when::read(reader, field),
        "start_in" => job.start_in = delay::read(reader, field),
        "allow_failure" if is_trigger => {
            job.allow_failure = reader.boolean(field).map(AllowFailure::Flag);
        }
        "allow_failure" => job.allow_failure = read_allow_failure(reader, field),
        "needs" => {
            let place = if is_trigger {
                NeedPlace::Trigger
            } else {
                NeedPlace::Job
            };
            job.needs = needs::read(reader, field, place);
        }
        "dependencies" => job.dependencies = needs::read_dependencies(reader, field),
        "parallel" if is_trigger => job.parallel = parallel::read_of_trigger(reader, field),
        "parallel" => job.parallel = parallel::read(reader, field),
        "manual_confirmation" => job.manual_confirmation = reader.string(field),
        _ => read_kept(job, reader, key, field),
    }
}

/// Reads the keywords without effect on the pipeline's structure.
fn read_kept(job: &mut Job, reader: &mut Reader<'_>, key: &str, field: Field<'_>) {
    let kept = &mut job.kept;
    match key {
        "coverage" => kept.coverage = read_coverage(reader, field),
        "dast_configuration" => check_dast(reader, field),
        "environment" => kept.environment = environment::read(reader, field).map(Box::new),
        "inputs" => kept.inputs = job_inputs::read(reader, field).map(Box::new),
        "pages" => kept.pages = read_pages(reader, field).map(Box::new),
        "publish" => kept.publish = reader.string(field),
        "release" => kept.release = release::read(reader, field).map(Box::new),
        "resource_group" => kept.resource_group = reader.string(field),
        "run" => kept.run = run::read(reader, field),
        "secrets" => kept.secrets = secrets::read(reader, field).map(Box::new),
        _ => job.inheritable.read_key(reader, key, field),
    }
}

fn check_name(reader: &mut Reader<'_>, name: &str, entry: &Entry, field: Field<'_>) {
    let words = if !entry.key_is_text {
        "name should be a symbol: put quotes around it"
    } else if name.trim().is_empty() {
        "name can't be blank"
    } else if name.chars().count() > LONGEST_NAME {
        "name is too long (maximum is 255 characters)"
    } else if name.contains(['\n', '\r', '\0']) {
        "name contains a line break or NUL"
    } else {
        return;
    };
    let path = field.path.to_string();
    let shown: String = path.chars().take(60).collect();
    let message = format!("{} {words}", shown.escape_debug());
    let error = Diagnostic::error("invalid-job-name", message);
    reader.diagnostics.push(error.at(entry.key_span));
}

fn is_given(entries: &Mapping, key: &str) -> bool {
    entries.get(key).is_some_and(|entry| !entry.value.is_null())
}

/// Refuses keywords that cannot be combined.
fn check_exclusions(reader: &mut Reader<'_>, field: Field<'_>, entries: &Mapping) {
    for (one, other) in EXCLUSIVE {
        if entries.contains_key(one) && entries.contains_key(other) {
            let words = format!("these keys cannot be used together: {one}, {other}");
            let help = match other {
                "run" => "a job runs the commands of `script` or the steps of `run`; keep one",
                _ => {
                    "a job either runs commands or starts another pipeline; split it into two jobs"
                }
            };
            reader.refuse_part_with_help(field, other, words, Some(help));
        }
    }
    if is_given(entries, "rules") {
        for key in NOT_WITH_RULES
            .into_iter()
            .filter(|key| is_given(entries, key))
        {
            let words = format!("key may not be used with `rules`: {key}");
            let help = match key {
                "start_in" => "move it to the entries of `rules` that have `when: delayed`",
                _ => "express it with `rules: [{if: ...}]` instead",
            };
            reader.refuse_part_with_help(field, key, words, Some(help));
        }
    }
}

/// Checks combinations of keywords after all are read.
fn check(job: &Job, reader: &mut Reader<'_>, field: Field<'_>, entries: &Mapping) {
    for key in ["script", "run"] {
        let empty = entries.get(key).filter(|entry| entry.value.is_null());
        if empty.is_some() {
            reader.refuse_part(field, key, format_args!("{key} can't be blank"));
        }
    }
    let when_is_known = job.when.is_some() || !is_given(entries, "when");
    // `check_exclusions` refuses `start_in` beside rules.
    if job.kind != JobKind::Trigger && when_is_known && !is_given(entries, "rules") {
        delay::check(reader, field, job.when == Some(When::Delayed));
    }
    let may_publish = known_keys(job.kind, entries).contains(&"publish");
    if may_publish && is_given(entries, "publish") && !job.publishes_pages() {
        let words = "publish can only be used within a `pages` job";
        let help = Some("add `pages: true`");
        reader.refuse_part_with_help(field, "publish", words, help);
    }
    let published = job.kept.pages.as_deref().and_then(PagesDefinition::publish);
    if is_given(entries, "publish") && published.is_some() {
        let words = "please use either `publish` or `pages:publish`, not both";
        reader.refuse_part(field, "publish", words);
    }
    let triggers = is_given(entries, "trigger") || job.mirrored_pipeline().is_some();
    if job.kind == JobKind::Trigger && !triggers {
        refuse_without_work(job, reader, field);
    }
}

/// Reports a job with `needs` or an empty `trigger` that runs nothing.
fn refuse_without_work(job: &Job, reader: &mut Reader<'_>, field: Field<'_>) {
    let misspelt = field.node.as_mapping().into_iter().flatten();
    let mut misspelt = misspelt.filter(|(key, _)| !keywords::JOB.contains(&key.as_ref()));
    // The diagnostic of the unknown keyword suggests `script` already.
    if misspelt.any(|(key, _)| did_you_mean(key, ["script"]).is_some()) {
        return;
    }
    let has_needs = field
        .node
        .get("needs")
        .is_some_and(|needs| !needs.is_null());
    // The needs have errors, which may be the only mistake.
    if has_needs && job.needs.is_none() {
        return;
    }
    let message = format!(
        "{} should implement the script:, run:, or trigger: keyword",
        field.path.subject()
    );
    let help = "a job needs commands: add `script:`; a job without them has `trigger:`, or \
                `needs:pipeline` to mirror one";
    let error = Diagnostic::error("missing-script", message).at(job.span);
    reader.diagnostics.push(error.with_help(help.to_owned()));
}

/// Reads `allow_failure`.
fn read_allow_failure(reader: &mut Reader<'_>, field: Field<'_>) -> Option<AllowFailure> {
    match field.node.kind {
        Kind::Bool(flag) => Some(AllowFailure::Flag(flag)),
        Kind::Mapping(_) => {
            let mut exit_codes = None;
            reader.entries(field, &["exit_codes"], |reader, _, field| {
                exit_codes = reader.integers(field);
            });
            exit_codes.map(AllowFailure::ExitCodes)
        }
        _ => {
            let words = "should be a hash or a boolean value";
            reader.refuse_with_help(field, words, quotes_help(field.node));
            None
        }
    }
}

/// Reads `coverage`: the pattern that finds the coverage in the log, without its slashes.
fn read_coverage(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    let within = |text: &str| -> Option<String> {
        let pattern = text.strip_prefix('/')?.strip_suffix('/')?;
        (!pattern.is_empty()).then(|| pattern.to_owned())
    };
    let Some(pattern) = within(&text) else {
        let help = format!("write `/{}/`", text.trim_matches('/'));
        let words = "must be a regular expression between slashes";
        reader.refuse_with_help(field, words, Some(help));
        return None;
    };
    if let Err(error) = Pattern::new(&pattern, "") {
        let words = "must be a regular expression of RE2";
        reader.refuse_with_help(field, words, Some(error.to_string()));
        return None;
    }
    Some(pattern)
}

/// Checks `dast_configuration`: the profiles that GitLab's template for DAST reads.
fn check_dast(reader: &mut Reader<'_>, field: Field<'_>) {
    let known = ["site_profile", "scanner_profile"];
    reader.attributes(field, &known, |reader, _, field| {
        reader.string(field);
    });
}

/// Reads `pages`.
fn read_pages(reader: &mut Reader<'_>, field: Field<'_>) -> Option<PagesDefinition> {
    match field.node.kind {
        Kind::Bool(flag) => Some(PagesDefinition::Flag(flag)),
        Kind::Mapping(_) => {
            let mut settings = PagesSettings::default();
            let known = ["path_prefix", "expire_in", "publish"];
            reader.attributes(field, &known, |reader, key, field| match key {
                "path_prefix" => settings.path_prefix = reader.string(field),
                "expire_in" => settings.expire_in = read_pages_expiry(reader, field),
                _ => settings.publish = reader.string(field),
            });
            Some(PagesDefinition::Settings(settings))
        }
        _ => {
            let words = "should be a hash or a boolean value";
            reader.refuse_with_help(field, words, quotes_help(field.node));
            None
        }
    }
}

fn read_pages_expiry(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    let is_valid = text == "never" || text.starts_with('$') || parse_duration(&text).is_some();
    if !is_valid {
        let help = "write for example `1 week`, `never` or a variable".to_owned();
        reader.refuse_with_help(field, "should be a duration", Some(help));
        return None;
    }
    Some(text)
}
