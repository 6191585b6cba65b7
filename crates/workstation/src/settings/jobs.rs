use super::{LayeredValue, SettingValue, Settings};

/// The settings of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobSettings {
    /// The files it reads, as patterns of `rules:changes`; `None` when no file sets them.
    pub inputs: Option<Vec<String>>,
    /// The tracked files it may change, as patterns of `rules:changes`.
    pub may_change: Vec<String>,
}

impl Settings {
    /// Returns the settings of the job with this name.
    ///
    /// For each key the project's file takes precedence over the user's. Within a file the full name of the job comes
    /// first, then its name without the suffix of `parallel`, then the last matching pattern.
    ///
    /// # Examples
    ///
    /// ```
    /// use workstation::Settings;
    /// use std::path::Path;
    ///
    /// let text = "[jobs.\"test*\"]\ninputs = ['src/**/*']\n";
    /// let settings = Settings::parse(Path::new("config.toml"), text, None)?;
    /// assert_eq!(settings.job("test: [debian]").inputs, Some(vec!["src/**/*".to_owned()]));
    /// assert_eq!(settings.job("lint").inputs, None);
    /// # Ok::<(), workstation::SettingsError>(())
    /// ```
    pub fn job(&self, name: &str) -> JobSettings {
        JobSettings {
            inputs: self.of_job("inputs", name),
            may_change: self.of_job("may-change", name).unwrap_or_default(),
        }
    }

    fn of_job(&self, key: &str, job: &str) -> Option<Vec<String>> {
        let is_meant = |said: &&LayeredValue| said.section.name == "jobs" && said.key.name == key;
        let fit = |said: &LayeredValue| fit(said.of.as_deref()?, job);
        let said = self.said().iter().filter(is_meant);
        let fitting = said.filter_map(|said| Some(((said.origin.rank(), fit(said)?), said)));
        // `max_by_key` returns the last of equal entries, which is the one further down in the file.
        let (_, best) = fitting.max_by_key(|(rank, _)| *rank)?;
        match &best.value {
            SettingValue::Texts(texts) => Some(texts.clone()),
            _ => None,
        }
    }
}

/// Returns how specifically a name or pattern matches a job, or `None` if it does not.
fn fit(pattern: &str, job: &str) -> Option<u8> {
    let base = without_instance(job);
    if pattern == job {
        Some(2)
    } else if base == Some(pattern) {
        Some(1)
    } else {
        is_like(pattern, job).then_some(0)
    }
}

/// Returns the name of a job without the suffix of `parallel`: `test: [a, b]` and `test 1/2` become `test`.
fn without_instance(job: &str) -> Option<&str> {
    if let Some((base, _)) = job.split_once(": [").filter(|_| job.ends_with(']')) {
        return Some(base);
    }
    let (base, count) = job.rsplit_once(' ')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let (number, total) = count.split_once('/')?;
    (is_number(number) && is_number(total)).then_some(base)
}

/// Matches a name against a pattern with `*` and `?`. Every other character is literal, because job names contain
/// brackets.
fn is_like(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from) = (0, 0);
    // The position of the last star, and the number of characters it matches so far.
    let mut star = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[from] => {
                at += 1;
                from += 1;
            }
            _ => match &mut star {
                Some((place, taken)) => {
                    *taken += 1;
                    (at, from) = (*place + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_fit_jobs() {
        let check = |pattern: &str, job: &str, expect: Option<u8>| {
            assert_eq!(fit(pattern, job), expect, "{pattern} {job}");
        };
        check("test", "test", Some(2));
        check("test: [a, b]", "test: [a, b]", Some(2));
        check("test", "test: [a, b]", Some(1));
        check("test", "test 1/3", Some(1));
        check("test", "test 1", None);
        check("test", "tests", None);
        check("te*", "test: [a]", Some(0));
        check("*:*", "deploy:prod", Some(0));
        check("t?st", "test", Some(0));
        check("t?st", "tst", None);
        check("*a*b", "xaxbxab", Some(0));
        check("*a*b", "xaxbxa", None);
        check("", "test", None);
        check("*", "", Some(0));
        check("[ab]", "a", None);
        check("ä*", "äü", Some(0));
    }
}
