//! `runwright watch`.

use crate::killed_runner::guardian;
use crate::project::{DEADLINE, Project, processes_with, wait_until};
use crate::signals::interrupt;
use crate::tmux::Terminal;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const PIPELINE: &str = "\
stages: [build, test]
app:
  stage: build
  script: ['date +%s%N > app.txt', echo built]
  artifacts: {paths: [app.txt]}
check:
  stage: test
  script: cat app.txt src/a
  needs: [app]
lint:
  stage: test
  script: echo linted
  needs: []
";

const INPUTS: &str = "\
[jobs.app]
inputs = ['src/app']
[jobs.check]
inputs = ['src']
[jobs.lint]
inputs = ['docs/**']
";

/// The message that the watch waits for another change.
const WAITS: &str = "waiting for changes";

fn project() -> Project {
    let project = Project::with_pipeline(PIPELINE);
    project.write(".runwright.toml", INPUTS);
    project.write(".gitignore", "*.ignored\n");
    project.write("src/a", "first\n");
    project.write("docs/d", "");
    project.commit();
    project
}

/// A running watch, which is stopped on drop.
struct Watch<'p> {
    project: &'p Project,
    child: Child,
}

impl<'p> Watch<'p> {
    fn start(project: &'p Project, options: &[&str]) -> Self {
        let options = [&["watch"], options].concat();
        let child = project.start(&options);
        Self { project, child }
    }

