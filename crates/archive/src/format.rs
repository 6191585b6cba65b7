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
