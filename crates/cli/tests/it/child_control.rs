//! Child and downstream pipelines that are controlled, resumed or retried by the user.

use crate::project::{Project, files_below, wait_until_described};
use std::fs;
use std::path::PathBuf;

/// A project whose jobs record that they ran. `OUT` in its files is a directory they share.
struct ParentProject(Project);

impl ParentProject {
    fn new(files: &[(&str, &str)]) -> Self {
        let parent = Self(Project::with_pipeline(""));
        fs::create_dir(parent.out()).unwrap();
        for (name, text) in files {
            parent.write(name, text);
        }
        parent.0.commit();
        parent
    }

    fn write(&self, name: &str, text: &str) {
        let text = text.replace("OUT", &self.out().display().to_string());
        self.0.write(name, &text);
    }

    fn out(&self) -> PathBuf {
        self.0.scratch().join("shared")
    }

    /// Returns the jobs that ran since the last call, in alphabetical order.
    fn ran(&self) -> Vec<String> {
        let ran = self.ran_so_far();
        let _ = fs::remove_file(self.out().join("ran"));
        ran
    }

    fn ran_so_far(&self) -> Vec<String> {
        let text = fs::read_to_string(self.out().join("ran")).unwrap_or_default();
        let mut ran: Vec<String> = text.lines().map(str::to_owned).collect();
        ran.sort();
        ran
    }

    /// Starts a run and waits until this many jobs are running.
    fn start(&self, count: usize) -> std::process::Child {
        let run = self.0.start(&["run", "--concurrency", "16"]);
        let describe = || {
            format!(
                "{count} jobs: {:?}\n{}",
                self.ran_so_far(),
                self.0.printed()
            )
        };
        wait_until_described(describe, || self.ran_so_far().len() >= count);
        run
    }

    /// Returns whether a journal records that a job has finished.
    fn has_noted_the_end_of(&self, job: &str) -> bool {
        let name = format!("\"{job}\"");
        files_below(&self.0.home())
            .iter()
            .filter(|path| path.ends_with("journal.jsonl"))
            .filter_map(|path| fs::read_to_string(path).ok())
            .any(|journal| {
                let mut lines = journal.lines();
                lines.any(|line| line.contains("job_finished") && line.contains(&name))
            })
    }

    /// Lets the waiting jobs finish.
    fn let_go(&self) {
        fs::write(self.out().join("go"), "").unwrap();
    }

    fn sockets(&self) -> Vec<PathBuf> {
        let mut files = files_below(&self.0.home());
        files.retain(|path| path.file_name().is_some_and(|name| name == "control"));
        files
    }
}

const WAITS: &str = "until test -e OUT/go; do sleep 0.05; done";

const CHILD: &str = "
stages: [a, b]
one: {stage: a, script: ['echo $BY one >>OUT/ran']}
two: {stage: b, script: ['echo $BY two >>OUT/ran', 'WAITS']}
";

fn child(text: &str) -> String {
    text.replace("WAITS", WAITS)
}

#[test]
fn no_finished_job_of_a_killed_child_runs_again() {
    let parent = ParentProject::new(&[
        (
            ".gitlab-ci.yml",
            "
stages: [a, b, c]
follow: {stage: a, variables: {BY: follow}, trigger: {include: deep.yml, strategy: depend}}
leave: {stage: a, variables: {BY: leave}, trigger: {include: child.yml}}
quick: {stage: a, script: ['echo quick >>OUT/ran']}
last: {stage: c, script: ['echo last >>OUT/ran']}
",
        ),
        (
            "deep.yml",
            "
stages: [a, b]
top: {stage: a, script: ['echo top >>OUT/ran']}
below: {stage: b, variables: {BY: below}, trigger: {include: child.yml}}
",
        ),
        ("child.yml", &child(CHILD)),
    ]);
    let mut run = parent.start(6);
    // For the others, the next job shows that they have finished.
    wait_until_described(
        || "the end of `quick` to be noted".to_owned(),
        || parent.has_noted_the_end_of("quick"),
    );
    run.kill().unwrap();
    run.wait().unwrap();
    let first = [
        "below one",
        "below two",
        "leave one",
        "leave two",
        "quick",
        "top",
    ];
    // The trigger job that does not wait lets the last stage start.
    let mut ran = parent.ran();
    ran.retain(|job| job != "last");
    assert_eq!(ran, first);
    parent.let_go();
    let done = parent.0.runwright(&["resume", "1"]).expect_code(0);
    let mut ran = parent.ran();
    ran.retain(|job| job != "last");
    assert_eq!(ran, ["below two", "leave two"], "{done:?}");
    let below = |line: &&str| line.starts_with("below follow > below: pipeline ");
    let ended = done.stdout.lines().find(below);
    assert!(
        ended.is_some_and(|line| line.contains(": success")),
        "{done:?}"
    );
    done.expect_text("below leave: pipeline ");
    parent
        .0
        .runwright(&["resume", "1"])
        .expect_code(2)
        .expect_text("there is nothing to resume");
    assert_eq!(parent.0.leftovers(), [] as [PathBuf; 0]);
    assert_eq!(parent.sockets(), [] as [PathBuf; 0]);
}

