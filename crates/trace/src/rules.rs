//! The secrets to mask, and the compiled form that maskers share.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::automaton::{Automaton, Pattern, PatternKind};
use crate::prefilter::{Case, Prefilter};
use crate::variants::derived_patterns;

/// The prefixes of GitLab's own tokens.
pub const DEFAULT_TOKEN_PREFIXES: [&str; 14] = [
    "glpat-",
    "gloas-",
    "gldt-",
    "glrt-",
    "glcbt-",
    "glrtr-",
    "glptt-",
    "glft-",
    "glimt-",
    "glagent-",
    "glsoat-",
    "glffct-",
    "_gitlab_session=",
    "gltok-",
];

/// The URL query parameters whose values are masked, in any case.
pub const SECRET_PARAMETERS: [&str; 6] = [
    "private_token",
    "authenticity_token",
    "rss_token",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
];

/// The forms of a secret that are masked besides its exact bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variants {
    /// Its base64, hexadecimal, URL-encoded and HTML-escaped forms, the quoted forms in which shells, JSON, Python,
    /// Go, Rust and JavaScript print it, and its single lines.
    ///
    /// Excluded are forms that would mask ordinary text: parts of base64 text under 4 characters, hexadecimal digits of
    /// secrets under 4 bytes, lines under 5 bytes, and lines that many secrets have, such as the first and last line of a
    /// PEM file. Also excluded are forms that would take too much memory: the encoded forms of secrets over 8 KiB, and all
    /// beyond 512 KiB of encoded forms in total, unlikely forms of long secrets first.
    #[default]
    Derived,
    /// Only the exact bytes.
    ExactOnly,
}

/// Collects the secrets of a job's log.
///
/// Secrets are trimmed of surrounding white space; empty ones are ignored. The number and length of secrets and token
/// prefixes are unlimited; none is ever ignored.
///
/// The compiled set takes about 11 bytes of memory for each byte of a secret, 10 for each byte of a derived form, up to
/// 60 more for each secret and form, and another 80 KiB. So 200 passwords take about 1 MiB, and a file of 1 MiB takes
/// 11 MiB, or 21 MiB if it has lines.
///
/// ```
/// use trace::{MaskRules, Variants};
///
/// let set = MaskRules::new()
///     .secret("correct horse")
///     .token_prefix("acme-")
///     .variants(Variants::ExactOnly)
///     .compile();
/// let extended = set.with_secret("battery staple");
/// # let _ = extended;
/// ```
#[derive(Clone)]
pub struct MaskRules {
    /// Shared by sets that extend one another.
    secrets: BTreeSet<Arc<[u8]>>,
    token_prefixes: BTreeSet<Vec<u8>>,
    variants: Variants,
}

impl MaskRules {
    /// Returns rules without secrets, with GitLab's token prefixes and derived variants.
    pub fn new() -> Self {
        let prefixes = DEFAULT_TOKEN_PREFIXES.iter();
        Self {
            secrets: BTreeSet::new(),
            token_prefixes: prefixes.map(|prefix| prefix.as_bytes().to_vec()).collect(),
            variants: Variants::default(),
        }
    }

    /// Adds a secret.
    pub fn secret(mut self, secret: impl AsRef<[u8]>) -> Self {
        let secret = secret.as_ref().trim_ascii();
        if !secret.is_empty() {
            self.secrets.insert(secret.into());
        }
        self
    }

    /// Adds many secrets.
    pub fn secrets<S: AsRef<[u8]>>(self, secrets: impl IntoIterator<Item = S>) -> Self {
        secrets.into_iter().fold(self, Self::secret)
    }

    /// Masks the token characters, `[0-9A-Za-z._=-]`, after `prefix`.
    pub fn token_prefix(mut self, prefix: impl AsRef<[u8]>) -> Self {
        let prefix = prefix.as_ref().trim_ascii();
        if !prefix.is_empty() {
            self.token_prefixes.insert(prefix.to_vec());
        }
        self
    }

    /// Removes all token prefixes, also the default ones.
    pub fn without_token_prefixes(mut self) -> Self {
        self.token_prefixes.clear();
        self
    }

    /// Sets the variants; the default is [`Variants::Derived`].
    pub fn variants(mut self, variants: Variants) -> Self {
        self.variants = variants;
        self
    }

    /// Builds the automaton; linear in the total length of all patterns.
    pub fn compile(self) -> MaskSet {
        let parameters = Arc::new(Automaton::new(parameter_patterns()));
        MaskSet::build(self, parameters)
    }

    fn literal_patterns(&self) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        let mut add = |bytes: Vec<u8>, kind| patterns.push(Pattern { bytes, kind });
        for secret in &self.secrets {
            add(secret.to_vec(), PatternKind::Secret);
        }
        if self.variants == Variants::Derived {
            for form in derived_patterns(self.secrets.iter().map(AsRef::as_ref)) {
                add(form, PatternKind::Secret);
            }
        }
        for prefix in &self.token_prefixes {
            add(prefix.clone(), PatternKind::Marker);
        }
        patterns
    }
}

