//! `environment`: a name, or a mapping.

use super::reader::{Field, Reader};
use executor_core::job::{
    ClusterDashboard, DeploymentTier, EnvironmentAction, EnvironmentCluster, EnvironmentDefinition,
    ManagedResources,
};
use yaml::Kind;
use yaml::source::Span;

/// `environment` of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The settings.
    pub definition: EnvironmentDefinition,
    /// The location of the name of the job that stops it.
    pub on_stop_span: Option<Span>,
}

const KEYS: [&str; 7] = [
    "name",
    "url",
    "action",
    "on_stop",
    "auto_stop_in",
    "deployment_tier",
    "kubernetes",
];

const ACTIONS: [(&str, EnvironmentAction); 5] = [
    ("start", EnvironmentAction::Start),
    ("stop", EnvironmentAction::Stop),
    ("prepare", EnvironmentAction::Prepare),
    ("verify", EnvironmentAction::Verify),
    ("access", EnvironmentAction::Access),
];

const TIERS: [(&str, DeploymentTier); 5] = [
    ("production", DeploymentTier::Production),
    ("staging", DeploymentTier::Staging),
    ("testing", DeploymentTier::Testing),
    ("development", DeploymentTier::Development),
    ("other", DeploymentTier::Other),
];

/// The maximum length of a URL, in characters.
const LONGEST_URL: usize = 255;

/// Reads `environment`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Environment> {
    match &field.node.kind {
        Kind::String(name) => {
            check_name(reader, field, name);
            Some(Environment {
                definition: EnvironmentDefinition::named(name.to_string()),
                on_stop_span: None,
            })
        }
        Kind::Mapping(_) => Some(Environment {
            definition: read_settings(reader, field),
            on_stop_span: field.node.get("on_stop").map(|name| name.span),
        }),
        _ => {
            let words = "should be a hash or a string";
            let help = "write a name, or a hash with `name:`".to_owned();
            reader.refuse_with_help(field, words, Some(help));
            None
        }
    }
}

fn read_settings(reader: &mut Reader<'_>, field: Field<'_>) -> EnvironmentDefinition {
    let mut environment = EnvironmentDefinition::default();
    reader.require(field, &["name"]);
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "name" => {
            if let Some(name) = reader.string(field) {
                check_name(reader, field, &name);
                environment.name = name;
            }
        }
        "url" => environment.url = read_url(reader, field),
        "action" => environment.action = reader.one_of(field, &ACTIONS),
        "on_stop" => environment.on_stop = reader.string(field),
        "auto_stop_in" => environment.auto_stop_in = reader.string(field),
        "deployment_tier" => environment.deployment_tier = reader.one_of(field, &TIERS),
        _ => {}
    });
    reader.entry(field, "kubernetes", |reader, field| {
        environment.kubernetes = read_cluster(reader, field).map(Box::new);
    });
    environment
}

fn check_name(reader: &mut Reader<'_>, field: Field<'_>, name: &str) {
    if name.trim().is_empty() {
        reader.refuse(field, "can't be blank");
        return;
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_/${}. -".contains(c);
    if let Some(odd) = name.chars().find(|&c| !is_allowed(c)) {
        let words = "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.' and \
                     spaces, and cannot start or end with '/'";
        let help = format!("remove `{}`", odd.escape_debug());
        reader.refuse_with_help(field, words, Some(help));
    } else if name.starts_with('/') || name.ends_with('/') {
        let help = format!("write `{}`", name.trim_matches('/'));
        reader.refuse_with_help(field, "cannot start or end with '/'", Some(help));
    }
}

fn read_url(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let url = reader.string(field)?;
    if url.chars().count() > LONGEST_URL {
        let words = format!("is too long (the maximum is {LONGEST_URL} characters)");
        reader.refuse(field, words);
        return None;
    }
    Some(url)
}

fn read_cluster(reader: &mut Reader<'_>, field: Field<'_>) -> Option<EnvironmentCluster> {
    const KEYS: [&str; 5] = [
        "agent",
        "namespace",
        "flux_resource_path",
        "managed_resources",
        "dashboard",
    ];
    reader.mapping(field)?;
    let mut cluster = EnvironmentCluster::default();
    reader.attributes(field, &KEYS, |reader, key, field| match key {
        "agent" => cluster.agent = reader.string(field),
        "namespace" => cluster.namespace = reader.string(field),
        "flux_resource_path" => cluster.flux_resource_path = reader.string(field),
        "managed_resources" => cluster.managed_resources = Some(read_resources(reader, field)),
        _ => cluster.dashboard = Some(read_dashboard(reader, field)),
    });
    let dependent = ["dashboard", "flux_resource_path", "managed_resources"];
    let is_given = |key: &&str| field.node.get(key).is_some_and(|value| !value.is_null());
    if let Some(key) = dependent.into_iter().find(is_given) {
        let has_agent = field
            .node
            .get("agent")
            .is_some_and(|agent| !agent.is_null());
        if !has_agent {
            let words = format!("should have `agent` when it has `{key}`");
            let help = "add `agent: path/to/project:agent-name`".to_owned();
            reader.refuse_with_help(field, words, Some(help));
        }
    }
    Some(cluster)
}

fn read_resources(reader: &mut Reader<'_>, field: Field<'_>) -> ManagedResources {
    let mut resources = ManagedResources::default();
    reader.attributes(field, &["enabled"], |reader, _, field| {
        resources.enabled = reader.boolean(field);
    });
    resources
}

fn read_dashboard(reader: &mut Reader<'_>, field: Field<'_>) -> ClusterDashboard {
    let mut dashboard = ClusterDashboard::default();
    if field.node.as_mapping().is_some() {
        reader.require(field, &["namespace"]);
    }
    let known = ["namespace", "flux_resource_path"];
    reader.attributes(field, &known, |reader, key, field| match key {
        "namespace" => dashboard.namespace = reader.string(field),
        _ => dashboard.flux_resource_path = reader.string(field),
    });
    dashboard
}
