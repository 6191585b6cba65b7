//! Finds the function that a reference names.

use super::Engine;
use super::evaluate::step_failure;
use super::fetched_tree::platform;
use super::frame::{Env, Frame};
use crate::language::{FILES, File, Function, Place};
use crate::library::Source;
use crate::service::state::Failure;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The longest file of a function, in bytes.
const LONGEST: u64 = 4 * 1024 * 1024;

/// A function, and the directory of its file.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) function: Function,
    pub(super) directory: PathBuf,
    /// The fetched tree that contains it.
    pub(super) tree: Option<PathBuf>,
}

impl Engine<'_> {
    /// Finds the function that a step of a frame refers to.
    pub(super) async fn locate(
        &mut self,
        place: &Place,
        frame: &Frame,
        layers: &Env,
    ) -> Result<Located, Failure> {
        let (source, file) = match place {
            Place::Local(file) => return self.local(file, frame).map_err(step_failure),
            Place::Git { url, rev, file } => {
                let source = Source::Git {
                    url: url.clone(),
                    rev: rev.clone(),
                };
                (source, file)
            }
            Place::Oci {
                registry,
                repository,
                tag,
                file,
            } => {
                let source = Source::Oci {
                    registry: registry.clone(),
                    repository: repository.clone(),
                    tag: tag.clone(),
                    platform: platform(),
                };
                (source, file)
            }
            Place::Builtin(name) => {
                return Err(step_failure(format!("builtin://{name} has no files")));
            }
        };
        let root = self.tree(source, layers).await?.root;
        let located = in_tree(&root, &root.join(&file.directory), file.name.as_deref());
        located.map_err(|words| step_failure(format!("{place}: {words}")))
    }

    /// Finds a function in the environment. Relative paths start at the directory of the frame.
    fn local(&self, file: &File, frame: &Frame) -> Result<Located, String> {
        let directory = frame.directory.join(&file.directory);
        let tree = if file.directory.starts_with('/') {
            self.trees.around(&directory)
        } else {
            frame.tree.as_deref()
        };
        match tree {
            Some(tree) => in_tree(tree, &directory, file.name.as_deref()),
            None => read(&directory, &directory, file.name.as_deref()),
        }
    }
}

/// Reads a function in a tree. Neither `..` nor a link may leave the tree.
fn in_tree(tree: &Path, directory: &Path, name: Option<&str>) -> Result<Located, String> {
    let shown = directory.strip_prefix(tree).unwrap_or(directory);
    let real = match directory.canonicalize() {
        Ok(real) => real,
        Err(error) if is_missing(&error) => return Err(missing(shown, name)),
        Err(error) => return Err(format!("cannot read {}: {error}", shown.display())),
    };
    for name in names(name) {
        let leads_out = real.join(name).canonicalize();
        let leads_out = leads_out.is_ok_and(|file| !file.starts_with(tree));
        if leads_out || !real.starts_with(tree) {
            let path = shown.join(name);
            let path = path.display();
            return Err(format!("{path} leads out of the repository or the image"));
        }
    }
    let located = read(&real, shown, name)?;
    Ok(Located {
        tree: Some(tree.to_owned()),
        ..located
    })
}

fn names(name: Option<&str>) -> Vec<&str> {
    name.map_or_else(|| FILES.to_vec(), |name| vec![name])
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn missing(directory: &Path, name: Option<&str>) -> String {
    let directory = match clean(directory).display().to_string() {
        directory if directory.is_empty() => "its root".to_owned(),
        directory => directory,
    };
    format!(
        "there is no {} in {directory}",
        names(name).join(" and no ")
    )
}

/// Reads a function in a directory, which messages show as `shown`.
fn read(directory: &Path, shown: &Path, name: Option<&str>) -> Result<Located, String> {
    for name in names(name) {
        let path = shown.join(name);
        match text_of(&directory.join(name)) {
            Ok(text) => {
                let function = Function::parse(&text)
                    .map_err(|wrong| format!("{}: {wrong}", path.display()))?;
                return Ok(Located {
                    function,
                    directory: clean(directory),
                    tree: None,
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        }
    }
    Err(missing(shown, name))
}

fn text_of(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        let words = format!("it is not a file of at most {LONGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    std::fs::read_to_string(path)
}

/// Returns a path without `.` components.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Returns a path below a directory; it need not exist.
///
/// # Errors
///
/// When the path leaves the directory.
pub(super) fn below(directory: &Path, path: &str) -> Result<PathBuf, String> {
    let relative = Path::new(path);
    let leads_out = relative.is_absolute()
        || path.contains('\0')
        || relative.components().any(|it| it == Component::ParentDir);
    if leads_out {
        return Err(format!("the path {path:?} leads out of its directory"));
    }
    Ok(clean(&directory.join(relative)))
}
