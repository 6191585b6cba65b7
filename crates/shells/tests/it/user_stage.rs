//! The user's commands under real shells.

use crate::support::{Feed, JobDirs, Shell, check, check_under, scripts, text, without_echo};
use executor_core::shell::ShellDialect;
use executor_core::stage::BuildStage;
use shells::ScriptOptions;
use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::Stdio;

#[test]
fn commands_run_in_one_shell_and_in_the_project() {
    check(
        &[
            "a=1",
            "f() { echo \"f $a $1\"; }",
            "f x",
            "basename \"$PWD\"",
        ],
        (0, "f 1 x\nproject\n"),
    );
}

#[test]
fn every_exit_code_is_returned() {
    for code in [0, 1, 2, 3, 42, 126, 127, 128, 137, 255] {
        let exit = format!("exit {code}");
        check_under(Shell::Bash, &["echo a", &exit, "echo b"], (code, "a\n"));
        check_under(Shell::Dash, &["echo a", &exit, "echo b"], (code, "a\n"));
        check_under(Shell::Busybox, &["echo a", &exit, "echo b"], (code, "a\n"));
    }
}

#[test]
fn the_first_failure_ends_the_script() {
    check(&["echo a", "(exit 7)", "echo b"], (7, "a\n"));
    check(&["echo a", "false", "echo b"], (1, "a\n"));
    check(&["echo a\nfalse\necho b", "echo c"], (1, "a\n"));
    check(&["echo a", "no-such-command-here", "echo b"], (127, "a\n"));
}

#[test]
fn after_set_plus_e_the_last_status_counts() {
    check(&["set +e", "false", "echo a"], (0, "a\n"));
    check(&["set +e", "echo a", "(exit 9)"], (9, "a\n"));
}

#[test]
fn pipes_fail_if_the_shell_supports_pipefail() {
    check_under(Shell::Bash, &["(exit 5) | cat", "echo a"], (5, ""));
    check_under(Shell::Busybox, &["(exit 5) | cat", "echo a"], (5, ""));
    let commands = [
        "(exit 5) | cat",
        "case $(set -o) in *pipefail*) exit 5;; esac",
        "echo a",
    ];
    // dash supports `pipefail` since 0.5.13.
    let dirs = JobDirs::new();
    let script = text(&scripts(ShellDialect::Sh, &commands), &BuildStage::script());
    let outcome = dirs.run(Shell::Dash, Feed::Stdin, &script);
    assert!(matches!(outcome.code, Some(0 | 5)), "{outcome:#?}");
}

/// Compares processor times, since a machine may be busy.
#[test]
fn bash_reads_a_script_in_linear_time() {
    let seconds = |count: usize| {
        let command = "v='a b'; w=\"$v\"";
        let commands = vec![command; count];
        let script = text(
            &scripts(ShellDialect::Bash, &commands),
            &BuildStage::script(),
        );
        let dirs = JobDirs::new();
        let path = dirs.root().join("script");
        fs::write(&path, script).unwrap();
        let measured = |_| {
            let mut bash = Shell::Bash.command();
            dirs.equip(&mut bash);
            let line = "TIMEFORMAT=%U; time bash \"$1\" >/dev/null 2>&1";
            let bash = bash.env("LC_ALL", "C.UTF-8").args(["-c", line, "bash"]);
            let output = bash.arg(&path).output().unwrap();
            let text = String::from_utf8(output.stderr).unwrap();
            text.trim()
                .parse::<f64>()
                .unwrap_or_else(|_| panic!("{text}"))
        };
        (0..3).map(measured).fold(f64::MAX, f64::min)
    };
    let (small, large) = (seconds(5_000), seconds(20_000));
    // Quadratic time would be 16 times as long.
    assert!(large < small.max(0.01) * 9.0, "{small} s and {large} s");
}

#[test]
fn unset_variables_are_empty() {
    check(&["echo \"<$NO_SUCH_VARIABLE>\""], (0, "<>\n"));
}

#[test]
fn commands_before_a_syntax_error_run() {
    for shell in Shell::ALL {
        for feed in [Feed::Stdin, Feed::File] {
            let script = text(
                &scripts(
                    shell.dialect(),
                    &["echo a", "if true; then fi fi", "echo b"],
                ),
                &BuildStage::script(),
            );
            let outcome = JobDirs::new().run(shell, feed, &script);
            assert!(
                matches!(outcome.code, Some(1 | 2)),
                "{shell:?} {outcome:#?}"
            );
            assert!(
                without_echo(&outcome.stdout).starts_with("a\n"),
                "{shell:?} {outcome:#?}"
            );
            assert!(!outcome.stdout.contains("\nb\n"), "{shell:?} {outcome:#?}");
            assert!(
                outcome.stderr.to_lowercase().contains("syntax error"),
                "{outcome:#?}"
            );
        }
    }
}

