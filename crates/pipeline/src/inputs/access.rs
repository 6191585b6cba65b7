use super::resolve::Values;
use std::sync::Arc;
use yaml::Node;
use yaml::suggest::did_you_mean;

/// The maximum number of parts of a path; the last takes the rest, including dots.
const MOST_PARTS: usize = 5;

/// The maximum number of indexes of a part.
const MOST_INDEXES: usize = 5;

/// The maximum length of a path, in bytes.
const LONGEST: usize = 1024;

/// The contexts that blocks can refer to.
#[derive(Debug)]
pub(super) struct Contexts<'a> {
    /// The values of the inputs.
    pub(super) inputs: &'a Values,
    /// The fields of the component that the header lists.
    pub(super) component: Vec<(&'a str, Arc<Node>)>,
}

/// Why a path has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AccessError {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl AccessError {
    fn new(message: impl Into<String>, help: Option<String>) -> Self {
        let message = message.into();
        Self { message, help }
    }
}

impl Contexts<'_> {
    /// Returns the value at a path such as `inputs.name` or `inputs.list[0].key`.
    pub(super) fn value(&self, path: &str) -> Result<Arc<Node>, AccessError> {
        if path.len() > LONGEST {
            let message = "maximum interpolation expression size exceeded";
            return Err(AccessError::new(message, None));
        }
        let Some((context, rest)) = path.split_once('.') else {
            let help = format!("a block names an input as `inputs.NAME`, not `{path}`");
            return Err(AccessError::new(
                "invalid interpolation access pattern",
                Some(help),
            ));
        };
        let mut parts = rest.splitn(MOST_PARTS - 1, '.');
        let (name, indexes) = split_indexes(parts.next().unwrap_or_default())?;
        let mut value = indexed(self.first(context, name)?, name, &indexes)?;
        for part in parts {
            let (name, indexes) = split_indexes(part)?;
            let found = value
                .get(name)
                .cloned()
                .ok_or_else(|| unknown(name, None))?;
            value = indexed(found, name, &indexes)?;
        }
        Ok(value)
    }

    fn first(&self, context: &str, name: &str) -> Result<Arc<Node>, AccessError> {
        match context {
            "inputs" => self.inputs.get(name).cloned().ok_or_else(|| {
                let help = did_you_mean(name, self.inputs.keys().map(AsRef::as_ref));
                let other =
                    || format!("declare it in the header: `spec: {{inputs: {{{name}: }}}}`");
                unknown(name, help.or_else(|| Some(other())))
            }),
            "component" => {
                let found = self.component.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| Arc::clone(value)).ok_or_else(|| {
                    let help = "of a component's `name`, `sha`, `version` and `reference`, those listed in \
                                `spec:component` are available";
                    unknown(name, Some(help.to_owned()))
                })
            }
            _ => {
                let help = did_you_mean(context, ["inputs", "component", "matrix"]);
                Err(unknown(context, help))
            }
        }
    }
}

fn unknown(key: &str, help: Option<String>) -> AccessError {
    AccessError::new(format!("unknown interpolation key: `{key}`"), help)
}

/// Splits `name[0][1]` into the name and its indexes.
fn split_indexes(part: &str) -> Result<(&str, Vec<usize>), AccessError> {
    let Some(at) = part.find('[') else {
        return Ok((part, Vec::new()));
    };
    let (name, brackets) = part.split_at(at);
    let inner = brackets
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let index = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().unwrap_or(usize::MAX))
    };
    let indexes: Option<Vec<usize>> =
        inner.and_then(|inner| inner.split("][").map(index).collect());
    match indexes {
        Some(indexes) if indexes.len() <= MOST_INDEXES => Ok((name, indexes)),
        Some(_) => {
            let message = format!("too many array indexes in `{part}`: at most {MOST_INDEXES}");
            Err(AccessError::new(message, None))
        }
        None => {
            let help = "an index is an integer in brackets, such as `inputs.list[0]`";
            let message = format!("invalid array index in `{part}`");
            Err(AccessError::new(message, Some(help.to_owned())))
        }
    }
}

fn indexed(value: Arc<Node>, name: &str, indexes: &[usize]) -> Result<Arc<Node>, AccessError> {
    let mut value = value;
    for &index in indexes {
        let Some(items) = value.as_sequence() else {
            let message = format!(
                "cannot index `{name}`: it is {}, not an array",
                value.kind_name()
            );
            return Err(AccessError::new(message, None));
        };
        let count = items.len();
        let item = items.get(index).cloned().ok_or_else(|| {
            let message =
                format!("array index {index} is out of range: `{name}` has {count} items");
            AccessError::new(message, None)
        })?;
        value = item;
    }
    Ok(value)
}
