use super::project_runs::{ProjectRuns, history, jobs, split_run};
use super::stdout::{print, print_json};
use crate::args::ArtifactsArgs;
use crate::failure::{Exit, Failure};
use anyhow::anyhow;
use console::reports::artifacts::{JobArtifact, table};
use console::{Style, counted, error_line, shown_name, size};
use executor_core::Cancellation;
use jiff::Timestamp;
use std::ffi::OsStr;
use std::path::Path;
use workstation::{
    Export, ExportError, LocalError, Overwrite, Run, StoredArtifact, StoredArtifacts,
};
use yaml::suggest::first_names;

/// An error names at most this many jobs.
const MOST_NAMES: usize = 10;

/// Lists the artifacts of jobs, or extracts one of each.
pub(crate) fn artifacts(args: &ArtifactsArgs) -> Result<Exit, Failure> {
    let (number, names) = split_run(&args.words);
    let name = match names {
        [] => None,
        [name] => Some(name.as_str()),
        [first, ..] => {
            let error = anyhow!("{first:?} is not the number of a run");
            return Err(Failure::usage(error).with_help(
                "`runwright history` shows the runs; a job name with spaces needs quotes",
            ));
        }
    };
    let past = ProjectRuns::find(&args.place)?;
    let mut run = past.run(number)?;
    let mut name = name;
    if let Some(shown) = name {
        let (owner, job) = past.owner(run, shown)?;
        (run, name) = (owner, Some(job));
    }
    let artifacts = past.state.kept_files().of_run(run.directory());
    let left = left(&run, name, args.kind.as_deref(), &artifacts)?;
    if let Some(output) = &args.output {
        if is_other_archive(output) {
            let error = anyhow!("{}: archives are written as zip only", output.display());
            return Err(Failure::usage(error)
                .with_help("name a FILE.zip, or a directory to extract the files into"));
        }
        let chosen = chosen(&run, name, args.kind.as_deref(), &left)?;
        let is_one = chosen.len() == 1;
        if is_zip(output) && !is_one {
            let jobs: Vec<_> = chosen.iter().map(|it| shown_name(&it.job)).collect();
            let error = anyhow!("an archive has the files of one job, not of {}", jobs.len());
            return Err(Failure::usage(error).with_help(format!(
                "name a directory to extract the files into, or one of these: {}",
                first_names(&jobs, MOST_NAMES)
            )));
        }
        for one in chosen {
            let export = Export {
                artifacts: &artifacts,
                artifact: &one.stored,
                overwrite: if args.force {
                    Overwrite::Files
                } else {
                    Overwrite::Nothing
                },
                pipeline_files: &[],
            };
            let written = if is_zip(output) {
                let scratch = past.state.exports();
                export.into_zip(output, &scratch, &Cancellation::new())
            } else {
                let written = export.into_directory(output, &Cancellation::new());
                written.map(|()| Vec::new())
            };
            let skipped = written.map_err(LocalError::from)?;
            for skipped in &skipped {
                let path = shown_name(&skipped.path.to_string_lossy());
                error_line(&format!("warning: {path} {}; it is left out", skipped.why));
            }
            tell(one, is_one, skipped.len(), output);
        }
    } else if args.json {
        print_json(&left)?;
    } else if left.is_empty() {
        let whose = name.map_or_else(String::new, |name| format!(" by {}", shown_name(name)));
        error_line(&format!(
            "there are no artifacts{whose} in run {}",
            run.id()
        ));
    } else {
        print(table(&left, Timestamp::now(), Style::of_stdout()))?;
    }
    Ok(Exit::Success)
}

/// Returns the artifacts of a run's jobs, in the order of the jobs.
fn left(
    run: &Run,
    name: Option<&str>,
    kind: Option<&str>,
    artifacts: &StoredArtifacts,
) -> Result<Vec<JobArtifact>, Failure> {
    let history = history(run)?;
    let jobs: Vec<_> = match name {
        Some(name) => jobs(run, &history, name)?,
        None => history.planned().collect(),
    };
    let mut left = Vec::new();
    for job in jobs {
        let stored = artifacts.of_job(job.id).map_err(ExportError::from);
        for stored in stored.map_err(LocalError::from)? {
            if kind.is_none_or(|kind| kind == stored.artifact.artifact_type) {
                let job = job.name.clone();
                left.push(JobArtifact { job, stored });
            }
        }
    }
    Ok(left)
}

/// Returns the artifacts to extract, one of each job that left some, in the order of the jobs.
fn chosen<'l>(
    run: &Run,
    name: Option<&str>,
    kind: Option<&str>,
    left: &'l [JobArtifact],
) -> Result<Vec<&'l JobArtifact>, Failure> {
    let Some(name) = name else {
        let error = anyhow!("--output needs a job");
        return Err(Failure::usage(error)
            .with_help("`runwright artifacts` shows the artifacts of each job"));
    };
    if left.is_empty() {
        let what = kind.map_or_else(|| "nothing".to_owned(), |kind| format!("no {kind:?}"));
        let error = anyhow!("job {name:?} left {what} in run {}", run.id());
        return Err(Failure::usage(error));
    }
    let of_jobs = left.chunk_by(|one, next| one.job == next.job);
    of_jobs.map(|of_job| the_one(run, of_job)).collect()
}

/// Returns the artifact of a job to extract: the archive, or else the only one.
fn the_one<'l>(run: &Run, of_job: &'l [JobArtifact]) -> Result<&'l JobArtifact, Failure> {
    let kind = |it: &'l JobArtifact| it.stored.artifact.artifact_type.as_str();
    let archive = of_job.iter().find(|it| kind(it) == StoredArtifact::ARCHIVE);
    match (archive, of_job) {
        (Some(one), _) | (None, [one]) => Ok(one),
        (None, several) => {
            let (id, job) = (run.id(), several.first().map_or("", |it| &it.job));
            let kinds: Vec<_> = several.iter().map(kind).collect();
            Err(
                Failure::usage(anyhow!("job {job:?} left several reports in run {id}"))
                    .with_help(format!("choose with --type: {}", kinds.join(", "))),
            )
        }
    }
}

fn is_zip(output: &Path) -> bool {
    output
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("zip"))
        && !output.is_dir()
}

/// Returns whether a path names a file that is an archive, but not in zip format.
fn is_other_archive(output: &Path) -> bool {
    const ENDINGS: [&str; 9] = ["7z", "bz2", "gz", "rar", "tar", "tgz", "txz", "xz", "zst"];
    let ending = output.extension().and_then(OsStr::to_str);
    let is_known = |ending: &str| ENDINGS.contains(&&*ending.to_ascii_lowercase());
    ending.is_some_and(is_known) && !output.is_dir()
}

fn tell(one: &JobArtifact, is_only: bool, skipped: usize, output: &Path) {
    let artifact = &one.stored.artifact;
    let files = usize::try_from(artifact.files).unwrap_or(usize::MAX);
    let files = counted(files.saturating_sub(skipped), "file");
    let bytes = size(artifact.bytes);
    let place = Style::of_stderr().path(output);
    let rest = match skipped {
        0 => String::new(),
        skipped => format!("; {} left out", counted(skipped, "file")),
    };
    let whose = if is_only {
        String::new()
    } else {
        format!(" of {}", shown_name(&one.job))
    };
    error_line(&format!("wrote {files}{whose}, {bytes}, to {place}{rest}"));
}
