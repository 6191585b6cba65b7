//! Files that runs write in watch mode, which must not start another round.

use super::report_files::is_partial;
use crate::args::RunArgs;
use console::{print_notes, strip_controls};
use pipeline::Plan;
use pipeline_insight::affected::InputPattern;
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The files that runs write into the watched tree.
pub(super) struct RunOutputs {
    root: PathBuf,
    /// Files that options name.
    outputs: BTreeSet<String>,
    /// Files that standard output and standard error are redirected to.
    streams: Vec<Identity>,
    /// Files that changed during the last round with jobs in the working tree.
    changed_last_time: BTreeSet<String>,
}

impl RunOutputs {
    /// Returns the files that runs with these arguments write below `root`.
    pub(super) fn of(args: &RunArgs, root: &Path) -> Self {
        let shown = &args.shown;
        let reports = shown.report.iter().map(|report| &report.path);
        let files = reports.chain(&shown.events).filter_map(|path| {
            let path = std::path::absolute(path).ok()?;
            Some(path.strip_prefix(root).ok()?.to_string_lossy().into_owned())
        });
        let streams = [file_behind(io::stdout()), file_behind(io::stderr())];
        Self {
            root: root.to_owned(),
            outputs: files.collect(),
            streams: streams.into_iter().flatten().collect(),
            changed_last_time: BTreeSet::new(),
        }
    }

    /// Returns whether a file is an output that an option names, a partial one, or a redirected stream.
    pub(super) fn is_output(&self, file: &str) -> bool {
        let is_part = |output: &String| is_partial(Path::new(file), Path::new(output));
        self.outputs.contains(file) || self.outputs.iter().any(is_part) || self.is_stream(file)
    }

    fn is_stream(&self, file: &str) -> bool {
        // Streams are seldom redirected to a file, and without one the system call is unnecessary.
        let is_it = |metadata: &Metadata| self.streams.contains(&Identity::of(metadata));
        !self.streams.is_empty() && self.root.join(file).metadata().is_ok_and(|it| is_it(&it))
    }

    /// Removes, from the files that changed while jobs ran in the working tree, those that the jobs wrote:
    /// artifacts, and files that also changed in the last round. Prints a note on the latter.
    pub(super) fn leave_out(&mut self, during: BTreeSet<String>, plan: &Plan) -> BTreeSet<String> {
        let products = products(plan);
        let during = during.into_iter();
        let during: BTreeSet<String> = during
            .filter(|file| !products.iter().any(|product| product.is_match(file)))
            .collect();
        let mut again = during.intersection(&self.changed_last_time);
        if let Some(first) = again.next() {
            let more = match again.next() {
                Some(_) => " and others change",
                None => " changes",
            };
            print_notes([&strip_controls(&format!(
                "{first}{more} whenever the jobs run, which is no reason to run them (they may be \
                 ignored, or be artifacts)"
            ))]);
        }
        let new = during
            .difference(&self.changed_last_time)
            .cloned()
            .collect();
        self.changed_last_time = during;
        new
    }
}

/// The identity of a file, independent of its name.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// Returns the file that a stream is redirected to, if there is one.
fn file_behind(stream: impl AsFd) -> Option<Identity> {
    let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok()?;
    metadata.is_file().then(|| Identity::of(&metadata))
}

/// Returns the patterns of the artifacts of a plan's jobs.
fn products(plan: &Plan) -> Vec<InputPattern> {
    let artifacts = plan
        .jobs()
        .iter()
        .filter_map(|job| job.definition.artifacts.as_deref());
    let paths = artifacts.flat_map(|artifacts| artifacts.paths.iter().flatten());
    let patterns: BTreeSet<&String> = paths.collect();
    let patterns = patterns.into_iter();
    patterns
        .filter_map(|path| InputPattern::new(path).ok())
        .collect()
}
