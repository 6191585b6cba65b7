//! Pipelines whose jobs run in containers, on a real engine.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Done, Project, copy_program, wait_until};
use crate::signals::interrupt;
use crate::tmux::Terminal;
use std::fs;
use std::process::{Child, Command, Stdio};

/// Runs the pipeline with a copy of the program that is alone in a directory, and with `agent` unless it is empty.
pub(crate) fn run_alone(project: &Project, agent: &str) -> Done {
    let alone = project.scratch().join("alone");
    fs::create_dir(&alone).unwrap();
    let program = alone.join("runwright");
    copy_program(&program);
    Command::new(program)
        .args(["run", "--executor", "docker"])
        .current_dir(project.dir())
        .env("RUNWRIGHT_HOME", project.home())
        .env("DOCKER_HOST", address())
        .env("RUNWRIGHT_AGENT", agent)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into()
}

/// Returns the address of the test engine.
pub(crate) fn address() -> String {
    let address = std::env::var("RUNWRIGHT_TEST_DOCKER");
    address
        .expect("RUNWRIGHT_TEST_DOCKER says where Docker is: run the tests by `cargo xtask test`")
}

/// Returns the address of the engine's socket, even when the tests reach the engine over TLS or ssh.
pub(crate) fn socket() -> String {
    match std::env::var("RUNWRIGHT_TEST_DOCKER_SOCKET") {
        Ok(path) => format!("unix://{path}"),
        Err(_) => address(),
    }
}

/// Returns the binary, set up to run in the project with the test engine.
pub(crate) fn command(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command(arguments);
    command.env("DOCKER_HOST", address());
    command
}

pub(crate) fn runwright(project: &Project, arguments: &[&str]) -> Done {
    command(project, arguments).output().unwrap().into()
}

/// Returns the output of the `docker` command.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker")
        .args(arguments)
        .env("DOCKER_HOST", socket())
        // The engine's state is the same over every transport, and the socket is the fastest.
        .env_remove("DOCKER_TLS_VERIFY")
        .env_remove("DOCKER_CERT_PATH")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "docker {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the containers labelled with a directory of this project.
pub(crate) fn containers(project: &Project) -> Vec<String> {
    let format = "{{.ID}} {{.Names}} {{.Status}} {{.Mounts}}";
    let all = docker(&["ps", "-a", "--no-trunc", "--format", format]);
    let home = project.scratch().display().to_string();
    let ours = all.lines().filter(|line| line.contains(&home));
    ours.map(str::to_owned).collect()
}

pub(crate) fn nothing_left(project: &Project) {
    assert_eq!(containers(project), Vec::<String>::new());
    // The guardian of a refused run ends shortly after the run.
    wait_until("nothing to be left", || project.leftovers().is_empty());
}

/// Starts the binary; its output goes to `out` in the scratch directory.
pub(crate) fn start(project: &Project, arguments: &[&str]) -> Child {
    project.start_as(command(project, arguments))
}

/// Writes these container settings to the user's settings.
pub(crate) fn settings(project: &Project, line: &str) {
    fs::create_dir_all(project.home()).unwrap();
    let text = format!("[docker]\n{line}\n");
    fs::write(project.home().join("config.toml"), text).unwrap();
}

#[test]
fn pipeline_runs_in_containers() {
    // R-EXEC-51
    let project = Project::with_pipeline(
        "default:\n  image: runwright-test/busybox:1\n\
         build:\n  variables: {OUT: dist}\n  script:\n\
        \x20   - echo \"in $PWD, $(test -e /proc/1/cgroup && echo contained)\"\n\
        \x20   - test -f .gitlab-ci.yml && mkdir -p $OUT && echo built > $OUT/a && echo V=7 > v.env\n\
        \x20   - mkdir -p vendor && echo dep > vendor/dep\n\
        \x20 artifacts: {paths: [\"$CI_PROJECT_DIR/dist\"], reports: {dotenv: v.env}}\n\
        \x20 cache: {key: k, paths: [vendor/]}\n\
         test:\n  needs: [build]\n  cache: {key: k, paths: [vendor/], policy: pull}\n\
        \x20 script: [cat dist/a vendor/dep, 'echo \"v is $V\"', 'echo \"token $TOKEN.\"', exit 3]\n\
        \x20 after_script: ['echo \"after $CI_JOB_STATUS\"']\n",
    );
    let mut run = command(
        &project,
        &["run", "--executor", "docker", "--secret", "TOKEN"],
    );
    let done: Done = run.env("TOKEN", "hunter2-hunter2").output().unwrap().into();
    let done = done
        .expect_code(1)
        .expect_text("build | in /builds/local/project, contained")
        .expect_text("test  | built\ntest  | dep\n")
        .expect_text("test  | v is 7")
        .expect_text("token [MASKED].")
        .expect_text("after failed")
        .expect_text("test failed in stage test with exit code 3");
    assert!(!done.all().contains("hunter2"), "{}", done.all());
    assert!(!project.dir().join("dist").exists());
    nothing_left(&project);
}

