//! No command shows the value of a secret, wherever the file uses it.

use crate::project::{Done, Project, files_below};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The text contained in every secret of these tests.
const SECRET: &str = "s3cret-w0rd";

const PIPELINE: &str = "\
workflow: {name: \"all of $TOKEN\"}
variables:
  URL: https://u:$TOKEN@host/$OF_FILE
build:
  image: registry/$TOKEN
  environment: {name: env/$TOKEN, url: \"https://$TOKEN\"}
  resource_group: group-$TOKEN
  tags: [tag-$TOKEN]
  cache: {key: $TOKEN, paths: [x]}
  rules:
    - if: $TOKEN =~ /^s3/ && $URL
      variables: {OF_RULE: r-$TOKEN-$OF_HOME}
  script: [\"true\"]
test:
  rules:
    - changes: [$TOKEN/*]
    - exists: [$TOKEN]
    - if: $TOKEN == $URL
  script: [\"true\"]
";

fn project(pipeline: &str) -> Project {
    let project = Project::with_pipeline(pipeline);
    project.write(
        ".gitlab-ci-local-variables.yml",
        &format!("OF_FILE: {{value: {SECRET}-f, masked: true}}\nPLAIN: {SECRET}-p\n"),
    );
    project
}

/// Runs a command with a secret, and returns its output, which must not contain the secret.
fn check(project: &Project, arguments: &[&str], code: i32) -> String {
    let mut command = project.command(arguments);
    command.args(["--secret", "TOKEN"]);
    command.env("TOKEN", SECRET).env("RUNWRIGHT_LOG", "trace");
    let done = Done::from(command.output().unwrap()).expect_code(code);
    let printed = done.all();
    assert!(!printed.contains(SECRET), "of {arguments:?}: {printed}");
    printed
}

#[test]
fn no_command_shows_a_secret() {
    let project = project(PIPELINE);
    for line in [
        "lint --notes",
        "lint --json",
        "lint --sarif",
        "show",
        "show --json --origins",
        "plan",
        "plan --json --changes src/a",
        "plan --format mermaid",
        "plan --format dot",
        "list --all",
        "list --json",
        "explain build test --predefined",
        "explain build test --predefined --json",
        "variables",
        "variables build --explain",
        "variables test --json",
        "run --dry-run",
        "run build --executor shell",
        "run build --executor shell --progress json",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        check(&project, &arguments, 0);
    }
    let plan = check(&project, &["plan"], 0);
    assert!(plan.contains("all of [MASKED], branch main"), "{plan}");
}

#[test]
fn names_with_secrets_are_stored_and_reported_masked() {
    let project = Project::with_pipeline(
        "\
build:
  script: [echo x > x]
  environment: {name: review/$TOKEN, url: https://$TOKEN.example}
  resource_group: group-$TOKEN
  cache: {key: key-$TOKEN, paths: [x]}
  artifacts: {name: name-$TOKEN, paths: [x]}
other: {trigger: {project: group/$TOKEN, branch: $TOKEN}, allow_failure: true}
",
    );
    let run = ["run", "--executor", "shell", "--events", "events.jsonl"];
    let printed = check(&project, &run, 0);
    assert!(printed.contains("`group/[MASKED]`"), "{printed}");
    for (command, expect) in [
        ("environments", "review/[MASKED]"),
        ("environments", "https://[MASKED].example"),
        ("artifacts", "name-[MASKED]"),
    ] {
        let printed = project.runwright(&[command]).expect_text(expect).all();
        assert!(!printed.contains(SECRET), "{printed}");
    }
    let mut files = files_below(&project.home());
    files.push(project.dir().join("events.jsonl"));
    for file in files.iter().filter(|file| file.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET), "{}: {text}", file.display());
    }
}

#[test]
fn jobs_of_a_generated_pipeline_are_named_without_secrets() {
    let project = Project::with_pipeline(
        "\
make:
  stage: build
  script:
    - 'printf \"stages: [of-%s]\\nto-%s: {stage: of-%s, script: [echo it runs]}\\nnext: {needs: [to-%s], stage: of-%s, script: [exit 3]}\\n\" $TOKEN $TOKEN $TOKEN $TOKEN $TOKEN > gen.yml'
  artifacts: {paths: [gen.yml]}
child: {trigger: {include: [{artifact: gen.yml, job: make}], strategy: depend}}
",
    );
    let run = |words: &[&str], code| {
        let printed = check(&project, words, code);
        assert!(printed.contains("next"), "{printed}");
    };
    let masked = "to-[MASKED]";
    run(&["run", "--progress", "json", "--executor", "shell"], 1);
    let history = project.runwright(&["history", "--json", "-n", "5"]);
    let history = history.expect_code(0).expect_text(masked).all();
    assert!(!history.contains(SECRET), "{history}");
    let log = project.runwright(&["logs", "2", masked]).expect_code(0);
    assert!(log.stdout.contains("it runs"), "{log:?}");
    for file in files_below(&project.home()) {
        let name = file.file_name().unwrap();
        assert!(!file.to_string_lossy().contains(SECRET), "{file:?}");
        if name == "journal.jsonl" || name == "run.json" {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains(SECRET), "{file:?}: {text}");
        }
    }
    let mut retry = project.command(&["retry"]);
    let retry = Done::from(retry.env("TOKEN", SECRET).output().unwrap()).expect_code(1);
    assert!(!retry.all().contains("it runs"), "{retry:?}");
    assert!(!retry.all().contains(SECRET), "{retry:?}");
}

#[test]
fn secret_that_is_no_text_is_refused_without_its_value() {
    let project = Project::with_pipeline("job: {script: ['true']}");
    let bytes = b"hunter2-\xff-hunter2";
    project.write("secret", "");
    std::fs::write(project.dir().join("secret"), bytes).unwrap();
    let by_file = project.runwright(&["run", "--secret", "X=@secret"]);
    let mut command = project.command(&["run", "--secret", "X"]);
    let by_variable = command.env("X", OsStr::from_bytes(bytes)).output();
    for done in [by_file, by_variable.unwrap().into()] {
        let done = done.expect_code(2).expect_text("it is not UTF-8 text");
        assert!(!done.all().contains("hunter2"), "{}", done.all());
    }
    project
        .runwright(&["run", "--secret", "X=@/dev/zero"])
        .expect_code(2)
        .expect_text("--secret X: read /dev/zero: it has more than 1 MiB");
    project
        .runwright(&["run", "--secret", "NO_SUCH"])
        .expect_code(2)
        .expect_text("--secret NO_SUCH: there is no such variable in the environment");
}

#[test]
fn unfetched_includes_are_named_without_secrets() {
    let project = project(
        "include:\n  - {project: g/$TOKEN, file: a.yml}\n  - {project: g/$TOKEN, file: \"*.yml\"}\n  - remote: https://$TOKEN/a.yml\n",
    );
    for format in ["text", "json", "sarif"] {
        let printed = check(&project, &["lint", "--offline", "--format", format], 2);
        assert!(printed.contains("g/[MASKED]/a.yml"), "{printed}");
    }
}

#[test]
fn mistakes_in_files_with_variables_show_no_line_of_them() {
    let project = Project::with_pipeline("build: {script: [make]}\n");
    for text in [
        format!("A: [{SECRET}]\n"),
        format!("A: *{SECRET}\n"),
        format!("A: !{SECRET} [x]\n"),
        format!("A: {{value: {SECRET}, masked: maybe}}\n"),
        format!("A=1\n{SECRET}\n"),
        format!("A=1\nB=\"{SECRET}\n"),
    ] {
        project.write("ci/v.env", &text);
        for format in ["text", "json", "sarif"] {
            let arguments = ["lint", "--format", format, "--variables-file", "ci/v.env"];
            let printed = project.runwright(&arguments).expect_code(2).all();
            assert!(!printed.contains(SECRET), "of {text:?}: {printed}");
        }
        let printed = project.runwright(&["lint", "--variables-file", "ci/v.env"]);
        let printed = printed.expect_text("ci/v.env:");
        printed.expect_text("ci/v.env is invalid: 1 error");
    }
}
