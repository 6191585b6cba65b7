use super::cache_key;
use super::reader::{Field, Reader};
use super::when::read_upload;
use executor_core::job::{ArtifactWhen, CacheDefinition, CacheKeyDefinition};
use yaml::suggest::did_you_mean;

/// The maximum number of caches of a job.
const MOST_CACHES: usize = 4;
/// The maximum number of fallback keys of a cache.
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
    let path = field.path.sibling("caches");
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
        key: Some(CacheKeyDefinition::default()),
        policy: Some("pull-push".to_owned()),
        when: Some(ArtifactWhen::OnSuccess),
        unprotect: Some(false),
        fallback_keys: Some(Vec::new()),
        ..CacheDefinition::default()
    };
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "when" => cache.when = read_upload(reader, field),
        "policy" => cache.policy = read_policy(reader, field),
        "fallback_keys" => cache.fallback_keys = read_fallbacks(reader, field),
        _ => {}
    });
    reader.entry(field, "key", |reader, field| {
        cache.key = cache_key::read(reader, field);
    });
    reader.entry(field, "paths", |reader, field| {
        cache.paths = reader.strings(field);
    });
    reader.entry(field, "untracked", |reader, field| {
        cache.untracked = reader.boolean(field);
    });
    reader.entry(field, "unprotect", |reader, field| {
        cache.unprotect = reader.boolean(field);
    });
    Some(cache)
}

fn read_policy(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let policy = reader.string(field)?;
    // GitLab accepts any text that contains one of these.
    if !["pull", "push", "$"]
        .iter()
        .any(|word| policy.contains(word))
    {
        let help = did_you_mean(&policy, ["pull-push", "push", "pull"]);
        let words = "should be a variable or one of: pull-push, push, pull";
        reader.refuse_with_help(field, words, help);
        return None;
    }
    Some(policy)
}

fn read_fallbacks(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let keys = reader.strings(field)?;
    if keys.len() > MOST_FALLBACKS {
        let words = format!("has too many items (maximum is {MOST_FALLBACKS})");
        reader.refuse(field, words);
    }
    Some(keys)
}
