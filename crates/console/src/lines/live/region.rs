//! The lines at the bottom of the live view, as a pure function of the run.

use crate::model::{JobState, RunModel};
use crate::text::{Mark, Style, Tone, clock, columns, cut, fit, left, strip_controls};
use std::time::{Duration, Instant};

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Longer names do not widen their column.
pub(in crate::lines) const WIDEST_NAME: usize = 28;

/// More jobs that wait are only counted.
const MOST_WAITING: usize = 5;

/// A terminal with fewer columns shows no last lines.
const ROOM_FOR_LINES: usize = 40;

/// Returns the lines: what runs, what waits for what, and the counts; none before the first event.
///
/// They take half of the rows at most, so that something is left of what stands above them. No line
/// reaches the last column, where some terminals wrap.
pub(super) fn region(run: &RunModel, size: Size, now: Instant, style: Style) -> Vec<String> {
    if !run.has_started() || run.end().is_some() {
        return Vec::new();
    }
    let room = (size.rows / 2).max(1);
    let gap = usize::from(room >= 6);
    let mut lines = vec![String::new(); gap];
    let mut canvas = Canvas {
        width: size.columns.saturating_sub(1),
        style,
        name: 0,
    };
    canvas.jobs(run, room - 1 - gap, now, &mut lines);
    lines.push(canvas.counts(run, run.elapsed(now)));
    lines
}

/// What lines are made for.
struct Canvas {
    width: usize,
    style: Style,
    /// The width of the column of names.
    name: usize,
}

impl Canvas {
    /// Adds the lines of jobs, no more than `room`.
    fn jobs(&mut self, run: &RunModel, room: usize, now: Instant, lines: &mut Vec<String>) {
        let running: Vec<&JobState> = run.running().collect();
        let waiting = run.counts().waiting;
        let most_waiting = room.saturating_sub(running.len()).min(MOST_WAITING);
        let next: Vec<&JobState> = run.waiting().take(most_waiting).collect();
        let widest = running
            .iter()
            .chain(&next)
            .map(|job| columns(&job.name))
            .max();
        self.name = widest.unwrap_or(0).min(WIDEST_NAME).min(self.width / 2);

        let (shown, more) = fitting(running.len(), running.len(), room);
        lines.extend(running[..shown].iter().map(|job| self.running(job, now)));
        lines.extend(more.map(|more| self.remark(&format!("and {more} more"))));
        let left = room.saturating_sub(shown + usize::from(more.is_some()));
        let (shown, more) = fitting(waiting, next.len(), left.min(MOST_WAITING));
        lines.extend(
            next[..shown]
                .iter()
                .map(|job| self.waiting(job, &run.wait_reason(job))),
        );
        lines.extend(more.map(|more| self.remark(&format!("and {more} more wait"))));
    }

    fn running(&self, job: &JobState, now: Instant) -> String {
        let time = clock(job.elapsed(now).unwrap_or_default());
        let mut line = self.line();
        line.push(Tone::Good, self.style.mark(Mark::Running));
        line.push(Tone::Plain, " ");
        line.push(Tone::Strong, &self.name_of(job));
        line.push(Tone::Plain, &format!("  {time:>5}"));
        let last = strip_controls(&job.last_line).replace('\t', " ");
        let last = last.trim();
        if self.width >= ROOM_FOR_LINES && !last.is_empty() {
            line.push(Tone::Plain, "  ");
            line.push(Tone::Quiet, last);
        }
        line.text
    }

    fn waiting(&self, job: &JobState, reason: &str) -> String {
        let mut line = self.line();
        line.push(Tone::Quiet, &format!("  {}", self.name_of(job)));
        // The reasons stand where the last lines of running jobs do.
        let gap = if self.width >= ROOM_FOR_LINES { 9 } else { 2 };
        line.push(Tone::Quiet, &format!("{:gap$}{reason}", ""));
        line.text
    }

