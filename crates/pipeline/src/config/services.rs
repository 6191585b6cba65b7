//! `services`: a list of image names or mappings.

use super::image::{read_name, read_pull_policy};
use super::image_options;
use super::reader::{Field, Reader, list_help};
use super::script::read_commands;
use super::variables::{self, Place};
use executor_core::job::ServiceDefinition;

const KEYS: [&str; 8] = [
    "name",
    "alias",
    "entrypoint",
    "command",
    "variables",
    "pull_policy",
    "docker",
    "kubernetes",
];

/// Reads `services`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<ServiceDefinition>> {
    if field.node.as_sequence().is_none() {
        let help = list_help(field.node);
        reader.refuse_with_help(field, "should be an array", help);
        return None;
    }
    let items = reader.flattened(field)?;
    let path = field.path.child("service");
    let mut services = Vec::with_capacity(items.len());
    for node in items {
        services.extend(read_one(reader, Field { node, path: &path }));
    }
    Some(services)
}

fn read_one(reader: &mut Reader<'_>, field: Field<'_>) -> Option<ServiceDefinition> {
    let mut service = ServiceDefinition::default();
    if field.node.as_mapping().is_none() {
        service.name = read_name(reader, field)?;
        return Some(service);
    }
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "name" => service.name = reader.text(field).unwrap_or_default(),
        "alias" => service.alias = reader.string(field),
        "entrypoint" => service.entrypoint = reader.command(field).unwrap_or_default(),
        "command" => service.command = read_commands(reader, field).unwrap_or_default(),
        "docker" => service.docker = image_options::read_docker(reader, field),
        "kubernetes" => service.kubernetes = image_options::read_kubernetes(reader, field),
        _ => {}
    });
    reader.entry(field, "variables", |reader, field| {
        let variables = variables::read(reader, field, Place::Job);
        service.variables = variables.unwrap_or_default();
    });
    reader.entry(field, "pull_policy", |reader, field| {
        service.pull_policy = read_pull_policy(reader, field);
    });
    reader.require(field, &["name"]).then_some(service)
}
