//! Builtin functions.

use super::fake_library::{FakeLibrary, run};
use super::support::Served;
use executor_core::Cancellation;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use steps::wire::v1;
use steps::wire::v1::result::State;

fn request(served: &Served, steps: &str) -> v1::RunRequest {
    v1::RunRequest {
        steps: steps.to_owned(),
        ..served.request("1", "")
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the content of a tar archive by name.
fn unpacked(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(header.uid().unwrap() + header.gid().unwrap(), 0);
        assert_eq!(header.mtime().unwrap(), 0);
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        (name, bytes)
    });
    entries.collect()
}

/// Returns the blob of a descriptor, and checks its digest.
fn blob(layout: &BTreeMap<String, Vec<u8>>, descriptor: &serde_json::Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap();
    let bytes = &layout[&format!("blobs/{}", digest.replace(':', "/"))];
    assert_eq!(format!("sha256:{:x}", Sha256::digest(bytes)), digest);
    assert_eq!(descriptor["size"].as_u64().unwrap(), bytes.len() as u64);
    bytes.clone()
}

fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap()
}

const BUILD: &str = r#"
- name: build
  func: builtin://function/oci/build
  inputs:
    version: "1.2.3"
    common:
      files: {func.yml: src/func.yml, lib: src/lib}
    platforms:
      linux/amd64: {files: {bin/tool: target/amd64}}
      linux/arm64: {files: {bin/tool: target/arm64}}
"#;

fn sources(served: &Served) {
    let work = served.path("work");
    write(
        &work.join("src/func.yml"),
        "spec:\n---\nexec: {command: [\"true\"]}\n",
    );
    write(&work.join("src/lib/a"), "a");
    symlink("a", work.join("src/lib/b")).unwrap();
    write(&work.join("target/amd64"), "for amd64");
    write(&work.join("target/arm64"), &"for arm64 ".repeat(100_000));
    let executable = fs::Permissions::from_mode(0o700);
    fs::set_permissions(work.join("target/amd64"), executable).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn image_archive_is_readable_by_other_tools() {
    let mut served = Served::start().await;
    sources(&served);
    let steps = format!(
        "{BUILD}- {{name: show, script: 'echo ${{{{ steps.build.outputs.archive }}}} ${{{{ steps.build.outputs.digest }}}}'}}\n"
    );
    let (log, status) = served.run(request(&served, &steps)).await;
    assert_eq!(status.result.unwrap().state(), State::Success, "{log}");
    let path = served.path("work/function-image.tar");
    let archive = fs::read(&path).unwrap();
    let layout = unpacked(&archive);
    assert_eq!(json(&layout["oci-layout"])["imageLayoutVersion"], "1.0.0");
    let top = json(&layout["index.json"]);
    let entry = &top["manifests"][0];
    assert_eq!(
        entry["annotations"]["org.opencontainers.image.ref.name"],
        "1.2.3"
    );
    let digest = entry["digest"].as_str().unwrap();
    assert_eq!(log, format!("{} {digest}\n", path.display()));
    let index = json(&blob(&layout, entry));
    let mut layers = Vec::new();
    for (manifest, architecture) in index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["amd64", "arm64"])
    {
        assert_eq!(manifest["platform"]["architecture"], architecture);
        let manifest = json(&blob(&layout, manifest));
        let config = json(&blob(&layout, &manifest["config"]));
        assert_eq!(
            (&config["os"], &config["architecture"]),
            (&"linux".into(), &architecture.into())
        );
        for (layer, sum) in manifest["layers"]
            .as_array()
            .unwrap()
            .iter()
            .zip(config["rootfs"]["diff_ids"].as_array().unwrap())
        {
            assert_eq!(&layer["digest"], sum);
            layers.push(unpacked(&blob(&layout, layer)));
        }
    }
    let [common, amd64, again, arm64] = &layers[..] else {
        panic!("{} layers", layers.len());
    };
    assert_eq!(common, again);
    let names: Vec<_> = common.keys().map(String::as_str).collect();
    assert_eq!(names, ["func.yml", "lib/", "lib/a", "lib/b"]);
    assert_eq!(amd64["bin/tool"], b"for amd64");
    assert_eq!(arm64["bin/tool"].len(), 1_000_000);
    // A second build gives the same bytes.
    served.finish("1").await;
    served.run(request(&served, BUILD)).await;
    assert!(fs::read(&path).unwrap() == archive);
    inspected(&path);
    served.stop().await;
}

