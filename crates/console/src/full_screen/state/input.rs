use super::JobId;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use executor_core::variable::JobVariable;

/// The longest line that can be typed, in bytes.
const LONGEST: usize = 4 << 10;

/// A line that the user types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::full_screen) struct Input {
    pub(in crate::full_screen) purpose: Purpose,
    pub(in crate::full_screen) text: String,
}

/// The purpose of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::full_screen) enum Purpose {
    /// Only jobs whose names contain it are shown.
    Filter,
    /// The log is searched for it.
    Search,
    /// The variables that a job is started with.
    Play(JobId),
}

/// What a key did to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed {
    Changed,
    Done,
    Aborted,
}

impl Input {
    pub(super) fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            text: String::new(),
        }
    }

    /// Returns the prompt before the line.
    pub(in crate::full_screen) fn prompt(&self) -> &'static str {
        match self.purpose {
            Purpose::Filter => "jobs with: ",
            Purpose::Search => "/",
            Purpose::Play(_) => "start with NAME=VALUE: ",
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Done,
            KeyCode::Esc => return Typed::Aborted,
            KeyCode::Char('u') if control => self.text.clear(),
            KeyCode::Char('w') if control => {
                let kept = self.text.trim_end();
                let end = kept.rfind(' ').map_or(0, |at| at + 1);
                self.text.truncate(end);
            }
            KeyCode::Backspace => {
                self.text.pop();
            }
            KeyCode::Char(c) if !control => self.paste(c.encode_utf8(&mut [0; 4])),
            _ => {}
        }
        Typed::Changed
    }

    /// Adds pasted text, without control characters.
    pub(super) fn paste(&mut self, text: &str) {
        let text = text.replace(['\n', '\t'], " ");
        let room = LONGEST.saturating_sub(self.text.len());
        let text = crate::text::strip_controls(&text);
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

/// Returns the variables that a line names, divided by spaces.
pub(crate) fn variables(line: &str) -> Result<Vec<JobVariable>, String> {
    let pairs = line.split_whitespace().map(|pair| {
        let found = pair.split_once('=');
        let found = found.filter(|(name, _)| crate::text::is_variable_name(name));
        let (name, value) = found.ok_or_else(|| format!("{pair:?} is not NAME=VALUE"))?;
        Ok(JobVariable::public(name, value))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_from_a_line() {
        let names = |line: &str| {
            let found = variables(line);
            found.map(|found| found.len())
        };
        assert_eq!(names(""), Ok(0));
        assert_eq!(names(" A=b  _C2=d=e F="), Ok(3));
        assert_eq!(names("A"), Err("\"A\" is not NAME=VALUE".to_owned()));
        assert!(names("2A=b").is_err());
    }

    #[test]
    fn edits_the_line() {
        let mut input = Input::new(Purpose::Search);
        input.paste("two words\n\x1b[2Jand more");
        assert_eq!(input.text, "two words and more");
        let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        input.key(control('w'));
        assert_eq!(input.text, "two words and ");
        input.key(KeyCode::Backspace.into());
        input.key(KeyCode::Char('x').into());
        assert_eq!(input.text, "two words andx");
        input.key(control('u'));
        assert_eq!(input.text, "");
        assert_eq!(input.key(KeyCode::Enter.into()), Typed::Done);
        assert_eq!(input.key(KeyCode::Esc.into()), Typed::Aborted);
        input.paste(&"\u{e9}".repeat(10_000));
        assert_eq!(input.text.len(), LONGEST);
    }
}
