//! Selects the lines of a log that are shown.

use crate::log::{Entry, Source};
use crate::log::{Part, may_have_marks, parts};
use crate::text::{counted, seconds};
use executor_core::{BuildStage, HumanDuration};
use std::time::Duration;

/// Beyond this, lines of the runner's own are shown rather than held back.
const MOST_HELD: usize = 64 << 10;

/// A stage of the runner's own that took less is not worth a line.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// Decides line by line what of a job's log is shown.
///
/// The runner's own stages fold into one line, or into none when they took no time; they are shown
/// in full when they fail. What the runner says in between is left out, except for warnings. The
/// marks of the job's own sections never show; what they enclose folds where that is asked for.
#[derive(Debug)]
pub(super) struct Fold {
    how: Folding,
    /// The lines of the runner's own stage while it runs.
    held: Option<Held>,
    /// The section of the job's own that is folded.
    folded: Option<Folded>,
    /// A section has begun and its header is still to come.
    header_due: Option<Due>,
}

/// What folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folding {
    /// Nothing.
    Verbose,
    /// The runner's own stages: for logs of failed jobs, and for those shown before their job
    /// ended, because shown text cannot be folded later.
    Own,
    /// Also sections that the job wants collapsed.
    All,
}

/// A piece of a log as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown<'t> {
    /// A line of the log.
    Line(Source, &'t str),
    /// The header of a section.
    Header(&'t str),
    /// A folded section: its header and a remark on it.
    Folded(&'t str, &'t str),
    /// What this program says about the log.
    Note(&'t str),
}

#[derive(Debug, Default)]
struct Held {
    name: String,
    lines: Vec<(Source, String)>,
    bytes: usize,
    /// There were too many to hold, so all of them are shown.
    given_up: bool,
}

#[derive(Debug)]
struct Folded {
    name: String,
    header: String,
    begun: u64,
    lines: u64,
}

#[derive(Debug)]
struct Due {
    name: String,
    at: u64,
    collapsed: bool,
}

impl Fold {
    pub(super) fn new(how: Folding) -> Self {
        Self {
            how,
            held: None,
            folded: None,
            header_due: None,
        }
    }

    /// Takes the next entry and shows what is due.
    pub(super) fn take(&mut self, entry: Entry<'_>, show: &mut impl FnMut(Shown<'_>)) {
        match entry {
            Entry::Line(source, text) => self.line(source, text, show),
            Entry::StageStarted { name, user_code } => {
                self.finish(show);
                if !user_code {
                    self.held = Some(Held {
                        name: name.replace('_', " "),
                        ..Held::default()
                    });
                } else if name != BuildStage::script().name() && self.how != Folding::Verbose {
                    // Without it, the end of the main script could not be seen.
                    show(Shown::Note(&name.replace('_', " ")));
                }
            }
            Entry::StageEnded { succeeded, millis } => {
                let duration = Duration::from_millis(millis);
                let own = self.held.take_if(|held| succeeded && !held.given_up);
                if let Some(held) = own
                    && duration >= WORTH_A_LINE
                    && self.how != Folding::Verbose
                {
                    show(Shown::Note(&format!("{} {}", held.name, seconds(duration))));
                }
                self.finish(show);
            }
        }
    }

    /// Shows what was held back.
    pub(super) fn finish(&mut self, show: &mut impl FnMut(Shown<'_>)) {
        if let Some(held) = self.held.take() {
            held.show(show);
        }
        self.show_due_header("", show);
        if let Some(folded) = self.folded.take() {
            folded.show(None, show);
        }
    }

    fn line(&mut self, source: Source, text: &str, show: &mut impl FnMut(Shown<'_>)) {
        match (&mut self.held, source) {
            (held, Source::Warning) => {
                if let Some(held) = held.as_mut().filter(|_| is_error(text)) {
                    // What led to it comes first.
                    held.give_up(show);
                }
                show(Shown::Line(source, text));
            }
            _ if self.how == Folding::Verbose => self.job_line(source, text, show),
            (Some(held), _) => held.push(source, text, show),
            (None, Source::Info) => {}
            (None, _) => self.job_line(source, text, show),
        }
    }

    /// Shows a line in which the marks of sections may stand.
    fn job_line(&mut self, source: Source, text: &str, show: &mut impl FnMut(Shown<'_>)) {
        if !may_have_marks(text) {
            self.text(source, text, show);
            return;
        }
        for part in parts(text) {
            match part {
                Part::Text(text) => self.text(source, text, show),
                Part::Start {
                    name,
                    at,
                    collapsed,
                } => {
                    self.show_due_header("", show);
                    let name = name.to_owned();
                    self.header_due = Some(Due {
                        name,
                        at,
                        collapsed,
                    });
                }
                Part::End { name, at } => {
                    self.show_due_header("", show);
                    if let Some(folded) = self.folded.take_if(|folded| folded.name == name) {
                        let seconds = at.saturating_sub(folded.begun);
                        folded.show(Some(Duration::from_secs(seconds)), show);
                    }
                }
            }
        }
        self.show_due_header("", show);
    }

    fn text(&mut self, source: Source, text: &str, show: &mut impl FnMut(Shown<'_>)) {
        if self.header_due.is_some() {
            self.show_due_header(text, show);
        } else if let Some(folded) = &mut self.folded {
            folded.lines += 1;
        } else {
            show(Shown::Line(source, text));
        }
    }

    /// Begins the section that waits for its header.
    fn show_due_header(&mut self, header: &str, show: &mut impl FnMut(Shown<'_>)) {
        let Some(due) = self.header_due.take() else {
            return;
        };
        // Within a folded section nothing shows, headers neither.
        if let Some(folded) = &mut self.folded {
            folded.lines += u64::from(!header.is_empty());
            return;
        }
        let header = if header.is_empty() { &due.name } else { header };
        if due.collapsed && self.how == Folding::All {
            self.folded = Some(Folded {
                header: header.to_owned(),
                name: due.name,
                begun: due.at,
                lines: 0,
            });
        } else {
            show(Shown::Header(header));
        }
    }
}

impl Held {
    fn push(&mut self, source: Source, text: &str, show: &mut impl FnMut(Shown<'_>)) {
        if self.given_up {
            show(Shown::Line(source, text));
            return;
        }
        self.bytes += text.len();
        self.lines.push((source, text.to_owned()));
        if self.bytes > MOST_HELD {
            self.give_up(show);
        }
    }

    /// Shows all it has, and holds no more.
    fn give_up(&mut self, show: &mut impl FnMut(Shown<'_>)) {
        std::mem::take(self).show(show);
        self.given_up = true;
    }

    fn show(self, show: &mut impl FnMut(Shown<'_>)) {
        for (source, text) in &self.lines {
            show(Shown::Line(*source, text));
        }
    }
}

/// Returns whether it is an error of the runner, in red or without a colour.
fn is_error(text: &str) -> bool {
    let text = text.strip_prefix("\x1b[31;1m").unwrap_or(text);
    text.starts_with("ERROR: ")
}

impl Folded {
    fn show(self, duration: Option<Duration>, show: &mut impl FnMut(Shown<'_>)) {
        let lines = counted(self.lines, "line");
        let remark = match duration {
            Some(duration) => format!("{lines}, {:.0}", HumanDuration(duration)),
            None => lines,
        };
        show(Shown::Folded(&self.header, &remark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Entry<'_> = Entry::StageStarted {
        name: "get_sources",
        user_code: false,
    };
    const SCRIPT: Entry<'_> = Entry::StageStarted {
        name: "step_script",
        user_code: true,
    };

    fn ended(succeeded: bool, millis: u64) -> Entry<'static> {
        Entry::StageEnded { succeeded, millis }
    }

    fn line(text: &str) -> Entry<'_> {
        Entry::Line(Source::Stdout, text)
    }

    fn info(text: &str) -> Entry<'_> {
        Entry::Line(Source::Info, text)
    }

    fn fold(how: Folding, entries: &[Entry<'_>]) -> Vec<String> {
        let mut fold = Fold::new(how);
        let mut shown = Vec::new();
        let mut show = |piece: Shown<'_>| {
            shown.push(match piece {
                Shown::Line(_, text) => text.to_owned(),
                Shown::Header(text) => format!("# {text}"),
                Shown::Folded(header, remark) => format!("> {header} ({remark})"),
                Shown::Note(text) => format!("- {text}"),
            });
        };
        for entry in entries {
            fold.take(*entry, &mut show);
        }
        fold.finish(&mut show);
        shown
    }

    #[test]
    fn runner_stages_fold_unless_they_fail() {
        let stage = |end| [OWN, info("Getting source"), line("HEAD is now at 1"), end];
        assert_eq!(fold(Folding::Own, &stage(ended(true, 999))), [""; 0]);
        assert_eq!(
            fold(Folding::Own, &stage(ended(true, 12_340))),
            ["- get sources 12.3s"]
        );
        let all = ["Getting source", "HEAD is now at 1"];
        assert_eq!(fold(Folding::Own, &stage(ended(false, 5))), all);
        assert_eq!(
            fold(Folding::Own, &stage(ended(false, 5))[..3]),
            all,
            "cut off"
        );
        assert_eq!(fold(Folding::Verbose, &stage(ended(true, 12_340))), all);
    }

    #[test]
    fn warnings_show_and_runner_lines_do_not_during_the_script() {
        let warning = Entry::Line(Source::Warning, "WARNING: old");
        let entries = [
            OWN,
            info("Getting source"),
            warning,
            ended(true, 1),
            SCRIPT,
            info("Executing"),
            line("hello"),
            Entry::Line(Source::Service, "ready"),
            warning,
            ended(true, 1),
            info("Job succeeded"),
        ];
        let expect = ["WARNING: old", "hello", "ready", "WARNING: old"];
        assert_eq!(fold(Folding::Own, &entries), expect);
    }

    #[test]
    fn errors_follow_the_lines_before_them() {
        for error in ["ERROR: no image", "\x1b[31;1mERROR: no image\x1b[0;m"] {
            let error_line = Entry::Line(Source::Warning, error);
            let warning = Entry::Line(Source::Warning, "WARNING: old");
            let entries = [
                OWN,
                info("Running"),
                warning,
                info("Pulling"),
                error_line,
                info("late"),
                ended(false, 1),
            ];
            let expect = ["WARNING: old", "Running", "Pulling", error, "late"];
            assert_eq!(fold(Folding::Own, &entries), expect);
        }
    }

    #[test]
    fn long_stages_are_shown_instead_of_held() {
        let text = "x".repeat(1000);
        let mut entries = vec![OWN];
        entries.extend([line(&text); 100]);
        entries.push(ended(true, 5000));
        assert_eq!(fold(Folding::Own, &entries).len(), 100);
    }

    #[test]
    fn collapsed_sections_fold_and_marks_never_show() {
        let entries = [
            SCRIPT,
            line("\x1b[0Ksection_start:10:a[collapsed=true]\r\x1b[0KInstall"),
            line("one"),
            line("\x1b[0Ksection_start:11:nested\r\x1b[0KNested"),
            line("two"),
            line("\x1b[0Ksection_end:12:nested\r\x1b[0K"),
            line("section_end:13:a\r\x1b[0K\x1b[0Ksection_start:13:b\r\x1b[0KTest"),
            line("three"),
            line("section_end:14:b\r\x1b[0K"),
            line("section_start:14:c[collapsed=true]\r\x1b[0K"),
            line("four"),
            ended(true, 1),
        ];
        let folded = ["> Install (3 lines, 3s)", "# Test", "three", "> c (1 line)"];
        assert_eq!(fold(Folding::All, &entries), folded);
        let unfolded = [
            "# Install",
            "one",
            "# Nested",
            "two",
            "# Test",
            "three",
            "# c",
            "four",
        ];
        assert_eq!(fold(Folding::Own, &entries), unfolded);
    }

    #[test]
    fn scripts_after_the_main_one_have_a_heading() {
        let after = Entry::StageStarted {
            name: "after_script",
            user_code: true,
        };
        let entries = [SCRIPT, line("a"), ended(true, 1), after, line("b")];
        assert_eq!(fold(Folding::Own, &entries), ["a", "- after script", "b"]);
    }
}
