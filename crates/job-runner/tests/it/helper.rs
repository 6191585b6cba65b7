//! Jobs whose files only scripts reach, and the helper command that these scripts start.

use crate::remote::Elsewhere;
use crate::support::{Bench, Repository, artifacts_below, files_below, kept, path_text};
use executor_core::job::{
    Artifact, ArtifactFormat, Cache, Dependency, DependencyArtifactsFile, SecretString,
};
use executor_core::{BuildStage, FailureReason, JobId, JobOutcome, JobState, JobVariable};
use executor_testkit::{Directive, Failure, JobBuilder, Moment, ScriptedProvider};
use job_runner::helper::{HelperCommand, HelperContext};
use job_runner::{
    BuildRunner, BuildRunnerOptions, HelperOptions, HelperServer, LocalCaches, Snapshot, Sources,
    StoredArtifacts,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The variable with the arguments of the helper command, one on each line.
const ARGUMENTS: &str = "RUNWRIGHT_TEST_ARGUMENTS";

/// Is this program as the helper command: [`program`] starts it.
#[test]
fn acts_as_the_helper_command() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let arguments: Vec<String> = arguments.lines().map(str::to_owned).collect();
    let context = HelperContext {
        directory: std::env::current_dir().expect("a directory"),
        temp: std::env::temp_dir(),
        variable: Arc::new(|name| std::env::var(name).ok()),
        print: Arc::new(|line| eprintln!("{line}")),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let command = HelperCommand::parse(&arguments).expect("valid arguments");
    let done = runtime.block_on(command.run(&context));
    if let Err(error) = done {
        eprintln!("helper: {}", executor_core::chain(&error));
        std::process::exit(1);
    }
    std::process::exit(0);
}

/// Writes a helper command below `root` that notes its arguments in the file `calls`.
fn program(root: &Path) -> PathBuf {
    let path = root.join("helper");
    let own = std::env::current_exe().expect("a path");
    let text = format!(
        "#!/bin/sh\necho \"$*\" >>'{}'\n[ \"$1\" != --version ] || exit 0\n\
         {ARGUMENTS}=\"$(printf '%s\\n' \"$@\")\" exec '{}' --exact helper::acts_as_the_helper_command --nocapture\n",
        root.join("calls").display(),
        own.display()
    );
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

#[derive(Debug)]
struct Remote {
    root: TempDir,
    store: StoredArtifacts,
    bench: Bench,
}

/// Returns a bench whose jobs run below `root/builds`, with files of `repository` that only scripts bring there.
fn remote(repository: &Repository, change: impl FnOnce(&mut HelperOptions)) -> Remote {
    let root = tempfile::tempdir().expect("a directory");
    let store = artifacts_below(root.path());
    let snapshot = Snapshot::new(repository.path(), root.path().join("snapshots"));
    let mut helper = HelperOptions {
        program: Some(program(root.path())),
        ..HelperOptions::default()
    };
    change(&mut helper);
    let caches = LocalCaches::at(root.path().join("caches"));
    let options = BuildRunnerOptions {
        sources: Sources::Snapshot(Arc::new(snapshot)),
        artifacts: Some(Arc::new(store.clone())),
        caches: Some(Arc::new(caches.of_project("p"))),
        helper,
        ..BuildRunnerOptions::default()
    };
    let mut bench = Bench::shell(root.path(), options);
    let staging = root.path().join("staging");
    fs::create_dir(&staging).expect("made");
    bench.config.builds_dir = Some(path_text(&root.path().join("builds")));
    bench.config.host_builds_dir = Some(path_text(&staging));
    bench.provider = Arc::new(Elsewhere(Arc::clone(&bench.provider), None));
    Remote { root, store, bench }
}

impl Remote {
    /// Returns the calls of the helper command so far, by their names.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.root.path().join("calls")).unwrap_or_default();
        let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        calls.lines().map(first).collect()
    }

    fn assert_nothing_remains(&self) {
        for directory in ["staging", "builds"] {
            let files = files_below(&self.root.path().join(directory));
            assert_eq!(files, Vec::<PathBuf>::new());
        }
    }
}

fn artifact(kind: &str, paths: &[&str]) -> Artifact {
    Artifact {
        artifact_type: kind.to_owned(),
        paths: paths.iter().map(ToString::to_string).collect(),
        ..Artifact::default()
    }
}

fn cache(key: &str, fallbacks: &[&str]) -> Cache {
    Cache {
        key: key.to_owned(),
        fallback_keys: fallbacks.iter().map(ToString::to_string).collect(),
        paths: vec!["dist/deep/*".to_owned()],
        ..Cache::default()
    }
}

#[tokio::test]
async fn sources_caches_and_artifacts_come_through_the_helper_command() {
    // R-EXEC-102
    let repository = Repository::new();
    repository.write("run.sh", "#!/bin/sh\necho ran\n");
    std::os::unix::fs::symlink("run.sh", repository.path().join("link")).expect("linked");
    let remote = remote(&repository, |_| {});
    let first = JobBuilder::new(1)
        .script([
            "test -f src/main.c && test -L link && test ! -e ignored",
            "test \"$(git log --format=%s -1)\" = first && git fsck 2>&1",
            "test ! -e .git/objects/info/alternates && test -z \"$RUNWRIGHT_HELPER_TOKEN\"",
            "mkdir -p dist/deep && echo one > dist/a && echo two > dist/deep/b",
            "ln -s a dist/link && mkdir dist/empty",
            "rm run.sh && echo SEEN=yes > seen.env",
        ])
        .with(|job| {
            job.artifacts
                .push(artifact("archive", &["$CI_PROJECT_DIR/dist", "run.sh"]));
            job.artifacts.push(artifact("dotenv", &["seen.env"]));
            job.cache.push(cache("k", &[]));
        });
    let outcome = remote.bench.run(first.build()).await;
    let log = remote.bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    let found = ["dist/a", "dist/deep/b", "dist/empty", "dist/link"];
    assert_eq!(kept(&remote.store, 1, "archive"), found, "{log}");
    assert_eq!(outcome.products.dotenv[0].value, "yes", "{log}");
    assert!(log.contains("run.sh: no matching files"), "{log}");
    let calls = [
        "--version",
        "artifacts-downloader",
        "--version",
        "cache-extractor",
        "--version",
        "cache-archiver",
        "--version",
        "artifacts-uploader",
        "--version",
        "artifacts-uploader",
    ];
    assert_eq!(remote.calls(), calls, "{log}");
    remote.assert_nothing_remains();

    let second = JobBuilder::new(2)
        .variable(JobVariable::public("GIT_STRATEGY", "none"))
        .script([
            "test \"$(cat dist/a)\" = one && test -L dist/link && test -d dist/empty",
            "test \"$(cat dist/deep/b)\" = two",
            "exit 3",
        ])
        .with(|job| {
            job.dependencies = vec![dependency()];
            job.cache.push(cache("other", &["k"]));
        });
    let outcome = remote.bench.run(second.build()).await;
    let log = remote.bench.log();
    assert_eq!(outcome.exit_code().map(|it| it.0), Some(3), "{log}");
    assert!(log.contains("Successfully extracted cache"), "{log}");
    assert!(
        log.contains("Downloading artifacts for build (1)..."),
        "{log}"
    );
    remote.assert_nothing_remains();
}

#[tokio::test]
async fn untracked_files_are_uploaded() {
    let repository = Repository::new();
    // All addresses of the loopback network are this host's.
    let remote = remote(&repository, |helper| helper.address = [127, 0, 0, 2].into());
    let job = JobBuilder::new(1)
        .script(["mkdir -p ignored sub && echo a >ignored/x && echo b >sub/y && rm src/main.c"])
        .with(|job| {
            job.artifacts.push(Artifact {
                untracked: true,
                exclude: vec!["sub/**".to_owned()],
                ..Artifact::default()
            });
        });
    let outcome = remote.bench.run(job.build()).await;
    let log = remote.bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert_eq!(kept(&remote.store, 1, "archive"), ["ignored/x"], "{log}");
}

#[tokio::test]
async fn without_the_command_caches_and_artifacts_are_skipped() {
    // R-EXEC-102, as recorded in `no-helper`: the job passes.
    let repository = Repository::new();
    let remote = remote(&repository, |helper| helper.program = None);
    let job = |strategy: &str| {
        JobBuilder::new(1)
            .variable(JobVariable::public("GIT_STRATEGY", strategy))
            .script(["touch made"])
            .with(|job| {
                job.artifacts.push(artifact("archive", &["made"]));
                job.cache.push(cache("k", &[]));
            })
    };
    let outcome = remote.bench.run(job("none").build()).await;
    let log = remote.bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    for what in ["Extracting cache", "Creating cache", "Uploading artifacts"] {
        let notice = format!("Missing gitlab-runner. {what} is disabled.");
        assert!(log.contains(&notice), "{log}");
    }
    let outcome = remote.bench.run(job("fetch").build()).await;
    let log = remote.bench.log();
    let reason = FailureReason::RunnerSystemFailure;
    assert_eq!(outcome.failure_reason(), Some(reason), "{log}");
    assert!(
        log.contains("Copy the program `runwright` to a directory of PATH"),
        "{log}"
    );
}

/// Runs a job whose artifact is one file, with this many bytes of random text.
async fn upload(remote: &Remote, bytes: u32, script: &str) -> JobOutcome {
    let job = JobBuilder::new(3)
        .script([&format!("head -c {bytes} /dev/urandom >made"), script])
        .with(|job| {
            job.artifacts
                .push(artifact("archive", &["made", "../outside"]));
        });
    remote.bench.run(job.build()).await
}

#[tokio::test]
async fn too_large_upload_fails_the_job() {
    let repository = Repository::new();
    let remote = remote(&repository, |helper| helper.largest_upload = 1 << 20);
    let outcome = upload(&remote, 1000, "true").await;
    let log = remote.bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert!(
        log.contains("../outside: is outside of the project directory"),
        "{log}"
    );
    let outcome = upload(&remote, 12 << 20, "true").await;
    let log = remote.bench.log();
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::ScriptFailure),
        "{log}"
    );
    assert!(
        log.contains("the server responded with 413: the upload is too large"),
        "{log}"
    );
    remote.assert_nothing_remains();
}

