//! How jobs run beside each other in bitrab's dialect, as its users set it.

use crate::project::Project;
use std::fs;

/// Two jobs that can end only beside each other, and tell where they are and who they are.
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

/// Returns what the jobs wrote down, `one` first.
fn written(project: &Project, what: &str) -> [String; 2] {
    ["one", "two"].map(|job| {
        let file = project.scratch().join("out").join(format!("{job}.{what}"));
        fs::read_to_string(file).unwrap().trim().to_owned()
    })
}

#[test]
fn jobs_beside_each_other_have_worktrees_and_processes_whatever_drives_them() {
    for backend in ["process", "thread"] {
        // R-PIPE-36, R-PIPE-37, R-PIPE-38
        let project = project(PAIR);
        let options = ["--parallel-backend", backend, "--concurrency", "2"];
        let done = run(&project, &options).expect_code(0);
        // A worktree has what is committed.
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
        // The parent is no other job, and not the test.
        for parent in [parent, other_parent] {
            assert!(![one, two, std::process::id()].contains(&parent));
        }
        let path = project.dir().join(".git/worktrees");
        let left = fs::read_dir(path).map_or(0, Iterator::count);
        assert_eq!(left, 0, "worktrees are removed");
    }
}

#[test]
fn serial_jobs_and_those_without_worktrees_are_in_the_working_tree() {
    // R-PIPE-39, R-PIPE-40
    let project = project(PAIR);
    run(&project, &["--no-worktrees", "--concurrency", "2"]).expect_code(0);
    let tree = fs::canonicalize(project.dir()).unwrap();
    let tree = tree.display().to_string();
    assert_eq!(written(&project, "dir"), [tree.clone(), tree.clone()]);

    let lone = "one: {script: ['test ! -e mark; touch mark; sleep 0.2; rm mark; cat committed']}
two: {script: ['test ! -e mark; touch mark; sleep 0.2; rm mark; cat committed']}\n";
    project.write(".gitlab-ci.yml", lone);
    let settings = "[tool.bitrab]\nserial = true\nwarn_on_mutation = true\n";
    project.write("pyproject.toml", settings);
    let done = run(&project, &[]).expect_code(0);
    assert!(done.stdout.contains("two | new"), "{}", done.stdout);
    assert!(!done.all().contains("No such file"), "{}", done.all());
    done.expect_text("pyproject.toml:3: `warn_on_mutation` is not followed");
    // GitLab's dialect does not look at the file.
    project.write("pyproject.toml", "[tool.bitrab\n");
    project.runwright(&["run"]).expect_code(0);
}

#[test]
fn mistakes_in_the_settings_are_told_before_anything_runs() {
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
