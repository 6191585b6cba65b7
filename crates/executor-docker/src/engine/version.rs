use crate::error::DockerError;
use bollard::ClientVersion;
use bollard::models::SystemVersion;
use std::fmt;

/// A version of the API, such as 1.41.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl ApiVersion {
    /// The oldest supported version, that of Docker 20.10.
    pub const OLDEST: Self = Self {
        major: 1,
        minor: 41,
    };

    /// Returns the newest supported version.
    pub fn newest() -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            major: number(bollard::API_DEFAULT_VERSION.major_version),
            minor: number(bollard::API_DEFAULT_VERSION.minor_version),
        }
    }

    /// Parses `1.41`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once('.')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// Returns the version for an engine that supports all from `lowest` to `highest`.
    ///
    /// # Errors
    ///
    /// When no version is supported by both sides.
    pub(crate) fn negotiate(lowest: Self, highest: Self) -> Result<Self, DockerError> {
        let newest = Self::newest();
        if highest < Self::OLDEST {
            return Err(DockerError::config(format!(
                "the container engine supports API {highest} at most, but {} is required; \
                 update it to Docker 20.10 or later",
                Self::OLDEST
            )));
        }
        if lowest > newest {
            return Err(DockerError::config(format!(
                "the container engine requires API {lowest} or later, but the newest supported version \
                 is {newest}; update Runwright"
            )));
        }
        Ok(highest.min(newest))
    }

    pub(crate) fn for_client(self) -> ClientVersion {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        ClientVersion {
            major_version: number(self.major),
            minor_version: number(self.minor),
        }
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The name and version of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineVersion {
    /// Its name: `Docker`, `Podman`.
    pub name: String,
    /// Its version, such as `28.5.1`.
    pub version: String,
    /// The version of its API in use.
    pub api: ApiVersion,
    /// The system of its containers: `linux`.
    pub os: String,
    /// The architecture of its host: `amd64`.
    pub architecture: String,
}

impl EngineVersion {
    /// Reads the response of the engine, and chooses the version of the API.
    pub(crate) fn of(answer: SystemVersion) -> Result<Self, DockerError> {
        let no_version = || {
            DockerError::config(
                "the server is not a container engine: its response has no version of the API",
            )
        };
        let highest = answer.api_version.as_deref().and_then(ApiVersion::parse);
        let highest = highest.ok_or_else(no_version)?;
        let lowest = answer.min_api_version.as_deref();
        let lowest = lowest.and_then(ApiVersion::parse).unwrap_or(highest);
        let components = answer.components.unwrap_or_default();
        let is_podman = components
            .iter()
            .any(|component| component.name.to_ascii_lowercase().contains("podman"));
        Ok(Self {
            name: if is_podman { "Podman" } else { "Docker" }.to_owned(),
            version: answer.version.unwrap_or_default(),
            api: ApiVersion::negotiate(lowest.min(highest), highest)?,
            os: answer.os.unwrap_or_else(|| "linux".to_owned()),
            architecture: answer.arch.unwrap_or_default(),
        })
    }
}

impl fmt::Display for EngineVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (API {})", self.name, self.version, self.api)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lowest: &str, highest: &str, expected: Result<&str, &str>) {
        let version = |text| ApiVersion::parse(text).unwrap();
        let chosen = ApiVersion::negotiate(version(lowest), version(highest));
        match (chosen, expected) {
            (Ok(chosen), Ok(expected)) => assert_eq!(chosen.to_string(), expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{lowest} to {highest} gave {found:?}"),
        }
    }

    #[test]
    fn the_newest_common_version_is_used() {
        check("1.12", "1.41", Ok("1.41"));
        check("1.24", "1.47", Ok("1.47"));
        let newest = ApiVersion::newest().to_string();
        check("1.44", "1.999", Ok(&newest));
        check("1.12", "1.40", Err("update it to Docker 20.10"));
        check("1.998", "1.999", Err("update Runwright"));
    }

    #[test]
    fn invalid_versions_are_not_parsed() {
        for text in ["", "1", "1.x", "one", "1.41.2"] {
            assert_eq!(ApiVersion::parse(text), None, "{text:?}");
        }
    }
}
