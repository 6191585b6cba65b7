//! Masking speed: one automaton against one stacked writer per secret.
//!
//! `cargo bench -p benches --bench masking`. `MASKING_MIB` sets the size of the text,
//! 64 MiB by default. Figures are medians; only their ratios compare across machines.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::time::Instant;

use memchr::memchr;
use trace::{MaskRules, MaskSet, Masker, Variants};

const ROUNDS: usize = 15;
/// The model gets this fraction of the text, because it is slow.
const MODEL_SHARE: usize = 16;
const PIECE: usize = 64 * 1024;
const SECRETS: usize = 50;

fn main() {
    let mebibytes = std::env::var("MASKING_MIB")
        .ok()
        .and_then(|size| size.parse().ok());
    let mut random = Random(0x5EED);
    let secrets: Vec<Vec<u8>> = (0..SECRETS).map(|_| random.secret()).collect();
    let text = random.log(mebibytes.unwrap_or(64) << 20, &secrets);

    let exact = MaskRules::new()
        .secrets(&secrets)
        .variants(Variants::ExactOnly);
    let bare = exact.clone().without_token_prefixes();
    let derived = exact.clone().variants(Variants::Derived);
    let sets = [bare, exact, derived].map(MaskRules::compile);
    let mut stacked = Vec::new();
    let mut masked = [const { Vec::new() }; 3];
    // Alternating, so that noise of the machine affects all.
    for _ in 0..ROUNDS {
        let part = &text[..text.len() / MODEL_SHARE];
        stacked.push(nanoseconds_per_byte(part, |text| {
            stacked_writers(&secrets, text)
        }));
        for (set, times) in sets.iter().zip(&mut masked) {
            times.push(nanoseconds_per_byte(&text, |text| one_pass(set, text)));
        }
    }
    let stacked = median(stacked);
    println!(
        "masking {} MiB of log text, {SECRETS} secrets",
        text.len() >> 20
    );
    report("stacked writer per secret (model)", stacked, stacked);
    let names = [
        "secrets and URL parameters",
        "and token prefixes",
        "and derived variants",
    ];
    for (name, times) in names.into_iter().zip(masked) {
        report(name, median(times), stacked);
    }
}

fn report(name: &str, time: f64, stacked: f64) {
    println!(
        "{name:<36} {:>7.3} GB/s  {:>7.1}x",
        1.0 / time,
        stacked / time
    );
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "figures for display")]
fn nanoseconds_per_byte(text: &[u8], work: impl FnOnce(&[u8]) -> usize) -> f64 {
    let start = Instant::now();
    black_box(work(text));
    start.elapsed().as_nanos() as f64 / text.len() as f64
}

fn one_pass(set: &MaskSet, text: &[u8]) -> usize {
    let mut masker = Masker::new(set.clone());
    let mut out = Vec::with_capacity(2 * PIECE);
    let mut written = 0;
    for piece in text.chunks(PIECE) {
        masker.feed(piece, &mut out);
        written += black_box(&out).len();
        out.clear();
    }
    masker.finish(&mut out);
    written + out.len()
}

/// One writer of the model: masks its phrase and passes everything on.
struct PhraseWriter<'a> {
    phrase: &'a [u8],
    matched: usize,
}

fn stacked_writers(secrets: &[Vec<u8>], text: &[u8]) -> usize {
    let mut chain: Vec<PhraseWriter<'_>> = secrets
        .iter()
        .map(|phrase| PhraseWriter { phrase, matched: 0 })
        .collect();
    let mut out = Vec::with_capacity(2 * PIECE);
    let mut written = 0;
    for piece in text.chunks(PIECE) {
        write_through(&mut chain, piece, &mut out);
        written += black_box(&out).len();
        out.clear();
    }
    written
}

/// Passes bytes through the first writer of the chain, which passes them to the rest.
fn write_through(chain: &mut [PhraseWriter<'_>], bytes: &[u8], out: &mut Vec<u8>) {
    let Some((writer, rest)) = chain.split_first_mut() else {
        out.extend_from_slice(bytes);
        return;
    };
    let phrase = writer.phrase;
    let (mut passed, mut at) = (0, 0);
    while at < bytes.len() {
        if writer.matched == 0 {
            let Some(found) = memchr(phrase[0], &bytes[at..]) else {
                break;
            };
            at += found;
        }
        let wanted = &phrase[writer.matched..];
        let wanted = &wanted[..wanted.len().min(bytes.len() - at)];
        if bytes[at..].starts_with(wanted) {
            write_through(rest, &bytes[passed..at], out);
            writer.matched += wanted.len();
            at += wanted.len();
            passed = at;
            if writer.matched == phrase.len() {
                write_through(rest, b"[MASKED]", out);
                writer.matched = 0;
            }
        } else if writer.matched > 0 {
            write_through(rest, &phrase[..writer.matched], out);
            writer.matched = 0;
        } else {
            at += 1;
        }
    }
    if passed < bytes.len() {
        write_through(rest, &bytes[passed..], out);
    }
}

/// A small generator, so that every run masks the same text.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }

    fn secret(&mut self) -> Vec<u8> {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        let length = 20 + self.below(20);
        (0..length)
            .map(|_| alphabet[self.below(alphabet.len())])
            .collect()
    }

    /// Returns typical build output; one line in a thousand contains a secret.
    fn log(&mut self, size: usize, secrets: &[Vec<u8>]) -> Vec<u8> {
        let words = [
            "Compiling",
            "Downloading",
            "Running",
            "Finished",
            "warning:",
            "error:",
            "note:",
            "target/debug/deps",
            "in 0.42s",
            "node_modules/.bin",
            "src/main.rs",
            "test result: ok",
            "unused variable",
            "Checking",
            "https://registry.example.com/v2/",
            "cached",
            "layer",
            "the",
            "of",
            "and",
            "build",
            "step",
            "for",
            "with",
            "path",
            "package",
            "version",
        ];
        let mut text = Vec::with_capacity(size + 256);
        while text.len() < size {
            for _ in 0..3 + self.below(9) {
                text.extend_from_slice(words[self.below(words.len())].as_bytes());
                text.push(b' ');
                if self.below(4) == 0 {
                    text.extend_from_slice(
                        format!("v{}.{} ", self.below(20), self.below(100)).as_bytes(),
                    );
                }
            }
            if self.below(1000) == 0 {
                text.extend_from_slice(&secrets[self.below(secrets.len())]);
            }
            text.push(b'\n');
        }
        text
    }
}
