//! Reads one `[[runners]]`.

use super::collector::{Collector, Finding};
use super::fingerprint::fingerprint;
use super::keys::refused_executor;
use super::read_cache::read_cache;
use super::read_global::one_of;
use super::source::Span;
use super::table_check::check_tables;
use super::value::{
    boolean, duration, flags, key_span, positive, text, text_map, texts, time, value_span,
};
use super::{ArtifactSettings, ExecutorTables, Known, ProblemKind, RunnerSettings, Severity};
use executor_core::{JobVariable, RunnerConfig, ShellDialect};
use std::path::PathBuf;
use std::time::Duration;
use toml_edit::{Item, TableLike};
use web::Url;
use yaml::suggest::did_you_mean;

/// Tokens that only register a runner.
const REGISTRATION_TOKENS: [&str; 2] = ["glrtr-", "GR1348941"];

/// Returns the settings of a runner; `None` if something required is missing or wrong.
pub(super) fn read_runner(
    table: &dyn TableLike,
    header: Option<Span>,
    known: &Known,
    problems: &mut Collector<'_>,
) -> Option<RunnerSettings> {
    let url = url(table, header.clone(), problems);
    let token = token(table, header.clone(), problems);
    let executor = executor(table, header.clone(), known, problems);
    let tables = executor_tables(table, executor.as_deref(), known, problems);
    note_unusual_numbers(table, problems);

    let config = RunnerConfig::new("", executor.clone().unwrap_or_default());
    let mut config = RunnerConfig {
        token: token.clone().unwrap_or_default().into(),
        shell: shell(table, problems),
        builds_dir: text(table, "builds_dir"),
        cache_dir: text(table, "cache_dir"),
        environment: environment(table, problems),
        limit: positive(table, "limit").unwrap_or(0),
        output_limit: positive(table, "output_limit")
            .map_or(RunnerConfig::DEFAULT_OUTPUT_LIMIT, |kib| {
                u64::from(kib) * 1024
            }),
        prepare_timeout: duration(table, "prepare_timeout"),
        get_sources_timeout: duration(table, "get_sources_timeout"),
        pre_get_sources_script: text(table, "pre_get_sources_script").unwrap_or_default(),
        post_get_sources_script: text(table, "post_get_sources_script").unwrap_or_default(),
        pre_build_script: text(table, "pre_build_script").unwrap_or_default(),
        post_build_script: text(table, "post_build_script").unwrap_or_default(),
        debug_trace_disabled: boolean(table, "debug_trace_disabled"),
        ..config
    };
    config.name = name(table, header, &config, problems);

    token?;
    executor?;
    Some(RunnerSettings {
        config,
        id: id(table, problems),
        url: url?,
        token_obtained_at: time(table, "token_obtained_at"),
        token_expires_at: time(table, "token_expires_at"),
        tls_ca_file: text(table, "tls-ca-file").map(PathBuf::from),
        tls_cert_file: text(table, "tls-cert-file").map(PathBuf::from),
        tls_key_file: text(table, "tls-key-file").map(PathBuf::from),
        request_concurrency: positive(table, "request_concurrency")
            .map_or(1, |number| usize::try_from(number).unwrap_or(usize::MAX)),
        unhealthy_requests_limit: positive(table, "unhealthy_requests_limit").unwrap_or(3),
        unhealthy_interval: duration(table, "unhealthy_interval")
            .unwrap_or(Duration::from_hours(1)),
        clone_url: text(table, "clone_url"),
        labels: text_map(table, "labels"),
        feature_flags: flags(table, "feature_flags"),
        artifact: artifact(table),
        cache: read_cache(table, problems),
        tables,
        fingerprint: fingerprint(table),
    })
}

