//! Reads what payloads of other versions of GitLab have where this one has something else.

use super::{Hook, HookName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads `null` as the default value: GitLab has `null` where a list is empty or a fact unknown.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a word, and `null` or one that is not known as the default: a later GitLab may have more.
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

/// Reads hooks and leaves out those whose name is not known: nobody could say when they run.
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
