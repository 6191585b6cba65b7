use crate::project::read_file::{ReadError, read_inside};
use crate::settings::{SettingsError, Table, Value, parse_toml};
use std::io;
use std::path::{Component, Path};

/// The name of the file in the root of a project.
pub(crate) const FILE: &str = "pyproject.toml";

/// bitrab's settings of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BitrabSettings {
    /// How parallel jobs run (`parallel_backend`).
    pub parallel_backend: Option<ParallelBackend>,
    /// Whether each job has a Git worktree (`use_git_worktrees`).
    pub use_git_worktrees: Option<bool>,
    /// Whether one job runs at a time (`serial`).
    pub serial: bool,
    /// The base of `--changed` (`changes_base`).
    pub changes_base: Option<String>,
    /// Whether to warn about tracked files that a job changes (`warn_on_mutation`).
    pub warn_on_mutation: bool,
    /// The files that any job may change (`mutation.whitelist`).
    pub whitelist: Vec<String>,
    /// Notes about ignored settings, each with its location.
    pub notes: Vec<String>,
}

/// How parallel jobs run.
///
/// Both are the same here: scripts are always processes of their own, and threads wait for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ParallelBackend {
    /// A process for each job.
    #[default]
    Process,
    /// A thread for each job.
    Thread,
}

impl BitrabSettings {
    /// Reads the settings of the project at `root`; without a file, the defaults.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is invalid.
    pub fn read(root: &Path) -> Result<Self, SettingsError> {
        match read_inside(root, Path::new(FILE)) {
            Ok(text) => Self::parse(Path::new(FILE), &text),
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Err(error) => Err(SettingsError {
                file: FILE.into(),
                place: None,
                message: error.to_string(),
                help: None,
            }),
        }
    }

    /// Parses the text of a `pyproject.toml`, which messages call `file`.
    ///
    /// # Errors
    ///
    /// When it is not TOML, or `[tool.bitrab]` in it is invalid.
    pub fn parse(file: &Path, text: &str) -> Result<Self, SettingsError> {
        let parsed = parse_toml(file, text)?;
        let whole = Table::whole(file, text, &parsed);
        let Some(tools) = whole.get("tool") else {
            return Ok(Self::default());
        };
        match tools.table("[tool]")?.get("bitrab") {
            Some(own) => Self::of(file, &own.table("[tool.bitrab]")?),
            None => Ok(Self::default()),
        }
    }

    fn of(file: &Path, table: &Table<'_>) -> Result<Self, SettingsError> {
        table.only(&[
            "parallel_backend",
            "use_git_worktrees",
            "worktree_root",
            "serial",
            "warn_on_mutation",
            "mutation",
            "fingerprint_env",
            "changes_base",
        ])?;
        let flag = |key| table.get(key).map(|it| it.flag()).transpose();
        let mut settings = Self {
            parallel_backend: table
                .get("parallel_backend")
                .map(|it| backend(&it))
                .transpose()?,
            use_git_worktrees: flag("use_git_worktrees")?,
            serial: flag("serial")?.unwrap_or_default(),
            changes_base: table
                .get("changes_base")
                .map(|it| it.text().map(ToOwned::to_owned))
                .transpose()?,
            warn_on_mutation: flag("warn_on_mutation")?.unwrap_or_default(),
            whitelist: table
                .get("mutation")
                .map(|it| whitelist(&it))
                .transpose()?
                .unwrap_or_default(),
            notes: Vec::new(),
        };
        let mut note = |value: &Value<'_>, reason: &str| {
            let (line, _) = value.place();
            let (file, key) = (file.display(), value.key);
            let note = format!("{file}:{line}: `{key}` is ignored: {reason}");
            settings.notes.push(note);
        };
        if let Some(root) = table.get("worktree_root") {
            check_root(&root)?;
            note(
                &root,
                "worktrees are in the state directory, where a later run finds those of a killed one",
            );
        }
        if let Some(value) = table.get("fingerprint_env") {
            texts(&value)?;
            note(&value, "`--reuse` uses all environment variables");
        }
        Ok(settings)
    }
}

impl ParallelBackend {
    /// Parses the name of a backend.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "process" => Some(Self::Process),
            "thread" => Some(Self::Thread),
            _ => None,
        }
    }
}

fn backend(value: &Value<'_>) -> Result<ParallelBackend, SettingsError> {
    ParallelBackend::from_word(value.text()?).ok_or_else(|| {
        let message = "`parallel_backend` is `process` or `thread`".to_owned();
        value.refuse(message, None)
    })
}

/// Refuses a directory outside the project.
fn check_root(value: &Value<'_>) -> Result<(), SettingsError> {
    let path = Path::new(value.text()?);
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.components().all(stays) {
        return Ok(());
    }
    let message = "`worktree_root` is a directory below the project".to_owned();
    let help = "start with neither `/` nor `..`; $RUNWRIGHT_HOME sets the state directory";
    Err(value.refuse(message, help.to_owned()))
}

/// Returns `whitelist` of `[tool.bitrab.mutation]`.
fn whitelist(value: &Value<'_>) -> Result<Vec<String>, SettingsError> {
    let table = value.table("[tool.bitrab.mutation]")?;
    table.only(&["whitelist"])?;
    table
        .get("whitelist")
        .as_ref()
        .map_or(Ok(Vec::new()), texts)
}

fn texts(value: &Value<'_>) -> Result<Vec<String>, SettingsError> {
    let items = value.items()?;
    items.iter().map(|it| Ok(it.text()?.to_owned())).collect()
}