/// Reports a key that is missing or has no text. A value of another type is reported already.
fn missing(
    table: &dyn TableLike,
    key: &str,
    header: Option<Span>,
    hint: &str,
    problems: &mut Collector<'_>,
) {
    let is_reported = table.get(key).is_some_and(|item| !item.is_str());
    if !is_reported {
        let finding = Finding::invalid(format!("`{key}` is missing")).with_hint(hint);
        problems.add(value_span(table, key).or(header), finding);
    }
}

/// Returns the name; without one, the public part of the token.
fn name(
    table: &dyn TableLike,
    header: Option<Span>,
    config: &RunnerConfig,
    problems: &mut Collector<'_>,
) -> String {
    if let Some(name) = text(table, "name") {
        return name;
    }
    let short = config.short_token().to_owned();
    if table.get("name").is_none_or(Item::is_str) {
        let finding = Finding::invalid("`name` is missing")
            .with_severity(Severity::Warning)
            .with_hint("the first characters of the token are used, in logs and metrics");
        problems.add(value_span(table, "name").or(header), finding);
    }
    short
}

fn url(table: &dyn TableLike, header: Option<Span>, problems: &mut Collector<'_>) -> Option<Url> {
    const EXAMPLE: &str = "write the address of GitLab, such as url = \"https://gitlab.com\"";
    let Some(text) = text(table, "url") else {
        missing(table, "url", header, EXAMPLE, problems);
        return None;
    };
    match parse_url(&text) {
        Ok(url) => Some(url),
        // Not the address itself, which may have a password.
        Err(reason) => {
            let finding = Finding::invalid(format!("`url` {reason}")).with_hint(EXAMPLE);
            problems.add(value_span(table, "url"), finding);
            None
        }
    }
}

/// Returns the address of a GitLab, as `url` of `config.toml` has it: without a trailing `/` or `/ci`.
///
/// # Errors
///
/// When it is not one; the text follows the name of the setting.
pub fn parse_url(text: &str) -> Result<Url, &'static str> {
    let mut url = Url::parse(text.trim()).map_err(|_| "is not an address")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not have a user or a password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not have a `?` or a `#`");
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/ci").unwrap_or(path);
    let path = path.trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

fn token(
    table: &dyn TableLike,
    header: Option<Span>,
    problems: &mut Collector<'_>,
) -> Option<String> {
    let Some(token) = text(table, "token") else {
        let hint = "`runwright runner register` adds a runner with its token";
        missing(table, "token", header, hint, problems);
        return None;
    };
    if REGISTRATION_TOKENS
        .iter()
        .any(|prefix| token.starts_with(prefix))
    {
        let finding = Finding::invalid("`token` is a registration token, not that of a runner")
            .with_hint("`runwright runner register` exchanges it");
        problems.add(value_span(table, "token"), finding);
        return None;
    }
    if token
        .chars()
        .any(|it| it.is_whitespace() || it.is_control())
    {
        let finding = Finding::invalid("`token` has white space in it");
        problems.add(value_span(table, "token"), finding);
        return None;
    }
    Some(token)
}

fn executor(
    table: &dyn TableLike,
    header: Option<Span>,
    known: &Known,
    problems: &mut Collector<'_>,
) -> Option<String> {
    let names: Vec<&str> = known.executors.iter().map(|it| it.name).collect();
    let all = names.join(", ");
    let Some(executor) = text(table, "executor") else {
        let hint = format!("write one of {all}");
        missing(table, "executor", header, &hint, problems);
        return None;
    };
    if names.contains(&&*executor) {
        return Some(executor);
    }
    let finding = if let Some(reason) = refused_executor(&executor) {
        Finding::refused(&executor, reason)
    } else {
        let text = format!("unknown executor {executor:?}, expected one of {all}");
        let finding = Finding {
            kind: ProblemKind::Unknown,
            ..Finding::invalid(text)
        };
        match did_you_mean(&executor, names) {
            Some(hint) => finding.with_hint(hint),
            None => finding,
        }
    };
    problems.add(value_span(table, "executor"), finding);
    None
}

