//! Words from other tools: accepted, or answered with the command to use.

use crate::project::Project;

const FILE: &str = "
stages: [build, test]
compile: {stage: build, script: [echo compile]}
lint: {stage: test, script: [echo lint]}
unit tests: {stage: test, script: [echo unit]}
";

#[test]
fn words_that_start_nothing_are_accepted() {
    let project = Project::with_pipeline(FILE);
    let listed = project.runwright(&["list"]).expect_code(0).stdout;
    for words in [&["--list"][..], &["run", "--list"], &["-C", ".", "list"]] {
        assert_eq!(project.runwright(words).expect_code(0).stdout, listed);
    }
    for words in [&["help"][..], &["help", "run"], &["config", "help", "show"]] {
        project
            .runwright(words)
            .expect_code(0)
            .expect_text("Usage: runwright");
    }
}

#[test]
fn directory_before_the_command_holds_for_the_run_and_its_resume() {
    let project = Project::with_pipeline("job: {script: [test -e ok]}\n");
    let outside = |words: &[&str]| {
        let mut command = project.command(words);
        command.current_dir(project.scratch());
        crate::project::Done::from(command.output().unwrap())
    };
    project.write(".runwright.toml", "[run]\nserial = true\n");
    outside(&["-C", "project", "run"]).expect_code(1);
    project.write("ok", "");
    outside(&["-C", "project", "retry"]).expect_code(0);
    outside(&["-Cproject", "config", "show"])
        .expect_code(0)
        .expect_text("run.serial = true");
}

#[test]
fn other_words_are_answered_with_the_command() {
    let project = Project::with_pipeline(FILE);
    let check = |words: &[&str], error: &str, help: &str| {
        let done = project.runwright(words).expect_code(2);
        assert_eq!(done.stderr, format!("error: {error}\nhelp: {help}\n"));
    };
    check(
        &["compile"],
        "`compile` is a job, not a command",
        "`runwright run compile` runs it",
    );
    check(
        &["-C", ".", "unit tests", "--no-needs"],
        "`unit tests` is a job, not a command",
        "`runwright run -C . 'unit tests' --no-needs` runs it",
    );
    check(
        &["compiel"],
        "there is no command `compiel`",
        "did you mean `runwright run compile`?",
    );
    check(
        &["status"],
        "there is no command `status`",
        "`runwright history` shows the runs, also the current ones",
    );
    check(
        &["--quiet", "compile"],
        "there is no option `--quiet` before a command",
        "did you mean `runwright run --quiet compile`?",
    );
    check(
        &["--json", "list"],
        "there is no option `--json` before a command",
        "did you mean `runwright list --json`?",
    );
    check(
        &["--follow"],
        "there is no option `--follow` before a command",
        "put it after a command that has it: `logs`",
    );
    check(
        &["logs", "1", "unit", "tests"],
        "unexpected argument `tests`",
        "expected [RUN] JOB; a name with spaces needs quotes",
    );
    check(
        &["run", "--list", "--serial"],
        "`list` has no option `--serial`",
        "commands that have it: `run`, `watch`",
    );
    check(
        &["history", "nope"],
        "`history` takes no name: `nope`",
        "`runwright logs nope` shows the log of a job, or the jobs of a run",
    );
    project
        .runwright(&["config", "show", "--manual"])
        .expect_code(2)
        .expect_text("unexpected argument '--manual' found\n\nUsage");
    check(
        &["help", "status"],
        "there is no command `status`",
        "`runwright history` shows the runs, also the current ones",
    );
    for (option, advice) in [
        ("--list-all", "use `runwright list --all`"),
        ("--list-csv", "use `runwright list --csv`"),
        ("--list-json", "use `runwright list --json --all`"),
        ("--preview", "use `runwright show`"),
        ("--force-shell-executor", "use --executor shell"),
        (
            "--no-cleanup",
            "everything is removed at the end; use `runwright shell` to look inside a job",
        ),
        ("--state-dir", "set RUNWRIGHT_HOME"),
        ("--home", "set HOME"),
    ] {
        for words in [&[option, "x"][..], &["run", option, "x"]] {
            check(
                words,
                &format!("there is no option `{option}`"),
                &format!("an option of gitlab-ci-local: {advice}"),
            );
        }
    }
    let done = project.runwright(&["run", "--foo"]).expect_code(2);
    assert!(!done.stderr.contains("as a value"), "{}", done.stderr);
    // Outside of a project too.
    let empty = Project::empty_directory();
    empty
        .runwright(&["nosuch"])
        .expect_code(2)
        .expect_text("`runwright run JOB` runs a job");
}
