use crate::error::Error;
use registry::{Descriptor, Digest, FileRegion, MAX_MANIFEST, Manifest, ManifestDocument};
use semver::Version;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The most files of an archive.
const MAX_FILES: usize = 10_000;
/// The deepest nesting of lists of images.
const MAX_DEPTH: usize = 3;
/// The annotation with the version of an image.
const VERSION: &str = "org.opencontainers.image.version";
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// An image layout in a tar archive. Reading it blocks.
#[derive(Debug)]
pub(super) struct ImageArchive {
    pub(super) path: PathBuf,
    files: HashMap<String, FileRegion>,
}

/// The parts of an image, in the order of their upload.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) version: Version,
    pub(super) blobs: BTreeMap<Digest, FileRegion>,
    /// The last one is the image itself.
    pub(super) manifests: Vec<ManifestDocument>,
}

#[derive(Deserialize)]
struct LayoutVersion {
    #[serde(rename = "imageLayoutVersion")]
    version: String,
}

impl ImageArchive {
    /// Finds the files in an archive.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let read = || -> io::Result<HashMap<String, FileRegion>> {
            let mut file = File::open(path)?;
            let size = file.seek(SeekFrom::End(0))?;
            file.rewind()?;
            let mut archive = tar::Archive::new(file);
            let mut files = HashMap::new();
            for entry in archive.entries_with_seek()? {
                let entry = entry?;
                let region = FileRegion {
                    offset: entry.raw_file_position(),
                    length: entry.size(),
                };
                let end = region.offset.checked_add(region.length);
                if end.is_none_or(|end| end > size) || files.len() >= MAX_FILES {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                if entry.header().entry_type().is_file() {
                    let name = name.strip_prefix("./").unwrap_or(&name);
                    files.insert(name.to_owned(), region);
                }
            }
            Ok(files)
        };
        let files = read().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Error::Archive {
                path: path.to_owned(),
                why: error.to_string(),
            },
            _ => malformed(path, "it is not a tar archive, or is cut off"),
        })?;
        let path = path.to_owned();
        Ok(Self { path, files })
    }

    /// Reads the manifests, and checks that all blobs are present.
    pub(super) fn contents(&self) -> Result<Contents, Error> {
        let layout = self.bytes("oci-layout")?;
        let layout: Result<LayoutVersion, _> = serde_json::from_slice(&layout);
        if !layout.is_ok_and(|it| it.version.starts_with("1.")) {
            return Err(self.malformed("its `oci-layout` is not of version 1"));
        }
        let index = self.manifest(&self.bytes("index.json")?)?;
        let manifests = index.manifests.unwrap_or_default();
        let [image] = manifests.as_slice() else {
            let why = format!("expected one image in it, found {}", manifests.len());
            return Err(self.malformed(&why));
        };
        let mut contents = Contents {
            version: self.version(index.annotations.as_ref(), image)?,
            blobs: BTreeMap::new(),
            manifests: Vec::new(),
        };
        self.collect(image, &mut contents, MAX_DEPTH)?;
        Ok(contents)
    }

    fn version(
        &self,
        index: Option<&BTreeMap<String, String>>,
        image: &Descriptor,
    ) -> Result<Version, Error> {
        let of_index = index.and_then(|it| it.get(VERSION));
        let of_image = image.annotations.as_ref();
        let of_image = of_image.and_then(|it| it.get(REF_NAME).or(it.get(VERSION)));
        let text = of_index.or(of_image);
        let text = text.ok_or_else(|| self.malformed("its `index.json` has no version"))?;
        match Version::parse(text) {
            Ok(version) if version.build.is_empty() => Ok(version),
            Ok(_) => Err(self.malformed("its version has a `+`, which is not allowed in a tag")),
            Err(_) => {
                let shown: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
                Err(self.malformed(&format!(
                    "its version `{shown}` is invalid: expected one such as 1.2.0"
                )))
            }
        }
    }

    /// Adds a manifest and, before it, everything that it refers to.
    fn collect(&self, it: &Descriptor, into: &mut Contents, depth: usize) -> Result<(), Error> {
        let (digest, region) = self.blob(it)?;
        let bytes = self.read(region)?;
        if Digest::of(&bytes) != digest {
            return Err(self.malformed(&format!("the manifest {digest} has another digest")));
        }
        let manifest = self.manifest(&bytes)?;
        for inner in manifest.manifests.iter().flatten() {
            if depth == 0 || into.manifests.len() > MAX_FILES {
                return Err(self.malformed("its lists of images are nested too deeply"));
            }
            self.collect(inner, into, depth - 1)?;
        }
        for blob in manifest
            .config
            .iter()
            .chain(manifest.layers.iter().flatten())
        {
            let (digest, region) = self.blob(blob)?;
            into.blobs.insert(digest, region);
        }
        let media_type = manifest.media_type.unwrap_or(it.media_type.clone());
        into.manifests.push(ManifestDocument {
            digest,
            media_type,
            bytes,
        });
        Ok(())
    }

    fn blob(&self, it: &Descriptor) -> Result<(Digest, FileRegion), Error> {
        let digest = it.digest(&self.path.to_string_lossy())?;
        let region = self.files.get(&format!("blobs/sha256/{}", digest.hex()));
        let region = region.filter(|region| region.length == it.size);
        let absent = || self.malformed(&format!("{digest} is not in it, or has another size"));
        Ok((digest.clone(), *region.ok_or_else(absent)?))
    }

    fn manifest(&self, bytes: &[u8]) -> Result<Manifest, Error> {
        Ok(Manifest::parse(bytes, &self.path.to_string_lossy())?)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, Error> {
        let region = self.files.get(name);
        let region = region.ok_or_else(|| self.malformed(&format!("`{name}` is not in it")))?;
        self.read(*region)
    }

    /// Reads a small file.
    fn read(&self, region: FileRegion) -> Result<Vec<u8>, Error> {
        let length = usize::try_from(region.length).unwrap_or(usize::MAX);
        if length > MAX_MANIFEST {
            return Err(self.malformed("a manifest in it is too long"));
        }
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(region.offset))?;
            let mut bytes = vec![0; length];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error| Error::Archive {
            path: self.path.clone(),
            why: error.to_string(),
        })
    }

    fn malformed(&self, why: &str) -> Error {
        malformed(&self.path, why)
    }
}

fn malformed(path: &Path, why: &str) -> Error {
    Error::Archive {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}
