//! A zip archive with one file, as the artifacts of a job.

/// Returns an archive in which the file is stored without compression.
pub(super) fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let fields = fields(name, content);
    let mut archive = b"PK\x03\x04\x14\0".to_vec();
    archive.extend(&fields);
    archive.extend(name.as_bytes());
    archive.extend(content);
    let directory = archive.len();
    // Made on Unix by version 2.0, needs version 2.0.
    archive.extend(b"PK\x01\x02\x14\x03\x14\0");
    archive.extend(&fields);
    // No comment, first disk, no internal attributes.
    archive.extend([0; 6]);
    archive.extend((0o100_644_u32 << 16).to_le_bytes());
    archive.extend(0_u32.to_le_bytes());
    archive.extend(name.as_bytes());
    let length = size(archive.len() - directory);
    archive.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    archive.extend(length);
    archive.extend(size(directory));
    archive.extend([0; 2]);
    archive
}

/// Returns the fields that both headers of the file share: flags, method, time, checksum, sizes and lengths.
fn fields(name: &str, content: &[u8]) -> Vec<u8> {
    let mut fields = vec![0; 4];
    // 2026-01-01 00:00.
    fields.extend([0, 0, 0x21, 0x5c]);
    fields.extend(crc32fast::hash(content).to_le_bytes());
    fields.extend(size(content.len()));
    fields.extend(size(content.len()));
    fields.extend(&size(name.len())[..2]);
    fields.extend([0; 2]);
    fields
}

fn size(length: usize) -> [u8; 4] {
    let length = u32::try_from(length).expect("a small archive");
    length.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_has_the_layout_of_a_zip_file() {
        let archive = archive("a.txt", b"hello");
        assert_eq!(archive.len(), 30 + 5 + 5 + 46 + 5 + 22);
        assert_eq!(&archive[30..40], b"a.txthello");
        assert_eq!(&archive[40..44], b"PK\x01\x02");
        assert_eq!(&archive[91..95], b"PK\x05\x06");
        assert_eq!(archive[91 + 16], 40);
    }
}
