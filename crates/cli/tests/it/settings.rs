//! Settings: their sources, their precedence, and refused values.

use crate::project::{Done, Project};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

const PIPELINE: &str = "
one: {script: [echo from one]}
two: {script: [echo from two]}
";

fn project(user: &str, own: &str) -> Project {
    let project = Project::with_pipeline(PIPELINE);
    fs::create_dir_all(project.home()).unwrap();
    fs::write(project.home().join("config.toml"), user).unwrap();
    project.write(".runwright.toml", own);
    project
}

fn with(project: &Project, variables: &[(&str, &str)], arguments: &[&str]) -> Done {
    let mut command = project.command(arguments);
    command.envs(variables.iter().copied());
    command.output().unwrap().into()
}

/// Returns the line of `config show --origin` about a setting, with runs of blanks collapsed.
fn line(done: &Done, name: &str) -> String {
    let mut lines = done.stdout.lines();
    let line = lines.find(|line| line.starts_with(&format!("{name} =")));
    let words: Vec<&str> = line
        .unwrap_or_else(|| panic!("{done:?}"))
        .split_whitespace()
        .collect();
    words.join(" ")
}

#[test]
fn every_source_takes_precedence_over_those_before_it() {
    // R-PIPE-39
    let user = "[run]\nconcurrency = 2\noutput = 'live'\nprogress = 'json'\nverbose = true\n\
                timeout = '2 hours'\n[runs]\nkeep = 3\n[[gitlab.instance]]\nurl = 'https://h'\n\
                token = 's3cret'\n";
    let own = "# of the project\n[run]\noutput = 'prefix'\nprogress = 'tty'\nverbose = false\n\
               [jobs.'t*']\ninputs = ['src/**/*']\n";
    let project = project(user, own);
    let home = project.home().join("config.toml");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o600)).unwrap();
    let variables = [
        ("RUNWRIGHT_PROGRESS", "plain"),
        ("RUNWRIGHT_OUTPUT", "group"),
    ];
    let words = ["config", "show", "--origin", "--", "--output", "prefix"];
    let done = with(&project, &variables, &words).expect_code(0);
    let home = home.display();
    let check =
        |name: &str, expect: &str| assert_eq!(line(&done, name), format!("{name} = {expect}"));
    check("run.executor", "\"auto\" # built-in");
    check("run.file", "(not set) # built-in");
    check("run.concurrency", &format!("2 # {home}:2"));
    check("run.verbose", "false # .runwright.toml:5");
    check("run.progress", "\"plain\" # $RUNWRIGHT_PROGRESS");
    check("run.output", "\"prefix\" # --output");
    check("jobs.\"t*\".inputs", "[\"src/**/*\"] # .runwright.toml:7");
    check("gitlab.instance[1].token", &format!("(hidden) # {home}:11"));
    check("runs.keep", &format!("3 # {home}:8"));
    assert!(!done.all().contains("s3cret"), "{done:?}");

    let json = with(&project, &variables, &["config", "show", "--json"]).expect_code(0);
    let records: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let of = |name: &str| {
        let mut all = records.as_array().unwrap().iter();
        all.find(|record| record["name"] == name).unwrap().clone()
    };
    let file = of("run.verbose");
    assert_eq!(file["value"], false);
    let place =
        serde_json::json!({"kind": "project", "file": ".runwright.toml", "line": 5, "column": 11});
    assert_eq!(file["origin"], place);
    assert_eq!(of("run.file")["value"], serde_json::Value::Null);
    assert!(!json.stdout.contains("s3cret"));
}

