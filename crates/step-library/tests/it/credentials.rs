use crate::image::{Layout, Packing, tar};
use crate::images::{asker, contents, image};
use crate::registry::{Fake, PASSWORD, Registry, USER, auth_config};
use crate::support::{Home, fetch, refusal, text};
use registry::{
    CredentialSources, Credentials, ImageRepository, LoginSecret, LoginSource, RegistryLogin,
};
use std::sync::Arc;
use step_library::StepLibrary;
use steps::{JobCredentials, Library};

#[tokio::test]
async fn credentials_do_not_follow_a_redirect() {
    let (digest, layout) = contents();
    let blobs = layout.blobs.clone();
    let storage = Fake::start(move |seen, _| {
        let hex = seen.path.rsplit('/').next().unwrap();
        (200, vec![], blobs[hex].clone())
    });
    let to = storage.host.clone();
    let fake = Fake::start(move |seen, _| {
        if seen.authorization.is_none() {
            let basic = "Basic realm=\"x\"".to_owned();
            return (401, vec![("www-authenticate", basic)], vec![]);
        }
        let hex = seen.path.rsplit([':', '/']).next().unwrap();
        if seen.path.contains("/blobs/") {
            return (
                307,
                vec![("location", format!("http://{to}/{hex}"))],
                vec![],
            );
        }
        let bytes = layout.blobs[&digest["sha256:".len()..]].clone();
        (200, vec![("docker-content-digest", digest.clone())], bytes)
    });
    let home = Home::new();
    let servers = [&fake.host, &storage.host].map(|host| format!("http://{host}"));
    let library = home.library(&[&servers[0], &servers[1]]);
    let source = image(&fake.host, "1");
    let fetched = library.fetch(&source, &asker(&fake.host, PASSWORD)).await;
    assert_eq!(text(&fetched.unwrap().directory, "func.yml"), "it");
    assert!(!storage.seen().is_empty());
    assert!(storage.seen().iter().all(|it| it.authorization.is_none()));
    // The redirect's target may not be reached.
    let library = Home::new().library(&[&servers[0]]);
    let error = library.fetch(&source, &asker(&fake.host, PASSWORD)).await;
    let message = error.unwrap_err().message;
    assert!(message.contains("redirects"), "{message}");
}

