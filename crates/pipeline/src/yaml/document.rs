use super::Limits;
use super::loader::{Loader, Stop};
use super::node::Node;
use crate::diagnostic::{Checked, Diagnostic, Diagnostics};
use crate::source::{FileId, Span};
use std::sync::Arc;

/// The documents of one pipeline file that count.
#[derive(Debug, Clone)]
pub struct LoadedFile {
    /// The document before the content, when it has `spec`.
    pub header: Option<Arc<Node>>,
    /// What the file says of jobs; its inputs are not put in yet.
    pub content: Arc<Node>,
}

impl LoadedFile {
    /// Loads a text; `name` is what messages call it.
    pub fn from_text(name: &str, text: &str, limits: &Limits) -> Checked<Self> {
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.sources_mut().add(name, text);
        Checked {
            value: load(file, limits, &mut diagnostics),
            diagnostics,
        }
    }
}

/// Loads one pipeline file.
///
/// Returns nothing after an error; warnings and errors are added to `diagnostics`, whose sources
/// hold the file.
pub(crate) fn load(
    file: FileId,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Option<LoadedFile> {
    let source = diagnostics.sources().file(file);
    let mut findings = Vec::new();
    let loaded = check_text(file, source.text())
        .and_then(|()| load_content(file, source.text(), limits, &mut findings));
    for finding in findings {
        diagnostics.push(finding);
    }
    match loaded {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            diagnostics.push(*error);
            None
        }
    }
}

/// Refuses texts that need no parser to be refused.
fn check_text(file: FileId, text: &str) -> Result<(), Stop> {
    if text.trim().is_empty() {
        let error = Diagnostic::error("empty-file", "the file is empty; it must define a job");
        let help = "the smallest pipeline is `hello: {script: echo hello}`".to_owned();
        let error = error.at(Span::of_offset(file, text, 0));
        return Err(error.with_help(help).into());
    }
    if let Some(offset) = memchr::memchr(0, text.as_bytes()) {
        let error = Diagnostic::error("nul-character", "the file holds a NUL character");
        return Err(error.at(Span::of_offset(file, text, offset)).into());
    }
    Ok(())
}

/// Loads the documents.
///
/// A first document with `spec` is a header, and the last document is the content. Without a header
/// the first document counts and others are not looked at, as GitLab does it.
fn load_content(
    file: FileId,
    text: &str,
    limits: &Limits,
    findings: &mut Vec<Diagnostic>,
) -> Result<LoadedFile, Stop> {
    let mut loader = Loader::new(file, text, limits);
    let first = loader.next_document(findings)?;
    let first = first.ok_or_else(|| {
        Diagnostic::error("empty-file", "the file holds no value")
            .at(Span::of_offset(file, text, 0))
    })?;
    if !loader.has_more() {
        return Ok(LoadedFile {
            header: None,
            content: first,
        });
    }
    if first.get("spec").is_some() {
        let mut content = Arc::clone(&first);
        while let Some(next) = loader.next_document(findings)? {
            content = next;
        }
        return Ok(LoadedFile {
            header: Some(first),
            content,
        });
    }
    let message = "only the first document of the file is read; the others are ignored";
    findings.push(Diagnostic::warning("more-documents", message).at(first.span));
    Ok(LoadedFile {
        header: None,
        content: first,
    })
}
