//! The user's variables and inputs, from files and options in their order.

use crate::error::LocalError;
use crate::project::gitlab_ci_local::{self, FileOptions, read_environment, read_options};
use crate::project::pipeline_options::PipelineOptions;
use crate::project::read_file::{
    inside, optional, optional_inside, read_inside, read_text, unreadable,
};
use crate::project::situation::{path_of_url, server_of_url};
use crate::project::variable_files::{HomeFile, VariablesFile};
use git::RepositoryRefs;
use indexmap::IndexMap;
use pipeline::context::{ExternalVariable, Level};
use pipeline::{Diagnostics, InputsFile};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use yaml::diagnostic::Checked;

/// The variables and inputs of the user's files and options.
#[derive(Debug, Default)]
pub(crate) struct UserInput {
    pub(crate) variables: Vec<ExternalVariable>,
    pub(crate) inputs: IndexMap<String, Value>,
    pub(crate) inputs_file: Option<InputsFile>,
    /// The names of variables that no job has.
    pub(crate) unset: BTreeSet<String>,
    /// Notes about the files.
    pub(crate) notes: Vec<String>,
}

impl UserInput {
    /// Reads the files and options. Stops at the first file with errors.
    pub(crate) fn read(
        root: &Path,
        options: &PipelineOptions,
    ) -> Result<Result<Self, Box<Diagnostics>>, LocalError> {
        let home = options.home.clone().or_else(std::env::home_dir);
        let reader = InputReader {
            root,
            home: home.as_deref(),
            input: Self::default(),
        };
        reader.read(options)
    }
}

struct InputReader<'a> {
    root: &'a Path,
    home: Option<&'a Path>,
    input: UserInput,
}

