use crate::image::{Layout, Packing, skopeo, tar};
use crate::images::image;
use crate::registry::{Fake, PASSWORD, Registry, auth_config};
use crate::support::{Home, fetch, text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use step_library::StepLibrary;
use steps::{JobCredentials, Library, LibraryError, Published};

/// Writes an archive like that of the function `oci/build`.
fn archive(home: &Home, version: &str, content: &str) -> PathBuf {
    let mut layout = Layout::default();
    let common = tar(&[("common", b"common")]);
    let images: Vec<_> = ["linux/amd64", "linux/arm64"]
        .iter()
        .map(|platform| {
            let own = format!("{platform} {content}");
            let own = tar(&[("func.yml", own.as_bytes())]);
            layout.image(
                platform,
                &[(Packing::Plain, common.clone()), (Packing::Gzip, own)],
            )
        })
        .collect();
    let list = layout.list(&images);
    layout.name(&list, version);
    let file = home.path().join(format!("{version}-{content}.tar"));
    layout.write(&file);
    file
}

async fn publish(
    library: &StepLibrary,
    file: &std::path::Path,
    to: &str,
) -> Result<Published, LibraryError> {
    library.publish(file, to, &JobCredentials::default()).await
}

fn digest_of(host: &str, tag: &str) -> String {
    let name = format!("docker://{host}/team/app:{tag}");
    let raw = skopeo(&["inspect", "--raw", "--tls-verify=false", &name]);
    format!("sha256:{:x}", Sha256::digest(raw))
}

#[tokio::test]
async fn published_image_can_be_fetched() {
    let (home, registry) = (Home::new(), Registry::start());
    let host = &registry.host;
    let library = home.library(&[&format!("http://{host}")]);
    let file = archive(&home, "1.2.0", "first");
    let to = format!("{host}/team/app");
    let published = publish(&library, &file, &to).await.unwrap();
    assert_eq!(published.tags, ["1.2.0", "1.2", "1", "latest"]);
    for tag in &published.tags {
        assert_eq!(digest_of(host, tag), published.digest, "{tag}");
    }
    let fetched = fetch(&library, &image(host, "1")).await.unwrap();
    assert_eq!(fetched.identity, published.digest);
    assert_eq!(text(&fetched.directory, "func.yml"), "linux/amd64 first");
    assert_eq!(text(&fetched.directory, "common"), "common");
    // Other tools can use it as well.
    let copy = format!("oci-archive:{}", home.path().join("copy.tar").display());
    let from = format!("docker://{to}:1.2.0");
    skopeo(&[
        "--insecure-policy",
        "copy",
        "-q",
        "--all",
        "--src-tls-verify=false",
        &from,
        &copy,
    ]);
    // Publishing the same image again succeeds.
    assert_eq!(publish(&library, &file, &to).await.unwrap(), published);
    // A version does not become another image.
    let other = archive(&home, "1.2.0", "other");
    let error = publish(&library, &other, &to).await.unwrap_err();
    assert!(
        error.message.contains("app:1.2.0 exists already"),
        "{error}"
    );
    assert_eq!(digest_of(host, "1.2.0"), published.digest);
}

#[tokio::test]
async fn tags_move_forward_only() {
    let (home, registry) = (Home::new(), Registry::start());
    let host = &registry.host;
    let library = home.library(&[&format!("http://{host}")]);
    let to = format!("{host}/team/app");
    let mut digests = std::collections::HashMap::new();
    for (version, expect) in [
        ("1.1.0", &["1.1.0", "1.1", "1", "latest"][..]),
        ("2.0.0", &["2.0.0", "2.0", "2", "latest"]),
        ("1.2.0", &["1.2.0", "1.2", "1"]),
        ("1.1.1", &["1.1.1", "1.1"]),
        ("3.0.0-rc.1", &["3.0.0-rc.1"]),
    ] {
        let file = archive(&home, version, version);
        let published = publish(&library, &file, &to).await.unwrap();
        assert_eq!(published.tags, expect);
        digests.insert(version, published.digest);
    }
    for (tag, version) in [
        ("latest", "2.0.0"),
        ("2", "2.0.0"),
        ("1", "1.2.0"),
        ("1.2", "1.2.0"),
        ("1.1", "1.1.1"),
        ("1.1.0", "1.1.0"),
    ] {
        assert_eq!(digest_of(host, tag), digests[version], "{tag}");
    }
}

#[tokio::test]
async fn publishing_authenticates_or_names_the_registry() {
    let (home, registry) = (Home::new(), Registry::start_private());
    let host = &registry.host;
    let library = home.library(&[&format!("http://{host}")]);
    let file = archive(&home, "1.0.0", "it");
    let to = format!("{host}/team/app");
    let error = publish(&library, &file, &to).await.unwrap_err();
    assert!(
        error
            .message
            .contains(&format!("there are no credentials for {host}")),
        "{error}"
    );
    let wrong = JobCredentials {
        docker_auth_configs: vec![auth_config(host, "hunter2")],
    };
    let error = library.publish(&file, &to, &wrong).await.unwrap_err();
    assert!(
        error
            .message
            .contains("does not let these credentials publish"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hunter2"));
    let right = JobCredentials {
        docker_auth_configs: vec![auth_config(host, PASSWORD)],
    };
    let published = library.publish(&file, &to, &right).await.unwrap();
    assert_eq!(published.tags.len(), 4);
}

#[tokio::test]
async fn all_pages_of_tags_are_read() {
    let uploads = "/v2/team/app/blobs/uploads/";
    let fake = Fake::start(move |seen, _| match (&*seen.method, &*seen.path) {
        ("GET", "/v2/team/app/tags/list?n=1000") => {
            let link = "</v2/team/app/tags/list?n=1000&last=x>; rel=\"next\"".to_owned();
            let page = json!({ "tags": ["1.0.0"] }).to_string().into_bytes();
            (200, vec![("link", link)], page)
        }
        ("GET", "/v2/team/app/tags/list?n=1000&last=x") => {
            let page = json!({ "tags": ["9.0.0"] }).to_string().into_bytes();
            (200, vec![], page)
        }
        ("POST", path) if path == uploads => (
            202,
            vec![("location", format!("{uploads}1?state=x"))],
            vec![],
        ),
        ("PUT", _) => (201, vec![], vec![]),
        _ => (404, vec![], vec![]),
    });
    let home = Home::new();
    let library = home.library(&[&format!("http://{}", fake.host)]);
    let file = archive(&home, "2.0.0", "it");
    let to = format!("{}/team/app", fake.host);
    let published = publish(&library, &file, &to).await.unwrap();
    assert_eq!(published.tags, ["2.0.0", "2.0", "2"]);
    let sent = |start: &str| {
        let seen = fake.seen().into_iter();
        seen.filter(|it| it.method == "PUT" && it.path.starts_with(start))
            .map(|it| it.path)
            .collect::<Vec<_>>()
    };
    // Two configurations, a layer for both platforms, and one for each.
    let blobs = sent(uploads);
    assert_eq!(blobs.len(), 5);
    assert!(
        blobs
            .iter()
            .all(|it| it.contains("/1?state=x&digest=sha256%3A"))
    );
    assert_eq!(sent("/v2/team/app/manifests/").len(), 3 + 3);
}

#[tokio::test]
async fn invalid_archives_are_explained() {
    let home = Home::new();
    let fake = Fake::start(|_, _| (500, vec![], vec![]));
    let library = home.library(&[&format!("http://{}", fake.host)]);
    let file = home.path().join("bad.tar");
    let to = format!("{}/team/app", fake.host);
    let image =
        |layout: &mut Layout| layout.image("linux/amd64", &[(Packing::Plain, tar(&[("a", b"a")]))]);
    let with = |change: &dyn Fn(&mut Layout, Value)| {
        let mut layout = Layout::default();
        let described = image(&mut layout);
        change(&mut layout, described);
        layout.write(&file);
    };
    let cases: [(&str, &dyn Fn()); 9] = [
        ("not a tar archive", &|| {
            std::fs::write(&file, "x".repeat(2000)).unwrap();
        }),
        ("`oci-layout` is not in it", &|| {
            std::fs::write(&file, tar(&[("index.json", b"{}")])).unwrap();
        }),
        ("found 0", &|| with(&|_, _| {})),
        ("found 2", &|| {
            with(&|layout, it| {
                layout.name(&it, "1.0.0");
                layout.name(&it, "1.0.1");
            });
        }),
        ("has no version", &|| {
            with(&|layout, it| layout.index.push(it));
        }),
        ("its version `latest` is invalid", &|| {
            with(&|layout, it| layout.name(&it, "latest"));
        }),
        ("has a `+`", &|| {
            with(&|layout, it| layout.name(&it, "1.0.0+x"));
        }),
        ("is not in it, or has another size", &|| {
            with(&|layout, mut it| {
                it["size"] = json!(1);
                layout.name(&it, "1.0.0");
            });
        }),
        ("has another digest", &|| {
            with(&|layout, it| {
                layout.name(&it, "1.0.0");
                let hex = it["digest"].as_str().unwrap()["sha256:".len()..].to_owned();
                *layout.blobs.get_mut(&hex).unwrap().last_mut().unwrap() = b' ';
            });
        }),
    ];
    for (words, write) in cases {
        write();
        let error = publish(&library, &file, &to).await.unwrap_err();
        assert!(error.message.contains(words), "{words}: {error}");
    }
    assert!(fake.seen().is_empty());
    let good = archive(&home, "1.0.0", "it");
    for (to, words) in [
        ("app", "is not REGISTRY/REPOSITORY"),
        ("h.example/app:1", "write only app"),
        ("h.example/App", "lower case"),
        ("me:secret@h.example/app", "not the host of a registry"),
    ] {
        let error = publish(&library, &good, to).await.unwrap_err();
        assert!(error.message.contains(words), "{to}: {error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
    let absent = home.path().join("absent.tar");
    let error = publish(&library, &absent, &to).await.unwrap_err();
    assert!(error.message.contains("absent.tar"), "{error}");
}
