use std::time::Duration;

/// Parses a duration in GitLab's forms: `1h 30m`, `1.5 hours`, `2 weeks and 3 days`, `1:30`, `90`.
///
/// Returns `None` for a text that GitLab refuses and for zero. A bare number counts seconds; a month
/// has 30 days and a year 365.25.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let five_minutes = Duration::from_secs(300);
/// assert_eq!(executor_core::parse_duration("5 minutes"), Some(five_minutes));
/// assert_eq!(executor_core::parse_duration("soon"), None);
/// ```
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let seconds = if text.contains(':') {
        colon_form(&text)?
    } else {
        word_form(&text)?
    };
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    (duration.as_secs() > 0).then_some(Duration::from_secs(duration.as_secs()))
}

/// Parses `mm:ss` and `h:mm:ss`.
fn colon_form(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    parts.iter().try_fold(0.0, |seconds, part| {
        let fits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let value: f64 = fits.then(|| part.parse().ok())??;
        Some(seconds * 60.0 + value)
    })
}

/// Parses numbers with units; a last number without a unit counts seconds.
fn word_form(text: &str) -> Option<f64> {
    let tokens = tokens(text)?;
    let mut tokens = tokens.iter().peekable();
    let mut seconds = 0.0;
    let mut found = false;
    while let Some(token) = tokens.next() {
        let number = match token {
            Token::Word("and") if found => continue,
            Token::Word(word) => number_word(word)?,
            Token::Number(number) => *number,
        };
        let unit = match tokens.next() {
            Some(Token::Word(word)) => unit_seconds(word)?,
            Some(Token::Number(_)) => return None,
            None => 1.0,
        };
        seconds += number * unit;
        found = true;
    }
    found.then_some(seconds)
}

enum Token<'t> {
    Number(f64),
    Word(&'t str),
}

/// Splits the text into numbers and words; a comma may only follow a unit.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = |fits: fn(char) -> bool| rest.find(|c| !fits(c)).unwrap_or(rest.len());
        let taken = if first.is_whitespace() {
            first.len_utf8()
        } else if first == ',' && matches!(tokens.last(), Some(Token::Word(_))) {
            1
        } else if first.is_ascii_alphabetic() {
            let length = length(|c| c.is_ascii_alphabetic());
            tokens.push(Token::Word(&rest[..length]));
            length
        } else {
            let length = length(|c| c.is_ascii_digit() || c == '.');
            tokens.push(Token::Number(rest[..length].parse().ok()?));
            length
        };
        rest = &rest[taken..];
    }
    Some(tokens)
}

fn unit_seconds(word: &str) -> Option<f64> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "wk" | "wks" | "week" | "weeks" => 604_800.0,
        "mo" | "mos" | "month" | "months" => 2_592_000.0,
        "y" | "yr" | "yrs" | "year" | "years" => 31_557_600.0,
        _ => return None,
    })
}

fn number_word(word: &str) -> Option<f64> {
    const WORDS: [&str; 20] = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    let index = WORDS.iter().position(|known| *known == word)?;
    u32::try_from(index + 1).ok().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str], expect: Option<u64>) {
        for text in texts {
            let seconds = parse_duration(text).map(|duration| duration.as_secs());
            assert_eq!(seconds, expect, "reading {text:?}");
        }
    }

    #[test]
    fn parses_all_forms() {
        check(&["5", " 5 ", "5s", "5 SECS"], Some(5));
        check(
            &["1h 30m", "1hour30minutes", "1:30:00", "1.5h", "1h, 30m"],
            Some(5400),
        );
        check(&["90", "1 minute 30", "1:30", "1m30"], Some(90));
        check(&["1h1h"], Some(7200));
        check(&["two days", "2 days", "1 day and 24 hr"], Some(172_800));
        check(&["1 mo"], Some(2_592_000));
        check(&["1 year"], Some(31_557_600));
    }

    #[test]
    fn rejects_texts_that_are_not_durations() {
        check(
            &["", "0", "0s", "never", "a week", "1 fortnight", "5x"],
            None,
        );
        check(
            &["1,5h", "-5m", "1e3", "5 minutes please", "5 10m", "and 5m"],
            None,
        );
        check(
            &[
                "1:2:3:4",
                "1::2",
                ":",
                "..",
                "1.2.3",
                "5 m m",
                "999999999999999999999 y",
            ],
            None,
        );
    }
}
