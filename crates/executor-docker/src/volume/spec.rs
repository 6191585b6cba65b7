/// A volume in the format of the settings.
///
/// `source:destination[:options]` mounts a directory of the host or a named volume. A bare destination is a cache, a
/// volume that outlives the job. A relative destination is below the project's directory.
///
/// # Examples
///
/// ```
/// use executor_docker::volume::{Source, VolumeSpec};
///
/// let spec = VolumeSpec::parse("/srv/data:/data:ro", "/builds/group/app")?;
/// assert_eq!(spec.source, Source::Host("/srv/data".into()));
/// assert_eq!(spec.destination, "/data");
///
/// let cache = VolumeSpec::parse("target", "/builds/group/app")?;
/// assert_eq!(cache.source, Source::Cache);
/// assert_eq!(cache.destination, "/builds/group/app/target");
/// # Ok::<(), executor_docker::volume::VolumeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VolumeSpec {
    /// The source.
    pub source: Source,
    /// The absolute path in the container.
    pub destination: String,
    /// The options in their order: `ro`, `z`.
    pub options: Vec<String>,
}

/// The source of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A path of the engine's host.
    Host(String),
    /// A volume with this name.
    Named(String),
    /// Our own volume, which outlives the job.
    Cache,
}

/// A text that is not a volume.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a volume: {reason}")]
pub struct VolumeError {
    text: String,
    reason: &'static str,
}

/// The known options: access, labels of SELinux, propagation, copying.
const OPTIONS: [&str; 14] = [
    "ro",
    "rw",
    "z",
    "Z",
    "shared",
    "rshared",
    "slave",
    "rslave",
    "private",
    "rprivate",
    "nocopy",
    "consistent",
    "cached",
    "delegated",
];

impl VolumeSpec {
    /// Parses a volume, after references to variables are expanded.
    ///
    /// # Errors
    ///
    /// When a path is empty, relative where it must be absolute, or contains `..`; when a name or an option is invalid.
    pub fn parse(text: &str, project_dir: &str) -> Result<Self, VolumeError> {
        let wrong = |reason| VolumeError {
            text: text
                .chars()
                .filter(|it| !it.is_control())
                .take(200)
                .collect(),
            reason,
        };
        if text.contains(char::is_control) {
            return Err(wrong("it has a control character"));
        }
        let parts: Vec<&str> = text.split(':').collect();
        let (source, destination, options) = match *parts.as_slice() {
            [destination] => (None, destination, ""),
            // Options have no other meaning: no destination is named like them.
            [destination, options] if are_options(options) => (None, destination, options),
            [source, destination] => (Some(source), destination, ""),
            [source, destination, options] => (Some(source), destination, options),
            _ => return Err(wrong("it has too many colons")),
        };
        if !options.is_empty() && !are_options(options) {
            return Err(wrong("it has an unknown option"));
        }
        Ok(Self {
            source: source
                .map_or(Ok(Source::Cache), read_source)
                .map_err(wrong)?,
            destination: clean(destination, project_dir).map_err(wrong)?,
            options: options
                .split(',')
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }

    /// Returns whether it is read-only.
    pub fn is_read_only(&self) -> bool {
        self.options.iter().any(|it| it == "ro")
    }

    /// Returns the bind in the engine's format, `source:destination[:options]`, for a real path or the name of a volume.
    ///
    /// # Errors
    ///
    /// When the path contains a colon, the engine's separator.
    pub fn bind(&self, source: &str) -> Result<String, VolumeError> {
        if source.contains(':') || source.contains(char::is_control) {
            return Err(VolumeError {
                text: source
                    .chars()
                    .filter(|it| !it.is_control())
                    .take(200)
                    .collect(),
                reason: "its real path has a colon",
            });
        }
        let mut bind = format!("{source}:{}", self.destination);
        if !self.options.is_empty() {
            bind.push(':');
            bind.push_str(&self.options.join(","));
        }
        Ok(bind)
    }
}

fn are_options(text: &str) -> bool {
    !text.is_empty() && text.split(',').all(|it| OPTIONS.contains(&it))
}

fn read_source(source: &str) -> Result<Source, &'static str> {
    if source.starts_with('/') {
        return Ok(Source::Host(source.to_owned()));
    }
    let known = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
    let first = |it: char| it.is_ascii_alphanumeric();
    if source.starts_with(first)
        && source.len() > 1
        && source.len() <= 200
        && source.chars().all(known)
    {
        return Ok(Source::Named(source.to_owned()));
    }
    Err("its source is neither an absolute path nor the name of a volume")
}

/// Returns an absolute path without `.` and double slashes.
fn clean(destination: &str, project_dir: &str) -> Result<String, &'static str> {
    if destination.is_empty() {
        return Err("its destination is empty");
    }
    let whole = if destination.starts_with('/') {
        destination.to_owned()
    } else {
        format!("{project_dir}/{destination}")
    };
    let mut path = String::new();
    for part in whole.split('/').filter(|it| !it.is_empty() && *it != ".") {
        if part == ".." {
            return Err("its destination has a `..`");
        }
        path.push('/');
        path.push_str(part);
    }
    if path.is_empty() {
        return Err("its destination is the container's root");
    }
    Ok(path)
}
