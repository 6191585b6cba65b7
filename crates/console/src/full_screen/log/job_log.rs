use super::blocks::Blocks;
use super::sections::Sections;
use super::store::Store;
use crate::log::{Entry, Source};
use crate::log::{LineJoiner, Piece};
use crate::log::{Part, may_have_marks, parts};
use crate::text::Cleaner;
use executor_core::BuildStage;
use std::time::Duration;

/// A stage of the runner's own that took less is not worth a line.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// The log of a job.
#[derive(Debug)]
pub(in crate::full_screen) struct JobLog {
    lines: LineJoiner,
    body: Body,
}

/// A row of a log, as it can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::full_screen) struct Row {
    pub(in crate::full_screen) number: u64,
    pub(in crate::full_screen) kind: RowKind,
    /// Cleaned; of codes there are only those for colours.
    pub(in crate::full_screen) text: String,
    /// The section that it is the header of.
    pub(in crate::full_screen) fold: Option<FoldMark>,
}

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::full_screen) enum RowKind {
    /// A line of the log.
    Line(Source),
    /// The header of a section.
    Header,
    /// What this program says about the log.
    Note,
}

/// What stands at the header of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::full_screen) struct FoldMark {
    pub(in crate::full_screen) is_folded: bool,
    pub(in crate::full_screen) rows: u64,
    pub(in crate::full_screen) duration: Option<Duration>,
}

/// The whole lines of a log.
#[derive(Debug)]
struct Body {
    cleaner: Cleaner,
    blocks: Blocks,
    sections: Sections,
    verbose: bool,
    stage: Option<Stage>,
    /// A section has begun and its header is still to come.
    due: Option<Due>,
}

/// The stage that a job is at.
#[derive(Debug)]
struct Stage {
    name: String,
    is_own: bool,
    /// It has a section, so it can be folded.
    is_section: bool,
    has_warned: bool,
}

#[derive(Debug)]
struct Due {
    name: String,
    at: u64,
    collapsed: bool,
}

impl JobLog {
    /// Returns a log that moves older lines to `store`.
    pub(in crate::full_screen) fn new(store: Store, colours: bool, verbose: bool) -> Self {
        Self {
            lines: LineJoiner::default(),
            body: Body {
                cleaner: Cleaner::new(colours),
                blocks: Blocks::new(store),
                sections: Sections::default(),
                verbose,
                stage: None,
                due: None,
            },
        }
    }

    /// Takes a piece of a line.
    pub(in crate::full_screen) fn piece(&mut self, piece: Piece<'_>) {
        let body = &mut self.body;
        self.lines
            .take(piece, &mut |source, line| body.line(source, line));
    }

    /// Takes the beginning or the end of a stage.
    pub(in crate::full_screen) fn stage(&mut self, entry: Entry<'_>) {
        self.end_lines();
        match entry {
            Entry::StageStarted { name, user_code } => self.body.begin_stage(name, user_code),
            Entry::StageEnded { succeeded, millis } => {
                self.body
                    .end_stage(succeeded, Duration::from_millis(millis));
            }
            Entry::Line(source, text) => self.body.line(source, text),
        }
    }

    /// Ends an attempt of the job.
    pub(in crate::full_screen) fn end(&mut self) {
        self.end_lines();
        self.body.finish();
    }

    /// Adds what this program says about the log.
    pub(in crate::full_screen) fn note(&mut self, text: &str) {
        self.end();
        self.body.blocks.push(b'n', text);
    }

    fn end_lines(&mut self) {
        let body = &mut self.body;
        self.lines
            .finish(&mut |source, line| body.line(source, line));
    }

    /// Returns how many rows there are, also those that do not show.
    pub(in crate::full_screen) fn rows(&self) -> u64 {
        self.body.blocks.lines()
    }

    /// Returns how many rows show, and how many of them stand before this one.
    pub(in crate::full_screen) fn shown(&self, row: u64) -> (u64, u64) {
        let sections = &self.body.sections;
        (
            sections.shown_before(self.rows()),
            sections.shown_before(row),
        )
    }

    /// Returns the last row that shows.
    pub(in crate::full_screen) fn last(&self) -> Option<u64> {
        self.body.sections.previous(self.rows())
    }

    /// Returns the next row that shows.
    pub(in crate::full_screen) fn next(&self, row: u64) -> Option<u64> {
        Some(self.body.sections.next(row)).filter(|next| *next < self.rows())
    }

    /// Returns the row that shows before this one.
    pub(in crate::full_screen) fn previous(&self, row: u64) -> Option<u64> {
        self.body.sections.previous(row)
    }

    /// Returns the row, or one near it if it does not show; 0 for a log without rows.
    pub(in crate::full_screen) fn nearest(&self, row: u64) -> u64 {
        let last = self.last().unwrap_or(0);
        self.body.sections.nearest(row).min(last)
    }

