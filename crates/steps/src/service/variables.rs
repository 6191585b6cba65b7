//! The variables of a job.

use process::make_private_dir_all;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{OpenOptions, remove_file};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use executor_core::variable::{JobVariable, JobVariables, LONGEST_VALUE, expand_within};
use tonic::Status;
use trace::MaskRules;

use crate::language::Value;
use crate::wire::v1::Variable;

/// A variable whose value is written to a file.
struct FileContent {
    path: PathBuf,
    content: Vec<u8>,
}

/// The variables of a job, ready for its steps.
pub(crate) struct Expanded {
    /// The environment of the steps.
    pub(crate) env: Vec<(OsString, OsString)>,
    files: Vec<FileContent>,
    masked: Vec<Vec<u8>>,
}

impl Expanded {
    /// Replaces file variables by their paths, and expands variables that are not raw.
    ///
    /// References are resolved among the variables of the job first, then by `outer`, the environment.
    pub(crate) fn new(
        variables: Vec<Variable>,
        temp_dir: &Path,
        outer: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Status> {
        let mut known = JobVariables::new();
        let mut files = Vec::new();
        let mut masked = Vec::new();
        for variable in variables {
            check(&variable)?;
            let Variable {
                key,
                value,
                file,
                raw,
                content,
                ..
            } = variable;
            if variable.masked {
                masked.push(if content.is_empty() {
                    value.clone().into_bytes()
                } else {
                    content.clone()
                });
            }
            let mut known_variable = JobVariable {
                raw,
                masked: variable.masked,
                ..JobVariable::public(key, value)
            };
            if file {
                let path = temp_dir.join(&known_variable.key);
                let value = std::mem::take(&mut known_variable.value);
                known_variable.value = path.display().to_string();
                known_variable.raw = true;
                let content = if content.is_empty() {
                    value.into_bytes()
                } else {
                    content
                };
                files.retain(|old: &FileContent| old.path != path);
                files.push(FileContent { path, content });
            }
            known.push(known_variable);
        }
        let look_up = |name: &str| match known.get(name) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => outer(name).map(Cow::Owned),
        };
        let mut env = Vec::with_capacity(known.len());
        for variable in &known {
            let value = match expand_within(LONGEST_VALUE, &variable.value, look_up) {
                Ok(value) if !variable.raw => value.into_owned(),
                _ => variable.value.clone(),
            };
            if variable.masked && value != variable.value {
                masked.push(value.clone().into_bytes());
            }
            env.push((variable.key.clone().into(), value.into()));
        }
        Ok(Self { env, files, masked })
    }

    /// Returns the variables for expressions. Masked ones are not `sensitive` values: most functions take tokens by inputs
    /// that are not marked so, and would refuse them. They are masked wherever they are shown.
    pub(crate) fn values(&self) -> BTreeMap<String, Value> {
        let values = self.env.iter().map(|(key, value)| {
            let value = Value::text(value.to_string_lossy());
            (key.to_string_lossy().into_owned(), value)
        });
        values.collect()
    }

    /// Adds the masked values to the rules.
    pub(crate) fn mask(&self, rules: MaskRules) -> MaskRules {
        rules.secrets(&self.masked)
    }

    /// Returns the paths of the files.
    pub(crate) fn file_paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Writes the files for the owner alone. A missing directory is created.
    pub(crate) fn write_files(&self, temp_dir: &Path) -> io::Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        make_private_dir_all(temp_dir)?;
        self.files.iter().try_for_each(FileContent::write)
    }
}

impl FileContent {
    fn write(&self) -> io::Result<()> {
        // An earlier job could have left a link to another file.
        match remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(&self.path)?.write_all(&self.content)
    }
}

