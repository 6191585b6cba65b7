//! `run --reuse`: jobs whose inputs are those of an earlier run do not run again.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Done, Project, files_below};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A job, one that depends on it, and an independent one. Each declares the files it reads; the file `$COUNT` in which
/// they count is outside the project.
const PIPELINE: &str = "\
stages: [build, test]
variables: {MODE: fast}
build:
  stage: build
  script:
    - echo build >>$COUNT
    - echo made $MODE $(cat src/* 2>/dev/null) | tee out.txt
    - echo VERSION=$(wc -c <out.txt) >build.env
  artifacts: {paths: [out.txt], reports: {dotenv: build.env}}
test:
  stage: test
  needs: [build]
  script:
    - echo test >>$COUNT
    - cat out.txt
    - echo version $VERSION
lint:
  stage: test
  needs: []
  script: ['echo lint >>$COUNT', echo linted]
";

/// The project's settings for its jobs.
const SETTINGS: &str = "\
[jobs.build]
inputs = ['src/*']
[jobs.test]
inputs = []
[jobs.lint]
inputs = ['lint/*']
";

struct Bench {
    project: Project,
    count: PathBuf,
}

impl Bench {
    fn new(pipeline: &str, settings: &str) -> Self {
        let project = Project::with_pipeline(pipeline);
        let count = project.scratch().join("count");
        project.write("src/a", "one");
        project.write(".runwright.toml", settings);
        project.commit();
        Self { project, count }
    }

    /// Returns a bench with the usual pipeline, which has run once.
    fn begun() -> Self {
        let bench = Self::new(PIPELINE, SETTINGS);
        bench.check(&[], &["build", "lint", "test"]);
        bench
    }

    fn run(&self, options: &[&str]) -> Done {
        let _ = fs::remove_file(&self.count);
        let options = [&["run", "--reuse"], options].concat();
        let mut command = self.project.command(&options);
        command.env("COUNT", &self.count);
        Done::from(command.output().unwrap()).expect_code(0)
    }

    /// Runs the pipeline and compares the jobs that ran.
    fn check(&self, options: &[&str], expect: &[&str]) -> Done {
        let done = self.run(options);
        let ran = fs::read_to_string(&self.count).unwrap_or_default();
        let mut ran: Vec<&str> = ran.lines().collect();
        ran.sort_unstable();
        assert_eq!(ran, expect, "{}", done.all());
        done
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.project.dir().join(path)).unwrap();
        assert!(text.contains(from));
        self.project.write(path, &text.replace(from, to));
    }

    fn kept(&self) -> Vec<PathBuf> {
        let mut files = files_below(&self.project.home());
        let is_kept = |path: &Path| path.parent().is_some_and(|it| it.ends_with("reuse"));
        files.retain(|path| is_kept(path) && path.extension().is_some_and(|it| it == "json"));
        files
    }
}

#[test]
fn jobs_with_unchanged_inputs_do_not_run_again() {
    let bench = Bench::begun();
    let done = bench.check(&[], &[]);
    let done = done
        .expect_text("reused from run 1")
        .expect_text("test  | made fast one")
        .expect_text("test  | version 14")
        .expect_text("(3 success, 3 of them reused)");
    drop(done);
    // Reuse is off by default.
    let mut command = bench.project.command(&["run"]);
    command.env("COUNT", &bench.count);
    Done::from(command.output().unwrap()).expect_code(0);
    let ran = fs::read_to_string(&bench.count).unwrap();
    assert_eq!(ran.lines().count(), 3);
}

#[test]
fn artifacts_of_a_reused_job_belong_to_the_new_run() {
    let bench = Bench::begun();
    let report = bench.project.scratch().join("report.json");
    let option = format!("--report={}", report.display());
    bench.check(&[&option], &[]);
    let report = fs::read_to_string(&report).unwrap();
    assert!(
        report.contains("\"reused\": {\n        \"pipeline\": 1,"),
        "{report}"
    );
    bench
        .project
        .runwright(&["clean", "--reuse"])
        .expect_code(0);
    fs::remove_dir_all(
        files_below(&bench.project.home())
            .iter()
            .find(|path| path.ends_with("pipelines/1/run.json"))
            .and_then(|path| path.parent())
            .unwrap(),
    )
    .unwrap();
    let logs = bench.project.runwright(&["logs", "build"]).expect_code(0);
    let logs = logs
        .expect_text("Reused from run 1")
        .expect_text("made fast one");
    assert_eq!(logs.stdout.matches("Reused").count(), 1);
    let out = bench.project.scratch().join("out");
    let options = ["artifacts", "build", "-o", out.to_str().unwrap()];
    bench.project.runwright(&options).expect_code(0);
    assert_eq!(fs::read(out.join("out.txt")).unwrap(), b"made fast one\n");
    let history = bench.project.runwright(&["history"]).expect_code(0);
    history.expect_text("3 success, 3 of them reused");
    // `retry` runs the job in any case, with the artifacts of the reused job.
    let mut command = bench.project.command(&["retry", "test"]);
    command.env("COUNT", &bench.count);
    let retried = Done::from(command.output().unwrap());
    let ran = fs::read_to_string(&bench.count).unwrap_or_default();
    assert_eq!(ran, "test\n", "{}", retried.all());
    retried.expect_code(0).expect_text("version 14");
}

/// Applies a change to the usual pipeline, and compares the jobs that run next and the time after.
fn check_change(change: impl FnOnce(&Bench), options: &[&str], expect: &[&str]) {
    let bench = Bench::begun();
    change(&bench);
    bench.check(options, expect);
    bench.check(options, &[]);
}

#[test]
fn changed_script_with_equal_artifacts_reruns_only_its_job() {
    let change = |bench: &Bench| bench.edit(".gitlab-ci.yml", "echo linted", "echo clean");
    check_change(change, &[], &["lint"]);
    let same = |bench: &Bench| {
        bench.edit(".gitlab-ci.yml", "- echo build", "- true; echo build");
    };
    check_change(same, &[], &["build"]);
}

#[test]
fn changed_script_with_other_artifacts_reruns_the_dependents() {
    let change = |bench: &Bench| bench.edit(".gitlab-ci.yml", "echo made", "echo built");
    check_change(change, &[], &["build", "test"]);
}

#[test]
fn changed_variable_reruns_all_jobs_that_have_it() {
    check_change(
        |_| (),
        &["--variable", "MODE=slow"],
        &["build", "lint", "test"],
    );
    let own = |bench: &Bench| {
        bench.edit(
            ".gitlab-ci.yml",
            "needs: []",
            "needs: []\n  variables: {DEEP: 1}",
        );
    };
    check_change(own, &[], &["lint"]);
}

#[test]
fn changed_secret_reruns_all_jobs_and_is_in_no_file() {
    let bench = Bench::new(PIPELINE, SETTINGS);
    let run = |secret: &str, expect: &[&str]| {
        let file = bench.project.scratch().join("secret");
        fs::write(&file, secret).unwrap();
        let option = format!("KEY=@{}", file.display());
        bench.check(&["--secret", &option], expect);
    };
    let all = ["build", "lint", "test"];
    run("s3cret-number-one", &all);
    run("s3cret-number-one", &[]);
    run("s3cret-number-two", &all);
    for path in files_below(&bench.project.home()) {
        let bytes = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("s3cret-number"), "{}", path.display());
    }
}

#[test]
fn changed_image_or_service_reruns_its_job() {
    let image = |bench: &Bench| {
        bench.edit(
            ".gitlab-ci.yml",
            "needs: []",
            "needs: []\n  image: rust@sha256:aa",
        );
    };
    check_change(image, &["--executor", "shell"], &["lint"]);
    let service = |bench: &Bench| {
        bench.edit(
            ".gitlab-ci.yml",
            "needs: []",
            "needs: []\n  services: [redis]",
        );
    };
    check_change(service, &[], &["lint"]);
}

#[test]
fn changed_caches_and_artifacts_rerun_their_job() {
    let cache = |bench: &Bench| {
        let cache = "needs: []\n  cache: {key: a, paths: [dep/]}";
        bench.edit(".gitlab-ci.yml", "needs: []", cache);
    };
    check_change(cache, &[], &["lint"]);
    let artifacts = |bench: &Bench| {
        let artifacts = "needs: []\n  artifacts: {paths: [src/a]}";
        bench.edit(".gitlab-ci.yml", "needs: []", artifacts);
    };
    check_change(artifacts, &[], &["lint"]);
}

#[test]
fn changed_files_rerun_the_jobs_that_read_them() {
    let build = ["build", "test"];
    check_change(|bench| bench.project.write("src/a", "two"), &[], &build);
    check_change(|bench| bench.project.write("src/b", "new"), &[], &build);
    let remove = |bench: &Bench| fs::remove_file(bench.project.dir().join("src/a")).unwrap();
    check_change(remove, &[], &build);
    let link = |bench: &Bench| symlink("a", bench.project.dir().join("src/c")).unwrap();
    check_change(link, &[], &build);
    let executable = |bench: &Bench| {
        let path = bench.project.dir().join("src/a");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    // The artifacts are equal, so the dependent job does not run.
    check_change(executable, &[], &["build"]);
    // A file that no job reads, and an ignored file.
    check_change(|bench| bench.project.write("other", "x"), &[], &[]);
    let ignored = |bench: &Bench| {
        bench.project.write(".git/info/exclude", "*.tmp\n");
        bench.project.write("src/a.tmp", "x");
    };
    check_change(ignored, &[], &[]);
}

#[test]
fn without_inputs_all_files_and_the_commit_count() {
    let bench = Bench::new(PIPELINE, "");
    let all = ["build", "lint", "test"];
    bench.check(&[], &all);
    bench.check(&[], &[]);
    bench.project.write("other", "x");
    bench.check(&[], &all);
    bench.project.commit();
    bench.check(&[], &all);
    bench.project.git(&["tag", "v1"]);
    bench.check(&[], &all);
    bench.check(&[], &[]);
}

#[test]
fn with_inputs_the_commit_counts_only_for_jobs_that_use_it() {
    let pipeline = PIPELINE.replace("echo linted", "echo $CI_COMMIT_SHA");
    let bench = Bench::new(&pipeline, SETTINGS);
    bench.check(&[], &["build", "lint", "test"]);
    bench.project.write("other", "x");
    bench.project.commit();
    bench.check(&[], &["lint"]);
}

#[test]
fn job_that_uses_git_depends_on_the_refs() {
    let pipeline = PIPELINE.replace("echo linted", "git describe --always");
    let bench = Bench::new(&pipeline, SETTINGS);
    bench.check(&[], &["build", "lint", "test"]);
    bench.check(&[], &[]);
    bench.project.git(&["branch", "side"]);
    bench.check(&[], &["lint"]);
}

#[test]
fn job_that_uses_git_depends_on_the_index_and_the_shallow_boundary() {
    let pipeline = PIPELINE.replace("echo linted", "git ls-files");
    let bench = Bench::new(&pipeline, "[jobs.'*']\ninputs = []");
    bench.project.write("lint/new", "new");
    bench.check(&[], &["build", "lint", "test"]);
    // New time stamps in the index do not change its content.
    bench.project.git(&["update-index", "--refresh"]);
    bench.check(&[], &[]);
    bench.project.git(&["add", "lint/new"]);
    let done = bench.check(&[], &["lint"]);
    done.expect_text("lint/new").expect_text("run 1: history");
    bench.check(&[], &[]);
}

#[test]
fn umask_counts_as_input() {
    let pipeline = "\
job:
  script: ['echo job >>$COUNT', touch a, stat -c mode:%a a]
";
    let bench = Bench::new(pipeline, "");
    let run = |umask: &str, expect: &str| {
        let program = bench.project.command(&["run", "--reuse"]);
        let mut command = Command::new("sh");
        command.args(["-c", "umask $0; exec \"$@\"", umask]);
        command.arg(program.get_program()).args(program.get_args());
        if let Some(directory) = program.get_current_dir() {
            command.current_dir(directory);
        }
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("COUNT", &bench.count);
        let done = Done::from(command.output().unwrap()).expect_code(0);
        drop(done.expect_text(expect));
    };
    run("027", "mode:640");
    run("077", "mode:600");
    run("027", "mode:640");
    let ran = fs::read_to_string(&bench.count).unwrap();
    assert_eq!(ran.lines().count(), 2);
}

#[test]
fn process_environment_counts_as_input() {
    let bench = Bench::begun();
    let run = |name: &str, value: &str| {
        let _ = fs::remove_file(&bench.count);
        let mut command = bench.project.command(&["run", "--reuse"]);
        command.env("COUNT", &bench.count).env(name, value);
        Done::from(command.output().unwrap()).expect_code(0);
        let ran = fs::read_to_string(&bench.count).unwrap_or_default();
        ran.lines().count()
    };
    assert_eq!(run("CC", "clang"), 3);
    assert_eq!(run("CC", "clang"), 0);
    assert_eq!(run("CC", "gcc"), 3);
    // Another window of the same terminal does not change the environment.
    assert_eq!(run("WINDOWID", "77"), 0);
}

#[test]
fn login_shell_counts_as_input() {
    let bench = Bench::begun();
    bench.check(&["--login"], &["build", "lint", "test"]);
    bench.check(&["--login"], &[]);
    bench.check(&[], &[]);
}

#[test]
fn failures_are_not_stored_and_some_jobs_always_run() {
    let pipeline = "\
fails:
  script: ['echo fails >>$COUNT', exit 1]
  allow_failure: true
deploy:
  script: echo deploy >>$COUNT
  environment: qa
played:
  script: echo played >>$COUNT
  rules: [{when: manual}]
single:
  script: echo single >>$COUNT
  resource_group: one
numbered:
  script: echo numbered $CI_PIPELINE_ID >>$COUNT
listing:
  script: ['echo listing >>$COUNT', 'env >/dev/null']
plain:
  script: echo plain >>$COUNT
";
    let bench = Bench::new(pipeline, "[jobs.'*']\ninputs = []\n");
    let names = [
        "deploy",
        "fails",
        "listing",
        "numbered 1",
        "plain",
        "played",
        "single",
    ];
    bench.check(&["--manual", "played"], &names);
    let always = [
        "deploy",
        "fails",
        "listing",
        "numbered 2",
        "played",
        "single",
    ];
    let done = bench.check(&["--manual", "played"], &always);
    done.expect_text(
        "numbered is never reused: it names CI_PIPELINE_ID, which is new in every run",
    );
}

#[test]
fn refresh_runs_all_jobs_and_stores_them_again() {
    let bench = Bench::begun();
    let _ = fs::remove_file(&bench.count);
    let mut command = bench.project.command(&["run", "--reuse=refresh"]);
    command.env("COUNT", &bench.count);
    Done::from(command.output().unwrap()).expect_code(0);
    let ran = fs::read_to_string(&bench.count).unwrap();
    assert_eq!(ran.lines().count(), 3);
    bench.check(&[], &[]).expect_text("reused from run 2");
}

#[test]
fn damaged_or_missing_entries_are_not_reused() {
    let bench = Bench::begun();
    let all = ["build", "lint", "test"];
    let kept = bench.kept();
    assert_eq!(kept.len(), 3);
    // A damaged entry.
    for path in &kept {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    bench.check(&[], &all);
    bench.check(&[], &[]);
    // A damaged artifact: the same length, another content.
    let contents = bench.project.home().join("content/objects");
    let mut objects = files_below(&contents);
    objects.retain(|path| path.is_file());
    for path in objects {
        let bytes = fs::read(&path).unwrap();
        if bytes == b"made fast one\n" {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            fs::write(&path, b"made fast two\n").unwrap();
        }
    }
    let done = bench.run(&[]);
    let ran = fs::read_to_string(&bench.count).unwrap();
    assert!(ran.contains("build"), "{}", done.all());
    // All contents are gone.
    fs::remove_dir_all(bench.project.home().join("content")).unwrap();
    bench.check(&[], &all);
    bench.check(&[], &[]);
    // The recorded digests of files are damaged.
    let noted = bench.kept()[0].with_file_name("contents");
    fs::write(noted, "damaged").unwrap();
    bench.check(&[], &[]);
}

#[test]
fn unwritable_store_fails_no_job() {
    let bench = Bench::begun();
    let directory = bench.kept()[0].parent().unwrap().to_owned();
    fs::remove_dir_all(&directory).unwrap();
    fs::write(&directory, "no directory").unwrap();
    let done = bench.check(&[], &["build", "lint", "test"]);
    done.expect_text("no job is reused");
}

#[test]
fn clean_lists_and_removes_stored_jobs() {
    let bench = Bench::begun();
    // Stored jobs outlive the run they come from.
    bench.project.runwright(&["clean", "--runs"]).expect_code(0);
    bench.check(&[], &[]);
    let seen = bench.project.runwright(&["clean"]).expect_code(0);
    seen.expect_text("would go  kept job build");
    let gone = bench
        .project
        .runwright(&["clean", "--reuse"])
        .expect_code(0);
    gone.expect_text("removed  kept job build")
        .expect_text("3 things removed");
    assert_eq!(bench.kept(), [] as [PathBuf; 0]);
    bench.check(&[], &["build", "lint", "test"]);
}