/// Reads the archive with skopeo, if it is installed.
#[expect(clippy::disallowed_methods, reason = "the test runs another program")]
fn inspected(path: &Path) {
    let image = format!("oci-archive:{}:1.2.3", path.display());
    let platform = ["--override-os", "linux", "--override-arch", "arm64"];
    let skopeo = std::process::Command::new("skopeo")
        .args(platform)
        .args(["inspect", &image])
        .output();
    let Ok(output) = skopeo else {
        executor_testkit::not_tested("that skopeo reads a built image", "skopeo is missing");
        return;
    };
    let told = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(r#""Architecture": "arm64""#), "{told}{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_image_build_leaves_nothing() {
    let mut served = Served::start().await;
    sources(&served);
    write(&served.path("secret"), "");
    symlink(served.path("secret"), served.path("work/out")).unwrap();
    let check = [
        (
            "version: \"1.2\"",
            "input \"version\": expected a semantic version",
        ),
        (
            "version: \"1.2.3\", archive: ../x.tar",
            "leads out of its directory",
        ),
        (
            "version: \"1.2.3\", common: {files: {a: out}}",
            "leads out of the working directory",
        ),
        ("version: \"1.2.3\", common: {files: {a: gone}}", "find "),
    ];
    for (inputs, expect) in check {
        let steps = format!(
            "[{{name: build, func: 'builtin://function/oci/build', inputs: {{{inputs}, platforms: \
             {{linux/amd64: {{files: {{tool: target/amd64}}}}}}}}}}]"
        );
        let (log, status) = served.run(request(&served, &steps)).await;
        assert_eq!(status.result.unwrap().state(), State::Failure);
        assert!(
            log.starts_with("ERROR: step \"build\": ") && log.contains(expect),
            "{log}"
        );
        served.finish("1").await;
    }
    assert!(!served.path("work/function-image.tar").exists());
    assert!(!served.path("x.tar").exists());
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archive_is_published_by_the_follower() {
    let served = Served::start().await;
    sources(&served);
    let library = Arc::new(FakeLibrary::default());
    let steps = format!(
        "{BUILD}{}",
        r#"
- name: publish
  func: builtin://function/oci/publish
  inputs: {archive: function-image.tar, to_repository: registry.example.com/org/lib}
- {name: show, script: "echo ${{ steps.publish.outputs.ref }} ${{ steps.publish.outputs.tags }}"}
"#
    );
    let ended = run(
        &served,
        &library,
        request(&served, &steps),
        &Cancellation::new(),
    )
    .await;
    assert!(ended.succeeds(), "{}", ended.log);
    let expect = "registry.example.com/org/lib@sha256:fake [1.2.3,1]\n";
    assert_eq!(ended.log, expect);
    let archive = fs::read(served.path("work/function-image.tar")).unwrap();
    let sent = library.sent.lock().clone();
    assert!(sent["registry.example.com/org/lib"] == archive);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_publication_is_reported() {
    let served = Served::start().await;
    let work = served.path("work");
    write(&work.join("file.tar"), "");
    symlink("file.tar", work.join("link.tar")).unwrap();
    let library = Arc::new(FakeLibrary::default());
    let check = [
        (
            "gone.tar",
            "r.example.com/a",
            "does not exist; builtin://function/oci/build creates one",
        ),
        (
            "file.tar",
            "example",
            "`to_repository`: expected REGISTRY/REPOSITORY",
        ),
        (
            "link.tar",
            "r.example.com/a",
            "the archive has another entry than the file",
        ),
    ];
    for (archive, repository, expect) in check {
        let steps = format!(
            "[{{name: a, func: 'builtin://function/oci/publish', inputs: {{archive: {archive}, to_repository: {repository}}}}}]"
        );
        let ended = run(
            &served,
            &library,
            request(&served, &steps),
            &Cancellation::new(),
        )
        .await;
        assert!(!ended.succeeds());
        assert!(ended.log.contains(expect), "{}", ended.log);
    }
    assert!(library.whats().is_empty());
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn function_in_a_fetched_image_runs() {
    let served = Served::start().await;
    let image = served.path("image");
    write(
        &image.join("sub/func.yml"),
        "spec:\n---\nexec: {command: [echo, inside]}\n",
    );
    let library = Arc::new(FakeLibrary::with(&[("r.example.com/a/b:1", &image)]));
    let steps = r#"
- name: fetch
  func: dist://step/oci/fetch
  inputs: {registry: r.example.com, repository: a/b, tag: "1", step_path: sub}
- {name: inside, func: "${{ steps.fetch.outputs.fetched_step_path }}"}
- {name: show, script: "echo ${{ steps.fetch.outputs.ref }}"}
"#;
    let ended = run(
        &served,
        &library,
        request(&served, steps),
        &Cancellation::new(),
    )
    .await;
    assert!(ended.succeeds(), "{}", ended.log);
    assert_eq!(ended.log, "inside\nr.example.com/a/b@sha256:fake\n");
    served.stop().await;
}

#[tokio::test]
async fn scripts_are_builtin_and_unknown_builtins_are_reported() {
    let mut served = Served::start().await;
    let steps = r#"
- {name: a, func: "builtin://script", inputs: {script: "echo $((1 + 1)); exit 3"}}
"#;
    let (log, status) = served.run(request(&served, steps)).await;
    assert_eq!((log.as_str(), status.exit_code), ("2\n", 3));
    served.finish("1").await;
    for (name, expect) in [
        ("concrete", "a part of GitLab Runner's own helper"),
        ("script_legacy", "a part of GitLab Runner's own helper"),
        ("scrip", "available are script, function/oci/build"),
    ] {
        let steps = format!("[{{name: a, func: 'builtin://{name}'}}]");
        let (log, _) = served.run(request(&served, &steps)).await;
        assert!(log.contains(expect), "{log}");
        served.finish("1").await;
    }
    served.stop().await;
}
