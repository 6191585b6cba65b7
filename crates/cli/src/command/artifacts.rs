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

/// Lists the artifacts of jobs, or extracts one.
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
        let one = the_one(&run, name, args.kind.as_deref(), &left)?;
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
        tell(&one.stored, skipped.len(), output);
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

/// Returns the artifact to extract: the archive, or else the only one.
fn the_one<'l>(
    run: &Run,
    name: Option<&str>,
    kind: Option<&str>,
    left: &'l [JobArtifact],
) -> Result<&'l JobArtifact, Failure> {
    let Some(name) = name else {
        let error = anyhow!("--output needs a job");
        return Err(Failure::usage(error)
            .with_help("`runwright artifacts` shows the artifacts of each job"));
    };
    let archive = left
        .iter()
        .find(|it| it.stored.artifact.artifact_type == StoredArtifact::ARCHIVE);
    let found = match (archive, left) {
        (Some(archive), _) => Some(archive),
        (None, [one]) => Some(one),
        _ => None,
    };
    found.ok_or_else(|| {
        let id = run.id();
        let what = kind.map_or_else(|| "nothing".to_owned(), |kind| format!("no {kind:?}"));
        if left.is_empty() {
            return Failure::usage(anyhow!("job {name:?} left {what} in run {id}"));
        }
        let kinds = left
            .iter()
            .map(|it| it.stored.artifact.artifact_type.as_str());
        let kinds: Vec<_> = kinds.collect();
        Failure::usage(anyhow!("job {name:?} left several reports in run {id}"))
            .with_help(format!("choose with --type: {}", kinds.join(", ")))
    })
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

fn tell(stored: &StoredArtifact, skipped: usize, output: &Path) {
    let artifact = &stored.artifact;
    let files = usize::try_from(artifact.files).unwrap_or(usize::MAX);
    let files = counted(files.saturating_sub(skipped), "file");
    let bytes = size(artifact.bytes);
    let place = Style::of_stderr().path(output);
    let rest = match skipped {
        0 => String::new(),
        skipped => format!("; {} left out", counted(skipped, "file")),
    };
    error_line(&format!("wrote {files}, {bytes}, to {place}{rest}"));
}
