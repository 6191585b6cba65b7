use super::contents::Contents;
use super::description::{Image, Platform};
use super::error::ImageError;
use super::layer::{Blob, Content, header};
use executor_core::Cancellation;
use fail_point::fail_point;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;
use tar::{Builder, EntryType};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// The annotation with the version of the image.
const VERSION: &str = "org.opencontainers.image.ref.name";

/// Builds an image of files below `sources`, writes it to the archive `target`, and returns its digest.
///
/// Layers are assembled in `scratch`, whose owner removes it. An existing `target` is kept until they are complete.
pub(crate) fn build(
    image: &Image,
    sources: &Path,
    scratch: &Path,
    target: &Path,
    cancellation: &Cancellation,
) -> Result<String, ImageError> {
    let sources = sources
        .canonicalize()
        .map_err(ImageError::io("find", sources))?;
    // The archive of an earlier build is not packed, by whatever path it is reached.
    let left_out = target
        .parent()
        .and_then(|directory| Some(directory.canonicalize().ok()?.join(target.file_name()?)))
        .unwrap_or_else(|| target.to_owned());
    let mut layout = Layout::default();
    let layer = |name: String, files| {
        let contents = Contents::collect(&sources, files, &left_out)?;
        if contents.0.is_empty() {
            return Ok(None);
        }
        Blob::layer(&contents, &sources, &scratch.join(name), cancellation).map(Some)
    };
    let common = layer("layer-common".to_owned(), &image.common)?;
    let common = common.map(|blob| layout.add(blob));
    let mut manifests = Vec::new();
    for (number, (platform, files)) in image.platforms.iter().enumerate() {
        let own = layer(format!("layer-{number}"), files)?;
        let own = own.map(|blob| layout.add(blob));
        let layers: Vec<_> = common.iter().cloned().chain(own).collect();
        manifests.push(layout.add_image(platform, &layers));
    }
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
    let index = layout.add(Blob::of(index.to_string().into_bytes()));
    let written = layout.write(target, &image.version, &index, cancellation);
    if written.is_err() {
        // A partial archive is useless.
        let _ = fs::remove_file(target);
    }
    written.map(|()| index.digest)
}

/// A reference to a blob by its digest.
#[derive(Debug, Clone)]
struct Descriptor {
    digest: String,
    size: u64,
}

impl Descriptor {
    fn json(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.digest, "size": self.size})
    }
}

/// The blobs of an archive.
#[derive(Debug, Default)]
struct Layout(BTreeMap<String, Blob>);

impl Layout {
    fn add(&mut self, blob: Blob) -> Descriptor {
        let descriptor = Descriptor {
            digest: blob.digest.clone(),
            size: blob.size,
        };
        self.0.entry(blob.digest.clone()).or_insert(blob);
        descriptor
    }

    /// Adds the image of one platform, and returns its entry in the index.
    fn add_image(&mut self, platform: &Platform, layers: &[Descriptor]) -> Value {
        let mut runs_on = json!({"architecture": platform.architecture, "os": platform.os});
        if let Some(variant) = &platform.variant {
            runs_on["variant"] = json!(variant);
        }
        let mut config = runs_on.clone();
        let sums: Vec<_> = layers.iter().map(|layer| &layer.digest).collect();
        config["config"] = json!({});
        // For an uncompressed layer the digest of the content is that of the blob.
        config["rootfs"] = json!({"type": "layers", "diff_ids": sums});
        let config = self.add(Blob::of(config.to_string().into_bytes()));
        let layers: Vec<_> = layers.iter().map(|layer| layer.json(LAYER)).collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.json(CONFIG),
            "layers": layers,
        });
        let manifest = self.add(Blob::of(manifest.to_string().into_bytes()));
        let mut entry = manifest.json(MANIFEST);
        entry["platform"] = runs_on;
        entry
    }

    fn write(
        self,
        target: &Path,
        version: &str,
        index: &Descriptor,
        cancellation: &Cancellation,
    ) -> Result<(), ImageError> {
        let create = || -> io::Result<File> {
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            match fs::remove_file(target) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            File::create_new(target)
        };
        let file = fail_point!("steps::image::archive", create());
        let file = file.map_err(ImageError::io("create", target))?;
        let mut entry = index.json(INDEX);
        entry["annotations"] = json!({VERSION: version});
        let top = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]});
        let write = || -> io::Result<()> {
            let mut builder = Builder::new(BufWriter::with_capacity(64 * 1024, file));
            add_bytes(
                &mut builder,
                "oci-layout",
                br#"{"imageLayoutVersion":"1.0.0"}"#,
            )?;
            add_bytes(&mut builder, "index.json", top.to_string().as_bytes())?;
            for directory in ["blobs/", "blobs/sha256/"] {
                let mut header = header(EntryType::Directory, 0o755, 0);
                builder.append_data(&mut header, directory, io::empty())?;
            }
            for (digest, blob) in self.0 {
                if cancellation.is_canceled() {
                    return Err(io::Error::other("stopped"));
                }
                let name = format!("blobs/{}", digest.replace(':', "/"));
                add_blob(&mut builder, &name, blob)?;
            }
            builder.into_inner()?.flush()
        };
        write().map_err(ImageError::io("write", target))
    }
}

fn add_blob(builder: &mut Builder<impl Write>, name: &str, blob: Blob) -> io::Result<()> {
    match blob.content {
        Content::Bytes(bytes) => add_bytes(builder, name, &bytes),
        Content::File(mut file) => {
            file.rewind()?;
            let mut header = header(EntryType::Regular, 0o644, blob.size);
            builder.append_data(&mut header, name, file.take(blob.size))
        }
    }
}

fn add_bytes(builder: &mut Builder<impl Write>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = header(EntryType::Regular, 0o644, bytes.len() as u64);
    builder.append_data(&mut header, name, bytes)
}
