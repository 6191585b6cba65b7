use crate::image::{Layout, Packing, push, tar};
use crate::registry::{Fake, PASSWORD, Registry, auth_config};
use crate::support::{Home, fetch, refusal, text};
use serde_json::json;
use step_library::StepLibrary;
use steps::{JobCredentials, Library, Source};

pub(crate) fn image(registry: &str, tag: &str) -> Source {
    image_for(registry, tag, "linux/amd64")
}

fn image_for(registry: &str, tag: &str, platform: &str) -> Source {
    Source::Oci {
        registry: registry.to_owned(),
        repository: "team/app".to_owned(),
        tag: tag.to_owned(),
        platform: platform.to_owned(),
    }
}

pub(crate) fn asker(host: &str, password: &str) -> JobCredentials {
    JobCredentials {
        docker_auth_configs: vec![auth_config(host, password)],
    }
}

/// Pushes an image with one file for each platform, and returns the digest of the list.
fn push_images(home: &Home, host: &str, tag: &str, platforms: &[&str]) -> String {
    let mut layout = Layout::default();
    let images: Vec<_> = platforms
        .iter()
        .map(|platform| {
            let files: [(&str, &[u8]); 1] = [("func.yml", platform.as_bytes())];
            layout.image(platform, &[(Packing::Gzip, tar(&files))])
        })
        .collect();
    let list = layout.list(&images);
    layout.name(&list, tag);
    let archive = home.path().join(format!("{tag}.tar"));
    layout.write(&archive);
    push(&archive, &format!("{host}/team/app:{tag}"));
    list["digest"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn image_for_the_platform_is_fetched_once() {
    let (home, registry) = (Home::new(), Registry::start());
    let host = &registry.host.clone();
    let digest = push_images(&home, host, "1.0.0", &["linux/amd64", "linux/arm64"]);
    let library = home.library(&[&format!("http://{host}")]);
    for (platform, tag) in [
        ("linux/amd64", "1.0.0"),
        ("linux/arm64", "1.0.0"),
        ("linux/amd64", &*digest),
    ] {
        let fetched = fetch(&library, &image_for(host, tag, platform))
            .await
            .unwrap();
        assert_eq!(fetched.identity, digest);
        assert_eq!(text(&fetched.directory, "func.yml"), platform);
    }
    assert_eq!(home.names("oci/trees").len(), 2);
    let message = refusal(&library, &image_for(host, "1.0.0", "linux/riscv64")).await;
    assert!(
        message.contains("has no image for linux/riscv64, it has linux/amd64, linux/arm64"),
        "{message}"
    );
    let message = refusal(&library, &image(host, "2.0.0")).await;
    assert!(
        message.contains("team/app:2.0.0 does not exist"),
        "{message}"
    );
    // A tag is resolved each time.
    let other = push_images(&home, host, "1.0.0", &["linux/amd64"]);
    let fetched = fetch(&library, &image(host, "1.0.0")).await.unwrap();
    assert_eq!(fetched.identity, other);
    drop(registry);
    let message = refusal(&library, &image(host, "1.0.0")).await;
    assert!(message.contains("cannot be reached"), "{message}");
    let mut options = home.options(&[]);
    options.offline = true;
    let offline = StepLibrary::new(options).unwrap();
    let fetched = fetch(&offline, &image(host, "1.0.0")).await.unwrap();
    assert_eq!(fetched.identity, other);
}

#[tokio::test]
async fn layers_are_merged_whatever_their_compression() {
    let (home, registry) = (Home::new(), Registry::start());
    let mut layout = Layout::default();
    let layers = [
        (
            Packing::Plain,
            tar(&[("a/one", b"1"), ("a/two", b"1"), ("b", b"1")]),
        ),
        (Packing::Gzip, tar(&[("a/.wh.one", b""), ("a/two", b"2")])),
        (Packing::Zstd, tar(&[("c/three", b"3"), (".wh.b", b"")])),
    ];
    let single = layout.image("linux/amd64", &layers);
    layout.name(&single, "1");
    let archive = home.path().join("layers.tar");
    layout.write(&archive);
    let host = &registry.host;
    push(&archive, &format!("{host}/team/app:1"));
    let library = home.library(&[&format!("http://{host}")]);
    let fetched = fetch(&library, &image(host, "1")).await.unwrap();
    let tree = &fetched.directory;
    assert_eq!(text(tree, "a/two"), "2");
    assert_eq!(text(tree, "c/three"), "3");
    assert!(!tree.join("a/one").exists() && !tree.join("b").exists());
    assert!(!tree.join(".wh.b").exists());
    let message = refusal(&library, &image_for(host, "1", "linux/arm64")).await;
    assert!(message.contains("it has linux/amd64"), "{message}");
}

#[tokio::test]
async fn private_registry_authenticates_each_fetch() {
    let (home, registry) = (Home::new(), Registry::start_private());
    let host = &registry.host;
    let mut layout = Layout::default();
    let single = layout.image(
        "linux/amd64",
        &[(Packing::Plain, tar(&[("func.yml", b"it")]))],
    );
    layout.name(&single, "1");
    let archive = home.path().join("image.tar");
    layout.write(&archive);
    crate::image::skopeo(&[
        "--insecure-policy",
        "copy",
        "--quiet",
        "--dest-tls-verify=false",
        "--dest-creds",
        &format!("user:{PASSWORD}"),
        &format!("oci-archive:{}", archive.display()),
        &format!("docker://{host}/team/app:1"),
    ]);
    let library = home.library(&[&format!("http://{host}")]);
    let source = image(host, "1");
    let fetched = library
        .fetch(&source, &asker(host, PASSWORD))
        .await
        .unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
    // It is in the cache now, and still only for users the registry accepts.
    let message = refusal(&library, &source).await;
    assert!(
        message.contains(&format!("there are no credentials for {host}"))
            && message.contains("DOCKER_AUTH_CONFIG"),
        "{message}"
    );
    let wrong = asker(host, "hunter2");
    let error = library.fetch(&source, &wrong).await.unwrap_err();
    assert!(
        error.message.contains("does not let these credentials"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

/// Returns the manifest and the blobs of an image with one file, by their paths.
pub(crate) fn contents() -> (String, Layout) {
    let mut layout = Layout::default();
    let single = layout.image(
        "linux/amd64",
        &[(Packing::Plain, tar(&[("func.yml", b"it")]))],
    );
    let digest = single["digest"].as_str().unwrap().to_owned();
    (digest, layout)
}

#[tokio::test]
async fn token_comes_from_the_registrys_token_server() {
    let (digest, layout) = contents();
    let fake = Fake::start(move |seen, host| {
        if seen.path.starts_with("/token") {
            let known = seen.authorization.as_deref() == Some("Basic dXNlcjpwfn5+Pz4/fg==")
                || seen.body.contains("refresh_token=identity");
            let body = json!({ "token": "good" }).to_string().into_bytes();
            return if known {
                (200, vec![], body)
            } else {
                (401, vec![], vec![])
            };
        }
        if seen.authorization.as_deref() != Some("Bearer good") {
            let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"s\"");
            return (401, vec![("www-authenticate", challenge)], vec![]);
        }
        let hex = seen.path.rsplit(':').next().unwrap();
        let tagged = seen.path.ends_with("/manifests/1");
        let hex = if tagged {
            &digest["sha256:".len()..]
        } else {
            hex
        };
        match layout.blobs.get(hex) {
            Some(bytes) => (
                200,
                vec![("docker-content-digest", digest.clone())],
                bytes.clone(),
            ),
            None => (404, vec![], vec![]),
        }
    });
    let home = Home::new();
    let host = &fake.host;
    let library = home.library(&[&format!("http://{host}")]);
    let source = image(host, "1");
    let fetched = library
        .fetch(&source, &asker(host, PASSWORD))
        .await
        .unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
    let seen = fake.seen();
    let tokens: Vec<_> = seen
        .iter()
        .filter(|it| it.path.starts_with("/token"))
        .collect();
    assert_eq!(tokens.len(), 1, "it is used for all requests");
    assert_eq!(
        tokens[0].path,
        "/token?service=s&scope=repository%3Ateam%2Fapp%3Apull"
    );
    let identity = json!({ "auths": { host: { "identitytoken": "identity" } } });
    let identity = JobCredentials {
        docker_auth_configs: vec![identity.to_string()],
    };
    library.fetch(&source, &identity).await.unwrap();
    let message = refusal(&library, &source).await;
    assert!(message.contains("there are no credentials"), "{message}");
}

#[tokio::test]
async fn digest_mismatch_is_refused_and_leaves_nothing() {
    let (digest, layout) = contents();
    let home = Home::new();
    let manifest = layout.blobs[&digest["sha256:".len()..]].clone();
    let layer: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let layer = layer["layers"][0]["digest"].as_str().unwrap()["sha256:".len()..].to_owned();
    for evil in ["other bytes of the same length", "short", "manifest"] {
        let (digest, layer) = (digest.clone(), layer.clone());
        let blobs = layout.blobs.clone();
        let fake = Fake::start(move |seen, _| {
            let hex = seen.path.rsplit([':', '/']).next().unwrap();
            let hex = if hex == "1" {
                &digest["sha256:".len()..]
            } else {
                hex
            };
            let mut bytes = blobs[hex].clone();
            let is_manifest = seen.path.contains("/manifests/");
            match evil {
                "manifest" if is_manifest => bytes.push(b' '),
                "short" if hex == layer => bytes.truncate(100),
                "other bytes of the same length" if hex == layer => bytes[600] ^= 1,
                _ => {}
            }
            (200, vec![("docker-content-digest", digest.clone())], bytes)
        });
        let library = home.library(&[&format!("http://{}", fake.host)]);
        let message = refusal(&library, &image(&fake.host, "1")).await;
        assert!(
            message.contains("do not have the digest sha256:"),
            "{evil}: {message}"
        );
        assert_eq!(home.names("oci/trees"), [""; 0]);
    }
}

#[tokio::test]
async fn image_cannot_write_outside_or_beyond_its_limit() {
    let (home, registry) = (Home::new(), Registry::start());
    let host = &registry.host;
    let entry = |kind: tar::EntryType, name: &str, target: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend([0; 1024]);
        bytes
    };
    let mut link = entry(tar::EntryType::Symlink, "out", "/etc");
    link.truncate(512);
    link.extend(tar(&[("out/x", b"x")]));
    let huge = tar(&[("huge", &vec![0; 3 << 20])]);
    for (tag, layer, words) in [
        (
            "dots",
            entry(tar::EntryType::Regular, "../x", ""),
            "refused",
        ),
        (
            "absolute",
            entry(tar::EntryType::Regular, "/x", ""),
            "refused",
        ),
        (
            "hard",
            entry(tar::EntryType::Link, "x", "../../x"),
            "refused",
        ),
        ("link", link, "refused"),
        ("bomb", huge, "more than 1048576 bytes"),
    ] {
        let mut layout = Layout::default();
        let single = layout.image("linux/amd64", &[(Packing::Gzip, layer)]);
        layout.name(&single, tag);
        let archive = home.path().join("evil.tar");
        layout.write(&archive);
        push(&archive, &format!("{host}/team/app:{tag}"));
        let mut options = home.options(&[&format!("http://{host}")]);
        options.max_bytes = 1 << 20;
        let library = StepLibrary::new(options).unwrap();
        let message = refusal(&library, &image(host, tag)).await;
        assert!(message.contains(words), "{tag}: {message}");
        assert_eq!(home.names("oci/trees"), [""; 0], "{tag}");
    }
    // Entries that are allowed and dropped.
    let mut mixed = entry(tar::EntryType::Symlink, "etc", "/etc/passwd");
    mixed.truncate(512);
    mixed.extend(entry(tar::EntryType::Char, "device", "")[..512].to_vec());
    mixed.extend(tar(&[("func.yml", b"it")]));
    let mut layout = Layout::default();
    let single = layout.image("linux/amd64", &[(Packing::Plain, mixed)]);
    layout.name(&single, "mixed");
    let archive = home.path().join("mixed.tar");
    layout.write(&archive);
    push(&archive, &format!("{host}/team/app:mixed"));
    let library = home.library(&[&format!("http://{host}")]);
    let fetched = fetch(&library, &image(host, "mixed")).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
    assert!(!fetched.directory.join("etc").is_symlink());
    assert!(!fetched.directory.join("device").exists());
}

#[tokio::test]
async fn forbidden_hosts_are_not_contacted() {
    let fake = Fake::start(|_, _| (200, vec![], vec![]));
    let home = Home::new();
    let library = home.library(&[]);
    let message = refusal(&library, &image(&fake.host, "1")).await;
    assert!(
        message.contains("127.0.0.1 is for this machine"),
        "{message}"
    );
    let message = refusal(&library, &image("169.254.169.254", "1")).await;
    assert!(
        message.starts_with("169.254.169.254 is for what a cloud tells a machine about itself (if"),
        "{message}"
    );
    assert!(fake.seen().is_empty());
    // A registry on another machine is asked with encryption, unless it is named as insecure.
    let message = refusal(&library, &image("registry.invalid:80", "1")).await;
    assert!(message.contains("https://registry.invalid:80"), "{message}");
}
