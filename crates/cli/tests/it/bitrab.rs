//! Parallel jobs in bitrab's dialect, configured as its users do.

use crate::project::Project;
use std::fs;

/// Two jobs that succeed only if they run in parallel, and record their directories and process ids.
const PAIR: &str = "
.pair:
  script:
    - echo \"$PWD\" > \"$OUT/$CI_JOB_NAME.dir\"
    - echo $$ $PPID > \"$OUT/$CI_JOB_NAME.pid\"
    - for i in $(seq 600); do test -e \"$OUT/$OTHER.pid\" && break; sleep 0.1; done
    - test -e \"$OUT/$OTHER.pid\"
    - cat committed
one: {extends: .pair, variables: {OTHER: two}}
two: {extends: .pair, variables: {OTHER: one}}
";

fn project(pipeline: &str) -> Project {
    let project = Project::with_pipeline(pipeline);
    project.write("committed", "old\n");
    project.commit();
    project.write("committed", "new\n");
    fs::create_dir(project.scratch().join("out")).unwrap();
    project
}

fn run(project: &Project, options: &[&str]) -> crate::project::Done {
    let out = format!("OUT={}", project.scratch().join("out").display());
    let words = ["run", "--dialect", "bitrab", "--variable", &out];
    project.runwright(&[&words, options].concat())
}

/// Returns what the jobs recorded, `one` first.
fn written(project: &Project, what: &str) -> [String; 2] {
    ["one", "two"].map(|job| {
        let file = project.scratch().join("out").join(format!("{job}.{what}"));
        fs::read_to_string(file).unwrap().trim().to_owned()
    })
}

#[test]
fn parallel_jobs_have_their_own_worktrees_and_processes() {
    for backend in ["process", "thread"] {
        // R-PIPE-36, R-PIPE-38
        let project = project(PAIR);
        let options = ["--parallel-backend", backend, "--concurrency", "2"];
        let done = run(&project, &options).expect_code(0);
        // A worktree contains the committed files.
        assert!(done.stdout.contains("one | old"), "{}", done.stdout);
        let [one, two] = written(&project, "dir");
        assert_ne!(one, two);
        assert_ne!(one, project.dir().display().to_string());
        let pids = written(&project, "pid").map(|pids| {
            let mut pids = pids.split(' ').map(|pid| pid.parse::<u32>().unwrap());
            (pids.next().unwrap(), pids.next().unwrap())
        });
        let [(one, parent), (two, other_parent)] = pids;
        assert_ne!(one, two);
        // The parent is neither the other job nor the test.
        for parent in [parent, other_parent] {
            assert!(![one, two, std::process::id()].contains(&parent));
        }
        let path = project.dir().join(".git/worktrees");
        let left = fs::read_dir(path).map_or(0, Iterator::count);
        assert_eq!(left, 0, "worktrees are removed");
    }
}

#[test]
fn serial_jobs_and_jobs_without_worktrees_run_in_the_working_tree() {
    // R-PIPE-39
    let project = project(PAIR);
    run(&project, &["--no-worktrees", "--concurrency", "2"]).expect_code(0);
    let tree = fs::canonicalize(project.dir()).unwrap();
    let tree = tree.display().to_string();
    assert_eq!(written(&project, "dir"), [tree.clone(), tree.clone()]);

    let lone = "one: {script: ['test ! -e mark; touch mark; sleep 0.2; rm mark; cat committed']}
two: {script: ['test ! -e mark; touch mark; sleep 0.2; rm mark; cat committed']}\n";
    project.write(".gitlab-ci.yml", lone);
    let settings = "[tool.bitrab]\nserial = true\nworktree_root = 'trees'\n";
    project.write("pyproject.toml", settings);
    let done = run(&project, &[]).expect_code(0);
    assert!(done.stdout.contains("two | new"), "{}", done.stdout);
    assert!(!done.all().contains("No such file"), "{}", done.all());
    done.expect_text("pyproject.toml:3: `worktree_root` is ignored");
    // GitLab's dialect does not read the file.
    project.write("pyproject.toml", "[tool.bitrab\n");
    project.runwright(&["run"]).expect_code(0);
}

#[test]
fn invalid_settings_are_reported_before_anything_runs() {
    let project = project(PAIR);
    project.write("pyproject.toml", "[tool.bitrab]\nserial = 'yes'\n");
    let done = run(&project, &[]).expect_code(2);
    let done = done.expect_text("pyproject.toml:2:10: `serial` is true or false, not text");
    assert_eq!(done.stdout, "");
    project.write("pyproject.toml", "[tool.bitrab]\nseriel = true\n");
    run(&project, &[])
        .expect_code(2)
        .expect_text("did you mean `serial`?");
    project
        .runwright(&["run", "--no-worktrees"])
        .expect_code(2)
        .expect_text("--no-worktrees belongs to --dialect bitrab");
}

