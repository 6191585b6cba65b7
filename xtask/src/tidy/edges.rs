//! The allowed imports between crates: the machine-readable copy of the table in `ARCHITECTURE.md`.
//!
//! Imports point downward only, and executors do not import each other. A new crate adds its row here and there.

use crate::tidy::Problem;
use crate::workspace::{Dependency, PREFIX, Package};

/// One crate and the workspace crates it may import.
#[derive(Debug)]
struct Row {
    name: &'static str,
    /// Allowed in any kind of dependency.
    imports: &'static [&'static str],
    /// Allowed in tests only, in addition to the crates of [`TESTS_MAY`].
    tests_import: &'static [&'static str],
}

/// The crates that the tests of every crate above may use.
const TESTS_MAY: [&str; 1] = ["executor-testkit"];

const TABLE: &[Row] = &[
    // 0: the contract.
    Row {
        name: "executor-core",
        imports: &[],
        tests_import: &[],
    },
    // Also 0: a macro that expands to nothing except in some test builds.
    Row {
        name: "fail-point",
        imports: &[],
        tests_import: &[],
    },
    // 1: log and processes, which know at most the contract's data.
    Row {
        name: "process",
        imports: &["executor-core", "fail-point"],
        tests_import: &[],
    },
    Row {
        name: "trace",
        imports: &["executor-core", "fail-point"],
        tests_import: &[],
    },
    // Also 1: the user's git, and repositories of this machine.
    Row {
        name: "git",
        imports: &["executor-core", "process"],
        tests_import: &[],
    },
    // Also 1: HTTP for all callers.
    Row {
        name: "web",
        imports: &["executor-core"],
        tests_import: &["gitlab-testkit"],
    },
    // Also 1: names and credentials of registries, and a client for them.
    Row {
        name: "registry",
        imports: &["executor-core", "process", "web"],
        tests_import: &[],
    },
    // Also 1: stored files, in archives and by content.
    Row {
        name: "archive",
        imports: &["executor-core", "fail-point", "process"],
        tests_import: &[],
    },
    Row {
        name: "content-store",
        imports: &["executor-core", "fail-point", "process"],
        tests_import: &[],
    },
    // Also 1: the text of a pipeline, before it is parsed as one.
    Row {
        name: "yaml",
        imports: &[],
        tests_import: &[],
    },
    // 2: script text, and the suite for authors of executors.
    Row {
        name: "shells",
        imports: &["executor-core"],
        tests_import: &[],
    },
    Row {
        name: "executor-testkit",
        imports: &["executor-core", "trace"],
        tests_import: &[],
    },
    // Also 2: a GitLab as its users see it, and one for tests.
    Row {
        name: "gitlab-api",
        imports: &["executor-core", "web"],
        tests_import: &["gitlab-testkit"],
    },
    Row {
        name: "gitlab-testkit",
        imports: &[],
        tests_import: &[],
    },
    // Also 2: the service inside environments, its agent, and its client.
    Row {
        name: "steps",
        imports: &["executor-core", "fail-point", "process", "trace"],
        tests_import: &[],
    },
    // 3: the lifecycle of a job, the pipeline, the executors. They do not import each other.
    Row {
        name: "job-runner",
        imports: &[
            "archive",
            "content-store",
            "executor-core",
            "fail-point",
            "git",
            "process",
            "shells",
            "trace",
            "web",
        ],
        tests_import: &["executor-shell"],
    },
    // Starts no process and does not know the job runner: it calls the port of the contract.
    Row {
        name: "pipeline",
        imports: &["executor-core", "trace", "yaml"],
        tests_import: &["pipeline-insight", "vectors"],
    },
    // Also 3: running a plan, and answering questions about one.
    Row {
        name: "scheduler",
        imports: &["executor-core", "pipeline", "trace", "yaml"],
        tests_import: &["pipeline-insight"],
    },
    Row {
        name: "pipeline-insight",
        imports: &["executor-core", "pipeline", "scheduler", "yaml"],
        tests_import: &[],
    },
    Row {
        name: "executor-shell",
        imports: &[
            "executor-core",
            "fail-point",
            "process",
            "shells",
            "steps",
            "trace",
        ],
        tests_import: &[],
    },
    Row {
        name: "executor-custom",
        imports: &["executor-core", "fail-point", "process", "shells"],
        tests_import: &["job-runner"],
    },
    Row {
        name: "executor-docker",
        imports: &[
            "executor-core",
            "fail-point",
            "process",
            "registry",
            "shells",
            "steps",
            "trace",
        ],
        tests_import: &["content-store", "executor-machine", "job-runner"],
    },
    Row {
        name: "executor-ssh",
        imports: &["executor-core", "fail-point", "process", "shells", "steps"],
        tests_import: &[],
    },
    Row {
        name: "executor-driver",
        imports: &["executor-core", "process"],
        tests_import: &[],
    },
    Row {
        name: "executor-kubernetes",
        imports: &["executor-core", "process", "shells", "steps", "yaml"],
        tests_import: &[],
    },
    Row {
        name: "executor-machine",
        imports: &["executor-core", "process"],
        tests_import: &[],
    },
    // For authors of drivers, which are programs of their own and import no executor.
    Row {
        name: "driver-toolkit",
        imports: &[],
        tests_import: &[],
    },
    Row {
        name: "vm-driver",
        imports: &["driver-toolkit"],
        tests_import: &["executor-core", "executor-custom", "executor-driver"],
    },
    // Functions from outside the environment: implements a port of the step-runner.
    Row {
        name: "step-library",
        imports: &[
            "archive",
            "executor-core",
            "fail-point",
            "git",
            "process",
            "registry",
            "steps",
            "web",
        ],
        tests_import: &["gitlab-testkit"],
    },
    // Wraps any executor and knows none; its tests put layers around a real executor, below a real runner.
    Row {
        name: "executor-layers",
        imports: &["executor-core"],
        tests_import: &["executor-shell", "job-runner", "process"],
    },
    // 4: implements the pipeline's port for remote included files.
    Row {
        name: "includes",
        imports: &[
            "executor-core",
            "fail-point",
            "git",
            "gitlab-api",
            "pipeline",
            "process",
            "web",
            "yaml",
        ],
        tests_import: &["gitlab-testkit"],
    },
    // 5: runs on a developer's machine.
    Row {
        name: "workstation",
        imports: &[
            "archive",
            "content-store",
            "executor-core",
            "executor-shell",
            "fail-point",
            "git",
            "gitlab-api",
            "includes",
            "job-runner",
            "pipeline",
            "pipeline-insight",
            "process",
            "registry",
            "scheduler",
            "step-library",
            "steps",
            "trace",
            "web",
            "yaml",
        ],
        tests_import: &["gitlab-testkit"],
    },
    // 6: the facade, with a feature for each executor.
    Row {
        name: "runwright",
        imports: &[
            "executor-core",
            "executor-custom",
            "executor-docker",
            "executor-driver",
            "executor-kubernetes",
            "executor-layers",
            "executor-machine",
            "executor-shell",
            "executor-ssh",
            "pipeline",
            "scheduler",
            "workstation",
        ],
        tests_import: &[],
    },
    // Also 6: the display of a run.
    Row {
        name: "console",
        imports: &[
            "executor-core",
            "pipeline",
            "pipeline-insight",
            "scheduler",
            "trace",
            "workstation",
            "yaml",
        ],
        tests_import: &[],
    },
    // 4: takes jobs from a GitLab, and knows no executor.
    Row {
        name: "runner",
        imports: &[
            "archive",
            "executor-core",
            "fail-point",
            "gitlab-api",
            "job-runner",
            "process",
            "web",
            "yaml",
        ],
        tests_import: &["executor-shell", "gitlab-testkit"],
    },
    // 7: assembly, the only crates besides the facade that name executors.
    Row {
        name: "cli",
        imports: BELOW_ASSEMBLY,
        tests_import: &["gitlab-testkit"],
    },
    Row {
        name: "examples",
        imports: ASSEMBLY,
        tests_import: &["gitlab-testkit"],
    },
    Row {
        name: "local-pipeline",
        imports: &["console", "process", "runwright"],
        tests_import: &[],
    },
    Row {
        name: "benches",
        imports: ASSEMBLY,
        tests_import: &["executor-docker", "gitlab-testkit"],
    },
    // Outside the layers.
    Row {
        name: "fuzz",
        imports: &["pipeline", "yaml"],
        tests_import: &[],
    },
    Row {
        name: "vectors",
        imports: &["executor-core", "pipeline", "scheduler", "yaml"],
        tests_import: &[],
    },
    Row {
        name: "settings-docs",
        imports: &["workstation"],
        tests_import: &[],
    },
    Row {
        name: "xtask",
        imports: &[],
        tests_import: &[],
    },
];

