//! `release`: what a job publishes after its script succeeded.

use super::reader::{Field, Reader};
use executor_core::job::{OneOrMany, ReleaseAssets, ReleaseDefinition};
use yaml::diagnostic::Diagnostic;
use yaml::suggest::did_you_mean;

const KEYS: [&str; 8] = [
    "tag_name",
    "tag_message",
    "name",
    "description",
    "ref",
    "milestones",
    "released_at",
    "assets",
];

const LINK_KEYS: [&str; 4] = ["name", "url", "filepath", "link_type"];
const LINK_TYPES: [&str; 4] = ["other", "runbook", "package", "image"];

/// Reads `release`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<ReleaseDefinition> {
    reader.mapping(field)?;
    let mut release = ReleaseDefinition::default();
    reader.require(field, &["tag_name", "description"]);
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "tag_name" => release.tag_name = reader.text(field).unwrap_or_default(),
        "description" => release.description = reader.text(field).unwrap_or_default(),
        "tag_message" => release.tag_message = reader.string(field),
        "name" => release.name = reader.string(field),
        "ref" => release.ref_name = read_ref(reader, field),
        "milestones" => release.milestones = read_one_or_many(reader, field),
        "released_at" => release.released_at = read_time(reader, field),
        _ => {}
    });
    reader.entry(field, "assets", |reader, field| {
        release.assets = read_assets(reader, field);
    });
    Some(release)
}

/// Reads a string or a list of strings, keeping the distinction.
pub(super) fn read_one_or_many(reader: &mut Reader<'_>, field: Field<'_>) -> Option<OneOrMany> {
    if let Some(text) = field.node.as_str() {
        return Some(OneOrMany::One(text.to_owned()));
    }
    let words = "should be an array of strings or a string";
    reader.strings_or(field, words).map(OneOrMany::Many)
}

fn read_ref(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let name = reader.string(field)?;
    if !is_ref(&name) {
        let help = "name a branch, a tag or a commit, or a variable with one".to_owned();
        reader.refuse_with_help(field, "must be a valid ref", Some(help));
        return None;
    }
    Some(name)
}

/// Returns whether git accepts `name` as a branch or a tag.
fn is_ref(name: &str) -> bool {
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part = |part: &str| {
        let ends = part.starts_with('.') || part.ends_with('.');
        !part.is_empty() && !ends && part.strip_suffix(".lock").is_none()
    };
    let pairs = name.contains("..") || name.contains("@{") || name == "@";
    !name.starts_with('-') && !name.contains(odd) && !pairs && name.split('/').all(part)
}

fn read_time(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    let is_instant = text.parse::<jiff::Timestamp>().is_ok();
    let is_time = text.parse::<jiff::civil::DateTime>().is_ok();
    if !is_instant && !is_time {
        let help = "write it in ISO 8601: `2030-01-31T08:00:00Z`".to_owned();
        reader.refuse_with_help(field, "must be a valid datetime", Some(help));
        return None;
    }
    Some(text)
}

fn read_assets(reader: &mut Reader<'_>, field: Field<'_>) -> Option<ReleaseAssets> {
    reader.mapping(field)?;
    reader.require(field, &["links"]);
    let mut assets = ReleaseAssets::default();
    reader.attributes(field, &["links"], |reader, _, field| {
        let items = field.node.as_sequence().unwrap_or_default();
        let are_mappings = items.iter().all(|item| item.as_mapping().is_some());
        if items.is_empty() || !are_mappings {
            reader.refuse(field, "should be an array of hashes");
            return;
        }
        for node in items {
            check_link(reader, Field { node, ..field });
        }
        assets.links = items.iter().map(|item| item.to_json()).collect();
    });
    Some(assets)
}

/// Checks the type of a link, and warns of what GitLab accepts here and refuses when it creates the
/// release.
fn check_link(reader: &mut Reader<'_>, field: Field<'_>) {
    let mut problems = Vec::new();
    for key in ["name", "url"] {
        let text = field.node.get(key).and_then(|value| value.as_str());
        if text.is_none_or(|text| text.trim().is_empty()) {
            problems.push((field.node.span, format!("has no `{key}`"), None));
        }
    }
    for (key, entry) in field.node.as_mapping().into_iter().flatten() {
        if !LINK_KEYS.contains(&key.as_ref()) {
            let words = format!("has the unknown key `{key}`");
            problems.push((entry.key_span, words, did_you_mean(key, LINK_KEYS)));
        }
    }
    reader.entry(field, "link_type", |reader, field| {
        reader.one_of(field, &LINK_TYPES.map(|word| (word, ())));
    });
    for (span, words, help) in problems {
        let message = format!(
            "{}: the link {words}, so the release cannot be created",
            field.path
        );
        let warning = Diagnostic::warning("doubtful-release", message).at(span);
        reader.diagnostics.push(warning.with_help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::is_ref;

    #[test]
    fn refs_follow_the_rules_of_git() {
        for name in [
            "main",
            "$CI_COMMIT_SHA",
            "${REF}",
            "feature/a-1",
            "v1.0",
            "0a1b2c",
        ] {
            assert!(is_ref(name), "{name}");
        }
        for name in [
            "", "a b", "a..b", "-a", "a/", "/a", "a//b", "a.lock", ".a", "a^", "@{1}",
        ] {
            assert!(!is_ref(name), "{name}");
        }
    }
}
