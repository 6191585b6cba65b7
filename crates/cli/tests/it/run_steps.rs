//! Jobs with steps (`run`): the same on this machine and in a container.

use crate::docker;
use crate::project::{Done, Project};
use crate::registry::Registry;

/// A job, the files beside it, and its expected output.
struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The job's keys, at the beginning of lines.
    job: &'static str,
    code: i32,
    log: &'static str,
}

const GREET: &str = r#"
spec:
  inputs:
    who: {type: string}
    times: {type: number, default: 1}
  outputs:
    text: {type: string}
    data: {type: struct, default: {a: [1, true]}}
---
exec:
  command: [sh, -c, 'echo "hello $1"; echo "{\"name\":\"text\",\"value\":\"<$1>\"}" >>$2', sh, "${{ inputs.who }}", "${{ output_file }}"]
"#;

const CASES: &[Case] = &[
    Case {
        name: "inputs, outputs and expressions",
        files: &[("greet/func.yml", GREET)],
        job: r#"
variables: {WHO: Sally}
run:
  - name: one
    func: ./greet
    inputs: {who: "${{ vars.WHO }}", times: 2}
  - name: two
    script: |
      echo "${{ steps.one.outputs.text + "!" }} ${{ steps.one.outputs.data.a[1] && 1 + 2 * 3 }}"
      echo '\${{ stays }}' "$CI_JOB_NAME"
"#,
        code: 0,
        log: "Running step \"one\"\nhello Sally\nRunning step \"two\"\n<Sally>! 7\n${{ stays }} job\n",
    },
    Case {
        name: "functions within functions, which delegate",
        files: &[
            ("lib/greet/func.yml", GREET),
            (
                "lib/outer/func.yml",
                "spec: {inputs: {who: {type: string}}, outputs: delegate}\n---\nrun:\n  - {name: inner, func: ../greet, inputs: {who: \"${{ inputs.who }} and all\"}}\ndelegate: inner\n",
            ),
        ],
        job: "run:\n  - {name: a, func: ./lib/outer, inputs: {who: Bob}}\n  - {name: b, script: 'echo \"${{ steps.a.outputs.text }}\"'}\n",
        code: 0,
        log: "Running step \"a\"\nRunning step \"inner\"\nhello Bob and all\nRunning step \"b\"\n<Bob and all>\n",
    },
    Case {
        name: "exports, and who wins of those who set a variable",
        files: &[(
            "show/step.yml",
            "spec:\n---\nenv: {A: definition}\nexec: {command: [sh, -c, 'echo $A $B $C $D']}\n",
        )],
        job: r#"
variables: {B: job, C: job, D: job}
run:
  - name: a
    script: echo '{"name":"C","value":"export"}' >>${{ export_file }}; echo '{"name":"A","value":"export"}' >>${{ export_file }}
  - {name: b, step: ./show, env: {A: call, B: call}}
  - {name: c, script: 'echo $A $B $C $D'}
"#,
        code: 0,
        log: "Running step \"a\"\nRunning step \"b\"\ndefinition call export job\nRunning step \"c\"\nexport job export job\n",
    },
    Case {
        name: "a script that fails ends the job with its code",
        files: &[],
        job: "run:\n  - {name: a, script: \"echo out\\nfalse\\necho never\"}\n  - {name: b, script: echo never}\n",
        code: 1,
        log: "Running step \"a\"\nout\n",
    },
    Case {
        name: "a step that cannot be is told with its name",
        files: &[("greet/func.yml", GREET)],
        job: "run:\n  - {name: a, func: ./greet, inputs: {whom: x}}\n",
        code: 1,
        log: "Running step \"a\"\nERROR: step \"a\": it has no input \"whom\"; declared are times, who\n",
    },
    Case {
        name: "what a step declares and does not give",
        files: &[(
            "mute/func.yml",
            "spec: {outputs: {text: {type: string}}}\n---\nexec: {command: ['true']}\n",
        )],
        job: "run:\n  - {name: a, func: ./mute}\n",
        code: 1,
        log: "Running step \"a\"\nERROR: step \"a\": its output file: it did not set output \"text\", which has no default\n",
    },
    Case {
        name: "secrets of a function are hidden",
        files: &[(
            "secret/func.yml",
            "spec: {outputs: {token: {type: string, sensitive: true}}}\n---\nexec: {command: [sh, -c, 'echo \"{\\\"name\\\":\\\"token\\\",\\\"value\\\":\\\"tiger-tiger\\\"}\" >>${{ output_file }}']}\n",
        )],
        job: "run:\n  - {name: a, func: ./secret}\n  - {name: b, script: 'echo \"is ${{ steps.a.outputs.token }}.\"'}\n",
        code: 0,
        log: "Running step \"a\"\nRunning step \"b\"\nis [MASKED].\n",
    },
    Case {
        name: "bytes, long lines and no end of line",
        files: &[],
        job: "run:\n  - {name: a, script: \"printf 'ä€\\\\n%070000d' 0 | tail -c 9; printf '\\\\n\\\\n.'\"}\n",
        code: 0,
        log: "Running step \"a\"\n000000000\n\n.\n",
    },
];