const BELOW_ASSEMBLY: &[&str] = &[
    "console",
    "executor-core",
    "executor-custom",
    "executor-docker",
    "executor-driver",
    "executor-kubernetes",
    "executor-layers",
    "executor-machine",
    "executor-shell",
    "executor-ssh",
    // `driver check` runs the suite.
    "executor-testkit",
    "fail-point",
    "includes",
    "pipeline",
    "pipeline-insight",
    "runner",
    "scheduler",
    "workstation",
    "yaml",
];

/// Examples and benches also run the binary.
const ASSEMBLY: &[&str] = &[
    "archive",
    "cli",
    "console",
    "content-store",
    "executor-core",
    "executor-custom",
    "executor-docker",
    "executor-driver",
    "executor-kubernetes",
    "executor-layers",
    "executor-machine",
    "executor-shell",
    "executor-ssh",
    "job-runner",
    "pipeline",
    "pipeline-insight",
    "process",
    "runwright",
    "scheduler",
    "shells",
    "steps",
    "trace",
    "workstation",
    "yaml",
];

/// Checks every dependency between crates of the workspace against the table.
pub(crate) fn check(packages: &[Package]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in packages {
        let Some(row) = TABLE.iter().find(|row| row.name == package.folder_name()) else {
            problems.push(problem(
                package,
                "is not in the table of edges; add its row".to_owned(),
            ));
            continue;
        };
        for dependency in package
            .dependencies
            .iter()
            .filter(|dependency| dependency.path.is_some())
        {
            if !is_allowed(row, dependency) {
                let kind = dependency
                    .kind
                    .as_deref()
                    .map_or(String::new(), |kind| format!(" in its {kind}-dependencies"));
                problems.push(problem(
                    package,
                    format!(
                        "must not import `{}`{kind}",
                        dependency.folder().unwrap_or(&dependency.name)
                    ),
                ));
            }
        }
        let expected = registry_name(package);
        if package.name != expected {
            problems.push(problem(
                package,
                format!("is named `{}`; expected `{expected}`", package.name),
            ));
        }
    }
    let gone = TABLE.iter().filter(|row| {
        packages
            .iter()
            .all(|package| package.folder_name() != row.name)
    });
    problems.extend(gone.map(|row| {
        Problem::in_file(
            row.name,
            "is in the table of edges, but not in the workspace",
        )
    }));
    problems
}

fn is_allowed(row: &Row, dependency: &Dependency) -> bool {
    let name = dependency.folder().unwrap_or(&dependency.name);
    let in_tests = dependency.kind.as_deref() == Some("dev");
    row.imports.contains(&name)
        || (in_tests && (TESTS_MAY.contains(&name) || row.tests_import.contains(&name)))
}

fn problem(package: &Package, message: String) -> Problem {
    Problem::in_file(package.folder_name(), message)
}

/// Returns the required name of a package: its folder, with a prefix if it is published.
fn registry_name(package: &Package) -> String {
    let folder = package.folder_name();
    let is_crate = package
        .folder()
        .parent()
        .is_some_and(|it| it.ends_with("crates"));
    let prefix = if is_crate && folder != "runwright" {
        PREFIX
    } else {
        ""
    };
    format!("{prefix}{folder}")
}

#[cfg(test)]
mod tests;