    /// Folds or unfolds the section that a row belongs to; returns the row of its header.
    pub(in crate::full_screen) fn toggle(&mut self, row: u64) -> Option<u64> {
        self.body.sections.toggle(row)
    }

    /// Folds or unfolds all sections.
    pub(in crate::full_screen) fn toggle_all(&mut self) {
        self.body.sections.toggle_all();
    }

    /// Lets a row show, whatever was folded around it.
    pub(in crate::full_screen) fn reveal(&mut self, row: u64) {
        self.body.sections.reveal(row);
    }

    /// Reads a row.
    pub(in crate::full_screen) fn row(&mut self, number: u64) -> Option<Row> {
        let mut found = None;
        let rows = self.rows();
        let sections = &self.body.sections;
        let range = number..number + 1;
        self.body.blocks.each(range, |number, letter, text| {
            let fold = sections.header(number).map(|section| FoldMark {
                is_folded: section.is_folded(),
                rows: section.rows(rows),
                duration: section.duration(),
            });
            found = Some(Row {
                number,
                kind: RowKind::of(letter),
                text: text.to_owned(),
                fold,
            });
        });
        found
    }

    /// Returns the line that has not ended, cleaned.
    pub(in crate::full_screen) fn unfinished(&self) -> Option<String> {
        let line = self.lines.unfinished(Source::Stdout);
        let line = line.or_else(|| self.lines.unfinished(Source::Stderr))?;
        let mut cleaner = self.body.cleaner.clone();
        Some(cleaner.line(line).into_owned()).filter(|line| !line.is_empty())
    }

    /// Returns the rows for who looks at all of them.
    pub(super) fn blocks(&mut self) -> &mut Blocks {
        &mut self.body.blocks
    }
}

impl RowKind {
    fn of(letter: u8) -> Self {
        match letter {
            b'h' => Self::Header,
            b'n' => Self::Note,
            letter => {
                let found = Source::ALL.iter().find(|(_, it)| *it == letter);
                found.map_or(Self::Note, |(source, _)| Self::Line(*source))
            }
        }
    }
}

impl Body {
    fn line(&mut self, source: Source, text: &str) {
        let is_own = self.stage.as_ref().is_some_and(|stage| stage.is_own);
        if source == Source::Warning {
            if let Some(stage) = &mut self.stage {
                stage.has_warned = true;
            }
            if is_own {
                // A warning must stay visible.
                self.sections.change_open(false);
            }
        } else if source == Source::Info && !is_own && !self.verbose {
            return;
        }
        if is_own || !may_have_marks(text) {
            self.text(source, text);
            return;
        }
        for part in parts(text) {
            match part {
                Part::Text(text) => self.text(source, text),
                Part::Start {
                    name,
                    at,
                    collapsed,
                } => {
                    self.show_due_header();
                    self.due = Some(Due {
                        name: name.to_owned(),
                        at,
                        collapsed,
                    });
                }
                Part::End { name, at } => {
                    self.show_due_header();
                    let rows = self.blocks.lines();
                    self.sections.end(name, rows, |began| {
                        Duration::from_secs(at.saturating_sub(began))
                    });
                }
            }
        }
        self.show_due_header();
    }

    fn text(&mut self, source: Source, text: &str) {
        if let Some(due) = self.due.take() {
            self.header(text, &due);
        } else {
            let (_, letter) = Source::ALL[source as usize];
            self.blocks.push(letter, &self.cleaner.line(text));
        }
    }

    /// Begins the section that waits for its header.
    fn show_due_header(&mut self) {
        if let Some(due) = self.due.take() {
            self.header(&due.name.clone(), &due);
        }
    }

    fn header(&mut self, text: &str, due: &Due) {
        let row = self.blocks.lines();
        self.blocks.push(b'h', &self.cleaner.line(text));
        let folded = due.collapsed && !self.verbose;
        self.sections.begin(&due.name, row, folded, due.at);
    }

    fn begin_stage(&mut self, name: &str, user_code: bool) {
        self.finish();
        // The usual script needs no header: it is what the log is about.
        let has_header = !user_code || name != BuildStage::script().name();
        let row = self.blocks.lines();
        if has_header {
            let title = name.replace('_', " ");
            self.blocks.push(b'h', &self.cleaner.line(&title));
        }
        let folded = !user_code && !self.verbose;
        let is_section = has_header && self.sections.begin(name, row, folded, 0);
        self.stage = Some(Stage {
            name: name.to_owned(),
            is_own: !user_code,
            is_section,
            has_warned: false,
        });
    }

