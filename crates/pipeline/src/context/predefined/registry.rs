use super::server::Address;
use super::{Phase, Values};
use crate::context::PipelineContext;

/// The server with its own pages domain.
const GITLAB: &str = "gitlab.com";

/// Adds the variables of the project's registry and pages.
pub(super) fn add(context: &PipelineContext, values: &mut Values) {
    let address = Address::of(context);
    let mut add = |name: &str, value: String| values.add(Phase::PrePipeline, name, value);

    let path = context.project.path.to_lowercase();
    let registry = context.registry.clone();
    let registry = registry.unwrap_or_else(|| format!("registry.{}", address.host));
    add("CI_REGISTRY_IMAGE", format!("{registry}/{path}"));
    add("CI_REGISTRY", registry);

    let proxy = format!("{}:{}", address.host, address.port);
    let prefix = |group: &str| {
        format!(
            "{proxy}/{}/dependency_proxy/containers",
            group.to_lowercase()
        )
    };
    let (root, direct) = (
        context.project.root_namespace(),
        context.project.namespace(),
    );
    add("CI_DEPENDENCY_PROXY_GROUP_IMAGE_PREFIX", prefix(root));
    add(
        "CI_DEPENDENCY_PROXY_DIRECT_GROUP_IMAGE_PREFIX",
        prefix(direct),
    );
    add("CI_DEPENDENCY_PROXY_SERVER", proxy);

    let domain = context
        .pages_domain
        .clone()
        .unwrap_or_else(|| match address.host {
            GITLAB => "gitlab.io".to_owned(),
            host => format!("pages.{host}"),
        });
    let (group, rest) = path.split_once('/').unwrap_or((&path, ""));
    let hostname = format!("{group}.{domain}");
    // A project named like its host is served at the root.
    let end = if rest.is_empty() || rest == hostname {
        String::new()
    } else {
        format!("/{rest}")
    };
    add(
        "CI_PAGES_URL",
        format!("{}://{hostname}{end}", address.protocol),
    );
    add("CI_PAGES_HOSTNAME", hostname);
    add("CI_PAGES_DOMAIN", domain);
}
