//! Which layer may set a value, and which layer wins.

use crate::settings::{Settings, SettingsError};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use tempfile::TempDir;

/// Returns the settings from a user's file, a project's file and variables.
fn read(user: &str, project: &str, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let home = directory(&[("config.toml", user)]);
    let root = directory(&[(".runwright.toml", project)]);
    let settings = Settings::of_project(root.path(), home.path(), None)?;
    let variables = variables.iter();
    settings.with_variables(variables.map(|(name, value)| (name.into(), value.into())))
}

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        fs::write(directory.path().join(name), text).expect("written");
    }
    directory
}

#[test]
fn what_is_nearer_wins() {
    // R-PIPE-39
    let user = "[run]\noutput = 'live'\nserial = true\nexecutor = 'shell'\n";
    let project = "[run]\noutput = 'group'\nserial = false\n";
    let variables = [("RUNWRIGHT_SERIAL", "yes"), ("RUNWRIGHT_EXECUTOR", "")];
    let settings = read(user, project, &variables).expect("read");
    let settings = settings
        .with_option("verbose", &[])
        .expect("an option")
        .with_option("changes", &["x".to_owned()])
        .expect("no setting");
    let all = settings.effective();
    let said = all.iter().map(|said| {
        let origin = match said.origin.place() {
            Some(place) => {
                let name = place
                    .file
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned();
                format!("{name}:{}", place.line)
            }
            None => said.origin.to_string(),
        };
        format!("{} = {} from {origin}", said.name(), said.value)
    });
    let expect = [
        "run.executor = \"shell\" from config.toml:4",
        "run.serial = true from $RUNWRIGHT_SERIAL",
        "run.output = \"group\" from .runwright.toml:2",
        "run.verbose = true from --verbose",
    ];
    assert_eq!(said.collect::<Vec<_>>(), expect);
}

#[test]
fn lists_replace_one_another() {
    let user = "[jobs.'*']\ninputs = ['a']\nmay-change = ['m']\n[jobs.test]\ninputs = ['u']\n";
    let project = "[jobs.'te*']\ninputs = ['x']\n[jobs.'*t']\ninputs = []\n";
    let settings = read(user, project, &[]).expect("read");
    let check = |job: &str, inputs: &[&str]| {
        let said = settings.job(job);
        assert_eq!(said.inputs.expect("said"), inputs, "{job}");
        assert_eq!(said.may_change, ["m"], "{job}");
    };
    // The project's patterns win over the exact name in the user's file; of several, the last wins.
    check("test", &[]);
    check("tea", &["x"]);
    check("lint", &[]);
    check("build", &["a"]);
}

#[test]
fn a_name_wins_over_patterns_of_its_file() {
    let text = "[jobs.test]\ninputs = ['one']\n[jobs.'*']\ninputs = ['all']\n[jobs.\"test: [a]\"]\n\
                inputs = ['copy']\n";
    let settings = read("", text, &[]).expect("read");
    let inputs = |job: &str| settings.job(job).inputs.expect("said");
    assert_eq!(inputs("test"), ["one"]);
    assert_eq!(inputs("test: [b]"), ["one"]);
    assert_eq!(inputs("test: [a]"), ["copy"]);
    assert_eq!(inputs("lint"), ["all"]);
}

