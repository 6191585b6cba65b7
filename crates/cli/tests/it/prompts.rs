//! Prompts at a terminal, and where there are none.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::Project;
use crate::tmux::Terminal;
use std::fmt::Write as _;
use std::process::Command;

const FILE: &str = "
stages: [build, test, deploy]
compile: {stage: build, script: [echo compile]}
lint: {stage: build, script: [echo lint]}
unit: {stage: test, script: [echo $OS], parallel: {matrix: [{OS: [debian, alpine]}]}}
ship: {stage: deploy, script: [echo ship], when: manual}
";

#[test]
fn chosen_jobs_run_and_the_equivalent_command_is_shown() {
    let project = Project::with_pipeline(FILE);
    let terminal = Terminal::start(&project, (80, 24), "run --choose --no-needs");
    terminal.wait_for(&["What to run?", "the whole pipeline: 5 jobs"]);
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for(&["Which jobs?", "[ ] build", "compile", "ship  manual"]);
    terminal.type_text("alp");
    terminal.wait_for(&["[ ] test    unit: [alpine]"]);
    terminal.press("Space");
    terminal.wait_for(&["[x] test    unit: [alpine]", "[ ] build   compile"]);
    terminal.type_text("lint");
    terminal.wait_for(&["> [ ] build   lint"]);
    terminal.press("Space");
    terminal.wait_for(&["[x] build   lint"]);
    terminal.press("Enter");
    terminal.wait_for(&["[exit code 0]"]);
    let text = terminal.text();
    let command = "runwright run lint 'unit: [alpine]' --no-needs";
    assert!(text.contains(command), "{text}");
    let (_, after) = text.rsplit_once(command).unwrap();
    assert!(
        after.contains("lint") && !after.contains("compile"),
        "{text}"
    );
    assert!(terminal.is_as_before());
}

