//! Preparation, the environment file, and the removal of files with variables.

use crate::support::{Feed, JobDirs, Shell, scripts, text, without_echo};
use executor_core::stage::BuildStage;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Runs `command` as a step, with `lines` in the environment file.
fn with_lines(shell: Shell, lines: &str, command: &str) -> (Option<i32>, String, String) {
    let dirs = JobDirs::new();
    fs::write(dirs.env_file(), lines).expect("a file");
    let script = text(&scripts(shell.dialect(), &[command]), &BuildStage::script());
    let outcome = dirs.run(shell, Feed::Stdin, &script);
    (outcome.code, without_echo(&outcome.stdout), outcome.stderr)
}

fn check(lines: &str, command: &str, expect: &str) {
    for shell in Shell::ALL {
        let (code, stdout, stderr) = with_lines(shell, lines, command);
        assert_eq!(
            (code, stdout.as_str()),
            (Some(0), expect),
            "{shell:?} {lines:?} {stderr}"
        );
    }
}

#[test]
fn lines_of_the_environment_file_are_exported() {
    check("A=1\nB_2=x y\n", "sh -c 'echo \"$A|$B_2\"'", "1|x y\n");
    check("A=1\nA=2", "echo \"$A\"", "2\n");
    check("", "echo on", "on\n");
}

#[test]
fn the_first_script_of_a_job_reads_no_environment_file() {
    for shell in Shell::ALL {
        let mut scripts = scripts(shell.dialect(), &["true"]);
        assert!(text(&scripts, &BuildStage::script()).contains("GITLAB_ENV"));
        scripts.is_first = true;
        assert!(!text(&scripts, &BuildStage::script()).contains("GITLAB_ENV"));
    }
}

#[test]
fn values_are_not_evaluated() {
    check(
        "A=$(touch pwned) `touch pwned` ${HOME} 'q' \"d\" \\n a=b;touch pwned\n",
        "printf '%s\\n' \"$A\"; ls",
        "$(touch pwned) `touch pwned` ${HOME} 'q' \"d\" \\n a=b;touch pwned\n",
    );
    check(
        "A=  spaces kept  \n",
        "printf '%s|\\n' \"$A\"",
        "  spaces kept  |\n",
    );
    check("A=\n", "printf '%s|\\n' \"${A-unset}\"", "|\n");
    check("A=ünï ☃\n", "echo \"$A\"", "ünï ☃\n");
}

#[test]
fn invalid_names_are_skipped_and_the_others_exported() {
    for line in [
        "no equals sign",
        "1A=x",
        "A B=x",
        "A;touch pwned=x",
        "=x",
        "A-B=x",
        "$(touch pwned)=x",
        "é=x",
    ] {
        for shell in Shell::ALL {
            let (code, stdout, stderr) =
                with_lines(shell, &format!("{line}\nOK=1\n"), "echo \"$OK\"; ls");
            assert_eq!(
                (code, stdout.as_str()),
                (Some(0), "1\n"),
                "{shell:?} {line:?} {stderr}"
            );
            assert!(
                stderr.contains("WARNING: skipped"),
                "{shell:?} {line:?} {stderr}"
            );
        }
    }
}

#[test]
fn a_name_that_the_shell_cannot_export_does_not_end_the_stage() {
    let (code, stdout, stderr) = with_lines(Shell::Bash, "UID=0\nOK=1\n", "echo \"$OK\"");
    assert_eq!((code, stdout.as_str()), (Some(0), "1\n"), "{stderr}");
    assert!(stderr.contains("skipped UID"), "{stderr}");
    for shell in Shell::ALL {
        let (code, stdout, stderr) = with_lines(shell, "OPTIND=x\nOK=1\n", "echo \"$OK\"");
        assert_eq!(
            (code, stdout.as_str()),
            (Some(0), "1\n"),
            "{shell:?} {stderr}"
        );
    }
}

#[test]
fn a_step_passes_variables_to_the_next_one() {
    for shell in Shell::ALL {
        let dirs = JobDirs::new();
        let first = scripts(
            shell.dialect(),
            &["echo 'GREETING=hello world' >>\"$GITLAB_ENV\""],
        );
        let first = dirs.run(shell, Feed::Stdin, &text(&first, &BuildStage::script()));
        assert_eq!(first.code, Some(0), "{shell:?}");
        let second = scripts(shell.dialect(), &["echo \"$GREETING\""]);
        let second = dirs.run(shell, Feed::File, &text(&second, &BuildStage::script()));
        assert_eq!(without_echo(&second.stdout), "hello world\n", "{shell:?}");
    }
}

#[test]
fn prepare_creates_directories_and_removes_old_variables() {
    for shell in Shell::ALL {
        let dirs = JobDirs::new();
        fs::write(dirs.env_file(), "OLD=1\n").unwrap();
        fs::write(dirs.temp().join("FILE_VARIABLE"), "kept").unwrap();
        fs::remove_dir(dirs.project()).unwrap();
        let mut scripts = scripts(shell.dialect(), &[]);
        scripts.runner = "build-7's host".to_owned();
        let script = text(&scripts, &BuildStage::PrepareScript);
        let outcome = dirs.run(shell, Feed::Stdin, &script);
        assert_eq!(outcome.code, Some(0), "{shell:?} {outcome:#?}");
        assert!(outcome.stdout.starts_with("Running on "), "{outcome:#?}");
        assert!(
            outcome.stdout.ends_with(" via build-7's host...\n"),
            "{outcome:#?}"
        );
        assert!(
            dirs.project().is_dir() && !dirs.env_file().exists(),
            "{shell:?}"
        );
        assert!(dirs.temp().join("FILE_VARIABLE").exists(), "{shell:?}");

        fs::remove_dir_all(dirs.temp()).unwrap();
        dirs.run(shell, Feed::File, &script);
        let mode = fs::metadata(dirs.temp()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{shell:?}");
    }
}

#[test]
fn cleanup_removes_the_private_directory_and_nothing_else() {
    for shell in Shell::ALL {
        let dirs = JobDirs::new();
        fs::write(dirs.temp().join("SECRET"), "x").unwrap();
        let script = text(
            &scripts(shell.dialect(), &[]),
            &BuildStage::CleanupFileVariables,
        );
        for _ in 0..2 {
            assert_eq!(
                dirs.run(shell, Feed::Stdin, &script).code,
                Some(0),
                "{shell:?}"
            );
        }
        assert!(
            !dirs.temp().exists() && dirs.project().exists(),
            "{shell:?}"
        );
        let unset = dirs.run_with(shell, Feed::Stdin, &script, |command| {
            command.env_remove(shells::TEMP_DIR);
        });
        assert_eq!(unset.code, Some(0), "{shell:?}");
    }
}

#[test]
fn the_umask_is_inherited_unless_set() {
    for shell in Shell::ALL {
        let mut scripts = scripts(shell.dialect(), &["umask"]);
        scripts.options.umask = Some(0o027);
        let outcome =
            JobDirs::new().run(shell, Feed::Stdin, &text(&scripts, &BuildStage::script()));
        assert_eq!(without_echo(&outcome.stdout), "0027\n", "{shell:?}");
    }
}
