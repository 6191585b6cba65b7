use pipeline::glob::{Affixes, Glob, GlobError};

/// A pattern for the files that a job reads.
///
/// # Examples
///
/// ```
/// use pipeline_insight::affected::InputPattern;
///
/// let pattern = InputPattern::new("src/**")?;
/// assert!(pattern.is_match("src/a/b.c"));
/// assert!(!pattern.is_match("lib/src/b.c"));
/// // In a directory with unknown changes, a matching file may have changed.
/// assert!(InputPattern::new("vendor/lib/*.c")?.is_match("vendor/lib/"));
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
    /// A [`GlobError`] if its braces have too many alternatives.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let globs = expansions(text).into_iter().map(|text| Glob::new(&text));
        Ok(Self {
            globs: globs.collect::<Result<_, _>>()?,
        })
    }

    /// Returns whether a path matches, or may be a directory of a matching file.
    pub fn is_match(&self, path: &str) -> bool {
        if path.ends_with('/') {
            return self.may_match_in(path);
        }
        self.globs.iter().any(|glob| glob.is_match(path))
    }

    /// Returns whether a file in a directory may match, judged by the pattern's prefix.
    fn may_match_in(&self, directory: &str) -> bool {
        let mut affixes = self.affixes();
        affixes.any(|it| it.prefix.starts_with(directory) || directory.starts_with(&it.prefix))
    }

    /// Returns the prefix and suffix of all matching paths, for each alternative.
    pub(super) fn affixes(&self) -> impl Iterator<Item = Affixes> {
        self.globs.iter().flat_map(Glob::affixes)
    }
}

/// Returns the globs of a pattern.
fn expansions(text: &str) -> Vec<String> {
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
    let mut expansions = vec![text.to_owned()];
    if is_plain {
        expansions.push(format!("{text}/**/*"));
    }
    expansions
}