    fn end_stage(&mut self, succeeded: bool, duration: Duration) {
        self.show_due_header();
        let Some(stage) = self.stage.take() else {
            return;
        };
        if !stage.is_section {
            return;
        }
        if !succeeded {
            self.sections.change_open(false);
        }
        self.sections
            .end(&stage.name, self.blocks.lines(), |_| duration);
        let is_dull = stage.is_own && succeeded && !stage.has_warned;
        if is_dull && duration < WORTH_A_LINE && !self.verbose {
            self.sections.silence_last();
        }
    }

    fn finish(&mut self) {
        self.show_due_header();
        self.stage = None;
        self.sections.finish(self.blocks.lines());
    }
}

/// Returns the visible rows as text.
#[cfg(test)]
pub(in crate::full_screen) fn shown(log: &mut JobLog) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = log.last().map(|_| log.nearest(0));
    while let Some(number) = next {
        let row = log.row(number).expect("a row that shows is there");
        let mark = match (row.kind, row.fold) {
            (RowKind::Header, Some(fold)) if fold.is_folded => format!("> ({}) ", fold.rows),
            (RowKind::Header, _) => "v ".to_owned(),
            (RowKind::Note, _) => "-- ".to_owned(),
            (RowKind::Line(Source::Warning), _) => "! ".to_owned(),
            _ => String::new(),
        };
        found.push(format!("{mark}{}", row.text));
        next = log.next(number);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use Source::{Info, Stdout, Warning};

    const START: fn(&str, bool) -> Entry<'_> =
        |name, user_code| Entry::StageStarted { name, user_code };

    fn end(succeeded: bool, millis: u64) -> Entry<'static> {
        Entry::StageEnded { succeeded, millis }
    }

    fn log(verbose: bool, entries: &[Entry<'_>]) -> JobLog {
        let mut log = JobLog::new(Store::default(), true, verbose);
        for entry in entries {
            log.stage(*entry);
        }
        log
    }

    #[test]
    fn runner_stages_fold_and_warnings_show() {
        let entries = [
            Entry::Line(Info, "Running with runwright"),
            START("prepare_executor", false),
            Entry::Line(Info, "Using the shell"),
            end(true, 20),
            START("get_sources", false),
            Entry::Line(Info, "Fetching"),
            end(true, 1_500),
            START("step_script", true),
            Entry::Line(Stdout, "$ make"),
            Entry::Line(Info, "between"),
            Entry::Line(Warning, "careful"),
            end(true, 100),
            START("after_script", true),
            Entry::Line(Stdout, "$ rm"),
            end(true, 100),
            START("upload_artifacts", false),
            Entry::Line(Info, "Uploading"),
            Entry::Line(Warning, "no files"),
            end(true, 1),
            START("cleanup", false),
            Entry::Line(Stdout, "rm: no"),
            end(false, 1),
        ];
        let mut quiet = log(false, &entries);
        insta::assert_snapshot!(shown(&mut quiet).join("\n"), @r"
        > (1) get sources
        $ make
        ! careful
        v after script
        $ rm
        v upload artifacts
        Uploading
        ! no files
        v cleanup
        rm: no
        ");
        assert!(shown(&mut log(true, &entries)).contains(&"v prepare executor".to_owned()));
    }

    #[test]
    fn sections_fold_as_the_job_asks() {
        let mut log = log(
            false,
            &[
                START("step_script", true),
                Entry::Line(
                    Stdout,
                    "section_start:10:deps[collapsed=true]\r\x1b[0KGetting \x1b[31mdeps",
                ),
                Entry::Line(Stdout, "one"),
                Entry::Line(Stdout, "two\x1b[0;m"),
                Entry::Line(
                    Stdout,
                    "section_end:15:deps\r\x1b[0Ksection_start:16:open\r\x1b[0K",
                ),
                Entry::Line(Stdout, "three"),
                end(true, 1),
            ],
        );
        let found = shown(&mut log);
        assert_eq!(
            found,
            ["> (2) Getting \x1b[31mdeps\x1b[0m", "v open", "three"]
        );
        let fold = log.row(0).unwrap().fold.unwrap();
        assert_eq!(fold.duration, Some(Duration::from_secs(5)));
        assert_eq!(log.toggle(0), Some(0));
        assert_eq!(shown(&mut log)[1], "\x1b[31mone\x1b[0m");
    }

    #[test]
    fn a_further_attempt_continues_below_the_first() {
        let mut log = log(false, &[START("step_script", true)]);
        log.piece(Piece {
            source: Stdout,
            text: "10%\x1b[2J",
            continues: false,
            open: true,
        });
        assert_eq!(log.unfinished().as_deref(), Some("10%"));
        log.note("attempt 2");
        assert_eq!(shown(&mut log), ["10%", "-- attempt 2"]);
    }
}
