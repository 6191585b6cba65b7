//! Complete scripts, so that reviews show every change.
//!
//! For PowerShell these are the only tests, since no test runs the scripts.

use crate::support::{scripts, text};
use executor_core::job::{GitInfo, Step};
use executor_core::shell::ShellDialect;
use executor_core::stage::BuildStage;
use insta::assert_snapshot;
use shells::git::{GitSettings, Remote, SubmoduleSettings, SubmoduleStrategy};
use shells::{GitPlan, JobScripts, ScriptOptions};

/// Returns a job with a script in every stage.
fn full(dialect: ShellDialect) -> JobScripts {
    let mut scripts = scripts(
        dialect,
        &["echo 'it'\"'s\" $HOME", "for i in 1 2; do\n  echo $i\ndone"],
    );
    scripts.steps.push(Step {
        name: Step::AFTER_SCRIPT.to_owned(),
        script: vec!["echo bye".to_owned()],
        ..Step::default()
    });
    "host-1".clone_into(&mut scripts.runner);
    let remote =
        Remote::parse("https://gitlab-ci-token:x@gitlab.example/group/project.git").expect("a URL");
    let info = GitInfo {
        ref_name: "main".to_owned(),
        sha: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        refspecs: vec!["+refs/heads/main:refs/remotes/origin/main".to_owned()],
        ..GitInfo::default()
    };
    let submodules = SubmoduleSettings {
        strategy: SubmoduleStrategy::Recursive,
        depth: 20,
        force_https: true,
        ..SubmoduleSettings::default()
    };
    let settings = GitSettings {
        depth: 20,
        submodules,
        ..GitSettings::default()
    };
    scripts.sources = GitPlan::new(&info, &remote, &settings).expect("a plan");
    scripts
}

/// Returns the scripts of all stages, each below its name.
fn all(dialect: ShellDialect) -> String {
    let scripts = full(dialect);
    let stages = [
        BuildStage::PrepareScript,
        BuildStage::GetSources,
        BuildStage::ClearWorktree,
        BuildStage::script(),
        BuildStage::AfterScript,
        BuildStage::CleanupFileVariables,
    ];
    let texts = stages
        .iter()
        .map(|stage| format!("=== {stage}\n{}\n", text(&scripts, stage)));
    texts.collect()
}

#[test]
fn scripts_for_bash() {
    assert_snapshot!("bash", all(ShellDialect::Bash));
}

#[test]
fn scripts_for_sh_differ_only_in_the_first_line() {
    let bash = all(ShellDialect::Bash).replace("#!/usr/bin/env bash", "#!/usr/bin/env sh");
    assert_eq!(all(ShellDialect::Sh), bash);
}

#[test]
fn scripts_for_pwsh() {
    assert_snapshot!("pwsh", all(ShellDialect::Pwsh));
}

#[test]
fn scripts_for_windows_powershell_differ_only_in_their_encoding() {
    let pwsh = text(&full(ShellDialect::Pwsh), &BuildStage::script());
    let powershell = text(&full(ShellDialect::PowerShell), &BuildStage::script());
    let as_unix = powershell
        .strip_prefix('\u{feff}')
        .unwrap()
        .replace("\r\n", "\n");
    assert_eq!(
        pwsh.strip_prefix("#!/usr/bin/env pwsh\n\n"),
        Some(as_unix.as_str())
    );
}

#[test]
fn options_change_the_text() {
    let mut scripts = scripts(ShellDialect::Bash, &["true", "a\nb"]);
    scripts.options = ScriptOptions {
        debug_trace: true,
        script_sections: true,
        exit_code_check: true,
        umask: Some(0),
        ..ScriptOptions::default()
    };
    assert_snapshot!("options", text(&scripts, &BuildStage::script()));
}
