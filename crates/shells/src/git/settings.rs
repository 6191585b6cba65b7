use executor_core::job::Job;
use executor_core::variable::JobVariables;
use std::fmt;

/// How the working tree is created (`GIT_STRATEGY`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GitStrategy {
    /// The tree of an earlier job is reused if there is one.
    #[default]
    Fetch,
    /// The tree is created anew.
    Clone,
    /// Nothing is changed.
    None,
    /// The tree is emptied and stays empty.
    Empty,
}

/// Which submodules are fetched (`GIT_SUBMODULE_STRATEGY`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SubmoduleStrategy {
    /// None of them.
    #[default]
    None,
    /// Those of the repository itself.
    Normal,
    /// Those, and their submodules.
    Recursive,
}

/// How files in Git LFS are fetched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LfsMode {
    /// The checkout skips them, and one `git lfs pull` fetches them all, which is faster.
    #[default]
    PullAfterCheckout,
    /// As the job sets it (`GIT_LFS_SKIP_SMUDGE` is set).
    JobSetting,
}

/// Settings for submodules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmoduleSettings {
    /// Which submodules are fetched.
    pub strategy: SubmoduleStrategy,
    /// The number of commits of each; 0 means all (`GIT_SUBMODULE_DEPTH`).
    pub depth: u32,
    /// The paths; empty means all (`GIT_SUBMODULE_PATHS`).
    pub paths: Vec<String>,
    /// Extra flags for `git submodule update` (`GIT_SUBMODULE_UPDATE_FLAGS`).
    pub update_flags: Vec<String>,
    /// Whether ssh URLs on the remote's host are replaced with https (`GIT_SUBMODULE_FORCE_HTTPS`).
    pub force_https: bool,
}

/// Settings for fetching the sources of a job.
///
/// # Examples
///
/// ```
/// use executor_core::variable::{JobVariable, JobVariables};
/// use shells::git::{GitDefaults, GitSettings, GitStrategy};
///
/// let variables: JobVariables = [
///     JobVariable::public("GIT_STRATEGY", "clone"),
///     JobVariable::public("GIT_DEPTH", "lots"),
/// ]
/// .into_iter()
/// .collect();
/// let (settings, warnings) = GitSettings::from_variables(&variables, GitDefaults::default());
/// assert_eq!(settings.strategy, GitStrategy::Clone);
/// assert_eq!(settings.depth, 0);
/// assert_eq!(warnings[0].to_string(), "GIT_DEPTH: \"lots\" is not a number of at least 0; using 0");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSettings {
    /// How the tree is created.
    pub strategy: GitStrategy,
    /// The number of commits; 0 means all (`GIT_DEPTH`, or the job's source).
    pub depth: u32,
    /// Whether the commit is checked out (`GIT_CHECKOUT`); if not, the tree stays at its commit.
    pub checkout: bool,
    /// Flags for `git clean`; `None` means that nothing is removed (`GIT_CLEAN_FLAGS`).
    pub clean_flags: Option<Vec<String>>,
    /// Extra flags for `git fetch` (`GIT_FETCH_EXTRA_FLAGS`).
    pub fetch_flags: Vec<String>,
    /// Flags for `git clone`; with any, the clone strategy uses that command
    /// (`GIT_CLONE_EXTRA_FLAGS`).
    pub clone_flags: Vec<String>,
    /// Settings for submodules.
    pub submodules: SubmoduleSettings,
    /// How LFS files are fetched.
    pub lfs: LfsMode,
    /// The working tree's path according to the job (`GIT_CLONE_PATH`); the caller must expand and
    /// check it, since that requires the builds directory.
    pub clone_path: Option<String>,
    /// Whether trees of other users are trusted; off by default. Containers need it if one user
    /// creates the tree and another uses it.
    pub safe_directory: bool,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            strategy: GitStrategy::default(),
            depth: 0,
            checkout: true,
            clean_flags: Some(words(CLEAN_FLAGS)),
            fetch_flags: words(FETCH_FLAGS),
            clone_flags: Vec::new(),
            submodules: SubmoduleSettings::default(),
            lfs: LfsMode::default(),
            clone_path: None,
            safe_directory: false,
        }
    }
}

const CLEAN_FLAGS: &str = "-ffdx";
const FETCH_FLAGS: &str = "--prune --quiet";
/// Git reads depths as signed 32-bit numbers.
const MAX_DEPTH: u32 = i32::MAX.unsigned_abs();

/// The settings used if a job's variables set none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GitDefaults {
    /// The strategy.
    pub strategy: GitStrategy,
    /// The depth.
    pub depth: u32,
}

impl GitDefaults {
    /// Returns the defaults the source of `job` sent along.
    pub fn of_job(job: &Job) -> Self {
        let strategy = if job.allow_git_fetch {
            GitStrategy::Fetch
        } else {
            GitStrategy::Clone
        };
        Self {
            strategy,
            depth: job.git_info.depth,
        }
    }
}

