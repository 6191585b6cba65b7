use executor_core::TraceStream;
use pipeline::pattern::Pattern;
use std::borrow::Cow;
use std::collections::HashMap;
use trace::Line;

/// How many bytes of a line are searched.
const LONGEST_LINE: usize = 64 << 10;

/// Finds a job's coverage in its log, as GitLab does.
///
/// The pattern is tried on each line of all streams. The last line that matches with a number counts:
/// in it the last match, in that the last group or the whole match, and in that the first number.
/// Colours are not part of the text, except for a pattern that matches nothing without them.
#[derive(Debug)]
pub(super) struct CoverageFinder {
    pattern: Pattern,
    /// Lines whose end has not arrived.
    unfinished: HashMap<TraceStream, String>,
    found: Option<f64>,
}

impl CoverageFinder {
    /// Returns a finder for a pattern without its slashes; `None` for an invalid pattern.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        Some(Self {
            pattern: Pattern::new(pattern, "").ok()?,
            unfinished: HashMap::new(),
            found: None,
        })
    }

    /// Searches a line or a part of one.
    pub(super) fn take(&mut self, stream: TraceStream, line: &Line<'_>) {
        if line.complete && !line.continues {
            self.search(&line.text);
            return;
        }
        let line_so_far = self.unfinished.entry(stream).or_default();
        let room = LONGEST_LINE.saturating_sub(line_so_far.len());
        line_so_far.push_str(&line.text[..line.text.floor_char_boundary(room)]);
        if line.complete
            && let Some(whole) = self.unfinished.remove(&stream)
        {
            self.search(&whole);
        }
    }

    /// Returns the coverage in percent.
    pub(super) fn found(&self) -> Option<f64> {
        self.found
    }

    fn search(&mut self, line: &str) {
        let plain = without_colours(line);
        let found = number_in(&self.pattern, &plain).or_else(|| match plain {
            Cow::Borrowed(_) => None,
            Cow::Owned(_) => number_in(&self.pattern, line),
        });
        if found.is_some() {
            self.found = found;
        }
    }
}

fn number_in(pattern: &Pattern, line: &str) -> Option<f64> {
    first_number(pattern.last_group(line)?)
}

/// Returns the first `1` or `1.5` in a text.
fn first_number(text: &str) -> Option<f64> {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        end.unwrap_or(text.len())
    };
    let text = &text[text.find(|c: char| c.is_ascii_digit())?..];
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let end = if fraction > 0 {
        whole + 1 + fraction
    } else {
        whole
    };
    text[..end]
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// Returns a line without the sequences that colour it or move the cursor.
pub(crate) fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\x1b') {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut pieces = line.split('\x1b');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let Some(sequence) = piece.strip_prefix('[') else {
            plain.push_str(piece);
            continue;
        };
        let is_end = |c: char| ('@'..='~').contains(&c);
        let text = sequence.find(is_end).map_or("", |end| &sequence[end + 1..]);
        plain.push_str(text);
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::LineSplitter;

    fn find(pattern: &str, log: &str) -> Option<f64> {
        let mut finder = CoverageFinder::new(pattern).unwrap();
        let mut splitter = LineSplitter::new();
        let mut emit = |line: Line<'_>| finder.take(TraceStream::STDOUT, &line);
        splitter.feed(log.as_bytes(), &mut emit);
        splitter.finish(&mut emit);
        finder.found()
    }

    #[test]
    fn last_match_of_last_matching_line_counts() {
        let check = |pattern: &str, log: &str, expect: Option<f64>| {
            assert_eq!(find(pattern, log), expect, "/{pattern}/ in {log:?}");
        };
        let percent = r"\d+\.\d+%";
        check(percent, "", None);
        check(percent, "no figure", None);
        check(
            percent,
            "Coverage 98.29% (1033 / 1051 LOC) covered",
            Some(98.29),
        );
        check(percent, "10.0% of it\n20.5%\n", Some(20.5));
        check(percent, "10.0% and 11.5% here\nnone here\n", Some(11.5));
        check(
            r"\(\d+.\d+\%\) covered",
            "1033 / 1051 LOC (98.29%) covered",
            Some(98.29),
        );
        // The last group counts.
        check(r"(\d+\.\d+)\%", "98.29%", Some(98.29));
        check(
            r"lines: (\d+)%.*branches: (\d+)%",
            "lines: 90% branches: 70%",
            Some(70.0),
        );
        check(r"lines: (\d+)%(x)?", "lines: 90%", Some(90.0));
        check(
            r"TOTAL.*? (100(?:\.0+)?\%|[1-9]?\d(?:\.\d+)?\%)$",
            "TOTAL 10 2 80%\r\n",
            Some(80.0),
        );
        // A match without a number does not count: an earlier line may have one.
        check(r"Total: (\S+)", "Total: 55\nTotal: n/a\n", Some(55.0));
        check(r"Total: (\S+)", "Total: 05.10.1\n", Some(5.1));
        check(r"Total: (\S+)", "Total: 7.\n", Some(7.0));
        // A match does not extend beyond its line.
        check(r"a\n(\d+)", "a\n5\n", None);
        check(r"^(\d+)$", "x\n5\n", Some(5.0));
        check("(?i)COVERED: (.*)", "covered: 12", Some(12.0));
        check("x*", "1\n2\n", None);
    }

    #[test]
    fn colours_are_ignored() {
        let check = |pattern: &str, log: &str, expect: Option<f64>| {
            assert_eq!(find(pattern, log), expect, "/{pattern}/ in {log:?}");
        };
        check("Coverage: .*", "Coverage: \x1b[32m85%\x1b[0m", Some(85.0));
        check(
            r"Coverage: (\d+)",
            "\x1b[1mCoverage:\x1b[0m \x1b[38;5;1m7\x1b[K",
            Some(7.0),
        );
        check(r"\x1b\[32m(\d+)%", "\x1b[32m85%", Some(85.0));
        check(r"(\d+)%", "85%\x1b[", Some(85.0));
    }

    #[test]
    fn lines_in_pieces_are_joined() {
        let mut finder = CoverageFinder::new(r"total (\d+)%").unwrap();
        let (mut out, mut err) = (LineSplitter::new(), LineSplitter::new());
        out.feed(b"tot", &mut |line| finder.take(TraceStream::STDOUT, &line));
        out.flush_idle(&mut |line| finder.take(TraceStream::STDOUT, &line));
        err.feed(b"total 1%\n", &mut |line| {
            finder.take(TraceStream::STDERR, &line);
        });
        out.feed(b"al 42%", &mut |line| {
            finder.take(TraceStream::STDOUT, &line);
        });
        assert_eq!(finder.found(), Some(1.0));
        out.finish(&mut |line| finder.take(TraceStream::STDOUT, &line));
        assert_eq!(finder.found(), Some(42.0));
    }

    #[test]
    fn hostile_lines_take_bounded_time() {
        // Each search of this pattern reads the whole rest of the line.
        assert_eq!(find("a.*b|a", &"a".repeat(4 << 10)), None);
        let line = "a".repeat(1 << 20);
        assert_eq!(find("(a+)+$", &format!("{line}7")), None);
        assert_eq!(find(r"(\d)", &format!("7{line}8")), Some(7.0));
        assert!(CoverageFinder::new("(?=x)").is_none());
    }
}
