use super::CacheKey;
use super::key::short;
use executor_core::job::{ArtifactWhen, Cache};
use executor_core::variable::{JobVariables, without_secrets};

/// One cache of a job, with its variables expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobCache {
    /// The key for saving, and the first key for restoring.
    pub(super) key: CacheKey,
    /// Further keys for restoring, in this order.
    pub(super) fallbacks: Vec<CacheKey>,
    pub(super) policy: Policy,
    pub(super) when: ArtifactWhen,
    pub(super) paths: Vec<String>,
    pub(super) untracked: bool,
    /// The fingerprint of the files just after they were restored from `key`; `None` when they were not, or are not
    /// all files of the paths.
    pub(super) restored: Option<String>,
}

/// What all caches of a job have in common.
#[derive(Debug)]
pub(super) struct CacheContext<'a> {
    /// The key of a cache without one.
    pub(super) default_key: &'a str,
    /// `CACHE_FALLBACK_KEY`.
    pub(super) global_fallback: &'a str,
    /// All variables of the job, expanded.
    pub(super) variables: &'a JobVariables,
}

impl JobCache {
    /// Reads a cache of the job's payload, whose texts `expand` expands. `warnings` has what is ignored.
    pub(super) fn new(
        cache: &Cache,
        context: &CacheContext<'_>,
        expand: impl Fn(&str) -> Result<String, String>,
        warnings: &mut Vec<String>,
    ) -> Option<Self> {
        if cache.paths.is_empty() && !cache.untracked {
            return None;
        }
        let mut expanded = |text: &str| expand(text).map_err(|why| warnings.push(why)).ok();
        let key = match cache.key.as_str() {
            "" => context.default_key.to_owned(),
            key => expanded(key)?,
        };
        let fallbacks: Vec<String> = cache
            .fallback_keys
            .iter()
            .filter_map(|key| expanded(key))
            .collect();
        let paths = cache.paths.iter().map(|path| expanded(path));
        let paths = paths.collect::<Option<Vec<String>>>()?;
        let policy = expanded(&cache.policy)?;
        let (policy, warning) = Policy::read(&policy);
        warnings.extend(warning);
        let Some(key) = cleaned(&key, context, warnings) else {
            warnings.push("a cache is ignored: its key is empty".to_owned());
            return None;
        };
        let mut others: Vec<CacheKey> = Vec::new();
        for fallback in &fallbacks {
            others.extend(cleaned(fallback, context, warnings));
        }
        others.extend(global_fallback(context, warnings));
        Some(Self {
            key,
            fallbacks: others,
            policy,
            when: cache.when,
            paths,
            untracked: cache.untracked,
            restored: None,
        })
    }

    /// Returns the keys for restoring, in this order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &CacheKey> {
        [&self.key].into_iter().chain(&self.fallbacks)
    }

    /// Returns whether the cache is saved after this result of the scripts.
    pub(super) fn is_due(&self, succeeded: bool) -> bool {
        match self.when {
            ArtifactWhen::OnSuccess => succeeded,
            ArtifactWhen::OnFailure => !succeeded,
            ArtifactWhen::Always => true,
        }
    }
}

/// Cleans a key, with a warning when it changes; `None` when nothing remains.
fn cleaned(text: &str, context: &CacheContext<'_>, warnings: &mut Vec<String>) -> Option<CacheKey> {
    let key = CacheKey::new(text)?;
    let is_same = key.text() == text;
    // Before the key is cleaned: cleaning may remove a part of a secret.
    let text = without_secrets(text, context.variables);
    let shown = CacheKey::new(&text);
    let key = key.shown_as(shown.as_ref().map_or("", CacheKey::text));
    if !is_same {
        let (text, shown) = (short(&text), key.shown());
        warnings.push(format!("the cache key {text:?} becomes {shown:?}"));
    }
    Some(key)
}

/// Returns the fallback key of all caches of a job. It never names caches of protected refs, however it is
/// written.
fn global_fallback(context: &CacheContext<'_>, warnings: &mut Vec<String>) -> Option<CacheKey> {
    let key = CacheKey::new(context.global_fallback)?;
    if key.is_reserved() {
        let text = without_secrets(context.global_fallback, context.variables);
        warnings.push(format!(
            "CACHE_FALLBACK_KEY {text:?} is ignored: keys that end with `-protected` are reserved"
        ));
        return None;
    }
    cleaned(context.global_fallback, context, warnings)
}

