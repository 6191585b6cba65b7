//! Archives written byte by byte, with contents that no tool would write.

/// A member of a zip archive, whose records may be wrong.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: Vec<u8>,
    /// The name in the local record, if it is another one.
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) mode: u32,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    /// The stored bytes.
    pub(crate) stored: Vec<u8>,
    pub(crate) crc: u32,
    pub(crate) size: u32,
    pub(crate) extra: Vec<u8>,
    /// The offset in the central directory, if it is a wrong one.
    pub(crate) at: Option<u32>,
}

impl Member {
    pub(crate) fn new(name: impl AsRef<[u8]>, mode: u32, text: &[u8]) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            local_name: None,
            mode,
            method: 0,
            flags: 0,
            stored: text.to_vec(),
            crc: crc32fast::hash(text),
            size: u32::try_from(text.len()).unwrap(),
            extra: Vec::new(),
            at: None,
        }
    }

    pub(crate) fn file(name: impl AsRef<[u8]>) -> Self {
        Self::new(name, 0o100_644, b"text")
    }

    pub(crate) fn link(name: &str, target: &str) -> Self {
        Self::new(name, 0o120_777, target.as_bytes())
    }

    fn common(&self, name: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(20_u16.to_le_bytes());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.method.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.crc.to_le_bytes());
        let stored = u32::try_from(self.stored.len()).unwrap();
        bytes.extend(stored.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        bytes
    }
}

/// Returns a zip archive of these members.
pub(crate) fn zip(members: &[Member]) -> Vec<u8> {
    let count = u16::try_from(members.len()).unwrap();
    zip_that_says(members, count, &[])
}

/// Returns a zip archive that claims `count` members, and has `between` before its end record.
pub(crate) fn zip_that_says(members: &[Member], count: u16, between: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        let at = u32::try_from(bytes.len()).unwrap();
        let local_name = member.local_name.as_ref().unwrap_or(&member.name);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(member.common(local_name));
        bytes.extend(0_u16.to_le_bytes());
        bytes.extend(local_name);
        bytes.extend(&member.stored);
        directory.extend(b"PK\x01\x02");
        directory.extend([20, 3]);
        directory.extend(member.common(&member.name));
        directory.extend(u16::try_from(member.extra.len()).unwrap().to_le_bytes());
        directory.extend([0; 6]);
        directory.extend((member.mode << 16).to_le_bytes());
        directory.extend(member.at.unwrap_or(at).to_le_bytes());
        directory.extend(&member.name);
        directory.extend(&member.extra);
    }
    let start = u32::try_from(bytes.len()).unwrap();
    bytes.extend(&directory);
    bytes.extend(between);
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]);
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(u32::try_from(directory.len()).unwrap().to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// Returns an entry of a tar archive.
pub(crate) fn entry(kind: u8, name: &[u8], target: &str, told: u64, text: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..108].copy_from_slice(b"0004755\0");
    block[124..136].copy_from_slice(format!("{told:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000001\0");
    block[156] = kind;
    block[157..157 + target.len()].copy_from_slice(target.as_bytes());
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut bytes = block.to_vec();
    bytes.extend(text);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// Returns a file of a tar archive.
pub(crate) fn tar_file(name: &str, text: &str) -> Vec<u8> {
    entry(
        b'0',
        name.as_bytes(),
        "",
        text.len() as u64,
        text.as_bytes(),
    )
}

/// Returns an extension record for the entry after it.
pub(crate) fn more(kind: u8, key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length = (1..5).map(|digits| rest.len() + digits);
    let length = length
        .into_iter()
        .find(|length| length.to_string().len() + rest.len() == *length);
    let record = format!("{}{rest}", length.unwrap());
    entry(kind, b"more", "", record.len() as u64, record.as_bytes())
}

/// Returns a tar archive of these entries, compressed.
pub(crate) fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(bytes.len() + 1024, 0);
    zstd::encode_all(bytes.as_slice(), 1).unwrap()
}
