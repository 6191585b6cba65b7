//! The files of a child pipeline: `trigger:include`.

use super::Spanned;
use super::reader::{Field, Reader};

/// The maximum number of files of a child pipeline.
const MOST_FILES: usize = 3;

/// The keys that locate a file.
const SOURCES: [&str; 6] = [
    "local",
    "project",
    "template",
    "remote",
    "component",
    "artifact",
];
const KEYS: [&str; 10] = [
    "local",
    "project",
    "template",
    "remote",
    "component",
    "artifact",
    "file",
    "ref",
    "job",
    "inputs",
];

/// Reads `include` of a trigger and returns the jobs whose artifacts contain one of the files.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<Spanned<String>>> {
    let items = match field.node.as_sequence() {
        Some(_) => reader.flattened(field)?,
        None => vec![field.node],
    };
    if field.node.is_blank() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    if items.len() > MOST_FILES {
        let words = format!("is too long (maximum is {MOST_FILES})");
        reader.refuse(field, words);
        return None;
    }
    let mut generators = Vec::new();
    for node in items {
        generators.extend(read_file(reader, Field { node, ..field }));
    }
    Some(generators)
}

/// Reads one file; returns the job that generates it, if there is one.
fn read_file(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Spanned<String>> {
    if field.node.as_str().is_some() && !field.node.is_blank() {
        return None;
    }
    if field.node.as_mapping().is_none() {
        reader.refuse(field, "should be a string or a hash");
        return None;
    }
    let mut job = None;
    reader.entries(field, &KEYS, |reader, key, field| match key {
        "inputs" => {
            reader.mapping(field);
        }
        "file" => {
            reader.string_or_strings(field);
        }
        "job" => {
            let span = field.node.span;
            job = reader.string(field).map(|value| Spanned { value, span });
        }
        _ => {
            reader.string(field);
        }
    });
    check_parts(reader, field)?;
    job
}

/// Checks that there is exactly one source, with the keys it needs.
fn check_parts(reader: &mut Reader<'_>, field: Field<'_>) -> Option<()> {
    let has = |key: &&str| field.node.get(key).is_some_and(|node| !node.is_null());
    let sources: Vec<&str> = SOURCES.into_iter().filter(|key| has(key)).collect();
    match sources[..] {
        [] => {
            let words = format!("must have exactly one of: {}", SOURCES.join(", "));
            reader.refuse(field, words);
        }
        ["artifact"] if !has(&"job") => {
            let words = "must specify the job where the artifact comes from";
            reader.refuse_part(field, "artifact", words);
        }
        ["project"] if !has(&"file") => {
            let words = "must specify the file where to fetch the config from";
            reader.refuse_part(field, "project", words);
        }
        [_] => return Some(()),
        [_, second, ..] => {
            let words = format!("must use only one of: {}", sources.join(", "));
            reader.refuse_part(field, second, words);
        }
    }
    None
}