    fn remark(&self, text: &str) -> String {
        let mut line = self.line();
        line.push(Tone::Quiet, &format!("  {} {text}", self.style.ellipsis()));
        line.text
    }

    fn counts(&self, run: &RunModel, elapsed: Duration) -> String {
        let counts = run.counts();
        let mut line = self.line();
        line.push(Tone::Strong, &clock(elapsed));
        let mut between = "  ";
        for (count, word, tone) in [
            (counts.failed, "failed", Tone::Bad),
            (counts.running, "running", Tone::Good),
            (counts.done, "done", Tone::Plain),
            (counts.skipped, "skipped", Tone::Quiet),
            (counts.waiting, "waiting", Tone::Quiet),
            (counts.manual, "manual", Tone::Quiet),
        ] {
            if count > 0 {
                line.push(Tone::Plain, between);
                line.push(tone, &format!("{count} {word}"));
                between = ", ";
            }
        }
        if let Some(outlook) = run.outlook() {
            line.push(Tone::Quiet, &format!("  {}", left(outlook)));
        }
        line.text
    }

    fn name_of(&self, job: &JobState) -> String {
        fit(&job.name, self.name, self.style.ellipsis())
    }

    fn line(&self) -> Line {
        Line {
            text: String::new(),
            left: self.width,
            style: self.style,
        }
    }
}

/// Returns how many of `count` entries get a line of their own in `room` lines, of which `at_hand`
/// are known, and how many are left for a last line that counts them.
fn fitting(count: usize, at_hand: usize, room: usize) -> (usize, Option<usize>) {
    if count <= room {
        return (count.min(at_hand), None);
    }
    let shown = room.saturating_sub(1).min(at_hand);
    (shown, (room > 0).then(|| count - shown))
}

/// A line that ends where the terminal does.
struct Line {
    text: String,
    left: usize,
    style: Style,
}

