//! Where jobs with an image run when no container engine answers: on this machine only with consent.

use crate::project::Project;
use crate::tmux::Terminal;
use std::fs;

const FILE: &str = "
plain: {script: [touch plain.ran]}
boxed: {image: debian, script: [touch boxed.ran]}
later: {image: debian, when: manual, script: [touch later.ran]}
";

const REFUSED: &str = "no container engine answers, but the job boxed has an image";

fn ran(project: &Project, job: &str) -> bool {
    project.dir().join(format!("{job}.ran")).exists()
}

#[test]
fn without_an_engine_no_job_runs_and_the_ways_on_are_named() {
    let project = Project::with_pipeline(FILE);
    project
        .runwright(&["run", "--in-place"])
        .expect_code(3)
        .expect_text(REFUSED)
        .expect_text("start an engine, leave such jobs out with `--skip JOB`")
        .expect_text("`--executor shell`");
    assert!(!ran(&project, "plain") && !ran(&project, "boxed"));
    project
        .runwright(&["run", "--in-place", "--skip", "boxed"])
        .expect_code(0);
    assert!(ran(&project, "plain"));
    // A manual job counts when it is started.
    project
        .runwright(&["play", "later"])
        .expect_code(3)
        .expect_text("but the job later has an image");
    project
        .runwright(&["shell", "boxed", "--", "true"])
        .expect_code(3)
        .expect_text(REFUSED);
    assert!(!ran(&project, "later"));
    project
        .runwright(&["run", "--in-place", "--executor", "shell"])
        .expect_code(0);
    assert!(ran(&project, "boxed"));
}

#[test]
fn consent_is_remembered_in_the_user_s_file_alone() {
    let project = Project::with_pipeline(FILE);
    let run = || project.runwright(&["run", "--in-place"]);
    project
        .runwright(&["run", "--remember"])
        .expect_code(2)
        .expect_text("--remember needs --executor shell");
    let table = format!("[host.'{}']\nimages = true\n", project.dir().display());
    project.write(".runwright.toml", &table);
    run()
        .expect_code(2)
        .expect_text("not allowed in a project's settings");
    fs::remove_file(project.dir().join(".runwright.toml")).unwrap();
    for _ in 0..2 {
        project
            .runwright(&["run", "--in-place", "--executor", "shell", "--remember"])
            .expect_code(0);
    }
    let file = fs::read_to_string(project.home().join("config.toml")).unwrap();
    assert_eq!(file.matches("images = true").count(), 1, "{file}");
    fs::remove_file(project.dir().join("boxed.ran")).unwrap();
    run().expect_code(0);
    assert!(ran(&project, "boxed"));
    // What the user wrote is not overruled, and the file stays valid.
    let config = project.home().join("config.toml");
    fs::write(&config, file.replace("true", "false")).unwrap();
    project
        .runwright(&["run", "--executor", "shell", "--remember"])
        .expect_code(2)
        .expect_text("it cannot take a table for")
        .expect_text("`images = true`");
    run().expect_code(3);
    fs::write(&config, file).unwrap();
    project
        .runwright(&["watch", "--remember"])
        .expect_code(2)
        .expect_text("--remember needs --executor shell");
    // Another project has no consent.
    let other = Project::with_pipeline(FILE);
    let mut command = other.command(&["run"]);
    let refused = command.env("RUNWRIGHT_HOME", project.home()).output();
    assert_eq!(refused.unwrap().status.code(), Some(3));
}

#[test]
fn jobs_of_child_pipelines_are_refused_too() {
    let project =
        Project::with_pipeline("down: {trigger: {include: child.yml, strategy: depend}}\n");
    project.write(
        "child.yml",
        "boxed: {image: debian, script: [touch boxed.ran]}\n",
    );
    project
        .runwright(&["run", "--in-place"])
        .expect_code(3)
        .expect_text("the job has an image, which needs a container: no container engine answers");
    assert!(!ran(&project, "boxed"));
}

#[test]
fn at_a_terminal_the_user_decides() {
    let project = Project::with_pipeline(FILE);
    let question = "Run the job boxed on this machine itself?";
    let terminal = Terminal::start(&project, (100, 24), "run --in-place");
    terminal.wait_for(&[question, "> no"]);
    terminal.press("Enter");
    terminal.wait_for(&["`--executor shell`", "[exit code 3]"]);
    let text = terminal.text();
    assert_eq!(
        text.matches("no container engine answers").count(),
        1,
        "{text}"
    );
    let terminal = Terminal::start(&project, (102, 24), "run --in-place");
    terminal.wait_for(&[question]);
    terminal.press("C-c");
    terminal.wait_for(&["[exit code 130]"]);
    let text = terminal.text();
    assert!(!text.contains("error:"), "{text}");
    assert!(!ran(&project, "plain"));
    let terminal = Terminal::start(&project, (103, 24), "run --in-place");
    terminal.wait_for(&[question]);
    terminal.press("Down");
    terminal.wait_for(&["> this time"]);
    terminal.press("Enter");
    terminal.wait_for(&["[exit code 0]"]);
    assert!(ran(&project, "boxed"));
    fs::remove_file(project.dir().join("boxed.ran")).unwrap();
    let terminal = Terminal::start(&project, (101, 24), "run --in-place");
    terminal.wait_for(&[question]);
    terminal.press("Down");
    terminal.press("Down");
    terminal.wait_for(&["> always in this project"]);
    terminal.press("Enter");
    terminal.wait_for(&["[exit code 0]"]);
    assert!(ran(&project, "boxed"));
    project.runwright(&["run", "--in-place"]).expect_code(0);
}
