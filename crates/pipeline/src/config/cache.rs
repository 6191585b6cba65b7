use super::reader::{Field, Path, Reader};
use super::when::read_upload;
use crate::yaml::Kind;
use executor_core::job::{ArtifactWhen, CacheDefinition};

/// How many caches a job may have.
const MOST_CACHES: usize = 4;
/// How many fallback keys a cache may have.
const MOST_FALLBACKS: usize = 5;

const KEYS: [&str; 7] = [
    "key",
    "untracked",
    "paths",
    "when",
    "policy",
    "unprotect",
    "fallback_keys",
];

/// Reads `cache`: one or a list.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<CacheDefinition>> {
    if field.node.as_sequence().is_none() {
        return read_one(reader, field).map(|cache| vec![cache]);
    }
    let path = Path {
        parent: field.path.parent,
        name: "caches",
    };
    let items = reader.flattened(field)?;
    if items.len() > MOST_CACHES {
        let field = Field {
            path: &path,
            ..field
        };
        reader.refuse(
            field,
            format_args!("may have at most {MOST_CACHES} entries"),
        );
        return None;
    }
    let mut caches = Vec::with_capacity(items.len());
    for node in items {
        caches.extend(read_one(reader, Field { node, ..field }));
    }
    Some(caches)
}

fn read_one(reader: &mut Reader<'_>, field: Field<'_>) -> Option<CacheDefinition> {
    reader.mapping(field)?;
    let mut cache = CacheDefinition {
        key: Some("default".into()),
        policy: Some("pull-push".to_owned()),
        when: Some(ArtifactWhen::OnSuccess),
        unprotect: Some(false),
        fallback_keys: Some(Vec::new()),
        ..CacheDefinition::default()
    };
    reader.entries(field, &KEYS, |reader, key, field| match key {
        "key" => cache.key = read_key(reader, field),
        "untracked" => cache.untracked = reader.boolean(field),
        "paths" => cache.paths = reader.strings(field),
        "when" => cache.when = read_upload(reader, field),
        "policy" => cache.policy = read_policy(reader, field),
        "unprotect" => cache.unprotect = reader.boolean(field),
        _ => cache.fallback_keys = read_fallbacks(reader, field),
    });
    Some(cache)
}

fn read_key(reader: &mut Reader<'_>, field: Field<'_>) -> Option<serde_json::Value> {
    match &field.node.kind {
        Kind::String(key) => {
            let plain = key.to_ascii_lowercase().replace("%2e", ".");
            if plain.contains('/') || plain.contains("%2f") || plain == "." || plain == ".." {
                reader.refuse(field, "cannot hold `/`, nor be `.` or `..`");
                return None;
            }
            Some(field.node.to_json())
        }
        Kind::Mapping(_) => {
            let known = ["files", "files_commits", "prefix"];
            let mut lists = 0;
            reader.entries(field, &known, |reader, key, field| {
                if key == "prefix" {
                    reader.string(field);
                    return;
                }
                lists += 1;
                let files = reader.strings(field);
                if files.is_some_and(|files| !(1..=2).contains(&files.len())) {
                    reader.refuse(field, "should have one or two items");
                }
            });
            if lists != 1 {
                reader.refuse(field, "needs exactly one of `files` and `files_commits`");
            }
            Some(field.node.to_json())
        }
        _ => {
            reader.refuse(field, "should be a hash or a string");
            None
        }
    }
}

fn read_policy(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let policy = reader.string(field)?;
    // GitLab looks for these words anywhere in the text.
    if !["pull", "push", "$"]
        .iter()
        .any(|word| policy.contains(word))
    {
        reader.refuse(field, "should be pull-push, push, pull or a variable");
        return None;
    }
    Some(policy)
}

fn read_fallbacks(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let keys = reader.strings(field)?;
    if keys.len() > MOST_FALLBACKS {
        let words = format!("may have at most {MOST_FALLBACKS} keys");
        reader.refuse(field, words);
    }
    Some(keys)
}
