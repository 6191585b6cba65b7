//! Masks one stream in one pass.

use std::fmt;
use std::sync::Arc;

use crate::automaton::ROOT;
use crate::cover::{Cover, Source};
use crate::rules::MaskSet;

/// The largest number of pending regions before they are written, so that memory does not grow with the input.
const PENDING_REGIONS: usize = 64;

/// Replaces secrets in a stream that arrives in pieces.
///
/// The output does not depend on how the stream is split. A byte of any occurrence of any secret is never written;
/// overlapping occurrences become one `[MASKED]`.
///
/// Only the longest suffix of the text that can still become a secret is held back: a prompt without a newline
/// appears at once unless its last bytes start a secret. So a silent stream needs no flush.
///
/// One masker belongs to one stream. Maskers share their [`MaskSet`].
///
/// ```
/// use trace::{MaskRules, Masker};
///
/// let mut masker = Masker::new(MaskRules::new().secret("aab").compile());
/// let mut out = Vec::new();
/// masker.feed(b"aa", &mut out);
/// assert_eq!(masker.held(), b"aa");
/// masker.feed(b"ab done", &mut out);
/// masker.finish(&mut out);
/// assert_eq!(out, b"a[MASKED] done");
/// ```
pub struct Masker {
    set: MaskSet,
    literal: u32,
    parameter: u32,
    /// The start of the token that is being masked.
    token_run: Option<u64>,
    /// The start of the parameter value that is being masked.
    value_run: Option<u64>,
    position: u64,
    /// The text before `position` that the automaton's state represents.
    carry: Vec<u8>,
    cover: Cover,
}

impl Masker {
    /// Returns a masker at the start of a stream.
    pub fn new(set: MaskSet) -> Self {
        Self {
            set,
            literal: ROOT,
            parameter: ROOT,
            token_run: None,
            value_run: None,
            position: 0,
            carry: Vec::new(),
            cover: Cover::default(),
        }
    }

    /// Reads the next piece of the stream and appends settled text to `out`.
    pub fn feed(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let set = self.set.clone();
        self.scan(&set, input, out);
        let end = self.position + input.len() as u64;
        self.write(&set, input, end, out);
        self.keep(&set, input);
    }

