use super::user_inputs::FileInput;
use executor_core::variable::JobVariables;
use indexmap::IndexMap;
use serde_json::Value;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::{Span, clamp};
use yaml::{Entry, Kind, Mapping, Node};

/// The maximum number of inputs passed to a pipeline.
const MOST_ARGUMENTS: usize = 20;

/// The inputs of the interpolation of one file.
#[derive(Debug)]
pub(crate) struct Interpolation<'a> {
    /// The values passed for its inputs.
    pub(crate) passed: PassedInputs,
    /// Values for every file that declares such an input; they override those passed.
    pub(crate) everywhere: &'a [FileInput],
    /// The values that the user chose for this file; they override all others.
    pub(crate) chosen: &'a [PassedInput],
    /// The include entry that passes them or could do so; absent for the pipeline's own file.
    pub(crate) site: Option<Span>,
    /// The fields of a component by name; empty for other files.
    pub(crate) component: &'a [(String, String)],
    /// The variables for `expand_vars`.
    pub(crate) variables: &'a JobVariables,
}

impl<'a> Interpolation<'a> {
    /// Returns the interpolation of a file without passed inputs.
    pub(crate) fn new(variables: &'a JobVariables) -> Self {
        Self {
            passed: PassedInputs::default(),
            everywhere: &[],
            chosen: &[],
            site: None,
            component: &[],
            variables,
        }
    }
}

/// The values passed for the inputs of a file.
#[derive(Debug, Clone, Default)]
pub struct PassedInputs {
    list: Vec<PassedInput>,
}

/// A value passed for an input.
#[derive(Debug, Clone)]
pub struct PassedInput {
    /// The input's name.
    pub name: Arc<str>,
    /// The location of the name.
    pub span: Span,
    /// The value.
    pub value: Arc<Node>,
}

impl<'a> IntoIterator for &'a PassedInputs {
    type Item = &'a PassedInput;
    type IntoIter = std::slice::Iter<'a, PassedInput>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PassedInputs {
    /// Returns the inputs passed by an `include` (`include:inputs`).
    pub fn from_mapping(inputs: &Mapping) -> Self {
        let given = inputs.iter().map(|(name, entry)| PassedInput {
            name: Arc::clone(name),
            span: entry.key_span,
            value: Arc::clone(&entry.value),
        });
        Self {
            list: given.collect(),
        }
    }

    /// Returns the inputs passed from outside of all files (`--input NAME=VALUE`), with a source
    /// text that diagnostics can point into. Text is later converted to the input's type.
    pub(crate) fn from_arguments(
        arguments: &IndexMap<String, Value>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        if arguments.is_empty() {
            return Self::default();
        }
        let shown = |value: &Value| value.as_str().map_or(value.to_string(), ToOwned::to_owned);
        let line = |(name, value): (&String, &Value)| {
            format!("{name}={}", shown(value)).replace(['\n', '\r'], " ")
        };
        let lines: Vec<String> = arguments.iter().map(line).collect();
        let file = diagnostics
            .sources_mut()
            .add("--input", lines.join("\n") + "\n");

        let mut start = 0;
        let spans = lines.iter().enumerate().map(|(at, line)| {
            let span = Span {
                file,
                line: clamp(at + 1),
                column: 1,
                start: clamp(start),
                end: clamp(start + line.len()),
            };
            start += line.len() + 1;
            span
        });
        let given = arguments.iter().zip(spans);
        let list: Vec<PassedInput> = given
            .map(|((name, value), span)| PassedInput {
                name: name.as_str().into(),
                span,
                value: node(value, span),
            })
            .collect();
        let of_pipeline = |input: &&PassedInput| !input.name.contains(':');
        if let Some(first) = list.iter().filter(of_pipeline).nth(MOST_ARGUMENTS) {
            let message = format!("a pipeline can take at most {MOST_ARGUMENTS} inputs");
            diagnostics.push(Diagnostic::error("too-many-inputs", message).at(first.span));
        }
        Self { list }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the values themselves.
    pub(super) fn into_vec(self) -> Vec<PassedInput> {
        self.list
    }

    /// Returns the values in order.
    pub fn iter(&self) -> std::slice::Iter<'_, PassedInput> {
        self.list.iter()
    }
}

/// Converts a JSON value to a node with the span `span`.
pub(super) fn node(value: &Value, span: Span) -> Arc<Node> {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(flag) => Kind::Bool(*flag),
        Value::Number(number) => match number.as_i128() {
            Some(whole) => Kind::Int(whole.into()),
            None => Kind::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Kind::String(text.as_str().into()),
        Value::Array(items) => Kind::Sequence(items.iter().map(|item| node(item, span)).collect()),
        Value::Object(entries) => Kind::Mapping(
            entries
                .iter()
                .map(|(key, value)| (Arc::from(key.as_str()), entry(node(value, span), span)))
                .collect(),
        ),
    };
    Arc::new(Node::new(kind, span))
}

fn entry(value: Arc<Node>, span: Span) -> Entry {
    Entry {
        key_span: span,
        key_is_text: true,
        merged: false,
        value,
    }
}
