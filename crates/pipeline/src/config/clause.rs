//! The conditions on files: `changes` and `exists`.

use super::Spanned;
use super::reader::{Field, Reader};
use super::rule_list::RulePlace;
use crate::pattern::Pattern;
use crate::rules::{Changes, Exists};
use std::sync::Arc;
use yaml::Kind;
use yaml::diagnostic::Diagnostic;

/// The maximum number of globs of a condition.
const MOST_GLOBS: usize = 50;
/// The maximum length of a regular expression for paths, in characters.
const LONGEST_REGEXP: usize = 255;

/// Reads `changes`: globs, or a mapping that may also name the reference to compare with.
pub(super) fn read_changes(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Changes> {
    let mut changes = Changes {
        span: field.node.span,
        paths: Vec::new(),
        compare_to: None,
        regexp: None,
    };
    match &field.node.kind {
        Kind::Sequence(_) => changes.paths = read_globs(reader, field, Some(MOST_GLOBS))?,
        Kind::Mapping(_) => {
            check_parts(reader, field);
            let known = ["paths", "compare_to", "regexp"];
            reader.attributes(field, &known, |reader, key, field| match key {
                "paths" => {
                    let globs = read_globs(reader, field, Some(MOST_GLOBS));
                    changes.paths = globs.unwrap_or_default();
                }
                "compare_to" => {
                    let span = field.node.span;
                    let reference = reader.string(field);
                    changes.compare_to = reference.map(|value| Spanned { value, span });
                }
                _ => changes.regexp = read_regexp(reader, field),
            });
        }
        _ => {
            reader.refuse(field, "should be an array of strings or a hash");
            return None;
        }
    }
    Some(changes)
}

/// Reads `exists`: globs, or a mapping that may also name a project.
pub(super) fn read_exists(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    place: RulePlace,
) -> Option<Exists> {
    let limit = (place != RulePlace::Include).then_some(MOST_GLOBS);
    let mut exists = Exists {
        span: field.node.span,
        paths: Vec::new(),
        project: None,
        reference: None,
        regexp: None,
    };
    match &field.node.kind {
        Kind::String(glob) => exists.paths = vec![glob.to_string()],
        Kind::Sequence(_) => exists.paths = read_globs(reader, field, limit)?,
        Kind::Mapping(_) => {
            check_parts(reader, field);
            let known = ["paths", "project", "ref", "regexp"];
            reader.attributes(field, &known, |reader, key, field| match key {
                "paths" => {
                    let globs = read_globs(reader, field, Some(MOST_GLOBS));
                    exists.paths = globs.unwrap_or_default();
                }
                "project" => exists.project = reader.string(field),
                "ref" => exists.reference = reader.string(field),
                _ => exists.regexp = read_regexp(reader, field),
            });
            if has(field, "ref") && !has(field, "project") {
                reader.refuse_part(field, "ref", "with `ref` needs `project`");
            }
        }
        _ => {
            reader.refuse(field, "should be a string, an array of strings or a hash");
            return None;
        }
    }
    Some(exists)
}

fn has(field: Field<'_>, key: &str) -> bool {
    field.node.get(key).is_some_and(|node| !node.is_null())
}

/// Checks that there are either globs or a regular expression.
fn check_parts(reader: &mut Reader<'_>, field: Field<'_>) {
    match (has(field, "paths"), has(field, "regexp")) {
        (false, false) => {
            reader.require(field, &["paths"]);
        }
        (true, true) => {
            let words = "may have `paths` or `regexp`, not both";
            reader.refuse_part(field, "regexp", words);
        }
        _ => {}
    }
}

fn read_globs(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    limit: Option<usize>,
) -> Option<Vec<String>> {
    let globs = reader.strings(field)?;
    if let Some(limit) = limit.filter(|&limit| globs.len() > limit) {
        let words = format!("has too many entries ({}; maximum {limit})", globs.len());
        reader.refuse(field, words);
        return None;
    }
    Some(globs)
}

fn read_regexp(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Arc<Pattern>> {
    let text = reader.string(field)?;
    if text.chars().count() > LONGEST_REGEXP {
        let words = format!("is too long (the maximum is {LONGEST_REGEXP} characters)");
        reader.refuse(field, words);
        return None;
    }
    match Pattern::new(&text, "") {
        Ok(pattern) => Some(Arc::new(pattern)),
        Err(error) => {
            let message = format!(
                "{} is not a regular expression: {error}",
                field.path.subject()
            );
            let diagnostic = Diagnostic::error("invalid-pattern", message).at(field.node.span);
            let help = error.help.map(str::to_owned);
            reader.diagnostics.push(diagnostic.with_help(help));
            None
        }
    }
}
