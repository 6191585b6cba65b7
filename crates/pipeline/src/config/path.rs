use std::fmt;

/// The path of a keyword in GitLab's notation, in lower case: `jobs:build:artifacts`.
///
/// GitLab validates some keywords on their own and others, the attributes, as part of their parent:
/// it reports "jobs:build:artifacts:reports config should be a hash", but "jobs:build:artifacts
/// name should be a string".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    name: &'a str,
    part: Part,
}

/// How GitLab validates a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// On its own.
    Entry,
    /// As part of its parent.
    Attribute,
}

impl<'a> Path<'a> {
    /// Returns the path of a top-level keyword.
    pub(crate) fn top(name: &'a str) -> Self {
        Self {
            parent: None,
            name,
            part: Part::Entry,
        }
    }

    /// Returns the path of a keyword below this one.
    pub(crate) fn child(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            name,
            part: Part::Entry,
        }
    }

    /// Returns the path of an attribute of this one.
    pub(crate) fn attribute(&'a self, name: &'a str) -> Self {
        Self {
            part: Part::Attribute,
            ..self.child(name)
        }
    }

    /// Returns the path of a keyword below this one that GitLab validates as `part`.
    pub(super) fn part(&'a self, name: &'a str, part: Part) -> Self {
        Self {
            part,
            ..self.child(name)
        }
    }

    /// Returns the parent's path.
    pub(super) fn parent(&self) -> Option<&'a Self> {
        self.parent
    }

    /// Returns the path of another keyword of the same parent.
    pub(crate) fn sibling(&self, name: &'a str) -> Self {
        Self { name, ..*self }
    }

    /// Returns the start of a message about the keyword.
    pub(crate) fn subject(&self) -> impl fmt::Display {
        let word = match self.part {
            Part::Entry => " config",
            Part::Attribute => "",
        };
        format!("{self}{word}")
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            let joint = match self.part {
                Part::Entry => ":",
                Part::Attribute => " ",
            };
            write!(f, "{parent}{joint}")?;
        }
        let mut letters = self.name.chars().flat_map(char::to_lowercase);
        letters.try_for_each(|letter| fmt::Write::write_char(f, letter))
    }
}