/// A helper command that is replaced by a script of shell commands.
fn replaced(remote: &Remote, text: &str) {
    let path = remote.root.path().join("helper");
    let text = format!("#!/bin/sh\n[ \"$1\" != --version ] || exit 0\n{text}\n");
    fs::write(path, text).expect("written");
}

#[tokio::test]
async fn endpoint_refuses_what_a_stage_does_not_need() {
    let repository = Repository::new();
    let remote = remote(&repository, |_| {});
    // `$3`: the address, `$5`: the token, `$7`: the job.
    let form = "printf -- '--b\\r\\nContent-Disposition: form-data; name=\"file\"\\r\\n\\r\\nno zip\\r\\n--b--'";
    replaced(
        &remote,
        &format!(
            "case \"$1\" in artifacts-uploader) ;; *) exit 0;; esac\n\
             ask() {{ curl -s -o /dev/null -w '%{{http_code}}\\n' \"$@\"; }}\n\
             u=$3/api/v4/jobs/$7/artifacts\n\
             ask $u; ask -H 'JOB-TOKEN: wrong' $u; ask -H \"JOB-TOKEN: $5\" $u\n\
             ask -H \"JOB-TOKEN: $5\" -X POST --data x ${{3}}/api/v4/jobs/99/artifacts\n\
             ask -H \"JOB-TOKEN: $5\" -X DELETE $u\n\
             ask -H \"JOB-TOKEN: $5\" -F file=oops $u/../../../../etc/passwd\n\
             ask -H \"JOB-TOKEN: $5\" -H 'Content-Type: multipart/form-data; boundary=b' --data x $u\n\
             {form} | ask -H \"JOB-TOKEN: $5\" -H 'Content-Type: multipart/form-data; boundary=b' --data-binary @- $u?artifact_type=archive"
        ),
    );
    let job = JobBuilder::new(3)
        .variable(JobVariable::public("GIT_STRATEGY", "none"))
        .script(["touch made"])
        .with(|job| job.artifacts.push(artifact("archive", &["made"])));
    let outcome = remote.bench.run(job.build()).await;
    let log = remote.bench.log();
    let codes: Vec<&str> = log.lines().filter(|it| it.len() == 3).collect();
    assert_eq!(
        codes,
        ["403", "403", "404", "404", "405", "404", "400", "201"],
        "{log}"
    );
    // What arrived is no archive.
    let reason = FailureReason::RunnerSystemFailure;
    assert_eq!(outcome.failure_reason(), Some(reason), "{log}");
    assert!(log.contains("neither a zip archive nor"), "{log}");
    assert!(!log.contains("rw-"), "the token is masked: {log}");
}