#[test]
fn run_follows_the_settings_and_options_take_precedence() {
    let project = project(
        "",
        "[run]\nfile = 'ci/own.yml'\noutput = 'group'\nconcurrency = 1\n",
    );
    project.write("ci/own.yml", "own: {script: [echo from own]}\n");
    let done = project.runwright(&["run"]).expect_code(0);
    assert!(done.stdout.contains("\n  from own"), "{done:?}");
    // An option takes precedence over the project's settings, and so does a variable.
    let done = project.runwright(&["run", "--output", "prefix", "-f", ".gitlab-ci.yml", "one"]);
    assert!(done.expect_code(0).stdout.contains("one | from one"));
    let variables = [
        ("RUNWRIGHT_OUTPUT", "prefix"),
        ("RUNWRIGHT_FILE", ".gitlab-ci.yml"),
    ];
    let done = with(&project, &variables, &["run", "two"]).expect_code(0);
    assert!(done.stdout.contains("two | from two"), "{done:?}");
    // Commands that run nothing use the same file.
    for command in ["list", "plan", "show", "lint"] {
        let done = project.runwright(&[command]).expect_code(0);
        assert!(done.stdout.contains("own"), "{command}: {done:?}");
    }
    // From a subdirectory, and for a project in another directory.
    let mut below = project.command(&["list"]);
    let done = Done::from(
        below
            .current_dir(project.dir().join("ci"))
            .output()
            .unwrap(),
    );
    assert!(done.expect_code(0).stdout.contains("own"));
    let mut beside = project.command(&["list", "-C", "project"]);
    let done = Done::from(beside.current_dir(project.scratch()).output().unwrap());
    assert!(done.expect_code(0).stdout.contains("own"));
}

#[test]
fn setting_that_conflicts_with_an_option_is_ignored() {
    let tell = "where: {script: ['echo in $PWD', 'git worktree list']}\n";
    let project = project("", "[run]\nisolation = 'worktree'\nserial = true\n");
    project.write(".gitlab-ci.yml", tell);
    project.commit();
    let here = fs::canonicalize(project.dir()).unwrap();
    let here = format!("in {}\n", here.display());
    let done = project.runwright(&["run", "--in-place"]).expect_code(0);
    assert!(done.stdout.contains(&here), "{done:?}");
    let done = project
        .runwright(&["run", "--concurrency", "2"])
        .expect_code(0);
    assert!(!done.stdout.contains(&here), "{done:?}");
    project
        .runwright(&["run", "--serial", "--concurrency", "2"])
        .expect_code(2)
        .expect_text("--serial cannot be used with --concurrency");
    // In one file, `concurrency` takes precedence over `serial`; a negative option does not change it.
    project.write(".runwright.toml", "[run]\nserial = true\nconcurrency = 2\n");
    project.runwright(&["run"]).expect_code(0);
    project.runwright(&["run", "--serial=false"]).expect_code(0);
    project.runwright(&["run", "--serial"]).expect_code(0);
    let done = project.runwright(&["config", "show", "--", "--serial=false"]);
    assert_eq!(
        line(&done.expect_code(0), "run.serial"),
        "run.serial = false"
    );
}

#[test]
fn project_settings_take_precedence_over_those_of_bitrab() {
    // R-PIPE-39
    let tell = "where: {script: ['echo in $PWD']}\n";
    let project = project("", "[run]\ndialect = 'bitrab'\n");
    project.write(".gitlab-ci.yml", tell);
    project.write("pyproject.toml", "[tool.bitrab]\nserial = true\n");
    project.commit();
    let here = fs::canonicalize(project.dir()).unwrap();
    let here = format!("in {}\n", here.display());
    let is_here = |project: &Project| {
        let done = project.runwright(&["run"]).expect_code(0);
        done.stdout.contains(&here)
    };
    assert!(is_here(&project));
    project.write(
        ".runwright.toml",
        "[run]\ndialect = 'bitrab'\nserial = false\n",
    );
    assert!(!is_here(&project));
}

#[test]
fn run_continues_with_its_original_settings() {
    let project = project("", "[run]\nfile = 'ci/own.yml'\noutput = 'group'\n");
    project.write(
        "ci/own.yml",
        "own: {script: [echo from own, 'test -e \"$MARK\"']}\n",
    );
    let mark = project.scratch().join("mark");
    let variable = format!("MARK={}", mark.display());
    project
        .runwright(&["run", "--variable", &variable])
        .expect_code(1);
    // Changed settings apply to the next run, except for the display, which follows the current user.
    project.write(
        ".runwright.toml",
        "[run]\nfile = 'other.yml'\noutput = 'prefix'\n",
    );
    fs::write(mark, "").unwrap();
    let done = project.runwright(&["retry"]).expect_code(0);
    assert!(done.stdout.contains("own | from own"), "{done:?}");
    let done = with(
        &project,
        &[("RUNWRIGHT_OUTPUT", "group")],
        &["retry", "own"],
    );
    assert!(done.expect_code(0).stdout.contains("\n  from own"));
}

