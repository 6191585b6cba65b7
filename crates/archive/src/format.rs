use std::io::Read;

/// The kind of an archive, in the words of `CACHE_COMPRESSION_FORMAT` and `artifact_format`.
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

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::ZipZstd => "zipzstd",
            Self::TarZstd => "tarzstd",
        }
    }
}

/// How much time is spent on making an archive small, in the words of `CACHE_COMPRESSION_LEVEL`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// As little as possible.
    Fastest,
    /// Little.
    Fast,
    /// What is usual for the format: 6 for deflate.
    #[default]
    Default,
    /// Much.
    Slow,
    /// All that helps at all.
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

/// How a member of a zip archive, or all of a tar archive, is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Not at all.
    Store,
    /// With deflate at a level of zlib.
    Deflate(u32),
    /// With zstd at one of its levels.
    Zstd(i32),
}

impl Method {
    /// Returns what the runner does at a level: the fastest zip is one of stored members.
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

/// What kind of archive a file is, as its first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Zip,
    TarZstd,
}

/// Tells from its first bytes what kind of archive it is.
pub(crate) fn content(archive: impl Read) -> std::io::Result<Option<Content>> {
    let mut start = Vec::with_capacity(4);
    archive.take(4).read_to_end(&mut start)?;
    Ok(match start.as_slice() {
        b"PK\x03\x04" | b"PK\x05\x06" => Some(Content::Zip),
        [0x28, 0xb5, 0x2f, 0xfd] => Some(Content::TarZstd),
        _ => None,
    })
}
