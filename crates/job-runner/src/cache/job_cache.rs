use super::CacheKey;
use super::key::short;
use super::policy::Policy;
use executor_core::job::{ArtifactWhen, Cache};
use executor_core::variable::JobVariables;

/// One cache of a job, with its variables expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobCache {
    /// Under what it is saved.
    pub(super) key: CacheKey,
    /// What is restored when nothing is there under the key, in this order.
    pub(super) fallbacks: Vec<CacheKey>,
    pub(super) policy: Policy,
    pub(super) when: ArtifactWhen,
    pub(super) paths: Vec<String>,
    pub(super) untracked: bool,
    /// What its files looked like when they had just been restored from its own key; absent when they
    /// were not, or are not all that its paths hold.
    pub(super) restored: Option<String>,
}

/// What is the same for all caches of a job.
#[derive(Debug)]
pub(super) struct Sight<'a> {
    /// The key of a cache whose payload names none.
    pub(super) default_key: &'a str,
    /// `CACHE_FALLBACK_KEY`.
    pub(super) global_fallback: &'a str,
    /// All variables of the job, expanded.
    pub(super) variables: &'a JobVariables,
}

impl JobCache {
    /// Makes one of a payload's, whose texts `expand` expands. What is left out of it, or all of it, is
    /// said in `warnings`.
    pub(super) fn new(
        cache: &Cache,
        sight: &Sight<'_>,
        expand: impl Fn(&str) -> Result<String, String>,
        warnings: &mut Vec<String>,
    ) -> Option<Self> {
        if cache.paths.is_empty() && !cache.untracked {
            return None;
        }
        let mut expanded = |text: &str| expand(text).map_err(|why| warnings.push(why)).ok();
        let key = match cache.key.as_str() {
            "" => sight.default_key.to_owned(),
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
        let Some(key) = cleaned(&key, sight, warnings) else {
            warnings.push("a cache is left out: its key is empty".to_owned());
            return None;
        };
        let mut others: Vec<CacheKey> = Vec::new();
        for fallback in &fallbacks {
            others.extend(cleaned(fallback, sight, warnings));
        }
        others.extend(global_fallback(sight, warnings));
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

    /// Returns the keys it may be restored from, in this order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &CacheKey> {
        [&self.key].into_iter().chain(&self.fallbacks)
    }

    /// Returns whether it is saved after this end of the job.
    pub(super) fn is_due(&self, succeeded: bool) -> bool {
        match self.when {
            ArtifactWhen::OnSuccess => succeeded,
            ArtifactWhen::OnFailure => !succeeded,
            ArtifactWhen::Always => true,
        }
    }
}

/// Cleans a key and says so; `None` when nothing is left.
fn cleaned(text: &str, sight: &Sight<'_>, warnings: &mut Vec<String>) -> Option<CacheKey> {
    let key = CacheKey::new(text)?;
    let is_same = key.text() == text;
    // Before it is cleaned: a secret may hold what is cleaned away.
    let text = masked(text, sight.variables);
    let shown = CacheKey::new(&text);
    let key = key.shown_as(shown.as_ref().map_or("", CacheKey::text));
    if !is_same {
        let (text, shown) = (short(&text), key.shown());
        warnings.push(format!("the cache key {text:?} becomes {shown:?}"));
    }
    Some(key)
}

/// Returns the key that all caches of a job fall back to. Nobody gets at the caches of protected refs
/// by it, however it is written.
fn global_fallback(sight: &Sight<'_>, warnings: &mut Vec<String>) -> Option<CacheKey> {
    let key = CacheKey::new(sight.global_fallback)?;
    if key.is_reserved() {
        let text = masked(sight.global_fallback, sight.variables);
        warnings.push(format!(
            "CACHE_FALLBACK_KEY {text:?} is not used: keys that end with `-protected` are reserved"
        ));
        return None;
    }
    cleaned(sight.global_fallback, sight, warnings)
}

/// Returns a text without the values of masked variables, for what is kept with a cache.
fn masked(text: &str, variables: &JobVariables) -> String {
    let secrets = variables
        .iter()
        .filter(|it| it.masked && !it.value.trim().is_empty());
    let mut secrets: Vec<&str> = secrets.map(|it| it.value.as_str()).collect();
    // A secret that holds another is replaced as a whole.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.iter().fold(text.to_owned(), |text, secret| {
        text.replace(secret, "[MASKED]")
    })
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
        let sight = Sight {
            default_key: "job/main",
            global_fallback,
            variables: &variables,
        };
        let mut warnings = Vec::new();
        let expand = |text: &str| Ok(text.replace("$TOKEN", "hunter2hunter2"));
        let made = JobCache::new(cache, &sight, expand, &mut warnings);
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
    fn keys_come_in_order() {
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
    fn nobody_falls_back_to_what_is_protected() {
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
    fn a_cache_without_paths_is_none() {
        let without = Cache::default();
        assert_eq!(keys(&without, "f"), (Vec::new(), Vec::new()));
        let untracked = Cache {
            untracked: true,
            ..Cache::default()
        };
        assert_eq!(keys(&untracked, "").0, ["job/main"]);
    }
}
