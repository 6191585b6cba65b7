//! `--executor driver` and `runwright driver check`, with the example driver and with drivers of GitLab's protocol.

use crate::project::{Project, wait_until};
use crate::signals::interrupt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Returns a project with the example driver as `host.py`, and the user's settings with a copy of it.
fn project(pipeline: &str) -> Project {
    let project = Project::with_pipeline(pipeline);
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/drivers/host.py");
    fs::create_dir(project.home()).unwrap();
    for directory in [project.dir(), project.home()] {
        fs::copy(&driver, directory.join("host.py")).unwrap();
    }
    let settings = "[driver]\ncommand = [\"python3\", \"host.py\"]\n";
    fs::write(project.home().join("config.toml"), settings).unwrap();
    project
}

#[test]
fn jobs_exchange_files_through_the_driver() {
    let project = project(
        "build:\n  stage: build\n  script: [mkdir out, echo made > out/file]\n  artifacts: {paths: [out]}\n\
         test:\n  stage: test\n  script: [cat out/file, exit 7]\n",
    );
    let done = project
        .runwright(&["run", "--executor", "driver"])
        .expect_code(1);
    assert!(done.stdout.contains("test  | made"), "{}", done.all());
    assert!(done.all().contains("exit code 7"), "{}", done.all());
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
}

/// Both jobs have the same directory, which the driver keeps.
#[test]
fn job_has_no_files_of_an_earlier_job() {
    let project = project(
        "one: {stage: build, script: ['touch untracked && mkdir ign && touch ign/x && rm host.py']}\n\
         two: {stage: test, script: ['ls -A', 'pwd']}\n",
    );
    project.write(".gitignore", "ign\n");
    let done = project
        .runwright(&["run", "--executor", "driver"])
        .expect_code(0);
    for (file, is_there) in [("untracked", false), ("ign", false), ("host.py", true)] {
        let line = format!("two | {file}\n");
        assert_eq!(done.stdout.contains(&line), is_there, "{}", done.all());
    }
}

#[test]
fn driver_is_chosen_by_the_user_alone() {
    let project = project("job: {script: ['true']}\n");
    fs::remove_file(project.home().join("config.toml")).unwrap();
    let run = ["run", "--executor", "driver"];
    let missing = project.runwright(&run).expect_code(2);
    assert!(
        missing.stderr.contains("`command` is missing"),
        "{}",
        missing.stderr
    );
    project.write(
        ".runwright.toml",
        "[driver]\ncommand = [\"python3\", \"host.py\"]\n",
    );
    let refused = project.runwright(&run).expect_code(2);
    let reason = "[driver] is not allowed in a project's settings";
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    fs::remove_file(project.dir().join(".runwright.toml")).unwrap();

    // A relative path in the user's settings is not one in the project, whose files would choose the program.
    project.write("evil", "#!/bin/sh\ntouch \"$0.started\"\n");
    make_executable(&project.dir().join("evil"));
    for (executor, settings) in [
        ("driver", "[driver]\ncommand = [\"./evil\"]\n"),
        ("driver", "[driver]\ncommand = [\"sh\", \"evil\"]\n"),
        (
            "custom",
            "[custom]\nbuilds-dir = \"b\"\nrun-exec = \"./evil\"\n",
        ),
    ] {
        fs::write(project.home().join("config.toml"), settings).unwrap();
        let done = project.runwright(&["run", "--executor", executor]);
        assert_ne!(done.code, Some(0), "{}", done.all());
        assert!(!project.dir().join("evil.started").exists(), "{settings}");
    }
}

#[test]
fn dead_driver_fails_the_job_with_its_last_words() {
    let project = project("job: {script: ['true']}\n");
    let dies = "import host, os, sys\n\
                class Dies(host.Host):\n    \
                    def call_run(self, call, params, payload):\n        \
                        print('the board is on fire', file=sys.stderr)\n        \
                        os._exit(4)\n\
                host.main(Dies())\n";
    fs::write(project.home().join("host2.py"), dies).unwrap();
    let settings = "[driver]\ncommand = [\"python3\", \"host2.py\"]\n";
    fs::write(project.home().join("config.toml"), settings).unwrap();
    let done = project
        .runwright(&["run", "--executor", "driver"])
        .expect_code(3);
    assert!(
        done.all().contains("the driver exited with code 4"),
        "{}",
        done.all()
    );
    assert!(
        done.all().contains("the board is on fire"),
        "{}",
        done.all()
    );
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn report_shows_the_rule_and_what_came() {
    let project = project("job: {script: ['true']}\n");
    let wrong = "import host\n\
                 class Wrong(host.Host):\n    \
                     def call_run(self, call, params, payload):\n        \
                         return {'exit_code': int(super().call_run(call, params, payload) != {'exit_code': 0})}\n\
                 host.main(Wrong())\n";
    project.write("wrong.py", wrong);
    let check = [
        "driver",
        "check",
        "--only",
        "success",
        "--only",
        "exit_codes",
    ];
    let done = project
        .runwright(&[&check, &["python3", "wrong.py"][..]].concat())
        .expect_code(1);
    assert_eq!(
        done.stdout,
        "passed   start\n\
         passed   success\n\
         FAILED   exit_codes\n  \
           expected A failed script is a result, with its exit code unchanged.\n  \
           found    exit 2: expected exit code 2, got exit code 1\n\
         \n\
         host.py 1.0: 2 passed, 1 failed, 0 skipped\n"
    );

    let done = project
        .runwright(&[&check, &["--json", "--", "python3", "host.py"][..]].concat())
        .expect_code(0);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["passed"], true);
    assert_eq!(report["checks"][2]["name"], "exit_codes");
    assert_eq!(report["checks"][2]["result"], "passed");
    let rule = "A failed script is a result, with its exit code unchanged.";
    assert_eq!(report["checks"][2]["expected"], rule);
    assert_eq!(report["driver"]["name"], "host.py");
    let left_out = report["left_out"].as_array().unwrap();
    assert!(left_out.contains(&"many_jobs_at_once".into()));
}

