//! The variables of a job in the environment of its container.

use executor_core::BuildDirs;
use executor_core::variable::{JobVariable, JobVariables, MAX_ENVIRONMENT_ENTRY};

/// Returns the variables that an entry point finds in its environment, as `NAME=value`: all of the job, as in GitLab
/// Runner. A file variable holds the path of its file, which is written later.
///
/// A variable that no environment can hold is left out; the first stage reports it.
pub(crate) fn environment_of_job(variables: &JobVariables, dirs: &BuildDirs) -> Vec<String> {
    let literal = |key: &str, value: String| JobVariable {
        raw: true,
        ..JobVariable::public(key, value)
    };
    let mut all: JobVariables = variables
        .iter()
        .map(|variable| {
            if variable.file {
                let path = format!("{}/{}", dirs.temp_dir, variable.key);
                return literal(&variable.key, path);
            }
            variable.clone()
        })
        .collect();
    for (key, value) in [
        ("CI_BUILDS_DIR", &dirs.builds_dir),
        ("CI_PROJECT_DIR", &dirs.project_dir),
        ("RUNNER_TEMP_PROJECT_DIR", &dirs.temp_dir),
    ] {
        all.push(literal(key, value.clone()));
    }
    let all = all.expanded();
    let entries = all.iter().filter(|variable| {
        let JobVariable { key, value, .. } = variable;
        !key.is_empty() && !key.contains(['=', '\0']) && !value.contains('\0')
    });
    entries
        .map(|variable| format!("{}={}", variable.key, variable.value))
        .filter(|entry| entry.len() < MAX_ENVIRONMENT_ENTRY)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variables_are_expanded_and_files_are_paths() {
        let dirs = BuildDirs {
            builds_dir: "/builds".to_owned(),
            cache_dir: "/cache".to_owned(),
            project_dir: "/builds/p".to_owned(),
            temp_dir: "/builds/p.tmp".to_owned(),
            shared: false,
        };
        let variables: JobVariables = [
            JobVariable::masked("TOKEN", "secret"),
            JobVariable::file("KEY", "content $TOKEN"),
            JobVariable::public("ALL", "$TOKEN $KEY $CI_PROJECT_DIR $NONE"),
            JobVariable::public("CI_PROJECT_DIR", "elsewhere"),
            JobVariable::public("A=B", "x"),
            JobVariable::public("LONG", "x".repeat(MAX_ENVIRONMENT_ENTRY)),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            environment_of_job(&variables, &dirs),
            [
                "TOKEN=secret",
                "KEY=/builds/p.tmp/KEY",
                "ALL=secret /builds/p.tmp/KEY /builds/p ",
                "CI_PROJECT_DIR=/builds/p",
                "CI_BUILDS_DIR=/builds",
                "RUNNER_TEMP_PROJECT_DIR=/builds/p.tmp",
            ]
        );
    }
}
