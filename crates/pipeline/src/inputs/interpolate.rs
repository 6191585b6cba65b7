use super::access::Contexts;
use super::block::{PREFIX, blocks};
use super::function::{Function, MOST_FUNCTIONS};
use super::text::{LONGEST_TEXT, text_of};
use executor_core::variable::JobVariables;
use std::collections::HashMap;
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;
use yaml::source::{SourceMap, Span, clamp};
use yaml::{Entry, Kind, Mapping, Node};

/// The maximum number of distinct blocks of a file.
const MOST_BLOCKS: usize = 10_000;

/// The maximum number of visited nodes, including keys and followed aliases.
pub(super) const MOST_NODES: usize = 500_000;

/// The maximum length of a text of the file, in bytes.
const LONGEST_NODE: usize = 1 << 20;

/// The maximum number of nodes, and of bytes of text, in all inserted values.
const MOST_VALUES: usize = 2_000_000;
const MOST_TEXT: usize = 64 << 20;

/// Replaces the blocks of a content.
pub(super) struct Interpolator<'a> {
    pub(super) contexts: Contexts<'a>,
    pub(super) variables: &'a JobVariables,
    pub(super) sources: &'a SourceMap,
    pub(super) collected: &'a mut Vec<Diagnostic>,
    pub(super) progress: Progress,
}

/// The state of an interpolation.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The values of blocks by their text; `None` for an invalid one, which is reported once.
    blocks: HashMap<String, Option<Arc<Node>>>,
    visited: usize,
    values: usize,
    text: usize,
}

/// The interpolation was aborted; the reason is among the collected diagnostics.
pub(super) struct Stop;