    /// Waits until the watch has started to wait `times` times.
    fn waits(&self, times: usize) {
        let end = Instant::now() + DEADLINE;
        loop {
            let printed = self.project.printed();
            if printed.matches(WAITS).count() >= times {
                return;
            }
            assert!(Instant::now() < end, "{times} times in {printed}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Returns the output of a round, counted from 1.
    fn round(&self, number: usize) -> String {
        self.waits(number);
        let printed = self.project.printed();
        printed.split(WAITS).nth(number - 1).unwrap().to_owned()
    }

    /// Stops the watch while it waits.
    fn end(mut self) -> String {
        interrupt(self.child.id(), "-INT");
        let code = self.child.wait().unwrap().code();
        let printed = self.project.printed();
        assert_eq!(code, Some(0), "{printed}");
        assert!(
            self.project.leftovers().is_empty(),
            "{:?}",
            self.project.leftovers()
        );
        printed
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Saves a file by rename as editors do, so that no reader sees an empty file.
fn save(project: &Project, path: &str, text: &str) {
    let whole = project.scratch().join("saved");
    fs::write(&whole, text).unwrap();
    let path = project.dir().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::rename(whole, path).unwrap();
}

#[test]
fn change_reruns_the_touched_jobs_and_reuses_their_needs() {
    let project = project();
    let watch = Watch::start(&project, &[]);
    let first = watch.round(1);
    assert!(first.contains("pipeline 1: success (3 success)"), "{first}");
    save(&project, "src/a", "second\n");
    let second = watch.round(2);
    assert!(second.contains("round 2: src/a changed"), "{second}");
    assert!(second.contains("reused from run 1"), "{second}");
    assert!(second.contains("check | second"), "{second}");
    assert!(
        !second.contains("built") && !second.contains("linted"),
        "{second}"
    );
    let figure = |round: &str| {
        let mut lines = round
            .lines()
            .filter_map(|line| line.strip_prefix("check | "));
        let line = lines.find(|line| line.bytes().all(|it| it.is_ascii_digit()));
        line.map(str::to_owned)
    };
    assert!(
        figure(&first).is_some() && figure(&first) == figure(&second),
        "{first}{second}"
    );
    // The artifacts of the needed job are gone, so it runs too.
    let runs = crate::project::files_below(&project.home());
    let kept = runs.iter().filter(|path| path.ends_with("artifacts"));
    for path in
        kept.filter(|path| path.is_dir() && !path.starts_with(project.home().join("content")))
    {
        fs::remove_dir_all(path).unwrap();
    }
    fs::remove_dir_all(project.home().join("content")).unwrap();
    save(&project, "src/a", "third\n");
    let third = watch.round(3);
    assert!(third.contains("check | third"), "{third}");
    watch.end();
}

#[test]
fn touched_and_ignored_files_start_no_round() {
    let project = project();
    let watch = Watch::start(&project, &[]);
    watch.waits(1);
    // A watch that has seen a change knows the contents before it.
    save(&project, "docs/d", "y");
    watch.waits(2);
    save(&project, "src/a", "first\n");
    save(&project, "src/x.ignored", "x");
    save(&project, "ignored.ignored/deep/x", "x");
    save(&project, "src/.a.swp", "x");
    save(&project, "docs/d~", "x");
    // Saved by rename with the same contents; a watcher may see the temporary file for a moment.
    project.write("docs/.d.swp", "y");
    fs::rename(
        project.dir().join("docs/.d.swp"),
        project.dir().join("docs/d"),
    )
    .unwrap();
    // Any event after this belongs to the first change.
    save(&project, "docs/new/deep/e", "x");
    let third = watch.round(3);
    assert!(
        third.contains("round 3: docs/new/deep/e changed"),
        "{third}"
    );
    assert!(third.contains("lint | linted"), "{third}");
    // A file in a directory that was empty.
    fs::create_dir_all(project.dir().join("docs/empty/too")).unwrap();
    save(&project, "docs/f", "x");
    watch.waits(4);
    save(&project, "docs/empty/too/g", "x");
    let fifth = watch.round(5);
    assert!(
        fifth.contains("round 5: docs/empty/too/g changed"),
        "{fifth}"
    );
    fs::remove_file(project.dir().join("docs/f")).unwrap();
    assert!(watch.round(6).contains("round 6: docs/f changed"));
    save(&project, "README", "x");
    assert!(watch.round(7).contains("no job is affected"));
    watch.end();
}

#[test]
fn thousands_of_files_at_once_make_one_round() {
    let project = project();
    for at in 0..3000 {
        project.write(&format!("docs/{}/{at}", at % 100), "a");
    }
    project.commit();
    project.git(&["checkout", "-q", "-b", "other"]);
    for at in 0..3000 {
        project.write(&format!("docs/{}/{at}", at % 100), "b");
    }
    project.commit();
    let watch = Watch::start(&project, &["lint"]);
    watch.waits(1);
    // The watch stands still meanwhile, so that a slow disk does not spread the changes over two rounds.
    interrupt(watch.child.id(), "-STOP");
    project.git(&["checkout", "-q", "main"]);
    interrupt(watch.child.id(), "-CONT");
    let second = watch.round(2);
    assert!(second.contains("and 2997 more changed"), "{second}");
    save(&project, "docs/d", "last");
    let third = watch.round(3);
    assert!(third.contains("round 3: docs/d changed"), "{third}");
    watch.end();
}

#[test]
fn broken_pipeline_is_reported_and_waits_for_the_next_save() {
    let project = project();
    project.write(".gitlab-ci.yml", "job: [");
    let watch = Watch::start(&project, &[]);
    assert!(watch.round(1).contains("error[yaml-syntax]"));
    // Changes made while the file is broken are not lost.
    save(&project, "docs/d", "x");
    watch.waits(2);
    save(&project, ".gitlab-ci.yml", PIPELINE);
    let third = watch.round(3);
    assert!(third.contains("pipeline 1: success (3 success)"), "{third}");
    fs::remove_file(project.dir().join(".gitlab-ci.yml")).unwrap();
    assert!(watch.round(4).contains("no .gitlab-ci.yml"));
    save(&project, ".gitlab-ci.yml", &format!("{PIPELINE}# more\n"));
    let fifth = watch.round(5);
    assert!(fifth.contains("pipeline 2: success (3 success)"), "{fifth}");
    watch.end();
}

#[test]
fn a_watch_without_a_pipeline_suggests_a_watch_that_has_one() {
    let project = project();
    project.write(
        ".gitlab-ci.yml",
        "job: {script: [echo], rules: [{if: $CI_COMMIT_TAG}]}\n",
    );
    let watch = Watch::start(&project, &[]);
    let first = watch.round(1);
    let help = "`runwright watch --tag v1.0.0` creates a pipeline";
    assert!(first.contains(help), "{first}");
    watch.end();
}

#[test]
fn jobs_skipped_after_a_failure_run_once_it_is_fixed() {
    let pipeline = "\
stages: [one, two]
first: {stage: one, script: test ! -e src/bad}
second: {stage: two, script: echo came}
";
    let project = Project::with_pipeline(pipeline);
    project.write(
        ".runwright.toml",
        "[jobs.first]\ninputs = ['src']\n[jobs.second]\ninputs = []\n",
    );
    project.write("src/bad", "");
    project.commit();
    let watch = Watch::start(&project, &[]);
    assert!(watch.round(1).contains("failed"));
    fs::remove_file(project.dir().join("src/bad")).unwrap();
    let second = watch.round(2);
    assert!(second.contains("second | came"), "{second}");
    watch.end();
}

/// A job that runs until a file exists.
const LONG: &str = "\
long:
  script:
    - cat src/a
    - while test ! -e \"$STOP\"; do sleep 0.05; done
";

#[test]
fn change_during_a_run_waits_for_its_end() {
    let project = Project::with_pipeline(LONG);
    save(&project, "src/a", "first\n");
    project.commit();
    let stop = project.scratch().join("stop");
    let stop = format!("STOP={}", stop.display());
    let watch = Watch::start(&project, &["--variable", &stop]);
    project.wait_for("long | first");
    save(&project, "src/a", "second\n");
    fs::write(project.scratch().join("stop"), "").unwrap();
    let second = watch.round(2);
    assert!(second.contains("long | second"), "{second}");
    let printed = watch.end();
    assert!(printed.contains("pipeline 1: success"), "{printed}");
}

#[test]
fn changes_during_a_run_make_one_round() {
    let project = Project::with_pipeline(LONG);
    save(&project, "src/a", "first\n");
    project.commit();
    let stop = project.scratch().join("stop");
    let stop = format!("STOP={}", stop.display());
    let watch = Watch::start(&project, &["--variable", &stop]);
    project.wait_for("long | first");
    // Long enough that the changes are not merged, and that both are seen before the run ends.
    let pause = || std::thread::sleep(std::time::Duration::from_millis(700));
    save(&project, "src/a", "second\n");
    pause();
    save(&project, "src/a", "third\n");
    pause();
    fs::write(project.scratch().join("stop"), "").unwrap();
    let second = watch.round(2);
    assert!(second.contains("long | third"), "{second}");
    save(&project, "src/new", "");
    let third = watch.round(3);
    assert!(third.contains("round 3: src/new changed"), "{third}");
    // The new one counts as well.
    assert!(watch.end().contains("waiting for changes of 3 files"));
}

#[test]
fn with_restart_broken_settings_end_the_round_and_are_reported() {
    let project = Project::with_pipeline(LONG);
    save(&project, "src/a", "first\n");
    project.commit();
    let stop = project.scratch().join("stop");
    let stop = format!("STOP={}", stop.display());
    let watch = Watch::start(&project, &["--restart", "--variable", &stop]);
    project.wait_for("long | first");
    save(&project, ".runwright.toml", "bad = 1\n");
    let second = watch.round(2);
    assert!(second.contains(".runwright.toml:1:1"), "{second}");
    fs::write(project.scratch().join("stop"), "").unwrap();
    save(&project, ".runwright.toml", "");
    let third = watch.round(3);
    assert!(third.contains("pipeline 2: success"), "{third}");
    let printed = watch.end();
    assert!(printed.contains("pipeline 1: canceled"), "{printed}");
}

#[test]
fn with_restart_a_change_cancels_the_run() {
    let project = Project::with_pipeline(LONG);
    save(&project, "src/a", "first\n");
    project.commit();
    let stop = project.scratch().join("stop");
    let stop = format!("STOP={}", stop.display());
    let watch = Watch::start(&project, &["--restart", "--variable", &stop]);
    project.wait_for("long | first");
    save(&project, "src/a", "second\n");
    project.wait_for("long | second");
    fs::write(project.scratch().join("stop"), "").unwrap();
    watch.waits(2);
    let printed = watch.end();
    assert!(printed.contains("pipeline 1: canceled"), "{printed}");
    assert!(printed.contains("pipeline 2: success"), "{printed}");
}

#[test]
fn ctrl_c_during_a_run_cancels_it_and_ends_the_watch() {
    let project = Project::with_pipeline(LONG);
    save(&project, "src/a", "first\n");
    let stop = format!("STOP={}/never", project.scratch().display());
    let mut watch = Watch::start(&project, &["--variable", &stop]);
    project.wait_for("long | first");
    interrupt(watch.child.id(), "-INT");
    let code = watch.child.wait().unwrap().code();
    assert_eq!(code, Some(130), "{}", project.printed());
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}

#[test]
fn jobs_in_the_working_tree_do_not_trigger_themselves() {
    let pipeline = "\
job:
  script:
    - cat src/a
    - date +%s%N > app.txt
    - date +%s%N > by-the-way.txt
  artifacts: {paths: [app.txt]}
";
    let project = Project::with_pipeline(pipeline);
    save(&project, "src/a", "first\n");
    project.commit();
    let watch = Watch::start(&project, &["--in-place"]);
    // A file that is not an artifact may be the user's, so it triggers one round.
    let second = watch.round(2);
    assert!(
        second.contains("round 2: by-the-way.txt changed"),
        "{second}"
    );
    assert!(second.contains("changes whenever the jobs run"), "{second}");
    save(&project, "src/a", "second\n");
    let third = watch.round(3);
    assert!(third.contains("round 3: src/a changed"), "{third}");
    assert!(third.contains("job | second"), "{third}");
    watch.end();
    let refused = project.runwright(&["watch", "--in-place", "--restart"]);
    refused
        .expect_code(2)
        .expect_text("--restart cannot be used with");
}

#[test]
fn without_file_events_it_polls_for_changes() {
    let project = project();
    let watch = Watch::start(&project, &["--poll", "lint"]);
    let first = watch.round(1);
    assert!(
        first.contains("looking for changes every 1s: --poll asks for it"),
        "{first}"
    );
    save(&project, "docs/d", "x");
    assert!(watch.round(2).contains("round 2: docs/d changed"));
    watch.end();
}

#[test]
fn events_and_reports_cover_each_round() {
    let project = project();
    let options = [
        "--progress",
        "json",
        "--events",
        "events.jsonl",
        "--report",
        "end.json",
        "lint",
    ];
    let watch = Watch::start(&project, &options);
    watch.waits(1);
    save(&project, "docs/d", "x");
    watch.waits(2);
    let printed = watch.end();
    assert_eq!(
        printed.matches("\"type\":\"pipeline_done\"").count(),
        2,
        "{printed}"
    );
    // The watch's own files are not changes.
    let events = fs::read_to_string(project.dir().join("events.jsonl")).unwrap();
    assert_eq!(
        events.matches("\"type\":\"pipeline_done\"").count(),
        2,
        "{events}"
    );
    // A round is recorded like any other run.
    let history = project.runwright(&["history"]).expect_code(0);
    assert_eq!(
        history
            .stdout
            .lines()
            .filter(|line| line.contains("success"))
            .count(),
        2,
        "{history:?}"
    );
    let nothing = project.runwright(&["resume"]);
    nothing.expect_code(2).expect_text("ended with success");
}

#[test]
fn own_output_in_the_tree_is_not_a_change() {
    let project = project();
    let log = project.dir().join("log");
    std::os::unix::fs::symlink(log, project.scratch().join("out")).unwrap();
    let watch = Watch::start(&project, &["lint"]);
    watch.waits(1);
    save(&project, "docs/d", "x");
    let second = watch.round(2);
    assert!(second.contains("--- round 2: docs/d changed"), "{second}");
    let printed = watch.end();
    assert_eq!(printed.matches("---").count(), 1, "{printed}");
    assert!(project.dir().join("log").metadata().unwrap().len() > 0);
}

#[test]
fn next_command_cleans_up_after_a_kill() {
    let marker = format!("runwright-test-watch-{}", std::process::id());
    let project = Project::with_pipeline(&format!(
        "job:\n  variables: {{MARK: {marker}}}\n  script: [echo ready, sleep 600]\n"
    ));
    let mut watch = Watch::start(&project, &[]);
    project.wait_for("job | ready");
    guardian(&project);
    watch.child.kill().unwrap();
    watch.child.wait().unwrap();
    wait_until("no process of the job", || {
        processes_with(&marker).is_empty()
    });
    let resumed = project.runwright(&["history"]).expect_code(0);
    resumed.expect_text("killed");
}

#[test]
fn terminal_separates_rounds_and_keeps_none_of_the_live_view() {
    let project = project();
    let terminal = Terminal::start(&project, (80, 24), "watch lint");
    terminal.wait_for(&["✓ lint", "waiting for changes"]);
    save(&project, "docs/d \u{1b}[31m", "x");
    terminal.wait_for(&["--- round 2: docs/d", "pipeline 2: success"]);
    let twice = || terminal.text().matches(WAITS).count() == 2;
    wait_until("it waits again", twice);
    terminal.press("C-c");
    terminal.wait_for(&["[exit code 0]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn clear_starts_each_round_on_an_empty_screen() {
    let project = project();
    let terminal = Terminal::start(&project, (80, 24), "watch --clear lint");
    terminal.wait_for(&["pipeline 1: success", "waiting for changes"]);
    save(&project, "docs/d", "x");
    terminal.wait_for(&[
        "--- round 2: docs/d",
        "pipeline 2: success",
        "waiting for changes",
    ]);
    let text = terminal.text();
    assert!(!text.contains("pipeline 1: success"), "{text}");
    terminal.press("C-c");
    terminal.wait_for(&["[exit code 0]"]);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]
fn watch_polls_when_the_system_limits_file_watches() {
    let project = project();
    // A user namespace has its own limits.
    let script = "echo 1 > /proc/sys/user/max_inotify_watches && exec \"$0\" watch lint";
    let out = fs::File::create(project.scratch().join("out")).unwrap();
    let child = Command::new("unshare")
        .args(["-Ur", "sh", "-c", script, env!("CARGO_BIN_EXE_runwright")])
        .current_dir(project.dir())
        .env("RUNWRIGHT_HOME", project.home())
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn()
        .unwrap();
    let watch = Watch {
        project: &project,
        child,
    };
    let first = watch.round(1);
    assert!(
        first.contains("the limit of watched directories is reached"),
        "{first}"
    );
    save(&project, "docs/d", "x");
    assert!(watch.round(2).contains("round 2: docs/d changed"));
    watch.end();
}

#[test]
fn unknown_job_is_not_waited_for() {
    let project = Project::with_pipeline("job: {script: [echo]}\n");
    project
        .runwright(&["watch", "jbo"])
        .expect_code(2)
        .expect_text("there is no job `jbo`; did you mean `job`?");
}
