use crate::config::DockerConfig;
use crate::engine::{ApiVersion, EngineVersion};
use crate::error::DockerError;

/// Docker takes the address of a network card from the container's endpoint since then; before, it took it
/// from a place that is not in the API any more.
const MAC_ADDRESS: ApiVersion = ApiVersion {
    major: 1,
    minor: 44,
};

impl DockerConfig {
    /// Checks that this engine does what these settings ask for.
    ///
    /// # Errors
    ///
    /// Names the key that it would leave out without a word, and its version.
    pub fn checked_for(&self, engine: &EngineVersion) -> Result<(), DockerError> {
        // Podman takes it from there whatever version it names.
        let follows = engine.api >= MAC_ADDRESS || engine.name == "Podman";
        if self.mac_address.is_some() && !follows {
            let key = self.key_style.path("mac_address");
            return Err(DockerError::config(format!(
                "{key}: needs an engine with API {MAC_ADDRESS} (Docker 25) or newer; {engine} would ignore it"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeyStyle;

    #[test]
    fn an_ignored_address_is_reported() {
        let check = |name: &str, api: &str, address: Option<&str>, expect: Option<&str>| {
            let config = DockerConfig {
                mac_address: address.map(str::to_owned),
                key_style: KeyStyle::Hyphens,
                ..DockerConfig::default()
            };
            let engine = EngineVersion {
                name: name.to_owned(),
                version: "1.2.3".to_owned(),
                api: ApiVersion::parse(api).unwrap(),
                os: "linux".to_owned(),
                architecture: "amd64".to_owned(),
            };
            let found = config.checked_for(&engine).err();
            assert_eq!(found.map(|it| it.to_string()).as_deref(), expect);
        };
        let some = Some("02:42:ac:11:00:02");
        let refused = "docker.mac-address: needs an engine with API 1.44 (Docker 25) or newer; \
                       Docker 1.2.3 (API 1.43) would ignore it";
        check("Docker", "1.43", some, Some(refused));
        check("Docker", "1.44", some, None);
        check("Podman", "1.41", some, None);
        check("Docker", "1.41", None, None);
    }
}
