//! Jobs on machines of a fleet, and `runwright machines`.

use crate::docker::{docker, socket};
use crate::project::{Done, Project};
use crate::registry::Registry;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const PIPELINE: &str = "\
default: {image: runwright-test/busybox:1}
build:
  script: [echo made > product]
  artifacts: {paths: [product]}
check:
  needs: [build]
  script: [cat product]
";

const FLEET: &str = "\
[[runners]]
  name = \"fleet\"
  limit = 2
  executor = \"docker+machine\"
  [runners.machine]
    MachineName = \"fleet-%s\"
    MachineDriver = \"none\"
";

/// A `docker-machine` whose machines are all the engine of the tests, and which has its list and its calls in files.
const DOCKER_MACHINE: &str = "\
#!/bin/sh
cd \"$(dirname \"$0\")\" || exit
echo \"$*\" >> calls
case $1 in
    ls) cat list 2>/dev/null || : ;;
    create) for name; do :; done; echo \"$name\" >> list ;;
    config) echo '-H=ENGINE' ;;
    rm) grep -vx \"$3\" list > rest; mv rest list ;;
esac
";

/// A source of machines that has none.
const PLUGIN: &str = "\
#!/bin/sh
case $(cat) in
    *'\"list\"'*) echo '{\"machines\": []}' ;;
    *'\"create\"'*) echo '{\"error\": \"the quota is used up\"}' ;;
    *) echo '{}' ;;
esac
";

/// Each job has an engine of its own, of which there are two at most.
const ENGINES: &str = "\
[[runners]]
  executor = \"docker-autoscaler\"
  [runners.autoscaler]
    plugin = \"local-engine\"
    max_instances = 2
    max_use_count = 1
  [runners.autoscaler.plugin_config]
    directory = \"DIRECTORY\"
";

const ON_ENGINES: &str = "\
default: {image: IMAGE}
stages: [build, test, end]
build:
  stage: build
  script: [mkdir out, echo made > out/product, echo N=7 > n.env]
  artifacts: {paths: [out], reports: {dotenv: n.env}}
.use: &use
  stage: test
  services:
    - {name: IMAGE, alias: web, command: [sh, -c, 'echo served > /index.html; httpd -f -p 80 -h /']}
  variables: {FROM: $CI_JOB_NAME}
  script: [cat out/product, 'echo $FROM $N $(wget -q -O - http://web)']
left: *use
right: *use
fails:
  stage: end
  script: [exit 3]
  after_script: [echo after $CI_JOB_STATUS]
  allow_failure: {exit_codes: 3}
";

/// A project with a fleet in its user's settings.
struct Fleet {
    project: Project,
}

impl Fleet {
    fn new(settings: &str) -> Self {
        Self::with_pipeline(settings, PIPELINE)
    }

    fn with_pipeline(settings: &str, pipeline: &str) -> Self {
        let project = Project::with_pipeline(pipeline);
        fs::create_dir_all(project.home()).unwrap();
        let at = |name: &str| project.home().join(name);
        fs::write(at("config.toml"), "[machines]\nconfig = \"fleet.toml\"\n").unwrap();
        fs::write(at("fleet.toml"), settings).unwrap();
        let programs = [
            (
                "docker-machine",
                DOCKER_MACHINE.replace("ENGINE", &socket()),
            ),
            ("plugin", PLUGIN.to_owned()),
        ];
        for (name, program) in programs {
            fs::write(at(name), program).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { project }
    }

    fn runwright(&self, arguments: &[&str]) -> Done {
        let path = std::env::var("PATH").unwrap();
        let home = self.project.home();
        let mut command = self.project.command(arguments);
        command.env("PATH", format!("{}:{path}", home.display()));
        // A job that does not use its machine finds no engine.
        command.env("DOCKER_HOST", "tcp://127.0.0.1:1");
        command.output().unwrap().into()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project.home().join(name)).unwrap_or_default()
    }
}

#[test]
fn jobs_run_on_machines_that_are_gone_afterwards() {
    // R-EXEC-72, R-EXEC-73, R-EXEC-96
    let fleet = Fleet::new(FLEET);
    let done = fleet.runwright(&["run", "--executor", "docker+machine"]);
    let done = done.expect_code(0);
    assert!(done.stdout.contains("check | made"), "{}", done.stdout);
    let log = fleet.runwright(&["logs", "build"]).expect_code(0).stdout;
    assert!(log.contains("Using machine fleet-"), "{log}");
    assert_eq!(fleet.read("list"), "");
    let calls = fleet.read("calls");
    assert!(calls.contains("create --driver none fleet-"), "{calls}");
    assert!(calls.contains("rm -y fleet-"), "{calls}");
    let none = fleet.runwright(&["machines"]).expect_code(0).stdout;
    assert_eq!(none, "there are no machines fleet-*\n");
}