impl Line {
    fn push(&mut self, tone: Tone, text: &str) {
        let text = cut(text, self.left, self.style.ellipsis());
        self.left -= columns(&text).min(self.left);
        self.text.push_str(&self.style.paint(tone, &text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{node, set_status, start};
    use scheduler::Status;
    use scheduler::event::JobNode;

    fn size(columns: usize, rows: usize) -> Size {
        Size { columns, rows }
    }

    /// Returns a run that started a while ago, and the current time.
    fn busy(more: usize) -> (RunModel, Instant) {
        let mut graph: Vec<JobNode> = vec![
            node("compile", "build", None),
            node("lint \u{65e5}\u{672c}\u{8a9e} \u{1f980}", "build", None),
            node(
                "a job with a name as long as names of a matrix: [linux, amd64]",
                "build",
                None,
            ),
            node("unit-tests", "test", Some(&["compile"])),
            node("docs", "test", None),
            node("audit", "test", Some(&[])),
        ];
        graph.extend((0..more).map(|number| node(&format!("deploy {number}"), "deploy", None)));
        let begun = Instant::now();
        let mut run = start(graph, begun);
        for (at, running) in [(0, 0), (1, 3), (2, 120), (5, 120)] {
            let later = begun + Duration::from_secs(running);
            let name = run.jobs()[at].file_name.clone();
            set_status(&mut run, &name, Status::Running, later);
        }
        let after = begun + Duration::from_secs(125);
        run.set_last_line(
            0,
            "[12/40] cc -O2 -o build/main.o \x1b[32msrc/main.c\x1b[0m",
        );
        let long = "a line that goes on and on and on and on and on and on and on";
        run.set_last_line(1, &long.repeat(4));
        run.set_last_line(2, "10%\r20%\tof \u{1f980}");
        set_status(&mut run, "audit", Status::Failed, after);
        (run, after)
    }

    fn draw(run: &RunModel, size: Size, now: Instant) -> String {
        let lines = region(run, size, now, Style::PLAIN.with_unicode());
        assert!(lines.len() <= size.rows.max(1), "{} lines", lines.len());
        for line in &lines {
            assert!(columns(line) < size.columns.max(2), "{line}");
        }
        lines.join("\n")
    }

    #[test]
    fn control_characters_in_names_move_nothing() {
        let now = Instant::now();
        let graph = vec![node("a\tb\u{1b}[2Jc", "x\ty", None), node("d", "z", None)];
        let mut run = start(graph, now);
        set_status(&mut run, "a\tb\u{1b}[2Jc", Status::Running, now);
        insta::assert_snapshot!(draw(&run, size(80, 24), now), @r#"

        • a bc   0:00
          d            waits for stage x y
        0:00  1 running, 1 waiting
        "#);
    }

    #[test]
    fn running_and_waiting_jobs_fit_any_size() {
        // R-PIPE-21
        let (run, now) = busy(40);
        insta::assert_snapshot!(draw(&run, size(80, 24), now), @r#"

        • compile                        2:05  [12/40] cc -O2 -o build/main.o src/main…
        • lint 日本語 🦀                 2:02  a line that goes on and on and on and o…
        • a job with a name as long a…   0:05  20% of 🦀
          unit-tests                           waits for compile
          docs                                 waits for stage build
          deploy 0                             waits for stage test
          deploy 1                             waits for stage test
          … and 38 more wait
        2:05  1 failed, 3 running, 42 waiting
        "#);
        insta::assert_snapshot!(draw(&run, size(200, 60), now), @r#"

        • compile                        2:05  [12/40] cc -O2 -o build/main.o src/main.c
        • lint 日本語 🦀                 2:02  a line that goes on and on and on and on and on and on and ona line that goes on and on and on and on and on and on and ona line that goes on and on and on and…
        • a job with a name as long a…   0:05  20% of 🦀
          unit-tests                           waits for compile
          docs                                 waits for stage build
          deploy 0                             waits for stage test
          deploy 1                             waits for stage test
          … and 38 more wait
        2:05  1 failed, 3 running, 42 waiting
        "#);
        insta::assert_snapshot!(draw(&run, size(20, 10), now), @r#"
        • compile     2:05
        • lint 日…    2:02
        • a job wi…   0:05
          … and 42 more wa…
        2:05  1 failed, 3…
        "#);
        insta::assert_snapshot!(draw(&run, size(80, 3), now), @"2:05  1 failed, 3 running, 42 waiting");
        for columns in 0..100 {
            for rows in 0..40 {
                draw(&run, size(columns, rows), now);
            }
        }
    }

    #[test]
    fn a_thousand_jobs_take_the_room_of_ten() {
        let now = Instant::now();
        let names: Vec<String> = (0..1000).map(|number| format!("job {number}")).collect();
        let graph: Vec<_> = names.iter().map(|name| node(name, "test", None)).collect();
        let mut run = start(graph, now);
        for name in &names {
            set_status(&mut run, name, Status::Running, now);
        }
        insta::assert_snapshot!(draw(&run, size(80, 24), now), @r#"

        • job 0     0:00
        • job 1     0:00
        • job 2     0:00
        • job 3     0:00
        • job 4     0:00
        • job 5     0:00
        • job 6     0:00
        • job 7     0:00
        • job 8     0:00
          … and 991 more
        0:00  1000 running
        "#);
    }

    #[test]
    fn a_run_without_jobs_has_a_line_and_one_not_started_has_none() {
        let now = Instant::now();
        let mut run = RunModel::default();
        assert!(region(&run, size(80, 24), now, Style::PLAIN).is_empty());
        run = start(vec![], now);
        assert_eq!(draw(&run, size(80, 24), now), "\n0:00");
    }

    #[test]
    fn draws_ascii_without_unicode() {
        let now = Instant::now();
        let mut run = start(vec![node("a", "test", None), node("b", "later", None)], now);
        set_status(&mut run, "a", Status::Running, now);
        let lines = region(&run, size(20, 4), now, Style::PLAIN);
        assert!(lines.iter().all(|line| line.is_ascii()), "{lines:?}");
    }
}
