//! Stages that start the helper command.

use crate::support::{Feed, JobDirs, Outcome, Shell, scripts, text};
use executor_core::shell::ShellDialect;
use executor_core::stage::BuildStage;
use insta::assert_snapshot;
use shells::{HelperArgument, HelperCall, HelperGroup, HelperRule, HelperStage};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn call(heading: &str, arguments: &[&str]) -> HelperCall {
    let argument = |text: &&str| match text.strip_prefix('$') {
        Some(name) => HelperArgument::Variable(name.to_owned()),
        None => HelperArgument::Text((*text).to_owned()),
    };
    HelperCall {
        heading: heading.to_owned(),
        arguments: arguments.iter().map(argument).collect(),
    }
}

/// Returns a stage that restores one cache from one of two keys.
fn cache() -> HelperStage {
    let group = HelperGroup {
        calls: vec![
            call(
                "Checking cache for it's...",
                &["cache-extractor", "--file", "it's"],
            ),
            call(
                "Checking cache for b...",
                &["cache-extractor", "--url", "$URL"],
            ),
        ],
        rule: HelperRule::First {
            success: "Successfully extracted cache",
            failure: "Failed to extract cache",
        },
    };
    HelperStage {
        purpose: "Extracting cache",
        groups: vec![group],
        ..HelperStage::default()
    }
}

/// Returns a stage that uploads two artifacts.
fn uploads() -> HelperStage {
    let upload = |name: &str| HelperGroup {
        calls: vec![call(
            &format!("Uploading {name}..."),
            &["artifacts-uploader", name],
        )],
        rule: HelperRule::All,
    };
    HelperStage {
        purpose: "Uploading artifacts",
        groups: vec![upload("one"), upload("two")],
        ..HelperStage::default()
    }
}

/// Runs a stage with a helper command that prints its arguments and fails if they match `fails`.
fn run(shell: Shell, stage: &BuildStage, helper: HelperStage, fails: Option<&str>) -> Outcome {
    let dirs = JobDirs::new();
    fs::write(dirs.project().join("old"), "").expect("written");
    let bin = dirs.root().join("it's bin");
    fs::create_dir(&bin).expect("made");
    if let Some(fails) = fails {
        let program = bin.join(shells::HELPER);
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] || {{ echo \"$PWD: $*\"; ls; }}\ncase \"$*\" in {fails}) exit 3;; esac\n"
        );
        fs::write(&program, text).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    let mut scripts = scripts(shell.dialect(), &[]);
    scripts.helper = helper;
    let mut outcome = dirs.run_with(shell, Feed::Stdin, &text(&scripts, stage), |command| {
        command
            .env(shells::HELPER_DIR, &bin)
            .env("URL", "http://x?token=a b");
    });
    outcome.stdout = outcome
        .stdout
        .replace(dirs.project().to_str().expect("text"), "PROJECT");
    outcome
}

#[test]
fn caches_fall_back_and_never_fail_the_stage() {
    // R-EXEC-102
    for shell in Shell::ALL {
        let restore = |fails| run(shell, &BuildStage::RestoreCache, cache(), Some(fails));
        let first = restore("never");
        assert_eq!(first.code, Some(0), "{first:?}");
        assert!(
            first
                .stdout
                .contains("PROJECT: cache-extractor --file it's\n"),
            "{first:?}"
        );
        assert!(first.stdout.contains("Successfully") && !first.stdout.contains(" b..."));
        let second = restore("*--file*");
        assert!(
            second.stdout.contains("--url http://x?token=a b\n"),
            "{second:?}"
        );
        assert!(
            second.stdout.contains("Successfully extracted cache"),
            "{second:?}"
        );
        let none = restore("cache*");
        assert_eq!(none.code, Some(0), "{none:?}");
        assert!(none.stdout.contains("Failed to extract cache"), "{none:?}");
    }
}

#[test]
fn failed_upload_ends_the_stage_with_its_code() {
    for shell in Shell::ALL {
        let stage = BuildStage::UploadArtifactsOnSuccess;
        let failed = run(shell, &stage, uploads(), Some("*one"));
        assert_eq!(failed.code, Some(3), "{failed:?}");
        assert!(!failed.stdout.contains("two"), "{failed:?}");
        let both = run(shell, &stage, uploads(), Some("never"));
        assert!(both.code == Some(0) && both.stdout.contains("artifacts-uploader two"));
    }
}

#[test]
fn missing_command_is_a_notice_unless_it_is_required() {
    for shell in Shell::ALL {
        let skipped = run(shell, &BuildStage::RestoreCache, cache(), None);
        assert_eq!(skipped.code, Some(0), "{skipped:?}");
        let notice = "Missing gitlab-runner. Extracting cache is disabled.";
        assert!(skipped.stdout.contains(notice), "{skipped:?}");
        let sources = HelperStage {
            required_for: Some("the files of the working tree come through it"),
            into_empty_directory: true,
            ..uploads()
        };
        let failed = run(shell, &BuildStage::GetSources, sources.clone(), None);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(
            failed.stderr.contains("install GitLab Runner"),
            "{failed:?}"
        );
        let fetched = run(shell, &BuildStage::GetSources, sources, Some("never"));
        assert!(
            fetched.code == Some(0) && !fetched.stdout.contains("old"),
            "{fetched:?}"
        );
    }
}

#[test]
fn text_for_pwsh() {
    let mut scripts = scripts(ShellDialect::Pwsh, &[]);
    scripts.helper = cache();
    let restore = text(&scripts, &BuildStage::RestoreCache);
    scripts.helper = uploads();
    let upload = text(&scripts, &BuildStage::UploadArtifactsOnSuccess);
    let body = |text: &str| text.split_once("[0;m'\n").expect("a prologue").1.to_owned();
    assert_snapshot!(
        "helper-pwsh",
        format!("{}\n===\n{}", body(&restore), body(&upload))
    );
}
