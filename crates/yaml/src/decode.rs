use thiserror::Error;

/// Why the bytes of a file are not text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8 at line {line}, byte {byte} of the line")]
    Utf8 {
        /// The line, from 1.
        line: usize,
        /// The byte within the line, from 1.
        byte: usize,
    },
    /// The byte order mark is that of UTF-16, but the bytes are not valid UTF-16.
    #[error("invalid UTF-16")]
    Utf16,
}

/// Decodes the bytes of a file: UTF-16 if they start with its byte order mark, otherwise UTF-8.
///
/// # Errors
///
/// When the bytes are not text; the error has the location.
pub fn decode(bytes: Vec<u8>) -> Result<String, DecodeError> {
    match bytes.as_slice() {
        [0xff, 0xfe, units @ ..] => decode_utf16(units, u16::from_le_bytes),
        [0xfe, 0xff, units @ ..] => decode_utf16(units, u16::from_be_bytes),
        _ => String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let is_newline = |&byte: &u8| byte == b'\n';
            let line_start = valid.iter().rposition(is_newline);
            DecodeError::Utf8 {
                line: valid.iter().filter(|byte| is_newline(byte)).count() + 1,
                byte: valid.len() - line_start.map_or(0, |at| at + 1) + 1,
            }
        }),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(DecodeError::Utf16);
    }
    let units: Vec<u16> = pairs.iter().map(|&pair| unit(pair)).collect();
    String::from_utf16(&units).map_err(|_| DecodeError::Utf16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_and_both_utf16_orders_are_read() {
        assert_eq!(decode("é: 1".into()).unwrap(), "é: 1");
        assert_eq!(decode(b"\xff\xfea\0:\0".to_vec()).unwrap(), "a:");
        assert_eq!(decode(b"\xfe\xff\0a\0:".to_vec()).unwrap(), "a:");
    }

    #[test]
    fn invalid_bytes_are_refused_with_their_location() {
        let error = decode(b"a: 1\nb: \xff".to_vec()).unwrap_err();
        assert_eq!(error, DecodeError::Utf8 { line: 2, byte: 4 });
        assert_eq!(decode(b"\xff\xfea".to_vec()), Err(DecodeError::Utf16));
        assert_eq!(decode(b"\xff\xfe\0\xd8".to_vec()), Err(DecodeError::Utf16));
    }
}
