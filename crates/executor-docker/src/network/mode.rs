//! The mode of a job's network, which determines how the job finds its services.

use crate::config::NetworkChoice;

/// How a job's container finds its services by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkMode {
    /// In the job's own network, where the engine resolves names.
    Own,
    /// In the engine's default network, by links, as GitLab Runner does by default.
    Links,
    /// In an existing network, where the engine resolves names.
    Named(String),
    /// In the network of the host, where all services have its address.
    Host,
    /// Without a network.
    None,
    /// In the network of another container.
    Container(String),
}

impl NetworkMode {
    /// Chooses the mode from the settings and the number of services.
    ///
    /// Without a network in the settings, a job with services, or with `own_wanted` (its variable
    /// `FF_NETWORK_PER_BUILD`), gets its own network. Any other job uses the engine's default network.
    ///
    /// # Errors
    ///
    /// When the job has services and could not reach them in that mode.
    pub fn choose(
        choice: &NetworkChoice,
        services: usize,
        own_wanted: bool,
    ) -> Result<Self, RefusedNetwork> {
        let name = match choice {
            NetworkChoice::Named(name) => name.trim(),
            _ if own_wanted || choice.is_own(services) => return Ok(Self::Own),
            _ => return Ok(Self::Links),
        };
        let mode = match name {
            "default" | "bridge" => Self::Links,
            "host" => Self::Host,
            "none" => Self::None,
            other => match other.strip_prefix("container:") {
                Some(id) => Self::Container(id.to_owned()),
                None => Self::Named(other.to_owned()),
            },
        };
        let unreachable = matches!(mode, Self::None | Self::Container(_));
        if services > 0 && unreachable {
            return Err(RefusedNetwork {
                mode: name.to_owned(),
            });
        }
        Ok(mode)
    }
}

/// The network of a job with services does not reach them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the job has services, but with network_mode = {mode:?} it could not reach them; leave network_mode \
     out, and the job and its services get a network of their own"
)]
pub struct RefusedNetwork {
    /// The setting.
    pub mode: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(choice: &str, services: usize, wanted: bool, expect: NetworkMode) {
        let found = NetworkMode::choose(&choice.to_owned().into(), services, wanted);
        assert_eq!(found, Ok(expect), "{choice:?} {services} {wanted}");
    }

    #[test]
    fn a_job_with_services_has_its_own_network_by_default() {
        use NetworkMode::{Container, Host, Links, Named, None as Without, Own};
        check("", 1, false, Own);
        check("", 0, true, Own);
        check("per-job", 0, false, Own);
        check("", 0, false, Links);
        check("bridge", 1, true, Links);
        check("default", 1, false, Links);
        check("host", 1, false, Host);
        check("none", 0, false, Without);
        check("mine", 1, true, Named("mine".to_owned()));
        check("container:abc", 0, false, Container("abc".to_owned()));
    }

    #[test]
    fn unreachable_services_are_refused() {
        for choice in ["none", "container:abc"] {
            let error = NetworkMode::choose(&choice.to_owned().into(), 1, false);
            let error = error.expect_err(choice).to_string();
            assert!(error.contains(choice), "{error}");
        }
    }
}
