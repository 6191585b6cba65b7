use pipeline::glob::{Affixes, Glob, GlobError};

/// A pattern for the files that a job reads.
///
/// # Examples
///
/// ```
/// use pipeline_insight::affected::InputPattern;
///
/// let pattern = InputPattern::new("src/**")?;
/// assert!(pattern.fits("src/a/b.c"));
/// assert!(!pattern.fits("lib/src/b.c"));
/// // Of a folder that is not known, something that fits may have changed.
/// assert!(InputPattern::new("vendor/lib/*.c")?.fits("vendor/lib/"));
/// # Ok::<(), pipeline::glob::GlobError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPattern {
    globs: Vec<Glob>,
}

impl InputPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// When its braces stand for too much.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let globs = readings(text).into_iter().map(|text| Glob::new(&text));
        Ok(Self {
            globs: globs.collect::<Result<_, _>>()?,
        })
    }

    /// Returns whether a path fits, or may be a folder of what fits.
    pub fn fits(&self, path: &str) -> bool {
        if path.ends_with('/') {
            return self.may_reach(path);
        }
        self.globs.iter().any(|glob| glob.is_match(path))
    }

    /// Returns whether something in a folder may fit: nothing in the pattern's beginning says that it
    /// cannot.
    fn may_reach(&self, folder: &str) -> bool {
        let mut affixes = self.affixes();
        affixes.any(|it| it.prefix.starts_with(folder) || folder.starts_with(&it.prefix))
    }

    /// Returns what all that fits begins and ends with, for each way to fit.
    pub(super) fn affixes(&self) -> impl Iterator<Item = Affixes> {
        self.globs.iter().flat_map(Glob::affixes)
    }
}

/// Returns the globs that a pattern stands for.
fn readings(text: &str) -> Vec<String> {
    let mut text = text;
    while let Some(rest) = text.strip_prefix("./").or_else(|| text.strip_prefix('/')) {
        text = rest;
    }
    if text.is_empty() || text == "." {
        return vec!["**/*".to_owned()];
    }
    if text.ends_with('/') {
        return vec![format!("{text}**/*")];
    }
    let last = text.rsplit('/').next().unwrap_or(text);
    if last == "**" {
        return vec![format!("{text}/*")];
    }
    let is_plain = !last.contains(['*', '?', '[', '\\']);
    let mut readings = vec![text.to_owned()];
    if is_plain {
        readings.push(format!("{text}/**/*"));
    }
    readings
}
