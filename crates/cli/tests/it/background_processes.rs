//! Background processes of a job: none delays the job, none outlives it.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Done, Project, processes_with};
use std::path::Path;
use std::process::Command;

/// Runs a pipeline with cgroups if the system has them, and again with cgroups hidden.
///
/// Asserts that it succeeds before any of its background processes would end by itself, and that none survives.
fn both_ways(name: &str, pipeline: &str, expected: &[&str]) {
    for visible in [true, false] {
        let marker = format!("runwright-test-{name}-{visible}-{}", std::process::id());
        let project = Project::with_pipeline(&format!("variables: {{MARK: {marker}}}\n{pipeline}"));
        let run = project.command(&["run"]);
        let mut run = if visible { run } else { without_cgroups(&run) };
        let mut done = Done::from(run.output().unwrap());
        if !visible && done.all().contains("unshare failed") {
            executor_testkit::not_tested(
                &format!("{name} without cgroups"),
                "hiding them needs root",
            );
            return;
        }
        assert_eq!(processes_with(&marker), Vec::<u32>::new(), "{done:?}");
        assert_eq!(project.leftovers(), Vec::<&Path>::new());
        done = done.expect_code(0);
        assert!(done.seconds() < 500.0, "{done:?}");
        for text in expected {
            done = done.expect_text(text);
        }
    }
}

/// Makes a command run where no cgroup is visible.
fn without_cgroups(command: &Command) -> Command {
    let mut hidden = Command::new("unshare");
    let hide = "for place in $(grep ' - cgroup2 ' /proc/self/mountinfo | cut -d' ' -f5)
        do umount -l \"$place\"; done; exec \"$@\"";
    let variables = command.get_envs();
    hidden
        .args(["--mount", "sh", "-c", hide, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .envs(variables.filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        hidden.current_dir(directory);
    }
    hidden
}

#[test]
fn daemon_neither_delays_nor_outlives_its_job() {
    // fault 34
    let pipeline = r#"
job:
  script:
    - setsid nohup sleep 600 >/dev/null 2>&1 &
    - (setsid -f sh -c 'trap "" TERM HUP INT; sleep 600; sleep 600' >/dev/null 2>&1 </dev/null)
    - echo the-end
"#;
    both_ways("daemon", pipeline, &["job | the-end"]);
}

#[test]
fn background_process_that_holds_the_output_is_cut_off() {
    // fault 35
    let pipeline = r"
job:
  script:
    - sleep 600 &
    - (while sleep 0.05; do echo noise; done) &
    - echo the-end
";
    both_ways("holder", pipeline, &["job | the-end"]);
}

#[test]
fn ten_thousand_zombies_are_reaped() {
    // fault 36
    let pipeline = r#"
stages: [make, look]
make:
  stage: make
  script:
    - |
      perl -e 'for (1..10000) { defined($pid = fork) or die "fork: $!"; exit unless $pid }
          open F, ">made"; close F; sleep 600' &
    - until [ -e made ]; do sleep 0.05; kill -0 $!; done
    - echo made "$(grep -l "^PPid:[^0-9]*$!\$" /proc/[0-9]*/status 2>/dev/null | wc -l)"
look:
  stage: look
  script:
    - children() { cat /proc/$PPID/task/*/children | wc -w; }
    - while [ "$(children)" -gt 50 ]; do sleep 0.05; done
    - echo collected
"#;
    both_ways(
        "zombies",
        pipeline,
        &["make | made 10000", "look | collected"],
    );
}

/// The bomb limits itself, so that a failing test does not take the machine with it.
struct Fuse(std::path::PathBuf);

impl Fuse {
    fn new() -> Option<Self> {
        let name = format!("runwright-test-{}", std::process::id());
        let path = Path::new("/sys/fs/cgroup/pids").join(name);
        std::fs::create_dir(&path).ok()?;
        std::fs::write(path.join("pids.max"), "500").ok()?;
        Some(Self(path))
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn fork_bomb_ends_at_the_timeout() {
    // fault 36
    let Some(fuse) = Fuse::new() else {
        executor_testkit::not_tested("a fork bomb", "no other limit would stop it");
        return;
    };
    let marker = format!("runwright-test-bomb-{}", std::process::id());
    let procs = fuse.0.join("cgroup.procs");
    let project = Project::with_pipeline(&format!(
        r"
variables: {{MARK: {marker}}}
bomb:
  timeout: 3 seconds
  script:
    - echo $$ >{procs}
    - bomb() {{ bomb | bomb & }}
    - bomb 2>/dev/null; sleep 600
beside:
  script: [echo beside]
",
        procs = procs.display()
    ));
    let done = project.runwright(&["run"]).expect_code(1);
    let done = done.expect_text("beside | beside");
    done.expect_text("bomb failed in stage test: job_execution_timeout");
    assert_eq!(processes_with(&marker), Vec::<u32>::new());
    assert_eq!(project.leftovers(), Vec::<&Path>::new());
}