/// A board on a desk has room for one job, whose checks then run in turn.
#[test]
fn driver_with_room_for_one_job_is_checked() {
    let project = project("job: {script: ['true']}\n");
    let board = "import host\n\
                 class Board(host.Host):\n    \
                     capabilities = ['files', 'capacity', 'filez']\n    \
                     free = True\n    \
                     def call_acquire(self, call, params, payload):\n        \
                         if not self.free: raise host.Refused('busy', 'no_capacity')\n        \
                         self.free = False\n        \
                         return {'lease': 'board'}\n    \
                     def call_release(self, call, params, payload):\n        \
                         self.free = True\n\
                 host.main(Board())\n";
    project.write("board.py", board);
    let checks = [
        "many_jobs_at_once",
        "instances_are_independent",
        "variables_end_with_their_job",
        "abort_in_each_stage",
    ];
    let only = checks.iter().flat_map(|check| ["--only", *check]);
    let mut words = vec!["driver", "check", "--jobs", "1"];
    words.extend(only);
    words.extend(["python3", "board.py"]);
    let done = project.runwright(&words).expect_code(0);
    let done = done.expect_text("skipped  many_jobs_at_once: it needs two jobs at once");
    let unknown = "unknown capability \"filez\": expected capacity, files or reconnect";
    done.expect_text(unknown)
        .expect_text("3 passed, 0 failed, 2 skipped");
}

#[test]
fn equal_failures_are_shown_once() {
    let project = project("job: {script: ['true']}\n");
    let broken = "import host\n\
                  class Broken(host.Host):\n    \
                      def call_prepare(self, call, params, payload):\n        \
                          raise host.Refused('no power')\n\
                  host.main(Broken())\n";
    project.write("broken.py", broken);
    let driver = &["python3", "broken.py"][..];
    let two = [
        "driver",
        "check",
        "--only",
        "signals",
        "--only",
        "exit_codes",
    ];
    let done = project.runwright(&[&two[..], driver].concat());
    let done = done.expect_code(1);
    assert_eq!(done.stdout.matches("no power").count(), 1, "{}", done.all());
    done.expect_text("FAILED   signals: as exit_codes\n");
    // No other check can pass.
    let done = project.runwright(&[&["driver", "check"][..], driver].concat());
    let done = done.expect_code(1);
    assert_eq!(done.stdout.matches("FAILED").count(), 1, "{}", done.all());
    done.expect_text("help: the other checks run once a script succeeds");
}

#[test]
fn driver_that_does_not_start_fails_the_first_check() {
    let project = project("job: {script: ['true']}\n");
    let done = project
        .runwright(&["driver", "check", "echo", "ready"])
        .expect_code(1);
    assert!(
        done.stdout.starts_with("FAILED   start\n"),
        "{}",
        done.stdout
    );
    let printed = "printed \"ready\\n\" on its standard output";
    assert!(done.stdout.contains(printed), "{}", done.stdout);
    let unknown = project
        .runwright(&["driver", "check", "--only", "sucess", "echo"])
        .expect_code(2);
    unknown
        .expect_text("there is no check \"sucess\"")
        .expect_text("help: did you mean `success`?");
}

#[test]
fn ctrl_c_stops_the_check_under_way() {
    let project = project("job: {script: ['true']}\n");
    let started = project.scratch().join("started");
    let slow = format!(
        "import host\n\
         class Slow(host.Host):\n    \
             def call_run(self, call, params, payload):\n        \
                 script = b'echo >{}; sleep 600'\n        \
                 params.update(script_size=len(script), files=[], working_dir='/')\n        \
                 return super().call_run(call, params, script)\n\
         host.main(Slow())\n",
        started.display()
    );
    project.write("slow.py", &slow);
    let mut check = project.start(&["driver", "check", "python3", "slow.py"]);
    wait_until("the script to start", || started.exists());
    interrupt(check.id(), "-INT");
    assert_eq!(check.wait().unwrap().code(), Some(130));
    let printed = project.printed();
    assert!(
        printed.contains("stopping the check under way"),
        "{printed}"
    );
    assert!(!printed.contains("FAILED"), "{printed}");
}

