//! Limits of the system on processes, threads and open files.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Done, Project, files_below};
use std::fs;
use std::os::unix::fs::lchown;
use std::process::{Command, Stdio};

/// A user who has no other process, since limits count those of all programs of a user. Root has no such limits.
///
/// `None` is the user of the tests.
pub(crate) struct OtherUser(Option<u32>);

impl OtherUser {
    /// Gives a project to a user with this number; 0 is the user of the tests, as is every number without root.
    pub(crate) fn new(project: &Project, number: u32) -> Self {
        let is_other = number != 0 && rustix::process::getuid().is_root();
        let id = is_other.then_some(60_000 + number);
        if is_other {
            let files = files_below(project.scratch());
            for path in files.iter().map(AsRef::as_ref).chain([project.scratch()]) {
                lchown(path, id, id).unwrap();
            }
        }
        Self(id)
    }

    /// Returns the binary, set up to run for the user in the project after `ulimit` with each of `limits`.
    ///
    /// Without root it runs for the user of the tests, who has more processes than a small limit allows.
    pub(crate) fn command(
        &self,
        project: &Project,
        limits: &[&str],
        arguments: &[&str],
    ) -> Command {
        let mut command = Command::new("timeout");
        command.arg("600");
        if let Some(id) = self.0 {
            // The directory of the binary may be closed to other users.
            let reads = "+dac_read_search";
            command.args(["setpriv", "--clear-groups", "--inh-caps", reads]);
            command.args(["--ambient-caps", reads]);
            command.args([format!("--reuid={id}"), format!("--regid={id}")]);
        }
        let limits: Vec<_> = limits.iter().map(|it| format!("ulimit {it}")).collect();
        let script = format!("{}\nexec \"$@\"", limits.join("\n"));
        let own = project.command(arguments);
        command.args(["bash", "-ec", &script, "bash"]);
        command.arg(own.get_program()).args(own.get_args());
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("HOME", project.scratch());
        command.current_dir(project.dir()).stdin(Stdio::null());
        command
    }

    fn run(&self, project: &Project, limits: &[&str], arguments: &[&str]) -> Done {
        let done = self.command(project, limits, arguments).output();
        let done = Done::from(done.expect("`setpriv` and `timeout` are there"));
        assert!(!done.stderr.contains("panicked"), "{limits:?}: {done:?}");
        done
    }
}

#[test]
fn process_limit_ends_the_run_with_advice() {
    let project = Project::with_pipeline("job: {script: [echo hello]}\n");
    let user = OtherUser::new(&project, 1);
    for limit in 1..=16 {
        let limit = format!("-u {limit}");
        let done = user.run(&project, &[&limit], &["run", "--executor", "shell"]);
        if done.code != Some(0) {
            let done = done.expect_code(3).expect_text("see `ulimit -u`");
            let done = done.expect_text("Resource temporarily unavailable");
            assert!(!done.stderr.contains("WARN"), "{limit}: {}", done.stderr);
        }
    }
}

#[test]
fn file_limit_ends_every_command_with_advice() {
    let project = Project::with_pipeline("job: {script: [echo hello]}\n");
    let user = OtherUser::new(&project, 0);
    for limit in 4..=16 {
        let limit = format!("-n {limit}");
        for command in [&["list"][..], &["run", "--executor", "shell"]] {
            let done = user.run(&project, &[&limit], command);
            if done.code != Some(0) {
                let done = done.expect_code(3).expect_text("Too many open files");
                done.expect_text("help: the limit on open files is reached");
            }
        }
    }
}

#[test]
fn job_whose_shell_cannot_be_started_is_a_system_failure() {
    let project = Project::with_pipeline(
        "stages: [one, two]
one: {stage: one, script: [prlimit --pid $PPID --nproc=1:1]}
two: {stage: two, script: [echo never]}
",
    );
    let user = OtherUser::new(&project, 2);
    let done = user.run(&project, &[], &["run", "--executor", "shell"]);
    let done = done.expect_code(3);
    let done = done.expect_text("two | ERROR: Job failed (system failure): shell: start \"");
    done.expect_text("the limit on processes and threads may be reached: see `ulimit -u`");
}

#[test]
fn file_limit_bounds_the_jobs_that_run_at_once() {
    let at_once = (256 - 64) / 16;
    // The user of the tests may have cgroups, with which a job has more files open.
    for number in [0, 3] {
        // Each job waits until as many have begun.
        let project = Project::with_pipeline(&format!(
            "job:
  parallel: 40
  script:
    - touch \"$ROOM/$CI_NODE_INDEX\"
    - while [ \"$(ls \"$ROOM\" | wc -l)\" -lt {at_once} ]; do sleep 0.02; done
    - echo \"limit $(ulimit -Sn)\" | tee out
  artifacts: {{paths: [out]}}
"
        ));
        let room = project.scratch().join("room");
        fs::create_dir(&room).unwrap();
        let user = OtherUser::new(&project, number);
        let variable = format!("ROOM={}", room.display());
        let arguments = [
            "run",
            "--executor=shell",
            "--concurrency=40",
            "--variable",
            &variable,
        ];
        let done = user.run(&project, &["-Sn 200", "-Hn 256"], &arguments);
        let done = done.expect_code(0).expect_text("40 success");
        let note =
            format!("note: {at_once} jobs run at once, not 40: the limit on open files is 256");
        assert_eq!(done.stderr.matches(&note).count(), 1, "{done:?}");
        assert_eq!(done.stdout.matches("| limit 200").count(), 40, "{done:?}");
    }
}

#[test]
fn job_without_a_free_descriptor_is_a_system_failure() {
    let project = Project::with_pipeline(
        "stages: [one, two]
one: {stage: one, script: [prlimit --pid $PPID --nofile=10:10]}
two: {stage: two, script: [echo never]}
",
    );
    let user = OtherUser::new(&project, 0);
    let done = user.run(&project, &[], &["run", "--executor", "shell"]);
    let done = done.expect_code(3);
    let done = done.expect_text("runner_system_failure");
    done.expect_text("raise it with `ulimit -n`, or run fewer jobs at once");
}

#[test]
fn file_size_limit_is_reported_and_ends_only_programs_of_jobs() {
    let project = Project::with_pipeline(
        "flood: {script: [\"head -c 2000000 /dev/zero | tr '\\\\0' x | fold\", echo the-end]}
large: {script: ['head -c 2000000 /dev/zero > large || echo \"ended with $?\"']}
",
    );
    let user = OtherUser::new(&project, 0);
    let done = user.run(&project, &["-f 1000"], &["run", "--executor", "shell"]);
    let done = done.expect_code(0).expect_text("File too large");
    let end = 128 + rustix::process::Signal::XFSZ.as_raw();
    done.expect_text("flood | the-end")
        .expect_text(&format!("large | ended with {end}"));
}
