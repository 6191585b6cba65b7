//! Scripts whose shell or commands are ended by a signal.

use crate::support::{Feed, JobDirs, Shell, new_command, scripts, text, without_echo};
use executor_core::stage::BuildStage;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

#[test]
fn a_killed_child_does_not_make_the_shell_print_the_script() {
    for shell in Shell::ALL {
        for signal in ["TERM", "KILL", "SEGV"] {
            for feed in [Feed::Stdin, Feed::File] {
                let child = format!("sh -c 'kill -{signal} $$'");
                let piped = format!("sh -c 'kill -{signal} $$' | cat");
                let commands = [
                    ": the-marker",
                    "echo before",
                    "set +e",
                    &child,
                    &piped,
                    "exit 5",
                ];
                let script = text(&scripts(shell.dialect(), &commands), &BuildStage::script());
                let outcome = JobDirs::new().run(shell, feed, &script);
                assert_eq!(outcome.code, Some(5), "{shell:?} {signal} {outcome:#?}");
                assert!(
                    !outcome.stderr.contains("the-marker"),
                    "{shell:?} {outcome:#?}"
                );
                // It is printed once, as the command that runs.
                assert_eq!(
                    outcome.stdout.matches("the-marker").count(),
                    1,
                    "{outcome:#?}"
                );
            }
        }
    }
}

#[test]
fn a_killed_child_ends_the_script_with_the_code_of_the_signal() {
    for shell in Shell::ALL {
        let commands = [": the-marker", "sh -c 'kill -KILL $$'", "echo on"];
        let script = text(&scripts(shell.dialect(), &commands), &BuildStage::script());
        let outcome = JobDirs::new().run(shell, Feed::Stdin, &script);
        assert_eq!(outcome.code, Some(137), "{shell:?} {outcome:#?}");
        assert!(
            !outcome.stderr.contains("the-marker"),
            "{shell:?} {outcome:#?}"
        );
        assert_eq!(without_echo(&outcome.stdout), "");
    }
}

#[test]
fn termination_does_not_print_the_script_and_runs_the_users_trap() {
    for shell in Shell::ALL {
        let commands = [
            "trap 'echo bye' EXIT",
            ": the-marker",
            // The child itself reports its start, since an earlier TERM would miss it.
            "sh -c 'echo ready; exec sleep 600'",
            "echo on",
        ];
        let script = text(&scripts(shell.dialect(), &commands), &BuildStage::script());
        let dirs = JobDirs::new();
        let mut command = shell.command();
        dirs.equip(&mut command);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the shell starts");
        child
            .stdin
            .take()
            .unwrap()
            .write_all(script.as_bytes())
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while line != "ready\n" {
            line.clear();
            assert!(
                stdout.read_line(&mut line).unwrap() > 0,
                "{shell:?} ended early"
            );
        }
        let group = format!("-{}", child.id());
        let killed = new_command("kill")
            .args(["-TERM", "--", &group])
            .status()
            .unwrap();
        assert!(killed.success());
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        let mut stderr = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        let status = child.wait().unwrap();
        assert_eq!(
            status.code(),
            Some(143),
            "{shell:?} {:?} {stderr}",
            status.signal()
        );
        assert_eq!(rest, "bye\n", "{shell:?}");
        assert!(!stderr.contains("the-marker"), "{shell:?} {stderr}");
    }
}
