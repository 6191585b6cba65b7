//! References to functions, which may contain expressions.

use super::error::LanguageError;
use super::expression::Template;
use super::place::{File, Place, with_scheme};
use std::fmt;

/// A reference to a function, as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A reference without expressions.
    Fixed(Place),
    /// A string with expressions.
    Dynamic(Template),
    /// Parts, of which some have expressions.
    Parts(Box<PlaceParts>),
}

/// A reference written as `git:` or `oci:`, in parts.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceParts {
    /// The repository or image.
    pub source: SourceParts,
    /// The directory; by default the root.
    pub dir: Option<Template>,
    /// The file name; by default one of the usual names.
    pub file: Option<Template>,
}

/// A repository or an image, in parts.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceParts {
    /// `git:`
    Git {
        /// The address of the repository.
        url: Template,
        /// The tag, branch or commit.
        rev: Template,
    },
    /// `oci:`
    Oci {
        /// The host of the registry.
        registry: Template,
        /// The name of the image.
        repository: Template,
        /// The tag or digest.
        tag: Template,
    },
}

impl Reference {
    /// Parses the value of `func` or `step`.
    ///
    /// # Errors
    ///
    /// When it is not a reference.
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        if !text.contains("${{") {
            return Place::parse(text).map(Self::Fixed);
        }
        let template = Template::parse(text)?;
        Ok(Self::Dynamic(template))
    }

    /// Returns a reference in parts.
    pub(super) fn of(parts: PlaceParts) -> Result<Self, LanguageError> {
        if !parts.is_plain() {
            return Ok(Self::Parts(Box::new(parts)));
        }
        parts.place(&|text, _| Ok(text.plain())).map(Self::Fixed)
    }
}

impl PlaceParts {
    const fn name(&self) -> &'static str {
        match self.source {
            SourceParts::Git { .. } => "git",
            SourceParts::Oci { .. } => "oci",
        }
    }

    /// Returns whether it has no expressions.
    pub(super) fn is_plain(&self) -> bool {
        let of_source = match &self.source {
            SourceParts::Git { url, rev } => vec![url, rev],
            SourceParts::Oci {
                registry,
                repository,
                tag,
            } => vec![registry, repository, tag],
        };
        let mut parts = of_source.into_iter().chain(&self.dir).chain(&self.file);
        parts.all(Template::is_plain)
    }

    /// Returns the place; `text_of` evaluates the part with a name.
    ///
    /// # Errors
    ///
    /// Errors of `text_of`, and parts that are not valid.
    pub fn place<E: From<LanguageError>>(
        &self,
        text_of: &dyn Fn(&Template, &str) -> Result<String, E>,
    ) -> Result<Place, E> {
        let wrong = |words: &dyn fmt::Display| {
            E::from(LanguageError::new(format!("{}: {words}", self.name())))
        };
        let part = |template: &Template, name: &str| {
            let text = text_of(template, name)?;
            if text.chars().any(char::is_control) {
                return Err(wrong(&format_args!("`{name}` contains control characters")));
            }
            Ok(text)
        };
        let required = |template: &Template, name: &str| {
            let text = part(template, name)?;
            if text.is_empty() {
                return Err(wrong(&format_args!("`{name}` is empty")));
            }
            Ok(text)
        };
        let file = || -> Result<File, E> {
            let dir = self.dir.as_ref().map(|it| part(it, "dir")).transpose()?;
            let name = self.file.as_ref().map(|it| part(it, "file")).transpose()?;
            file(&dir.unwrap_or_default(), name).map_err(|error| wrong(&error))
        };
        Ok(match &self.source {
            SourceParts::Git { url, rev } => Place::Git {
                url: with_scheme(&required(url, "url")?),
                rev: required(rev, "rev")?,
                file: file()?,
            },
            SourceParts::Oci {
                registry,
                repository,
                tag,
            } => Place::Oci {
                registry: required(registry, "registry")?,
                repository: required(repository, "repository")?,
                tag: required(tag, "tag")?,
                file: file()?,
            },
        })
    }
}

fn file(directory: &str, name: Option<String>) -> Result<File, LanguageError> {
    let leads_out = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    let is_no_name = |name: &str| name.contains('/') || [".", "..", ""].contains(&name);
    if leads_out(directory) || name.as_deref().is_some_and(is_no_name) {
        return Err(LanguageError::new(
            "`dir` must be below the root, and `file` a file name in it",
        ));
    }
    Ok(File {
        directory: directory.trim_matches('/').to_owned(),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated_later() {
        assert!(matches!(
            Reference::parse("./${{ inputs.which }}"),
            Ok(Reference::Dynamic(_))
        ));
        assert!(Reference::parse("./${{ x").is_err());
    }
}
