use super::reader::{Field, Reader};
use super::release::read_one_or_many;
use super::script::read_commands;
use super::{artifacts, cache, image, retry, services};
use executor_core::job::{
    ArtifactsDefinition, CacheDefinition, HooksDefinition, IdTokenDefinition, IdTokens, Image,
    RetryDefinition, ServiceDefinition,
};
use executor_core::parse_duration;
use std::collections::HashSet;

/// The keywords `default` may have.
pub(super) const DEFAULT_KEYS: [&str; 13] = [
    "before_script",
    "after_script",
    "hooks",
    "cache",
    "image",
    "services",
    "interruptible",
    "timeout",
    "retry",
    "tags",
    "artifacts",
    "id_tokens",
    "identity",
];

/// The keywords a job can inherit from `default`; `None` means absent.
///
/// Large and rare values are boxed, as in a [`JobDefinition`](executor_core::job::JobDefinition).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inheritable {
    /// Commands before the script.
    pub before_script: Option<Vec<String>>,
    /// Commands after the script.
    pub after_script: Option<Vec<String>>,
    /// Scripts that run around the fetching of sources.
    pub hooks: Option<HooksDefinition>,
    /// The caches.
    pub cache: Option<Vec<CacheDefinition>>,
    /// The image.
    pub image: Option<Box<Image>>,
    /// The services.
    pub services: Option<Vec<ServiceDefinition>>,
    /// Whether a newer pipeline may cancel the job.
    pub interruptible: Option<bool>,
    /// The timeout, in seconds.
    pub timeout: Option<u64>,
    /// The automatic retries.
    pub retry: Option<RetryDefinition>,
    /// The tags that a runner must have.
    pub tags: Option<Vec<String>>,
    /// The artifacts.
    pub artifacts: Option<Box<ArtifactsDefinition>>,
    /// The identity tokens.
    pub id_tokens: Option<Box<IdTokens>>,
    /// The cloud provider at which the job authenticates.
    pub identity: Option<String>,
}

impl Inheritable {
    /// Reads the keyword `key`; does nothing for keywords that are not inheritable.
    pub(super) fn read_key(&mut self, reader: &mut Reader<'_>, key: &str, field: Field<'_>) {
        match key {
            "before_script" => self.before_script = read_commands(reader, field),
            "after_script" => self.after_script = read_commands(reader, field),
            "hooks" => self.hooks = read_hooks(reader, field),
            "cache" => self.cache = cache::read(reader, field),
            "image" => self.image = image::read(reader, field).map(Box::new),
            "services" => self.services = services::read(reader, field),
            "interruptible" => self.interruptible = reader.boolean(field),
            "timeout" => self.timeout = read_timeout(reader, field),
            "retry" => self.retry = retry::read(reader, field),
            "tags" => self.tags = read_tags(reader, field),
            "artifacts" => self.artifacts = artifacts::read(reader, field).map(Box::new),
            "id_tokens" => self.id_tokens = read_id_tokens(reader, field).map(Box::new),
            "identity" => self.identity = read_identity(reader, field),
            _ => {}
        }
    }

    /// Fills absent keywords from `default` where `allowed` permits.
    ///
    /// Values are not merged. `timeout` is not inherited: GitLab accepts it in `default` and then
    /// ignores it.
    pub fn or_default(self, default: &Self, allowed: impl Fn(&str) -> bool) -> Self {
        fn or<T: Clone>(own: Option<T>, default: Option<&T>, allowed: bool) -> Option<T> {
            own.or_else(|| default.filter(|_| allowed).cloned())
        }
        Self {
            before_script: or(
                self.before_script,
                default.before_script.as_ref(),
                allowed("before_script"),
            ),
            after_script: or(
                self.after_script,
                default.after_script.as_ref(),
                allowed("after_script"),
            ),
            hooks: or(self.hooks, default.hooks.as_ref(), allowed("hooks")),
            cache: or(self.cache, default.cache.as_ref(), allowed("cache")),
            image: or(self.image, default.image.as_ref(), allowed("image")),
            services: or(
                self.services,
                default.services.as_ref(),
                allowed("services"),
            ),
            interruptible: or(
                self.interruptible,
                default.interruptible.as_ref(),
                allowed("interruptible"),
            ),
            timeout: self.timeout,
            retry: or(self.retry, default.retry.as_ref(), allowed("retry")),
            tags: or(self.tags, default.tags.as_ref(), allowed("tags")),
            artifacts: or(
                self.artifacts,
                default.artifacts.as_ref(),
                allowed("artifacts"),
            ),
            id_tokens: or(
                self.id_tokens,
                default.id_tokens.as_ref(),
                allowed("id_tokens"),
            ),
            identity: or(
                self.identity,
                default.identity.as_ref(),
                allowed("identity"),
            ),
        }
    }
}

/// The number of distinct tags from which on GitLab refuses them.
const TOO_MANY_TAGS: usize = 50;

/// Reads `tags`, a flat list.
fn read_tags(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let tags = reader.strings(field)?;
    let different: HashSet<&String> = tags.iter().collect();
    if different.len() >= TOO_MANY_TAGS {
        let words = format!("must be less than the limit of {TOO_MANY_TAGS} tags");
        reader.refuse(field, words);
        return None;
    }
    Some(tags)
}

/// The longest `timeout`: one month.
const LONGEST_TIMEOUT: u64 = 30 * 24 * 60 * 60;

/// Reads `timeout`, in seconds.
fn read_timeout(reader: &mut Reader<'_>, field: Field<'_>) -> Option<u64> {
    let duration = field.node.as_str().and_then(parse_duration);
    match duration.map(|duration| duration.as_secs()) {
        None => {
            let help = match field.node.to_scalar_text() {
                Some(text) if parse_duration(&text).is_some() => {
                    format!("put quotes around it: `\"{text}\"`")
                }
                _ => "write for example `1h 30m`; a bare number in quotes means seconds".to_owned(),
            };
            reader.refuse_with_help(field, "should be a duration", Some(help));
            None
        }
        Some(seconds) if seconds > LONGEST_TIMEOUT => {
            reader.refuse(field, "should not exceed the limit of a month");
            None
        }
        seconds => seconds,
    }
}

/// Reads `identity`: the cloud as whose user the job acts.
fn read_identity(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let known = [("google_cloud", "google_cloud")];
    reader.one_of(field, &known).map(ToOwned::to_owned)
}

/// Reads `hooks`.
fn read_hooks(reader: &mut Reader<'_>, field: Field<'_>) -> Option<HooksDefinition> {
    reader.mapping(field)?;
    let mut hooks = HooksDefinition::default();
    reader.entries(field, &["pre_get_sources_script"], |reader, _, field| {
        hooks.pre_get_sources_script = read_commands(reader, field);
    });
    Some(hooks)
}

/// Reads `id_tokens`.
fn read_id_tokens(reader: &mut Reader<'_>, field: Field<'_>) -> Option<IdTokens> {
    let mut tokens = IdTokens::new();
    reader.each(field, |reader, name, field| {
        if let Some(token) = read_id_token(reader, field) {
            tokens.insert(name.to_owned(), token);
        }
    })?;
    Some(tokens)
}

fn read_id_token(reader: &mut Reader<'_>, field: Field<'_>) -> Option<IdTokenDefinition> {
    reader.mapping(field)?;
    let mut aud = None;
    reader.require(field, &["aud"]);
    reader.attributes(field, &["aud"], |reader, _, field| {
        aud = read_one_or_many(reader, field);
    });
    Some(IdTokenDefinition { aud: aud? })
}