#[tokio::test]
async fn unreadable_docker_config_is_reported_only_where_a_login_is_needed() {
    let (digest, layout) = contents();
    let public = Fake::start(move |seen, _| {
        let hex = seen.path.rsplit([':', '/']).next().unwrap();
        let hex = if hex == "1" {
            &digest["sha256:".len()..]
        } else {
            hex
        };
        let headers = vec![("docker-content-digest", digest.clone())];
        (200, headers, layout.blobs[hex].clone())
    });
    let basic = || vec![("www-authenticate", "Basic realm=\"x\"".to_owned())];
    let private = Fake::start(move |_, _| (401, basic(), vec![]));
    let closed = Fake::start(|_, _| (403, vec![], vec![]));
    let hosts = [&public.host, &private.host, &closed.host];
    let servers = hosts.map(|host| format!("http://{host}"));
    let entries = hosts.map(|host| format!(r#""{host}": {{"auth": "hunter2!"}}"#));
    let broken_entries = format!(r#"{{"auths": {{{}}}}}"#, entries.join(", "));
    for content in [Some("{hunter2"), Some(&broken_entries), None] {
        let home = Home::new();
        let file = home.path().join("config.json");
        match content {
            Some(text) => std::fs::write(&file, text).unwrap(),
            // A directory cannot be read as a file.
            None => std::fs::create_dir(&file).unwrap(),
        }
        let mut options = home.options(&servers.each_ref().map(String::as_str));
        let sources = CredentialSources {
            file: Some(file.clone()),
            ..CredentialSources::default()
        };
        options.logins = Some(Arc::new(Credentials::new(sources).ignoring_helpers()));
        let library = StepLibrary::new(options).unwrap();
        let fetched = fetch(&library, &image(&public.host, "1")).await.unwrap();
        assert_eq!(text(&fetched.directory, "func.yml"), "it");
        for host in [&private.host, &closed.host] {
            let message = refusal(&library, &image(host, "1")).await;
            let expected = format!("there are no credentials for {host}");
            assert!(message.starts_with(&expected), "{message}");
            assert!(message.contains(&*file.to_string_lossy()), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
    assert!(public.seen().iter().all(|it| it.authorization.is_none()));
}

/// A login source with one password.
#[derive(Debug)]
struct OnePassword;

#[async_trait::async_trait]
impl LoginSource for OnePassword {
    async fn login(&self, repository: &ImageRepository) -> Result<Option<RegistryLogin>, String> {
        match repository.path() {
            "team/app" => Ok(Some(RegistryLogin {
                username: USER.to_owned(),
                secret: LoginSecret::Password(PASSWORD.into()),
            })),
            _ => Err("the vault is closed".to_owned()),
        }
    }
}

#[tokio::test]
async fn users_logins_are_used_where_the_job_has_none() {
    let (home, registry) = (Home::new(), Registry::start_private());
    let host = &registry.host;
    let mut options = home.options(&[&format!("http://{host}")]);
    options.logins = Some(Arc::new(OnePassword));
    let library = StepLibrary::new(options).unwrap();
    let mut layout = Layout::default();
    let single = layout.image(
        "linux/amd64",
        &[(Packing::Plain, tar(&[("func.yml", b"it")]))],
    );
    layout.name(&single, "1.0.0");
    let archive = home.path().join("image.tar");
    layout.write(&archive);
    let to = format!("{host}/team/app");
    let anonymous = JobCredentials::default();
    library.publish(&archive, &to, &anonymous).await.unwrap();
    let fetched = fetch(&library, &image(host, "1.0.0")).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
    // The job's login wins, also when it is wrong.
    let (source, wrong) = (image(host, "1.0.0"), asker(host, "hunter2"));
    let message = library.fetch(&source, &wrong).await.unwrap_err().message;
    assert!(
        message.contains("does not let these credentials"),
        "{message}"
    );
    let to = format!("{host}/team/other");
    let error = library
        .publish(&archive, &to, &anonymous)
        .await
        .unwrap_err();
    assert!(error.message.contains("the vault is closed"), "{error}");
    let broken = JobCredentials {
        docker_auth_configs: vec!["{hunter2".to_owned()],
    };
    let error = library
        .fetch(&image(host, "1.0.0"), &broken)
        .await
        .unwrap_err();
    assert!(error.message.contains("DOCKER_AUTH_CONFIG"), "{error}");
    assert!(!error.message.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn job_login_is_used_where_the_step_has_none() {
    let (home, registry) = (Home::new(), Registry::start_private());
    let host = &registry.host;
    let library = home.library(&[&format!("http://{host}")]);
    let mut layout = Layout::default();
    let single = layout.image(
        "linux/amd64",
        &[(Packing::Plain, tar(&[("func.yml", b"it")]))],
    );
    layout.name(&single, "1.0.0");
    let archive = home.path().join("image.tar");
    layout.write(&archive);
    let to = format!("{host}/team/app");
    let asked_with = |configs: &[String]| JobCredentials {
        docker_auth_configs: configs.to_vec(),
    };
    let (right, wrong) = (auth_config(host, PASSWORD), auth_config(host, "hunter2"));
    let elsewhere = auth_config("registry.example.com", "hunter2");
    let both = asked_with(&[elsewhere, right.clone()]);
    library.publish(&archive, &to, &both).await.unwrap();
    let fetched = library.fetch(&image(host, "1.0.0"), &both).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
    // The step's own login wins.
    let first = asked_with(&[wrong, right]);
    let error = library.publish(&archive, &to, &first).await.unwrap_err();
    assert!(error.message.contains("does not let these"), "{error}");
}

#[tokio::test]
async fn users_authority_is_trusted() {
    let (home, registry) = (Home::new(), Registry::start_tls());
    let host = &registry.host;
    let mut options = home.options(&[&format!("https://{host}")]);
    let stranger = StepLibrary::new(options.clone()).unwrap();
    let message = refusal(&stranger, &image(host, "1")).await;
    assert!(message.contains("is not trusted"), "{message}");
    options.web.authorities = vec![registry.authority()];
    let library = StepLibrary::new(options).unwrap();
    let mut layout = Layout::default();
    let single = layout.image(
        "linux/amd64",
        &[(Packing::Plain, tar(&[("func.yml", b"it")]))],
    );
    layout.name(&single, "1.0.0");
    let archive = home.path().join("image.tar");
    layout.write(&archive);
    let to = format!("{host}/team/app");
    library
        .publish(&archive, &to, &JobCredentials::default())
        .await
        .unwrap();
    let fetched = fetch(&library, &image(host, "latest")).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
}
