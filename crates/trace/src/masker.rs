//! Masks one stream in one pass.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::automaton::{Found, ROOT};
use crate::controls::Controls;
use crate::cover::{Cover, Source, distance};
use crate::rules::MaskSet;

/// The largest number of pending regions before they are written, so that memory does not grow with the input.
const PENDING_REGIONS: usize = 64;

/// Replaces secrets in a stream that arrives in pieces.
///
/// The output does not depend on how the stream is split. A byte of any occurrence of any secret is never written;
/// overlapping occurrences become one `[MASKED]`.
///
/// Control characters and sequences inside an occurrence, such as colours, do not hide it, and are masked with it:
/// [`Controls`] says which they are.
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
    /// The patterns in all bytes.
    bytes: View,
    /// The patterns in the text as a terminal shows it, while it differs from the bytes.
    shown: Option<Shown>,
    controls: Controls,
    /// The start of the token that is being masked.
    token_run: Option<u64>,
    /// The start of the parameter value that is being masked.
    value_run: Option<u64>,
    position: u64,
    /// The text before `position` that the automaton's state represents.
    carry: Vec<u8>,
    cover: Cover,
}

/// The states of the automata.
#[derive(Clone, Copy, Default)]
struct View {
    literal: u32,
    parameter: u32,
}

/// The text without what a terminal does not show.
#[derive(Default)]
struct Shown {
    view: View,
    /// Where hidden bytes are among the bytes that `view` represents, ascending and separate. There can be as many as
    /// the longest pattern has bytes, so that none of them is visited for each byte of the text.
    gaps: VecDeque<Gap>,
}

/// Bytes that a terminal does not show.
struct Gap {
    place: Range<u64>,
    /// The number of hidden bytes up to its end, from the first gap since the text had none.
    hidden: u64,
}

