use parking_lot::Mutex;
use std::sync::Arc;

/// How much of what ssh complains of is kept.
const LIMIT: usize = 2000;

/// The end of what an ssh, and what it started on the other side, said on the standard error. Cheap to clone; the
/// clones are one.
#[derive(Debug, Clone, Default)]
pub(super) struct ErrorOutput(Arc<Mutex<String>>);

impl ErrorOutput {
    /// Adds to it.
    pub(super) fn keep(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        kept.push_str(&String::from_utf8_lossy(bytes));
        if let Some(over) = kept.len().checked_sub(LIMIT) {
            let cut = kept.ceil_char_boundary(over);
            kept.drain(..cut);
        }
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Returns it in one line, if there is any.
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
    fn a_long_complaint_keeps_its_end() {
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
