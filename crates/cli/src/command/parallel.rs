use crate::args::{BackendArg, DialectArg, RunArgs};
use crate::failure::Failure;
use anyhow::anyhow;
use console::{counted, print_notes};
use std::num::NonZeroU32;
use workstation::{
    BitrabSettings, Isolation, LocalError, LocalProject, ParallelBackend, SnapshotMethod,
    can_mount, enter_user_namespace, raise_open_file_limit,
};

/// How the jobs of a run are run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parallel {
    pub(super) isolation: Isolation,
    /// The number of jobs that run at once, if it is set.
    pub(super) concurrency: Option<NonZeroU32>,
    /// The requested backend for parallel jobs, if there is one.
    pub(super) backend: Option<ParallelBackend>,
}

impl Parallel {
    /// Returns the choice of the command line and, in bitrab's dialect, of the project.
    pub(super) fn choose(args: &RunArgs, project: &LocalProject) -> Result<Self, Failure> {
        Self::check(args)?;
        if args.project.dialect != DialectArg::Bitrab {
            if args.parallel.no_worktrees {
                let error = anyhow!("--no-worktrees belongs to --dialect bitrab");
                return Err(Failure::usage(error)
                    .with_help("--in-place runs jobs in the working tree itself"));
            }
            return Ok(Self {
                isolation: args.isolation.chosen(),
                ..Self::of_bitrab(args, &BitrabSettings::default())
            });
        }
        let settings = BitrabSettings::read(project.root()).map_err(LocalError::from)?;
        print_notes(&settings.notes);
        Ok(Self::of_bitrab(args, &settings))
    }

    /// Refuses options that contradict each other.
    pub(super) fn check(args: &RunArgs) -> Result<(), Failure> {
        if args.parallel.serial == Some(true) && args.concurrency.is_some() {
            let error = anyhow!("--serial cannot be used with --concurrency");
            return Err(Failure::usage(error).with_help("leave out one of them"));
        }
        Ok(())
    }

    /// Decides as bitrab does: a worktree for each job, or one tree for all; options override.
    fn of_bitrab(args: &RunArgs, settings: &BitrabSettings) -> Self {
        let options = &args.parallel;
        // An explicit number of jobs overrides `serial`.
        let usual = settings.serial && args.concurrency.is_none();
        let serial = options.serial.unwrap_or(usual);
        let worktrees = settings.use_git_worktrees.unwrap_or(true) && !options.no_worktrees;
        let isolation = match args.isolation.explicit() {
            Some(isolation) => isolation,
            None if worktrees && !serial => Isolation::Worktree,
            None => Isolation::None,
        };
        let backend = options.parallel_backend.map(BackendArg::backend);
        Self {
            isolation,
            concurrency: args.concurrency.or(serial.then_some(NonZeroU32::MIN)),
            backend: backend.or(settings.parallel_backend),
        }
    }
}

/// Enables this process to mount overlays, if the isolation needs them and it lacks the right.
///
/// Must be called before a second thread starts.
pub(super) fn allow_mounts(isolation: Isolation) -> Result<(), Failure> {
    if isolation == Isolation::Snapshot(SnapshotMethod::Overlay) && !can_mount() {
        enter_user_namespace().map_err(LocalError::from)?;
    }
    Ok(())
}

/// The files that the program itself has open, and those for each running job: pipes, its log, its cgroups, and what is
/// copied or sent for it. Both are generous.
const OWN_FILES: u64 = 64;
const FILES_OF_JOB: u64 = 16;

/// Raises the limit on open files, and reduces the number of jobs that run at once to what it allows, with a note.
pub(super) fn within_file_limit(wanted: Option<NonZeroU32>) -> Option<NonZeroU32> {
    let Some(limit) = raise_open_file_limit() else {
        return wanted;
    };
    let most = limit.saturating_sub(OWN_FILES) / FILES_OF_JOB;
    let most = NonZeroU32::new(most.try_into().unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN);
    let processors = || std::thread::available_parallelism().ok()?.try_into().ok();
    let number = wanted.or_else(processors).unwrap_or(NonZeroU32::MIN);
    if number <= most {
        return wanted;
    }
    let (jobs, run) = (
        counted(most, "job"),
        if most.get() == 1 { "runs" } else { "run" },
    );
    print_notes([&format!(
        "{jobs} {run} at once, not {number}: the limit on open files is {limit} (`ulimit -Hn`)"
    )]);
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use std::path::Path;

    fn chosen(options: &str, settings: &str) -> Parallel {
        let line = format!("runwright run {options}");
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Run(args) = cli.command else {
            panic!("expected run");
        };
        let text = format!("[tool.bitrab]\n{settings}");
        let settings = BitrabSettings::parse(Path::new("pyproject.toml"), &text).unwrap();
        Parallel::of_bitrab(&args, &settings)
    }

    #[test]
    fn options_override_project_settings() {
        // R-PIPE-39
        let check = |options: &str, settings: &str, isolation: Isolation, jobs: Option<u32>| {
            let parallel = chosen(options, settings);
            let concurrency = parallel.concurrency.map(NonZeroU32::get);
            let told = format!("run {options} with {settings}");
            assert_eq!(
                (parallel.isolation, concurrency),
                (isolation, jobs),
                "{told}"
            );
        };
        let (worktree, tree) = (Isolation::Worktree, Isolation::None);
        check("", "", worktree, None);
        check("--concurrency 3", "", worktree, Some(3));
        check("--serial", "", tree, Some(1));
        check("--no-worktrees", "", tree, None);
        check("", "serial = true", tree, Some(1));
        check("--concurrency 2", "serial = true", worktree, Some(2));
        check("", "use_git_worktrees = false", tree, None);
        check(
            "--isolation worktree",
            "use_git_worktrees = false\nserial = true",
            worktree,
            Some(1),
        );
        check("--no-worktrees", "use_git_worktrees = true", tree, None);
        let snapshot = Isolation::Snapshot(SnapshotMethod::Copy);
        check("--snapshot copy", "", snapshot, None);
    }

    #[test]
    fn both_backends_can_be_selected() {
        // R-PIPE-36
        let check = |options: &str, settings: &str, expect| {
            assert_eq!(chosen(options, settings).backend, expect);
        };
        check("", "", None);
        check(
            "",
            "parallel_backend = 'thread'",
            Some(ParallelBackend::Thread),
        );
        check(
            "--parallel-backend process",
            "parallel_backend = 'thread'",
            Some(ParallelBackend::Process),
        );
    }
}