impl Masker {
    /// Returns a masker at the start of a stream.
    pub fn new(set: MaskSet) -> Self {
        Self {
            set,
            bytes: View::default(),
            shown: None,
            controls: Controls::default(),
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
        let settled = input.len().checked_sub(self.hold(&set, end));
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
        let mut control = Controls::next(input, 0);
        while at < input.len() {
            if let Some(start) = self.prefix_start(set, at)
                && start >= next_look
            {
                if control < at {
                    control = Controls::next(input, at);
                }
                // A pattern that continues after control characters starts before the first of them.
                let candidate = set.prefilter().candidate(&input[..control], start);
                next_look = candidate + set.prefilter().stride();
                if candidate > at {
                    self.bytes = View::default();
                    self.controls = Controls::default();
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
        self.carry.is_empty()
            && self.controls.is_text()
            && self.token_run.is_none()
            && self.value_run.is_none()
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
        let mut shown = self.shown.take();
        if !Arc::ptr_eq(set.parameters(), self.set.parameters()) {
            self.bytes.parameter = ROOT;
            if let Some(shown) = &mut shown {
                shown.view.parameter = ROOT;
            }
        }
        let start = self.position - self.carry.len() as u64;
        let carry = std::mem::take(&mut self.carry);
        self.bytes.literal = ROOT;
        for (end, byte) in (start + 1..).zip(&carry) {
            let found = self.bytes.step_literal(&set, *byte);
            self.hide_found(found, end, None);
        }
        if let Some(mut shown) = shown {
            let from = shown.start(&self.set, self.position);
            shown.view.literal = ROOT;
            for (end, byte) in (start + 1..).zip(&carry) {
                if end > from && !shown.is_hidden(end - 1) {
                    let found = shown.view.step_literal(&set, *byte);
                    self.hide_found(found, end, Some(&shown));
                }
            }
            self.shown = shown.pruned(&set, self.position);
        }
        self.carry = carry;
        self.set = set;
    }

    /// Returns the start of the longest live prefix of a pattern, if the input from there on can be skipped.
    #[inline]
    fn prefix_start(&self, set: &MaskSet, at: usize) -> Option<usize> {
        let busy = self.token_run.is_some() || self.value_run.is_some() || self.shown.is_some();
        if busy || !self.controls.is_text() {
            return None;
        }
        at.checked_sub(self.bytes.depth(set) as usize)
    }

    #[inline]
    fn step(&mut self, set: &MaskSet, byte: u8, position: u64) {
        let end = position + 1;
        let hidden = self.controls.hides(byte);
        if hidden || self.shown.is_some() {
            self.step_shown(set, byte, end, hidden);
        }
        if !hidden {
            self.continue_runs(byte, end);
        }
        let found = self.bytes.step_literal(set, byte);
        self.hide_found(found, end, None);
        // Only a marker can be found among the parameters.
        if self.bytes.step_parameter(set, byte) {
            self.value_run.get_or_insert(end);
        }
    }

    /// Follows the text that a terminal shows from the first hidden byte inside a possible pattern on.
    #[inline(never)]
    fn step_shown(&mut self, set: &MaskSet, byte: u8, end: u64, hidden: bool) {
        let mut shown = self.shown.take().unwrap_or_default();
        if hidden && self.controls.begins() && shown.gaps.is_empty() {
            shown.view = self.bytes;
        }
        if !hidden {
            let found = shown.view.step_literal(set, byte);
            self.hide_found(found, end, Some(&shown));
            if shown.view.step_parameter(set, byte) {
                self.value_run.get_or_insert(end);
            }
        } else if self.controls.separates() {
            self.token_run = None;
            self.value_run = None;
            return;
        } else {
            shown.hide(end);
            // The token or value goes on after the gap, which itself is not a part of it.
            self.token_run = self.token_run.map(|_| end);
            self.value_run = self.value_run.map(|_| end);
        }
        self.shown = shown.pruned(set, end);
    }

    /// Masks the secret that ends at `end`, and what follows a marker that ends there.
    #[inline]
    fn hide_found(&mut self, found: Option<Found>, end: u64, shown: Option<&Shown>) {
        let Some(found) = found else { return };
        let length = u64::from(found.secret);
        if length > 0 {
            let start = shown.map_or(end - length, |shown| shown.before(end, length));
            self.cover.hide(start..end);
        }
        if found.marker {
            self.token_run.get_or_insert(end);
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
        let settled = end - self.hold(set, end) as u64;
        self.cover.write(settled, &source, out);
    }

    /// Returns how many of the bytes before `end` can still become a secret.
    fn hold(&self, set: &MaskSet, end: u64) -> usize {
        let length = |view: &View| u64::from(set.literals().hold(view.literal));
        let shown = self.shown.as_ref();
        let start = shown.map_or(end, |shown| shown.before(end, length(&shown.view)));
        distance(start.min(end - length(&self.bytes)), end)
    }

    /// Skips to the end of the input and keeps the text that the automaton's states represent.
    fn keep(&mut self, set: &MaskSet, input: &[u8]) {
        self.position += input.len() as u64;
        let depth = u64::from(set.literals().depth(self.bytes.literal));
        let shown = self.shown.as_ref();
        let start = shown.map_or(self.position, |shown| shown.start(set, self.position));
        let length = distance(start.min(self.position - depth), self.position);
        if let Some(start) = input.len().checked_sub(length) {
            self.carry.clear();
            self.carry.extend_from_slice(&input[start..]);
        } else {
            self.carry.extend_from_slice(input);
            let surplus = self.carry.len() - length;
            self.carry.drain(..surplus);
        }
    }
}

impl View {
    #[inline]
    fn step_literal(&mut self, set: &MaskSet, byte: u8) -> Option<Found> {
        self.literal = set.literals().step(self.literal, byte);
        set.literals().found(self.literal)
    }

    /// Returns whether a marker ends with this byte.
    #[inline]
    fn step_parameter(&mut self, set: &MaskSet, byte: u8) -> bool {
        let byte = byte.to_ascii_lowercase();
        self.parameter = set.parameters().step(self.parameter, byte);
        set.parameters().found(self.parameter).is_some()
    }

    /// Returns the length of the text that the states represent.
    #[inline]
    fn depth(self, set: &MaskSet) -> u32 {
        let literal = set.literals().depth(self.literal);
        literal.max(set.parameters().depth(self.parameter))
    }
}

impl Shown {
    /// Adds the hidden byte before `end`.
    fn hide(&mut self, end: u64) {
        let hidden = self.gaps.back().map_or(0, |gap| gap.hidden) + 1;
        match self.gaps.back_mut() {
            Some(gap) if gap.place.end == end - 1 => {
                gap.place.end = end;
                gap.hidden = hidden;
            }
            _ => self.gaps.push_back(Gap {
                place: end - 1..end,
                hidden,
            }),
        }
    }

    /// Returns the number of gaps that end at `position` or before.
    fn gaps_until(&self, position: u64) -> usize {
        self.gaps.partition_point(|gap| gap.place.end <= position)
    }

    fn is_hidden(&self, position: u64) -> bool {
        let gap = self.gaps.get(self.gaps_until(position));
        gap.is_some_and(|gap| gap.place.contains(&position))
    }

    /// Returns the number of hidden bytes before the gap at `index`, counted as in [`Gap`].
    fn hidden_before(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            Some(before) => self.gaps[before].hidden,
            None => self.gaps.front().map_or(0, |first| {
                first.hidden - (first.place.end - first.place.start)
            }),
        }
    }

    /// Returns the position from which on `length` shown bytes precede `end`.
    fn before(&self, end: u64, length: u64) -> u64 {
        let hidden = self.hidden_before(self.gaps_until(end));
        // Of the gaps before `end`, those with enough shown bytes behind them are before the position.
        let first = self.gaps.partition_point(|gap| {
            gap.place.end <= end && (end - gap.place.end) - (hidden - gap.hidden) >= length
        });
        end - length - (hidden - self.hidden_before(first))
    }

    /// Returns the start of the text before `end` that the states represent.
    fn start(&self, set: &MaskSet, end: u64) -> u64 {
        self.before(end, u64::from(self.view.depth(set)))
    }

    /// Returns `None` if the text that the states represent has no gaps any more: it is like the bytes then.
    fn pruned(mut self, set: &MaskSet, end: u64) -> Option<Self> {
        let start = self.start(set, end);
        self.gaps.drain(..self.gaps_until(start));
        (!self.gaps.is_empty()).then_some(self)
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