/// Each job has an engine of its own, with what it uses there, and nothing of the engines is left.
#[test]
fn jobs_with_services_and_artifacts_run_on_engines() {
    let registry = Registry::start();
    let image = format!("{}/busybox:1", registry.host);
    docker(&["tag", "runwright-test/busybox:1", &image]);
    docker(&["push", "-q", &image]);
    docker(&["rmi", &image]);
    // The paths of sockets are short.
    let directory = tempfile::tempdir().unwrap();
    let settings = ENGINES.replace("DIRECTORY", directory.path().to_str().unwrap());
    let fleet = Fleet::with_pipeline(&settings, &ON_ENGINES.replace("IMAGE", &image));
    let done = fleet.runwright(&["run", "--executor", "docker-autoscaler"]);
    let done = done.expect_code(0);
    let expected = [
        "left  | made",
        "left  | left 7 served",
        "right | right 7 served",
        "fails | after failed",
    ];
    let done = expected
        .iter()
        .fold(done, |done, text| done.expect_text(text));
    let mut machines = BTreeSet::new();
    for job in ["build", "left", "right", "fails"] {
        let log = fleet.runwright(&["logs", job]).expect_code(0).stdout;
        let line = log.lines().find(|line| line.contains("Using machine "));
        machines.insert(line.unwrap_or_else(|| panic!("{done:?}")).to_owned());
    }
    assert_eq!(machines.len(), 4, "{machines:?}");
    let left = fs::read_dir(directory.path()).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn machines_are_listed_and_removed() {
    let fleet = Fleet::new(FLEET);
    let name = "fleet-1795831611-9d8ff56e";
    fs::write(
        fleet.project.home().join("list"),
        format!("{name}\nother\n"),
    )
    .unwrap();
    let shown = fleet.runwright(&["machines"]).expect_code(0).stdout;
    let explanation = "no run has noted it; the next one takes it over";
    assert!(
        shown.contains(name) && shown.contains(explanation),
        "{shown}"
    );
    assert!(!shown.contains("other"), "{shown}");
    let shown = fleet
        .runwright(&["machines", "--json"])
        .expect_code(0)
        .stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let expected = json!([{
        "name": name, "state": "unknown", "age": null, "jobs": null, "explanation": explanation
    }]);
    assert_eq!(shown, expected);
    let removed = fleet.runwright(&["machines", "--remove"]).expect_code(0);
    assert_eq!(removed.stdout, "removed 1 machine\n");
    assert_eq!(fleet.read("list"), "other\n");
}

#[test]
fn machine_that_cannot_be_created_fails_the_job() {
    // R-EXEC-87
    let autoscaler = "\
[[runners]]
  executor = \"docker-autoscaler\"
  [runners.autoscaler]
    plugin = \"./plugin\"
";
    let fleet = Fleet::new(autoscaler);
    let done = fleet.runwright(&["run", "--executor", "docker-autoscaler", "build"]);
    let done = done.expect_code(3);
    let words = "the quota is used up";
    assert!(
        format!("{}{}", done.stdout, done.stderr).contains(words),
        "{done:?}"
    );
}

#[test]
fn settings_of_machines_that_are_wrong() {
    let fleet = |text: &str| {
        format!("[[runners]]\nexecutor = \"docker-autoscaler\"\n[runners.autoscaler]\n{text}")
    };
    let cases = [
        ("", "no [[runners]] in"),
        (&fleet("plugin = \"./missing\""), "there is no program"),
        (&fleet("plugins = \"x\""), "unknown field `plugins`"),
        (&fleet(""), "plugin is missing"),
        (FLEET, "has `executor = \"docker-autoscaler\"`"),
    ];
    for (settings, expected) in cases {
        let fleet = Fleet::new(settings);
        let done = fleet.runwright(&["run", "--executor", "docker-autoscaler", "build"]);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert_ne!(done.code, Some(0), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    let fleet = Fleet::new(FLEET);
    fs::write(fleet.project.home().join("config.toml"), "").unwrap();
    let done = fleet.runwright(&["machines"]).expect_code(2);
    assert!(
        done.stderr.contains("write `config = \"fleet.toml\"`"),
        "{}",
        done.stderr
    );
}
