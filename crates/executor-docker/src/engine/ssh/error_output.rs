use parking_lot::Mutex;
use std::sync::Arc;

/// How much error output is kept.
const LIMIT: usize = 2000;

/// The end of the standard error of ssh and its remote command. Cheap to clone; the clones share the text.
#[derive(Debug, Clone, Default)]
pub(super) struct ErrorOutput(Arc<Mutex<String>>);

impl ErrorOutput {
    /// Appends bytes.
    pub(super) fn keep(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        kept.push_str(&String::from_utf8_lossy(bytes));
        if let Some(over) = kept.len().checked_sub(LIMIT) {
            let cut = kept.ceil_char_boundary(over);
            kept.drain(..cut);
        }
    }

    /// Clears the text.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Returns the text in one line, unless it is empty.
    pub(super) fn text(&self) -> Option<String> {
        let kept = self.0.lock();
        let text = kept.trim();
        (!text.is_empty()).then(|| text.replace(['\r', '\n'], " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_its_end() {
        let error_output = ErrorOutput::default();
        for _ in 0..1000 {
            error_output.keep("é".as_bytes());
        }
        error_output.keep(b"the end\n");
        let kept = error_output.text().unwrap();
        assert!(kept.ends_with("the end") && kept.len() <= LIMIT, "{kept}");
        error_output.clear();
        assert_eq!(error_output.text(), None);
    }
}
