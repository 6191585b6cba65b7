//! `artifacts-uploader` and `artifacts-downloader`, against GitLab's API.

use super::arguments::{Flags, HelperUsage};
use super::server::{Server, UploadKind};
use super::{Files, HelperContext, HelperError};
use crate::panics::off_thread;
use archive::{Format, Level, Limits, LinkTargets, Packing};
use executor_core::{Cancellation, counted};
use flate2::{Compression, GzBuilder};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use web::Url;

/// How long an upload or a download may take by default.
const TIMEOUT: Duration = Duration::from_hours(1);

/// The server and the job of an artifact.
struct Place {
    url: Url,
    token: String,
    job: u64,
    timeout: Duration,
}

impl Place {
    fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        let job = flags.required("id")?;
        Ok(Self {
            url: flags.url("url")?.ok_or_else(|| flags.missing("url"))?,
            token: flags.required("token")?,
            job: job
                .parse()
                .map_err(|_| flags.invalid("id", "the number of a job", &job))?,
            timeout: flags.duration("timeout", TIMEOUT)?,
        })
    }

    /// Returns the address of the job's artifacts.
    fn address(&self) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/api/v4/jobs/{}/artifacts", self.job));
        url
    }

    fn server(&self, context: &HelperContext) -> Result<Server, HelperError> {
        Server::new(&self.url, Some(self.token.clone()), self.timeout, context)
    }
}

/// `artifacts-downloader`.
pub(super) struct Download(Place);

impl Download {
    pub(super) fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        Ok(Self(Place::read(flags)?))
    }

    pub(super) async fn run(self, context: &HelperContext) -> Result<(), HelperError> {
        let scratch = context.scratch()?;
        let file = scratch.path().join("archive");
        let mut url = self.0.address();
        url.set_query(Some("direct_download=true"));
        let action = format!("download the artifacts of job {}", self.0.job);
        let status = self
            .0
            .server(context)?
            .download(url, &file, &action)
            .await?;
        if status != 200 {
            return Err(HelperError::status(&action, status));
        }
        context.unpack(&file, "unpack the artifacts").await
    }
}

/// `artifacts-uploader`.
pub(super) struct Upload {
    place: Place,
    files: Files,
    name: Option<String>,
    expire_in: Option<String>,
    format: UploadFormat,
    kind: String,
}

/// How the files of an upload are packed.
#[derive(Debug, Clone, Copy)]
enum UploadFormat {
    Archive(Format),
    /// One gzip member for each file.
    Gzip,
    /// One file, as it is.
    Raw,
}

impl Upload {
    pub(super) fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        let format = flags.optional("artifact-format");
        let format = match format.as_deref().unwrap_or("zip") {
            "gzip" => UploadFormat::Gzip,
            "raw" => UploadFormat::Raw,
            other => {
                let known = Format::named(other).map(UploadFormat::Archive);
                let expected = "zip, gzip, raw, zipzstd or tarzstd";
                known.ok_or_else(|| flags.invalid("artifact-format", expected, other))?
            }
        };
        Ok(Self {
            place: Place::read(flags)?,
            files: Files::read(flags),
            name: flags.optional("name"),
            expire_in: flags.optional("expire-in"),
            format,
            kind: flags
                .optional("artifact-type")
                .unwrap_or_else(|| "archive".to_owned()),
        })
    }

    pub(super) async fn run(self, context: &HelperContext) -> Result<(), HelperError> {
        let collected = context.collect(&self.files).await?;
        if collected.paths.is_empty() {
            context.print("ERROR: No files to upload");
            return Ok(());
        }
        let scratch = context.scratch()?;
        let form = Form {
            project: context.directory.clone(),
            paths: collected.paths,
            format: self.format,
            name: self.name.clone(),
            scratch: scratch.path().to_owned(),
            level: context.level("ARTIFACT_COMPRESSION_LEVEL"),
        };
        let (files, boundary) = (form.paths.len(), format!("runwright-{}", form.id()));
        let body = {
            let boundary = boundary.clone();
            off_thread(move || form.write(&boundary))
                .await
                .map_err(HelperError::git)??
        };
        let mut url = self.place.address();
        url.query_pairs_mut()
            .append_pair("artifact_format", self.format.name())
            .append_pair("artifact_type", &self.kind)
            .extend_pairs(self.expire_in.iter().map(|it| ("expire_in", it)));
        let action = format!("upload {} as {:?}", counted(files, "file"), self.kind);
        let kind = UploadKind::Form { boundary };
        let server = self.place.server(context)?;
        match server.upload(url, &body, kind, &action).await? {
            200..=299 => {
                context.print(&format!(
                    "Uploaded {} as {:?}",
                    counted(files, "file"),
                    self.kind
                ));
                Ok(())
            }
            status => Err(HelperError::status(&action, status)),
        }
    }
}

