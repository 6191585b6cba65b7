//! The settings of one runner that every executor understands.

use crate::job::SecretString;
use crate::settings::ExecutorSettings;
use crate::shell::ShellDialect;
use crate::variable::JobVariable;
use std::time::Duration;

/// The settings of one runner (`[[runners]]` of GitLab Runner).
///
/// All executors share these settings. Settings for one kind of executor are in
/// [`settings`](Self::settings), as a type of that executor's crate.
#[derive(Debug, Clone)]
pub struct RunnerConfig {
    /// The runner's name.
    pub name: String,
    /// The runner's token; its first characters name directories and containers.
    pub token: SecretString,
    /// The name of the executor in the registry.
    pub executor: String,
    /// The settings for one kind of executor; default none.
    pub settings: ExecutorSettings,
    /// The shell to use; `None` means the executor's default.
    pub shell: Option<ShellDialect>,
    /// The builds directory; `None` means the executor's default.
    pub builds_dir: Option<String>,
    /// A directory of this host for builds that an executor mounts into its environments.
    ///
    /// `None` means that the executor transfers files instead, or chooses a directory itself.
    pub host_builds_dir: Option<String>,
    /// Paths of this host that the files of jobs refer to, such as the objects of a repository.
    ///
    /// An environment that mounts builds below [`host_builds_dir`](Self::host_builds_dir) mounts these
    /// paths too, read-only and under the same names. Default: none.
    pub host_reads: Vec<String>,
    /// The cache directory; `None` means the executor's default.
    pub cache_dir: Option<String>,
    /// Variables of every job; the job's own have precedence.
    pub environment: Vec<JobVariable>,
    /// The runner's tags.
    pub tags: Vec<String>,
    /// The most jobs that run at once; 0 means no limit.
    pub limit: u32,
    /// The longest visible log of a job, in bytes; default 4 MiB.
    pub output_limit: u64,
    /// The longest a preparation may take; `None` means as long as the job.
    pub prepare_timeout: Option<Duration>,
    /// The longest the fetching of sources may take; `None` means as long as the job.
    pub get_sources_timeout: Option<Duration>,
    /// The time between terminating a process and killing it; default 10 minutes.
    pub graceful_kill_timeout: Duration,
    /// How long the executor waits for a killed process; default 10 seconds.
    pub force_kill_timeout: Duration,
    /// The operator's lines before the sources are fetched.
    pub pre_get_sources_script: String,
    /// The operator's lines after the sources are fetched.
    pub post_get_sources_script: String,
    /// The operator's lines before the user's script, in the same shell.
    pub pre_build_script: String,
    /// The operator's lines after the user's script, in the same shell.
    pub post_build_script: String,
    /// Whether `CI_DEBUG_TRACE` is ignored.
    pub debug_trace_disabled: bool,
}

impl RunnerConfig {
    /// The default limit of a job's visible log: 4 MiB.
    pub const DEFAULT_OUTPUT_LIMIT: u64 = 4 * 1024 * 1024;

    /// Returns the settings of a runner named `name` that uses the executor `executor`.
    pub fn new(name: impl Into<String>, executor: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            token: SecretString::default(),
            executor: executor.into(),
            settings: ExecutorSettings::new(),
            shell: None,
            builds_dir: None,
            host_builds_dir: None,
            host_reads: Vec::new(),
            cache_dir: None,
            environment: Vec::new(),
            tags: Vec::new(),
            limit: 0,
            output_limit: Self::DEFAULT_OUTPUT_LIMIT,
            prepare_timeout: None,
            get_sources_timeout: None,
            graceful_kill_timeout: Duration::from_mins(10),
            force_kill_timeout: Duration::from_secs(10),
            pre_get_sources_script: String::new(),
            post_get_sources_script: String::new(),
            pre_build_script: String::new(),
            post_build_script: String::new(),
            debug_trace_disabled: false,
        }
    }

    /// Returns the part of the token that is not secret: nine characters after its known prefixes.
    pub fn short_token(&self) -> &str {
        const PREFIXES: [&str; 8] = [
            "glrtr-",
            "glrt-",
            "glcbt-",
            "t1_",
            "t2_",
            "t3_",
            "GR1348941",
            "gldt-",
        ];
        let mut rest = self.token.expose();
        // A scope prefix (`t1_`) follows the kind's prefix (`glrt-`), hence two passes.
        for _ in 0..2 {
            for prefix in PREFIXES {
                rest = rest.strip_prefix(prefix).unwrap_or(rest);
            }
        }
        let end = rest.char_indices().nth(9).map_or(rest.len(), |(at, _)| at);
        &rest[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_token_skips_prefixes() {
        let check = |token: &str, expect: &str| {
            let mut config = RunnerConfig::new("r", "shell");
            config.token = token.into();
            assert_eq!(config.short_token(), expect, "of {token}");
        };
        check("glrt-t1_abcdefghijkl", "abcdefghi");
        check("glrtr-abc", "abc");
        check("GR1348941abcdefghijkl", "abcdefghi");
        check("", "");
    }
}
