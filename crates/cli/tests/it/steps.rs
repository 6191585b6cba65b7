//! `runwright steps run`: functions run by hand.

use crate::killed_runner::{assert_nothing_stays, cgroups, guardian, kill_9};
use crate::project::{Project, wait_until};
use crate::signals::interrupt;
use std::fs;

const GREET: &str = r#"
spec:
  inputs:
    who: {type: string}
    times: {type: number, default: 1}
  outputs:
    text: {type: string}
    times: {type: number}
---
env: {GREETING: "hello ${{ vars.TITLE }}"}
exec:
  command: [sh, -c, 'echo "$GREETING $1"; echo "{\"name\":\"text\",\"value\":\"<$1>\"}{\"name\":\"times\",\"value\":$3}" | sed "s/}{/}\n{/" >$2', sh, "${{ inputs.who }}", "${{ output_file }}", "${{ str(inputs.times) }}"]
"#;

fn project() -> Project {
    let project = Project::empty_directory();
    project.write("greet/func.yml", GREET);
    project
}

#[test]
fn function_runs_with_inputs_and_shows_its_results() {
    let project = project();
    let done = project
        .runwright(&[
            "steps",
            "run",
            "./greet",
            "--input",
            "who=Sally",
            "-i",
            "times:=2",
            "--variable",
            "TITLE=Ms",
            "--results",
            "out.json",
        ])
        .expect_code(0);
    assert_eq!(done.stdout, "Running step \"greet\"\nhello Ms Sally\n");
    assert_eq!(done.stderr, "output text = \"<Sally>\"\noutput times = 2\n");
    let results = fs::read_to_string(project.dir().join("out.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results["step"]["inputs"]["who"], "Sally");
    assert_eq!(results["status"], "success");
    assert_eq!(results["outputs"]["times"], 2);
    assert_eq!(results["execResult"]["exitCode"], 0);
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn inputs_come_from_a_file_and_results_go_to_standard_output() {
    let project = project();
    project.write("inputs.yml", "who: Sally\ntimes: 3\n");
    let arguments = [
        "steps",
        "run",
        "./greet",
        "--inputs",
        "inputs.yml",
        "-i",
        "who=Bob",
        "--variable",
        "TITLE=",
        "--results",
        "-",
    ];
    let done = project.runwright(&arguments).expect_code(0);
    let results: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(results["outputs"]["text"], "<Bob>");
    assert_eq!(results["outputs"]["times"], 3);
    assert!(done.stderr.contains("hello  Bob\n"), "{}", done.stderr);
}

#[test]
fn mistakes_are_reported() {
    let project = project();
    project.write("list.yml", "[1]");
    project.write(
        "broken/func.yml",
        "spec:\n---\nexec: {command: [sh, -c, 'exit 7']}\n",
    );
    let check = |arguments: &[&str], code: i32, text: &str| {
        let words = ["steps", "run"].iter().chain(arguments).copied();
        let words: Vec<_> = words.collect();
        project
            .runwright(&words)
            .expect_code(code)
            .expect_text(text);
    };
    check(&["./greet"], 1, "input \"who\"");
    check(&["./greet", "-i", "who=a", "-i", "times=2"], 1, "times");
    check(&["./greet", "-i", "whom=a"], 1, "declared are times, who");
    check(&["./nowhere"], 1, "nowhere");
    check(&["greet"], 2, "a directory starts with `.` or `/`");
    check(&["./greet", "-i", "who"], 2, "NAME=TEXT");
    check(&["./greet", "-i", "who:=x"], 2, "not JSON");
    check(
        &["./greet", "--inputs", "list.yml"],
        2,
        "expected a name and a value for each input",
    );
    check(&["./greet", "--inputs", "none.yml"], 2, "read none.yml");
    check(&["./greet", "-C", "none"], 2, "open directory none");
    check(&["./broken"], 1, "failed with exit code 7");
}

#[test]
fn stopped_function_leaves_nothing() {
    let project = project();
    let function = "spec:\n---\nexec: {command: [sh, -c, 'trap \"echo asked; exit 0\" TERM; setsid sleep 600 & echo pid $!.; wait']}\n";
    project.write("slow/func.yml", function);
    let mut child = project.start(&["steps", "run", "./slow"]);
    project.wait_for(".\n");
    interrupt(child.id(), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let printed = project.printed();
    assert!(printed.ends_with("asked\n"), "{printed}");
    let pid = printed
        .split("pid ")
        .nth(1)
        .unwrap()
        .split('.')
        .next()
        .unwrap();
    wait_until("its processes to be gone", || {
        !fs::exists(format!("/proc/{pid}/exe")).unwrap()
    });
    wait_until("nothing to be left", || project.leftovers().is_empty());
}

#[test]
fn function_whose_program_is_killed_leaves_nothing() {
    const SLOW: &str = "spec:\n---\nexec: {command: [sh, -c, 'trap \"\" TERM HUP; setsid sleep 600 >&- 2>&1 & sleep 600 & echo it has begun; wait']}\n";
    for with_guardian in [false, true] {
        let marker = format!(
            "runwright-test-steps-{with_guardian}-{}",
            std::process::id()
        );
        let project = project();
        project.write("slow/func.yml", SLOW);
        let variable = format!("MARK={marker}");
        let mut child = project.start(&["steps", "run", "./slow", "--variable", &variable]);
        project.wait_for("it has begun");
        let cgroups = cgroups(&project);
        assert!(!project.leftovers().is_empty(), "its directory is there");
        let guardian = guardian(&project);
        let mut pids = vec![child.id()];
        if with_guardian {
            pids.push(guardian);
        }
        kill_9(&pids);
        child.wait().unwrap();
        if with_guardian {
            let next = [
                "steps",
                "run",
                "./greet",
                "-i",
                "who=a",
                "--variable",
                "TITLE=",
            ];
            project.runwright(&next).expect_code(0);
        }
        assert_nothing_stays(&project, &marker, &cgroups);
        assert!(!project.scratch().join("project.tmp").exists());
    }
}

#[test]
fn secret_inputs_are_never_shown() {
    let project = Project::empty_directory();
    let function = "spec:\n  inputs:\n    token: {type: string, sensitive: true}\n    other: {type: string, sensitive: true, default: tiger-tiger}\n  outputs: {said: {type: string}}\n---\nexec: {command: [sh, -c, 'echo \"$1 $2\"; echo \"{\\\"name\\\":\\\"said\\\",\\\"value\\\":\\\"it is $1\\\"}\" >>$3', sh, '${{ inputs.token }}', '${{ inputs.other }}', '${{ output_file }}']}\n";
    project.write("f/func.yml", function);
    let arguments = [
        "steps",
        "run",
        "./f",
        "-i",
        "token=hunter2-hunter2",
        "--results",
        "out.json",
    ];
    let done = project.runwright(&arguments).expect_code(0);
    assert!(
        done.stdout.ends_with("[MASKED] [MASKED]\n"),
        "{}",
        done.stdout
    );
    let results = fs::read_to_string(project.dir().join("out.json")).unwrap();
    for secret in ["hunter2", "tiger"] {
        assert!(!done.all().contains(secret), "{}", done.all());
        assert!(!results.contains(secret), "{results}");
    }
    assert!(
        results.contains("\"said\": \"it is [MASKED]\""),
        "{results}"
    );
}

#[test]
fn inputs_are_taken_literally() {
    let project = project();
    let arguments = [
        "steps",
        "run",
        "./greet",
        "-i",
        "who=${{ env.HOME }} ${{",
        "--variable",
        "TITLE=",
    ];
    let done = project.runwright(&arguments).expect_code(0);
    assert!(
        done.stdout.contains("hello  ${{ env.HOME }} ${{\n"),
        "{}",
        done.stdout
    );
}

#[test]
fn results_are_written_through_a_link_and_the_link_stays() {
    let project = project();
    let link = project.dir().join("out.json");
    std::os::unix::fs::symlink("elsewhere.json", &link).unwrap();
    let run = [
        "steps",
        "run",
        "./greet",
        "-i",
        "who=Sally",
        "--variable",
        "TITLE=Ms",
        "--results",
    ];
    let to = |file: &str| project.runwright(&[&run[..], &[file]].concat());
    to("out.json").expect_code(0);
    assert!(link.is_symlink());
    let results = fs::read_to_string(project.dir().join("elsewhere.json")).unwrap();
    assert!(results.contains("Sally"), "{results}");
    to("/dev/stderr").expect_code(0).expect_text("\"Sally\"");
}

#[test]
fn results_of_an_earlier_run_are_removed() {
    let project = project();
    project.write("out.json", "{}");
    let wrong = ["steps", "run", "greet", "--results", "out.json"];
    project.runwright(&wrong).expect_code(2);
    assert!(!project.dir().join("out.json").exists());
}
