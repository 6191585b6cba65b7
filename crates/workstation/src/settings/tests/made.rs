//! The files generated from the table.

use crate::history::state::StateDir;
use crate::settings::{
    SECTIONS, SectionShape, SettingKey, SettingKind, SettingValue, Settings, SettingsFile,
};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

#[test]
fn each_key_of_the_table_is_whole() {
    for section in SECTIONS {
        assert!(!section.keys.is_empty(), "{}", section.name);
        if section.shape == SectionShape::Names {
            assert_eq!(section.keys.len(), 1, "{}", section.name);
        }
        for key in section.keys {
            let name = key.name;
            assert!(!key.about.ends_with('.'), "{name}: a phrase");
            for text in [key.default, key.example].into_iter().flatten() {
                let parsed: Result<toml::Value, _> = text.parse();
                assert!(parsed.is_ok(), "{name}: {text}");
            }
            let is_read = key.default.is_none() || key.built_in() != SettingValue::Unset;
            assert!(is_read, "{name}: the default");
            if section.name == "run" && key.kind == SettingKind::Flag {
                assert_eq!(
                    key.default,
                    Some("false"),
                    "{name}: a switch that is on is never given"
                );
            }
        }
        let mut names: Vec<_> = section.keys.iter().map(|key| key.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(
            names.len(),
            section.keys.len(),
            "{}: a key twice",
            section.name
        );
    }
}

#[test]
fn the_first_file_is_read_with_and_without_its_comments() {
    let check = |file: SettingsFile| {
        let text = file.template();
        // A commented key or section has no space after its `#`, unlike prose.
        let said: String = text
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let home = tempfile::tempdir().expect("a directory");
        let root = tempfile::tempdir().expect("a directory");
        let path = file.path(&StateDir::at(home.path()), root.path());
        for (text, says) in [(&text, false), (&said, true)] {
            fs::write(&path, text).expect("written");
            let read = Settings::of_project(root.path(), home.path(), Some(Path::new("/h")));
            let read = read.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(!read.said().is_empty(), says, "{text}");
        }
    };
    check(SettingsFile::User);
    check(SettingsFile::Project);
    assert!(!SettingsFile::Project.template().contains("[gitlab"));
}

#[test]
fn a_first_file_is_written_once_and_for_its_owner() {
    let home = tempfile::tempdir().expect("a directory");
    let root = tempfile::tempdir().expect("a directory");
    let state = StateDir::at(home.path().join("below/state"));
    for (file, mode) in [
        (SettingsFile::User, Some(0o600)),
        (SettingsFile::Project, None),
    ] {
        let path = file.init(&state, root.path()).expect("written");
        assert_eq!(path, file.path(&state, root.path()));
        if let Some(mode) = mode {
            let found = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(found & 0o777, mode);
        }
        fs::write(&path, "# mine\n").expect("written");
        let error = file.init(&state, root.path()).expect_err("refused");
        assert_eq!(error.message, "it already exists, and is not changed");
        assert_eq!(fs::read_to_string(&path).expect("there"), "# mine\n");
    }
    // A dangling symlink counts as an existing file.
    let other = tempfile::tempdir().expect("a directory");
    let link = other.path().join(".runwright.toml");
    std::os::unix::fs::symlink(root.path().join("target"), &link).expect("a link");
    SettingsFile::Project
        .init(&state, other.path())
        .expect_err("refused");
    assert!(!root.path().join("target").exists());
}

#[test]
fn the_schema_has_what_the_reader_takes() {
    let of = |file: SettingsFile, path: &str| file.schema().pointer(path).cloned();
    let project = |path: &str| of(SettingsFile::Project, path);
    let user = |path: &str| of(SettingsFile::User, path);
    let text = |value: Option<Value>| value.map(|it| it.to_string()).unwrap_or_default();
    let output = "/properties/run/properties/output/enum";
    assert_eq!(text(project(output)), r#"["live","group","prefix"]"#);
    assert_eq!(project("/properties/gitlab"), None);
    assert_eq!(project("/properties/run/properties/executor"), None);
    assert!(user("/properties/run/properties/executor").is_some());
    let token = "/properties/gitlab/properties/instance/items/properties/token/type";
    assert_eq!(text(user(token)), "\"string\"");
    let inputs = "/properties/jobs/additionalProperties/properties/inputs/type";
    assert_eq!(text(project(inputs)), "\"array\"");
    let size = "/properties/cache/properties/size/default";
    assert_eq!(text(user(size)), "\"10 GB\"");
}

#[test]
fn variables_are_named_as_options() {
    let variable = |name| SettingKey::new(name, SettingKind::Flag, "").variable();
    assert_eq!(variable("shell-on-failure"), "RUNWRIGHT_SHELL_ON_FAILURE");
}
