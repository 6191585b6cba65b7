//! `cache:key`: a text, or files whose content determines the key.

use super::reader::{Field, Reader};
use crate::context::referenced;
use executor_core::job::{CacheKeyDefinition, CacheKeyFiles};
use yaml::Kind;
use yaml::diagnostic::Diagnostic;

/// The maximum number of files of a key.
const MOST_FILES: usize = 2;

/// Reads `cache:key`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<CacheKeyDefinition> {
    match &field.node.kind {
        Kind::String(_) => read_text(reader, field).map(CacheKeyDefinition::Text),
        Kind::Mapping(_) => Some(CacheKeyDefinition::Files(read_files(reader, field))),
        _ => {
            let help = super::reader::string_help(field.node);
            reader.refuse_with_help(field, "should be a hash or a string", help);
            None
        }
    }
}

/// Reads a text that is safe as the name of a directory.
fn read_text(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    let plain = text.to_ascii_lowercase().replace("%2e", ".");
    if plain.contains('/') || plain.contains("%2f") {
        let help = "use a variable without slashes, such as `$CI_COMMIT_REF_SLUG`";
        let words = "cannot contain the \"/\" character";
        reader.refuse_with_help(field, words, Some(help.to_owned()));
        return None;
    }
    if plain == "." || plain == ".." {
        reader.refuse(field, "cannot be \".\" or \"..\"");
        return None;
    }
    Some(text)
}

fn read_files(reader: &mut Reader<'_>, field: Field<'_>) -> CacheKeyFiles {
    let mut key = CacheKeyFiles::default();
    let known = ["files", "files_commits", "prefix"];
    reader.entries(field, &known, |reader, name, field| match name {
        "files" => key.files = read_list(reader, field),
        "files_commits" => key.files_commits = read_list(reader, field),
        _ => key.prefix = read_text(reader, field),
    });
    let lists = ["files", "files_commits"];
    reader.exclude(field, &lists);
    if lists
        .iter()
        .all(|list| field.node.get(list).is_none_or(|value| value.is_null()))
    {
        let help = "name the files with `files:` or `files_commits:`".to_owned();
        reader.refuse_with_help(field, "missing required keys: files", Some(help));
    }
    key
}

fn read_list(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let files = reader.strings(field)?;
    if files.is_empty() {
        reader.refuse(field, "requires at least 1 item");
        return None;
    }
    if files.len() > MOST_FILES {
        let help = "a `*` in a name matches any number of files".to_owned();
        let words = format!("has too many items (maximum is {MOST_FILES})");
        reader.refuse_with_help(field, words, Some(help));
        return None;
    }
    for node in field.node.as_sequence().unwrap_or_default() {
        if node
            .as_str()
            .is_some_and(|name| !referenced(name).is_empty())
        {
            let message = format!("{} names files without variables", field.path.subject());
            let help = "GitLab looks for a file of exactly this name; a `*` matches any text";
            let note = Diagnostic::note("literal-variable", message).at(node.span);
            reader.diagnostics.push(note.with_help(help.to_owned()));
        }
    }
    Some(files)
}