/// A variable with an invalid value, and the value used instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSettingsWarning {
    variable: &'static str,
    value: String,
    expected: &'static str,
    used: String,
}

impl fmt::Display for GitSettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            variable,
            value,
            expected,
            used,
        } = self;
        write!(f, "{variable}: {value:?} is not {expected}; using {used}")
    }
}

impl GitSettings {
    /// Reads the settings from a job's expanded variables; also returns warnings about them.
    ///
    /// Flags are separated by white space; quotes have no meaning. The word `none` means no flags
    /// (fetch) or no cleaning (clean).
    pub fn from_variables(
        variables: &JobVariables,
        defaults: GitDefaults,
    ) -> (Self, Vec<GitSettingsWarning>) {
        let mut reader = Reader {
            variables,
            warnings: Vec::new(),
        };
        let depth = reader.depth("GIT_DEPTH", defaults.depth);
        let settings = Self {
            strategy: reader.strategy(defaults.strategy),
            depth,
            checkout: reader.switch("GIT_CHECKOUT", true),
            clean_flags: reader.clean_flags(),
            fetch_flags: match reader.value("GIT_FETCH_EXTRA_FLAGS") {
                None => words(FETCH_FLAGS),
                Some("none") => Vec::new(),
                Some(flags) => words(flags),
            },
            clone_flags: reader.words("GIT_CLONE_EXTRA_FLAGS"),
            submodules: SubmoduleSettings {
                strategy: reader.submodule_strategy(),
                depth: reader.depth("GIT_SUBMODULE_DEPTH", depth),
                paths: reader.words("GIT_SUBMODULE_PATHS"),
                update_flags: reader.words("GIT_SUBMODULE_UPDATE_FLAGS"),
                force_https: reader.switch("GIT_SUBMODULE_FORCE_HTTPS", false),
            },
            lfs: match variables.get("GIT_LFS_SKIP_SMUDGE") {
                Some(_) => LfsMode::JobSetting,
                None => LfsMode::PullAfterCheckout,
            },
            clone_path: reader.value("GIT_CLONE_PATH").map(str::to_owned),
            safe_directory: false,
        };
        (settings, reader.warnings)
    }
}

/// Reads variables and collects warnings.
struct Reader<'v> {
    variables: &'v JobVariables,
    warnings: Vec<GitSettingsWarning>,
}

impl<'v> Reader<'v> {
    /// Returns the variable's trimmed value; `None` if it is empty.
    fn value(&self, variable: &str) -> Option<&'v str> {
        self.variables
            .get(variable)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    fn words(&self, variable: &str) -> Vec<String> {
        words(self.value(variable).unwrap_or_default())
    }

    fn warn(&mut self, variable: &'static str, value: &str, expected: &'static str, used: String) {
        let value = value.to_owned();
        self.warnings.push(GitSettingsWarning {
            variable,
            value,
            expected,
            used,
        });
    }

    fn strategy(&mut self, default: GitStrategy) -> GitStrategy {
        let Some(value) = self.value("GIT_STRATEGY") else {
            return default;
        };
        match value {
            "fetch" => GitStrategy::Fetch,
            "clone" => GitStrategy::Clone,
            "none" => GitStrategy::None,
            "empty" => GitStrategy::Empty,
            _ => {
                let used = match default {
                    GitStrategy::Fetch => "fetch",
                    GitStrategy::Clone => "clone",
                    GitStrategy::None => "none",
                    GitStrategy::Empty => "empty",
                };
                let expected = "one of fetch, clone, none, empty";
                self.warn("GIT_STRATEGY", value, expected, used.to_owned());
                default
            }
        }
    }

    fn submodule_strategy(&mut self) -> SubmoduleStrategy {
        match self.value("GIT_SUBMODULE_STRATEGY") {
            None | Some("none") => SubmoduleStrategy::None,
            Some("normal") => SubmoduleStrategy::Normal,
            Some("recursive") => SubmoduleStrategy::Recursive,
            Some(value) => {
                let expected = "one of none, normal, recursive";
                self.warn("GIT_SUBMODULE_STRATEGY", value, expected, "none".to_owned());
                SubmoduleStrategy::None
            }
        }
    }

    fn depth(&mut self, variable: &'static str, default: u32) -> u32 {
        let Some(value) = self.value(variable) else {
            return default;
        };
        let Ok(depth) = value.parse::<u64>() else {
            self.warn(
                variable,
                value,
                "a number of at least 0",
                default.to_string(),
            );
            return default;
        };
        let in_range = u32::try_from(depth)
            .ok()
            .filter(|&depth| depth <= MAX_DEPTH);
        in_range.unwrap_or_else(|| {
            self.warn(
                variable,
                value,
                "a depth that git supports",
                MAX_DEPTH.to_string(),
            );
            MAX_DEPTH
        })
    }

