use super::cursor::Mark;
use super::error::SyntaxError;

/// How many bytes a key without `?` may have.
const LONGEST: usize = 1024;

/// What may turn out to be a key, once a colon comes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SimpleKey {
    pub(super) is_possible: bool,
    /// Whether nothing else can stand there.
    is_required: bool,
    /// The number of the token that it starts with.
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

    /// Gives it up when a colon can no longer come: keys are on one line, and short.
    #[inline]
    pub(super) fn expire(&mut self, offset: usize, line: u32) -> Result<(), SyntaxError> {
        let is_late = self.mark.line < line || self.mark.offset + LONGEST < offset;
        if self.is_possible && is_late {
            return self.give_up();
        }
        Ok(())
    }

    /// Gives it up.
    pub(super) fn give_up(&mut self) -> Result<(), SyntaxError> {
        let is_missed = self.is_possible && self.is_required;
        self.is_possible = false;
        if is_missed {
            let error = SyntaxError::new("could not find expected ':'", self.mark);
            return Err(error.during("while scanning a simple key", self.mark));
        }
        Ok(())
    }
}
