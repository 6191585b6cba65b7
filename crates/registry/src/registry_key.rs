use crate::ImageRepository;

/// The key of Docker Hub in docker's config.json.
pub(crate) const HUB_KEY: &str = "https://index.docker.io/v1/";

/// The key of an entry: a registry, or a path in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegistryKey(String);

impl RegistryKey {
    /// Reads a key as people and tools write it: with a scheme and a version of the API, or without.
    pub(crate) fn new(text: &str) -> Self {
        let text = text.trim();
        let (text, has_scheme) = match text.split_once("://") {
            Some((_, rest)) => (rest, true),
            None => (text, false),
        };
        let text = text.trim_end_matches('/');
        let (host, path) = text.split_once('/').unwrap_or((text, ""));
        let is_hub = matches!(
            host,
            "docker.io" | "index.docker.io" | "registry-1.docker.io" | "registry.hub.docker.com"
        );
        let host = if is_hub { "docker.io" } else { host };
        let host = host.to_ascii_lowercase();
        // The API version of an address is not part of a name.
        let is_version = (is_hub || has_scheme) && matches!(path, "v1" | "v2");
        Self(if path.is_empty() || is_version {
            host
        } else {
            format!("{host}/{path}")
        })
    }

    /// Returns how well it matches a repository; `None` if not at all.
    pub(crate) fn fit(&self, repository: &ImageRepository) -> Option<usize> {
        let host = repository.registry().to_ascii_lowercase();
        let name = format!("{host}/{}", repository.path());
        let rest = name.strip_prefix(&self.0)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImageReference;

    fn check(key: &str, image: &str, expected: Option<usize>) {
        let reference = ImageReference::parse(image).unwrap();
        assert_eq!(
            RegistryKey::new(key).fit(reference.repository()),
            expected,
            "{key} {image}"
        );
    }

    #[test]
    fn key_matches_everything_below_it() {
        check("host.example", "host.example/a/b", Some(12));
        check("https://host.example/v2/", "host.example/a", Some(12));
        check("host.example/a", "host.example/a/b", Some(14));
        check("host.example/a/", "host.example/a", Some(14));
        check("host.example/a", "host.example/ab", None);
        check("host.example/v2", "host.example/v2/app", Some(15));
        check("host.example", "host.example:5000/a", None);
        check("HOST.example:5000", "host.example:5000/a", Some(17));
        check("", "host.example/a", None);
        for hub in [
            HUB_KEY,
            "docker.io",
            "index.docker.io",
            "https://registry-1.docker.io/v2/",
        ] {
            check(hub, "busybox", Some(9));
        }
        check("docker.io/team", "team/app", Some(14));
        check("host.example", "busybox", None);
    }
}
