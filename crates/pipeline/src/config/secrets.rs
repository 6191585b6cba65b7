//! `secrets`: names of variables, each with a store and an address in it.

use super::reader::{Field, Reader};
use super::secret_store::{STORES, read_store};
use executor_core::job::{SecretDefinition, Secrets};

/// Reads `secrets`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Secrets> {
    let mut secrets = Secrets::new();
    reader.each(field, |reader, name, field| {
        if let Some(secret) = read_one(reader, field) {
            secrets.insert(name.to_owned(), secret);
        }
    })?;
    Some(secrets)
}

fn read_one(reader: &mut Reader<'_>, field: Field<'_>) -> Option<SecretDefinition> {
    let entries = reader.mapping(field)?;
    let known = [&STORES[..], &["file", "token"]].concat();
    reader.check_keys(field, entries, &known);
    reader.exclude(field, &STORES);
    let given = |key: &str| field.node.get(key).filter(|value| !value.is_null());
    let Some(&store) = STORES.iter().find(|&&store| given(store).is_some()) else {
        let help = format!("name one of: {}", STORES.join(", "));
        reader.refuse_with_help(field, "needs a store", Some(help));
        return None;
    };
    let (mut file, mut token) = (None, None);
    for key in ["file", "token"] {
        let Some(node) = given(key) else { continue };
        let path = field.path.attribute(key);
        let field = Field { node, path: &path };
        match key {
            "file" => file = reader.boolean(field),
            _ => token = reader.text(field),
        }
    }
    if store == "gcp_secret_manager" && given("token").is_none() {
        reader.require(field, &["token"]);
    }
    let mut address = None;
    reader.entry(field, store, |reader, field| {
        address = read_store(reader, store, field);
    });
    Some(SecretDefinition {
        store: address?,
        file,
        token,
    })
}
