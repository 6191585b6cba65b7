//! Inputs that have caused harm in other programs, each against the binary.
//!
//! | input | description | tested in |
//! |---|---|---|
//! | 15 | job names | here; `bad_input` |
//! | 16 | variable names | here; `bad_input` |
//! | 17 | variable values that a shell would execute | here |
//! | 18 | branch names that look like options, paths or commands | here |
//! | 19 | repository addresses that contain commands | here; `git::ssh` of `includes` |
//! | 20 | submodules that leave the project | here |
//! | 21 | existing Git hooks and settings | here |
//! | 22, 23, 26 | zip archives that escape, follow links, explode or lie | `hostile_zip`, `mutated` of `archive` |
//! | 22 to 26 | tar archives of the same kinds | `hostile_tar`, `mutated` of `archive` |
//! | 27 | artifacts outside the project, and special files | here; `round_trip` of `archive` |
//! | 28 | cache keys | `hostile_job_data`; `cache::key` of `job-runner` |
//! | 29 | dotenv reports | `hostile_job_data`; `reports` of `job-runner` |
//! | 30 | secrets in pieces and inside other secrets | here; `masking`, `pipeline` of `trace` |
//! | 31 | encoded, multi-line and empty secrets | here; `masking` of `trace` |
//! | 32 | output with commands for terminals and other runners | here; `terminal` |

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Done, Project, files_below};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Returns a file that must not be created, and a command that creates it.
fn trap(project: &Project) -> (PathBuf, String) {
    let path = project.scratch().join("pwned");
    let command = format!("touch {}", path.display());
    (path, command)
}

fn assert_not_sprung(trap: &std::path::Path, after: &str) {
    assert!(!trap.exists(), "it was run: {after}");
}

#[test]
fn odd_job_names_keep_their_files_in_the_usual_directories() {
    // input 15
    let names = [
        "x/../../../x",
        "a:b c",
        "🚀 launch",
        "-rf",
        "'quoted' \\\"twice\\\"",
        "$(id)",
        "*",
    ];
    for name in names {
        let project = Project::with_pipeline(&format!(
            "\"{name}\":\n  script: [echo it ran, echo text > file]\n  artifacts: {{paths: [file]}}\n\".hidden\": {{script: [exit 1]}}\n",
        ));
        let done = project
            .runwright(&["run"])
            .expect_code(0)
            .expect_text("it ran");
        assert!(!done.all().contains(".hidden"), "{done:?}");
        let beside: Vec<_> = fs::read_dir(project.scratch()).unwrap().flatten().collect();
        assert_eq!(beside.len(), 2, "{name}: {beside:?}");
        assert!(
            project.leftovers().is_empty(),
            "{name}: {:?}",
            project.leftovers()
        );
    }
}

#[test]
fn variables_reach_the_script_byte_for_byte() {
    // input 16
    // input 17
    let project = Project::with_pipeline(
        r#"job:
  variables:
    LD_PRELOAD: ""
    out: lower case
    _1: "an underscore"
  script:
    - printf '%s' "$VALUE" > "$OUT"
    - printf '%s' "$LD_PRELOAD|$out|$_1" >> "$OUT"
"#,
    );
    let (pwned, command) = trap(&project);
    let out = project.scratch().join("out-of-job");
    let values = [
        format!("$({command})"),
        format!("`{command}`"),
        format!("'; {command}; '"),
        format!("\"; {command}; \""),
        "a\nb\r\n\tc \\ \\n 'single' \"double\" !history % %s {a,b} ~ * ? \u{1b}[31m".to_owned(),
        " leading and trailing ".to_owned(),
        "-n".to_owned(),
    ];
    for value in values {
        // GitLab expands variables in values; `$$` stands for a literal `$`.
        let given = format!("VALUE={}", value.replace('$', "$$"));
        let place = format!("OUT={}", out.display());
        project
            .runwright(&["run", "--variable", &given, "--variable", &place])
            .expect_code(0);
        let read = String::from_utf8(fs::read(&out).unwrap()).unwrap();
        assert_eq!(read, format!("{value}|lower case|an underscore"));
        assert_not_sprung(&pwned, &value);
    }
}

