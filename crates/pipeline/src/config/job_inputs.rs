//! `inputs` of a job: values that the user may choose when starting it.

use super::reader::{Field, Reader};
use crate::inputs::read_job_input;
use executor_core::job::{JobInputDefinition, JobInputDefinitions};
use yaml::Node;

/// The maximum number of inputs of a job.
const MOST_INPUTS: usize = 50;

/// Reads `inputs`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<JobInputDefinitions> {
    let entries = reader.mapping(field)?;
    if entries.len() > MOST_INPUTS {
        let words = format!("has too many entries (maximum is {MOST_INPUTS})");
        reader.refuse(field, words);
        return None;
    }
    let path = field.path.parent().map(ToString::to_string);
    let path = path.unwrap_or_default();
    let mut inputs = JobInputDefinitions::new();
    for (name, entry) in entries {
        let Some(definition) = read_job_input(&path, name, entry, reader.diagnostics) else {
            continue;
        };
        let given = |key: &str| entry.value.get(key).filter(|value| !value.is_null());
        let json = |node: &Node| node.to_json();
        let input = JobInputDefinition {
            kind: definition.kind.name().to_owned(),
            default: given("default").map(|node| json(node)).unwrap_or_default(),
            description: given("description").map(|node| json(node)),
            options: given("options").and_then(|node| {
                let options = node.as_sequence()?;
                Some(options.iter().map(|option| json(option)).collect())
            }),
            regex: given("regex").and_then(|node| node.as_str().map(ToOwned::to_owned)),
        };
        inputs.insert(name.to_string(), input);
    }
    Some(inputs)
}
