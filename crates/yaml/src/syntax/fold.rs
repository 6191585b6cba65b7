use std::borrow::Cow;

/// A text folded from lines, borrowed as long as it is one piece of the file.
#[derive(Debug)]
pub(super) struct Folded<'t> {
    text: Cow<'t, str>,
    /// The first line break since the last word, and those after it.
    leading: &'static str,
    trailing: String,
}

impl<'t> Folded<'t> {
    pub(super) fn new() -> Self {
        Self {
            text: Cow::Borrowed(""),
            leading: "",
            trailing: String::new(),
        }
    }

    pub(super) fn push(&mut self, piece: &'t str) {
        if self.text.is_empty() {
            self.text = Cow::Borrowed(piece);
        } else {
            self.text.to_mut().push_str(piece);
        }
    }

    pub(super) fn push_character(&mut self, character: char) {
        self.text.to_mut().push(character);
    }

    /// Records a line break.
    pub(super) fn record_break(&mut self, line_break: &'static str) {
        if self.leading.is_empty() {
            self.leading = line_break;
        } else {
            self.trailing.push_str(line_break);
        }
    }

    /// Records an escaped line break, which does not count, unlike those after it.
    pub(super) fn record_escaped_break(&mut self) {
        self.leading = "";
        self.trailing.clear();
    }

    /// Adds the folded line breaks: a space, or all but the first of them.
    pub(super) fn join(&mut self, is_escaped: bool) {
        let text = self.text.to_mut();
        if is_escaped || self.leading != "\n" {
            text.push_str(self.leading);
        } else if self.trailing.is_empty() {
            text.push(' ');
        }
        text.push_str(&self.trailing);
        self.leading = "";
        self.trailing.clear();
    }

    pub(super) fn into_text(self) -> Cow<'t, str> {
        self.text
    }
}
