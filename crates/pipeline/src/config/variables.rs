use super::reader::{Field, Reader};
use executor_core::job::VariableDefinition;
use indexmap::IndexMap;
use yaml::Kind;
use yaml::diagnostic::Diagnostic;
use yaml::source::Span;

/// Variables by name, in file order.
pub type Variables = IndexMap<String, VariableDefinition>;

/// Where variables are defined; the top level allows more keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Global,
    Job,
    Rule,
}

impl Place {
    fn words(self) -> &'static str {
        match self {
            Self::Global | Self::Job => "should be a scalar or a hash",
            Self::Rule => "must be a string: a rule sets no `expand` or `description`",
        }
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Global => &["value", "description", "options", "expand"],
            Self::Job => &["value", "expand"],
            Self::Rule => &[],
        }
    }
}

/// Reads `variables`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>, place: Place) -> Option<Variables> {
    let entries = reader.mapping(field)?;
    let mut variables = Variables::with_capacity(entries.len());
    for (name, entry) in entries {
        check_name(reader, name, entry.key_span);
        let path = field.path.child(name);
        let field = Field {
            node: &entry.value,
            path: &path,
        };
        if let Some(variable) = read_variable(reader, field, place) {
            variables.insert(name.to_string(), variable);
        }
    }
    Some(variables)
}

fn read_variable(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    place: Place,
) -> Option<VariableDefinition> {
    if place == Place::Rule || field.node.as_mapping().is_none() {
        let Some(text) = scalar(field) else {
            reader.refuse(field, place.words());
            return None;
        };
        return Some(VariableDefinition::Plain(text));
    }
    let (mut value, mut expand, mut options) = (None, true, None);
    reader.attributes(field, place.keys(), |reader, key, field| match key {
        "value" => match scalar(field) {
            Some(text) => value = Some(text),
            None => reader.refuse(field, "should be a scalar"),
        },
        "expand" => expand = reader.boolean(field).unwrap_or(true),
        "options" => options = reader.strings(field),
        _ => {
            if !matches!(field.node.kind, Kind::String(_) | Kind::Int(_)) {
                reader.refuse(field, "must be an alphanumeric string");
            }
        }
    });
    if let Some(options) = options
        && !value.as_ref().is_some_and(|value| options.contains(value))
    {
        let wrong = if value.is_some() { "value" } else { "options" };
        reader.refuse_part(field, wrong, "value must be one of its options");
    }
    let value = value.unwrap_or_default();
    Some(if expand {
        VariableDefinition::Plain(value)
    } else {
        let expand = Some(false);
        VariableDefinition::Detailed { value, expand }
    })
}

fn scalar(field: Field<'_>) -> Option<String> {
    field.node.to_scalar_text()
}

/// Warns of a name that cannot be an environment variable, although GitLab accepts it.
fn check_name(reader: &mut Reader<'_>, name: &str, span: Span) {
    if let Some(words) = variable_name_problem(name) {
        let message = format!("the variable name {name:?} {words}, so it cannot be set in any job");
        let warning = Diagnostic::warning("invalid-variable-name", message).at(span);
        reader.diagnostics.push(warning);
    }
}

/// Returns the problem with a variable's name, as the end of a sentence.
///
/// # Examples
///
/// ```
/// use pipeline::config::variable_name_problem;
///
/// assert_eq!(variable_name_problem("A=B"), Some("contains `=`"));
/// assert_eq!(variable_name_problem("LD_PRELOAD"), None);
/// ```
pub fn variable_name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.contains('=') {
        Some("contains `=`")
    } else if name.contains('\0') {
        Some("contains a NUL character")
    } else if name.contains(['\n', '\r']) {
        Some("contains a line break")
    } else {
        None
    }
}

/// Returns whether a node can be the value of a matrix variable: a string or an integer.
pub(super) fn is_matrix_value(kind: &Kind) -> bool {
    matches!(kind, Kind::String(_) | Kind::Int(_))
}
