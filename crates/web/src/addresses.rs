use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses at which clouds serve instance metadata, credentials included.
///
/// Letting in the network around them does not let in these.
const METADATA: [IpAddr; 9] = [
    // AWS, Azure, Google, OpenStack and most others.
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    // AWS: containers, pods.
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    // Google.
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    // Alibaba, Azure, Oracle.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
];

/// IPv4 ranges outside the public network: network, prefix length and use.
///
/// The first match is reported. From the registry of special-purpose addresses (RFC 6890).
const SPECIAL_V4: [(Ipv4Addr, u32, &str); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8, "this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private network"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a provider's own network"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "this machine"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link's own network"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private network"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a protocol's use"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "relays that are no more"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private network"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::BROADCAST, 32, "broadcast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "nothing yet"),
];

/// The same for IPv6. Nothing outside `2000::/3` is public; it is listed here where it has a name.
const SPECIAL_V6: [(Ipv6Addr, u32, &str); 15] = [
    (v6(0, 0), 128, "this host"),
    (Ipv6Addr::LOCALHOST, 128, "this machine"),
    (v6(0x64, 0xff9b), 32, "a translator's own network"),
    (v6(0x100, 0), 64, "nothing, on purpose"),
    (v6(0x2001, 0), 32, "tunnels that are no more"),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, "benchmarks"),
    (v6(0x2001, 0xdb8), 32, "documentation"),
    (v6(0x2001, 0), 23, "a protocol's use"),
    (v6(0x3fff, 0), 20, "documentation"),
    (v6(0x5f00, 0), 16, "a network's own routes"),
    (v6(0xfc00, 0), 7, "a private network"),
    (v6(0xfe80, 0), 10, "a link's own network"),
    (v6(0xfec0, 0), 10, "a private network"),
    (v6(0xff00, 0), 8, "multicast"),
    (v6(0, 0), 96, "addresses of IPv4 as nobody writes them"),
];

const fn v6(first: u16, second: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0)
}

/// Returns the address that a connection reaches: the IPv4 address where an IPv6 address carries one.
///
/// These are mapped addresses (`::ffff:10.0.0.1`), 6to4 (`2002:a00:1::`) and NAT64 (`64:ff9b::10.0.0.1`).
/// NAT64 addresses are how names resolve on a network without IPv4.
pub(crate) fn meant(address: IpAddr) -> IpAddr {
    let IpAddr::V6(carrier) = address else {
        return address;
    };
    let inner = |high: u16, low: u16| {
        let bits = u32::from(high) << 16 | u32::from(low);
        IpAddr::V4(Ipv4Addr::from_bits(bits))
    };
    match carrier.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => inner(high, low),
        _ => address,
    }
}

/// Returns whether an address that [`meant`] returned is one at which a cloud serves credentials.
pub(crate) fn is_metadata(address: IpAddr) -> bool {
    METADATA.contains(&address)
}

/// Returns the special use of an address that [`meant`] returned; `None` if the address is public.
pub(crate) fn special_use(address: IpAddr) -> Option<&'static str> {
    if is_metadata(address) {
        return Some("what a cloud tells a machine about itself");
    }
    match address {
        IpAddr::V4(address) => {
            let held = |(network, length, _): &&(Ipv4Addr, u32, _)| {
                let differs = address.to_bits() ^ network.to_bits();
                differs.leading_zeros() >= *length
            };
            SPECIAL_V4.iter().find(held).map(|(_, _, what)| *what)
        }
        IpAddr::V6(address) => {
            let held = |(network, length, _): &&(Ipv6Addr, u32, _)| {
                let differs = address.to_bits() ^ network.to_bits();
                differs.leading_zeros() >= *length
            };
            let special = SPECIAL_V6.iter().find(held).map(|(_, _, what)| *what);
            let global = address.segments()[0] >> 13 == 0b001;
            special.or((!global).then_some("nothing yet"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expect: Option<&str>) {
        let parsed = address.parse().expect("an address");
        assert_eq!(special_use(meant(parsed)), expect, "{address}");
    }

    #[test]
    fn public_addresses_have_no_special_use() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2400:cb00::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn special_addresses_report_their_use() {
        for (address, what) in [
            ("0.0.0.0", "this host"),
            ("0.1.2.3", "this host"),
            ("10.0.0.1", "a private network"),
            ("10.255.255.255", "a private network"),
            ("100.64.0.1", "a provider's own network"),
            ("100.127.255.255", "a provider's own network"),
            ("127.0.0.1", "this machine"),
            ("127.255.255.254", "this machine"),
            ("169.254.1.1", "a link's own network"),
            ("172.16.0.1", "a private network"),
            ("172.31.255.255", "a private network"),
            ("192.0.0.1", "a protocol's use"),
            ("192.0.2.1", "documentation"),
            ("192.168.1.1", "a private network"),
            ("198.19.0.1", "benchmarks"),
            ("198.51.100.1", "documentation"),
            ("203.0.113.1", "documentation"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.1", "nothing yet"),
            ("255.255.255.255", "broadcast"),
            ("::", "this host"),
            ("::1", "this machine"),
            ("100::1", "nothing, on purpose"),
            ("2001:2::1", "benchmarks"),
            ("2001:10::1", "a protocol's use"),
            ("2001:db8::1", "documentation"),
            ("3fff::1", "documentation"),
            ("4000::1", "nothing yet"),
            ("fc00::1", "a private network"),
            ("fdff::1", "a private network"),
            ("fe80::1", "a link's own network"),
            ("febf::1", "a link's own network"),
            ("fec0::1", "a private network"),
            ("ff02::1", "multicast"),
        ] {
            check(address, Some(what));
        }
    }

    #[test]
    fn carried_ipv4_addresses_are_extracted() {
        for (address, what) in [
            ("::ffff:127.0.0.1", "this machine"),
            ("::ffff:10.0.0.1", "a private network"),
            ("::127.0.0.1", "addresses of IPv4 as nobody writes them"),
            ("64:ff9b::127.0.0.1", "this machine"),
            ("64:ff9b::192.168.0.1", "a private network"),
            ("64:ff9b:1::10.0.0.1", "a translator's own network"),
            ("2002:7f00:1::", "this machine"),
            ("2002:a00:1::1", "a private network"),
            (
                "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                "tunnels that are no more",
            ),
        ] {
            check(address, Some(what));
        }
    }

    #[test]
    fn metadata_addresses_are_detected_in_every_form() {
        for address in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::",
            "169.254.170.2",
            "fd00:ec2::254",
            "fd20:ce::254",
            "100.100.100.200",
            "168.63.129.16",
        ] {
            check(address, Some("what a cloud tells a machine about itself"));
        }
    }
}