#[tokio::test]
async fn helper_calls_fail_as_recorded() {
    // R-EXEC-102: a failed download ends the job, a cache that fails is skipped, a failed upload fails a passed job.
    let repository = Repository::new();
    let remote = remote(&repository, |_| {});
    let first = JobBuilder::new(1)
        .script(["touch a"])
        .with(|job| job.artifacts.push(artifact("archive", &["a"])));
    assert_eq!(
        remote.bench.run(first.build()).await.state,
        JobState::Success
    );
    let check = async |number: u64, download: u8, upload: u8, runs: bool| {
        let text = format!(
            "case \"$1\" in artifacts-downloader) exit {download};; artifacts-uploader) exit {upload};; *) exit 7;; esac"
        );
        replaced(&remote, &text);
        let job = JobBuilder::new(number)
            .variable(JobVariable::public("GIT_STRATEGY", "none"))
            .script(["echo it ran"])
            .with(|job| {
                job.dependencies = vec![dependency()];
                job.cache.push(cache("k", &[]));
                job.artifacts.push(artifact("archive", &["src"]));
            });
        let outcome = remote.bench.run(job.build()).await;
        let log = remote.bench.log();
        let code = i32::from(download.max(upload));
        assert_eq!(outcome.exit_code().map(|it| it.0), Some(code), "{log}");
        let reason = FailureReason::ScriptFailure;
        assert_eq!(outcome.failure_reason(), Some(reason), "{log}");
        assert!(log.contains("Failed to extract cache"), "{log}");
        assert_eq!(log.contains("it ran\n"), runs, "{log}");
    };
    check(2, 5, 0, false).await;
    check(3, 0, 6, true).await;
}

