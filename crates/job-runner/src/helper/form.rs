//! The form in which artifacts are uploaded to a GitLab.

use super::HelperError;
use archive::{Format, Level, Packing};
use executor_core::Cancellation;
use flate2::{Compression, GzBuilder};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How the files of an upload are packed.
#[derive(Debug, Clone, Copy)]
pub(super) enum UploadFormat {
    Archive(Format),
    /// One gzip member for each file.
    Gzip,
    /// One file, as it is.
    Raw,
}

impl UploadFormat {
    /// Returns GitLab's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Archive(format) => format.name(),
            Self::Gzip => "gzip",
            Self::Raw => "raw",
        }
    }
}

/// The form of an upload, with the packed files as its only part.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) project: PathBuf,
    pub(super) paths: Vec<PathBuf>,
    pub(super) format: UploadFormat,
    pub(super) name: Option<String>,
    /// The directory for the packed files.
    pub(super) scratch: PathBuf,
    pub(super) level: Level,
}

impl Form {
    /// Returns a text that occurs in no archive by chance.
    pub(super) fn id(&self) -> String {
        let seed = format!(
            "{}{:?}",
            self.scratch.display(),
            std::time::SystemTime::now()
        );
        blake3::hash(seed.as_bytes()).to_hex()[..32].to_owned()
    }

    /// Writes the form to a file; blocks.
    pub(super) fn write(&self, boundary: &str) -> Result<PathBuf, HelperError> {
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
