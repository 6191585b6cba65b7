//! The marked line in which a shell reports that it has started, and its process.

/// How much output is searched for the line.
const LONGEST: usize = 64 * 1024;

/// Filters the marked line out of a stream.
#[derive(Debug)]
pub struct MarkedLine {
    mark: String,
    held: Vec<u8>,
    found: Option<String>,
    given_up: bool,
}

impl MarkedLine {
    /// Returns a filter for the line with `mark`.
    pub fn new(mark: String) -> Self {
        Self {
            mark,
            held: Vec::new(),
            found: None,
            given_up: false,
        }
    }

    /// Returns the text after the mark, once the line has arrived.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    /// Passes everything but the line to `out`.
    pub fn pass(&mut self, data: &[u8], mut out: impl FnMut(&[u8])) {
        if self.found.is_some() || self.given_up {
            return out(data);
        }
        self.held.extend_from_slice(data);
        while let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
            let rest = self.held.split_off(end + 1);
            let line = std::mem::replace(&mut self.held, rest);
            match self.read(&line) {
                Some((before, found)) => {
                    if before > 0 {
                        out(&line[..before]);
                    }
                    self.found = Some(found);
                    if !self.held.is_empty() {
                        out(&std::mem::take(&mut self.held));
                    }
                    return;
                }
                None => out(&line),
            }
        }
        if self.held.len() > LONGEST {
            self.given_up = true;
            out(&std::mem::take(&mut self.held));
        }
    }

    /// Passes the held bytes to `out` at the end of the stream.
    pub fn finish(&mut self, mut out: impl FnMut(&[u8])) {
        if !self.held.is_empty() {
            out(&std::mem::take(&mut self.held));
        }
    }

    fn read(&self, line: &[u8]) -> Option<(usize, String)> {
        let mark = self.mark.as_bytes();
        let at = line.windows(mark.len()).position(|part| part == mark)?;
        let rest = String::from_utf8_lossy(&line[at + mark.len()..]);
        Some((at, rest.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expect: &str, found: Option<&str>) {
        let mut line = MarkedLine::new("mark".to_owned());
        let mut passed = Vec::new();
        for piece in pieces {
            line.pass(piece.as_bytes(), |data| passed.extend_from_slice(data));
        }
        line.finish(|data| passed.extend_from_slice(data));
        assert_eq!(String::from_utf8(passed).unwrap(), expect, "{pieces:?}");
        assert_eq!(line.found(), found, "{pieces:?}");
    }

    #[test]
    fn the_line_is_removed_however_it_is_split() {
        check(&["mark 12\nhello\n"], "hello\n", Some("12"));
        check(&["ma", "rk 1", "2\nhel", "lo"], "hello", Some("12"));
        check(&["profile\nmark 7\nx"], "profile\nx", Some("7"));
        check(&["no line feed, mark 7\n"], "no line feed, ", Some("7"));
        check(&["nothing", " of it"], "nothing of it", None);
    }
}