#[test]
fn branch_names_are_never_options_paths_or_commands() {
    // input 18
    let pipeline = "job:\n  script: ['printf \"%s\\n\" \"on <$CI_COMMIT_REF_NAME>\"']\n";
    let check = |isolation: &[&str], branch: &str| {
        let project = Project::with_pipeline(pipeline);
        // Git itself refuses to create some of these branches.
        let head = format!("refs/heads/{branch}");
        let first = project.dir().join(".git/refs/heads").join(branch);
        fs::create_dir_all(first.parent().unwrap()).unwrap();
        fs::copy(project.dir().join(".git/refs/heads/main"), first).unwrap();
        fs::write(project.dir().join(".git/HEAD"), format!("ref: {head}\n")).unwrap();
        let arguments = [&["run"], isolation].concat();
        let done = project.runwright(&arguments);
        assert!(matches!(done.code, Some(0 | 2 | 3)), "{branch}: {done:?}");
        if done.code == Some(0) {
            assert!(done.all().contains(&format!("on <{branch}>")), "{done:?}");
        }
        assert!(!done.all().contains("panicked"), "{done:?}");
        // In any directory in which the command could have run.
        let mut files = files_below(project.scratch());
        files.push(PathBuf::from("pwned"));
        for pwned in files.iter().filter(|path| path.ends_with("pwned")) {
            assert_not_sprung(pwned, branch);
        }
        done.code
    };
    for isolation in [&[][..], &["--isolation", "worktree"]] {
        assert_eq!(check(isolation, ";touch${IFS}pwned"), Some(0));
        assert_eq!(check(isolation, "$(touch${IFS}pwned)"), Some(0));
        assert_eq!(check(isolation, "`touch${IFS}pwned`|sh"), Some(0));
        check(isolation, "--upload-pack=touch${IFS}pwned");
        check(isolation, "-h");
    }
    let project = Project::with_pipeline(pipeline);
    let (pwned, command) = trap(&project);
    let done = project.runwright(&["run", "--branch", &format!("--upload-pack={command}")]);
    assert!(!done.all().contains("panicked"), "{done:?}");
    assert_not_sprung(&pwned, "--branch");
}

#[test]
fn repository_addresses_start_no_command() {
    // input 19
    let project = Project::with_pipeline("job:\n  script: [echo ran]\n");
    let (pwned, command) = trap(&project);
    for address in [
        format!("ext::sh -c {}", command.replace(' ', "% ")),
        format!("-oProxyCommand={command}"),
        format!("ssh://-oProxyCommand={command}/x"),
    ] {
        project.git(&["config", "remote.origin.url", &address]);
        for options in [&[][..], &["--isolation", "worktree"]] {
            let done = project.runwright(&[&["run"], options].concat());
            done.expect_code(0).expect_text("job | ran");
        }
        assert_not_sprung(&pwned, &address);
        let include = format!(
            "include: [{{project: 'g/p', ref: main, file: /x.yml}}]\njob: {{script: [\"true\"]}}\n# {address}\n"
        );
        project.write(".gitlab-ci.yml", &include);
        project.runwright(&["run"]).expect_code(2);
        assert_not_sprung(&pwned, &address);
        project.git(&["checkout", "-q", ".gitlab-ci.yml"]);
    }
}

/// Runs `run` in each kind of isolation.
fn run_everywhere(project: &Project, more: &[&str]) -> Vec<Done> {
    let kinds = [&[][..], &["--isolation", "worktree"], &["--in-place"]];
    let run = |kind: &&[&str]| project.runwright(&[&["run"], *kind, more].concat());
    kinds.iter().map(run).collect()
}

#[test]
fn submodules_cannot_escape_the_project() {
    // input 20
    let project = Project::with_pipeline(
        "variables: {GIT_SUBMODULE_STRATEGY: recursive}\njob:\n  script: [echo ran]\n",
    );
    let (pwned, command) = trap(&project);
    let hook = project.scratch().join("hook");
    fs::write(&hook, format!("#!/bin/sh\n{command}\n")).unwrap();
    let module = |name: &str, path: &str, url: &str| {
        format!("[submodule \"{name}\"]\n\tpath = {path}\n\turl = {url}\n")
    };
    let command_url = format!("ext::sh -c {}", command.replace(' ', "% "));
    for modules in [
        module("../../hooks", "sub", "./sub"),
        module("x", "../../outside", "./sub"),
        module("x", "sub\r", "./sub"),
        module("x", "sub", &format!("-u{command}")),
        module("x", "sub", "https:///host"),
        module("x", "sub", &command_url),
        module("x", ".git/hooks", "./sub"),
    ] {
        project.write(".gitmodules", &modules);
        let commit = Command::new("git")
            .args(["rev-parse", "HEAD"])
            .current_dir(project.dir())
            .output()
            .unwrap()
            .stdout;
        let commit = String::from_utf8(commit).unwrap();
        let link = format!("160000,{},sub", commit.trim());
        project.git(&["add", ".gitmodules"]);
        project.git(&["update-index", "--add", "--cacheinfo", &link]);
        project.git(&["commit", "-q", "-m", "A submodule"]);
        for done in run_everywhere(&project, &[]) {
            assert!(!done.all().contains("panicked"), "{modules}: {done:?}");
            assert!(matches!(done.code, Some(0..=3)), "{modules}: {done:?}");
        }
        assert_not_sprung(&pwned, &modules);
        assert!(!project.scratch().join("outside").exists(), "{modules}");
        let hooks = fs::read_dir(project.dir().join(".git/hooks"));
        let own = hooks.into_iter().flatten().flatten();
        let own = own.filter(|entry| !entry.file_name().display().to_string().ends_with(".sample"));
        assert_eq!(own.count(), 0, "{modules}");
    }
}