#[test]
fn mistakes_fail_each_command_that_reads_settings() {
    let project = project("", "\n[run]\nouptut = 'group'\n");
    let commands: [&[&str]; 10] = [
        &["run"],
        &["run", "--dry-run"],
        &["list"],
        &["plan"],
        &["explain", "one"],
        &["variables"],
        &["lint"],
        &["show"],
        &["vendor"],
        &["config", "show"],
    ];
    for command in commands {
        let done = project.runwright(command).expect_code(2);
        assert_eq!(done.stdout, "", "{command:?}");
        let done = done.expect_text(".runwright.toml:3:1: there is no setting `ouptut` in [run]");
        done.expect_text("did you mean `output`?");
    }
    // Commands that need no settings succeed.
    project.runwright(&["history"]).expect_code(0);
    project.runwright(&["config", "schema"]).expect_code(0);
    project.runwright(&["executors"]).expect_code(0);
    assert!(!project.home().join("projects").exists());
}

#[test]
fn invalid_files_are_reported_and_nothing_runs() {
    let project = project("", "");
    let file = project.dir().join(".runwright.toml");
    let check = |text: &[u8], expect: &str| {
        fs::write(&file, text).unwrap();
        let done = project
            .runwright(&["run"])
            .expect_code(2)
            .expect_text(expect);
        assert_eq!(done.stdout, "", "{expect}");
        assert!(done.stderr.len() < 2000, "{}", done.stderr.len());
        assert!(!done.stderr.contains('\x1b'), "{done:?}");
    };
    check(
        b"[run]\noutput = 'group'\noutput = 'prefix'\n",
        ".runwright.toml:3:1: duplicate key",
    );
    check(
        b"[run]\nserial = 1\n",
        ".runwright.toml:2:10: `serial` is true or false, not a number",
    );
    check(
        b"[run]\npull-policy = ['always', 'sometimes']\n",
        ".runwright.toml:2:26: `pull-policy` is one of always, if-not-present, never",
    );
    check(
        b"[run]\nskip = ['nosuch']\n",
        ".runwright.toml:2:8: `skip`: there is no job `nosuch`\nhelp: the jobs are one, two",
    );
    check(
        b"[jobs.one]\ninputs = ['src/[ab', 'b']\n",
        ".runwright.toml:2:11: the pattern `src/[ab` matches no path",
    );
    check(b"[jobs.one]\ninputs = ['{a']\n", ".runwright.toml:2:11: ");
    check(b"[run\n", ".runwright.toml:1:");
    check(b"\xff\xfe\x00", ".runwright.toml: the file is not text");
    check(
        b"[run]\r\nx = 1\r\n",
        ".runwright.toml:2:1: there is no setting `x`",
    );
    check(b"[run]\n\x1b[31mred = 1\n", ".runwright.toml:2:2");
    let mut huge = b"# 10 MB\n".to_vec();
    huge.resize(10 << 20, b'#');
    check(&huge, ".runwright.toml: the file is longer than");
    let deep = [b"x = ".as_slice(), &b"[".repeat(200_000)].concat();
    check(&deep, ".runwright.toml:1:");
    fs::write(&file, "\u{feff}[run]\r\noutput = 'group'\r\n").unwrap();
    project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("\n  from one");

    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let done = project.runwright(&["run"]).expect_code(2);
    done.expect_text(".runwright.toml: it is a directory");
    fs::remove_dir(&file).unwrap();
    symlink(".runwright.toml", &file).unwrap();
    project
        .runwright(&["run"])
        .expect_code(2)
        .expect_text(".runwright.toml: ");
}

#[test]
fn unreadable_file_is_not_treated_as_empty() {
    let project = project("[run]\noutput = 'group'\n", "");
    let file = project.home().join("config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(&file).is_ok() {
        // Root can read every file; a symbolic link to itself has the same effect.
        fs::remove_file(&file).unwrap();
        symlink("config.toml", &file).unwrap();
    }
    let done = project.runwright(&["run"]).expect_code(2);
    assert!(done.stderr.contains("config.toml: "), "{done:?}");
    assert_eq!(done.stdout, "");
}