#[test]
fn a_project_says_nothing_about_trust_or_the_machine() {
    let check = |text: &str, expect: &str| {
        let error = read("", text, &[]).expect_err(text);
        assert_eq!(
            error.to_string(),
            format!(".runwright.toml:{expect}"),
            "{text}"
        );
        let help = error.help.expect("it belongs somewhere");
        assert!(help.contains("`config.toml`"), "{help}");
    };
    let trust = "it decides which servers are trusted, and with which credentials";
    let machine = "it concerns this machine and all projects on it";
    let not =
        |what: &str, why: &str| format!("{what} is not allowed in a project's settings: {why}");
    check(
        "[gitlab]\nurl = 'https://evil.example'",
        &format!("1:2: {}", not("[gitlab]", trust)),
    );
    check(
        "\n[[gitlab.instance]]\nurl = 'https://evil.example'\ntoken = 'x'",
        &format!("2:3: {}", not("[gitlab]", trust)),
    );
    check(
        "[include]\nallow-private = ['*']",
        &format!("1:2: {}", not("[include]", trust)),
    );
    check(
        "[cache]\nsize = '0'",
        &format!("1:2: {}", not("[cache]", machine)),
    );
    check(
        "[projects]\n'a/b' = '/etc'",
        &format!("1:2: {}", not("[projects]", machine)),
    );
    check(
        "resource-groups = {production = 'unordered'}",
        &format!("1:1: {}", not("[resource-groups]", machine)),
    );
    check(
        "[runs]\nkeep = 1",
        &format!("1:2: {}", not("[runs]", machine)),
    );
    let runner = "the person who runs jobs decides where they run, not the project";
    check(
        "[run]\nserial = true\nexecutor = 'shell'",
        &format!("3:1: {}", not("`executor`", runner)),
    );
    check(
        "[run]\nlogin = true",
        &format!("2:1: {}", not("`login`", runner)),
    );
    for path in ["../x.yml", "/etc/passwd", "a/../../x", ".."] {
        let error = read("", &format!("[run]\nfile = '{path}'"), &[]).expect_err("refused");
        let expect = ".runwright.toml:2:8: `file` leads out of the project";
        assert_eq!(error.to_string(), expect, "{path}");
    }
}

#[test]
fn mistakes_of_a_project_are_shown_at_their_place() {
    let check = |text: &str, expect: &str| {
        let error = read("", text, &[]).expect_err(text);
        let help = error.help.as_deref().unwrap_or("-");
        assert_eq!(
            format!("{error} ({help})"),
            format!(".runwright.toml:{expect}"),
            "{text}"
        );
    };
    check(
        "[rum]",
        "1:2: there is no setting `rum` (did you mean `run`?)",
    );
    check(
        "[run]\nouptut = 'group'",
        "2:1: there is no setting `ouptut` in [run] (did you mean `output`?)",
    );
    check(
        "[run]\noutput = 'grup'",
        "2:10: `output` is one of live, group, prefix (did you mean `group`?)",
    );
    check(
        "[run]\nserial = 'yes'",
        "2:10: `serial` is true or false, not text (-)",
    );
    check(
        "[run]\nconcurrency = 0",
        "2:15: `concurrency` is a whole number of at least 1, not 0 (-)",
    );
    check(
        "[run]\nconcurrency = 4294967296",
        "2:15: `concurrency` is too large (-)",
    );
    check(
        "[run]\ntimeout = 'soon'",
        "2:11: `timeout` is a duration (for example \"90 minutes\")",
    );
    check("[run]\nfile = ''", "2:8: `file` is empty (-)");
    check(
        "[run]\nfile = \"a\\u0000b\"",
        "2:8: `file` has a zero byte (-)",
    );
    check("run = 1", "1:7: `run` is a table, not a number (-)");
    check("[[run]]", "1:1: `run` is a table, not a list (-)");
    check(
        "[jobs]\ntest = 1",
        "2:8: `test` is a table, not a number (-)",
    );
    check(
        "[jobs.test]\ninput = []",
        "2:1: there is no setting `input` in [jobs.\"test\"] (did you mean `inputs`?)",
    );
    check(
        "[jobs.test]\ninputs = 'a'",
        "2:10: `inputs` is a list of texts, not text (-)",
    );
    check(
        "[jobs.test]\ninputs = ['a', 1]",
        "2:16: `inputs` is text, not a number (-)",
    );
    check(
        "[jobs.test]\ninputs = ['']",
        "2:11: `inputs` lists no empty text (-)",
    );
    let many = format!("[jobs.test]\ninputs = ['{}']", "{a,b}".repeat(20));
    check(
        &many,
        "2:11: the braces of the glob expand to too many alternatives (-)",
    );
    check(
        "[jobs.\"a\\u001b[31m\"]\nx = 1",
        "2:1: there is no setting `x` in [jobs.\"a\\u{1b}[31m\"] (known are inputs, may-change)",
    );
}

#[test]
fn a_byte_order_mark_and_other_ends_of_lines_are_taken() {
    let settings = read("", "\u{feff}[run]\r\noutput = 'group'\r\n", &[]).expect("read");
    assert_eq!(settings.effective().len(), 1);
    let error = read("", "\u{feff}[run]\r\nx = 1\r\n", &[]).expect_err("refused");
    assert_eq!(error.place, Some((2, 1)));
}

