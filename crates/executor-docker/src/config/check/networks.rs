use super::Problems;
use crate::config::choice::is_builtin;
use crate::config::{DockerConfig, NetworkChoice};

impl DockerConfig {
    /// Keys of networks.
    pub(super) fn networks(&self, problems: &mut Problems) {
        let network = self.network();
        if !self.links.is_empty() && network != NetworkChoice::Named("bridge".to_owned()) {
            let text =
                "needs network = \"bridge\": in other networks names are found without links";
            problems.error("links", text);
        }
        for link in self
            .links
            .iter()
            .filter(|it| it.split(':').any(str::is_empty))
        {
            problems.error("links", &format!("`{link}` is not container:alias"));
        }
        let shares =
            |kind: &str| matches!(&network, NetworkChoice::Named(it) if it.starts_with(kind));
        for host in &self.extra_hosts {
            let parts = host.split_once([':', '=']);
            if !parts.is_some_and(|(name, address)| !name.is_empty() && !address.is_empty()) {
                problems.error("extra_hosts", &format!("`{host}` is not name:address"));
            }
        }
        if shares("container:") {
            let keys = [
                ("hostname", self.hostname.is_some()),
                ("dns", !self.dns.is_empty()),
                ("extra_hosts", !self.extra_hosts.is_empty()),
                ("mac_address", self.mac_address.is_some()),
            ];
            for (key, _) in keys.iter().filter(|(_, set)| *set) {
                problems.error(key, "cannot be with the network of another container");
            }
        }
        if shares("host") && self.mac_address.is_some() {
            problems.error("mac_address", "cannot be with the network of the host");
        }
        if self
            .mac_address
            .as_deref()
            .is_some_and(|it| !is_mac_address(it))
        {
            problems.error("mac_address", "is not an address like 02:42:ac:11:00:02");
        }
        for server in self
            .dns
            .iter()
            .filter(|it| it.parse::<std::net::IpAddr>().is_err())
        {
            problems.error("dns", &format!("`{server}` is not an address"));
        }
        if self.network_mtu != 0 && !(68..=65_535).contains(&self.network_mtu) {
            problems.error("network_mtu", "is not from 68 to 65535");
        }
        let own = matches!(network, NetworkChoice::Auto | NetworkChoice::PerJob);
        for (key, set) in [
            ("enable_ipv6", self.enable_ipv6),
            ("network_mtu", self.network_mtu != 0),
        ] {
            if set && !own {
                let text = "has no effect: the job gets no network of its own";
                problems.warning(key, text);
            }
        }
        if let NetworkChoice::Named(name) = &network
            && !is_builtin(name)
            && !name.starts_with(|it: char| it.is_ascii_alphanumeric())
        {
            let key = if self.network_mode.is_some() {
                "network_mode"
            } else {
                "network"
            };
            problems.error(key, &format!("`{name}` is not the name of a network"));
        }
    }
}

fn is_mac_address(text: &str) -> bool {
    let byte = |it: &str| it.len() == 2 && u8::from_str_radix(it, 16).is_ok();
    text.split(':').count() == 6 && text.split(':').all(byte)
}
