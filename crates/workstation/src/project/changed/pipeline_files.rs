use crate::project::bitrab::BITRAB_SETTINGS;
use crate::project::gitlab_ci_local::{INPUTS, OPTIONS, OVERLAY, VARIABLES};
use crate::project::local_project::LocalProject;
use crate::project::pipeline_options::PipelineOptions;
use includes::LockFile;
use pipeline::Dialect;
use std::collections::BTreeSet;
use std::path::Path;
use yaml::source::SourceMap;

/// The settings file of a project.
const SETTINGS: &str = ".runwright.toml";

/// The files of a project that its pipeline is read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PipelineFiles {
    /// Relative to the project's root.
    files: BTreeSet<String>,
    /// The folders of included files: an include may name more files there by a pattern.
    folders: BTreeSet<String>,
}

impl PipelineFiles {
    /// Returns the files of a project's pipeline that was read from these texts.
    pub(crate) fn of(
        project: &LocalProject,
        sources: &SourceMap,
        options: &PipelineOptions,
    ) -> Self {
        let root = project.root();
        let mut found = Self::default();
        let usual = [
            OVERLAY,
            OPTIONS,
            VARIABLES,
            INPUTS,
            SETTINGS,
            LockFile::NAME,
        ];
        let usual = usual.iter().map(|&name| name.to_owned());
        found.files.extend(usual);
        found
            .files
            .insert(project.file().to_string_lossy().into_owned());
        if options.dialect == Dialect::Bitrab {
            found.files.insert(BITRAB_SETTINGS.to_owned());
        }
        let given = options.variables_files.iter().chain(&options.inputs_file);
        let given = given.filter_map(|path| {
            let path = std::path::absolute(path).ok()?;
            let below = path.strip_prefix(root).ok()?;
            Some(below.to_string_lossy().into_owned())
        });
        found.files.extend(given);
        for source in sources {
            let name = source.name();
            // A remote file has its URL as its name.
            if !root.join(name).is_file() {
                continue;
            }
            found.files.insert(name.to_owned());
            if source.included_at().is_some()
                && let Some((folder, _)) = name.rsplit_once('/')
            {
                found.folders.insert(folder.to_owned());
            }
        }
        found
    }

    /// Returns the files, relative to the project's root.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Returns the files, and the changed ones that an include may name by a pattern.
    pub(crate) fn among(&self, changed: &[String]) -> Vec<String> {
        let is_meant = |path: &&String| {
            let Some((folder, name)) = path.rsplit_once('/') else {
                return false;
            };
            let ending = Path::new(name).extension();
            let is_yaml = ending.is_some_and(|it| it == "yml" || it == "yaml");
            is_yaml && self.folders.contains(folder)
        };
        let meant = changed.iter().filter(is_meant);
        self.files.iter().chain(meant).cloned().collect()
    }
}