impl Interpolator<'_> {
    /// Returns a node with its blocks replaced; the node itself when it has none.
    pub(super) fn replace(&mut self, node: &Arc<Node>) -> Result<Arc<Node>, Stop> {
        self.visit(node.span)?;
        let kind = match &node.kind {
            Kind::String(text) => return self.replace_text(text, node),
            Kind::Sequence(items) => self.replace_items(items)?.map(Kind::Sequence),
            Kind::Mapping(entries) => self.replace_entries(entries)?.map(Kind::Mapping),
            // GitLab does not interpolate references.
            _ => None,
        };
        Ok(kind.map_or_else(
            || Arc::clone(node),
            |kind| Arc::new(Node::new(kind, node.span)),
        ))
    }

    fn visit(&mut self, span: Span) -> Result<(), Stop> {
        self.progress.visited += 1;
        if self.progress.visited > MOST_NODES {
            let words = format!("config too large: more than {MOST_NODES} values");
            return Err(self.stop(words, span));
        }
        Ok(())
    }

    /// Returns the new items if one of them changed.
    fn replace_items(&mut self, items: &[Arc<Node>]) -> Result<Option<Vec<Arc<Node>>>, Stop> {
        let mut replaced: Option<Vec<Arc<Node>>> = None;
        for (at, item) in items.iter().enumerate() {
            let new = self.replace(item)?;
            if replaced.is_none() && !Arc::ptr_eq(&new, item) {
                replaced = Some(items[..at].to_vec());
            }
            let Some(replaced) = &mut replaced else {
                continue;
            };
            match (&item.kind, &new.kind) {
                // A list that replaces a text is spliced into this list.
                (Kind::String(_), Kind::Sequence(inner)) => replaced.extend(inner.iter().cloned()),
                _ => replaced.push(new),
            }
        }
        Ok(replaced)
    }

    /// Returns the new entries if a key or a value changed.
    fn replace_entries(&mut self, entries: &Mapping) -> Result<Option<Mapping>, Stop> {
        let mut replaced: Option<Mapping> = None;
        for (at, (key, entry)) in entries.iter().enumerate() {
            self.visit(entry.key_span)?;
            let new_key = self.replace_key(key, entry)?;
            let value = self.replace(&entry.value)?;
            if replaced.is_none() && (new_key.is_some() || !Arc::ptr_eq(&value, &entry.value)) {
                let before = entries.iter().take(at);
                replaced = Some(
                    before
                        .map(|(key, entry)| (Arc::clone(key), entry.clone()))
                        .collect(),
                );
            }
            let Some(replaced) = &mut replaced else {
                continue;
            };
            let (key, key_is_text) = new_key.unwrap_or((Arc::clone(key), entry.key_is_text));
            let entry = Entry {
                key_is_text,
                value,
                ..entry.clone()
            };
            let span = entry.key_span;
            if let Some(before) = replaced.insert(Arc::clone(&key), entry) {
                let message = format!("`{key}` is given twice; the last one counts");
                let diagnostic = Diagnostic::warning("duplicate-key", message).at(span);
                self.collected
                    .push(diagnostic.with_related(before.key_span, "first given here"));
            }
        }
        Ok(replaced)
    }

    /// Returns a key's new text and whether it is a string, if it has blocks.
    fn replace_key(&mut self, key: &str, entry: &Entry) -> Result<Option<(Arc<str>, bool)>, Stop> {
        if !key.contains(PREFIX) {
            return Ok(None);
        }
        let node = Arc::new(Node::new(Kind::String(key.into()), entry.key_span));
        let new = self.replace_text(key, &node)?;
        if Arc::ptr_eq(&new, &node) {
            return Ok(None);
        }
        if let Some(text) = new.as_str() {
            return Ok(Some((text.into(), true)));
        }
        let text = new.to_scalar_text().unwrap_or_else(|| {
            let message = format!("a key cannot be {}", new.kind_name());
            self.collected
                .push(Diagnostic::error("invalid-key", message).at(entry.key_span));
            key.to_owned()
        });
        Ok(Some((text.into(), false)))
    }

    fn replace_text(&mut self, text: &str, node: &Arc<Node>) -> Result<Arc<Node>, Stop> {
        if text.len() > LONGEST_NODE {
            let words = format!("config node too large: more than {LONGEST_NODE} bytes");
            return Err(self.stop(words, node.span));
        }
        if !text.contains(PREFIX) {
            return Ok(Arc::clone(node));
        }
        let found = blocks(text);
        let mut values = Vec::with_capacity(found.len());
        for block in &found {
            let (whole, data) = (&text[block.range.clone()], &text[block.data.clone()]);
            match self.block_value(whole, data, node.span)? {
                Some(value) => values.push((whole, value)),
                None => return Ok(Arc::clone(node)),
            }
        }
        match values.as_slice() {
            [] => Ok(Arc::clone(node)),
            [(whole, value)] if whole.len() == text.len() => self.placed(value, node.span),
            _ => self.substituted(text, &values, node.span),
        }
    }

    /// Returns the value of a block; `None` when it is invalid.
    fn block_value(
        &mut self,
        whole: &str,
        data: &str,
        span: Span,
    ) -> Result<Option<Arc<Node>>, Stop> {
        if let Some(value) = self.progress.blocks.get(whole) {
            return Ok(value.clone());
        }
        if self.progress.blocks.len() >= MOST_BLOCKS {
            let words = format!("too many interpolation blocks: more than {MOST_BLOCKS}");
            return Err(self.stop(words, span));
        }
        let value = match self.evaluate(whole, data, span) {
            Ok(value) => Some(value),
            Err(diagnostic) => {
                // The block is located only on error: a text may have thousands.
                let diagnostic = diagnostic.at(span_of(self.sources, whole, span));
                self.collected.push(diagnostic);
                None
            }
        };
        self.progress.blocks.insert(whole.to_owned(), value.clone());
        Ok(value)
    }

    fn evaluate(&self, whole: &str, data: &str, span: Span) -> Result<Arc<Node>, Box<Diagnostic>> {
        let error = |message: String| Diagnostic::error("invalid-interpolation", message);
        // Empty parts at the end are ignored.
        let data = data.trim_end_matches('|');
        let mut parts = data.split('|').map(str::trim);
        let access = parts.next().unwrap_or_default();
        if access.split('.').next() == Some("matrix") {
            return Ok(Arc::new(Node::new(Kind::String(whole.into()), span)));
        }
        let value = self.contexts.value(access);
        let mut value = value.map_err(|why| error(why.message).with_help(why.help))?;
        let calls: Vec<&str> = parts.collect();
        if calls.len() > MOST_FUNCTIONS {
            let help = format!("a block may have at most {MOST_FUNCTIONS} functions");
            let diagnostic = error("too many functions in interpolation block".to_owned());
            return Err(diagnostic.with_help(help).into());
        }
        let mut functions = Vec::new();
        for call in calls {
            functions.push(Function::parse(call).ok_or_else(|| {
                let message = format!(
                    "no function matching `{call}`: check that the function name, arguments, and \
                     types are correct"
                );
                let help = "there are `truncate(offset,length)`, `expand_vars` and `posix_escape`";
                error(message).with_help(help.to_owned())
            })?);
        }
        for function in functions {
            value = function.call(&value, self.variables).map_err(error)?;
        }
        Ok(value)
    }

    /// Returns a value as a node with the span `span`.
    fn placed(&mut self, value: &Arc<Node>, span: Span) -> Result<Arc<Node>, Stop> {
        let weight = value.weight() as usize;
        self.progress.values = self.progress.values.saturating_add(weight);
        if self.progress.values > MOST_VALUES {
            let words = format!("config too large: inputs bring more than {MOST_VALUES} values");
            return Err(self.stop(words, span));
        }
        Ok(moved(value, span))
    }

    /// Inserts the values into a longer text, one after the other.
    fn substituted(
        &mut self,
        text: &str,
        values: &[(&str, Arc<Node>)],
        span: Span,
    ) -> Result<Arc<Node>, Stop> {
        let mut result = text.to_owned();
        // The first of several equal blocks replaces them all, unless a value inserted later
        // contains the block again; so search again only after the text changed.
        let mut changes = 0_usize;
        let mut absent_at: HashMap<&str, usize> = HashMap::new();
        for (whole, value) in values {
            if absent_at.get(whole) == Some(&changes) {
                continue;
            }
            if !result.contains(whole) {
                absent_at.insert(whole, changes);
                continue;
            }
            let replaced = text_of(value).and_then(|text| substitute(&result, whole, &text));
            let Some(replaced) = replaced else {
                return Err(self.stop("config node too large".to_owned(), span));
            };
            result = replaced;
            changes += 1;
            self.progress.text += result.len();
            if self.progress.text > MOST_TEXT {
                return Err(self.stop("config too large".to_owned(), span));
            }
        }
        Ok(Arc::new(Node::new(Kind::String(result.into()), span)))
    }

    fn stop(&mut self, words: String, span: Span) -> Stop {
        self.collected
            .push(Diagnostic::error("interpolation-limit", words).at(span));
        Stop
    }
}

