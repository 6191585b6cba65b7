//! Parts of the week or the year, in the notation of cron.

use jiff::civil::DateTime;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A part of the week or the year, as in `* 8-17 * * mon-fri`.
///
/// The fields are those of GitLab Runner: minute, hour, day of the month, month, day of the week; with six, the last is the
/// year; with seven, the first is the second. A field has numbers, ranges (`8-17`), steps (`*/15`, `0-30/10`), names of
/// months and days in English, whole or their first three letters, and several of these with commas. Sunday is 0 and 7. When both days are limited, one of them
/// is enough, as in cron. Without a field for seconds, a period covers whole minutes; GitLab Runner reads the same period as
/// their first second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    second: Field,
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
    year: Field,
}

/// A text that is not a period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid period {period:?}: {reason}")]
pub struct PeriodError {
    period: String,
    reason: String,
}

/// The values that a field allows; empty for `*`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Field(Vec<Part>);

/// Every `step`th value of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    range: RangeInclusive<i16>,
    step: i16,
}

/// A field's name, its values, and the words for the first of them.
struct Kind {
    name: &'static str,
    values: RangeInclusive<i16>,
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

const SECOND: Kind = Kind::new("second", 0..=59, &[]);
const MINUTE: Kind = Kind::new("minute", 0..=59, &[]);
const HOUR: Kind = Kind::new("hour", 0..=23, &[]);
const DAY: Kind = Kind::new("day of the month", 1..=31, &[]);
const MONTH: Kind = Kind::new("month", 1..=12, &MONTHS);
const WEEKDAY: Kind = Kind::new("day of the week", 0..=7, &DAYS);
const YEAR: Kind = Kind::new("year", 1970..=2099, &[]);

impl Period {
    /// Returns whether a time is in the period.
    pub fn contains(&self, time: DateTime) -> bool {
        let day = self.day.contains(time.day().into());
        let sunday_is_zero = time.weekday().to_sunday_zero_offset().into();
        let weekday = self.weekday.contains(sunday_is_zero)
            || (sunday_is_zero == 0 && self.weekday.contains(7));
        let both_limited = !self.day.is_any() && !self.weekday.is_any();
        let is_day = if both_limited {
            day || weekday
        } else {
            day && weekday
        };
        is_day
            && self.second.contains(time.second().into())
            && self.minute.contains(time.minute().into())
            && self.hour.contains(time.hour().into())
            && self.month.contains(time.month().into())
            && self.year.contains(time.year())
    }
}

impl FromStr for Period {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = |reason| PeriodError {
            period: text.to_owned(),
            reason,
        };
        let words: Vec<_> = text.split_whitespace().collect();
        let (second, rest) = match words.as_slice() {
            [second, rest @ ..] if rest.len() == 6 => (*second, rest),
            all => ("*", all),
        };
        let (fields, year) = match rest {
            [fields @ .., year] if fields.len() == 5 => (fields, *year),
            fields => (fields, "*"),
        };
        let [minute, hour, day, month, weekday] = fields else {
            let reason = format!("it has {} fields, expected 5, 6 or 7", words.len());
            return Err(invalid(reason));
        };
        let read = |kind: &Kind, text: &str| kind.field(text).map_err(invalid);
        Ok(Self {
            second: read(&SECOND, second)?,
            minute: read(&MINUTE, minute)?,
            hour: read(&HOUR, hour)?,
            day: read(&DAY, day)?,
            month: read(&MONTH, month)?,
            weekday: read(&WEEKDAY, weekday)?,
            year: read(&YEAR, year)?,
        })
    }
}

impl Field {
    fn is_any(&self) -> bool {
        self.0.is_empty()
    }

    fn contains(&self, value: i16) -> bool {
        let part = |part: &Part| {
            part.range.contains(&value) && (value - part.range.start()) % part.step == 0
        };
        self.is_any() || self.0.iter().any(part)
    }
}

