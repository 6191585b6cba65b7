/// When servers are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Fetching {
    /// When what was fetched before is too old.
    #[default]
    Usual,
    /// Always, if only for whether something changed.
    Refresh,
    /// Never.
    Offline,
}
