use super::text::decode;
use executor_core::variable::JobVariable;
use std::fmt;

/// GitLab's limit for the size of a job's dotenv files, in bytes.
pub(super) const SIZE: usize = 5 << 10;
/// The largest number of variables.
const VARIABLES: usize = 20;
/// The longest name, in characters.
const LONGEST_KEY: usize = 255;

/// Reads dotenv files, given by name and content, by GitLab's rules.
///
/// A line is `NAME=value`. The first `=` separates the parts, both are trimmed, and a later line overrides an
/// earlier one of the same name. Nothing else has a meaning: quotes are part of the value, and comments and empty
/// lines are errors. References to other variables are expanded where the variable is used.
///
/// # Errors
///
/// When GitLab would refuse the report.
///
/// # Examples
///
/// ```
/// let files = [("build.env", b"VERSION=1.2\nNOTE = \"as it is\"".as_slice())];
/// let variables = job_runner::read_dotenv(files)?;
/// assert_eq!(variables[1].value, "\"as it is\"");
///
/// let files = [("build.env", b"VERSION=1.2\n\n".as_slice())];
/// let error = job_runner::read_dotenv(files).unwrap_err();
/// assert_eq!(error.to_string(), "Invalid Format (build.env, line 2)");
/// # Ok::<(), job_runner::DotenvError>(())
/// ```
pub fn read_dotenv<'f>(
    files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
) -> Result<Vec<JobVariable>, DotenvError> {
    let mut variables: Vec<JobVariable> = Vec::new();
    let mut size = 0;
    for (file, bytes) in files {
        let error = |line: Option<usize>, problem| DotenvError {
            file: file.to_owned(),
            line,
            problem,
        };
        size += bytes.len();
        if size >= SIZE {
            return Err(error(None, DotenvProblem::TooBig));
        }
        for (at, line) in decode(bytes).split_terminator('\n').enumerate() {
            let (key, value) = read_line(line).map_err(|problem| error(Some(at + 1), problem))?;
            if let Some(known) = variables.iter_mut().find(|known| known.key == key) {
                value.clone_into(&mut known.value);
                continue;
            }
            if variables.len() == VARIABLES {
                return Err(error(Some(at + 1), DotenvProblem::TooMany));
            }
            variables.push(JobVariable {
                key: key.to_owned(),
                value: value.to_owned(),
                ..JobVariable::default()
            });
        }
    }
    Ok(variables)
}

fn read_line(line: &str) -> Result<(&str, &str), DotenvProblem> {
    // White space as in Ruby.
    let strip = |text| str::trim_matches(text, [' ', '\t', '\n', '\x0b', '\x0c', '\r', '\0']);
    let (key, value) = line.split_once('=').ok_or(DotenvProblem::Format)?;
    let (key, value) = (strip(key), strip(value));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() {
        Err(DotenvProblem::BlankKey)
    } else if key.chars().count() > LONGEST_KEY {
        Err(DotenvProblem::LongKey)
    } else if !key.chars().all(is_word) {
        Err(DotenvProblem::Key)
    } else if value.contains('\0') {
        Err(DotenvProblem::Nul)
    } else {
        Ok((key, value))
    }
}

/// The reason why GitLab would refuse a dotenv report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DotenvError {
    /// The file.
    pub file: String,
    /// The line, from 1, if the problem is in one.
    pub line: Option<usize>,
    /// The problem.
    pub problem: DotenvProblem,
}

/// A problem of a dotenv report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DotenvProblem {
    /// All files together are too large.
    TooBig,
    /// There are too many variables.
    TooMany,
    /// A line has no `=`.
    Format,
    /// A name is empty.
    BlankKey,
    /// A name is too long.
    LongKey,
    /// A name has an invalid character.
    Key,
    /// A value has a NUL, which a process environment cannot have.
    Nul,
}

impl DotenvProblem {
    /// Returns advice for the user.
    pub fn help(self) -> &'static str {
        match self {
            Self::TooBig => "pass large data in a file, as an artifact",
            Self::TooMany => "pass several values in one variable, or a file as an artifact",
            Self::Format => {
                "write NAME=value in each line; empty lines and comments are not allowed"
            }
            Self::BlankKey | Self::LongKey | Self::Key => {
                "write NAME=value, without `export`, quotes or comments"
            }
            Self::Nul => "write text; for other data use a file as an artifact",
        }
    }
}

impl fmt::Display for DotenvProblem {
    /// Uses GitLab's messages, so that users find them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KEY: &str = "Key can contain only letters, digits and '_'.";
        match self {
            Self::TooBig => write!(f, "Dotenv Artifact Too Big. Maximum Allowable Size: {SIZE}"),
            Self::TooMany => write!(
                f,
                "Dotenv files cannot have more than {VARIABLES} variables"
            ),
            Self::Format => f.write_str("Invalid Format"),
            Self::BlankKey => write!(f, "Validation failed: Key can't be blank, {KEY}"),
            Self::LongKey => write!(
                f,
                "Validation failed: Key is too long (maximum is {LONGEST_KEY} characters)"
            ),
            Self::Key => write!(f, "Validation failed: {KEY}"),
            Self::Nul => f.write_str("Value has a NUL character"),
        }
    }
}

