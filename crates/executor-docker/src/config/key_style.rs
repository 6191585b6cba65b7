use std::borrow::Cow;

/// How whoever wrote the settings writes their keys: messages name keys the same way.
///
/// # Examples
///
/// ```
/// use executor_docker::config::KeyStyle;
///
/// assert_eq!(KeyStyle::Hyphens.key("allowed_images"), "allowed-images");
/// assert_eq!(KeyStyle::Hyphens.path("memory"), "docker.memory");
/// assert_eq!(KeyStyle::default().path("memory_swap"), "runners.docker.memory_swap");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum KeyStyle {
    /// As GitLab Runner's file has them: `allowed_images` in `[runners.docker]`.
    #[default]
    Underscores,
    /// As the settings of the command have them: `allowed-images` in `[docker]`.
    Hyphens,
}

impl KeyStyle {
    /// Returns a key in this style; it is given with underscores.
    pub fn key(self, key: &str) -> Cow<'_, str> {
        match self {
            Self::Underscores => key.into(),
            Self::Hyphens => key.replace('_', "-").into(),
        }
    }

    /// Returns a key with its section before it.
    pub fn path(self, key: &str) -> String {
        let section = match self {
            Self::Underscores => "runners.docker",
            Self::Hyphens => "docker",
        };
        format!("{section}.{}", self.key(key))
    }
}
