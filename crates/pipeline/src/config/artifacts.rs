use super::reader::{Field, Reader};
use super::when::read_upload;
use executor_core::job::{ArtifactsDefinition, Reports};
use executor_core::parse_duration;

const KEYS: [&str; 10] = [
    "name",
    "paths",
    "exclude",
    "untracked",
    "when",
    "expire_in",
    "expose_as",
    "reports",
    "public",
    "access",
];

/// The keys of `artifacts:reports`.
pub const REPORTS: [&str; 26] = [
    "junit",
    "codequality",
    "sast",
    "secret_detection",
    "dependency_scanning",
    "container_scanning",
    "dast",
    "performance",
    "browser_performance",
    "load_performance",
    "license_scanning",
    "metrics",
    "lsif",
    "dotenv",
    "terraform",
    "accessibility",
    "coverage_fuzzing",
    "api_fuzzing",
    "cluster_image_scanning",
    "requirements",
    "requirements_v2",
    "coverage_report",
    "cyclonedx",
    "annotations",
    "repository_xray",
    "sarif",
];

const ACCESS: [(&str, &str); 4] = [
    ("none", "none"),
    ("developer", "developer"),
    ("maintainer", "maintainer"),
    ("all", "all"),
];

/// The maximum length of `expose_as`.
const LONGEST_LABEL: usize = 100;

/// Reads `artifacts`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<ArtifactsDefinition> {
    reader.mapping(field)?;
    let mut artifacts = ArtifactsDefinition::default();
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "name" => artifacts.name = reader.string(field),
        "paths" => artifacts.paths = reader.strings(field),
        "exclude" => artifacts.exclude = reader.strings(field),
        "untracked" => artifacts.untracked = reader.boolean(field),
        "when" => artifacts.when = read_upload(reader, field),
        "expire_in" => artifacts.expire_in = read_expiry(reader, field),
        "expose_as" => artifacts.expose_as = read_label(reader, field),
        "public" => artifacts.public = reader.boolean(field),
        "access" => artifacts.access = reader.one_of(field, &ACCESS).map(ToOwned::to_owned),
        _ => {}
    });
    reader.entry(field, "reports", |reader, field| {
        artifacts.reports = Some(read_reports(reader, field));
    });
    check(reader, field, &artifacts);
    Some(artifacts)
}

fn check(reader: &mut Reader<'_>, field: Field<'_>, artifacts: &ArtifactsDefinition) {
    reader.exclude(field, &["public", "access"]);
    if artifacts.expose_as.is_some() {
        let paths = artifacts.paths.as_deref().unwrap_or_default();
        if paths.is_empty() {
            let help = "add `paths:`".to_owned();
            reader.refuse_with_help(field, "with `expose_as` needs `paths`", Some(help));
        } else if paths.iter().any(|path| path.contains('*')) {
            let words = "with `expose_as` may have no `*` in its `paths`";
            let help = "name the files, or the folder that holds them".to_owned();
            reader.refuse_with_help(field, words, Some(help));
        }
    }
}

fn read_expiry(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    if text != "never" && parse_duration(&text).is_none() {
        let help = "write for example `1 week` or `never`".to_owned();
        reader.refuse_with_help(field, "should be a duration", Some(help));
        return None;
    }
    Some(text)
}

fn read_label(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let label = reader.string(field)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_valid = label.chars().count() <= LONGEST_LABEL
        && label.starts_with(is_word)
        && label.chars().all(|c| is_word(c) || c == ' ' || c == '-');
    if !is_valid {
        let words = "should be at most 100 letters, digits, `_`, `-` or spaces";
        reader.refuse(field, words);
        return None;
    }
    Some(label)
}

fn read_reports(reader: &mut Reader<'_>, field: Field<'_>) -> Reports {
    let mut reports = Reports::new();
    reader.attributes(field, &REPORTS, |reader, key, field| {
        let report = match key {
            // Its keys are checked below; its position among the others is kept here.
            "coverage_report" => Some(field.node.to_json()),
            _ => reader.string_or_strings(field).map(Into::into),
        };
        reports.extend(report.map(|report| (key.to_owned(), report)));
    });
    reader.entry(field, "coverage_report", check_coverage_report);
    reports
}

fn check_coverage_report(reader: &mut Reader<'_>, field: Field<'_>) {
    let formats = [("cobertura", ()), ("jacoco", ())];
    let known = ["coverage_format", "path"];
    if field.node.as_mapping().is_some() {
        reader.require(field, &known);
    }
    reader.attributes(field, &known, |reader, key, field| match key {
        "path" => drop(reader.text(field)),
        _ => drop(reader.one_of(field, &formats)),
    });
}
