use super::collector::{Collector, Finding};
use super::key_check::{check_table, tables_of};
use super::read_global::read_global;
use super::read_runner::read_runner;
use super::secrets::secrets_of;
use super::source::{SourceText, Span};
use super::value::value_span;
use super::{
    ConfigError, Known, Problem, ProblemKind, RunnerSettings, Settings, Severity, explain,
};
use std::fs;
use std::io;
use std::path::Path;
use toml_edit::{Document, Item, TableLike};

/// A `config.toml` with all its problems.
///
/// ```
/// use runner::config::{ConfigFile, Known, KnownExecutor};
///
/// let known = Known {
///     executors: vec![KnownExecutor { name: "shell", tables: &[] }],
///     ..Known::default()
/// };
/// let text = r#"
/// concurent = 4
/// [[runners]]
/// name = "one"
/// url = "https://gitlab.com"
/// token = "glrt-abcdefghijkl"
/// executor = "shell"
/// "#;
/// let file = ConfigFile::parse("config.toml".as_ref(), text, &known)?;
/// assert_eq!(
///     file.problems[0].to_string(),
///     "config.toml:2:1: unknown key `concurent`; did you mean `concurrent`?",
/// );
/// assert_eq!(file.settings.runners[0].config.name, "one");
/// # Ok::<(), runner::config::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// The settings. A runner with an error in a key that it cannot work without is left out.
    pub settings: Settings,
    /// All problems, by position.
    pub problems: Vec<Problem>,
    explanation: String,
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When the file does not exist, cannot be read or is not TOML. All other problems are in
    /// [`problems`](Self::problems).
    pub fn read(path: &Path, known: &Known) -> Result<Self, ConfigError> {
        Self::parse(path, &read_text(path)?, known)
    }

    /// Reads the text of a file. Messages name it by `path`.
    ///
    /// # Errors
    ///
    /// When the text is not TOML.
    pub fn parse(path: &Path, text: &str, known: &Known) -> Result<Self, ConfigError> {
        let source = SourceText::new(path, text);
        let document = parse_toml(&source)?;
        let root: &dyn TableLike = document.as_table();
        let mut problems = Collector::new(&source, secrets_of(root));
        check_table(root, "", known, &mut problems);
        let mut settings = read_global(root, &mut problems);
        let runners = runner_tables(root);
        let mut read = Vec::new();
        for table in runners {
            let header = header_span(root, table);
            if let Some(runner) = read_runner(table, header, known, &mut problems) {
                read.push((table, runner));
            }
        }
        report_duplicates(&read, &mut problems);
        settings.runners = read.into_iter().map(|(_, runner)| runner).collect();
        let certificates = path.with_file_name("certs");
        for runner in &mut settings.runners {
            runner.use_certificates_in(&certificates);
        }
        let problems = problems.finish();
        let explanation = explain::explain(root, &source, known, &problems);
        Ok(Self {
            settings,
            problems,
            explanation,
        })
    }

    /// Returns the errors.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        let all = self.problems.iter();
        all.filter(|problem| problem.severity == Severity::Error)
    }

    /// Returns the settings, and the problems that are not errors.
    ///
    /// # Errors
    ///
    /// All errors of the file, if it has any.
    pub fn into_settings(self) -> Result<(Settings, Vec<Problem>), ConfigError> {
        let errors: Vec<Problem> = self.errors().cloned().collect();
        if errors.is_empty() {
            Ok((self.settings, self.problems))
        } else {
            Err(ConfigError::Invalid(errors))
        }
    }

    /// Returns every difference between GitLab Runner and this runner that the file meets, one on each line, with its
    /// position; empty if there is none. Those of `problems` are the same lines. The last line has no line end.
    pub fn explain(&self) -> &str {
        &self.explanation
    }
}

/// Reads a file that must have text.
pub(super) fn read_text(path: &Path) -> Result<String, ConfigError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ConfigError::Absent(path.to_owned()));
        }
        Err(source) => {
            let path = path.to_owned();
            return Err(ConfigError::Read { path, source });
        }
    };
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&error.as_bytes()[..valid]);
        let source = SourceText::new(path, text);
        syntax_error(&source, Some(valid..valid), "the file is not UTF-8")
    })
}

/// Parses a text with the places of its values.
pub(super) fn parse_toml(source: &SourceText) -> Result<Document<&str>, ConfigError> {
    Document::parse(&*source.text)
        .map_err(|error| syntax_error(source, error.span(), error.message()))
}

fn syntax_error(source: &SourceText, span: Option<Span>, message: &str) -> ConfigError {
    let mut problems = Collector::new(source, Vec::new());
    let finding = Finding {
        kind: ProblemKind::Syntax,
        ..Finding::invalid(message.trim_end())
    };
    problems.add(span, finding);
    let problem = problems.finish().swap_remove(0);
    ConfigError::Syntax(problem)
}

/// Returns all `[[runners]]`.
pub(super) fn runner_tables(root: &dyn TableLike) -> Vec<&dyn TableLike> {
    match root.get("runners").and_then(tables_of) {
        Some((runners, true)) => runners,
        _ => Vec::new(),
    }
}

/// Returns the place of a runner's header.
pub(super) fn header_span(root: &dyn TableLike, runner: &dyn TableLike) -> Option<Span> {
    let same = |table: &dyn TableLike| std::ptr::addr_eq(table, runner);
    match root.get("runners")? {
        Item::ArrayOfTables(tables) => tables.iter().find(|it| same(*it))?.span(),
        item => {
            let mut values = item.as_array()?.iter();
            let is_runner =
                |it: &&toml_edit::Value| it.as_inline_table().is_some_and(|it| same(it));
            values.find(is_runner)?.span()
        }
    }
}

/// Reports runners with the same address and token: GitLab takes them for one.
fn report_duplicates(runners: &[(&dyn TableLike, RunnerSettings)], problems: &mut Collector<'_>) {
    let is_same =
        |a: &RunnerSettings, b: &RunnerSettings| a.url == b.url && a.config.token == b.config.token;
    for (index, (table, runner)) in runners.iter().enumerate() {
        let others = runners.iter().enumerate();
        let other = others
            .filter(|(at, (_, other))| *at != index && is_same(runner, other))
            .find_map(|(_, (table, _))| value_span(*table, "token"));
        let Some(other) = other else { continue };
        let line = problems.line(&other);
        let finding = Finding::invalid(format!(
            "these [[runners]] have the same `url` and `token` as those of line {line}"
        ))
        .with_hint("remove one of them, or create another runner in GitLab");
        problems.add(value_span(*table, "token"), finding);
    }
}
