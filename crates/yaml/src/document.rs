use super::limits::{Limits, Stop};
use super::loader::Loader;
use super::node::Node;
use crate::diagnostic::{Checked, Diagnostic, Diagnostics};
use crate::source::{FileId, Span};
use std::ops::Range;
use std::sync::Arc;

/// The maximum number of parts of a file; the last takes the rest.
const MOST_PARTS: usize = 3;

/// GitLab's default limits on bytes and levels.
const GITLAB_BYTES: usize = 2 << 20;
const GITLAB_DEPTH: u16 = 100;

/// The relevant documents of one pipeline file.
#[derive(Debug, Clone)]
pub struct LoadedFile {
    /// The header: a document with `spec` before the content.
    pub header: Option<Arc<Node>>,
    /// The content, before the interpolation of inputs.
    pub content: Arc<Node>,
}

impl LoadedFile {
    /// Loads a text; messages call it `name`.
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
/// contain the file.
pub fn load(file: FileId, limits: &Limits, diagnostics: &mut Diagnostics) -> Option<LoadedFile> {
    let source = diagnostics.sources().file(file);
    let mut collected = Vec::new();
    let loaded = check_text(file, source.text())
        .and_then(|()| load_content(file, source.text(), limits, &mut collected));
    for diagnostic in collected {
        diagnostics.push(diagnostic);
    }
    match loaded {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            diagnostics.push(*error);
            None
        }
    }
}

/// Refuses texts that can be refused without parsing.
fn check_text(file: FileId, text: &str) -> Result<(), Stop> {
    if text.trim().is_empty() {
        let error = Diagnostic::error("empty-file", "the file is empty; it must define a job");
        let help = "the smallest pipeline is `hello: {script: echo hello}`".to_owned();
        let error = error.at(Span::of_offset(file, text, 0));
        return Err(error.with_help(help).into());
    }
    let Some(offset) = control_character(text) else {
        return Ok(());
    };
    let error = match text[offset..].chars().next() {
        Some('\0') => Diagnostic::error("nul-character", "the file contains a NUL character"),
        Some('\u{feff}') => {
            let message = "invalid YAML: a byte order mark begins a line inside the text";
            let help = "remove it; perhaps two files were joined here".to_owned();
            Diagnostic::error("yaml-syntax", message).with_help(help)
        }
        _ => {
            let message = "invalid YAML: control characters are not allowed";
            Diagnostic::error("yaml-syntax", message)
        }
    };
    Err(error.at(Span::of_offset(file, text, offset)).into())
}

/// Returns the offset of the first character that YAML does not allow anywhere.
fn control_character(text: &str) -> Option<usize> {
    // Nearly all files have no suspect byte at all.
    let is_suspect =
        |byte: &u8| matches!(byte, 0..=8 | 0xb | 0xc | 0xe..=0x1f | 0x7f | 0xc2 | 0xef);
    let mut from = 0;
    while let Some(at) = text.as_bytes()[from..].iter().position(is_suspect) {
        let offset = from + at;
        let character = text[offset..].chars().next()?;
        let is_refused = match character {
            '\u{85}' => false,
            // libyaml skips one at the start of a line and miscounts the columns there.
            '\u{feff}' => text[..offset].ends_with('\n'),
            '\u{fffe}' | '\u{ffff}' => true,
            character => character.is_control(),
        };
        if is_refused {
            return Some(offset);
        }
        from = offset + character.len_utf8();
    }
    None
}

