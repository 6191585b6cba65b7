use super::reader::{Field, Reader};
use super::script::read_commands;
use executor_core::job::HooksDefinition;

/// Reads `hooks`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<HooksDefinition> {
    reader.mapping(field)?;
    let mut hooks = HooksDefinition::default();
    reader.entries(field, &["pre_get_sources_script"], |reader, _, field| {
        hooks.pre_get_sources_script = read_commands(reader, field);
    });
    Some(hooks)
}
