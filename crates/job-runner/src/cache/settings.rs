use super::CacheError;
use archive::{Format, Level};
use executor_core::variable::JobVariables;
use executor_core::{CancelCause, Cancellation, HumanDuration, chain};
use std::time::Duration;

/// The archive settings and timeout of a job's caches, from its variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheSettings {
    pub(super) format: Format,
    pub(super) level: Level,
    /// The longest duration of one transfer.
    pub(super) timeout: Duration,
}

const DEFAULT_MINUTES: u64 = 10;

impl CacheSettings {
    /// Reads the settings, with warnings about those that are ignored.
    pub(super) fn read(variables: &JobVariables) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let text = |name: &str| {
            variables
                .get(name)
                .map(str::trim)
                .filter(|it| !it.is_empty())
        };
        let mut ignored = |name: &str, why: &str| {
            warnings.push(format!("{name} is ignored: it is {why}"));
        };
        let format = text("CACHE_COMPRESSION_FORMAT").and_then(|text| {
            let format = Format::named(&text.to_ascii_lowercase());
            if format.is_none() {
                ignored(
                    "CACHE_COMPRESSION_FORMAT",
                    "not one of zip, zipzstd and tarzstd",
                );
            }
            format
        });
        let level = text("CACHE_COMPRESSION_LEVEL").and_then(|text| {
            let level = Level::named(&text.to_ascii_lowercase());
            if level.is_none() {
                let words = "not one of fastest, fast, default, slow and slowest";
                ignored("CACHE_COMPRESSION_LEVEL", words);
            }
            level
        });
        let minutes = text("CACHE_REQUEST_TIMEOUT").and_then(|text| {
            let minutes = text
                .parse()
                .ok()
                .filter(|minutes| (1..=MOST_MINUTES).contains(minutes));
            if minutes.is_none() {
                ignored("CACHE_REQUEST_TIMEOUT", "not a number of minutes");
            }
            minutes
        });
        let settings = Self {
            format: format.unwrap_or_default(),
            level: level.unwrap_or_default(),
            timeout: Duration::from_secs(60 * minutes.unwrap_or(DEFAULT_MINUTES)),
        };
        (settings, warnings)
    }
}

impl CacheSettings {
    /// Returns the message of a failure; `own` was stopped if the timeout passed.
    pub(super) fn message(&self, error: &CacheError, own: &Cancellation) -> String {
        match error {
            CacheError::Stopped if own.cause() == Some(CancelCause::Timeout) => format!(
                "it took too long (CACHE_REQUEST_TIMEOUT is {}, and the job's timeout applies)",
                HumanDuration(self.timeout)
            ),
            error => chain(error),
        }
    }
}

/// A year, so that no moment overflows the clock.
const MOST_MINUTES: u64 = 60 * 24 * 365;

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    fn check(
        variables: &[(&str, &str)],
        format: Format,
        level: Level,
        minutes: u64,
        warned: usize,
    ) {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| JobVariable::public(*name, *value));
        let (settings, warnings) = CacheSettings::read(&variables.collect());
        let expect = CacheSettings {
            format,
            level,
            timeout: Duration::from_secs(minutes * 60),
        };
        assert_eq!((settings, warnings.len()), (expect, warned), "{warnings:?}");
    }

    #[test]
    fn variables_select_format_and_level() {
        check(&[], Format::Zip, Level::Default, 10, 0);
        let all = [
            ("CACHE_COMPRESSION_FORMAT", "tarzstd"),
            ("CACHE_COMPRESSION_LEVEL", "fastest"),
            ("CACHE_REQUEST_TIMEOUT", "3"),
        ];
        check(&all, Format::TarZstd, Level::Fastest, 3, 0);
        check(
            &[("CACHE_COMPRESSION_FORMAT", "ZipZstd")],
            Format::ZipZstd,
            Level::Default,
            10,
            0,
        );
        check(
            &[("CACHE_COMPRESSION_FORMAT", "")],
            Format::Zip,
            Level::Default,
            10,
            0,
        );
        let wrong = [
            ("CACHE_COMPRESSION_FORMAT", "rar"),
            ("CACHE_COMPRESSION_LEVEL", "9"),
            ("CACHE_REQUEST_TIMEOUT", "5m"),
        ];
        check(&wrong, Format::Zip, Level::Default, 10, 3);
        for never in ["0", "-1", "99999999999999999999", "999999999999"] {
            check(
                &[("CACHE_REQUEST_TIMEOUT", never)],
                Format::Zip,
                Level::Default,
                10,
                1,
            );
        }
    }
}
