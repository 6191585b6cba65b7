use super::Files;
use serde_json::Value;
use std::fmt::Write as _;

/// The scripts of a package that get a job, with the stage of each.
const SCRIPTS: [(&str, &str); 4] = [
    ("lint", "check"),
    ("typecheck", "check"),
    ("build", "build"),
    ("test", "test"),
];

/// Part of the script that `npm init` writes for a package without tests.
const NO_TEST: &str = "no test specified";

/// How to install the packages of a project.
struct Manager {
    lock: &'static str,
    install: &'static str,
    run: &'static str,
}

const MANAGERS: [Manager; 3] = [
    Manager {
        lock: "package-lock.json",
        install: "npm ci",
        run: "npm run",
    },
    Manager {
        lock: "pnpm-lock.yaml",
        install: "pnpm install --frozen-lockfile",
        run: "pnpm run",
    },
    Manager {
        lock: "yarn.lock",
        install: "yarn install --frozen-lockfile",
        run: "yarn run",
    },
];

/// The manager of a project without a lock file.
const UNLOCKED: Manager = Manager {
    lock: "package.json",
    install: "npm install --no-audit --no-fund",
    run: "npm run",
};

/// Writes a pipeline of the scripts in `package.json`.
pub(super) fn pipeline(files: &(impl Files + ?Sized)) -> String {
    let manager = MANAGERS.iter().find(|manager| files.has(manager.lock));
    let manager = manager.unwrap_or(&UNLOCKED);
    let package = files.text("package.json").unwrap_or_default();
    let package: Value = serde_json::from_str(&package).unwrap_or_default();
    let has = |script: &str| {
        let command = package["scripts"][script].as_str();
        command.is_some_and(|command| !command.contains(NO_TEST))
    };
    let jobs: Vec<_> = SCRIPTS.iter().filter(|(script, _)| has(script)).collect();
    let mut text = format!(
        "\
stages: [check, build, test]

default:
  # Where jobs run in containers, they need an image:
  # image: node:lts
  cache:
    key:
      files: [{}]
    paths: [node_modules/]
  before_script:
    - {}
",
        manager.lock, manager.install
    );
    if jobs.is_empty() {
        // A job that only installs the packages still checks that they can be installed.
        text.push_str("\ninstall:\n  stage: build\n  script:\n    - node --version\n");
    }
    for (script, stage) in jobs {
        let run = manager.run;
        let _ = write!(
            text,
            "\n{script}:\n  stage: {stage}\n  script:\n    - {run} {script}\n"
        );
    }
    text
}
