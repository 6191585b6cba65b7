use parking_lot::Mutex;
use std::collections::HashMap;

/// Answers by question, each looked for once.
#[derive(Debug)]
pub(super) struct Answers<T>(Mutex<HashMap<String, T>>);

impl<T> Default for Answers<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Answers<T> {
    /// Returns the answer to `question`, which `find` finds the first time.
    pub(super) fn of(&self, question: &str, find: impl FnOnce() -> T) -> T {
        // Two who ask the same wait for one answer.
        let mut known = self.0.lock();
        if let Some(answer) = known.get(question) {
            return answer.clone();
        }
        let answer = find();
        known.insert(question.to_owned(), answer.clone());
        answer
    }
}