fn executor_tables(
    table: &dyn TableLike,
    executor: Option<&str>,
    known: &Known,
    problems: &mut Collector<'_>,
) -> ExecutorTables {
    let found = known.executors.iter().find(|it| Some(it.name) == executor);
    let used = found.map(|executor| executor.tables);
    let written = text(table, "executor").unwrap_or_default();
    ExecutorTables(check_tables(table, &written, used, known, problems))
}

fn shell(table: &dyn TableLike, problems: &mut Collector<'_>) -> Option<ShellDialect> {
    let names = ShellDialect::ALL.map(ShellDialect::as_str);
    one_of(table, "shell", &names, problems)?.parse().ok()
}

fn environment(table: &dyn TableLike, problems: &mut Collector<'_>) -> Vec<JobVariable> {
    let mut variables = Vec::new();
    for (index, (entry, span)) in texts(table, "environment").into_iter().enumerate() {
        match entry.split_once('=') {
            Some((name, value)) if is_variable_name(name) => {
                variables.push(JobVariable::public(name, value));
            }
            // Not the entry itself, which may be a secret.
            _ => {
                let number = index + 1;
                let text = format!("entry {number} of `environment` must be NAME=value");
                problems.add(span, Finding::invalid(text));
            }
        }
    }
    variables
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|it: char| it.is_whitespace() || it.is_control())
}

fn id(table: &dyn TableLike, problems: &mut Collector<'_>) -> u64 {
    let number = table.get("id").and_then(Item::as_integer).unwrap_or(0);
    u64::try_from(number).unwrap_or_else(|_| {
        let finding = Finding::invalid(format!("`id` must not be negative, found {number}"));
        problems.add(value_span(table, "id"), finding);
        0
    })
}

fn artifact(table: &dyn TableLike) -> ArtifactSettings {
    let defaults = ArtifactSettings::default();
    let Some(artifact) = table.get("artifact").and_then(Item::as_table_like) else {
        return defaults;
    };
    ArtifactSettings {
        upload_timeout: duration(artifact, "upload_timeout").unwrap_or(defaults.upload_timeout),
    }
}

/// Numbers that GitLab Runner takes for a default, which is worth a note.
fn note_unusual_numbers(table: &dyn TableLike, problems: &mut Collector<'_>) {
    let notes: [(&str, i64, &str); 5] = [
        ("limit", -1, "no limit"),
        ("request_concurrency", 0, "1, the default"),
        ("unhealthy_requests_limit", 0, "3, the default"),
        ("output_limit", 0, "4096 KiB, the default"),
        ("prepare_timeout", 0, "the timeout of the job"),
    ];
    for (key, most, meaning) in notes {
        let number = table.get(key).and_then(Item::as_integer);
        let Some(number) = number.filter(|number| *number <= most) else {
            continue;
        };
        let finding = Finding::invalid(format!("`{key} = {number}` means {meaning}"));
        problems.add(key_span(table, key), finding.with_severity(Severity::Info));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_their_path() {
        let check = |text: &str, expect: Result<&str, &str>| {
            let url = parse_url(text);
            assert_eq!(
                url.as_ref().map(Url::as_str).map_err(|it| *it),
                expect,
                "{text}"
            );
        };
        check("https://gitlab.com", Ok("https://gitlab.com/"));
        check(
            "https://example.org/gitlab/",
            Ok("https://example.org/gitlab"),
        );
        check(
            "https://example.org/gitlab/ci/",
            Ok("https://example.org/gitlab"),
        );
        check("http://example.org/ci", Ok("http://example.org/"));
        check("http://example.org:8080/", Ok("http://example.org:8080/"));
        check("gitlab.com", Err("is not an address"));
        check(
            "ssh://gitlab.com",
            Err("must begin with http:// or https://"),
        );
        check(
            "https://a:b@gitlab.com",
            Err("must not have a user or a password"),
        );
        check("https://gitlab.com/?a", Err("must not have a `?` or a `#`"));
    }
}
