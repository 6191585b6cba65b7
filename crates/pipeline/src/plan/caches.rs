use executor_core::job::{Cache, CacheDefinition, CacheKeyDefinition};

/// Returns the caches of a job in file order; `is_protected` tells whether the pipeline's ref is
/// protected.
pub(super) fn of(definitions: Option<&[CacheDefinition]>, is_protected: bool) -> Vec<Cache> {
    let definitions = definitions.unwrap_or_default().iter();
    definitions
        .map(|cache| of_one(cache, is_protected))
        .collect()
}

fn of_one(definition: &CacheDefinition, is_protected: bool) -> Cache {
    let suffix = separation(is_protected, definition.unprotect.unwrap_or_default());
    let key = match &definition.key {
        Some(CacheKeyDefinition::Text(key)) => key.clone(),
        // The creation of the pipeline replaces files by a text.
        Some(CacheKeyDefinition::Files(_)) | None => DEFAULT_KEY.to_owned(),
    };
    let fallbacks = definition.fallback_keys.iter().flatten();
    Cache {
        key: format!("{key}-{suffix}"),
        untracked: definition.untracked.unwrap_or_default(),
        policy: definition.policy.clone().unwrap_or_default(),
        paths: definition.paths.clone().unwrap_or_default(),
        when: definition.when.unwrap_or_default(),
        fallback_keys: fallbacks.map(|key| format!("{key}-{suffix}")).collect(),
    }
}

/// The key of a cache without one.
const DEFAULT_KEY: &str = "default";

/// Returns the suffix that separates the keys of protected refs from all others, which must not
/// write what protected ones read. With `unprotect` a protected ref shares the cache of the others.
///
/// GitLab does the same by default.
fn separation(is_protected: bool, unprotect: bool) -> &'static str {
    if is_protected && !unprotect {
        "protected"
    } else {
        "non_protected"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::ArtifactWhen;

    fn check(definition: CacheDefinition, is_protected: bool, expect: &[&str]) {
        let caches = of(Some(&[definition]), is_protected);
        let keys: Vec<&str> = [&caches[0].key]
            .into_iter()
            .chain(&caches[0].fallback_keys)
            .map(String::as_str)
            .collect();
        assert_eq!(keys, expect);
    }

    fn cache(unprotect: bool) -> CacheDefinition {
        CacheDefinition {
            key: Some(CacheKeyDefinition::Text("k-$CI_JOB_NAME".to_owned())),
            unprotect: Some(unprotect),
            fallback_keys: Some(vec!["f".to_owned(), "g".to_owned()]),
            ..CacheDefinition::default()
        }
    }

    #[test]
    fn keys_of_protected_refs_are_their_own() {
        let others = [
            "k-$CI_JOB_NAME-non_protected",
            "f-non_protected",
            "g-non_protected",
        ];
        check(cache(false), false, &others);
        check(cache(true), false, &others);
        check(cache(true), true, &others);
        let protected = ["k-$CI_JOB_NAME-protected", "f-protected", "g-protected"];
        check(cache(false), true, &protected);
        check(
            CacheDefinition::default(),
            false,
            &["default-non_protected"],
        );
    }

    #[test]
    fn other_settings_are_passed_on() {
        let definition = CacheDefinition {
            paths: Some(vec!["a".to_owned()]),
            untracked: Some(true),
            policy: Some("$P".to_owned()),
            when: Some(ArtifactWhen::Always),
            ..CacheDefinition::default()
        };
        let expect = Cache {
            key: "default-non_protected".to_owned(),
            untracked: true,
            policy: "$P".to_owned(),
            paths: vec!["a".to_owned()],
            when: ArtifactWhen::Always,
            fallback_keys: Vec::new(),
        };
        assert_eq!(of(Some(&[definition]), false), [expect]);
        assert_eq!(of(None, false), []);
    }
}
