//! `runwright simulate machines`: settings of both dialects, and what is wrong with files.

use crate::project::Project;
use serde_json::Value;

const TRACE: &str = "\
id,name,created_at,duration
1,\"test: [ruby, 3]\",2026-11-27T08:00:00Z,240
2,lint,2026-11-27T08:00:10Z,360
3,lint,2026-11-27T08:20:00Z,600
4,lint,2026-11-27T08:21:00Z,120
5,lint,2026-11-27T08:22:00Z,
";

const MACHINE: &str = "\
concurrent = 10
[[runners]]
  name = \"plain\"
  executor = \"shell\"
[[runners]]
  name = \"fleet\"
  limit = 10
  executor = \"docker+machine\"
  [runners.machine]
    IdleCount = 1
    IdleTime = 1800
    MaxBuilds = 100
    MachineName = \"fleet-%s\"
    MachineDriver = \"google\"
";

fn project(trace: &str, config: &str) -> Project {
    let project = Project::empty_directory();
    project.write("jobs.csv", trace);
    project.write("config.toml", config);
    project
}

const COMMAND: [&str; 6] = [
    "simulate",
    "machines",
    "--trace",
    "jobs.csv",
    "--config",
    "config.toml",
];

#[test]
fn jobs_wait_and_machines_cost() {
    let project = project(TRACE, MACHINE);
    let args = [&COMMAND[..], &["--boot", "90", "--plot", "fleet.svg"]].concat();
    let text = project.runwright(&args).expect_code(0).stdout;
    let expected = "\
jobs      4
waits     median 1m 30s, 90% 2m 50s, 99% 2m 50s, longest 2m 50s
machines  3 created, at most 3 at once
time      1.4 machine hours, 0.4 job hours (0.26 jobs for each machine)
";
    assert_eq!(text, expected);
    let plot = std::fs::read_to_string(project.dir().join("fleet.svg")).unwrap();
    assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"));
    let args = [&COMMAND[..], &["--json"]].concat();
    let report = project.runwright(&args).expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["jobs"], &report["job_seconds"]),
        (&Value::from(4), &Value::from(1320.0))
    );
}

#[test]
fn autoscaler_is_read_too() {
    let config = "\
[[runners]]
  name = \"fleet\"
  [runners.autoscaler]
    plugin = \"aws\"
    capacity_per_instance = 4
    max_instances = 1
    [runners.autoscaler.plugin_config]
      name = \"group\"
    [[runners.autoscaler.policy]]
      idle_time = \"20m0s\"
";
    let report = project(TRACE, config).runwright(&[&COMMAND[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&report.expect_code(0).stdout).unwrap();
    assert_eq!(report["machines_created"], 1);
}

#[test]
fn faults_in_files_are_located() {
    let check = |trace: &str, config: &str, expected: &str| {
        let done = project(trace, config).runwright(&COMMAND).expect_code(2);
        assert!(done.all().contains(expected), "{expected}\n{}", done.all());
    };
    check(
        "created_at,duration\n2026-11-27T08:00:00Z,long\n",
        MACHINE,
        "jobs.csv:2: invalid `duration` \"long\"",
    );
    check(
        "created_at,duration\n2026-11-27T08:00:00Z,1e15\n",
        MACHINE,
        "jobs.csv:2: invalid `duration` \"1e15\"",
    );
    check(
        "created_at,duration\nmonday,1\n",
        MACHINE,
        "jobs.csv:2: invalid `created_at` \"monday\"",
    );
    check(
        "id,duration\n1,1\n",
        MACHINE,
        "jobs.csv:1: the header has no column `created_at`",
    );
    check(
        "created_at,duration\n",
        MACHINE,
        "jobs.csv has no job that ran",
    );
    check("", MACHINE, "jobs.csv is empty");
    check(
        TRACE,
        "[[runners]]\nname = \"x\"\n",
        "no [[runners]] in config.toml has [runners.machine]",
    );
    check(
        TRACE,
        "[[runners]\n",
        "config.toml:1:11: unclosed array table",
    );
    let typo = MACHINE.replace("IdleCount", "IdelCount");
    check(TRACE, &typo, "unknown field `IdelCount`");
    let period =
        format!("{MACHINE}    [[runners.machine.autoscaling]]\n      Periods = [\"* * *\"]\n");
    check(
        TRACE,
        &period,
        "[[runners]] \"fleet\": invalid period \"* * *\": it has 3 fields",
    );
    let two = format!(
        "{MACHINE}{}",
        MACHINE
            .replace("fleet", "other")
            .replace("concurrent = 10\n", "")
    );
    check(
        TRACE,
        &two,
        "there are \"fleet\" (docker+machine), \"other\" (docker+machine)",
    );
}
