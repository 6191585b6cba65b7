//! A file with every key of GitLab Runner.

use super::known::parse_with;
use runner::config::{
    CacheBucket, Fields, Known, KnownExecutor, KnownTable, ProblemKind, S3Encryption, Severity,
    Strictness,
};
use std::ops::Range;
use std::time::Duration;
use toml_edit::{Document, Item, Key, Table};

/// The file.
pub(super) const EVERY_KEY: &str = include_str!("../fixtures/every-key.toml");

const TABLES: [&str; 7] = [
    "docker",
    "kubernetes",
    "machine",
    "autoscaler",
    "custom",
    "ssh",
    "instance",
];

/// Returns executors that know the keys of the file.
pub(super) fn known() -> Known {
    let document: Document<&str> = Document::parse(EVERY_KEY).unwrap();
    let runners = document.get("runners").unwrap();
    let runner = runners.as_array_of_tables().unwrap().get(0).unwrap();
    let keys = |table: &str| -> Vec<&'static str> {
        let table = runner.get(table).unwrap().as_table().unwrap();
        let keys = table.iter();
        keys.map(|(key, _)| &*key.to_owned().leak()).collect()
    };
    let service = [
        "name",
        "alias",
        "command",
        "entrypoint",
        "environment",
        "suspend_data_path",
    ];
    Known {
        executors: vec![
            KnownExecutor {
                name: "everything",
                tables: &TABLES,
            },
            KnownExecutor {
                name: "shell",
                tables: &[],
            },
        ],
        tables: TABLES
            .into_iter()
            .map(|name| {
                let fields = Fields::from_names(&keys(name));
                let fields = match name {
                    "docker" => fields.with_nested("services", Fields::from_names(&service)),
                    _ => fields,
                };
                KnownTable::new(name, fields)
            })
            .collect(),
        strictness: Strictness::Strict,
    }
}

#[test]
fn every_key_is_known() {
    let file = parse_with(EVERY_KEY, &known());
    let unknown = file.problems.iter();
    let unknown: Vec<String> = unknown
        .filter(|problem| problem.kind != ProblemKind::NoEffect)
        .map(ToString::to_string)
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(file.problems.iter().all(|it| it.severity == Severity::Info));
    let settings = file.settings;
    assert_eq!(settings.concurrent, 4);
    assert_eq!(settings.check_interval, Duration::from_secs(5));
    assert_eq!(settings.shutdown_timeout, Duration::from_mins(1));
    assert!(settings.remove_machines_on_shutdown);
    assert_eq!(settings.labels["region"], "eu");
    let session_server = settings.session_server.unwrap();
    assert_eq!(session_server.listen_address.to_string(), "[::]:8093");
    let advertised = session_server.advertise_address.unwrap();
    assert_eq!(advertised.as_str(), "https://runner.example:8093/");
    assert_eq!(session_server.session_timeout, Duration::from_mins(30));
    let [every, few] = settings.runners.try_into().unwrap();
    assert_eq!(every.config.name, "every key");
    assert_eq!(every.url.as_str(), "https://gitlab.example/prefix");
    assert_eq!(every.id, 4711);
    assert_eq!(
        every.token_obtained_at.unwrap().to_string(),
        "2026-01-31T08:00:00Z"
    );
    assert_eq!(every.token_expires_at, None);
    assert_eq!(every.config.limit, 3);
    assert_eq!(every.request_concurrency, 2);
    assert_eq!(every.unhealthy_interval, Duration::from_mins(30));
    assert_eq!(every.config.output_limit, 8192 * 1024);
    assert_eq!(every.config.prepare_timeout, Some(Duration::from_mins(10)));
    assert_eq!(
        every.config.get_sources_timeout,
        Some(Duration::from_mins(90))
    );
    assert_eq!(every.config.environment[0].value, "b=c");
    assert_eq!(every.config.environment[1].value, "");
    assert_eq!(
        every.config.pre_build_script,
        "# not a comment\n[[runners]]\n"
    );
    assert!(every.config.debug_trace_disabled);
    assert_eq!(every.labels["rack"], "7");
    assert!(!every.feature_flags["FF_TIMESTAMPS"]);
    assert_eq!(every.artifact.upload_timeout, Duration::from_hours(2));
    let cache = every.cache.as_ref().unwrap();
    assert_eq!((&*cache.path, cache.shared), ("prefix", true));
    assert_eq!(cache.largest_archive, Some(1_000_000));
    let CacheBucket::S3(bucket) = &cache.bucket else {
        panic!("{:?}", cache.bucket);
    };
    assert_eq!(
        (&*bucket.name, &*bucket.region, bucket.path_style),
        ("cache", "eu-west-1", true)
    );
    assert_eq!(bucket.server.as_deref(), Some("s3.example"));
    let key = Some("alias/key".to_owned());
    assert_eq!(bucket.encryption, Some(S3Encryption::Kms(key)));
    assert_eq!(few.cache, None);
    for table in TABLES {
        assert!(every.tables.get(table).is_some(), "{table}");
    }
    assert_eq!(few.request_concurrency, 1);
    assert_eq!(few.config.output_limit, 4096 * 1024);
}