impl UploadFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Archive(format) => format.name(),
            Self::Gzip => "gzip",
            Self::Raw => "raw",
        }
    }
}

/// The form of an upload, with the packed files as its only part.
#[derive(Debug)]
struct Form {
    project: PathBuf,
    paths: Vec<PathBuf>,
    format: UploadFormat,
    name: Option<String>,
    scratch: PathBuf,
    level: Level,
}

impl Form {
    /// Returns a text that occurs in no archive by chance.
    fn id(&self) -> String {
        let seed = format!(
            "{}{:?}",
            self.scratch.display(),
            std::time::SystemTime::now()
        );
        blake3::hash(seed.as_bytes()).to_hex()[..32].to_owned()
    }

    /// Writes the form to a file; blocks.
    fn write(&self, boundary: &str) -> Result<PathBuf, HelperError> {
        let packed = self.scratch.join("packed");
        if let UploadFormat::Archive(format) = self.format {
            let packing = Packing {
                format,
                level: self.level,
                ..Packing::default()
            };
            let never = Cancellation::new();
            let written = archive::pack(&self.project, &self.paths, &packed, &packing, &never);
            written.map_err(HelperError::archive("pack the artifacts"))?;
        }
        let body = self.scratch.join("form");
        let write = || {
            let mut form = File::create(&body)?;
            write!(
                form,
                "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n",
                self.file_name()
            )?;
            match self.format {
                UploadFormat::Archive(_) => {
                    io::copy(&mut File::open(&packed)?, &mut form)?;
                    fs::remove_file(&packed)?;
                }
                UploadFormat::Gzip => self.write_members(&mut form)?,
                UploadFormat::Raw => {
                    let path = self.project.join(&self.paths[0]);
                    io::copy(&mut crate::plain_file::open(&path)?, &mut form)?;
                }
            }
            write!(form, "\r\n--{boundary}--\r\n")
        };
        if let UploadFormat::Raw = self.format
            && self.paths.len() != 1
        {
            return Err(HelperError::NotOneFile(self.paths.len()));
        }
        write().map_err(HelperError::file("write the upload to", &body))?;
        Ok(body)
    }

    fn write_members(&self, form: &mut File) -> io::Result<()> {
        for path in &self.paths {
            let file = self.project.join(path);
            if !fs::symlink_metadata(&file)?.is_file() {
                continue;
            }
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let member = GzBuilder::new().filename(name);
            let mut member = member.write(&mut *form, Compression::default());
            io::copy(&mut crate::plain_file::open(&file)?, &mut member)?;
            member.finish()?;
        }
        Ok(())
    }

