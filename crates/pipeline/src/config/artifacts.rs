use super::duration::parse_duration;
use super::reader::{Field, Reader};
use super::when::read_upload;
use executor_core::job::{ArtifactsDefinition, Reports};

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

const REPORTS: [&str; 26] = [
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

/// How long `expose_as` may be.
const LONGEST_LABEL: usize = 100;

/// Reads `artifacts`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> ArtifactsDefinition {
    let mut artifacts = ArtifactsDefinition::default();
    reader.entries(field, &KEYS, |reader, key, field| match key {
        "name" => artifacts.name = reader.string(field),
        "paths" => artifacts.paths = reader.strings(field),
        "exclude" => artifacts.exclude = reader.strings(field),
        "untracked" => artifacts.untracked = reader.boolean(field),
        "when" => artifacts.when = read_upload(reader, field),
        "expire_in" => artifacts.expire_in = read_expiry(reader, field),
        "expose_as" => artifacts.expose_as = read_label(reader, field),
        "reports" => artifacts.reports = Some(read_reports(reader, field)),
        "public" => artifacts.public = reader.boolean(field),
        _ => artifacts.access = reader.one_of(field, &ACCESS).map(ToOwned::to_owned),
    });
    check(reader, field, &artifacts);
    artifacts
}

fn check(reader: &mut Reader<'_>, field: Field<'_>, artifacts: &ArtifactsDefinition) {
    if artifacts.public.is_some() && artifacts.access.is_some() {
        reader.refuse(field, "may have `public` or `access`, not both");
    }
    if artifacts.expose_as.is_some() {
        match &artifacts.paths {
            None => reader.refuse(field, "with `expose_as` needs `paths`"),
            Some(paths) if paths.iter().any(|path| path.contains('*')) => {
                reader.refuse(field, "with `expose_as` may have no `*` in its `paths`");
            }
            Some(_) => {}
        }
    }
}

fn read_expiry(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    if text != "never" && parse_duration(&text).is_none() {
        reader.refuse(field, "should be a duration");
        return None;
    }
    Some(text)
}

fn read_label(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let label = reader.string(field)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = label.len() <= LONGEST_LABEL
        && label.starts_with(is_word)
        && label.chars().all(|c| is_word(c) || c == ' ' || c == '-');
    if !fits {
        let words = "should be at most 100 letters, digits, `_`, `-` or spaces";
        reader.refuse(field, words);
        return None;
    }
    Some(label)
}

fn read_reports(reader: &mut Reader<'_>, field: Field<'_>) -> Reports {
    let mut reports = Reports::new();
    reader.entries(field, &REPORTS, |reader, key, field| {
        let report = if key == "coverage_report" {
            check_coverage_report(reader, field);
            Some(field.node.to_json())
        } else {
            reader.string_or_strings(field).map(Into::into)
        };
        reports.extend(report.map(|report| (key.to_owned(), report)));
    });
    reports
}

fn check_coverage_report(reader: &mut Reader<'_>, field: Field<'_>) {
    let formats = [("cobertura", ()), ("jacoco", ())];
    let (mut format, mut path) = (None, None);
    let known = ["coverage_format", "path"];
    reader.entries(field, &known, |reader, key, field| match key {
        "path" => path = reader.string(field),
        _ => format = Some(reader.one_of(field, &formats)),
    });
    if format.is_none() || path.is_none() {
        reader.refuse(field, "needs `coverage_format` and `path`");
    }
}
