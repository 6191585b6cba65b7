use super::PatternError;

/// Returns whether a flag exists in RE2.
pub(super) fn is_known(flag: char) -> bool {
    matches!(flag, 'i' | 's' | 'm' | 'U')
}

/// The flags of `(?flags)` and `(?flags:`, to be switched on and off.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Flags {
    on: String,
    off: String,
}

impl Flags {
    /// Reads flags as written behind `(?`; the last mention of a flag counts.
    pub(super) fn parse(text: &str, offset: usize) -> Result<Self, PatternError> {
        let mut flags = Self::default();
        let mut is_on = true;
        for (at, flag) in text.char_indices() {
            match flag {
                '-' if is_on && text.len() > at + 1 => is_on = false,
                flag if is_known(flag) => flags.set(flag, is_on),
                _ => {
                    let message = format!("`(?{text}` is not RE2 syntax");
                    return Err(PatternError::syntax(offset, message)
                        .with_help("the flags are i, s, m and U"));
                }
            }
        }
        Ok(flags)
    }

    fn set(&mut self, flag: char, is_on: bool) {
        self.on.retain(|known| known != flag);
        self.off.retain(|known| known != flag);
        let side = if is_on { &mut self.on } else { &mut self.off };
        side.push(flag);
    }

    /// Returns the flags as written behind `(?`.
    pub(super) fn text(&self) -> String {
        let minus = if self.off.is_empty() { "" } else { "-" };
        format!("{}{minus}{}", self.on, self.off)
    }
}