#[test]
fn secrets_of_every_key_are_not_shown() {
    let file = parse_with(EVERY_KEY, &known());
    let shown = format!("{:?}{}", file.problems, file.explain());
    let settings = format!("{:?}", file.settings);
    for secret in [
        "everykeytoken",
        "fewkeystoken",
        "secretsecret",
        "sessionsession",
        "accountaccount",
        "BEGIN PRIVATE",
        "bearerbearer",
        "connectorpassword",
        "sshpassword",
        "servicesecret",
        "key@sentry",
    ] {
        assert!(EVERY_KEY.contains(secret), "{secret}");
        assert!(!shown.contains(secret), "{secret} in {shown}");
        assert!(!settings.contains(secret), "{secret} in {settings}");
    }
}

/// Returns the key with one letter doubled, one left out, or two letters swapped.
fn misspelled(key: &str, way: usize) -> String {
    let mut letters: Vec<char> = key.chars().collect();
    let at = letters.len() / 2;
    match way % 3 {
        0 => letters.insert(at, letters[at]),
        1 => drop(letters.remove(at)),
        _ => letters.swap(at - 1, at),
    }
    letters.into_iter().collect()
}

/// The places of keys whose tables have a fixed set of keys.
#[derive(Default)]
struct KeyPlaces {
    values: Vec<Range<usize>>,
    tables: Vec<Range<usize>>,
}

impl KeyPlaces {
    fn collect(&mut self, table: &Table, path: &str) {
        const ANY_KEYS: [&str; 7] = [
            ".labels",
            ".runners.labels",
            ".runners.feature_flags",
            ".runners.parallels",
            ".runners.virtualbox",
            ".experimental.usage_logger.logrotate.labels",
            ".experimental.usage_logger.snowplow_billing.metadata",
        ];
        let is_nested = path.matches('.').count() > 2 && TABLES.iter().any(|it| path.contains(it));
        if ANY_KEYS.contains(&path) || is_nested && !path.ends_with(".services") {
            return;
        }
        for (key, item) in table {
            let path = format!("{path}.{key}");
            let place = table.key(key).and_then(Key::span);
            match item {
                Item::Table(table) => {
                    self.tables.extend(place);
                    self.collect(table, &path);
                }
                // The first one has all keys.
                Item::ArrayOfTables(tables) => self.collect(tables.get(0).unwrap(), &path),
                _ => self.values.extend(place),
            }
        }
    }
}

/// Misspells the keys at these places, and checks all suggestions.
fn check_suggestions(places: &[Range<usize>], way: usize) {
    let mut text = EVERY_KEY.to_owned();
    let mut expect = Vec::new();
    for place in places.iter().rev() {
        let key = &EVERY_KEY[place.clone()];
        let word = misspelled(key, way);
        if word != key {
            text.replace_range(place.clone(), &word);
            expect.push(format!("unknown key `{word}`; did you mean `{key}`?"));
        }
    }
    let file = parse_with(&text, &known());
    let found = file.problems.iter();
    let found = found.filter(|it| it.kind == ProblemKind::Unknown);
    let mut found: Vec<String> = found
        .map(|it| format!("{}; {}", it.message, it.hint.as_deref().unwrap_or_default()))
        .collect();
    found.sort();
    expect.sort();
    assert_eq!(found, expect);
}

#[test]
fn every_misspelled_key_has_the_right_suggestion() {
    let document: Document<&str> = Document::parse(EVERY_KEY).unwrap();
    let mut places = KeyPlaces::default();
    places.collect(document.as_table(), "");
    let KeyPlaces { mut values, tables } = places;
    values.sort_by_key(|place| place.start);
    assert!(values.len() > 250, "{}", values.len());
    for way in 0..3 {
        check_suggestions(&values, way);
    }
    // Nothing is known below a table with a wrong name, so these are one at a time.
    assert!(tables.len() > 20, "{}", tables.len());
    for (way, table) in tables.iter().enumerate() {
        check_suggestions(std::slice::from_ref(table), way);
    }
}
