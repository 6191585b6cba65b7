use std::io::Read;

/// The format of an archive, named as in `CACHE_COMPRESSION_FORMAT` and `artifact_format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// A zip archive with deflated members.
    #[default]
    Zip,
    /// A zip archive whose members are compressed with zstd.
    ZipZstd,
    /// A tar archive compressed with zstd.
    TarZstd,
}

impl Format {
    /// Returns the format of this name: `zip`, `zipzstd` or `tarzstd`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "zip" => Some(Self::Zip),
            "zipzstd" => Some(Self::ZipZstd),
            "tarzstd" => Some(Self::TarZstd),
            _ => None,
        }
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::ZipZstd => "zipzstd",
            Self::TarZstd => "tarzstd",
        }
    }
}

/// The compression level, named as in `CACHE_COMPRESSION_LEVEL`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// The least time; zip members are stored uncompressed.
    Fastest,
    /// Less time than the default.
    Fast,
    /// The usual level of the format: 6 for deflate.
    #[default]
    Default,
    /// More time than the default.
    Slow,
    /// The most time that still helps.
    Slowest,
}

impl Level {
    /// Returns the level of this name: `fastest`, `fast`, `default`, `slow` or `slowest`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "fastest" => Some(Self::Fastest),
            "fast" => Some(Self::Fast),
            "default" => Some(Self::Default),
            "slow" => Some(Self::Slow),
            "slowest" => Some(Self::Slowest),
            _ => None,
        }
    }
}

/// The compression of a zip member, or of a whole tar archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// No compression.
    Store,
    /// Deflate, at a level of zlib.
    Deflate(u32),
    /// Zstd, at one of its levels.
    Zstd(i32),
}

impl Method {
    /// Returns the method that GitLab Runner uses at a level; the fastest zip stores its members uncompressed.
    pub(crate) fn of(format: Format, level: Level) -> Self {
        match (format, level) {
            (Format::Zip | Format::ZipZstd, Level::Fastest) => Self::Store,
            (Format::Zip, Level::Fast) => Self::Deflate(1),
            (Format::Zip, Level::Default) => Self::Deflate(6),
            (Format::Zip, Level::Slow) => Self::Deflate(7),
            (Format::Zip, Level::Slowest) => Self::Deflate(9),
            (Format::TarZstd, Level::Fastest) | (_, Level::Fast) => Self::Zstd(1),
            (_, Level::Default) => Self::Zstd(3),
            (_, Level::Slow) => Self::Zstd(7),
            (_, Level::Slowest) => Self::Zstd(11),
        }
    }
}

/// The kind of an archive, detected from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Zip,
    TarZstd,
}

/// Detects the kind of an archive from its first bytes.
pub(crate) fn content(archive: impl Read) -> std::io::Result<Option<Content>> {
    let mut start = Vec::with_capacity(4);
    archive.take(4).read_to_end(&mut start)?;
    Ok(match start.as_slice() {
        b"PK\x03\x04" | b"PK\x05\x06" => Some(Content::Zip),
        [0x28, 0xb5, 0x2f, 0xfd] => Some(Content::TarZstd),
        _ => None,
    })
}
