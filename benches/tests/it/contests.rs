//! Failing tools are contained, and reported as failures.

use std::time::Duration;

use benches::{Bench, Contest, End, Tool, Workload};
use tokio::runtime::Builder;

fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build();
    let result = runtime.expect("a runtime").block_on(future);
    result.expect("the bench itself works")
}

fn shell(name: &str, script: &str) -> Tool {
    Tool::new(name, "sh").run_with(&["-c", script])
}

#[test]
fn tools_run_in_turn_in_trees_of_their_own() {
    let results = block_on(async {
        let bench = Bench::start()?;
        let log = tempfile::NamedTempFile::new()?;
        let script = |name: &str| {
            let log = log.path().display();
            format!("test ! -e mine && touch mine && echo {name} >> {log}; rm mine")
        };
        let contest = Contest::new(Workload::one(), shell("first", &script("a")));
        let contest = contest.against(shell("second", &script("b")));
        let results = contest.hold(&bench, 2).await?;
        Ok((results, std::fs::read_to_string(log.path())?))
    });
    let (results, log) = results;
    // Two warm-up runs, one for each kind of output, and two rounds with two runs each.
    assert_eq!(log.replace('\n', ""), "ab".repeat(6));
    for result in results {
        assert_eq!(result.fault, None);
        assert_eq!((result.piped.len(), result.silent.len()), (2, 2));
    }
}

#[test]
fn tool_that_fails_is_shown_and_runs_no_more() {
    let results = block_on(async {
        let bench = Bench::start()?;
        let contest = Contest::new(Workload::one(), shell("good", "true"));
        let contest = contest.against(shell("bad", "echo the reason; exit 3"));
        contest.hold(&bench, 1).await
    });
    assert_eq!(results[0].fault, None);
    let fault = results[1].fault.as_deref().unwrap_or_default();
    assert!(fault.starts_with("FAILED with exit code 3"), "{fault}");
    assert!(fault.ends_with("the reason"), "{fault}");
    assert_eq!(results[1].piped.len(), 0);
}

#[test]
fn memory_beyond_the_limit_is_refused_and_recognised() {
    let results = block_on(async {
        let bench = Bench::start()?;
        // A shell that holds a line of two hundred megabytes in a variable, unless the limit stops it.
        let hog = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}";
        let hog = Tool::new("hog", "bash").run_with(&["-c", hog]);
        let contest = Contest::new(Workload::one(), hog).memory_limit(32 << 20);
        contest.hold(&bench, 1).await
    });
    let fault = results[0].fault.as_deref().unwrap_or_default();
    assert!(fault.starts_with("DIED OF MEMORY"), "{fault}");
}

#[test]
fn program_without_end_is_killed() {
    let run = block_on(async {
        let bench = Bench::start()?;
        let sleep = bench.command("sleep").arg("1000");
        bench.run_within(&sleep, Duration::from_millis(50)).await
    });
    assert_eq!(run.end, End::TimedOut);
}
