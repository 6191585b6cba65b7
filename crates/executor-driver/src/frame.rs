//! Frames: lengths, a JSON header and a raw payload.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// How many bytes of payload a call may have unacknowledged in one direction.
pub(crate) const WINDOW: u32 = 1 << 20;

/// The longest payload of one frame with output or data that we send.
pub(crate) const CHUNK: usize = 64 << 10;

/// The length of the two lengths.
const PREFIX: usize = 8;

const LONGEST_HEADER_TO_DRIVER: usize = 4 << 20;
const LONGEST_PAYLOAD_TO_DRIVER: usize = 16 << 20;
const LONGEST_FROM_DRIVER: usize = 1 << 20;

/// How many bytes of something unexpected are shown.
const SHOWN: usize = 120;

/// A message does not fit into a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge {
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
    pub(crate) most: usize,
}

/// Returns the bytes of a frame to the driver.
pub(crate) fn encode(header: &impl Serialize, payload: &[&[u8]]) -> Result<Vec<u8>, TooLarge> {
    let mut frame = vec![0; PREFIX];
    // Maps with keys of text and plain values: serialization into memory cannot fail.
    let written = serde_json::to_writer(&mut frame, header);
    debug_assert!(written.is_ok(), "{written:?}");
    let header_bytes = frame.len() - PREFIX;
    let payload_bytes = payload.iter().map(|part| part.len()).sum();
    let lengths = [
        length("variables", header_bytes, LONGEST_HEADER_TO_DRIVER)?,
        length("script and files", payload_bytes, LONGEST_PAYLOAD_TO_DRIVER)?,
    ];
    frame[..4].copy_from_slice(&lengths[0].to_be_bytes());
    frame[4..PREFIX].copy_from_slice(&lengths[1].to_be_bytes());
    frame.reserve_exact(payload_bytes);
    for part in payload {
        frame.extend_from_slice(part);
    }
    Ok(frame)
}

fn length(what: &'static str, bytes: usize, most: usize) -> Result<u32, TooLarge> {
    let too_large = TooLarge { what, bytes, most };
    if bytes > most {
        return Err(too_large);
    }
    u32::try_from(bytes).map_err(|_| too_large)
}

/// Splits what a driver prints into frames.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    buffer: Vec<u8>,
}

/// What a driver printed instead of a frame; texts are its first bytes, escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAFrame {
    #[error(
        "printed \"{0}\" on its standard output, which belongs to the protocol: print to standard error instead"
    )]
    Text(String),
    #[error(
        "sent a frame with a header of {header} bytes and a payload of {payload} bytes: \
         each may have at most {LONGEST_FROM_DRIVER}"
    )]
    TooLong { header: usize, payload: usize },
    #[error("sent a frame with an invalid header: {why}: {header}")]
    Header { header: String, why: String },
}

impl Decoder {
    /// Appends bytes and passes on each complete frame.
    pub(crate) fn push<H: DeserializeOwned>(
        &mut self,
        bytes: &[u8],
        mut on_frame: impl FnMut(H, &[u8]),
    ) -> Result<(), NotAFrame> {
        self.buffer.extend_from_slice(bytes);
        let mut rest = self.buffer.as_slice();
        while let Some(([header, payload], after)) = split_lengths(rest)? {
            if after.len() < header + payload {
                break;
            }
            let (header, after) = after.split_at(header);
            let (payload, after) = after.split_at(payload);
            let header = serde_json::from_slice(header).map_err(|error| NotAFrame::Header {
                header: shown(header),
                why: error.to_string(),
            })?;
            on_frame(header, payload);
            rest = after;
        }
        // A word or two of text is shorter than the lengths, and no frame starts like that.
        if rest.first().is_some_and(|first| *first != 0) {
            return Err(NotAFrame::Text(shown(rest)));
        }
        let done = self.buffer.len() - rest.len();
        self.buffer.drain(..done);
        Ok(())
    }
}

/// The lengths of header and payload, and the bytes after them.
type Lengths<'a> = ([usize; 2], &'a [u8]);

/// Splits the two lengths off; `None` before they have arrived, an error when they cannot be those of a frame.
fn split_lengths(bytes: &[u8]) -> Result<Option<Lengths<'_>>, NotAFrame> {
    let Some((header, rest)) = bytes.split_first_chunk() else {
        return Ok(None);
    };
    let Some((payload, rest)) = rest.split_first_chunk() else {
        return Ok(None);
    };
    let size = |bytes: [u8; 4]| usize::try_from(u32::from_be_bytes(bytes)).unwrap_or(usize::MAX);
    let sizes = [*header, *payload].map(size);
    if sizes.iter().any(|size| *size > LONGEST_FROM_DRIVER) {
        let [header, payload] = sizes;
        return Err(match bytes.first() {
            Some(0) => NotAFrame::TooLong { header, payload },
            _ => NotAFrame::Text(shown(bytes)),
        });
    }
    Ok(Some((sizes, rest)))
}

fn shown(bytes: &[u8]) -> String {
    let end = bytes.len().min(SHOWN);
    bytes[..end].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pushed(pieces: &[&[u8]]) -> Result<Vec<(Value, Vec<u8>)>, NotAFrame> {
        let mut decoder = Decoder::default();
        let mut frames = Vec::new();
        for piece in pieces {
            decoder.push(piece, |header, payload: &[u8]| {
                frames.push((header, payload.to_vec()));
            })?;
        }
        Ok(frames)
    }

    #[test]
    fn frames_are_found_at_every_split() {
        let first = encode(&json!({"id": 1}), &[b"\x00\xff", b"tail"]).unwrap();
        let second = encode(&json!({"id": 2}), &[]).unwrap();
        let both = [first, second].concat();
        let expect = vec![
            (json!({"id": 1}), b"\x00\xfftail".to_vec()),
            (json!({"id": 2}), Vec::new()),
        ];
        for at in 0..both.len() {
            assert_eq!(pushed(&[&both[..at], &both[at..]]).unwrap(), expect, "{at}");
        }
    }

    #[test]
    fn text_is_not_a_frame() {
        for text in ["\n", "hi\n", "Traceback (most recent call last):\n"] {
            let refused = pushed(&[text.as_bytes()]).unwrap_err();
            assert_eq!(refused, NotAFrame::Text(text.escape_default().to_string()));
        }
        let long = pushed(&[&[b'x'; 5000]]).unwrap_err();
        assert_eq!(long, NotAFrame::Text("x".repeat(SHOWN)));
    }

    #[test]
    fn header_that_is_not_json_is_shown_with_the_reason() {
        let invalid = pushed(&[b"\0\0\0\x02\0\0\0\0{]"]).unwrap_err();
        assert_eq!(
            invalid.to_string(),
            "sent a frame with an invalid header: key must be a string at line 1 column 2: {]"
        );
    }

    #[test]
    fn frames_have_a_limit() {
        let big = vec![0; LONGEST_PAYLOAD_TO_DRIVER + 1];
        let refused = encode(&json!({}), &[&big]).unwrap_err();
        assert_eq!(
            (refused.what, refused.bytes),
            ("script and files", big.len())
        );
        let refused = pushed(&[b"\0\0\0\x08\0\x10\0\x01"]).unwrap_err();
        let (header, payload) = (8, LONGEST_FROM_DRIVER + 1);
        assert_eq!(refused, NotAFrame::TooLong { header, payload });
    }
}
