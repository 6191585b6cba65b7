//! Command lines of shells.

use crate::support::{JobDirs, Shell, new_command, require, scripts, text, without_echo};
use executor_core::shell::{ShellDialect, ShellInfo, ShellKind};
use executor_core::stage::BuildStage;
use shells::{DETECT_SHELL, ShellCommand};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

fn argv(dialect: ShellDialect, kind: ShellKind) -> Vec<String> {
    ShellCommand::reading_stdin(&ShellInfo::new(dialect).with_kind(kind))
        .argv()
        .to_vec()
}

#[test]
fn every_dialect_and_kind_has_its_command_line() {
    assert_eq!(argv(ShellDialect::Bash, ShellKind::Normal), ["bash"]);
    assert_eq!(
        argv(ShellDialect::Bash, ShellKind::Login),
        ["bash", "--login"]
    );
    assert_eq!(argv(ShellDialect::Sh, ShellKind::Normal), ["sh"]);
    assert_eq!(argv(ShellDialect::Sh, ShellKind::Login), ["sh", "-l"]);
    assert_eq!(argv(ShellDialect::Sh, ShellKind::Interactive), ["sh", "-i"]);
    let pwsh = argv(ShellDialect::Pwsh, ShellKind::Normal);
    assert_eq!(
        pwsh[..5],
        [
            "pwsh",
            "-NoProfile",
            "-NonInteractive",
            "-NoLogo",
            "-EncodedCommand"
        ]
    );
    let file =
        ShellCommand::reading_file(&ShellInfo::new(ShellDialect::PowerShell), "C:\\a b\\s.ps1");
    assert_eq!(file.program(), "powershell");
    assert_eq!(file.arguments().last().unwrap(), "C:\\a b\\s.ps1");
}

#[test]
fn a_script_file_may_begin_with_a_dash() {
    let command = ShellCommand::reading_file(&ShellInfo::new(ShellDialect::Bash), "-c");
    assert_eq!(command.argv(), ["bash", "./-c"]);
}

/// Runs `command` with `script` on standard input and returns its output.
fn feed(mut command: Command, script: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the shell starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(script.as_bytes()).expect("the shell reads");
    drop(stdin);
    let output = child.wait_with_output().expect("the shell ends");
    assert!(output.status.success(), "{output:?}");
    without_echo(&String::from_utf8_lossy(&output.stdout))
}

#[test]
fn a_login_shell_reads_the_profile() {
    require("bash", "bash");
    for (dialect, kind, expect) in [
        (ShellDialect::Bash, ShellKind::Login, "yes\n"),
        (ShellDialect::Sh, ShellKind::Login, "yes\n"),
        (ShellDialect::Bash, ShellKind::Normal, "no\n"),
        (ShellDialect::Sh, ShellKind::Normal, "no\n"),
    ] {
        let dirs = JobDirs::new();
        fs::write(dirs.root().join(".profile"), "PROFILE=yes\n").unwrap();
        let shell = ShellInfo::new(dialect).with_kind(kind);
        let line = ShellCommand::reading_stdin(&shell);
        let mut command = new_command(line.program());
        dirs.equip(&mut command);
        command.args(line.arguments());
        let script = text(
            &scripts(dialect, &["echo \"${PROFILE:-no}\""]),
            &BuildStage::script(),
        );
        assert_eq!(feed(command, &script), expect, "{dialect} {kind:?}");
    }
}

#[test]
fn detection_finds_a_shell_that_runs_the_script() {
    for shell in Shell::ALL {
        // Any shell of a container can run the detection.
        let dirs = JobDirs::new();
        let mut command = shell.command();
        dirs.equip(&mut command);
        command
            .args(["-c", DETECT_SHELL, "sh"])
            .env("PATH", "/usr/bin:/bin");
        let script = text(
            &scripts(ShellDialect::Sh, &["echo found"]),
            &BuildStage::script(),
        );
        assert_eq!(feed(command, &script), "found\n", "{shell:?}");
    }
    let line = ShellCommand::detecting(ShellKind::Login);
    assert_eq!(line.argv(), ["sh", "-c", DETECT_SHELL, "sh", "-l"]);
}

#[test]
fn su_starts_the_shell_of_another_user() {
    let mut shell = ShellInfo::new(ShellDialect::Bash);
    shell.user = Some("build user".to_owned());
    let command = ShellCommand::reading_stdin(&shell);
    let expect = [
        "su",
        "-m",
        "-s",
        "/bin/sh",
        "-c",
        "exec bash -s",
        "--",
        "build user",
    ];
    assert_eq!(command.argv(), expect);
    let command = ShellCommand::reading_file(&shell, "/a b/script");
    assert_eq!(command.argv()[5], "exec bash '/a b/script'");
}