impl fmt::Display for DotenvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.problem, self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for DotenvError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(&str, &str)]) {
        let variables = read_dotenv([("build.env", text.as_bytes())]);
        let variables = variables.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let found: Vec<(&str, &str)> = variables
            .iter()
            .map(|variable| (&*variable.key, &*variable.value))
            .collect();
        assert_eq!(found, expect, "{text:?}");
    }

    fn check_refused(text: &str, expect: &str) {
        let error = read_dotenv([("build.env", text.as_bytes())]).expect_err(text);
        assert_eq!(error.to_string(), expect, "{text:?}");
        assert!(!error.problem.help().is_empty());
    }

    #[test]
    fn lines_are_names_and_values() {
        check("", &[]);
        check("A=1", &[("A", "1")]);
        check("A=1\nB=2\n", &[("A", "1"), ("B", "2")]);
        check("A=1\r\nB=2\r\n", &[("A", "1"), ("B", "2")]);
        check(" A \t= b c \u{b}\n", &[("A", "b c")]);
        check("A=", &[("A", "")]);
        check("A=b=c", &[("A", "b=c")]);
        check("A=\"b c\" # d", &[("A", "\"b c\" # d")]);
        check("A='$B'\nB=$A\\n", &[("A", "'$B'"), ("B", "$A\\n")]);
        check("1=x\n_=y", &[("1", "x"), ("_", "y")]);
        check("A=1\nB=2\nA=3", &[("A", "3"), ("B", "2")]);
        check("A=\u{fc}", &[("A", "\u{fc}")]);
        // GitLab takes any name, also one of its own.
        check("CI_JOB_TOKEN=x", &[("CI_JOB_TOKEN", "x")]);
    }

    #[test]
    fn refusals_have_gitlabs_messages() {
        let key = "Validation failed: Key can contain only letters, digits and '_'.";
        let of_line = |words: &str, line: usize| format!("{words} (build.env, line {line})");
        check_refused("A", &of_line("Invalid Format", 1));
        check_refused("A=1\n\nB=2", &of_line("Invalid Format", 2));
        check_refused("A=1\n# words\n", &of_line("Invalid Format", 2));
        check_refused("A=1\n \n", &of_line("Invalid Format", 2));
        check_refused("A=\"one\ntwo\"", &of_line("Invalid Format", 2));
        check_refused("export A=1", &of_line(key, 1));
        check_refused("# A=1", &of_line(key, 1));
        check_refused("A-B=1", &of_line(key, 1));
        check_refused("\u{c4}=1", &of_line(key, 1));
        let blank =
            "Validation failed: Key can't be blank, Key can contain only letters, digits and '_'.";
        check_refused("=1", &of_line(blank, 1));
        let long = "Validation failed: Key is too long (maximum is 255 characters)";
        check_refused(&format!("{}=1", "A".repeat(256)), &of_line(long, 1));
        check_refused("A=b\0c", &of_line("Value has a NUL character", 1));
    }

    #[test]
    fn limits_apply_to_all_files_together() {
        let lines = |count: usize| -> String {
            let lines = (0..count).map(|number| format!("V{number}=x\n"));
            lines.collect::<Vec<_>>().concat()
        };
        assert_eq!(
            read_dotenv([("a", lines(20).as_bytes())]).unwrap().len(),
            20
        );
        check_refused(
            &lines(21),
            "Dotenv files cannot have more than 20 variables (build.env, line 21)",
        );
        let (first, again) = (lines(20), lines(20));
        let files = [("a", first.as_bytes()), ("b", again.as_bytes())];
        assert_eq!(read_dotenv(files).unwrap().len(), 20);
        let files = [("a", first.as_bytes()), ("b", b"W=x".as_slice())];
        assert_eq!(
            read_dotenv(files).unwrap_err().to_string(),
            "Dotenv files cannot have more than 20 variables (b, line 1)"
        );

        let sized = |size: usize| format!("A={}", "x".repeat(size - 2));
        assert!(read_dotenv([("a", sized(5119).as_bytes())]).is_ok());
        let too_big = "Dotenv Artifact Too Big. Maximum Allowable Size: 5120 (build.env)";
        check_refused(&sized(5120), too_big);
        check_refused(&sized(5 << 20), too_big);
        let (first, second) = (sized(5000), sized(120));
        let files = [("a", first.as_bytes()), ("b", second.as_bytes())];
        assert_eq!(
            read_dotenv(files).unwrap_err().problem,
            DotenvProblem::TooBig
        );
    }

    #[test]
    fn values_are_expanded_later_and_not_shown_in_traces() {
        let variables = read_dotenv([("a", b"A=$B".as_slice())]).unwrap();
        assert!(!variables[0].raw && !variables[0].masked && !variables[0].public);
        assert!(!format!("{variables:?}").contains("$B"));
    }
}