#[test]
fn log_names_the_shell_that_the_driver_has_chosen() {
    let project = project("job: {script: ['true']}\n");
    let bash = "import host\n\
                class Bash(host.Host):\n    \
                    def call_prepare(self, call, params, payload):\n        \
                        return {**super().call_prepare(call, params, payload), 'shell': 'bash'}\n\
                host.main(Bash())\n";
    fs::write(project.home().join("bash.py"), bash).unwrap();
    let settings = "[driver]\ncommand = [\"python3\", \"bash.py\"]\n";
    fs::write(project.home().join("config.toml"), settings).unwrap();
    project
        .runwright(&["run", "--executor", "driver"])
        .expect_code(0);
    let log = String::from_utf8(project.only_log()).unwrap();
    assert!(log.contains("Using the bash shell"), "{log}");
    assert!(!log.contains("Using the sh shell"), "{log}");
}

/// Makes a driver of GitLab's protocol that runs jobs on this host: `driver.sh PHASE`.
fn custom_driver(project: &Project, ending: &str) {
    let text = format!(
        "#!/bin/sh\nphase=$1; shift\necho \"$phase\" >>{}/phases\n[ \"$phase\" = run ] || exit 0\n\
         trap : TERM\n\"$1\"\ncode=$?\n[ $code = 0 ] && exit\n{ending}\n",
        project.scratch().display()
    );
    project.write("driver.sh", &text);
    make_executable(&project.dir().join("driver.sh"));
}

fn make_executable(file: &Path) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

const ENDING: &str = "echo $code >\"$BUILD_EXIT_CODE_FILE\"; exit \"$BUILD_FAILURE_EXIT_CODE\"";
const CHECK: [&str; 6] = [
    "driver",
    "check",
    "--only",
    "success",
    "--only",
    "exit_codes",
];

#[test]
fn driver_of_gitlabs_protocol_is_checked_by_all_its_phases() {
    // R-EXEC-102
    let project = Project::with_pipeline("job: {script: ['true']}\n");
    custom_driver(&project, ENDING);
    let words = ["--protocol", "custom", "./driver.sh", "{}"];
    let done = project.runwright(&[&CHECK[..], &words].concat());
    let passed =
        "passed   start\npassed   success\npassed   exit_codes\n\n3 passed, 0 failed, 0 skipped\n";
    assert_eq!(done.expect_code(0).stdout, passed);
    let phases = fs::read_to_string(project.scratch().join("phases")).unwrap();
    assert!(phases.starts_with("config\nprepare\nrun\n"), "{phases}");
    assert!(phases.ends_with("run\ncleanup\n"), "{phases}");

    // The log of a job has what `prepare` prints, too.
    let masking = ["driver", "check", "--only", "masking_at_every_split"];
    let text = fs::read_to_string(project.dir().join("driver.sh")).unwrap();
    let talks = "; shift\n[ \"$phase\" = prepare ] && echo hello\n";
    project.write("driver.sh", &text.replacen("; shift\n", talks, 1));
    project
        .runwright(&[&masking[..], &words].concat())
        .expect_code(0);

    custom_driver(&project, "exit $code");
    let done = project.runwright(&[&CHECK[..], &words].concat());
    done.expect_code(1)
        .expect_text("FAILED   exit_codes\n  expected A failed script is a result");
}

#[test]
fn driver_in_a_directory_or_in_the_settings_needs_no_protocol() {
    let project = Project::with_pipeline("job: {script: ['true']}\n");
    custom_driver(&project, ENDING);
    let driver = project.dir().join("driver.sh");
    project.write("boards/README.md", "programs of a driver\n");
    let check = |more: &[&str]| project.runwright(&[&CHECK[..], more].concat());
    check(&["boards"])
        .expect_code(2)
        .expect_text("no program in boards is named `run`");
    project.write(
        "boards/run.sh",
        &format!("#!/bin/sh\nexec {} run \"$@\"\n", driver.display()),
    );
    check(&["boards"])
        .expect_code(2)
        .expect_text("not executable, so not programs: boards/run.sh");
    make_executable(&project.dir().join("boards/run.sh"));
    // Neither a file that is not executable nor a directory is a program.
    project.write("boards/config.toml", "settings of the driver\n");
    project.write("boards/prepare/notes", "\n");
    check(&["boards"])
        .expect_code(0)
        .expect_text("3 passed, 0 failed");
    check(&["boards", "extra"])
        .expect_code(2)
        .expect_text("boards is a directory of programs, which takes no arguments");

    let settings = format!(
        "[custom]\nbuilds-dir = \"builds\"\nrun-exec = \"{}\"\nrun-args = [\"run\"]\n",
        driver.display()
    );
    fs::create_dir_all(project.home()).unwrap();
    fs::write(project.home().join("config.toml"), settings).unwrap();
    check(&[]).expect_code(0).expect_text("3 passed, 0 failed");
    // A program is not started without arguments to find out what it speaks.
    check(&["./driver.sh"]).expect_code(1).expect_text(
        "help: a driver of the toolkit is started with `serve`: `driver check ./driver.sh serve`; \
         `--protocol custom` checks a driver for GitLab Runner's custom executor",
    );
}