    fn file_name(&self) -> String {
        let name = self.name.as_deref().unwrap_or(match self.format {
            UploadFormat::Archive(_) | UploadFormat::Gzip => "artifacts",
            UploadFormat::Raw => "",
        });
        let first = || {
            self.paths[0]
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        let name = Path::new(name)
            .file_name()
            .map_or_else(first, |it| it.to_string_lossy().into_owned());
        // A quote or a line break would end the header.
        let name: String = name
            .chars()
            .filter(|it| !it.is_control() && *it != '"')
            .collect();
        let suffix = match self.format {
            UploadFormat::Archive(Format::Zip | Format::ZipZstd) => ".zip",
            UploadFormat::Archive(Format::TarZstd) => ".tar.zst",
            UploadFormat::Gzip => ".gz",
            UploadFormat::Raw => "",
        };
        format!("{name}{suffix}")
    }
}

impl HelperContext {
    /// Returns a directory for temporary files, which is removed when it is dropped.
    pub(super) fn scratch(&self) -> Result<tempfile::TempDir, HelperError> {
        let made = tempfile::Builder::new()
            .prefix("runwright-")
            .tempdir_in(&self.temp);
        made.map_err(HelperError::file("create a directory in", &self.temp))
    }

    /// Unpacks an archive into the job's directory. The job could create any link and fill the disk itself.
    pub(super) async fn unpack(
        &self,
        file: &Path,
        action: &'static str,
    ) -> Result<(), HelperError> {
        let (file, into) = (file.to_owned(), self.directory.clone());
        let unpacked = off_thread(move || {
            let limits = Limits {
                entries: u64::MAX,
                bytes: u64::MAX,
                ratio: u64::MAX,
                links: LinkTargets::Anywhere,
            };
            archive::unpack(&file, &into, &limits, &Cancellation::new())
        });
        let unpacked = unpacked.await.map_err(HelperError::git)?;
        unpacked.map(drop).map_err(HelperError::archive(action))
    }

    /// Returns the compression level in a variable.
    pub(super) fn level(&self, name: &str) -> Level {
        let level = self.variable(name);
        level
            .and_then(|it| Level::named(&it.to_ascii_lowercase()))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::bufread::MultiGzDecoder;
    use std::io::Read;

    /// Returns the header and the content of a form with the files `a` and `b`.
    fn form(format: UploadFormat, name: Option<&str>) -> (String, Vec<u8>) {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("out")).expect("made");
        for (name, text) in [("a", "one"), ("b", "two")] {
            fs::write(root.path().join("out").join(name), text).expect("written");
        }
        let count = if matches!(format, UploadFormat::Raw) {
            1
        } else {
            2
        };
        let form = Form {
            project: root.path().to_owned(),
            paths: ["out/a", "out/b"][..count]
                .iter()
                .map(PathBuf::from)
                .collect(),
            format,
            name: name.map(str::to_owned),
            scratch: root.path().to_owned(),
            level: Level::default(),
        };
        let bytes = fs::read(form.write("edge").expect("written")).expect("read");
        let start = bytes
            .windows(4)
            .position(|it| it == b"\r\n\r\n")
            .expect("a header")
            + 4;
        let content = bytes[start..]
            .strip_suffix(b"\r\n--edge--\r\n")
            .expect("an end");
        (
            String::from_utf8_lossy(&bytes[..start]).into_owned(),
            content.to_vec(),
        )
    }

    #[test]
    fn forms_are_those_of_gitlab_runner() {
        // As recorded in `full-success`.
        let (header, content) = form(UploadFormat::Gzip, Some("junit.xml"));
        let expect = "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"junit.xml.gz\"\r\n\
                      Content-Type: application/octet-stream\r\n\r\n";
        assert_eq!(header, expect);
        assert_eq!(
            &content[3..12],
            b"\x08\0\0\0\0\0\xffa\0",
            "the first member has a name"
        );
        let mut text = String::new();
        let read = MultiGzDecoder::new(&content[..]).read_to_string(&mut text);
        assert_eq!((read.expect("read"), text.as_str()), (6, "onetwo"));
        let (header, content) = form(UploadFormat::Raw, None);
        assert!(header.contains("filename=\"a\""), "{header}");
        assert_eq!(content, b"one");
        let (header, content) = form(UploadFormat::Archive(Format::Zip), Some("../x\"\n"));
        assert!(header.contains("filename=\"x.zip\""), "{header}");
        assert!(content.starts_with(b"PK"));
    }
}
