use super::*;
use std::fs;

/// Finds the engine with these variables set and these sockets usable.
fn find(
    settings: &HostSettings<'_>,
    variables: &[(&str, &str)],
    sockets: &[&str],
) -> Result<DockerHost, DockerError> {
    let lookup = HostLookup {
        variable: &|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.into())
        },
        socket: &|path| {
            if sockets.iter().any(|socket| Path::new(socket) == path) {
                Socket::Usable
            } else if path == Path::new(DEFAULT_SOCKET) {
                Socket::NoPermission
            } else {
                Socket::Missing
            }
        },
    };
    lookup.find(settings)
}

fn check(variables: &[(&str, &str)], sockets: &[&str], expected: &str) {
    let host = find(&HostSettings::default(), variables, sockets).unwrap();
    assert_eq!(host.to_string(), expected);
}

#[test]
fn the_first_source_counts() {
    let variables = [("DOCKER_HOST", "tcp://env:1"), ("DOCKER_CONTEXT", "other")];
    let mut settings = HostSettings {
        host: Some("tcp://setting:1"),
        ..HostSettings::default()
    };
    let host = find(&settings, &variables, &[]).unwrap();
    assert_eq!(
        (host.to_string().as_str(), host.tls),
        ("tcp://setting:1", None)
    );
    settings.host = Some("");
    let host = find(&settings, &variables, &[]).unwrap();
    assert_eq!(host.to_string(), "tcp://env:1");
    assert_eq!(host.origin, HostOrigin::Variable("DOCKER_HOST"));
}

#[test]
fn the_default_is_an_accessible_socket() {
    let runtime = [("XDG_RUNTIME_DIR", "/run/user/7")];
    check(
        &runtime,
        &[DEFAULT_SOCKET, "/run/user/7/docker.sock"],
        "unix:///var/run/docker.sock",
    );
    check(
        &runtime,
        &["/run/user/7/docker.sock"],
        "unix:///run/user/7/docker.sock",
    );
    check(
        &runtime,
        &["/run/user/7/podman/podman.sock"],
        "unix:///run/user/7/podman/podman.sock",
    );
    check(
        &[],
        &["/run/podman/podman.sock"],
        "unix:///run/podman/podman.sock",
    );
    // A socket without permission makes a better error than no socket.
    check(&runtime, &[], "unix:///var/run/docker.sock");
}

#[test]
fn tls_follows_settings_or_variables() {
    let tls = |directory: &str, verify| {
        let directory = Some(PathBuf::from(directory));
        Some(TlsFiles { directory, verify })
    };
    let settings = HostSettings {
        host: Some("tcp://setting:1"),
        tls_verify: true,
        tls_cert_path: Some(Path::new("/certs")),
    };
    assert_eq!(find(&settings, &[], &[]).unwrap().tls, tls("/certs", true));
    let found = |more: &[(&str, &str)]| {
        let mut variables = vec![("DOCKER_HOST", "tcp://env:1"), ("HOME", "/of/ci")];
        variables.extend(more);
        find(&HostSettings::default(), &variables, &[]).unwrap().tls
    };
    assert_eq!(found(&[]), None);
    assert_eq!(
        found(&[("DOCKER_TLS_VERIFY", "1")]),
        tls("/of/ci/.docker", true)
    );
    assert_eq!(found(&[("DOCKER_CERT_PATH", "/c")]), tls("/c", false));
    let https = DockerHost::parse("https://host").unwrap();
    assert!(https.tls_of_address().is_some_and(|tls| tls.verify));
}

/// Writes a context as `docker context create` does.
fn context(directory: &Path, name: &str, meta: &str) -> PathBuf {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(name.as_bytes());
    let id = format!("{digest:x}");
    let place = directory.join("contexts/meta").join(&id);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("meta.json"), meta).unwrap();
    directory.join("contexts/tls").join(id).join("docker")
}

#[test]
fn contexts_of_the_docker_command_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().to_str().unwrap();
    let meta = |host: &str| {
        format!(
            r#"{{"Name":"x","Metadata":{{}},"Endpoints":{{"docker":{{"Host":"{host}","SkipTLSVerify":false}}}}}}"#
        )
    };
    context(directory.path(), "far", &meta("ssh://ci@far"));
    let tls = context(directory.path(), "tls", &meta("tcp://tls:2376"));
    fs::create_dir_all(&tls).unwrap();
    context(
        directory.path(),
        "none",
        r#"{"Name":"none","Endpoints":{}}"#,
    );
    context(directory.path(), "broken", "{");

    let sockets = [DEFAULT_SOCKET];
    let config = ("DOCKER_CONFIG", home);
    check(&[config], &sockets, "unix:///var/run/docker.sock");
    check(
        &[config, ("DOCKER_CONTEXT", "far")],
        &sockets,
        "ssh://ci@far",
    );
    fs::write(
        directory.path().join("config.json"),
        r#"{"auths":{},"currentContext":"tls"}"#,
    )
    .unwrap();
    let host = find(&HostSettings::default(), &[config], &sockets).unwrap();
    assert_eq!(host.to_string(), "tcp://tls:2376");
    assert_eq!(host.origin, HostOrigin::Context("tls".to_owned()));
    assert_eq!(
        host.tls,
        Some(TlsFiles {
            directory: Some(tls),
            verify: true
        })
    );
    check(
        &[config, ("DOCKER_CONTEXT", "default")],
        &sockets,
        "unix:///var/run/docker.sock",
    );

    let refuse = |name: &str, part: &str| {
        let variables = [config, ("DOCKER_CONTEXT", name)];
        let error = find(&HostSettings::default(), &variables, &sockets).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refuse("nosuch", "docker context ls");
    refuse("../../etc", "does not exist");
    refuse("none", "has no engine");
    refuse("broken", "meta.json");
    fs::write(directory.path().join("config.json"), "{\"auths\": hunter2").unwrap();
    let error = find(&HostSettings::default(), &[config], &sockets).unwrap_err();
    assert!(error.to_string().contains("config.json"), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}
