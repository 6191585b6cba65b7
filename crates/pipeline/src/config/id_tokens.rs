//! `id_tokens`: names of variables, each with whom its token is for.

use super::reader::{Field, Reader};
use super::release::read_one_or_many;
use executor_core::job::{IdTokenDefinition, IdTokens};

/// Reads `id_tokens`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<IdTokens> {
    let mut tokens = IdTokens::new();
    reader.each(field, |reader, name, field| {
        if let Some(token) = read_one(reader, field) {
            tokens.insert(name.to_owned(), token);
        }
    })?;
    Some(tokens)
}

fn read_one(reader: &mut Reader<'_>, field: Field<'_>) -> Option<IdTokenDefinition> {
    reader.mapping(field)?;
    let mut aud = None;
    reader.require(field, &["aud"]);
    reader.attributes(field, &["aud"], |reader, _, field| {
        aud = read_one_or_many(reader, field);
    });
    Some(IdTokenDefinition { aud: aud? })
}