/// Loads the documents.
///
/// A first document with `spec` is a header, and the last document is the content. Without a header
/// the first document counts; the others must be valid but are ignored, as in GitLab.
fn load_content(
    file: FileId,
    text: &str,
    limits: &Limits,
    collected: &mut Vec<Diagnostic>,
) -> Result<LoadedFile, Stop> {
    let mut documents = Vec::new();
    let mut blank = None;
    let mut has_more = false;
    for part in parts(text) {
        if text[part.clone()].trim().is_empty() {
            continue;
        }
        let mut loader = Loader::new(file, text, part, limits);
        let Some(node) = loader.load(collected)? else {
            continue;
        };
        has_more = loader.has_more();
        if node.is_blank() {
            blank = blank.or(Some(node));
        } else {
            documents.push(node);
        }
    }
    let Some(first) = documents.first().or(blank.as_ref()).cloned() else {
        let error = Diagnostic::error("empty-file", "the file has no value");
        return Err(error.at(Span::of_offset(file, text, 0)).into());
    };
    warn_of_limits(&first, text, collected);
    if documents.len() > 1 {
        if let Some(other) = documents.iter().find(|node| node.as_mapping().is_none()) {
            let kind = other.kind_name();
            let message = format!("each document of a pipeline file must be a hash, not {kind}");
            return Err(Diagnostic::error("invalid-file", message)
                .at(other.span)
                .into());
        }
        if first.get("spec").is_some() {
            let content = documents.pop().expect("there are two documents at least");
            warn_of_limits(&content, "", collected);
            return Ok(LoadedFile {
                header: Some(first),
                content,
            });
        }
        has_more = true;
    }
    if has_more {
        let message = "only the first document of the file is read; the others are ignored";
        let ignored = documents.get(1).unwrap_or(&first);
        collected.push(Diagnostic::warning("more-documents", message).at(ignored.span));
    }
    Ok(LoadedFile {
        header: None,
        content: first,
    })
}

/// Splits a text at lines that start with `---` and white space.
///
/// There are at most three parts; the text before the first such line is one of them. White space
/// after the dashes belongs to no part, including indentation.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while parts.len() < MOST_PARTS - 1
        && let Some(at) = memchr::memmem::find(&text.as_bytes()[from..], b"---")
    {
        let dashes = from + at;
        let behind = &text[dashes + 3..];
        let rest = behind.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
        let is_line_start = dashes == 0 || text.as_bytes()[dashes - 1] == b'\n';
        from = dashes + 3;
        if is_line_start && rest.len() < behind.len() {
            parts.push(start..dashes);
            start = text.len() - rest.len();
            from = start;
        }
    }
    parts.push(start..text.len());
    parts
}

/// Warns of a file that is accepted here but not by GitLab.
fn warn_of_limits(node: &Node, text: &str, collected: &mut Vec<Diagnostic>) {
    let mut warn = |message: String| {
        let help = "it is accepted here, but a GitLab with default settings refuses it".to_owned();
        let warning = Diagnostic::warning("gitlab-limit", message).at(node.span);
        collected.push(warning.with_help(help));
    };
    if text.len() > GITLAB_BYTES {
        let size = text.len();
        warn(format!(
            "the file has {size} bytes; GitLab reads at most {GITLAB_BYTES}"
        ));
    }
    if node.depth() > GITLAB_DEPTH {
        let depth = node.depth();
        warn(format!(
            "values are nested {depth} levels deep; GitLab reads at most {GITLAB_DEPTH}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let found: Vec<&str> = parts(text).into_iter().map(|part| &text[part]).collect();
        assert_eq!(found, expect, "the parts of {text:?}");
    }

    #[test]
    fn texts_are_split_at_dashes_followed_by_space() {
        check("a: 1\n", &["a: 1\n"]);
        check("---\na: 1\n", &["", "a: 1\n"]);
        check(
            "a\n---\nb\n--- # c\nd\n---\ne",
            &["a\n", "b\n", "# c\nd\n---\ne"],
        );
        check("a\n---\n---\nb", &["a\n", "", "b"]);
        check("a\n---\n\n  b: 1", &["a\n", "b: 1"]);
        check("a\n---", &["a\n---"]);
        check("a\n --- b\n---c\n----\n", &["a\n --- b\n---c\n----\n"]);
    }
}
