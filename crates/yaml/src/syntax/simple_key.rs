use super::cursor::Mark;
use super::error::SyntaxError;

/// The maximum length of a key without `?`, in bytes.
const LONGEST: usize = 1024;

/// A possible key, which a following colon makes a key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SimpleKey {
    pub(super) is_possible: bool,
    /// Whether only a key is allowed there.
    is_required: bool,
    /// The number of its first token.
    pub(super) token: usize,
    pub(super) mark: Mark,
}

impl SimpleKey {
    pub(super) fn new(is_required: bool, token: usize, mark: Mark) -> Self {
        Self {
            is_possible: true,
            is_required,
            token,
            mark,
        }
    }

    /// Discards it when no colon can follow any more: keys are short and on one line.
    #[inline]
    pub(super) fn expire(&mut self, offset: usize, line: u32) -> Result<(), SyntaxError> {
        let is_late = self.mark.line < line || self.mark.offset + LONGEST < offset;
        if self.is_possible && is_late {
            return self.discard();
        }
        Ok(())
    }

    /// Discards it; returns an error if a key was required.
    pub(super) fn discard(&mut self) -> Result<(), SyntaxError> {
        let is_missed = self.is_possible && self.is_required;
        self.is_possible = false;
        if is_missed {
            let error = SyntaxError::new("could not find expected ':'", self.mark);
            return Err(error.during("while scanning a simple key", self.mark));
        }
        Ok(())
    }
}
