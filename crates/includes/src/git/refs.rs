/// What Git lists of a server: a line of an id, a tab and a name for each reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refs<'a> {
    listed: &'a str,
}

/// What ends the name of the commit that an annotated tag is about.
const PEELED: &str = "^{}";

impl<'a> Refs<'a> {
    pub(super) fn new(listed: &'a str) -> Self {
        Self { listed }
    }

    fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.listed.lines().filter_map(|line| line.split_once('\t'))
    }

    fn named(&self, name: &str) -> Option<&'a str> {
        let mut refs = self.iter();
        refs.find_map(|(id, it)| (it == name).then_some(id))
    }

    /// Returns the names under which Git lists a reference: a tag wins over a branch, as in GitLab.
    pub(super) fn names(reference: Option<&str>) -> Vec<String> {
        match reference {
            None => vec!["HEAD".to_owned()],
            Some(whole) if whole.starts_with("refs/") => {
                vec![format!("{whole}{PEELED}"), whole.to_owned()]
            }
            Some(short) => vec![
                format!("refs/tags/{short}{PEELED}"),
                format!("refs/tags/{short}"),
                format!("refs/heads/{short}"),
            ],
        }
    }

    /// Returns the commit a reference is at.
    pub(super) fn commit(&self, reference: Option<&str>) -> Option<&'a str> {
        let names = Self::names(reference);
        names.iter().find_map(|name| self.named(name))
    }

    /// Returns a line of a commit and a name for each tag.
    pub(super) fn tags(&self) -> String {
        let mut lines = String::new();
        for (id, name) in self.iter() {
            let Some(tag) = name.strip_prefix("refs/tags/") else {
                continue;
            };
            if tag.ends_with(PEELED) {
                continue;
            }
            let commit = self.named(&format!("{name}{PEELED}")).unwrap_or(id);
            lines.extend([commit, " ", tag, "\n"]);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "\
1\tHEAD
1\trefs/heads/main
2\trefs/heads/both
3\trefs/other/refs/heads/main
4\trefs/tags/both
5\trefs/tags/v1
6\trefs/tags/v1^{}
7\trefs/tags/v2
";

    #[test]
    fn a_reference_is_found_by_its_whole_name() {
        let check = |reference: Option<&str>, expect: Option<&str>| {
            let found = Refs::new(LISTED).commit(reference);
            assert_eq!(found, expect, "{reference:?}");
        };
        check(None, Some("1"));
        check(Some("main"), Some("1"));
        check(Some("both"), Some("4"));
        check(Some("refs/heads/both"), Some("2"));
        check(Some("v1"), Some("6"));
        check(Some("v2"), Some("7"));
        check(Some("mai"), None);
        assert_eq!(Refs::new("").commit(None), None);
    }

    #[test]
    fn tags_are_at_commits() {
        assert_eq!(Refs::new(LISTED).tags(), "4 both\n6 v1\n7 v2\n");
    }
}
