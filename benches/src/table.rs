//! The printed table of a contest.

use std::fmt::Write;
use std::time::Duration;

use crate::Results;
use crate::statistics::{mebibytes, median, ratio};

/// Returns the table of one contest; `missing` are rows for unavailable tools.
pub fn table(name: &str, results: &[Results], missing: &[String]) -> String {
    let mut text = format!(
        "{name:<26} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}\n",
        "piped", "ratio", "/dev/null", "ratio", "CPU", "peak RSS"
    );
    let Some(ours) = results.first() else {
        return text;
    };
    for theirs in results {
        text.push_str(&row(theirs, ours));
    }
    for row in missing {
        text.push_str(row);
        text.push('\n');
    }
    text
}

fn row(theirs: &Results, ours: &Results) -> String {
    let tool = &theirs.tool;
    if let Some(fault) = &theirs.fault {
        return format!("{tool:<26} {fault}\n");
    }
    let piped = times(&theirs.piped, &ours.piped);
    let silent = times(&theirs.silent, &ours.silent);
    let mut row = format!(
        "{tool:<26} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6.1} MiB",
        duration(median(&theirs.piped)),
        times_text(piped),
        duration(median(&theirs.silent)),
        times_text(silent),
        duration(median(&theirs.cpu)),
        mebibytes(theirs.peak),
    );
    // The worse of the two counts.
    let times = piped.unwrap_or(0.0).min(silent.unwrap_or(0.0));
    let goals = [
        theirs
            .goal
            .map(|goal| (format!(">= {goal}x"), times >= goal)),
        theirs.peak_goal.map(|goal| {
            let words = format!("<= {} MiB", goal >> 20);
            (words, theirs.peak <= goal)
        }),
    ];
    for (words, is_met) in goals.into_iter().flatten() {
        let verdict = if is_met { "met" } else { "NOT MET" };
        let _ = write!(row, "  goal {words}: {verdict}");
    }
    row + "\n"
}

/// Returns the median factor by which the other tool is slower, by rounds; `None` where ours failed.
fn times(theirs: &[Duration], ours: &[Duration]) -> Option<f64> {
    let pairs = theirs.iter().zip(ours);
    let ratios: Vec<f64> = pairs.map(|(theirs, ours)| ratio(*theirs, *ours)).collect();
    (!ratios.is_empty()).then(|| median(&ratios))
}

fn times_text(times: Option<f64>) -> String {
    times.map_or_else(|| "-".to_owned(), |times| format!("{times:.1}x"))
}

fn duration(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(tool: &str, piped: &[u64], silent: &[u64]) -> Results {
        let times = |millis: &[u64]| millis.iter().copied().map(Duration::from_millis).collect();
        Results {
            tool: tool.to_owned(),
            piped: times(piped),
            silent: times(silent),
            cpu: vec![Duration::from_millis(5)],
            peak: 3 << 20,
            ..Results::default()
        }
    }

    #[test]
    fn ratios_use_matching_rounds_and_the_worse_one_counts() {
        let ours = results("ours", &[10, 100, 10], &[10]);
        let theirs = Results {
            goal: Some(5.0),
            ..results("theirs", &[60, 600, 70], &[40])
        };
        let text = table("work", &[ours, theirs], &[]);
        let row = text.lines().nth(2).expect("a row for each");
        let words: Vec<&str> = row.split_whitespace().collect();
        let expected = "theirs 70.0 ms 6.0x 40.0 ms 4.0x 5.0 ms 3.0 MiB goal >= 5x: NOT MET";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn memory_goal_is_checked() {
        let ours = Results {
            peak_goal: Some(4 << 20),
            ..results("ours", &[1], &[1])
        };
        assert!(table("work", &[ours], &[]).contains("goal <= 4 MiB: met"));
    }

    #[test]
    fn failed_and_missing_tools_have_rows() {
        let ours = results("ours", &[1], &[1]);
        let theirs = Results {
            fault: Some("DIED OF MEMORY".to_owned()),
            ..results("theirs", &[], &[])
        };
        let missing = ["other NOT MEASURED: no network".to_owned()];
        let text = table("work", &[ours, theirs], &missing);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows[0].split_once(' ').map(|(_, rest)| rest.trim()),
            Some("DIED OF MEMORY")
        );
        assert_eq!(rows[1], "other NOT MEASURED: no network");
    }

    #[test]
    fn tools_that_ran_are_shown_even_where_ours_failed() {
        let ours = Results {
            fault: Some("FAILED".to_owned()),
            ..results("ours", &[], &[])
        };
        let text = table("work", &[ours, results("theirs", &[2], &[2])], &[]);
        assert!(
            text.lines()
                .nth(2)
                .is_some_and(|row| row.contains("2.0 ms         -"))
        );
    }
}