#[tokio::test(start_paused = true)]
async fn stages_are_retried_and_fail_as_recorded() {
    // As recorded in `multi-stage-order` and `late-stages-fail`.
    let provider = ScriptedProvider::new();
    let fail =
        |stage: BuildStage, directive: Directive| provider.on(Moment::Stage(stage), directive);
    fail(
        BuildStage::RestoreCache,
        Directive::fail(Failure::temporary("no route")).times(1),
    );
    fail(BuildStage::DownloadArtifacts, Directive::exit(1).times(1));
    fail(BuildStage::ArchiveCache, Directive::exit(1));
    fail(
        BuildStage::UploadArtifactsOnSuccess,
        Directive::fail(Failure::permanent("gone")),
    );
    let options = BuildRunnerOptions {
        helper: HelperOptions {
            server: HelperServer::GitLab,
            ..HelperOptions::default()
        },
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::scripted(&provider, options);
    let job = JobBuilder::new(1)
        .variable(JobVariable::public("RESTORE_CACHE_ATTEMPTS", "2"))
        .variable(JobVariable::public("ARTIFACT_DOWNLOAD_ATTEMPTS", "2"))
        .script(["true"])
        .with(|job| {
            job.dependencies = vec![dependency()];
            job.cache.push(cache("k", &[]));
            job.artifacts.push(artifact("archive", &["src"]));
        });
    let outcome = bench.run(job.build()).await;
    let order = provider.timeline().order().join("\n");
    let stages = [
        "prepare_script",
        // Also called without sources, as in `multi-stage-order`.
        "get_sources",
        "restore_cache",
        "restore_cache",
        "download_artifacts",
        "download_artifacts",
        "step_script",
        "archive_cache",
        "upload_artifacts_on_success",
        "cleanup_file_variables",
    ];
    let found: Vec<String> = outcome
        .stages
        .iter()
        .map(|it| it.stage.to_string())
        .collect();
    assert_eq!(found, stages, "{order}");
    assert_eq!(
        outcome.exit_code().map(|it| it.0),
        Some(1),
        "{}",
        bench.log()
    );
    provider.assert_obeyed();
}

#[tokio::test]
async fn calls_are_those_of_gitlab_runner() {
    // R-EXEC-102, as recorded in `full-success`.
    let repository = Repository::new();
    let mut remote = remote(&repository, |_| {});
    let options = BuildRunnerOptions {
        helper: HelperOptions {
            server: HelperServer::GitLab,
            program: Some(remote.root.path().join("helper")),
            ..HelperOptions::default()
        },
        ..BuildRunnerOptions::default()
    };
    remote.bench.runner = BuildRunner::new(options, crate::support::supervisor());
    let calls = remote.root.path().join("calls");
    replaced(&remote, &format!("echo \"$*\" >>'{}'", calls.display()));
    let job = JobBuilder::new(101)
        .variable(JobVariable::public(
            "CI_SERVER_URL",
            "https://gitlab.example",
        ))
        .variable(JobVariable::public("CI_PROJECT_PATH", "group/project"))
        .variable(JobVariable::masked("NAME", "hunter2hunter2"))
        .script(["true"])
        .with(|job| {
            job.token = SecretString::new("jobToken0101");
            job.dependencies = vec![dependency()];
            job.cache.push(Cache {
                paths: vec!["vendor/".to_owned()],
                ..cache("main-key", &[])
            });
            job.artifacts.push(Artifact {
                name: "$NAME".to_owned(),
                expire_in: "1 week".to_owned(),
                ..artifact("archive", &["out/"])
            });
            job.artifacts.push(Artifact {
                artifact_format: ArtifactFormat::Gzip,
                exclude: vec!["b".to_owned()],
                ..artifact("junit", &["out/a"])
            });
        });
    let outcome = remote.bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", remote.bench.log());
    let calls = fs::read_to_string(calls).expect("there are calls");
    let upload = "artifacts-uploader --url https://gitlab.example --token jobToken0101 --id 101 \
                  --timeout 1h0m0s --response-header-timeout 10m0s";
    let expect = [
        "cache-extractor --file CACHE/main-key/cache.zip --timeout 10".to_owned(),
        "artifacts-downloader --url https://gitlab.example --token depToken0001 --id 1".to_owned(),
        "cache-archiver --file CACHE/main-key/cache.zip --alternate-file \
         CACHE/98e1186171bf8a0dcc5379cbbf23ebb1dd8bc96a9a9adadb8b4f14568a14cb09/cache.zip --timeout 10 --path vendor/"
            .to_owned(),
        format!("{upload} --path out/ --name hunter2hunter2 --expire-in 1 week --artifact-format zip --artifact-type archive"),
        format!("{upload} --path out/a --exclude b --artifact-format gzip --artifact-type junit"),
    ];
    let relative = |line: &str| {
        let words = line
            .split(' ')
            .map(|word| match word.split_once("/cache/group/project/") {
                Some((up, rest)) if up.split('/').all(|it| it == "..") => format!("CACHE/{rest}"),
                _ => word.to_owned(),
            });
        words.collect::<Vec<_>>().join(" ")
    };
    let calls: Vec<String> = calls.lines().map(relative).collect();
    assert_eq!(calls, expect);
}

fn dependency() -> Dependency {
    Dependency {
        id: JobId(1),
        name: "build".to_owned(),
        token: SecretString::new("depToken0001"),
        artifacts_file: Some(DependencyArtifactsFile::default()),
    }
}
