//! The MTU of a job's network.

use std::path::Path;

/// The smallest MTU of IPv6.
const SMALLEST: u32 = 1280;

/// Returns the MTU for a job's network: the setting, else the smaller one of the engine's default network and this
/// host's default route.
///
/// A network with a larger MTU than the route silently loses large packets: downloads hang.
pub fn choose_mtu(
    setting: Option<u32>,
    common: Option<u32>,
    default_route: Option<u32>,
) -> Option<u32> {
    if let Some(setting) = setting.filter(|&mtu| mtu > 0) {
        return Some(setting);
    }
    let plausible = |mtu: Option<u32>| mtu.filter(|&mtu| mtu >= SMALLEST);
    let found = [plausible(common), plausible(default_route)];
    found.into_iter().flatten().min()
}

/// Returns the MTU of the interface of the default route, if there is one.
pub(crate) fn of_default_route() -> Option<u32> {
    let routes = std::fs::read_to_string("/proc/net/route").ok()?;
    let interface = default_interface(&routes)?;
    let file = Path::new("/sys/class/net").join(interface).join("mtu");
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns the interface of the default route with the lowest metric.
fn default_interface(routes: &str) -> Option<&str> {
    let defaults = routes.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [interface, "00000000", _, _, _, _, metric, "00000000", ..] = fields[..] else {
            return None;
        };
        Some((metric.parse::<u32>().ok()?, interface))
    });
    defaults.min().map(|(_, interface)| interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_mtu_counts_unless_set() {
        assert_eq!(choose_mtu(Some(9000), Some(1500), Some(1400)), Some(9000));
        assert_eq!(choose_mtu(Some(0), Some(1500), Some(1400)), Some(1400));
        assert_eq!(choose_mtu(None, Some(1450), Some(1500)), Some(1450));
        assert_eq!(choose_mtu(None, Some(1500), None), Some(1500));
        assert_eq!(choose_mtu(None, Some(0), Some(65536)), Some(65536));
        assert_eq!(choose_mtu(None, None, None), None);
    }

    #[test]
    fn the_default_route_has_the_lowest_metric() {
        let head = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n";
        let check = |lines: &str, expect: Option<&str>| {
            assert_eq!(
                default_interface(&format!("{head}{lines}")),
                expect,
                "{lines}"
            );
        };
        check("", None);
        check("eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n", None);
        check(
            "wlan0 00000000 010200C0 0003 0 0 600 00000000 0 0 0\n\
             eth0 00000000 010200C0 0003 0 0 100 00000000 0 0 0\n",
            Some("eth0"),
        );
        check("eth0\n", None);
    }
}