    /// As [`feed`](Self::feed), but copies only if necessary.
    ///
    /// The settled text is a part of `input` if nothing in it is masked; otherwise it is in `buffer`, which must be empty.
    pub(crate) fn pass<'a>(&mut self, input: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let set = self.set.clone();
        self.scan(&set, input, buffer);
        let end = self.position + input.len() as u64;
        let settled = input.len().checked_sub(self.hold(&set));
        let text = if let Some(settled) = settled
            && buffer.is_empty()
            && self.cover.skip(self.position, settled)
        {
            &input[..settled]
        } else {
            self.write(&set, input, end, buffer);
            buffer
        };
        self.keep(&set, input);
        text
    }

    /// Finds the regions to mask.
    fn scan(&mut self, set: &MaskSet, input: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        let mut next_look = 0;
        while at < input.len() {
            if let Some(start) = self.prefix_start(set, at)
                && start >= next_look
            {
                let candidate = set.prefilter().candidate(input, start);
                next_look = candidate + set.prefilter().stride();
                if candidate > at {
                    self.literal = ROOT;
                    self.parameter = ROOT;
                    at = candidate;
                    continue;
                }
            }
            self.step(set, input[at], self.position + at as u64);
            at += 1;
            if self.cover.pending() > PENDING_REGIONS {
                self.write(set, input, self.position + at as u64, out);
            }
        }
    }

    /// Ends the stream and writes held text. The masker can then start another stream.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let source = Source {
            carry: &self.carry,
            base: self.position,
            input: &[],
        };
        self.cover.write(self.position, &source, out);
        *self = Self::new(self.set.clone());
    }

    /// Returns the text that is held back because it can still become a secret.
    ///
    /// It is empty if the end of the text is already masked.
    pub fn held(&self) -> &[u8] {
        &self.carry[self.carry.len() - self.cover.owed_before(self.position)..]
    }

    /// Returns whether another masker could continue the stream: no secret has started.
    pub(crate) fn is_fresh(&self) -> bool {
        self.carry.is_empty() && self.token_run.is_none() && self.value_run.is_none()
    }

    /// Masks another secret from here on, also where its start is held back.
    ///
    /// To add one secret to several maskers, extend the set once with
    /// [`MaskSet::with_secret`] and let each [`adopt`](Self::adopt) it.
    pub fn add_mask(&mut self, secret: impl AsRef<[u8]>) {
        self.adopt(self.set.with_secret(secret));
    }

    /// Continues with another set, usually an extension of the present one.
    ///
    /// Held text is checked again. A token or parameter value that is being masked is masked to its end.
    pub fn adopt(&mut self, set: MaskSet) {
        if !Arc::ptr_eq(set.parameters(), self.set.parameters()) {
            self.parameter = ROOT;
        }
        let mut end = self.position - self.carry.len() as u64;
        self.literal = ROOT;
        for byte in &self.carry {
            end += 1;
            self.literal = set.literals().step(self.literal, *byte);
            if let Some(found) = set.literals().found(self.literal) {
                self.cover.hide_before(end, found.secret);
            }
        }
        self.set = set;
    }

    /// Returns the start of the longest live prefix of a pattern, if the input from there on can be skipped.
    #[inline]
    fn prefix_start(&self, set: &MaskSet, at: usize) -> Option<usize> {
        if self.token_run.is_some() || self.value_run.is_some() {
            return None;
        }
        at.checked_sub(self.depth(set))
    }

    #[inline]
    fn depth(&self, set: &MaskSet) -> usize {
        let literal = set.literals().depth(self.literal);
        literal.max(set.parameters().depth(self.parameter)) as usize
    }

    #[inline]
    fn step(&mut self, set: &MaskSet, byte: u8, position: u64) {
        let end = position + 1;
        self.literal = set.literals().step(self.literal, byte);
        self.parameter = set
            .parameters()
            .step(self.parameter, byte.to_ascii_lowercase());
        self.continue_runs(byte, end);
        if let Some(found) = set.literals().found(self.literal) {
            self.cover.hide_before(end, found.secret);
            if found.marker {
                self.token_run.get_or_insert(end);
            }
        }
        // Only a marker can be found among the parameters.
        if set.parameters().found(self.parameter).is_some() {
            self.value_run.get_or_insert(end);
        }
    }

    #[inline]
    fn continue_runs(&mut self, byte: u8, end: u64) {
        if let Some(start) = self.token_run {
            if is_token_byte(byte) {
                self.cover.hide(start..end);
            } else {
                self.token_run = None;
            }
        }
        if let Some(start) = self.value_run {
            if is_value_byte(byte) {
                self.cover.hide(start..end);
            } else {
                self.value_run = None;
            }
        }
    }

    fn write(&mut self, set: &MaskSet, input: &[u8], end: u64, out: &mut Vec<u8>) {
        let source = Source {
            carry: &self.carry,
            base: self.position,
            input,
        };
        let settled = end - self.hold(set) as u64;
        self.cover.write(settled, &source, out);
    }

    fn hold(&self, set: &MaskSet) -> usize {
        set.literals().hold(self.literal) as usize
    }

    /// Skips to the end of the input and keeps the text that the automaton's state represents.
    fn keep(&mut self, set: &MaskSet, input: &[u8]) {
        self.position += input.len() as u64;
        let depth = set.literals().depth(self.literal) as usize;
        if let Some(start) = input.len().checked_sub(depth) {
            self.carry.clear();
            self.carry.extend_from_slice(&input[start..]);
        } else {
            self.carry.extend_from_slice(input);
            let surplus = self.carry.len() - depth;
            self.carry.drain(..surplus);
        }
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Masker")
            .field("set", &self.set)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// The alphabet of GitLab's tokens.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'=' | b'-')
}

/// A parameter value ends at the next parameter, white space or control byte.
fn is_value_byte(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f && !matches!(byte, b'&' | b'?')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{MaskRules, Variants};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn passing_on_gives_what_feeding_gives(
            secrets in prop::collection::vec("[ab]{1,6}", 0..4),
            pieces in prop::collection::vec("[abc.]{0,20}", 0..20),
        ) {
            let rules = MaskRules::new().secrets(&secrets).variants(Variants::ExactOnly);
            let set = rules.compile();
            let (mut feeding, mut fed) = (Masker::new(set.clone()), Vec::new());
            let (mut passing, mut passed) = (Masker::new(set), Vec::new());
            let mut buffer = Vec::new();
            for piece in &pieces {
                feeding.feed(piece.as_bytes(), &mut fed);
                passed.extend_from_slice(passing.pass(piece.as_bytes(), &mut buffer));
                buffer.clear();
                prop_assert_eq!(&fed, &passed);
            }
            feeding.finish(&mut fed);
            passing.finish(&mut passed);
            prop_assert_eq!(fed, passed);
        }
    }
}