impl Kind {
    const fn new(
        name: &'static str,
        values: RangeInclusive<i16>,
        words: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            values,
            words,
        }
    }

    fn field(&self, text: &str) -> Result<Field, String> {
        if matches!(text, "*" | "?") {
            return Ok(Field::default());
        }
        let parts = text.split(',').map(|part| self.part(part));
        parts.collect::<Result<_, _>>().map(Field)
    }

    fn part(&self, text: &str) -> Result<Part, String> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (text, None),
        };
        let invalid_step = |step| format!("invalid step {step:?} of the {}", self.name);
        let step = step.map(|step| match step.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(invalid_step(step)),
        });
        let step = step.transpose()?;
        let range = match range.split_once('-') {
            _ if range == "*" => self.values.clone(),
            Some((first, last)) => self.value(first)?..=self.value(last)?,
            // `5/15` goes on to the end, as in cron; Saturday is the last day.
            None if step.is_some() => {
                let end = if self.name == WEEKDAY.name {
                    6
                } else {
                    *self.values.end()
                };
                self.value(range)?..=end
            }
            None => self.value(range)?..=self.value(range)?,
        };
        if range.is_empty() {
            return Err(format!("the {} {text:?} ends before it begins", self.name));
        }
        let step = step.unwrap_or(1);
        Ok(Part { range, step })
    }

    fn value(&self, text: &str) -> Result<i16, String> {
        let matches =
            |word: &&str| text.eq_ignore_ascii_case(word) || text.eq_ignore_ascii_case(&word[..3]);
        let word = self.words.iter().position(matches);
        let from_word = word.and_then(|index| i16::try_from(index).ok());
        // Months begin with 1.
        let from_word = from_word.map(|index| index + self.values.start());
        let value = from_word.or_else(|| text.parse().ok());
        value
            .filter(|value| self.values.contains(value))
            .ok_or_else(|| {
                let (first, last) = (self.values.start(), self.values.end());
                format!("invalid {} {text:?}, expected {first} to {last}", self.name)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn contains(period: &str, time: DateTime) -> bool {
        period.parse::<Period>().unwrap().contains(time)
    }

    #[test]
    fn fields_are_those_of_the_runner() {
        let monday = date(2026, 11, 30).at(9, 30, 15, 0);
        let sunday = date(2026, 11, 29).at(9, 30, 15, 0);
        for period in [
            "* * * * *",
            "30 9 * * mon",
            "* 8-17 * * mon-fri",
            "* * * * 1",
            "* * * * Monday",
            "*/15 * * NOV *",
            "0-30/10 * 30 11 *",
            "* * * * * 2026",
            "15 * * * * mon,tue *",
            "5/5 * * * ?",
        ] {
            assert!(contains(period, monday), "{period}");
        }
        for period in [
            "31 * * * *",
            "* 10-17 * * *",
            "* * * * sat,sun",
            "* * * * * 2027",
            "16 * * * * * *",
            "*/7 * * * *",
        ] {
            assert!(!contains(period, monday), "{period}");
        }
        assert!(!contains("* * * * 1/2", sunday));
        for period in ["* * * * 0", "* * * * 7", "* * * * sun", "* * * * 5-7"] {
            assert!(contains(period, sunday), "{period}");
            assert!(
                !contains(period, date(2026, 12, 2).at(9, 0, 0, 0)),
                "{period}"
            );
        }
    }

    #[test]
    fn one_of_two_limited_days_is_enough() {
        let period = "* * 1 * fri";
        assert!(contains(period, date(2026, 12, 1).at(0, 0, 0, 0)));
        assert!(contains(period, date(2026, 12, 4).at(0, 0, 0, 0)));
        assert!(!contains(period, date(2026, 12, 2).at(0, 0, 0, 0)));
    }

    #[test]
    fn invalid_periods_are_named() {
        for (period, reason) in [
            ("", "it has 0 fields, expected 5, 6 or 7"),
            ("* * * *", "it has 4 fields, expected 5, 6 or 7"),
            ("60 * * * *", "invalid minute \"60\", expected 0 to 59"),
            (
                "* * * * fry",
                "invalid day of the week \"fry\", expected 0 to 7",
            ),
            ("* 17-8 * * *", "the hour \"17-8\" ends before it begins"),
            ("*/0 * * * *", "invalid step \"0\" of the minute"),
            ("1,,2 * * * *", "invalid minute \"\", expected 0 to 59"),
        ] {
            let error = period.parse::<Period>().unwrap_err().to_string();
            assert_eq!(error, format!("invalid period {period:?}: {reason}"));
        }
    }
}