#[test]
fn git_in_the_image_reads_the_history_and_cannot_change_it() {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/debian:12\n  script:\n\
        \x20   - git log --format=%s -1\n    - test -z \"$(git status --porcelain)\"\n\
        \x20   - cd \"$(sed -n 1p .git/objects/info/alternates)\" && ! touch pack/mine\n\
        \x20   - echo done-so\n",
    );
    let done = runwright(&project, &["run", "--executor", "docker"]);
    done.expect_code(0)
        .expect_text("job | A first commit")
        .expect_text("job | done-so");
    nothing_left(&project);
}

#[test]
fn image_with_a_non_root_user_leaves_artifacts() {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/nonroot:1\n  variables: {}\n  script:\n\
        \x20   - id -u\n    - mkdir out && echo mine > out/a && cat \"$TOKEN_FILE\"\n\
        \x20 artifacts: {paths: [out/]}\n\
         next:\n  image: runwright-test/nonroot:1\n  needs: [job]\n  script: [cat out/a, echo more >> out/a]\n",
    );
    project.write(
        "variables.yml",
        "TOKEN_FILE: {type: file, value: content of a file}\n",
    );
    let done = runwright(
        &project,
        &[
            "run",
            "--executor",
            "docker",
            "--variables-file",
            "variables.yml",
        ],
    );
    done.expect_code(0)
        .expect_text("job  | 1000")
        .expect_text("job  | content of a file")
        .expect_text("next | mine");
    nothing_left(&project);
}

#[test]
fn shell_enters_the_container_of_a_job() {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/busybox:1\n  variables: {NAME: value}\n  script: [\"false\"]\n",
    );
    let done = runwright(
        &project,
        &[
            "shell",
            "job",
            "--executor",
            "docker",
            "--",
            "sh",
            "-c",
            "echo \"$NAME in $PWD\"; test -f .gitlab-ci.yml; exit 7",
        ],
    );
    done.expect_code(7)
        .expect_text("value in /builds/local/project");
    nothing_left(&project);
}

#[test]
fn shell_enters_the_container_of_a_failed_job_and_then_it_is_removed() {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/busybox:1\n  variables: {NAME: value}\n\
        \x20 script: [echo left > by-script, exit 4]\n  after_script: [cat by-shell]\n",
    );
    settings(&project, &format!("host = {:?}", address()));
    let arguments = "run --executor docker --shell-on-failure";
    let terminal = Terminal::start(&project, (100, 50), arguments);
    terminal.wait_for(&[
        "job \"job\" failed: script exited with code 4",
        "[job job] $",
    ]);
    assert_eq!(containers(&project).len(), 1);
    terminal.type_line("echo $PWD, $NAME: $(cat by-script); echo $((6*7))-by-hand >by-shell");
    terminal.wait_for(&["/builds/local/project, value: left"]);
    // The shell handles the key only after it has printed its next prompt.
    let prompts = || terminal.text().matches("[job job] $").count();
    wait_until("the next prompt", || prompts() == 2);
    terminal.press("C-d");
    terminal.wait_for(&["42-by-hand", "[exit code 1]"]);
    assert!(terminal.is_as_before());
    nothing_left(&project);
}

#[test]
fn unusable_images_are_refused_with_a_reason() {
    let check = |image: &str, code: i32, texts: &[&str]| {
        let project =
            Project::with_pipeline(&format!("job:\n  image: {image}\n  script: [echo never]\n"));
        let mut done = runwright(
            &project,
            &["run", "--executor", "docker", "--pull-policy", "never"],
        )
        .expect_code(code);
        for text in texts {
            done = done.expect_text(text);
        }
        assert!(!done.stdout.contains("job | never"), "{}", done.all());
        nothing_left(&project);
    };
    check("runwright-test/scratch:1", 3, &["has no shell"]);
    check("runwright-test/none:1", 3, &["runwright-test/none:1"]);
    check("'Not/A Reference'", 2, &["Not/A Reference"]);
}

#[test]
fn job_without_an_image_is_refused() {
    let project =
        Project::with_pipeline("one:\n  script: [echo $0-ran]\ntwo:\n  script: [\"true\"]\n");
    let done = runwright(&project, &["run", "--executor", "docker"]);
    done.expect_code(2)
        .expect_text("the jobs one, two name none")
        .expect_text("--image debian:12");
    let image = ["--image", "runwright-test/busybox:1"];
    let mut words = vec!["run", "one", "--executor", "docker"];
    words.extend(image);
    runwright(&project, &words)
        .expect_code(0)
        .expect_text("-ran");
    // A project may set the default image, but no other container setting.
    project.write(
        ".runwright.toml",
        "[run]\nimage = \"runwright-test/busybox:1\"\n",
    );
    runwright(&project, &["run", "one", "--executor", "docker"]).expect_code(0);
    project.write(".runwright.toml", "[docker]\nprivileged = true\n");
    runwright(&project, &["run", "one", "--executor", "docker"])
        .expect_code(2)
        .expect_text("[docker] is not allowed in a project's settings");
    nothing_left(&project);
}

