//! The network options by which a job's container reaches its services.

use super::services::Services;
use crate::job::create::NetworkPlan;
use crate::network::{JobNetwork, NetworkMode};

/// How a job's container reaches its services.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachment {
    /// The network.
    pub network: NetworkPlan,
    /// `container:alias`, in the engine's default network.
    pub links: Vec<String>,
    /// `alias:address`, where the engine has neither names nor links.
    pub extra_hosts: Vec<String>,
}

impl Attachment {
    /// Returns the attachment of a container without services.
    pub(crate) fn of(network: &JobNetwork) -> Self {
        Self {
            network: NetworkPlan {
                mode: Some(network.name().to_owned()),
                aliases: Vec::new(),
            },
            ..Self::default()
        }
    }
}

impl Services {
    /// Returns the attachment with which the job's container finds the services by name.
    ///
    /// For links, the services must be started.
    pub fn attachment(&self, network: &JobNetwork) -> Attachment {
        let options = &self.shared.options;
        let mut attachment = Attachment::of(network);
        if network.resolves_names() {
            return attachment;
        }
        let linked =
            *network.mode() == NetworkMode::Links && options.engine.version().name != "Podman";
        for service in &self.shared.services {
            let Some(running) = service.running.get() else {
                continue;
            };
            for name in &service.plan.names {
                if linked {
                    let container = options.names.service(service.index);
                    attachment.links.push(format!("{container}:{name}"));
                } else if let Some(address) = running.address {
                    attachment.extra_hosts.push(format!("{name}:{address}"));
                }
            }
        }
        attachment
    }
}
