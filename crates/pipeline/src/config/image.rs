use super::image_options;
use super::reader::{Field, Reader};
use super::script::read_commands;
use super::variables::{self, Place};
use executor_core::job::{Image, VariableDefinition};
use executor_core::variable::JobVariable;

const PULL_POLICIES: [(&str, &str); 3] = [
    ("always", "always"),
    ("never", "never"),
    ("if-not-present", "if-not-present"),
];

/// Whether an image is the job's own or a service's, which may say more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Job,
    Service,
}

impl Role {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Job => &["name", "entrypoint", "pull_policy", "docker", "kubernetes"],
            Self::Service => &[
                "name",
                "alias",
                "entrypoint",
                "command",
                "variables",
                "pull_policy",
                "docker",
                "kubernetes",
            ],
        }
    }
}

/// Reads `image`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Image> {
    read_one(reader, field, Role::Job)
}

/// Reads `services`.
pub(super) fn read_services(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<Image>> {
    if field.node.as_sequence().is_none() {
        let help = field.node.as_str().map(|name| format!("write `[{name}]`"));
        reader.refuse_with_help(field, "should be an array", help);
        return None;
    }
    let items = reader.flattened(field)?;
    let path = field.path.child("service");
    let mut services = Vec::with_capacity(items.len());
    for node in items {
        let field = Field { node, path: &path };
        services.extend(read_one(reader, field, Role::Service));
    }
    Some(services)
}

fn read_one(reader: &mut Reader<'_>, field: Field<'_>, role: Role) -> Option<Image> {
    if let Some(name) = field.node.as_str() {
        if name.trim().is_empty() {
            reader.refuse(field, "can't be blank");
            return None;
        }
        return Some(Image::named(name));
    }
    if field.node.as_mapping().is_none() {
        reader.refuse(field, "should be a hash or a string");
        return None;
    }
    let mut image = Image::default();
    reader.attributes(field, role.keys(), |reader, key, field| match key {
        "name" => image.name = reader.text(field).unwrap_or_default(),
        "alias" => image.alias = reader.string(field),
        "entrypoint" => image.entrypoint = reader.strings(field).unwrap_or_default(),
        "command" => image.command = read_commands(reader, field).unwrap_or_default(),
        "docker" => image.docker = image_options::read_docker(reader, field),
        "kubernetes" => image.kubernetes = image_options::read_kubernetes(reader, field),
        _ => {}
    });
    reader.entry(field, "variables", |reader, field| {
        image.variables = read_variables(reader, field);
    });
    reader.entry(field, "pull_policy", |reader, field| {
        image.pull_policy = read_pull_policy(reader, field);
    });
    if !reader.require(field, &["name"]) {
        return None;
    }
    Some(image)
}

fn read_variables(reader: &mut Reader<'_>, field: Field<'_>) -> Vec<JobVariable> {
    let variables = variables::read(reader, field, Place::Job).unwrap_or_default();
    let lower = |(name, definition): (String, VariableDefinition)| JobVariable {
        raw: definition.is_raw(),
        ..JobVariable::public(name, definition.value())
    };
    variables.into_iter().map(lower).collect()
}

fn read_pull_policy(reader: &mut Reader<'_>, field: Field<'_>) -> Vec<String> {
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