/// Refuses names and values that an environment or a directory cannot hold. Messages contain no values.
fn check(variable: &Variable) -> Result<(), Status> {
    let key = &variable.key;
    let refuse = |what: &str| {
        let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
        Err(Status::invalid_argument(format!("variable `{key}` {what}")))
    };
    if key.is_empty() || key.contains(['=', '\0']) {
        return refuse("has a name that no environment can hold");
    }
    if variable.file && (key.contains('/') || key == "." || key == ".." || key.len() > 255) {
        return refuse("has a name that no file can have");
    }
    if !variable.file && variable.value.contains('\0') {
        return refuse("contains a NUL byte");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(key: &str, value: &str) -> Variable {
        Variable {
            key: key.to_owned(),
            value: value.to_owned(),
            ..Variable::default()
        }
    }

    fn expand(variables: Vec<Variable>) -> Expanded {
        let outer = |name: &str| (name == "HOME").then(|| "/home-of-test".to_owned());
        Expanded::new(variables, Path::new("/t"), outer).unwrap()
    }

    fn words(expanded: &Expanded) -> String {
        let pairs = expanded.env.iter();
        let pairs = pairs.map(|(key, value)| format!("{}={}", key.display(), value.display()));
        pairs.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_are_expanded_with_the_visible_environment() {
        // R-STEP-33
        let check =
            |variables: Vec<Variable>, expect: &str| assert_eq!(words(&expand(variables)), expect);
        check(vec![variable("A", "$HOME/x")], "A=/home-of-test/x");
        check(vec![variable("A", "${NONE}x$$")], "A=x$");
        check(
            vec![variable("HOME", "/own"), variable("A", "$HOME")],
            "HOME=/own A=/own",
        );
        check(vec![variable("A", "1"), variable("A", "2")], "A=2");
        let raw = Variable {
            raw: true,
            ..variable("A", "$HOME $$")
        };
        check(vec![raw], "A=$HOME $$");
        let file = Variable {
            file: true,
            ..variable("F", "$HOME")
        };
        check(vec![file, variable("A", "<$F>")], "F=/t/F A=</t/F>");
    }

    #[test]
    fn masked_values_are_masked_raw_and_expanded() {
        let secret = Variable {
            masked: true,
            ..variable("A", "$HOME-secret")
        };
        let set = expand(vec![secret]).mask(MaskRules::new()).compile();
        let mut masker = trace::Masker::new(set);
        let mut out = Vec::new();
        masker.feed(b"a /home-of-test-secret b $HOME-secret c\n", &mut out);
        masker.finish(&mut out);
        assert_eq!(out, b"a [MASKED] b [MASKED] c\n");
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        let check = |key: &str, file: bool, value: &str| {
            let variable = Variable {
                file,
                ..variable(key, value)
            };
            let error = Expanded::new(vec![variable], Path::new("/t"), |_| None).err();
            let error = error.expect("it is refused");
            assert_eq!(error.code(), tonic::Code::InvalidArgument);
            assert!(!error.message().contains("hunter2"));
        };
        check("", false, "hunter2");
        check("A=B", false, "hunter2");
        check("A\0", false, "hunter2");
        check("A", false, "hunter2\0");
        check("../x", true, "hunter2");
        check("..", true, "hunter2");
    }

    #[test]
    fn file_replaces_a_link_and_is_private() {
        use std::os::unix::fs::{MetadataExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "kept").unwrap();
        let temp_dir = folder.path().join("build.tmp");
        std::fs::create_dir(&temp_dir).unwrap();
        symlink(&elsewhere, temp_dir.join("F")).unwrap();
        let file = Variable {
            file: true,
            ..variable("F", "secret")
        };
        let expanded = Expanded::new(vec![file], &temp_dir, |_| None).unwrap();
        expanded.write_files(&temp_dir).unwrap();
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "kept");
        let written = temp_dir.join("F");
        assert_eq!(std::fs::read_to_string(&written).unwrap(), "secret");
        assert_eq!(written.symlink_metadata().unwrap().mode() & 0o777, 0o600);
    }
}
