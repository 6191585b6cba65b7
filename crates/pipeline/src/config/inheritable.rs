use super::reader::{Field, Reader};
use super::script::read_commands;
use super::{artifacts, cache, hooks, id_tokens, identity, image, retry, services, tags, timeout};
use executor_core::job::{
    ArtifactsDefinition, CacheDefinition, HooksDefinition, IdTokens, Image, RetryDefinition,
    ServiceDefinition,
};

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

/// The keywords a job can take from `default`; `None` means not given.
///
/// What is large and rare is boxed, as in a [`JobDefinition`](executor_core::job::JobDefinition).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inheritable {
    /// Commands before the script.
    pub before_script: Option<Vec<String>>,
    /// Commands after the script.
    pub after_script: Option<Vec<String>>,
    /// Scripts around the fetching of sources.
    pub hooks: Option<HooksDefinition>,
    /// The caches.
    pub cache: Option<Vec<CacheDefinition>>,
    /// The image.
    pub image: Option<Box<Image>>,
    /// The services.
    pub services: Option<Vec<ServiceDefinition>>,
    /// Whether a newer pipeline may cancel the job.
    pub interruptible: Option<bool>,
    /// The longest the job may take, in seconds.
    pub timeout: Option<u64>,
    /// How often the job is tried again.
    pub retry: Option<RetryDefinition>,
    /// The tags a runner must have.
    pub tags: Option<Vec<String>>,
    /// The files to keep.
    pub artifacts: Option<Box<ArtifactsDefinition>>,
    /// Identity tokens.
    pub id_tokens: Option<Box<IdTokens>>,
    /// The cloud as whose user the job acts.
    pub identity: Option<String>,
}

impl Inheritable {
    /// Reads the keyword `key`; does nothing for keywords that are not inheritable.
    pub(super) fn read_key(&mut self, reader: &mut Reader<'_>, key: &str, field: Field<'_>) {
        match key {
            "before_script" => self.before_script = read_commands(reader, field),
            "after_script" => self.after_script = read_commands(reader, field),
            "hooks" => self.hooks = hooks::read(reader, field),
            "cache" => self.cache = cache::read(reader, field),
            "image" => self.image = image::read(reader, field).map(Box::new),
            "services" => self.services = services::read(reader, field),
            "interruptible" => self.interruptible = reader.boolean(field),
            "timeout" => self.timeout = timeout::read(reader, field),
            "retry" => self.retry = retry::read(reader, field),
            "tags" => self.tags = tags::read(reader, field),
            "artifacts" => self.artifacts = artifacts::read(reader, field).map(Box::new),
            "id_tokens" => self.id_tokens = id_tokens::read(reader, field).map(Box::new),
            "identity" => self.identity = identity::read(reader, field),
            _ => {}
        }
    }

    /// Takes what `self` does not have from `default`, as far as `allowed` says.
    ///
    /// Values are taken whole; nothing inside them is united. `timeout` is not taken: GitLab reads
    /// it in `default` and then forgets it.
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
