//! The end of a driver's standard error.

use parking_lot::Mutex;

/// How much error output is kept.
const LIMIT: usize = 4000;

/// Collects the standard error of a driver: each line goes to the runner's log, the last ones to its errors.
#[derive(Debug, Default)]
pub(crate) struct ErrorOutput(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    text: String,
    /// Where in `text` the current line starts.
    line: usize,
}

impl ErrorOutput {
    /// Appends bytes, and logs the lines that they complete.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        kept.text.push_str(&String::from_utf8_lossy(bytes));
        while let Some(end) = kept.text[kept.line..].find('\n') {
            let line = &kept.text[kept.line..kept.line + end];
            tracing::info!(line, "The driver wrote to its standard error.");
            kept.line += end + 1;
        }
        if let Some(over) = kept.text.len().checked_sub(LIMIT) {
            let cut = kept.text.ceil_char_boundary(over);
            kept.text.drain(..cut);
            kept.line = kept.line.saturating_sub(cut);
        }
    }

    /// Returns the last lines, unless there are none.
    pub(crate) fn text(&self) -> Option<String> {
        let kept = self.0.lock();
        let text = kept.text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_its_end() {
        let output = ErrorOutput::default();
        assert_eq!(output.text(), None);
        for _ in 0..3000 {
            output.push("é\n".as_bytes());
        }
        output.push("the énd".as_bytes());
        let text = output.text().unwrap();
        assert!(text.ends_with("é\nthe énd") && text.len() <= LIMIT);
    }
}