/// Returns the location of a block in the text at `span`; `span` itself unless the block is verbatim in the file.
pub(super) fn span_of(sources: &SourceMap, whole: &str, span: Span) -> Span {
    let text = sources.file(span.file).text();
    let written = text.get(span.bytes()).unwrap_or_default();
    let Some(at) = written.find(whole) else {
        return span;
    };
    let before = &written[..at];
    let lines = before.matches('\n').count();
    let column = match before.rfind('\n') {
        Some(line) => before[line + 1..].chars().count() + 1,
        None => span.column as usize + before.chars().count(),
    };
    Span {
        line: span.line + clamp(lines),
        column: clamp(column),
        start: span.start + clamp(at),
        end: span.start + clamp(at + whole.len()),
        ..span
    }
}

/// Returns a value with all its spans set to `span`.
fn moved(value: &Arc<Node>, span: Span) -> Arc<Node> {
    let kind = match &value.kind {
        Kind::Sequence(items) => {
            Kind::Sequence(items.iter().map(|item| moved(item, span)).collect())
        }
        Kind::Mapping(entries) => {
            let moved = entries.iter().map(|(key, entry)| {
                let entry = Entry {
                    key_span: span,
                    value: moved(&entry.value, span),
                    ..entry.clone()
                };
                (Arc::clone(key), entry)
            });
            Kind::Mapping(moved.collect())
        }
        kind => kind.clone(),
    };
    Arc::new(Node::new(kind, span))
}

/// Replaces every `block` in a text. As in GitLab, backslash sequences in the replacement are
/// special. `None` when the result is too long.
fn substitute(text: &str, block: &str, replacement: &str) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(block) {
        result.push_str(&text[from..at]);
        from = at + block.len();
        push_replacement(&mut result, replacement, block, &text[..at], &text[from..]);
        if result.len() > LONGEST_TEXT {
            return None;
        }
    }
    result.push_str(&text[from..]);
    (result.len() <= LONGEST_TEXT).then_some(result)
}

fn push_replacement(out: &mut String, replacement: &str, block: &str, before: &str, after: &str) {
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let sign = tail.chars().next();
        match sign {
            Some('0' | '&') => out.push_str(block),
            Some('`') => out.push_str(before),
            Some('\'') => out.push_str(after),
            Some('\\') | None => out.push('\\'),
            Some('1'..='9') => {}
            Some(other) => out.extend(['\\', other]),
        }
        rest = &tail[sign.map_or(0, char::len_utf8)..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_in_a_value_are_special_inside_a_longer_text() {
        let check = |value: &str, expect: &str| {
            assert_eq!(
                substitute("a B c", "B", value).as_deref(),
                Some(expect),
                "{value:?}"
            );
        };
        check("x", "a x c");
        check("x\\'y", "a x cy c");
        check("x\\`y", "a xa y c");
        check("\\0\\&\\1", "a BB c");
        check("\\\\", "a \\ c");
        check("\\é\\", "a \\é\\ c");
    }
}
