//! Deserializers that accept the payloads of other versions of GitLab.

use super::{Hook, HookName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads `null` as the default value: GitLab sends `null` for an empty list or an unknown value.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a keyword; `null` and unknown keywords become the default, since a later GitLab may add more.
pub(super) fn known_word<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    let word = Value::deserialize(deserializer)?;
    Ok(T::deserialize(word).unwrap_or_default())
}

/// Reads a text that some versions send as a number.
pub(super) fn text_or_number<'de, D>(deserializer: D) -> Result<String, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrNumber {
        Text(String),
        Number(serde_json::Number),
    }
    let given = Option::<TextOrNumber>::deserialize(deserializer)?;
    Ok(match given {
        Some(TextOrNumber::Text(text)) => text,
        Some(TextOrNumber::Number(number)) => number.to_string(),
        None => String::new(),
    })
}

/// Reads hooks and skips those with an unknown name: the runner would not know when to run them.
pub(super) fn known_hooks<'de, D>(deserializer: D) -> Result<Vec<Hook>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    struct AnyHook {
        #[serde(default)]
        name: Value,
        #[serde(default, deserialize_with = "null_is_default")]
        script: Vec<String>,
    }
    let hooks = Option::<Vec<AnyHook>>::deserialize(deserializer)?;
    let known = |hook: AnyHook| {
        let name = HookName::deserialize(hook.name).ok()?;
        let script = hook.script;
        Some(Hook { name, script })
    };
    Ok(hooks.into_iter().flatten().filter_map(known).collect())
}