#[test]
fn downstream_pipeline_of_another_project_is_resumed() {
    let parent = ParentProject::new(&[(
        ".gitlab-ci.yml",
        "
ship: {variables: {BY: ship}, trigger: {project: group/other, strategy: depend}}
leave: {variables: {BY: leave}, trigger: {project: group/other}}
",
    )]);
    let other =
        Project::with_pipeline(&child(CHILD).replace("OUT", &parent.out().display().to_string()));
    other.commit();
    fs::create_dir_all(parent.0.home()).unwrap();
    let settings = format!(
        "[projects]\n\"group/other\" = \"{}\"\n",
        other.dir().display()
    );
    fs::write(parent.0.home().join("config.toml"), settings).unwrap();
    let mut run = parent.start(4);
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(
        parent.ran(),
        ["leave one", "leave two", "ship one", "ship two"]
    );
    let at = other.dir().display().to_string();
    parent
        .0
        .runwright(&["resume", "-C", &at, "2"])
        .expect_code(2)
        .expect_text("of another project")
        .expect_text("runwright resume -C ");
    parent.let_go();
    parent.0.runwright(&["resume"]).expect_code(0);
    assert_eq!(parent.ran(), ["leave two", "ship two"]);
}

#[test]
fn jobs_of_a_child_are_controlled_and_inspected() {
    let parent = ParentProject::new(&[
        (
            ".gitlab-ci.yml",
            "deploy: {variables: {BY: deploy}, trigger: {include: child.yml, strategy: depend}}\n",
        ),
        (
            "child.yml",
            &child(
                "
long: {script: ['echo long >>OUT/ran', 'WAITS']}
other: {script: ['echo other >>OUT/ran', 'sleep 100'], allow_failure: true}
hand: {when: manual, allow_failure: true, script: ['echo hand $TO >>OUT/ran', 'echo by hand >left'], artifacts: {paths: [left]}}
",
            ),
        ),
    ]);
    let mut run = parent.start(2);
    let say = |words: &[&str]| parent.0.runwright(words);
    say(&["play", "2", "hand", "--variable", "TO=there"]).expect_code(0);
    let describe = || format!("hand: {:?}", parent.ran_so_far());
    wait_until_described(describe, || {
        parent.ran_so_far().contains(&"hand there".to_owned())
    });
    say(&["cancel", "1", "deploy > other"])
        .expect_code(0)
        .expect_text("other of run 2 is being canceled");
    say(&["cancel", "2", "--now"])
        .expect_code(2)
        .expect_text("only the run that started it");
    say(&["play", "2", "hnd"]).expect_code(2);
    parent.let_go();
    assert!(run.wait().unwrap().success(), "{}", parent.0.printed());
    say(&["logs", "deploy > hand"])
        .expect_code(0)
        .expect_text("by hand >left");
    say(&["logs", "2", "hand"]).expect_code(0);
    let out = parent.0.scratch().join("got");
    let to = out.display().to_string();
    say(&["artifacts", "1", "deploy > hand", "-o", &to]).expect_code(0);
    assert_eq!(fs::read_to_string(out.join("left")).unwrap(), "by hand\n");
    for verb in ["resume", "retry"] {
        say(&[verb, "2"])
            .expect_code(2)
            .expect_text("run 2 is a child pipeline of run 1")
            .expect_text(&format!("`runwright {verb} 1`"));
    }
    assert_eq!(parent.sockets(), [] as [PathBuf; 0]);
}