    fn switch(&mut self, variable: &'static str, default: bool) -> bool {
        match self.value(variable) {
            None => default,
            Some("1" | "t" | "T" | "true" | "True" | "TRUE") => true,
            Some("0" | "f" | "F" | "false" | "False" | "FALSE") => false,
            Some(value) => {
                self.warn(variable, value, "true or false", default.to_string());
                default
            }
        }
    }

    fn clean_flags(&self) -> Option<Vec<String>> {
        match self.value("GIT_CLEAN_FLAGS") {
            None => Some(words(CLEAN_FLAGS)),
            Some("none") => None,
            Some(flags) => Some(words(flags)),
        }
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    fn read(variables: &[(&str, &str)]) -> (GitSettings, Vec<String>) {
        let variables = variables
            .iter()
            .map(|&(key, value)| JobVariable::public(key, value));
        let defaults = GitDefaults {
            strategy: GitStrategy::Clone,
            depth: 20,
        };
        let (settings, warnings) = GitSettings::from_variables(&variables.collect(), defaults);
        (settings, warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn without_settings_the_defaults_apply() {
        let (settings, warnings) = read(&[("GIT_STRATEGY", ""), ("GIT_CLEAN_FLAGS", " ")]);
        assert_eq!(settings.strategy, GitStrategy::Clone);
        assert_eq!((settings.depth, settings.submodules.depth), (20, 20));
        assert!(settings.checkout);
        assert_eq!(settings.clean_flags, Some(vec!["-ffdx".to_owned()]));
        assert_eq!(settings.fetch_flags, ["--prune", "--quiet"]);
        assert_eq!(settings.lfs, LfsMode::PullAfterCheckout);
        assert!(warnings.is_empty());
    }

    #[test]
    fn every_setting_is_read() {
        let (settings, warnings) = read(&[
            ("GIT_STRATEGY", "empty"),
            ("GIT_DEPTH", "0"),
            ("GIT_CHECKOUT", "false"),
            ("GIT_CLEAN_FLAGS", "-ffdx -e cache/"),
            ("GIT_FETCH_EXTRA_FLAGS", "none"),
            ("GIT_CLONE_EXTRA_FLAGS", "--filter=blob:none"),
            ("GIT_SUBMODULE_STRATEGY", "recursive"),
            ("GIT_SUBMODULE_DEPTH", "3"),
            ("GIT_SUBMODULE_PATHS", "a b"),
            ("GIT_SUBMODULE_UPDATE_FLAGS", "--jobs 4"),
            ("GIT_SUBMODULE_FORCE_HTTPS", "1"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            ("GIT_CLONE_PATH", "$CI_BUILDS_DIR/x"),
        ]);
        assert_eq!(settings.strategy, GitStrategy::Empty);
        assert_eq!(settings.depth, 0);
        assert!(!settings.checkout);
        assert_eq!(settings.clean_flags, Some(words("-ffdx -e cache/")));
        assert!(settings.fetch_flags.is_empty());
        assert_eq!(settings.clone_flags, ["--filter=blob:none"]);
        let submodules = SubmoduleSettings {
            strategy: SubmoduleStrategy::Recursive,
            depth: 3,
            paths: words("a b"),
            update_flags: words("--jobs 4"),
            force_https: true,
        };
        assert_eq!(settings.submodules, submodules);
        assert_eq!(settings.lfs, LfsMode::JobSetting);
        assert_eq!(settings.clone_path.as_deref(), Some("$CI_BUILDS_DIR/x"));
        assert!(warnings.is_empty());
    }

    #[test]
    fn invalid_values_are_reported_and_the_default_is_used() {
        let (settings, warnings) = read(&[
            ("GIT_STRATEGY", "pull"),
            ("GIT_DEPTH", "-1"),
            ("GIT_CHECKOUT", "maybe"),
            ("GIT_SUBMODULE_STRATEGY", "all"),
            ("GIT_SUBMODULE_DEPTH", "99999999999"),
        ]);
        assert_eq!(settings.strategy, GitStrategy::Clone);
        assert_eq!((settings.depth, settings.submodules.depth), (20, MAX_DEPTH));
        assert!(settings.checkout);
        assert_eq!(
            warnings,
            [
                "GIT_DEPTH: \"-1\" is not a number of at least 0; using 20",
                "GIT_STRATEGY: \"pull\" is not one of fetch, clone, none, empty; using clone",
                "GIT_CHECKOUT: \"maybe\" is not true or false; using true",
                "GIT_SUBMODULE_STRATEGY: \"all\" is not one of none, normal, recursive; using none",
                "GIT_SUBMODULE_DEPTH: \"99999999999\" is not a depth that git supports; using 2147483647",
            ]
        );
    }
}