#[test]
fn hostile_project_cannot_set_user_settings() {
    let check = |text: &str, what: &str| {
        let project = project("", text);
        let done = project.runwright(&["list"]).expect_code(2);
        let done = done
            .expect_text(what)
            .expect_text("it belongs in your own `config.toml`");
        assert!(!done.all().contains("t0ken"), "{done:?}");
    };
    let not = "is not allowed in a project's settings";
    check(
        "[[gitlab.instance]]\nurl = 'https://evil.example'\ntoken = 't0ken'\n",
        &format!(".runwright.toml:1:3: [gitlab] {not}"),
    );
    check(
        "[include]\nallow-private = ['*']\n",
        &format!("[include] {not}"),
    );
    check("[projects]\n'a/b' = '/etc'\n", &format!("[projects] {not}"));
    check("[cache]\nsize = '0'\n", &format!("[cache] {not}"));
    check("[runs]\nkeep = 1\n", &format!("[runs] {not}"));
    check(
        "[run]\nexecutor = 'shell'\n",
        &format!(".runwright.toml:2:1: `executor` {not}"),
    );
    let project = project("", "[run]\nfile = '../outside.yml'\n");
    fs::write(project.scratch().join("outside.yml"), "no yaml: [").unwrap();
    let done = project.runwright(&["list"]).expect_code(2);
    done.expect_text(".runwright.toml:2:8: `file` leads out of the project");
}

#[test]
fn variables_are_checked_and_unknown_ones_reported_once() {
    let project = project("", "");
    let done = with(&project, &[("RUNWRIGHT_OUTPUT", "grup")], &["run"]).expect_code(2);
    let done = done.expect_text("RUNWRIGHT_OUTPUT: `output` is one of live, group, prefix");
    assert_eq!(done.stdout, "");
    let variables = [
        ("RUNWRIGHT_OUPTUT", "group"),
        ("RUNWRIGHT_TEST_X", "1"),
        ("RUNWRIGHT_LOG", "warn"),
    ];
    let done = with(&project, &variables, &["run"]).expect_code(0);
    let warning = "warning: the variable RUNWRIGHT_OUPTUT has no effect: did you mean \
                   `RUNWRIGHT_OUTPUT`?\n";
    assert_eq!(
        done.stderr.matches("RUNWRIGHT_").count(),
        2,
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains(warning), "{}", done.stderr);
    let done = with(&project, &variables, &["retry", "one"]).expect_code(0);
    assert_eq!(done.stderr.matches(warning).count(), 1, "{}", done.stderr);
}

#[test]
fn jobs_do_not_inherit_the_variables_of_the_outer_run() {
    let binary = env!("CARGO_BIN_EXE_runwright");
    let text = format!(
        "inner:
  script:
    - env | grep ^RUNWRIGHT_ | grep -v _MARKER= || echo none
    - RUNWRIGHT_HOME=$PWD/../state {binary} config show --origin | grep -E 'run.(output|file) '
said:
  variables: {{RUNWRIGHT_OUTPUT: live}}
  script:
    - RUNWRIGHT_HOME=$PWD/../state {binary} config show --origin | grep 'run.output '
"
    );
    let project = Project::with_pipeline("");
    project.write("ci.yml", &text);
    project.commit();
    let variables = [("RUNWRIGHT_FILE", "ci.yml"), ("RUNWRIGHT_OUTPUT", "group")];
    let done = with(&project, &variables, &["run"]).expect_code(0);
    assert!(done.stdout.contains("\n  none\n"), "{done:?}");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = plain(&done.stdout);
    assert!(
        shown.contains("run.output = (not set) # built-in"),
        "{shown}"
    );
    assert!(shown.contains("run.file = (not set) # built-in"), "{shown}");
    assert!(
        shown.contains("run.output = \"live\" # $RUNWRIGHT_OUTPUT"),
        "{shown}"
    );
}

#[test]
fn initial_files_are_written_and_never_overwritten() {
    let project = Project::with_pipeline(PIPELINE);
    let user = project.home().join("config.toml");
    let own = project.dir().join(".runwright.toml");
    for (arguments, file) in [
        (&["config", "init"][..], &user),
        (&["config", "init", "--project"], &own),
    ] {
        let done = project.runwright(arguments).expect_code(0);
        assert!(
            done.stdout
                .contains(&*file.file_name().unwrap().to_string_lossy())
        );
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains("\n#[run]\n"), "{text}");
        let done = project.runwright(arguments).expect_code(2);
        done.expect_text("it already exists, and is not changed");
        assert_eq!(fs::read_to_string(file).unwrap(), text);
    }
    let mode = fs::metadata(&user).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let done = project
        .runwright(&["config", "show", "--origin"])
        .expect_code(0);
    assert!(!done.stdout.contains("there is none"), "{done:?}");
    assert_eq!(
        line(&done, "run.output"),
        "run.output = (not set) # built-in"
    );
    // A directory in place of the file, and a home that is a file.
    fs::remove_file(&own).unwrap();
    fs::create_dir(&own).unwrap();
    project
        .runwright(&["config", "init", "--project"])
        .expect_code(2);
    let mut command = project.command(&["config", "init"]);
    let done = Done::from(
        command
            .env("RUNWRIGHT_HOME", project.dir().join(".gitlab-ci.yml/x"))
            .output()
            .unwrap(),
    );
    done.expect_code(2);
}

