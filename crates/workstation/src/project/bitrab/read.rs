use super::settings::{BitrabSettings, ParallelBackend};
use crate::project::file::{ReadError, read_text};
use crate::settings::{SettingsError, Table, Value, parse_toml};
use std::io;
use std::path::{Component, Path};

/// The name of the file at the top of a project.
pub(crate) const FILE: &str = "pyproject.toml";

impl BitrabSettings {
    /// Reads the settings of the project whose top is `root`; without a file, nothing is set.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or says what cannot be.
    pub fn read(root: &Path) -> Result<Self, SettingsError> {
        match read_text(&root.join(FILE)) {
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

    /// Reads settings from the text of a `pyproject.toml`; `file` is what messages call it.
    ///
    /// # Errors
    ///
    /// When it is no TOML, or `[tool.bitrab]` in it says what cannot be.
    pub fn parse(file: &Path, text: &str) -> Result<Self, SettingsError> {
        let parsed = parse_toml(file, text)?;
        // What others keep in the file is theirs.
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
            let note = format!("{file}:{line}: `{key}` is not followed: {reason}");
            settings.notes.push(note);
        };
        if let Some(root) = table.get("worktree_root") {
            check_root(&root)?;
            note(
                &root,
                "worktrees are kept with the state of the run, which removes them even if it is killed",
            );
        }
        if let Some(value) = table.get("fingerprint_env") {
            texts(&value)?;
            note(
                &value,
                "with `--reuse` all variables of the environment count",
            );
        }
        Ok(settings)
    }
}

fn backend(value: &Value<'_>) -> Result<ParallelBackend, SettingsError> {
    ParallelBackend::from_word(value.text()?).ok_or_else(|| {
        let message = "`parallel_backend` is `process` or `thread`".to_owned();
        value.refuse(message, None)
    })
}

/// Refuses a directory outside of the project, which no project's file may name.
fn check_root(value: &Value<'_>) -> Result<(), SettingsError> {
    let path = Path::new(value.text()?);
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.components().all(stays) {
        return Ok(());
    }
    let message = "`worktree_root` is a directory below the project".to_owned();
    let help = "begin with neither `/` nor `..`; $RUNWRIGHT_HOME says where all state is kept";
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
