use super::{Phase, Values};
use crate::context::PipelineContext;

/// The version of GitLab whose behavior is implemented (`CI_SERVER_VERSION`), so that scripts see
/// the same version wherever the pipeline runs.
const VERSION: [&str; 3] = ["18", "11", "0"];

/// The parts of the server's URL.
pub(super) struct Address<'c> {
    pub(super) url: &'c str,
    pub(super) protocol: &'c str,
    /// The host, with the port if the URL has one.
    pub(super) fqdn: &'c str,
    pub(super) host: &'c str,
    pub(super) port: &'c str,
}

impl<'c> Address<'c> {
    pub(super) fn of(context: &'c PipelineContext) -> Self {
        let url = context.server_url.trim_end_matches('/');
        let (protocol, rest) = url.split_once("://").unwrap_or(("https", url));
        let fqdn = rest.split('/').next().unwrap_or_default();
        let (host, port) = match fqdn.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ if protocol == "http" => (fqdn, "80"),
            _ => (fqdn, "443"),
        };
        Self {
            url,
            protocol,
            fqdn,
            host,
            port,
        }
    }
}

/// Adds the variables of the server.
pub(super) fn add(context: &PipelineContext, values: &mut Values) {
    let Address {
        url,
        protocol,
        fqdn,
        host,
        port,
    } = Address::of(context);
    let mut add = |name: &str, value: &str| values.add(Phase::PrePipeline, name, value);
    add("CI_SERVER_NAME", "GitLab");
    add("CI_SERVER_URL", url);
    add("CI_SERVER_PROTOCOL", protocol);
    add("CI_SERVER_FQDN", fqdn);
    add("CI_SERVER_HOST", host);
    add("CI_SERVER_PORT", port);
    add("CI_SERVER_SHELL_SSH_HOST", host);
    add("CI_SERVER_SHELL_SSH_PORT", "22");
    add("CI_SERVER_VERSION", &VERSION.join("."));
    add("CI_SERVER_VERSION_MAJOR", VERSION[0]);
    add("CI_SERVER_VERSION_MINOR", VERSION[1]);
    add("CI_SERVER_VERSION_PATCH", VERSION[2]);
    add("CI_SERVER_REVISION", "");
    add("CI_API_V4_URL", &format!("{url}/api/v4"));
    add("CI_API_GRAPHQL_URL", &format!("{url}/api/graphql"));
    add("CI_TEMPLATE_REGISTRY_HOST", "registry.gitlab.com");
    values.add(Phase::Job, "CI_SERVER", "yes");
}
