//! Reads the keys of the whole process.

use super::collector::{Collector, Finding};
use super::value::{boolean, duration, text, text_map, value_span};
use super::{SessionServerSettings, Settings, Severity};
use crate::debug::{ListenAddress, ListenAddressError};
use std::time::Duration;
use toml_edit::{Item, TableLike};
use web::Url;
use yaml::suggest::did_you_mean;

/// Returns the settings without runners.
pub(super) fn read_global(root: &dyn TableLike, problems: &mut Collector<'_>) -> Settings {
    let defaults = Settings::default();
    Settings {
        concurrent: concurrent(root, problems),
        check_interval: duration(root, "check_interval").unwrap_or(defaults.check_interval),
        log_level: log_level(root, problems),
        log_format: log_format(root, problems),
        listen_address: listen_address(root, problems),
        shutdown_timeout: duration(root, "shutdown_timeout").unwrap_or(defaults.shutdown_timeout),
        labels: text_map(root, "labels"),
        remove_machines_on_shutdown: table(root, "machine")
            .and_then(|machine| table(machine, "shutdown_drain"))
            .is_some_and(|drain| boolean(drain, "enabled")),
        session_server: table(root, "session_server").and_then(|it| session_server(it, problems)),
        runners: Vec::new(),
    }
}

fn table<'t>(parent: &'t dyn TableLike, key: &str) -> Option<&'t dyn TableLike> {
    parent.get(key)?.as_table_like()
}

fn concurrent(root: &dyn TableLike, problems: &mut Collector<'_>) -> usize {
    let number = root.get("concurrent").and_then(Item::as_integer);
    match number {
        None => 1,
        Some(number) if number < 1 => {
            let finding =
                Finding::invalid(format!("`concurrent` must be at least 1, found {number}"))
                    .with_hint("without a job at a time no job runs; the default is 1");
            problems.add(value_span(root, "concurrent"), finding);
            1
        }
        Some(number) => usize::try_from(number).unwrap_or(usize::MAX),
    }
}

/// Returns the level in the words of this program.
fn log_level(root: &dyn TableLike, problems: &mut Collector<'_>) -> Option<String> {
    const LEVELS: [&str; 7] = [
        "panic", "fatal", "error", "warning", "warn", "info", "debug",
    ];
    let level = one_of(root, "log_level", &LEVELS, problems)?;
    Some(match &*level {
        "panic" | "fatal" => "error".to_owned(),
        "warning" => "warn".to_owned(),
        _ => level,
    })
}

fn log_format(root: &dyn TableLike, problems: &mut Collector<'_>) -> Option<String> {
    one_of(root, "log_format", &["runner", "text", "json"], problems)
}

/// Returns a text that must be one of `values`.
pub(super) fn one_of(
    table: &dyn TableLike,
    key: &str,
    values: &[&str],
    problems: &mut Collector<'_>,
) -> Option<String> {
    let value = text(table, key)?;
    if values.contains(&&*value) {
        return Some(value);
    }
    let expected = values.join(", ");
    let finding = Finding::invalid(format!(
        "`{key}` must be one of {expected}, found {value:?}"
    ));
    let finding = match did_you_mean(&value, values.iter().copied()) {
        Some(hint) => finding.with_hint(hint),
        None => finding,
    };
    problems.add(value_span(table, key), finding);
    None
}

fn listen_address(root: &dyn TableLike, problems: &mut Collector<'_>) -> Option<ListenAddress> {
    let address = text(root, "listen_address")?.parse();
    let invalid = |error: ListenAddressError| {
        let finding = Finding::invalid(format!("`listen_address` is not an address: {error}"));
        problems.add(value_span(root, "listen_address"), finding);
    };
    address.map_err(invalid).ok()
}

fn session_server(
    table: &dyn TableLike,
    problems: &mut Collector<'_>,
) -> Option<SessionServerSettings> {
    let text_address = text(table, "listen_address")?;
    let span = value_span(table, "listen_address");
    let parsed: Option<ListenAddress> = text_address.parse().ok();
    // The default port is that of metrics.
    let parsed = parsed.filter(|it| text_address.ends_with(&format!(":{}", it.port())));
    let Some(listen_address) = parsed else {
        let text = "`listen_address` is not an address: expected HOST:PORT, such as \"[::]:8093\"";
        problems.add(
            span,
            Finding::invalid(format!("{text}, found {text_address:?}")),
        );
        return None;
    };
    let advertised = text(table, "advertise_address");
    let advertise_address = advertised.as_deref().and_then(advertise_address);
    if let (Some(text), None) = (&advertised, &advertise_address) {
        let text = format!(
            "`advertise_address` is not an address: expected HOST:PORT, such as \"runner.example:8093\", found {text:?}"
        );
        let span = value_span(table, "advertise_address");
        problems.add(span, Finding::invalid(text));
        return None;
    }
    if advertise_address.is_none() && listen_address.https_url(listen_address.port()).is_none() {
        let text = format!(
            "`advertise_address` is missing, and GitLab cannot connect to {listen_address}: there is no session server"
        );
        problems.add(
            span,
            Finding::invalid(text).with_severity(Severity::Warning),
        );
        return None;
    }
    Some(SessionServerSettings {
        advertise_address,
        listen_address,
        session_timeout: duration(table, "session_timeout").unwrap_or(Duration::from_mins(30)),
    })
}

/// Returns the address of a host and its port, which may be written with `https`.
fn advertise_address(text: &str) -> Option<Url> {
    let host = text.strip_prefix("https://").unwrap_or(text);
    let url = Url::parse(&format!("https://{host}")).ok()?;
    let is_host = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    (is_host && url.username().is_empty() && url.password().is_none()).then_some(url)
}