/// The directions in which a cache is transferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// It is restored before the script, and saved after it.
    #[default]
    PullPush,
    /// It is only restored.
    Pull,
    /// It is only saved.
    Push,
}

impl Policy {
    /// Reads a policy whose variables are expanded, with a warning if it is invalid.
    pub(super) fn read(text: &str) -> (Self, Option<String>) {
        match text {
            "" | "pull-push" => (Self::PullPush, None),
            "pull" => (Self::Pull, None),
            "push" => (Self::Push, None),
            other => {
                let warning = format!(
                    "{other:?} is not a cache policy (pull-push, pull or push); pull-push is used"
                );
                (Self::default(), Some(warning))
            }
        }
    }

    /// Returns whether the cache is restored.
    pub(super) fn pulls(self) -> bool {
        self != Self::Push
    }

    /// Returns whether the cache is saved.
    pub(super) fn pushes(self) -> bool {
        self != Self::Pull
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    /// Returns the keys in the order in which they are looked for, and the warnings.
    fn keys(cache: &Cache, global_fallback: &str) -> (Vec<String>, Vec<String>) {
        let variables = [JobVariable::masked("TOKEN", "hunter2hunter2")]
            .into_iter()
            .collect();
        let context = CacheContext {
            default_key: "job/main",
            global_fallback,
            variables: &variables,
        };
        let mut warnings = Vec::new();
        let expand = |text: &str| Ok(text.replace("$TOKEN", "hunter2hunter2"));
        let made = JobCache::new(cache, &context, expand, &mut warnings);
        let keys = made.iter().flat_map(JobCache::keys);
        (keys.map(|key| key.shown().to_owned()).collect(), warnings)
    }

    fn cache(key: &str, fallbacks: &[&str]) -> Cache {
        Cache {
            key: key.to_owned(),
            fallback_keys: fallbacks.iter().map(ToString::to_string).collect(),
            paths: vec!["a".to_owned()],
            ..Cache::default()
        }
    }

    fn check(cache: &Cache, global: &str, expect: &[&str], warning: &str) {
        let (keys, warnings) = keys(cache, global);
        assert_eq!(keys, expect, "{warnings:?}");
        let warnings = warnings.join("\n");
        assert_eq!(warnings.is_empty(), warning.is_empty(), "{warnings}");
        assert!(warnings.contains(warning), "{warnings}");
    }

    #[test]
    fn keys_are_in_order() {
        check(&cache("k", &["f", "g"]), "all", &["k", "f", "g", "all"], "");
        check(&cache("", &[]), "", &["job/main"], "");
        check(&cache("k", &["..", "g"]), "", &["k", "g"], "");
        check(
            &cache("../k", &[]),
            "",
            &["k"],
            "the cache key \"../k\" becomes \"k\"",
        );
        check(&cache("..", &["f"]), "", &[], "its key is empty");
    }

    #[test]
    fn fallback_is_never_protected() {
        for key in [
            "x-protected",
            "x-protected ",
            "x-protected%2f",
            "x-protected\\.",
        ] {
            check(&cache("k", &[]), key, &["k"], "reserved");
        }
        check(
            &cache("k", &[]),
            "x-non_protected",
            &["k", "x-non_protected"],
            "",
        );
    }

    #[test]
    fn secrets_in_keys_are_masked() {
        check(&cache("k-$TOKEN", &[]), "", &["k-[MASKED]"], "");
        check(
            &cache("../$TOKEN", &[]),
            "",
            &["[MASKED]"],
            "\"../[MASKED]\"",
        );
    }

    #[test]
    fn cache_without_paths_is_ignored() {
        let without = Cache::default();
        assert_eq!(keys(&without, "f"), (Vec::new(), Vec::new()));
        let untracked = Cache {
            untracked: true,
            ..Cache::default()
        };
        assert_eq!(keys(&untracked, "").0, ["job/main"]);
    }

    #[test]
    fn policies_are_read() {
        let check = |text, pulls, pushes, is_known| {
            let (policy, warning) = Policy::read(text);
            let found = (policy.pulls(), policy.pushes(), warning.is_none());
            assert_eq!(found, (pulls, pushes, is_known), "{text:?}");
        };
        check("", true, true, true);
        check("pull-push", true, true, true);
        check("pull", true, false, true);
        check("push", false, true, true);
        check("push-pull", true, true, false);
        check("$POLICY", true, true, false);
    }
}
