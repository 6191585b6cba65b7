//! Local pipelines as pods of a real cluster: `cargo xtask kubernetes -- cargo test -p runwright-cli --test it kubernetes::`.

use crate::project::{Done, Project, count_ticks, wait_until};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A namespace with the name of its test, gone at the end.
pub(crate) struct Namespace(pub(crate) String);

impl Namespace {
    /// Creates the namespace; `None`, and a line for the report, without a cluster.
    pub(crate) fn new(test: &str) -> Option<Self> {
        if std::env::var_os("RUNWRIGHT_TEST_KUBERNETES").is_none() {
            executor_testkit::not_tested("jobs in a cluster", "there is no Kubernetes node");
            return None;
        }
        let this = Self(format!("{test}-{}", std::process::id()));
        kubectl(&["create", "namespace", &this.0]);
        wait_until("the account of the namespace", || {
            !this
                .kubectl(&["get", "serviceaccount", "-o", "name"])
                .is_empty()
        });
        Some(this)
    }

    fn kubectl(&self, words: &[&str]) -> String {
        kubectl(&[&["-n", &self.0], words].concat())
    }

    pub(crate) fn pods(&self) -> Vec<String> {
        let names = self.kubectl(&["get", "pods", "-o", "name"]);
        names.lines().map(str::to_owned).collect()
    }

    /// Returns a project whose runs are in this namespace.
    fn project(&self, pipeline: &str) -> Project {
        let project = Project::with_pipeline(pipeline);
        let settings = format!("[kubernetes]\nnamespace = {:?}\n", self.0);
        std::fs::create_dir_all(project.home()).unwrap();
        std::fs::write(project.home().join("config.toml"), settings).unwrap();
        project
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        kubectl(&["delete", "namespace", &self.0, "--wait=false"]);
    }
}

/// Returns the directories for files of all runs.
fn builds_directories(home: &Path) -> Vec<PathBuf> {
    let list = |directory: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        entries.flatten().map(|it| it.path()).collect()
    };
    let projects = list(&home.join("projects")).into_iter();
    let runs = projects.flat_map(|project| list(&project.join("pipelines")));
    let inside = runs.flat_map(|run| list(&run));
    let is_builds = |it: &PathBuf| it.to_string_lossy().contains("/builds-");
    let found: Vec<_> = inside.filter(is_builds).collect();
    assert!(!found.is_empty());
    found
}

fn kubectl(words: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "a tool of the test's own")]
    let done = Command::new("kubectl").args(words).output();
    String::from_utf8_lossy(&done.unwrap().stdout).into_owned()
}

const RUN: [&str; 4] = ["run", "--executor", "kubernetes", "--concurrency=20"];

#[test]
fn working_tree_itself_is_refused_before_a_cluster_is_looked_for() {
    let project = Project::with_pipeline("job: {image: busybox, script: ['true']}");
    let commands: [&[&str]; 3] = [&["run"], &["watch"], &["shell", "job"]];
    for command in commands {
        let options = ["--executor=kubernetes", "--in-place"];
        project
            .runwright(&[command, &options].concat())
            .expect_code(2)
            .expect_text("does not have the option --in-place");
    }
    assert!(project.leftovers().is_empty());
}

#[test]
fn api_server_that_cannot_be_reached_is_named() {
    let project = Project::with_pipeline("job: {image: busybox, script: ['true']}");
    let file = project.home().join("kubeconfig");
    let text = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}]}"#;
    std::fs::create_dir_all(project.home()).unwrap();
    std::fs::write(&file, text).unwrap();
    let mut command = project.command(&["run", "--executor=kubernetes"]);
    let refused: Done = command.env("KUBECONFIG", file).output().unwrap().into();
    refused
        .expect_code(3)
        .expect_text("use the cluster at http://127.0.0.1:1")
        .expect_text("`runwright kubernetes check` says what works");
}

