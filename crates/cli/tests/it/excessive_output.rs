//! Excessive output, and output that is not text.

use crate::project::{Project, is_of_slow_stage};
use std::fs;
use std::process::ExitStatus;
use std::time::Duration;

/// How much more memory than a run that prints one line a run may need: far less than it prints. The program itself is large without
/// optimisation.
const MORE_MEMORY_KIB: u64 = 24 * 1024;

/// Checks the memory of a run, in KiB.
fn assert_bounded(memory: u64) {
    let (_, least) = run(&Project::with_pipeline("job: {script: [echo one]}"));
    assert!(
        memory < least + MORE_MEMORY_KIB,
        "{memory} KiB, against {least}"
    );
}

/// Runs the project's pipeline and returns its result and its peak memory in KiB.
fn run(project: &Project) -> (ExitStatus, u64) {
    let mut run = project.start(&["run"]);
    let status = format!("/proc/{}/status", run.id());
    let mut most = 0;
    loop {
        // The system records the peak, so only the last sample matters.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        most = number.map_or(most, |number| number.parse().unwrap());
        if let Some(status) = run.try_wait().unwrap() {
            return (status, most);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn flood_of_output_uses_bounded_memory_and_stops_nothing() {
    // fault 37
    let project = Project::with_pipeline(
        r#"
job:
  script:
    - line=$(printf '%0999d' 7)
    - for _ in $(seq 100); do lines="$lines$line"$'\n'; done
    - for _ in $(seq 1000); do printf '%s' "$lines"; done
    - echo the-end
"#,
    );
    let (status, memory) = run(&project);
    assert_eq!(status.code(), Some(0), "{:?}", project.printed_end());
    assert!(project.printed_end().contains("job | the-end\n"));
    assert_bounded(memory);
    let kept = project.only_log();
    assert!(kept.len() > 100_000_000, "{}", kept.len());
    assert!(kept.ends_with(b"Job succeeded\x1b[0;m\n"));
    assert!(project.leftovers().is_empty());
}

#[test]
fn endless_line_and_invalid_utf8_do_no_harm() {
    // fault 38
    let odd = r"\000<\377\303(\r\b\033[31m\033]0;title\007\033[2J\302\233>";
    // The two bytes of the last letter arrive with a pause longer than the runner waits for the rest.
    let project = Project::with_pipeline(&format!(
        r"
job:
  script:
    - head -c 200000000 /dev/zero | tr '\000' x
    - printf '{odd}\303'; sleep 0.2; printf '\251\n'
    - echo the-end
"
    ));
    let (status, memory) = run(&project);
    assert_eq!(status.code(), Some(0), "{:?}", project.printed_end());
    assert_bounded(memory);

    // The displayed output is text without terminal commands.
    let shown = fs::read(project.scratch().join("out")).unwrap();
    let shown = String::from_utf8(shown).expect("text");
    let shown = shown.lines().filter(|line| line.starts_with("job | "));
    let shown = shown.filter(|line| !is_of_slow_stage(line));
    let control = |line: &&str| line.chars().any(char::is_control);
    let shown: Vec<&str> = shown.collect();
    assert_eq!(shown.iter().copied().find(control), None);
    let pieces = shown.iter().map(|line| line.matches('x').count());
    assert!(pieces.sum::<usize>() >= 200_000_000);
    let end = &shown[shown.len().saturating_sub(6)..];
    assert!(end.contains(&"job | the-end"), "{end:?}");
    assert!(end.iter().any(|line| line.ends_with('é')), "{end:?}");

    // The stored log contains the exact bytes.
    let kept = project.only_log();
    let kept = &kept[kept.len() - 10_000..];
    let odd = b"\0<\xff\xc3(\r\x08\x1b[31m\x1b]0;title\x07\x1b[2J\xc2\x9b>";
    assert!(kept.windows(odd.len()).any(|window| window == odd));
}