#[test]
fn config_show_refuses_unknown_options_and_the_schema_is_current() {
    let project = Project::with_pipeline(PIPELINE);
    let done = project
        .runwright(&["config", "show", "--", "--concurency", "2"])
        .expect_code(2);
    done.expect_text("options of `runwright run` follow `--`");
    let schema = project.runwright(&["config", "schema"]).expect_code(0);
    let published = include_str!("../../../../docs/runwright.schema.json");
    assert_eq!(schema.stdout, published);
}

#[test]
fn wrong_values_of_lists_are_refused_from_every_source() {
    let project = project("", "");
    let words = "always, if-not-present, never";
    for (variable, value, expect) in [
        (
            "RUNWRIGHT_PULL_POLICY",
            "never,sometimes",
            &*format!("is one of {words}"),
        ),
        (
            "RUNWRIGHT_SKIP",
            "one,nosuch",
            "$RUNWRIGHT_SKIP: `skip`: there is no job `nosuch`",
        ),
    ] {
        for command in ["run", "plan", "list"] {
            let done = with(&project, &[(variable, value)], &[command]);
            done.expect_code(2).expect_text(expect);
        }
    }
    let done = project.runwright(&["run", "--pull-policy", "never,sometimes"]);
    done.expect_code(2).expect_text(words);
}

#[test]
fn skip_setting_applies_only_to_whole_pipelines() {
    let project = project("", "[run]\nskip = ['t*']\n");
    let ran = |done: Done| {
        let done = done.expect_code(0);
        ["one", "two"].map(|job| done.stdout.contains(&format!("from {job}\n")))
    };
    assert_eq!(ran(project.runwright(&["run"])), [true, false]);
    assert_eq!(ran(project.runwright(&["run", "two"])), [false, true]);
    assert_eq!(
        ran(project.runwright(&["run", "--skip", "one"])),
        [false, true]
    );
    assert_eq!(
        ran(with(&project, &[("RUNWRIGHT_SKIP", "on*")], &["run"])),
        [false, true]
    );
}

#[test]
fn named_pipe_in_place_of_the_file_does_not_block() {
    let project = project("", "");
    let file = project.dir().join(".runwright.toml");
    fs::remove_file(&file).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, mode).unwrap();
    let done = project.runwright(&["run"]).expect_code(2);
    done.expect_text(".runwright.toml: it is not a file");
}

#[test]
fn settings_of_a_project_read_nothing_outside_of_it() {
    let project = Project::with_pipeline("job: {script: ['true']}\n");
    let outside = project.scratch().join("outside.yml");
    fs::write(&outside, "hunter2: [").unwrap();
    symlink(&outside, project.dir().join("link.yml")).unwrap();
    symlink(project.scratch(), project.dir().join("way")).unwrap();
    for file in ["link.yml", "./link.yml", "way/outside.yml"] {
        project.write(".runwright.toml", &format!("[run]\nfile = \"{file}\"\n"));
        let refused = project.runwright(&["lint"]).expect_code(2);
        let refused = refused.expect_text("it leads out of the project").all();
        assert!(!refused.contains("hunter2"), "{refused}");
    }
    fs::remove_file(project.dir().join(".runwright.toml")).unwrap();
    symlink(&outside, project.dir().join(".runwright.toml")).unwrap();
    project
        .runwright(&["lint"])
        .expect_code(2)
        .expect_text(".runwright.toml: it leads out of the project");
}

#[test]
fn shown_options_contradict_each_other_as_in_a_run() {
    let project = Project::with_pipeline("job: {script: [echo]}\n");
    project
        .runwright(&["config", "show", "--", "--concurrency", "6", "--serial"])
        .expect_code(2)
        .expect_text("--serial cannot be used with --concurrency");
}