#[test]
fn variables_say_what_options_say() {
    let check = |name: &str, value: &str, expect: &str| {
        let found = match read("", "", &[(name, value)]) {
            Ok(settings) => {
                let all = settings.effective();
                all.iter()
                    .map(|said| said.value.to_string())
                    .collect::<String>()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{name}={value}");
    };
    check("RUNWRIGHT_LOGIN", "1", "true");
    check("RUNWRIGHT_LOGIN", "no", "false");
    check(
        "RUNWRIGHT_LOGIN",
        "maybe",
        "RUNWRIGHT_LOGIN: `login` is true or false",
    );
    check("RUNWRIGHT_CONCURRENCY", "3", "3");
    check(
        "RUNWRIGHT_CONCURRENCY",
        "0",
        "RUNWRIGHT_CONCURRENCY: `concurrency` is a whole number of at least 1",
    );
    check("RUNWRIGHT_FILE", "/x/y.yml", "\"/x/y.yml\"");
    check(
        "RUNWRIGHT_OUTPUT",
        "s3cret",
        "RUNWRIGHT_OUTPUT: `output` is one of live, group, prefix",
    );
    check("RUNWRIGHT_OUTPUT", "", "");
    check(
        "RUNWRIGHT_SKIP",
        "a, test[OS=x,ARCH=y]",
        "[\"a\", \"test[OS=x,ARCH=y]\"]",
    );
    check("OUTPUT", "group", "");
    let strange = OsString::from(OsStr::from_bytes(b"\xff"));
    let error = Settings::default().with_variables([("RUNWRIGHT_FILE".into(), strange)]);
    assert_eq!(
        error.expect_err("refused").to_string(),
        "RUNWRIGHT_FILE: it is no text"
    );
}

#[test]
fn variables_that_say_nothing_are_told_of() {
    let names = [
        "RUNWRIGHT_HOME",
        "RUNWRIGHT_LOG",
        "RUNWRIGHT_GITLAB_TOKEN",
        "RUNWRIGHT_TEST_SEED",
        "RUNWRIGHT_FAIL_POINT",
        "RUNWRIGHT_SKIP_HOOK",
        "RUNWRIGHT_OUTPUT",
        "PATH",
        "RUNWRIGHT_OUPTUT",
        "RUNWRIGHT_\u{1b}[31mQ",
    ];
    let told = Settings::unknown_variables(names.iter().map(OsStr::new));
    let expect = [
        "the variable RUNWRIGHT_\\u{1b}[31mQ has no effect",
        "the variable RUNWRIGHT_OUPTUT has no effect: did you mean `RUNWRIGHT_OUTPUT`?",
    ];
    assert_eq!(told, expect);
}

#[test]
fn what_contradicts_a_stronger_one_yields() {
    let check = |user: &str, project: &str, given: &[&str], expect: &[&str]| {
        let settings = read(&format!("[run]\n{user}"), &format!("[run]\n{project}"), &[]);
        let settings = settings.expect("read");
        let is_given = |name: &str| given.contains(&name);
        let options = settings.options(&is_given);
        let options = options
            .iter()
            .map(|said| format!("{} {}", said.key.name, said.value));
        assert_eq!(
            options.collect::<Vec<_>>(),
            expect,
            "{user} {project} {given:?}"
        );
    };
    let (serial, many) = ("serial = true", "concurrency = 2");
    check(serial, many, &[], &["concurrency 2"]);
    check(many, serial, &[], &["serial true"]);
    check(&format!("{serial}\n{many}"), "", &[], &["concurrency 2"]);
    check(
        many,
        "serial = false",
        &[],
        &["serial false", "concurrency 2"],
    );
    check(serial, "", &["concurrency"], &[]);
    check(many, "", &["serial"], &[]);
    check("isolation = 'none'", "", &["snapshot"], &[]);
    check("", "skip = ['a']", &["job"], &[]);
}

#[test]
fn what_yields_is_shown_as_not_set() {
    let settings = read("[run]\nisolation = 'none'\n", "", &[]).expect("read");
    let shown = |is_given: &dyn Fn(&str) -> bool| {
        let all = settings.all(is_given);
        let said = all.iter().find(|said| said.key.name == "isolation");
        let said = said.expect("there");
        format!("{} from {}", said.value, said.origin)
    };
    assert_eq!(
        shown(&|name| name == "in-place"),
        "(not set) from --in-place"
    );
    assert!(shown(&|_| false).starts_with("\"none\" from "));
}