#[test]
fn pipeline_with_a_service_and_artifacts_runs_in_a_cluster() {
    let Some(namespace) = Namespace::new("pipeline") else {
        return;
    };
    let project = namespace.project(
        "
default: {image: 'runwright.test/busybox:1'}
stages: [build, test]
build: {stage: build, script: ['id -u > made; ls'], artifacts: {paths: [made]}}
look:
  stage: test
  services:
    - name: runwright.test/busybox:1
      alias: web
      command: [sh, -c, 'echo served > /tmp/index.html; httpd -f -p 8080 -h /tmp']
      variables: {HEALTHCHECK_TCP_PORT: '8080'}
  script: [cat made, 'wget -q -O - http://web:8080']
",
    );
    let done = project.runwright(&RUN[..3]).expect_code(0);
    let done = done
        .expect_text("look  | 1000")
        .expect_text("look  | served");
    assert!(!done.all().contains("warning"), "{done:?}");
    assert_eq!(namespace.pods(), Vec::<String>::new());
    let refused = project.runwright(&["run", "--executor=kubernetes", "--context=none"]);
    refused
        .expect_code(2)
        .expect_text("has no context \"none\"; its contexts are test")
        .expect_text("`runwright kubernetes check` says what works");
    let refused = project.runwright(&["run", "--executor=kubernetes", "--namespace=no-such"]);
    refused
        .expect_code(2)
        .expect_text("the cluster has no namespace no-such")
        .expect_text("`runwright kubernetes check` says what works");
    let mut command = project.command(&["run", "--executor=kubernetes"]);
    command.env("KUBECONFIG", "/does/not/exist");
    let refused: Done = command.output().unwrap().into();
    let expected =
        "error: the kubeconfig file /does/not/exist, which KUBECONFIG names, does not exist\n";
    refused
        .expect_code(2)
        .expect_text(expected)
        .expect_text("`runwright kubernetes check` says what works");
}

#[test]
fn killed_run_resumes_twenty_jobs_in_their_pods() {
    // R-EXEC-68, R-STEP-54
    let Some(namespace) = Namespace::new("killed") else {
        return;
    };
    let project = namespace.project(
        "
job:
  image: runwright.test/busybox:1
  parallel: 20
  script:
    - echo once >> /cache/times
    - i=0; until [ -e /cache/go ]; do i=$((i + 1)); echo \"tick $i.\"; sleep 0.2; done
    - echo \"ran $(wc -l < /cache/times) times\"
",
    );
    let mut run = project.start(&RUN);
    wait_until("all jobs", || {
        (1..=20).all(|job| {
            let printed = project.printed();
            printed.contains(&format!("job {job}/20"))
                && printed
                    .lines()
                    .any(|line| line.contains(&format!("job {job}/20")) && line.contains("tick 3."))
        })
    });
    run.kill().unwrap();
    run.wait().unwrap();
    let mut before = namespace.pods();
    assert_eq!(before.len(), 20);
    // As another run on this machine does, which does not know the cluster.
    for directory in builds_directories(&project.home()) {
        std::fs::remove_dir_all(directory).unwrap();
    }
    let mut run = project.start(&["resume"]);
    project.wait_for("tick ");
    let mut now = namespace.pods();
    before.sort_unstable();
    now.sort_unstable();
    assert_eq!(now, before);
    for pod in &now {
        let pod = pod.trim_start_matches("pod/");
        namespace.kubectl(&["exec", pod, "-c", "build", "--", "touch", "/cache/go"]);
    }
    assert!(run.wait().unwrap().success(), "{}", project.printed_end());
    for job in 1..=20 {
        let name = format!("job {job}/20");
        let log = project.runwright(&["logs", &name]).expect_code(0).stdout;
        count_ticks(&log);
        assert!(log.contains("ran 1 times"), "{log}");
    }
    assert_eq!(namespace.pods(), Vec::<String>::new());
}

#[test]
fn next_run_removes_the_pods_of_a_killed_one() {
    let Some(namespace) = Namespace::new("swept") else {
        return;
    };
    let long = "job: {image: 'runwright.test/busybox:1', script: [echo begun., sleep 600]}";
    let project = namespace.project(long);
    let mut run = project.start(&RUN);
    project.wait_for("begun.");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(namespace.pods().len(), 1);
    project.write(
        ".gitlab-ci.yml",
        "job: {image: 'runwright.test/busybox:1', script: [echo done.]}",
    );
    project.commit();
    project.runwright(&RUN).expect_code(0).expect_text("done.");
    assert_eq!(namespace.pods(), Vec::<String>::new());
}

#[test]
fn job_whose_pod_is_gone_starts_again() {
    let Some(namespace) = Namespace::new("gone") else {
        return;
    };
    let pipeline = "job: {image: 'runwright.test/busybox:1', script: ['until [ -e /cache/go ]; do echo tick.; sleep 0.2; done']}";
    let project = namespace.project(pipeline);
    let mut run = project.start(&RUN);
    project.wait_for("tick.");
    run.kill().unwrap();
    run.wait().unwrap();
    let pods = namespace.pods();
    namespace.kubectl(&["delete", &pods[0]]);
    let mut run = project.start(&["resume"]);
    project.wait_for("tick.");
    let printed = project.printed();
    assert!(printed.contains("starts over: "), "{printed}");
    let pods = namespace.pods();
    let pod = pods[0].trim_start_matches("pod/");
    namespace.kubectl(&["exec", pod, "-c", "build", "--", "touch", "/cache/go"]);
    assert!(run.wait().unwrap().success(), "{}", project.printed_end());
    assert_eq!(namespace.pods(), Vec::<String>::new());
}