#[test]
fn standard_input_is_empty() {
    check(
        &["cat", "read -r line || echo end", "echo b"],
        (0, "end\nb\n"),
    );
}

#[test]
fn children_do_not_keep_the_scripts_pipe_open() {
    for shell in Shell::ALL {
        let list = "sh -c 'for fd in /proc/$$/fd/*; do readlink \"$fd\" || true; done'";
        let script = text(&scripts(shell.dialect(), &[list]), &BuildStage::script());
        let dirs = JobDirs::new();
        let mut command = shell.command();
        dirs.equip(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the shell starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let pipe = fs::read_link(format!("/proc/self/fd/{}", stdin.as_raw_fd())).unwrap();
        stdin.write_all(script.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let held = String::from_utf8(output.stdout).unwrap();
        assert!(held.contains("/dev/null"), "{shell:?} {held}");
        assert!(!held.contains(pipe.to_str().unwrap()), "{shell:?} {held}");
    }
}

#[test]
fn multi_line_commands_and_heredocs_run() {
    check(
        &[
            "cat <<'END'\n$HOME `id` \\\n  'q' \"d\"\n\nEND",
            "for i in 1 2; do\n  echo $i\ndone\n",
        ],
        (0, "$HOME `id` \\\n  'q' \"d\"\n\n1\n2\n"),
    );
    check(&["if true; then", "echo split", "fi"], (0, "split\n"));
    check(
        &["echo a \\\n  b", "echo c \\", "echo d"],
        (0, "a b\nc\nd\n"),
    );
}

#[test]
fn all_bytes_are_preserved() {
    check(&["printf '%s\\n' 'ünï ☃ 漢字 🦀'"], (0, "ünï ☃ 漢字 🦀\n"));
    check(
        &["printf '%s' 'a\u{1}\u{7f}\u{1b}[0m\tb' | od -An -tx1 | tr -d ' \\n'"],
        (0, "61017f1b5b306d0962"),
    );
    check(
        &["printf '%s|' 'it'\\''s' \"\\\\\" '\\n' '$(x)' '`y`' '!'"],
        (0, "it's|\\|\\n|$(x)|`y`|!|"),
    );
}

#[test]
fn commands_with_crlf_line_ends_run() {
    check(&["echo a\r\necho b\r\n", "echo c\r"], (0, "a\nb\nc\n"));
}

#[test]
fn noclobber_is_off_and_the_users_traps_run() {
    check(&["echo a >f", "echo b >f", "cat f"], (0, "b\n"));
    check(&["trap 'echo bye' EXIT", "exit 4"], (4, "bye\n"));
}

#[test]
fn commands_are_echoed_as_written() {
    for shell in Shell::ALL {
        let commands = [
            "echo '%s\\n' \"$HOME\" >/dev/null",
            "true\nfalse || true",
            "  true  ",
        ];
        let script = text(&scripts(shell.dialect(), &commands), &BuildStage::script());
        let outcome = JobDirs::new().run(shell, Feed::Stdin, &script);
        assert_eq!(
            outcome.stdout,
            "\u{1b}[32;1m$ echo '%s\\n' \"$HOME\" >/dev/null\u{1b}[0;m\n\
             \u{1b}[32;1m$ true # collapsed multi-line command\u{1b}[0;m\n\
             \u{1b}[32;1m$ true  \u{1b}[0;m\n",
            "{shell:?}"
        );
    }
}

#[test]
fn the_operators_scripts_run_in_the_same_shell() {
    for shell in Shell::ALL {
        let mut scripts = scripts(shell.dialect(), &["a=\"$a script\""]);
        scripts.pre_build = vec!["a=pre".to_owned()];
        scripts.post_build = vec!["echo \"$a post\"".to_owned()];
        let outcome =
            JobDirs::new().run(shell, Feed::Stdin, &text(&scripts, &BuildStage::script()));
        assert_eq!(
            without_echo(&outcome.stdout),
            "pre script post\n",
            "{shell:?}"
        );
    }
}

#[test]
fn multi_line_commands_get_sections() {
    for shell in Shell::ALL {
        let mut scripts = scripts(
            shell.dialect(),
            &["echo one", "echo two\n(exit 6) || (exit 6)"],
        );
        scripts.options.script_sections = true;
        let outcome =
            JobDirs::new().run(shell, Feed::Stdin, &text(&scripts, &BuildStage::script()));
        assert_eq!(outcome.code, Some(6));
        assert_eq!(
            outcome.stdout.matches("section_start:").count(),
            1,
            "{outcome:#?}"
        );
        let header = ":section_script_step_1[hide_duration=true,collapsed=true]\r\u{1b}[0K\
            \u{1b}[32;1m$ echo two # collapsed multi-line command\u{1b}[0;m\n";
        assert!(outcome.stdout.contains(header), "{outcome:#?}");
    }
}

#[test]
fn a_section_keeps_the_status_of_the_last_command() {
    for shell in Shell::ALL {
        let mut scripts = scripts(shell.dialect(), &["set +e", "echo two\n(exit 6)"]);
        scripts.options.script_sections = true;
        let outcome =
            JobDirs::new().run(shell, Feed::Stdin, &text(&scripts, &BuildStage::script()));
        assert_eq!(outcome.code, Some(6), "{shell:?} {outcome:#?}");
        assert!(
            outcome.stdout.contains("section_end:"),
            "{shell:?} {outcome:#?}"
        );
    }
}

#[test]
fn the_exit_code_check_finds_failures_that_errexit_misses() {
    for shell in Shell::ALL {
        let mut scripts = scripts(shell.dialect(), &["false && true", "echo on"]);
        let run = |scripts: &shells::JobScripts| {
            JobDirs::new().run(shell, Feed::Stdin, &text(scripts, &BuildStage::script()))
        };
        assert_eq!(run(&scripts).code, Some(0), "{shell:?}");
        scripts.options.exit_code_check = true;
        assert_eq!(run(&scripts).code, Some(1), "{shell:?}");
    }
}

#[test]
fn debug_trace_shows_commands_but_not_the_whole_body() {
    for shell in Shell::ALL {
        let mut scripts = scripts(shell.dialect(), &["a=marker", ": \"$a\""]);
        scripts.options = ScriptOptions {
            debug_trace: true,
            ..ScriptOptions::default()
        };
        let outcome =
            JobDirs::new().run(shell, Feed::Stdin, &text(&scripts, &BuildStage::script()));
        assert!(
            outcome.stderr.contains("+ : marker"),
            "{shell:?} {outcome:#?}"
        );
        assert!(!outcome.stderr.contains("eval"), "{shell:?} {outcome:#?}");
    }
}

#[test]
fn a_missing_project_directory_ends_the_stage() {
    for shell in Shell::ALL {
        let dirs = JobDirs::new();
        fs::remove_dir(dirs.project()).unwrap();
        let script = text(
            &scripts(shell.dialect(), &["echo on"]),
            &BuildStage::script(),
        );
        let outcome = dirs.run(shell, Feed::Stdin, &script);
        assert!(
            matches!(outcome.code, Some(1 | 2)),
            "{shell:?} {outcome:#?}"
        );
        assert_eq!(outcome.stdout, "", "{shell:?}");
    }
}

#[test]
fn a_project_directory_may_have_any_name() {
    for shell in Shell::ALL {
        for name in ["-P", "a b", "$x", "-", "é'\""] {
            let dirs = JobDirs::new();
            fs::create_dir(dirs.root().join(name)).unwrap();
            let script = text(
                &scripts(shell.dialect(), &["touch here"]),
                &BuildStage::script(),
            );
            let outcome = dirs.run_with(shell, Feed::Stdin, &script, |command| {
                let dir = dirs.root().join(name);
                command.env(shells::PROJECT_DIR, dir).env("CDPATH", "/");
            });
            assert_eq!(outcome.code, Some(0), "{shell:?} {name:?} {outcome:#?}");
            assert!(
                dirs.root().join(name).join("here").exists(),
                "{shell:?} {name:?}"
            );
        }
    }
}

#[test]
fn after_script_is_a_separate_script() {
    let mut scripts = scripts(ShellDialect::Bash, &["a=1"]);
    assert!(scripts.script(&BuildStage::AfterScript).unwrap().is_none());
    scripts.steps[0].name = "after_script".to_owned();
    scripts.pre_build = vec!["echo pre".to_owned()];
    let script = text(&scripts, &BuildStage::AfterScript);
    assert!(script.contains("a=1") && !script.contains("echo pre"));
}

#[test]
fn stages_without_a_body_are_skipped() {
    let scripts = scripts(ShellDialect::Sh, &["  \n"]);
    for stage in [
        BuildStage::GetSources,
        BuildStage::ClearWorktree,
        BuildStage::script(),
        BuildStage::Step("other".to_owned()),
        BuildStage::AfterScript,
        BuildStage::RestoreCache,
        BuildStage::DownloadArtifacts,
        BuildStage::ArchiveCache,
        BuildStage::UploadArtifactsOnSuccess,
    ] {
        assert!(scripts.script(&stage).unwrap().is_none(), "{stage}");
    }
}

#[test]
fn a_nul_byte_is_refused() {
    let scripts = scripts(ShellDialect::Sh, &["echo a\0b"]);
    assert_eq!(
        scripts.script(&BuildStage::script()),
        Err(shells::ScriptError::Nul)
    );
}
