//! The request that creates a network, and the meaning of its errors.

use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The plan of a job's own network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NetworkPlan {
    pub(crate) name: String,
    pub(crate) labels: HashMap<String, String>,
    pub(crate) mtu: Option<u32>,
    pub(crate) ipv6: bool,
}

impl NetworkPlan {
    /// Returns the body of the request.
    pub(crate) fn request(&self) -> NetworkCreateRequest {
        let mtu = self
            .mtu
            .map(|mtu| ("com.docker.network.driver.mtu".to_owned(), mtu.to_string()));
        // Before version 27, an engine does not assign IPv6 subnets itself.
        let ipam = self.ipv6.then(|| Ipam {
            config: Some(vec![IpamConfig {
                subnet: Some(local_ipv6_subnet(&self.name)),
                ..IpamConfig::default()
            }]),
            ..Ipam::default()
        });
        NetworkCreateRequest {
            name: self.name.clone(),
            driver: Some("bridge".to_owned()),
            enable_ipv6: Some(self.ipv6),
            ipam,
            options: Some(mtu.into_iter().collect()),
            labels: Some(self.labels.clone()),
            ..NetworkCreateRequest::default()
        }
    }
}

/// Returns a subnet of the local addresses (`fd00::/8`) that derives from the name.
fn local_ipv6_subnet(name: &str) -> String {
    let hash = Sha256::digest(name);
    let group = |at: usize| u16::from_be_bytes([hash[at], hash[at + 1]]);
    let (first, second, third, fourth) = (hash[0], group(1), group(3), group(5));
    format!("fd{first:02x}:{second:x}:{third:x}:{fourth:x}::/64")
}

/// Returns whether the engine has no free range of addresses.
pub(crate) fn is_out_of_addresses(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["non-overlapping", "fully subnetted", "no available network"]
        .iter()
        .any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_all_options() {
        let plan = NetworkPlan {
            name: "n".to_owned(),
            labels: HashMap::from([("a".to_owned(), "b".to_owned())]),
            mtu: Some(1400),
            ipv6: false,
        };
        let body = serde_json::to_value(plan.request()).unwrap();
        assert_eq!(
            body,
            serde_json::json!({
                "Name": "n",
                "Driver": "bridge",
                "EnableIPv6": false,
                "Options": {"com.docker.network.driver.mtu": "1400"},
                "Labels": {"a": "b"},
            })
        );
    }

    #[test]
    fn ipv6_has_its_own_subnet() {
        let of = |name: &str| {
            let plan = NetworkPlan {
                name: name.to_owned(),
                ipv6: true,
                ..NetworkPlan::default()
            };
            let ipam = plan.request().ipam.and_then(|ipam| ipam.config).unwrap();
            ipam[0].subnet.clone().unwrap()
        };
        assert_ne!(of("a"), of("b"));
        let subnet = of("a");
        let (address, length) = subnet.split_once('/').unwrap();
        assert_eq!(length, "64");
        let address: std::net::Ipv6Addr = address.parse().unwrap();
        assert_eq!(address.segments()[0] >> 8, 0xfd);
    }

    #[test]
    fn messages_about_missing_addresses_are_recognized() {
        for message in [
            "could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network",
            "all predefined address pools have been fully subnetted",
        ] {
            assert!(is_out_of_addresses(message), "{message}");
        }
        assert!(!is_out_of_addresses("network with name x already exists"));
    }
}