#[test]
fn auto_uses_containers_when_an_engine_answers() {
    let pipeline = "here:\n  script: [echo \"at $PWD\"]\n\
                    there:\n  image: runwright-test/busybox:1\n  script: [echo \"at $PWD\"]\n";
    let project = Project::with_pipeline(pipeline);
    let done = runwright(&project, &["run"]).expect_code(0);
    let done = done.expect_text("there | at /builds/local/project");
    assert!(
        !done.stdout.contains("here  | at /builds/"),
        "{}",
        done.all()
    );
    nothing_left(&project);

    let mut run = project.command(&["run", "there", "--executor", "docker"]);
    run.env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    let done: Done = run.output().unwrap().into();
    done.expect_code(3).expect_text("/nonexistent/docker.sock");
}

#[test]
fn timeout_ends_a_job_in_the_working_tree() {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/busybox:1\n  timeout: 30 seconds\n  script: [echo begun > begun, sleep 600]\n",
    );
    runwright(&project, &["run", "--executor", "docker", "--in-place"])
        .expect_code(1)
        .expect_text("job_execution_timeout");
    assert!(project.dir().join("begun").is_file());
    nothing_left(&project);
}

#[test]
fn working_tree_keeps_its_owner_when_the_image_has_another_user() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/nonroot:1\n  script: [id -u, test -r .gitlab-ci.yml]\n",
    );
    let everybody = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.dir(), everybody).unwrap();
    let owner = |name: &str| fs::metadata(project.dir().join(name)).unwrap().uid();
    let before = [owner("."), owner(".gitlab-ci.yml")];
    runwright(&project, &["run", "--executor", "docker", "--in-place"])
        .expect_code(0)
        .expect_text("job | 1000");
    assert_eq!([owner("."), owner(".gitlab-ci.yml")], before);
    nothing_left(&project);
}

/// A job that prints `ready` and runs until it is signalled. It ends on the signal only if `obeys` is set.
fn endless(obeys: &str) -> Project {
    Project::with_pipeline(&format!(
        "job:\n  image: runwright-test/busybox:1\n  script:\n    - {obeys}\n    - echo ready\n\
        \x20   - while true; do sleep 1; done\n  after_script: ['echo \"after=$CI_JOB_STATUS\"']\n"
    ))
}

#[test]
fn first_ctrl_c_stops_a_container_gracefully_and_the_second_kills_it() {
    // R-EXEC-68
    let project = endless("\"true\"");
    let mut run = start(&project, &["run", "--executor", "docker"]);
    project.wait_for("job | ready");
    interrupt(run.id(), "-INT");
    assert_eq!(
        run.wait().unwrap().code(),
        Some(130),
        "{}",
        project.printed()
    );
    assert!(
        project.printed().contains("after=canceled"),
        "{}",
        project.printed()
    );
    nothing_left(&project);

    let project = endless("trap '' TERM");
    let mut run = start(&project, &["run", "--executor", "docker"]);
    project.wait_for("job | ready");
    interrupt(run.id(), "-INT");
    project.wait_for("canceling;");
    interrupt(run.id(), "-INT");
    assert_eq!(
        run.wait().unwrap().code(),
        Some(130),
        "{}",
        project.printed()
    );
    assert!(
        !project.printed().contains("after="),
        "{}",
        project.printed()
    );
    nothing_left(&project);
}

#[test]
fn next_run_removes_the_containers_of_a_killed_run() {
    // R-EXEC-68
    let project = endless("\"true\"");
    let mut run = start(&project, &["run", "--executor", "docker"]);
    project.wait_for("job | ready");
    assert_eq!(containers(&project).len(), 1);
    run.kill().unwrap();
    run.wait().unwrap();
    project.write(
        ".gitlab-ci.yml",
        "job:\n  image: runwright-test/busybox:1\n  script: [echo again]\n",
    );
    runwright(&project, &["run", "--executor", "docker"]).expect_code(0);
    wait_until("the container of the killed run to go", || {
        containers(&project).is_empty()
    });
    nothing_left(&project);
}

#[test]
fn missing_image_is_reported_before_any_job_runs() {
    let project = Project::with_pipeline(
        "first:\n  image: runwright-test/busybox:1\n  script: echo begun\n\
         second:\n  image: {name: \"Bad/UPPER:1\"}\n  script: echo never\n\
         third:\n  image: runwright-test/busybox:1\n  services: [\"postgres:17\"]\n  script: echo never\n",
    );
    settings(&project, "allowed-services = [\"runwright-test/*\"]");
    let done = runwright(&project, &["run", "--executor", "docker"]);
    assert_eq!(done.code, Some(2), "{}", done.all());
    for words in [
        ".gitlab-ci.yml:5:17: job second: image: \"Bad/UPPER:1\" is not a reference to an image",
        ".gitlab-ci.yml:9:14: job third: services: service `postgres:17` is not allowed",
        "the runner's allowed-services has only runwright-test/*",
    ] {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    assert!(!done.stdout.contains("begun"), "{}", done.stdout);
    nothing_left(&project);
}