#[test]
fn manual_job_that_blocks_a_child_is_played_later() {
    let parent = ParentProject::new(&[
        (
            ".gitlab-ci.yml",
            "
stages: [a, b]
deploy: {stage: a, trigger: {include: child.yml, strategy: depend}}
after: {stage: b, script: ['echo after >>OUT/ran']}
",
        ),
        (
            "child.yml",
            "
stages: [a, b]
one: {stage: a, script: ['echo one >>OUT/ran']}
hand: {stage: b, when: manual, allow_failure: false, script: ['echo hand >>OUT/ran']}
",
        ),
    ]);
    let say = |words: &[&str]| parent.0.runwright(words);
    say(&["run"])
        .expect_code(0)
        .expect_text("it waits for deploy > hand: runwright play 2 hand continues it");
    assert_eq!(parent.ran(), ["one"]);
    say(&["resume"])
        .expect_code(2)
        .expect_text("waits for manual jobs");
    say(&["play", "deploy"])
        .expect_code(2)
        .expect_text("job \"deploy\" of run 1 waits for run 2")
        .expect_text("`runwright play 2 hand`");
    say(&["play", "2", "hand"]).expect_code(0);
    assert_eq!(parent.ran(), ["after", "hand"]);
}

#[test]
fn retry_runs_failed_jobs_of_children_again() {
    let parent = ParentProject::new(&[
        (
            ".gitlab-ci.yml",
            "follow: {variables: {BY: follow}, trigger: {include: child.yml, strategy: depend}}
leave: {variables: {BY: leave}, trigger: {include: child.yml}}\n",
        ),
        (
            "child.yml",
            "good: {script: ['echo $BY good >>OUT/ran']}\nbad: {script: ['echo $BY bad >>OUT/ran', test -e OUT/go]}\n",
        ),
    ]);
    let say = |words: &[&str]| parent.0.runwright(words);
    let done = say(&["run"]).expect_code(1);
    assert_eq!(done.all().matches("whole log:").count(), 2, "{done:?}");
    assert_eq!(parent.ran().len(), 4);
    say(&["resume"])
        .expect_code(2)
        .expect_text("nothing to resume");
    parent.let_go();
    say(&["retry"]).expect_code(0);
    assert_eq!(parent.ran(), ["follow bad", "leave bad"]);
    say(&["retry"])
        .expect_code(2)
        .expect_text("nothing to retry");
}

#[test]
fn trigger_job_may_have_an_environment() {
    let parent = ParentProject::new(&[
        (
            ".gitlab-ci.yml",
            "
good: {environment: {name: prod}, trigger: {include: child.yml, strategy: depend}}
left: {environment: {name: stage}, trigger: {include: child.yml}}
bad: {environment: {name: never}, trigger: {include: none.yml}}
",
        ),
        ("child.yml", "unit: {script: ['true']}\n"),
    ]);
    parent.0.runwright(&["run"]).expect_code(1);
    let output = parent.0.runwright(&["environments"]).expect_code(0).stdout;
    assert!(
        output.contains("prod") && output.contains("stage"),
        "{output}"
    );
    assert!(!output.contains("never"), "{output}");
}

#[test]
fn logs_of_children_name_the_cause_of_a_cancellation() {
    let parent = ParentProject::new(&[
        (
            ".gitlab-ci.yml",
            "deploy: {variables: {BY: deploy}, trigger: {include: child.yml, strategy: depend}}\n",
        ),
        ("child.yml", &child(CHILD)),
    ]);
    let mut run = parent.start(2);
    parent.0.runwright(&["cancel"]).expect_code(0);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    parent
        .0
        .runwright(&["logs", "deploy > two"])
        .expect_code(0)
        .expect_text("canceled by the user");
    parent.ran();
    parent.let_go();
    parent.0.runwright(&["resume"]).expect_code(0);
    assert_eq!(parent.ran(), ["deploy two"]);
}