#[test]
fn git_ignores_existing_hooks_and_settings() {
    // input 21
    let project = Project::with_pipeline("job:\n  script: [echo ran]\n");
    let (pwned, command) = trap(&project);
    let hooks = project.dir().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for name in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
    ] {
        use std::os::unix::fs::PermissionsExt;
        fs::write(hooks.join(name), format!("#!/bin/sh\n{command}\n")).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = project.scratch().join("fsmonitor");
    fs::copy(hooks.join("post-checkout"), &script).unwrap();
    project.git(&["config", "core.fsmonitor", &script.display().to_string()]);
    for done in run_everywhere(&project, &[]) {
        done.expect_code(0).expect_text("job | ran");
    }
    assert_not_sprung(&pwned, "hooks and core.fsmonitor");
}

#[test]
fn artifacts_are_regular_files_of_the_project() {
    // input 27
    let project = Project::with_pipeline(
        r#"stages: [a, b]
make:
  stage: a
  script:
    - mkdir -p real dir && echo text > real/file && echo text > dir/file
    - ln -s /etc linked
    - mkfifo dir/pipe
    - perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => q(dir/socket), Listen => 1)'
    - ln -s ../real dir/link
  artifacts:
    paths: [/etc/passwd, ../x, '../*', 'linked/*', linked/passwd, dir, '**/nothing']
use:
  stage: b
  script: ['find . -path ./.git -prune -o ! -name .gitlab-ci.yml -print | sort | tr "\n" " "']
"#,
    );
    fs::write(project.scratch().join("x"), "precious").unwrap();
    let done = project.runwright(&["run"]).expect_code(0);
    let done = done.expect_text("| . ./dir ./dir/file ./dir/link");
    // Skipped files are reported.
    let done = done.expect_text("/etc/passwd").expect_text("../x");
    assert!(!done.all().contains("panicked"), "{done:?}");
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}

#[test]
fn secrets_are_masked_in_pieces_and_in_other_forms() {
    // input 30
    // input 31
    let project = Project::with_pipeline(
        r#"job:
  script:
    - for i in 1 5 9 13; do printf '%s' "$TOKEN" | cut -c1-$i | tr -d '\n'; printf '%s' "$TOKEN" | cut -c$((i + 1))- ; done
    - echo "both $SHORT and $LONG and ${LONG}x and a${SHORT}"
    - echo "$LINES_OF_IT" >&2
    - printf '%s' "$TOKEN" | base64
    - printf '%s' "x$TOKEN" | base64
    - printf '%s' "$TOKEN" | od -An -tx1 | tr -d ' \n' | sed 's/../%&/g' && echo
    - echo it-ended
"#,
    );
    let secrets = [
        ("TOKEN", "s3cr3t/t0ken+of=mine"),
        ("SHORT", "overlap1"),
        ("LONG", "overlap1-and-more"),
        ("LINES_OF_IT", "first-line-of-it\nsecond-line-of-it"),
        ("EMPTY", ""),
    ];
    let mut arguments = vec!["run"];
    for (name, _) in secrets {
        arguments.extend(["--secret", name]);
    }
    let output = project.command(&arguments).envs(secrets).output().unwrap();
    let done = Done::from(output).expect_code(0).expect_text("it-ended");
    let kept = String::from_utf8(project.only_log()).unwrap();
    for shown in [done.all(), kept] {
        for hidden in [
            "s3cr3t",
            "t0ken",
            "overlap",
            "and-more",
            "first-line",
            "second-line",
            // The beginning of the token in base64, and of the token shifted by one byte.
            "czNjcjN0L3Qwa2Vu",
            "M2NyM3QvdDBrZW4r",
        ] {
            assert!(!shown.contains(hidden), "{hidden}: {shown}");
        }
    }
}

#[test]
fn output_is_shown_and_never_executed() {
    // input 32
    let project = Project::with_pipeline(
        r#"stages: [a, b]
talk:
  stage: a
  script:
    - echo '::set-env name=PWNED::1' && echo '::set-output name=PWNED::1' && echo '::add-mask::plain'
    - echo '##vso[task.setvariable variable=PWNED]1'
    - printf 'section_start:1:evil[collapsed=true]\r\033[0Kheader\n'
    - printf '\033]8;;http://example.com\033\\link\033]8;;\033\\\n'
    - printf '\033]0;title\007\033[2J\033[1;1Hplain\n'
listen:
  stage: b
  script: ['echo "heard <$PWNED>" plain']
"#,
    );
    let done = project.runwright(&["run"]).expect_code(0);
    let done = done.expect_text("::set-env name=PWNED::1");
    let done = done.expect_text("##vso[task.setvariable variable=PWNED]1");
    let done = done.expect_text("listen | heard <> plain");
    // Output that does not go to a terminal contains no terminal commands.
    for obeyed in ["\u{1b}[2J", "\u{1b}]0;"] {
        assert!(!done.all().contains(obeyed), "{done:?}");
    }
}
