//! Changes of a file.

use super::every_key::{EVERY_KEY, known};
use super::known::parse_with;
use jiff::Timestamp;
use process::{FileLock, LockKind};
use runner::config::{ConfigEdit, EditError, NewRunner, RunnerSelector};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use tempfile::TempDir;
use toml_edit::{Table, value};

/// A `config.toml` in a directory of its own.
struct Fixture {
    directory: TempDir,
    path: PathBuf,
}

impl Fixture {
    fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        Self { directory, path }
    }

    fn new(text: &str) -> Self {
        let fixture = Self::empty();
        fs::write(&fixture.path, text).unwrap();
        fixture
    }

    fn edit(&self) -> ConfigEdit {
        ConfigEdit::open(&self.path).unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn mode(&self) -> u32 {
        fs::metadata(&self.path).unwrap().permissions().mode() & 0o7777
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn new_runner() -> NewRunner {
    let mut docker = Table::new();
    docker.insert("image", value("debian:12"));
    let mut settings = Table::new();
    settings.insert("docker", toml_edit::Item::Table(docker));
    settings.insert("limit", value(2));
    NewRunner {
        name: "my \"runner\"".to_owned(),
        url: "https://gitlab.example/".parse().unwrap(),
        id: 7,
        token: "glrt-newtoken".into(),
        token_obtained_at: at("2026-01-31T08:00:00.5Z"),
        token_expires_at: None,
        executor: "docker".to_owned(),
        settings,
    }
}

const NEW_RUNNER: &str = r#"
[[runners]]
  name = 'my "runner"'
  url = "https://gitlab.example"
  id = 7
  token = "glrt-newtoken"
  token_obtained_at = 2026-01-31T08:00:00Z
  token_expires_at = 0001-01-01T00:00:00Z
  executor = "docker"
  limit = 2
  [runners.docker]
    image = "debian:12"
"#;

#[test]
fn the_first_registration_creates_the_file() {
    let fixture = Fixture::empty();
    let mut edit = fixture.edit();
    edit.add_runner(&new_runner()).unwrap();
    assert!(!fixture.path.exists());
    edit.save().unwrap();
    let start = "concurrent = 1\ncheck_interval = 0\nshutdown_timeout = 0\n\n\
                 [session_server]\n  session_timeout = 1800\n";
    assert_eq!(fixture.text(), format!("{start}{NEW_RUNNER}"));
    assert_eq!(fixture.mode(), 0o600);
    assert_eq!(fs::read_dir(fixture.directory.path()).unwrap().count(), 1);
    let file = super::known::parse(&fixture.text());
    assert!(file.problems.is_empty(), "{:?}", file.problems);
}

#[test]
fn a_new_runner_is_appended() {
    for start in ["# only a comment", "concurrent = 2\n", EVERY_KEY] {
        let fixture = Fixture::new(start);
        let mut edit = fixture.edit();
        edit.add_runner(&new_runner()).unwrap();
        edit.save().unwrap();
        let line_end = if start.ends_with('\n') { "" } else { "\n" };
        assert_eq!(fixture.text(), format!("{start}{line_end}{NEW_RUNNER}"));
    }
}

#[test]
fn a_token_is_replaced_and_nothing_else_changes() {
    let fixture = Fixture::new(EVERY_KEY);
    fs::set_permissions(&fixture.path, Permissions::from_mode(0o640)).unwrap();
    let mut edit = fixture.edit();
    let selector =
        RunnerSelector::by_token("https://gitlab.example/prefix", "glrt-t1_everykeytoken");
    let expires = Some(at("2027-01-31T08:00:00Z"));
    edit.set_token(
        &selector,
        &"glrt-rotated".into(),
        at("2026-11-29T10:00:00Z"),
        expires,
    )
    .unwrap();
    edit.save().unwrap();
    let expect = EVERY_KEY
        .replace("glrt-t1_everykeytoken", "glrt-rotated")
        .replace("2026-01-31T08:00:00Z", "2026-11-29T10:00:00Z")
        .replace("0001-01-01T00:00:00Z", "2027-01-31T08:00:00Z");
    assert_eq!(fixture.text(), expect);
    assert_eq!(fixture.mode(), 0o640);
    let settings = parse_with(&fixture.text(), &known()).settings;
    assert_eq!(settings.runners[0].config.token.expose(), "glrt-rotated");
    assert_eq!(settings.runners[0].token_expires_at, expires);
}

#[test]
fn times_are_added_below_the_token() {
    let check = |text: &str, expect: &str| {
        let fixture = Fixture::new(text);
        let mut edit = fixture.edit();
        let selector = RunnerSelector::by_name("a");
        edit.set_token(&selector, &"t2".into(), at("2026-01-01T00:00:00Z"), None)
            .unwrap();
        edit.save().unwrap();
        assert_eq!(fixture.text(), expect);
    };
    check(
        "[[runners]]\n\tname = 'a'\n\ttoken = 't1' # comment\n\turl = 'u'\n",
        "[[runners]]\n\tname = 'a'\n\ttoken = \"t2\" # comment\n\ttoken_obtained_at = 2026-01-01T00:00:00Z\n\
         \ttoken_expires_at = 0001-01-01T00:00:00Z\n\turl = 'u'\n",
    );
    check(
        "[[runners]]\r\nname = 'a'\r\ntoken = 't1'",
        "[[runners]]\r\nname = 'a'\r\ntoken = \"t2\"\r\ntoken_obtained_at = 2026-01-01T00:00:00Z\r\n\
         token_expires_at = 0001-01-01T00:00:00Z",
    );
    check(
        "runners = [{ token = 't1', name = 'a' }]",
        "runners = [{ token = \"t2\", token_obtained_at = 2026-01-01T00:00:00Z, \
         token_expires_at = 0001-01-01T00:00:00Z, name = 'a' }]",
    );
}

#[test]
fn a_runner_is_removed_with_its_tables_and_its_comment() {
    let fixture = Fixture::new(EVERY_KEY);
    let mut edit = fixture.edit();
    let removed = edit
        .remove_runner(&RunnerSelector::by_name("every key"))
        .unwrap();
    assert_eq!(
        (removed.id, removed.token.expose()),
        (4711, "glrt-t1_everykeytoken")
    );
    edit.save().unwrap();
    let first = EVERY_KEY.find("# The first runner").unwrap();
    let second = EVERY_KEY.find("# The second runner").unwrap();
    assert_eq!(
        fixture.text(),
        format!("{}{}", &EVERY_KEY[..first], &EVERY_KEY[second..])
    );

    edit.remove_runner(&RunnerSelector::by_name("few keys"))
        .unwrap();
    edit.save().unwrap();
    assert_eq!(fixture.text(), &EVERY_KEY[..first]);
    assert!(edit.runners().is_empty());
}

#[test]
fn tables_between_runners_stay() {
    let text = "[[runners]]\nname = 'a'\n[runners.docker]\nimage = 'i'\n# of the server\n[session_server]\nsession_timeout = 1\n\
                [[runners]]\nname = 'b'\ntext = \"\"\"\n# no comment\"\"\"\n[[runners]]\nname = 'c'\n";
    let fixture = Fixture::new(text);
    let mut edit = fixture.edit();
    edit.remove_runner(&RunnerSelector::by_name("a")).unwrap();
    edit.remove_runner(&RunnerSelector::by_name("c")).unwrap();
    edit.save().unwrap();
    let start = text.find("# of the").unwrap();
    let end = text.rfind("[[runners]]").unwrap();
    assert_eq!(fixture.text(), &text[start..end]);
}

#[test]
fn selectors_must_fit_one_runner() {
    let fixture = Fixture::new("[[runners]]\nname = 'a'\n[[runners]]\nname = 'a'\ntoken = 't'\n");
    let mut edit = fixture.edit();
    let error = |result: Result<(), EditError>| result.unwrap_err().to_string();
    let now = at("2026-01-01T00:00:00Z");
    let mut set = |selector: &RunnerSelector| edit.set_token(selector, &"t2".into(), now, None);
    assert_eq!(
        error(set(&RunnerSelector::by_name("b"))),
        "no [[runners]] has the name \"b\""
    );
    assert_eq!(
        error(set(&RunnerSelector::by_name("a"))),
        "2 [[runners]] have the name \"a\"; select one by its token"
    );
    let selector = RunnerSelector::by_token("https://x", "glrt-secret");
    assert_eq!(
        error(set(&selector)),
        "no [[runners]] has the url https://x and this token"
    );
    let fixture = Fixture::new("\n[[runners]]\nname = 'a'\n");
    let result = fixture
        .edit()
        .set_token(&RunnerSelector::by_name("a"), &"t".into(), now, None);
    assert_eq!(error(result), "the [[runners]] at line 2 has no `token`");
    let fixture = Fixture::new("runners = []\n");
    let result = fixture.edit().add_runner(&new_runner());
    assert!(matches!(result, Err(EditError::InlineRunners)));
}

#[test]
fn changes_of_other_programs_are_not_lost() {
    let fixture = Fixture::new(EVERY_KEY);
    let mut edit = fixture.edit();
    edit.add_runner(&new_runner()).unwrap();
    fs::write(&fixture.path, "concurrent = 9\n").unwrap();
    assert!(matches!(edit.save(), Err(EditError::Changed(_))));
    assert_eq!(fixture.text(), "concurrent = 9\n");
}

#[test]
fn other_edits_wait_for_this_one() {
    let fixture = Fixture::new("concurrent = 9\n");
    let edit = fixture.edit();
    let directory = || File::open(fixture.directory.path()).unwrap();
    let free = || FileLock::if_free(directory(), LockKind::Exclusive).unwrap();
    assert!(free().is_none());
    drop(edit);
    assert!(free().is_some());
}

#[test]
fn a_link_stays_a_link() {
    let fixture = Fixture::new("");
    let link = fixture.directory.path().join("link.toml");
    std::os::unix::fs::symlink(&fixture.path, &link).unwrap();
    let mut edit = ConfigEdit::open(&link).unwrap();
    edit.add_runner(&new_runner()).unwrap();
    edit.save().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fixture.text(), &NEW_RUNNER[1..]);
}

#[test]
fn an_edit_without_a_change_writes_nothing() {
    let fixture = Fixture::new("# a\n");
    let before = fs::metadata(&fixture.path).unwrap().modified().unwrap();
    fixture.edit().save().unwrap();
    let after = fs::metadata(&fixture.path).unwrap().modified().unwrap();
    assert_eq!(before, after);
}

#[test]
fn a_file_that_is_not_toml_is_not_changed() {
    let fixture = Fixture::new("a = \n");
    let error = ConfigEdit::open(&fixture.path).unwrap_err();
    assert!(error.to_string().contains("config.toml:1:"), "{error}");
}
