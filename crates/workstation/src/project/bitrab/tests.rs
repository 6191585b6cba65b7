use super::{BitrabSettings, ParallelBackend};
use std::path::Path;

fn parse(text: &str) -> Result<BitrabSettings, crate::SettingsError> {
    BitrabSettings::parse(Path::new("pyproject.toml"), text)
}

#[test]
fn reads_settings_of_bitrab() {
    // R-PIPE-39
    let text = "[project]\nname = 'x'\n[tool.black]\nline-length = 1\n[tool.bitrab]\n\
                parallel_backend = 'thread'\nuse_git_worktrees = false\nserial = true\nchanges_base = 'main'\n";
    let expect = BitrabSettings {
        parallel_backend: Some(ParallelBackend::Thread),
        use_git_worktrees: Some(false),
        serial: true,
        changes_base: Some("main".to_owned()),
        ..BitrabSettings::default()
    };
    assert_eq!(parse(text), Ok(expect));
    for nothing in ["", "[tool]", "[tool.black]\nx = 1", "tool.bitrab = {}"] {
        assert_eq!(parse(nothing), Ok(BitrabSettings::default()), "{nothing}");
    }
}

#[test]
fn ignored_settings_are_noted_with_location() {
    let text = "[tool.bitrab]\nworktree_root = '.work/trees'\nwarn_on_mutation = true\n\
                fingerprint_env = ['A']\nchanges_base = 'main'\nmutation.whitelist = ['*.pyc']\n";
    let settings = parse(text).expect("read");
    assert!(settings.warn_on_mutation);
    assert_eq!(settings.whitelist, ["*.pyc"]);
    let notes = settings.notes;
    let starts: Vec<&str> = notes
        .iter()
        .filter_map(|note| Some(note.split_once(" is ignored: ")?.0))
        .collect();
    assert_eq!(
        starts,
        [
            "pyproject.toml:2: `worktree_root`",
            "pyproject.toml:4: `fingerprint_env`",
        ]
    );
}

#[test]
fn errors_have_a_location() {
    let check = |lines: &str, expect: &str| {
        let text = format!("[tool.bitrab]\n{lines}");
        let error = parse(&text).expect_err("refused");
        assert_eq!(error.to_string(), format!("pyproject.toml:{expect}"));
    };
    check(
        "serial = 1",
        "2:10: `serial` is true or false, not a number",
    );
    check(
        "use_git_worktrees = 'no'",
        "2:21: `use_git_worktrees` is true or false, not text",
    );
    check(
        "\nparallel_backend = 'fork'",
        "3:20: `parallel_backend` is `process` or `thread`",
    );
    check(
        "worktree_root = '/etc'",
        "2:17: `worktree_root` is a directory below the project",
    );
    check(
        "worktree_root = 'a/../../b'",
        "2:17: `worktree_root` is a directory below the project",
    );
    check(
        "changes_base = ['main']",
        "2:16: `changes_base` is text, not a list",
    );
    check(
        "fingerprint_env = [1]",
        "2:20: `fingerprint_env` is text, not a number",
    );
    check(
        "mutation = {white = []}",
        "2:13: there is no setting `white` in [tool.bitrab.mutation]",
    );
    check(
        "seriall = true",
        "2:1: there is no setting `seriall` in [tool.bitrab]",
    );
    let error = parse("[tool.bitrab]\nseriall = true").expect_err("refused");
    assert_eq!(error.help.as_deref(), Some("did you mean `serial`?"));
    assert_eq!(parse("tool = 1").expect_err("refused").place, Some((1, 8)));
    assert_eq!(
        parse("[tool\n").expect_err("refused").place.map(|it| it.0),
        Some(1)
    );
}
