//! `image`: a name, or a mapping.

use super::image_options;
use super::reader::{Field, Reader};
use executor_core::job::Image;

const PULL_POLICIES: [(&str, &str); 3] = [
    ("always", "always"),
    ("never", "never"),
    ("if-not-present", "if-not-present"),
];

const KEYS: [&str; 5] = ["name", "entrypoint", "pull_policy", "docker", "kubernetes"];

/// Reads `image`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Image> {
    if field.node.as_mapping().is_none() {
        return read_name(reader, field).map(Image::named);
    }
    let mut image = Image::default();
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "name" => image.name = reader.text(field).unwrap_or_default(),
        "entrypoint" => image.entrypoint = reader.command(field).unwrap_or_default(),
        "docker" => image.docker = image_options::read_docker(reader, field),
        "kubernetes" => image.kubernetes = image_options::read_kubernetes(reader, field),
        _ => {}
    });
    reader.entry(field, "pull_policy", |reader, field| {
        image.pull_policy = read_pull_policy(reader, field);
    });
    reader.require(field, &["name"]).then_some(image)
}

/// Reads an image given by its name alone.
pub(super) fn read_name(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    if field.node.as_str().is_some() {
        return reader.text(field);
    }
    let help = super::reader::string_help(field.node);
    reader.refuse_with_help(field, "should be a hash or a string", help);
    None
}

/// Reads `pull_policy`: one or a list.
pub(super) fn read_pull_policy(reader: &mut Reader<'_>, field: Field<'_>) -> Vec<String> {
    let items = match field.node.as_sequence() {
        Some([]) => {
            let help = "name `always`, `if-not-present` or `never`".to_owned();
            reader.refuse_with_help(field, "can't be blank", Some(help));
            return Vec::new();
        }
        Some(items) => items.iter().map(AsRef::as_ref).collect(),
        None => vec![field.node],
    };
    let mut policies = Vec::with_capacity(items.len());
    for node in items {
        let field = Field { node, ..field };
        let policy = reader.one_of(field, &PULL_POLICIES);
        policies.extend(policy.map(ToOwned::to_owned));
    }
    policies
}