impl InputReader<'_> {
    fn read(
        mut self,
        options: &PipelineOptions,
    ) -> Result<Result<UserInput, Box<Diagnostics>>, LocalError> {
        let mut file_options = Vec::new();
        let of_user = self.home_file(".env");
        let of_user = of_user.map(|(path, name)| optional(&path).map(|text| (name, text)));
        let of_project = Path::new(gitlab_ci_local::OPTIONS);
        let of_project = optional_inside(self.root, of_project)
            .map(|text| (gitlab_ci_local::OPTIONS.to_owned(), text));
        // The lowest precedence first.
        for read in of_user.into_iter().chain([of_project]) {
            let (name, Some(text)) = read? else {
                continue;
            };
            match self.note_warnings(read_options(&name, &text)) {
                Ok(read) => file_options.push(read),
                Err(found) => return Ok(Err(found)),
            }
        }
        file_options.push(read_environment(&options.environment));
        if let Err(found) = self.read_variables(options, &file_options)? {
            return Ok(Err(found));
        }
        self.input.inputs_file = self.inputs_file(options, &file_options)?;
        if self.root.join(gitlab_ci_local::IGNORES).exists() {
            let name = gitlab_ci_local::IGNORES;
            let note = format!("{name} is ignored: jobs get all files that git does not ignore");
            self.input.notes.push(note);
        }
        for read in file_options {
            self.add_options(read);
        }
        self.input
            .unset
            .extend(options.unset_variables.iter().cloned());
        // A job may have it from the environment of this program all the same, and without the variable its value would
        // be shown.
        for secret in &options.secrets {
            if self.input.unset.remove(&secret.key) {
                let note = format!("{} stays set: it is a secret of this run", secret.key);
                self.input.notes.push(note);
            }
        }
        let variables = &mut self.input.variables;
        variables.extend(
            options
                .secrets
                .iter()
                .cloned()
                .map(ExternalVariable::of_secret),
        );
        let pipeline_variables = options.variables.iter().cloned();
        variables.extend(pipeline_variables.map(ExternalVariable::of_pipeline));
        let inputs = options.inputs.iter();
        let inputs = inputs.map(|(name, value)| (name.clone(), value.clone()));
        self.input.inputs.extend(inputs);
        Ok(Ok(self.input))
    }

    fn home_file(&self, name: &str) -> Option<(PathBuf, String)> {
        let directory = gitlab_ci_local::HOME;
        let path = self.home?.join(directory).join(name);
        Some((path, format!("~/{directory}/{name}")))
    }

    fn read_variables(
        &mut self,
        options: &PipelineOptions,
        file_options: &[FileOptions],
    ) -> Result<Result<(), Box<Diagnostics>>, LocalError> {
        if let Some((path, name)) = self.home_file("variables.yml")
            && let Some(text) = optional(&path)?
        {
            let project = RepositoryRefs::of(self.root).and_then(|refs| refs.remote_url());
            let project = project.as_deref().and_then(host_path);
            let file = HomeFile {
                name: &name,
                text: &text,
                home: self.home,
                project: project.as_deref(),
            };
            match self.note_warnings(file.read()) {
                Ok(variables) => self.input.variables.extend(variables),
                Err(found) => return Ok(Err(found)),
            }
        }
        let named = |it: &FileOptions| it.variables_file.clone();
        let (of_project, text) =
            self.project_file(file_options, named, gitlab_ci_local::VARIABLES)?;
        let of_project = &of_project;
        let mut files = Vec::new();
        if let Some(text) = text {
            files.push((self.root.join(of_project), of_project, text));
        }
        for path in &options.variables_files {
            let text = read_text(path).map_err(|error| unreadable(path, error))?;
            files.push((std::path::absolute(path).unwrap_or_default(), path, text));
        }
        for (path, name, text) in &files {
            let is_own = inside(self.root, path).is_ok();
            let file = VariablesFile {
                name: &name.display().to_string(),
                text,
                level: Level::Project,
                home: self.home,
                root: is_own.then_some(self.root),
            };
            match self.note_warnings(file.read()) {
                Ok(variables) => self.input.variables.extend(variables),
                Err(found) => return Ok(Err(found)),
            }
        }
        Ok(Ok(()))
    }

    fn inputs_file(
        &self,
        options: &PipelineOptions,
        file_options: &[FileOptions],
    ) -> Result<Option<InputsFile>, LocalError> {
        let (path, text) = if let Some(path) = &options.inputs_file {
            let text = read_text(path).map_err(|error| unreadable(path, error))?;
            (path.clone(), Some(text))
        } else {
            let named = |it: &FileOptions| it.inputs_file.clone();
            self.project_file(file_options, named, gitlab_ci_local::INPUTS)?
        };
        let name = path.display().to_string();
        Ok(text.map(|text| InputsFile { name, text }))
    }

    /// Reads a file that options name, or the usual one of the project, which may be absent. Only a name that did not
    /// come with the project may lead out of it.
    fn project_file(
        &self,
        file_options: &[FileOptions],
        named: impl Fn(&FileOptions) -> Option<PathBuf>,
        usual: &str,
    ) -> Result<(PathBuf, Option<String>), LocalError> {
        let mut sources = file_options.iter().rev();
        let found = sources.find_map(|it| Some((&it.name, named(it)?)));
        let Some((source, path)) = found else {
            let path = PathBuf::from(usual);
            let text = optional_inside(self.root, &path)?;
            return Ok((path, text));
        };
        let read = if source == gitlab_ci_local::OPTIONS {
            read_inside(self.root, &path)
        } else {
            read_text(&self.root.join(&path))
        };
        let text = read.map_err(|error| unreadable(&path, error))?;
        Ok((path, Some(text)))
    }

    /// Returns the value, and adds its warnings to the notes.
    fn note_warnings<T>(&mut self, checked: Checked<T>) -> Result<T, Box<Diagnostics>> {
        let (value, warnings) = checked.into_result()?;
        for warning in &warnings {
            let location = warning.span.map(|span| {
                let name = warnings.sources().file(span.file).name();
                format!("{name}:{}:{}: ", span.line, span.column)
            });
            let note = format!("{}{}", location.unwrap_or_default(), warning.message);
            self.input.notes.push(note);
        }
        Ok(value)
    }

    fn add_options(&mut self, read: FileOptions) {
        if read.file.is_some() && read.name.starts_with('~') {
            let note = format!(
                "{}: FILE is ignored: use `file` in your settings",
                read.name
            );
            self.input.notes.push(note);
        }
        self.input.notes.extend(read.notes);
        self.input.variables.extend(read.variables);
        self.input.unset.extend(read.unset);
        let inputs = read.inputs.into_iter();
        let inputs = inputs.map(|(name, value)| (name, Value::String(value)));
        self.input.inputs.extend(inputs);
    }
}

/// Returns `host/group/project` of a remote URL.
fn host_path(url: &str) -> Option<String> {
    let server = server_of_url(url)?;
    let host = server.split_once("://")?.1;
    Some(format!("{host}/{}", path_of_url(url)?))
}
