use crate::config::policy::Pattern;
use std::time::Duration;

/// How much room what jobs brought into an engine may take, and for how long. The default takes nothing away.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    /// How many bytes it may have together. Default: any number.
    pub disk: Option<u64>,
    /// How long a thing is kept that no job uses. Default: for ever.
    pub unused_for: Option<Duration>,
    /// Images that stay whatever the rest says, as patterns of their names.
    pub keep_images: Vec<Pattern>,
}

impl Budget {
    /// Returns whether there is nothing that it could take away.
    pub fn is_unlimited(&self) -> bool {
        self.disk.is_none() && self.unused_for.is_none()
    }
}
