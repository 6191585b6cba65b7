use std::borrow::Cow;

/// The spelling of keys in the settings, which messages use too.
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
    /// As in GitLab Runner's file: `allowed_images` in `[runners.docker]`.
    #[default]
    Underscores,
    /// As in the settings of the command: `allowed-images` in `[docker]`.
    Hyphens,
}

impl KeyStyle {
    /// Returns a key in this style, from the one with underscores.
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
