use executor_core::job::RefType;

/// The commit a pipeline runs for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub sha: String,
    /// The commit the ref pointed at before; 40 zeros when unknown.
    pub before_sha: String,
    /// The branch or tag; for a merge request its source branch.
    pub ref_name: String,
    /// Whether that is a branch or a tag.
    pub ref_type: RefType,
    /// Whether the ref is protected.
    pub is_protected: bool,
    /// The tag's message.
    pub tag_message: String,
    /// The whole message.
    pub message: String,
    /// The author, as `Name <address>`.
    pub author: String,
    /// The login name of the user who pushed it; empty when unknown.
    pub user_login: String,
    /// The commit time, in ISO 8601.
    pub timestamp: String,
}

impl Commit {
    /// Returns the first line of the message.
    pub fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Returns the message without its first line; the whole message when that line is too long for
    /// a title.
    pub fn description(&self) -> &str {
        const LONGEST_TITLE: usize = 100;
        if self.title().chars().count() >= LONGEST_TITLE {
            return &self.message;
        }
        let rest = self.message.split_once('\n').map_or("", |(_, rest)| rest);
        rest.trim_start_matches('\n')
    }

    /// Returns the full name of the branch or tag.
    pub fn ref_path(&self) -> String {
        let kind = match self.ref_type {
            RefType::Branch => "heads",
            RefType::Tag => "tags",
        };
        format!("refs/{kind}/{}", self.ref_name)
    }

    /// Returns the first eight characters of the id.
    pub fn short_sha(&self) -> &str {
        self.sha.get(..8).unwrap_or(&self.sha)
    }

    /// Returns whether the message asks to run no jobs (`[ci skip]`, `[skip-ci]` and the like).
    pub fn skips_ci(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let mut marks = message.split('[').skip(1);
        marks.any(|rest| {
            let Some((words, _)) = rest.split_once(']') else {
                return false;
            };
            let apart = words.split_once([' ', '-', '_']);
            matches!(apart, Some(("ci", "skip") | ("skip", "ci")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_can_ask_to_run_no_jobs() {
        let check = |message: &str, expect: bool| {
            let commit = Commit {
                message: message.to_owned(),
                ..Commit::default()
            };
            assert_eq!(commit.skips_ci(), expect, "of {message:?}");
        };
        check("fix [ci skip]", true);
        check("fix\n\n[Skip-CI] later", true);
        check("[skip_ci]", true);
        check("[[ci-skip]]", true);
        check("[ci  skip]", false);
        check("ci skip", false);
        check("[ci skip", false);
        check("[skip]", false);
    }
}