#[test]
fn prompt_fits_a_small_terminal() {
    let project = Project::with_pipeline(FILE);
    let terminal = Terminal::start(&project, (40, 8), "run --choose --no-needs");
    terminal.wait_for(&["What to run?"]);
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for(&["Which jobs?", "[ ] build   compile"]);
    terminal.press("Space");
    terminal.wait_for(&["[x] build   compile"]);
    terminal.press("Enter");
    terminal.wait_for(&["runwright run compile --no-needs", "[exit code 0]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn bare_program_prompts_at_a_terminal_and_offers_the_whole_pipeline_first() {
    let project = Project::with_pipeline(FILE);
    let terminal = Terminal::start(&project, (100, 30), "");
    terminal.wait_for(&["> the whole pipeline: 5 jobs"]);
    terminal.press("Enter");
    terminal.wait_for(&["runwright run\n", "[exit code 0]"]);
    assert!(terminal.is_as_before());
    project.write("broken", "");
    project.write(
        ".gitlab-ci.yml",
        "good: {script: [echo]}\nbad: {script: [exit 1]}\n",
    );
    project.runwright(&["run"]).expect_code(1);
    let terminal = Terminal::start(&project, (101, 30), "");
    terminal.wait_for(&["what failed in run 2: 1 job"]);
    terminal.type_text("failed");
    terminal.wait_for(&["> what failed"]);
    terminal.press("Enter");
    terminal.wait_for(&["runwright run --only-failed", "[exit code 1]"]);
}

#[test]
fn leaving_the_prompt_exits_with_130_and_restores_the_terminal() {
    let project = Project::with_pipeline(FILE);
    for (number, key) in ["Escape", "C-c"].into_iter().enumerate() {
        for steps in [0, 1] {
            let columns = 80 + 2 * steps + u16::try_from(number).unwrap();
            let after = "; echo \"[ended $?]\"; stty -a";
            let terminal = Terminal::start(&project, (columns, 40), after);
            terminal.wait_for(&["What to run?"]);
            if steps == 1 {
                terminal.press("Down");
                terminal.press("Enter");
                terminal.wait_for(&["Which jobs?"]);
            }
            terminal.press(key);
            terminal.wait_for(&["[ended 130]", "[exit code 0]"]);
            let text = terminal.text();
            for sane in [" icanon", " echo ", "isig ", "opost ", " icrnl"] {
                assert!(text.contains(sane), "{sane} in {text}");
            }
            assert!(terminal.is_as_before());
        }
    }
}

#[test]
fn signal_at_a_prompt_restores_the_terminal() {
    for (number, signal) in (0u16..).zip(["TERM", "HUP", "INT", "QUIT"]) {
        let project = Project::with_pipeline(FILE);
        let id = project.scratch().join("id");
        // The shell writes its process id and then becomes the program by `exec`.
        let program = env!("CARGO_BIN_EXE_runwright");
        let arguments = format!(
            "--version; (sh -c 'echo $$ > {id}; exec {program} run --choose'); \
             echo \"[ended $?]\"; stty -a",
            id = id.display()
        );
        let terminal = Terminal::start(&project, (90 + number, 40), &arguments);
        terminal.wait_for(&["What to run?"]);
        let id = std::fs::read_to_string(id).unwrap();
        let sent = Command::new("kill")
            .args(["-s", signal, id.trim()])
            .status();
        assert!(sent.unwrap().success());
        terminal.wait_for(&["[ended 130]", "[exit code 0]"]);
        let text = terminal.text();
        for sane in [" icanon", " echo ", "isig ", "opost ", " icrnl"] {
            assert!(text.contains(sane), "{signal}: {sane} in {text}");
        }
        assert!(terminal.is_as_before(), "{signal}");
    }
}

#[test]
fn hostile_names_and_a_thousand_jobs_do_no_harm() {
    let mut file = r#""a\e[2J\e[1;1H\u202e\tb": {script: [echo]}"#.to_owned();
    file.push('\n');
    for number in 0..1000 {
        let _ = writeln!(file, "job-{number}: {{script: [echo], needs: []}}");
    }
    let _ = writeln!(file, "{}: {{script: [echo]}}", "long".repeat(50));
    let project = Project::with_pipeline(&file);
    let terminal = Terminal::start(&project, (60, 12), "run --choose --dry-run");
    terminal.wait_for(&["the whole pipeline: 1002 jobs"]);
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for(&["Which jobs?", "[ ] test  a", "job-0"]);
    let screen = terminal.screen();
    assert!(screen.contains("What to run?"), "{screen}");
    terminal.type_text("longlong");
    terminal.wait_for(&["> [ ] test  longlong"]);
    let screen = terminal.screen();
    let row = screen
        .lines()
        .find(|line| line.starts_with("> [ ]"))
        .unwrap();
    assert!(
        row.trim_end().ends_with("...") && row.len() <= 60,
        "{screen}"
    );
    terminal.press("Space");
    terminal.wait_for(&["job-0"]);
    terminal.type_text("job-990");
    terminal.wait_for(&["> [ ] test  job-990"]);
    terminal.press("Space");
    terminal.wait_for(&["job-0"]);
    terminal.press("Enter");
    terminal.wait_for(&["runwright run job-990 longlong", "[exit code 0]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn command_that_needs_a_job_prompts_for_it() {
    let project = Project::with_pipeline(FILE);
    let terminal = Terminal::start(&project, (80, 24), "explain");
    terminal.wait_for(&["Which job should be explained?"]);
    terminal.type_text("ship");
    terminal.wait_for(&["> ship"]);
    terminal.press("Enter");
    terminal.wait_for(&["[exit code 0]"]);
    project.runwright(&["run"]).expect_code(0);
    let terminal = Terminal::start(&project, (81, 24), "logs");
    terminal.wait_for(&["Whose log?", "lint  success"]);
    terminal.type_text("lint");
    terminal.wait_for(&["> lint"]);
    terminal.press("Enter");
    terminal.wait_for(&["$ echo lint", "[exit code 0]"]);
    // A single waiting job needs no prompt.
    let terminal = Terminal::start(&project, (82, 24), "play");
    terminal.wait_for(&["[exit code 0]"]);
    let text = terminal.text();
    assert!(!text.contains("Which job"), "{text}");
}

#[test]
fn no_prompt_without_a_terminal() {
    let project = Project::with_pipeline(FILE);
    project
        .runwright(&["run", "--choose"])
        .expect_code(2)
        .expect_text("choosing jobs needs a terminal");
    project
        .runwright(&[])
        .expect_code(2)
        .expect_text("Usage: runwright");
    project
        .runwright(&["explain"])
        .expect_code(2)
        .expect_text("name a job");
    let program = env!("CARGO_BIN_EXE_runwright");
    let in_ci = format!("--version; CI=true {program} run --choose");
    for (columns, arguments) in [
        (80, "run --choose --progress json"),
        (81, "run --choose < /dev/null"),
        (82, "run --choose | cat; false"),
        (83, &in_ci),
    ] {
        let terminal = Terminal::start(&project, (columns, 24), arguments);
        terminal.wait_for(&["choosing jobs needs a terminal", "[exit code "]);
    }
    // Without a pipeline there is nothing to prompt for.
    let empty = Project::empty_directory();
    let terminal = Terminal::start(&empty, (80, 60), "");
    terminal.wait_for(&["Usage: runwright", "[exit code 2]"]);
}