impl Default for MaskRules {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MaskRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MaskRules")
            .field("secrets", &self.secrets.len())
            .field("token_prefixes", &self.token_prefixes.len())
            .field("variants", &self.variants)
            .finish()
    }
}

fn parameter_patterns() -> Vec<Pattern> {
    let both = SECRET_PARAMETERS.iter().flat_map(|name| {
        ["?", "&"].map(|delimiter| Pattern {
            bytes: format!("{delimiter}{name}=").into_bytes(),
            kind: PatternKind::Marker,
        })
    });
    both.collect()
}

/// Compiled [`MaskRules`], shared by the maskers of a job. Cloning is cheap.
#[derive(Clone)]
pub struct MaskSet {
    shared: Arc<Shared>,
}

struct Shared {
    rules: MaskRules,
    literals: Automaton,
    parameters: Arc<Automaton>,
    prefilter: Prefilter,
}

impl MaskSet {
    /// Returns a set that also masks `secret`.
    ///
    /// It is the same set if the secret is empty or known. Otherwise the automaton is built again.
    pub fn with_secret(&self, secret: impl AsRef<[u8]>) -> Self {
        self.with_secrets([secret])
    }

    /// Returns a set that also masks all these secrets, and builds the automaton once.
    ///
    /// It is the same set if each of them is empty or known.
    pub fn with_secrets<S: AsRef<[u8]>>(&self, secrets: impl IntoIterator<Item = S>) -> Self {
        let mut new = secrets.into_iter().filter(|secret| {
            let secret = secret.as_ref().trim_ascii();
            !secret.is_empty() && !self.shared.rules.secrets.contains(secret)
        });
        let Some(first) = new.next() else {
            return self.clone();
        };
        let rules = self.shared.rules.clone().secret(first).secrets(new);
        Self::build(rules, Arc::clone(&self.shared.parameters))
    }

    fn build(rules: MaskRules, parameters: Arc<Automaton>) -> Self {
        let literals = rules.literal_patterns();
        let folded = parameter_patterns();
        let exact = literals.iter().map(|p| (p.bytes.as_slice(), Case::Exact));
        let folded = folded.iter().map(|p| (p.bytes.as_slice(), Case::Ignored));
        let prefilter = Prefilter::new(exact.chain(folded));
        Self {
            shared: Arc::new(Shared {
                rules,
                literals: Automaton::new(literals),
                parameters,
                prefilter,
            }),
        }
    }

    pub(crate) fn literals(&self) -> &Automaton {
        &self.shared.literals
    }

    pub(crate) fn parameters(&self) -> &Arc<Automaton> {
        &self.shared.parameters
    }

    pub(crate) fn prefilter(&self) -> &Prefilter {
        &self.shared.prefilter
    }
}

impl fmt::Debug for MaskSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("MaskSet")
            .field(&self.shared.rules)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants::MAX_ENCODED_TOTAL;

    /// Memory of a set that does not depend on its secrets, in bytes.
    const FIXED: usize = 80 * 1024;

    fn bytes(set: &MaskSet) -> usize {
        let shared = &set.shared;
        let secrets = shared.rules.secrets.iter().map(|secret| secret.len());
        secrets.sum::<usize>()
            + shared.literals.bytes()
            + shared.parameters.bytes()
            + shared.prefilter.bytes()
    }

    /// Text without a period, as passwords and keys are.
    fn random_text(length: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'#' + u8::try_from(state >> 16 & 63).unwrap()
        };
        (0..length).map(|_| next()).collect()
    }

    fn passwords() -> MaskRules {
        MaskRules::new().secrets((0..200).map(|seed| random_text(30, seed)))
    }

    #[test]
    fn passwords_of_a_job_take_little_memory() {
        assert!(bytes(&MaskRules::new().compile()) <= FIXED);
        let taken = bytes(&passwords().compile());
        assert!(taken < 2 << 20, "{taken}");
    }

    #[test]
    fn memory_of_large_secrets_is_bounded() {
        let large = [1 << 16, 1 << 20];
        let set = passwords().compile();
        let set = set.with_secret(random_text(large[0], 1000));
        let set = set.with_secret(random_text(large[1], 1001));
        let secrets = 200 * 30 + large[0] + large[1];
        let bound = FIXED + 11 * secrets + 10 * MAX_ENCODED_TOTAL;
        let taken = bytes(&set);
        assert!(taken < bound, "{taken} of {bound}");
    }

    #[test]
    fn memory_of_many_encoded_secrets_is_bounded() {
        let secrets = (0..100).map(|seed| random_text(8000, seed));
        let taken = bytes(&MaskRules::new().secrets(secrets).compile());
        let bound = FIXED + 11 * 100 * 8000 + 10 * MAX_ENCODED_TOTAL;
        assert!(taken < bound, "{taken} of {bound}");
    }
}