/// Returns a project with the job of a case.
fn project(job: &str, files: &[(&str, &str)]) -> Project {
    let keys = job.replace('\n', "\n  ");
    let pipeline = format!("job:\n  image: runwright-test/busybox:1\n  {keys}\n");
    let project = Project::with_pipeline(&pipeline);
    for (path, text) in files {
        project.write(path, text);
    }
    project.commit();
    project
}

/// Runs the job with an executor, and returns its result and the output of its steps.
fn run(project: &Project, executor: &str) -> (Done, String) {
    let done = docker::runwright(project, &["run", "--executor", executor]);
    let log = String::from_utf8(project.only_log()).unwrap();
    docker::nothing_left(project);
    (done, steps_of(&log))
}

/// Returns the log between the heading of the steps and the next section, without stamps.
fn steps_of(log: &str) -> String {
    let stamp = "2026-11-22T17:08:05.776712Z 01O ".len();
    let mut whole: Vec<String> = Vec::new();
    for line in log.lines() {
        let (stamp, text) = line.split_at_checked(stamp).unwrap_or_default();
        // A slow machine may read a line in two parts, which are joined here.
        match whole.last_mut().filter(|_| stamp.ends_with('+')) {
            Some(begun) => begun.push_str(text),
            None => whole.push(text.to_owned()),
        }
    }
    let mut lines = whole
        .iter()
        .map(String::as_str)
        .skip_while(|line| !line.contains("step_run"));
    let heading = lines.next().unwrap_or_else(|| panic!("no steps in {log}"));
    assert!(heading.contains("Executing"), "{heading}");
    let of_steps = lines.take_while(|line| !line.starts_with("Cleaning up"));
    let mut text = of_steps.collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

#[test]
fn steps_behave_the_same_on_this_machine_and_in_a_container() {
    for case in CASES {
        for executor in ["shell", "docker"] {
            let (done, log) = run(&project(case.job, case.files), executor);
            let whole = done.all();
            assert_eq!(log, case.log, "{} by {executor}: {whole}", case.name);
            assert_eq!(
                done.code,
                Some(case.code),
                "{} by {executor}: {whole}",
                case.name
            );
        }
    }
}

/// Publishes a function, calls it, and calls one that does not exist.
const KEPT: &str = r#"
publish:
  run:
    - name: build
      func: builtin://function/oci/build
      inputs:
        version: 1.2.3
        common: {files: {func.yml: hello.yml}}
        platforms: {linux/amd64: {files: {}}}
    - name: publish
      func: builtin://function/oci/publish
      inputs: {archive: "${{ steps.build.outputs.archive }}", to_repository: HOST/org/hello}
call:
  run:
    - {name: known, func: "HOST/org/hello:1.2"}
    - {name: again, func: "HOST/org/hello:1"}
other:
  run:
    - {name: unknown, func: "HOST/org/hello:9"}
"#;

#[test]
fn offline_runs_use_only_functions_fetched_before() {
    let registry = Registry::start();
    let host = registry.host.clone();
    let project = Project::with_pipeline(&KEPT.replace("HOST", &host));
    let hello = "spec:\n---\nexec: {command: [echo, hello from before]}\n";
    project.write("hello.yml", hello);
    project.commit();
    open_to_this_machine(&project);
    for job in ["publish", "call"] {
        project.runwright(&["run", job]).expect_code(0);
    }
    drop(registry);
    let check = |arguments: &[&str], code: i32, texts: &[&str]| {
        let done = project.runwright(&[arguments, &["--offline"]].concat());
        let done = done.expect_code(code);
        texts.iter().fold(done, |done, text| done.expect_text(text));
    };
    let known = format!("{host}/org/hello:1.2");
    check(&["run", "call"], 0, &["hello from before"]);
    check(&["steps", "run", &known], 0, &["hello from before"]);
    let absent = [
        "is not in the cache of functions",
        "fetch it once without `--offline`",
    ];
    let unknown = format!("{host}/org/hello:9");
    check(&["run", "other"], 1, &absent);
    check(&["steps", "run", &unknown], 1, &absent);
    check(&["run", "publish"], 1, &["nothing is published"]);
}

#[test]
fn unreadable_login_is_reported_once_and_public_functions_are_fetched() {
    let registry = Registry::start();
    let project = Project::with_pipeline(&KEPT.replace("HOST", &registry.host));
    let hello = "spec:\n---\nexec: {command: [echo, hello from the public]}\n";
    project.write("hello.yml", hello);
    project.write("docker/config.json", "{hunter2");
    project.commit();
    open_to_this_machine(&project);
    project.runwright(&["run", "publish"]).expect_code(0);
    let mut command = project.command(&["run", "call"]);
    command.env("DOCKER_CONFIG", project.dir().join("docker"));
    let done = Done::from(command.output().unwrap()).expect_code(0);
    let done = done.expect_text("hello from the public");
    let printed = done.all();
    let lines = printed.matches("docker/config.json are not used");
    assert_eq!(lines.count(), 1, "{printed}");
    assert!(!printed.contains("hunter2"), "{printed}");
}

/// Allows functions from registries of this machine.
fn open_to_this_machine(project: &Project) {
    std::fs::create_dir_all(project.home()).unwrap();
    let open = "[include]\nallow-http = [\"127.0.0.1\"]\nallow-private = [\"127.0.0.1\"]\n";
    std::fs::write(project.home().join("config.toml"), open).unwrap();
}

/// Builds an image of functions, publishes it and calls its functions.
const FROM_AN_IMAGE: &str = r#"
run:
  - name: build
    func: builtin://function/oci/build
    inputs:
      version: 1.2.3
      common: {files: {func.yml: hello/func.yml, hello: hello/hello}}
      platforms: {linux/amd64: {files: {}}}
  - name: publish
    func: builtin://function/oci/publish
    inputs: {archive: "${{ steps.build.outputs.archive }}", to_repository: HOST/org/hello}
  - {name: short, func: "HOST/org/hello:1.2", inputs: {who: you}}
  - name: long
    func: {oci: {registry: HOST, repository: org/hello, tag: latest}}
    inputs: {who: "${{ steps.short.outputs.text }}"}
  - {name: missing, func: "HOST/org/hello:9", inputs: {who: you}}
"#;

#[test]
fn functions_of_an_image_are_built_published_and_run_in_every_executor() {
    let function = "spec:\n  inputs: {who: {type: string}}\n  outputs: {text: {type: string}}\n---\n\
                    exec: {command: [sh, '${{ func_dir }}/hello', '${{ inputs.who }}', '${{ output_file }}']}\n";
    let hello = "echo \"hello $1\"; echo \"{\\\"name\\\":\\\"text\\\",\\\"value\\\":\\\"<$1>\\\"}\" >>\"$2\"\n";
    let files = [("hello/func.yml", function), ("hello/hello", hello)];
    let logs = ["shell", "docker"].map(|executor| {
        let registry = Registry::start();
        let project = project(&FROM_AN_IMAGE.replace("HOST", &registry.host), &files);
        open_to_this_machine(&project);
        let (done, log) = run(&project, executor);
        assert_eq!(done.code, Some(1), "{executor}: {}", done.all());
        log.replace(&registry.host, "HOST")
    });
    let [on_this_machine, in_a_container] = &logs;
    assert_eq!(on_this_machine, in_a_container);
    for expect in [
        "\nhello you\n",
        "\nhello <you>\n",
        "ERROR: step \"missing\": ",
        "HOST/org/hello",
    ] {
        assert!(
            on_this_machine.contains(expect),
            "{expect}: {on_this_machine}"
        );
    }
}
