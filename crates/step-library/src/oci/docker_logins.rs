use super::docker_config::DockerConfig;
use super::login::{Credentials, RegistryLogin};
use super::name::ImageName;
use async_trait::async_trait;
use executor_core::job::SecretString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// More of a file is not read, and then it is refused.
const LONGEST: u64 = (1 << 20) + 1;

/// Who the user of this program is to registries, as the docker command has noted it. Its helpers are not asked.
///
/// What cannot be read or understood is an error only where nothing else tells who asks; what is public is fetched all the
/// same.
#[derive(Debug, Clone, Default)]
pub struct DockerLogins {
    /// What the variable `DOCKER_AUTH_CONFIG` of this program says.
    pub variable: Option<SecretString>,
    /// The user's `config.json`.
    pub file: Option<PathBuf>,
}

#[async_trait]
impl Credentials for DockerLogins {
    async fn login(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Option<RegistryLogin>, String> {
        let image = ImageName::parse(registry, repository).map_err(|error| error.to_string())?;
        let of = |what: &str, text: &str| {
            let found = DockerConfig::parse(text).and_then(|config| config.login(&image));
            found.map_err(|why| format!("{what} is not as it should be: {why}"))
        };
        let variable = self.variable.as_ref().map(SecretString::expose);
        let variable = variable.filter(|text| !text.trim().is_empty());
        let variable = variable.map(|text| of("DOCKER_AUTH_CONFIG of the environment", text));
        if let Some(Ok(Some(login))) = variable {
            return Ok(Some(login));
        }
        let file = self.file.as_deref().and_then(|file| match read(file) {
            Ok(text) => Some(of(&file.display().to_string(), &text)),
            Err(error) if is_absent(&error) => None,
            Err(error) => Some(Err(format!("{} cannot be read: {error}", file.display()))),
        });
        match (file, variable) {
            (Some(Ok(Some(login))), _) => Ok(Some(login)),
            (_, Some(Err(why))) | (Some(Err(why)), _) => Err(why),
            _ => Ok(None),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?
        .take(LONGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(registry: &str, user: &str) -> String {
        format!(r#"{{"auths": {{"{registry}": {{"username": "{user}", "password": "p"}}}}}}"#)
    }

    #[tokio::test]
    async fn the_variable_comes_first_and_the_file_for_what_it_does_not_know() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        fs::write(&file, config("b.example", "of-file")).unwrap();
        let check =
            async |variable: Option<String>, registry: &str, expect: Result<Option<&str>, &str>| {
                let logins = DockerLogins {
                    variable: variable.map(SecretString::new),
                    file: Some(file.clone()),
                };
                match (logins.login(registry, "g/p").await, expect) {
                    (Ok(Some(RegistryLogin::Password { username, .. })), Ok(Some(user))) => {
                        assert_eq!(username, user);
                    }
                    (Ok(None), Ok(None)) => {}
                    (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                    (found, _) => panic!("{registry}: {found:?}"),
                }
            };
        let of_a = || Some(config("a.example", "of-variable"));
        check(of_a(), "a.example", Ok(Some("of-variable"))).await;
        check(of_a(), "b.example", Ok(Some("of-file"))).await;
        check(of_a(), "c.example", Ok(None)).await;
        check(Some(String::new()), "b.example", Ok(Some("of-file"))).await;
        let broken = || Some("{".to_owned());
        check(broken(), "b.example", Ok(Some("of-file"))).await;
        check(broken(), "c.example", Err("DOCKER_AUTH_CONFIG")).await;
        fs::write(&file, "[").unwrap();
        check(None, "b.example", Err("config.json is not")).await;
        fs::remove_file(&file).unwrap();
        check(None, "b.example", Ok(None)).await;
    }
}
