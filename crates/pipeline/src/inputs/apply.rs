use super::access::Contexts;
use super::block::{PREFIX, blocks};
use super::header::{self, Header};
use super::input::InputDefinition;
use super::interpolate::{Interpolator, MOST_NODES, Progress, span_of};
use super::passed_inputs::Interpolation;
use super::resolve::resolve;
use std::collections::HashMap;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Severity};
use yaml::source::Span;
use yaml::{Kind, LoadedFile, Node};

/// Finds the files that a header includes: takes the validated value of `spec:include` and returns
/// their contents in order, or nothing after reporting an error.
pub(crate) type HeaderFiles<'a> =
    dyn FnMut(&Arc<Node>, &mut Diagnostics) -> Option<Vec<Arc<Node>>> + 'a;

/// Returns the content of a file with its inputs interpolated; nothing after an error.
pub(crate) fn apply(
    file: &LoadedFile,
    interpolation: &Interpolation<'_>,
    header_files: &mut HeaderFiles<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<Node>> {
    let Some(header) = &file.header else {
        return without_header(file, interpolation, diagnostics);
    };
    let mut collected = Vec::new();
    let header = header::read(header, &mut collected);
    hand_over(collected, diagnostics)?;
    let definitions = definitions(&header, header_files, diagnostics)?;

    let mut collected = Vec::new();
    let values = resolve(&definitions, interpolation, &mut collected);
    hand_over(collected, diagnostics)?;

    let mut collected = Vec::new();
    let mut interpolator = Interpolator {
        contexts: Contexts {
            inputs: &values,
            component: component(&header, interpolation.component, file.content.span),
        },
        variables: interpolation.variables,
        sources: diagnostics.sources(),
        collected: &mut collected,
        progress: Progress::default(),
    };
    let content = interpolator.replace(&file.content).ok();
    hand_over(collected, diagnostics)?;
    content
}

fn without_header(
    file: &LoadedFile,
    interpolation: &Interpolation<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<Node>> {
    let mut given = interpolation.passed.iter().chain(interpolation.chosen);
    let Some(given) = given.next() else {
        warn_of_blocks(&file.content, diagnostics);
        return Some(Arc::clone(&file.content));
    };
    let name = &given.name;
    let message = "given inputs not defined in the `spec` section of the included configuration \
                   file: it has no header";
    let help =
        format!("begin the file with a document `spec: {{inputs: {{{name}: }}}}` and a line `---`");
    let diagnostic = Diagnostic::error("inputs-without-header", message).at(given.span);
    diagnostics.push(
        diagnostic
            .with_related(file.content.span, "the file starts here")
            .with_help(help),
    );
    None
}

/// Warns of the first block of a file without a header, where GitLab leaves it as text.
fn warn_of_blocks(content: &Node, diagnostics: &mut Diagnostics) {
    let sources = diagnostics.sources();
    if !sources.file(content.span.file).text().contains(PREFIX) {
        return;
    }
    let mut nodes_left = MOST_NODES;
    let Some((whole, span)) = first_block(content, &mut nodes_left) else {
        return;
    };
    let message = format!("`{whole}` stays as it is: the file has no header that defines inputs");
    let help = "begin the file with a document `spec: {inputs: {name: }}` and a line `---`";
    let span = span_of(sources, &whole, span);
    let warning = Diagnostic::warning("block-without-header", message).at(span);
    diagnostics.push(warning.with_help(help.to_owned()));
}

/// Returns the first block that refers to an input or a component, with the location of its text. Those that refer to a
/// matrix need no header.
fn first_block(node: &Node, nodes_left: &mut usize) -> Option<(String, Span)> {
    *nodes_left = nodes_left.checked_sub(1)?;
    let in_text = |text: &str, span: Span| {
        let mut blocks = blocks(text).into_iter();
        let block = blocks.find(|block| {
            let data = &text[block.data.clone()];
            data.starts_with("inputs.") || data.starts_with("component.")
        });
        block.map(|block| (text[block.range].to_owned(), span))
    };
    match &node.kind {
        Kind::String(text) => in_text(text, node.span),
        Kind::Sequence(items) => {
            let mut items = items.iter();
            items.find_map(|item| first_block(item, nodes_left))
        }
        Kind::Mapping(entries) => entries.iter().find_map(|(key, entry)| {
            in_text(key, entry.key_span).or_else(|| first_block(&entry.value, nodes_left))
        }),
        _ => None,
    }
}

/// Reports the collected diagnostics; returns nothing when one of them is an error.
fn hand_over(collected: Vec<Diagnostic>, diagnostics: &mut Diagnostics) -> Option<()> {
    let has_errors = collected
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    for diagnostic in collected {
        diagnostics.push(diagnostic);
    }
    (!has_errors).then_some(())
}

/// Returns all declared inputs: those of included files first, then the header's own.
fn definitions(
    header: &Header,
    header_files: &mut HeaderFiles<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<InputDefinition>> {
    let Some(include) = &header.include else {
        return Some(header.inputs.clone());
    };
    let mut collected = Vec::new();
    let mut all: Vec<InputDefinition> = Vec::new();
    for file in header_files(include, diagnostics)? {
        all.extend(header::read_included(&file, &mut collected));
    }
    all.extend(header.inputs.iter().cloned());

    let mut seen: HashMap<&str, Span> = HashMap::new();
    for definition in &all {
        if let Some(before) = seen.insert(&definition.name, definition.key_span) {
            let message = format!(
                "duplicate input keys found: {}; input keys must be unique across included files \
                 and inline specifications",
                definition.name
            );
            let diagnostic = Diagnostic::error("duplicate-input", message).at(definition.key_span);
            collected.push(diagnostic.with_related(before, "also declared here"));
        }
    }
    hand_over(collected, diagnostics)?;
    Some(all)
}

/// Returns the fields of the component that the header lists.
fn component<'c>(
    header: &Header,
    known: &'c [(String, String)],
    span: Span,
) -> Vec<(&'c str, Arc<Node>)> {
    let allowed = known.iter().filter(|(name, _)| {
        let mut names = header.component.iter();
        names.any(|listed| listed.as_ref() == name.as_str())
    });
    let values = allowed.map(|(name, value)| {
        let kind = Kind::String(value.as_str().into());
        (name.as_str(), Arc::new(Node::new(kind, span)))
    });
    values.collect()
}
