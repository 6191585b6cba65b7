//! Image archives, written by the tests.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// How a layer is compressed.
#[derive(Clone, Copy)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// An image layout.
#[derive(Default)]
pub(crate) struct Layout {
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    pub(crate) index: Vec<Value>,
}

impl Layout {
    /// Adds a blob and returns its descriptor.
    pub(crate) fn blob(&mut self, kind: &str, bytes: Vec<u8>) -> Value {
        let hex = format!("{:x}", Sha256::digest(&bytes));
        let described = json!({
            "mediaType": kind, "digest": format!("sha256:{hex}"), "size": bytes.len(),
        });
        self.blobs.insert(hex, bytes);
        described
    }

    /// Adds an image and returns its descriptor.
    pub(crate) fn image(&mut self, platform: &str, layers: &[(Packing, Vec<u8>)]) -> Value {
        let (os, architecture) = platform.split_once('/').unwrap();
        let ids = layers
            .iter()
            .map(|(_, tar)| format!("sha256:{:x}", Sha256::digest(tar)));
        let config = json!({
            "os": os, "architecture": architecture,
            "rootfs": { "type": "layers", "diff_ids": ids.collect::<Vec<_>>() },
        });
        let config = config.to_string().into_bytes();
        let config = self.blob("application/vnd.oci.image.config.v1+json", config);
        let mut described = Vec::new();
        for (packing, tar) in layers {
            let (end, bytes) = match packing {
                Packing::Plain => ("", tar.clone()),
                Packing::Gzip => {
                    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                    encoder.write_all(tar).unwrap();
                    ("+gzip", encoder.finish().unwrap())
                }
                Packing::Zstd => ("+zstd", zstd::encode_all(&**tar, 1).unwrap()),
            };
            let kind = format!("application/vnd.oci.image.layer.v1.tar{end}");
            described.push(self.blob(&kind, bytes));
        }
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2, "mediaType": kind, "config": config, "layers": described,
        });
        let mut described = self.blob(kind, manifest.to_string().into_bytes());
        described["platform"] = json!({ "os": os, "architecture": architecture });
        described
    }

    /// Adds a list of images.
    pub(crate) fn list(&mut self, images: &[Value]) -> Value {
        let kind = "application/vnd.oci.image.index.v1+json";
        let list = json!({ "schemaVersion": 2, "mediaType": kind, "manifests": images });
        self.blob(kind, list.to_string().into_bytes())
    }

    /// Puts an image into the index, under a version.
    pub(crate) fn name(&mut self, described: &Value, name: &str) {
        let mut described = described.clone();
        described["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
        self.index.push(described);
    }

    /// Writes the archive.
    pub(crate) fn write(&self, file: &Path) {
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": self.index,
        });
        let version = json!({ "imageLayoutVersion": "1.0.0" });
        let names: Vec<(String, Vec<u8>)> = [
            ("oci-layout".to_owned(), version.to_string().into_bytes()),
            ("index.json".to_owned(), index.to_string().into_bytes()),
        ]
        .into_iter()
        .chain(
            self.blobs
                .iter()
                .map(|(hex, bytes)| (format!("blobs/sha256/{hex}"), bytes.clone())),
        )
        .collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|(name, it)| (&**name, &**it)).collect();
        std::fs::write(file, tar(&files)).unwrap();
    }
}

/// Returns a tar archive of files.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len().try_into().unwrap());
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Runs skopeo, with registries of this machine unencrypted.
#[expect(
    clippy::disallowed_methods,
    reason = "a program that is no part of ours"
)]
pub(crate) fn skopeo(args: &[&str]) -> String {
    let output = Command::new("skopeo").args(args).output();
    let output = output.expect("skopeo is installed: run the tests by `cargo xtask test`");
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Pushes an archive with skopeo.
pub(crate) fn push(archive: &Path, to: &str) {
    let archive = format!("oci-archive:{}", archive.display());
    let to = format!("docker://{to}");
    skopeo(&[
        "--insecure-policy",
        "copy",
        "--quiet",
        "--all",
        "--preserve-digests",
        "--dest-tls-verify=false",
        &archive,
        &to,
    ]);
}
