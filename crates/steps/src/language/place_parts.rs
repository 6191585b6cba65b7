//! References that are written as `git:` or `oci:`, whose parts are texts with expressions.

use super::error::LanguageError;
use super::expression::Template;
use super::fields::Fields;
use super::reference::{File, Place, with_scheme};
use super::yaml::Node;
use std::fmt;

/// A reference in parts, as somebody wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceParts {
    /// What it is in.
    pub source: SourceParts,
    /// The directory in it; the root if it is not named.
    pub dir: Option<Template>,
    /// The file in that; the usual names if it is not named.
    pub file: Option<Template>,
}

/// A repository or an image, in parts.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceParts {
    /// `git:`
    Git {
        /// Where the repository is.
        url: Template,
        /// The tag, branch or commit.
        rev: Template,
    },
    /// `oci:`
    Oci {
        /// The registry's host.
        registry: Template,
        /// The image's name there.
        repository: Template,
        /// Its tag, or its digest.
        tag: Template,
    },
}

impl PlaceParts {
    /// Reads what stands under `git`.
    pub(super) fn git(node: Node) -> Result<Self, LanguageError> {
        let mut fields = Fields::of("git", node)?;
        let source = SourceParts::Git {
            url: needed(&mut fields, "url")?,
            rev: needed(&mut fields, "rev")?,
        };
        Self::in_source(source, fields)
    }

    /// Reads what stands under `oci`.
    pub(super) fn oci(node: Node) -> Result<Self, LanguageError> {
        let mut fields = Fields::of("oci", node)?;
        let source = SourceParts::Oci {
            registry: needed(&mut fields, "registry")?,
            repository: needed(&mut fields, "repository")?,
            tag: needed(&mut fields, "tag")?,
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

    /// Returns the place; `text_of` says what a part of this name stands for.
    ///
    /// # Errors
    ///
    /// Those of `text_of`, and what is no part of a reference.
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
                return Err(wrong(&format_args!("`{name}` holds control characters")));
            }
            Ok(text)
        };
        let needed = |template: &Template, name: &str| {
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
                url: with_scheme(&needed(url, "url")?),
                rev: needed(rev, "rev")?,
                file: file()?,
            },
            SourceParts::Oci {
                registry,
                repository,
                tag,
            } => Place::Oci {
                registry: needed(registry, "registry")?,
                repository: needed(repository, "repository")?,
                tag: needed(tag, "tag")?,
                file: file()?,
            },
        })
    }
}

fn needed(fields: &mut Fields, key: &str) -> Result<Template, LanguageError> {
    let template = fields.take_template(key)?;
    let template = template.filter(|template| !template.source().is_empty());
    template.ok_or_else(|| fields.wrong(format_args!("`{key}` is missing")))
}

fn file(directory: &str, name: Option<String>) -> Result<File, LanguageError> {
    let leads_out = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    let is_no_name = |name: &str| name.contains('/') || [".", "..", ""].contains(&name);
    if leads_out(directory) || name.as_deref().is_some_and(is_no_name) {
        return Err(LanguageError::new(
            "`dir` is below the root, and `file` is in it",
        ));
    }
    Ok(File {
        directory: directory.trim_matches('/').to_owned(),
        name,
    })
}
