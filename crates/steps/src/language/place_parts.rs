//! References written as `git:` or `oci:`, whose parts may contain expressions.

use super::error::LanguageError;
use super::expression::Template;
use super::fields::Fields;
use super::reference::{File, Place, with_scheme};
use super::yaml::Node;
use std::fmt;

/// A reference in parts, as written.
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

impl PlaceParts {
    /// Reads the value of `git`.
    pub(super) fn git(node: Node) -> Result<Self, LanguageError> {
        let mut fields = Fields::of("git", node)?;
        let source = SourceParts::Git {
            url: required(&mut fields, "url")?,
            rev: required(&mut fields, "rev")?,
        };
        Self::in_source(source, fields)
    }

    /// Reads the value of `oci`.
    pub(super) fn oci(node: Node) -> Result<Self, LanguageError> {
        let mut fields = Fields::of("oci", node)?;
        let source = SourceParts::Oci {
            registry: required(&mut fields, "registry")?,
            repository: required(&mut fields, "repository")?,
            tag: required(&mut fields, "tag")?,
        };
        Self::in_source(source, fields)
    }

    fn in_source(source: SourceParts, mut fields: Fields) -> Result<Self, LanguageError> {
        let (dir, file) = (fields.take_template("dir")?, fields.take_template("file")?);
        fields.end()?;
        Ok(Self { source, dir, file })
    }

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

fn required(fields: &mut Fields, key: &str) -> Result<Template, LanguageError> {
    let template = fields.take_template(key)?;
    let template = template.filter(|template| !template.source().is_empty());
    template.ok_or_else(|| fields.error(format_args!("`{key}` is missing")))
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
