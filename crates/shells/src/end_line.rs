//! The exit code that a shell prints at the end of a script.

/// Filters the marked exit code out of a stream, wherever it stands in a line.
#[derive(Debug)]
pub struct EndLine {
    mark: Vec<u8>,
    /// The end of the output so far, as long as it may be the beginning of the mark.
    held: Vec<u8>,
    /// What followed the mark.
    found: Option<Vec<u8>>,
}

impl EndLine {
    /// Returns a filter for the line that begins with `mark`.
    pub fn new(mark: String) -> Self {
        Self {
            mark: mark.into_bytes(),
            held: Vec::new(),
            found: None,
        }
    }

    /// Returns the exit code once its line is complete.
    pub fn code(&self) -> Option<i32> {
        let found = self.found.as_ref()?;
        let line = found.split(|byte| *byte == b'\n').next()?;
        if line.len() == found.len() {
            return None;
        }
        std::str::from_utf8(line).ok()?.trim().parse().ok()
    }

    /// Passes what stands before the mark to `out`.
    pub fn pass(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) {
        if let Some(found) = &mut self.found {
            // Other processes may still write after the end of the script.
            if found.contains(&b'\n') {
                return out(bytes);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (own, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            found.extend_from_slice(own);
            return out(rest);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mark = &self.mark;
        if let Some(at) = find(&all, mark) {
            out(&all[..at]);
            self.found = Some(Vec::new());
            return self.pass(&all[at + self.mark.len()..], out);
        }
        let keep = (1..mark.len())
            .rev()
            .find(|len| all.ends_with(&mark[..*len]));
        let held = all.split_off(all.len() - keep.unwrap_or(0));
        self.held = held;
        out(&all);
    }

    /// Passes held bytes to `out` at the end of the output.
    pub fn finish(&mut self, mut out: impl FnMut(&[u8])) {
        out(&std::mem::take(&mut self.held));
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    let first = word.first()?;
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| byte == first) {
        if text[from + at..].starts_with(word) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_line_is_removed_however_it_is_split() {
        let text = b"out m-e m-end 7\nlate";
        for first in 0..text.len() {
            let mut line = EndLine::new("m-end ".to_owned());
            let mut passed = Vec::new();
            for piece in [&text[..first], &text[first..]] {
                line.pass(piece, |bytes| passed.extend_from_slice(bytes));
            }
            line.finish(|bytes| passed.extend_from_slice(bytes));
            assert_eq!(
                String::from_utf8(passed).unwrap(),
                "out m-e late",
                "{first}"
            );
            assert_eq!(line.code(), Some(7), "{first}");
        }
    }
}