/// Returns the marks that jobs appended with `echo NAME >> "$OUT/marks"`, in order.
fn marks(project: &Project) -> Vec<String> {
    let file = project.scratch().join("out/marks");
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn serial_stage_stops_at_the_first_failure_and_rescue_jobs_still_run() {
    let text = "
stages: [one, two, three]
default: {before_script: ['echo $CI_JOB_NAME >> \"$OUT/marks\"']}
first: {stage: one, script: exit 3}
dropped: {stage: one, script: 'true'}
even-so: {stage: one, script: 'true', when: always}
later: {stage: two, script: 'true'}
rescue: {stage: two, script: 'true', when: on_failure}
cleanup: {stage: three, script: 'true', when: always}
";
    let project = project(text);
    let done = run(&project, &["--serial"]).expect_code(1);
    assert_eq!(marks(&project), ["first", "even-so", "rescue", "cleanup"]);
    done.expect_text("pipeline 1: failed (1 failed, 2 skipped, 3 success)");
    // In GitLab's dialect the other job of the stage runs.
    fs::remove_file(project.scratch().join("out/marks")).unwrap();
    let out = format!("OUT={}", project.scratch().join("out").display());
    project
        .runwright(&["run", "--concurrency", "1", "--variable", &out])
        .expect_code(1);
    assert_eq!(
        marks(&project),
        ["first", "dropped", "even-so", "rescue", "cleanup"]
    );
}

#[test]
fn running_jobs_of_a_stage_finish_and_an_allowed_failure_starts_the_rescue_job() {
    // R-PIPE-26, R-PIPE-41, R-PIPE-43
    let wait = |file: &str| {
        format!("for i in $(seq 600); do test -e \"$OUT/{file}\" && break; sleep 0.1; done")
    };
    let text = format!(
        "
stages: [one, two]
fails: {{stage: one, script: ['{}', 'touch \"$OUT/failed\"', exit 1]}}
goes-on:
  stage: one
  script: ['touch \"$OUT/runs\"', '{}', 'echo goes-on >> \"$OUT/marks\"']
dropped: {{stage: one, script: 'echo dropped >> \"$OUT/marks\"'}}
later: {{stage: two, script: 'echo later >> \"$OUT/marks\"'}}
rescue: {{stage: two, script: 'echo rescue >> \"$OUT/marks\"', when: on_failure}}
",
        wait("runs"),
        wait("failed"),
    );
    let hard = project(&text);
    run(&hard, &["--concurrency", "2"]).expect_code(1);
    let found = marks(&hard);
    assert!(found.contains(&"goes-on".to_owned()), "{found:?}");
    assert!(!found.contains(&"later".to_owned()), "{found:?}");
    assert_eq!(found.last().map(String::as_str), Some("rescue"));

    let allowed = text.replace("exit 1]", "exit 1], allow_failure: true");
    let project = project(&allowed);
    run(&project, &["--concurrency", "2"]).expect_code(0);
    let mut found = marks(&project);
    found.sort();
    assert_eq!(found, ["dropped", "goes-on", "later", "rescue"]);
}

#[test]
fn jobs_with_needs_start_in_batches() {
    let text = "
stages: [one, two]
default: {before_script: ['echo +$CI_JOB_NAME >> \"$OUT/marks\"']}
short: {stage: one, script: 'true'}
long:
  stage: one
  script:
    - for i in $(seq $TICKS); do if grep -q +next \"$OUT/marks\"; then break; fi; sleep 0.1; done
    - echo -long >> \"$OUT/marks\"
next: {stage: two, script: 'true', needs: [short]}
";
    let project = project(text);
    let at = |name: &str| {
        let marks = marks(&project);
        marks.iter().position(|mark| mark == name).unwrap()
    };
    // The next job starts only after the long one has finished.
    run(&project, &["--concurrency", "2", "--variable", "TICKS=10"]).expect_code(0);
    assert!(at("-long") < at("+next"), "the batch was not waited for");
    fs::remove_file(project.scratch().join("out/marks")).unwrap();
    let out = format!("OUT={}", project.scratch().join("out").display());
    let ticks = "TICKS=600";
    let words = [
        "run",
        "--concurrency",
        "2",
        "--variable",
        &out,
        "--variable",
        ticks,
    ];
    project.runwright(&words).expect_code(0);
    assert!(at("+next") < at("-long"), "GitLab waits for what is needed");
}

#[test]
fn unknown_job_names_are_warnings() {
    let project = project("one: {script: 'echo here'}\n");
    let done = run(&project, &["one", "tow"]).expect_code(0);
    assert!(done.stdout.contains("one | here"), "{}", done.stdout);
    done.expect_text("warning: ").expect_text("`tow`");
    // An empty selection does not run the whole pipeline.
    let done = run(&project, &["tow"]).expect_code(0);
    assert!(!done.stdout.contains("here"), "{}", done.stdout);
    done.expect_text("`tow`");
    project.runwright(&["run", "one", "tow"]).expect_code(2);
}
