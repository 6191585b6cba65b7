use serde::Deserialize;
use std::str::FromStr;

/// A device of a container.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Device {
    /// A device file of the host: `/dev/kvm[:/dev/here][:rwm]`.
    File {
        /// The path on the host.
        host: String,
        /// The path in the container.
        container: String,
        /// The permissions of the container: read, write, mknod (`rwm`).
        permissions: String,
    },
    /// The CDI name of a device: `vendor.example/class=name`.
    Named(String),
}

/// A text that is not a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a device: write /dev/host[:/dev/container][:rwm] or vendor/class=name")]
pub struct DeviceError(String);

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let wrong = || DeviceError(text.to_owned());
        if !text.starts_with('/') {
            return is_named(text)
                .then(|| Self::Named(text.to_owned()))
                .ok_or_else(wrong);
        }
        let parts: Vec<&str> = text.split(':').collect();
        let (host, container, permissions) = match *parts.as_slice() {
            [host] => (host, host, "rwm"),
            [host, permissions] if is_permissions(permissions) => (host, host, permissions),
            [host, container] => (host, container, "rwm"),
            [host, container, permissions] => (host, container, permissions),
            _ => return Err(wrong()),
        };
        let fits = container.starts_with('/') && is_permissions(permissions);
        fits.then(|| Self::File {
            host: host.to_owned(),
            container: container.to_owned(),
            permissions: permissions.to_owned(),
        })
        .ok_or_else(wrong)
    }
}

fn is_permissions(text: &str) -> bool {
    let once = |it: char| text.matches(it).count() <= 1;
    (1..=3).contains(&text.len()) && text.chars().all(|it| "rwm".contains(it) && once(it))
}

fn is_named(text: &str) -> bool {
    let parts = text.split_once('=').and_then(|(kind, name)| {
        let (vendor, class) = kind.split_once('/')?;
        Some([vendor, class, name])
    });
    let word = |it: &str| {
        let known = |it: char| it.is_ascii_alphanumeric() || "._-:".contains(it);
        !it.is_empty() && it.chars().all(known)
    };
    parts.is_some_and(|parts| parts.into_iter().all(word))
}

impl TryFrom<String> for Device {
    type Error = DeviceError;

    fn try_from(text: String) -> Result<Self, DeviceError> {
        text.parse()
    }
}
