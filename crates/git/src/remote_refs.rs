use crate::is_commit;

/// The output of `git ls-remote`: a line of an object, a tab and a name for each reference.
#[derive(Debug, Clone, Copy)]
pub struct RemoteRefs<'a> {
    listing: &'a str,
}

/// The suffix of the commit that an annotated tag points at.
const PEELED: &str = "^{}";

impl<'a> RemoteRefs<'a> {
    /// Reads a listing.
    pub fn new(listing: &'a str) -> Self {
        Self { listing }
    }

    /// Returns the full names of a reference, in order of precedence: a tag wins over a branch, as in GitLab.
    pub fn names(reference: &str) -> Vec<String> {
        if reference == "HEAD" {
            return vec![reference.to_owned()];
        }
        if reference.starts_with("refs/") {
            return vec![format!("{reference}{PEELED}"), reference.to_owned()];
        }
        vec![
            format!("refs/tags/{reference}{PEELED}"),
            format!("refs/tags/{reference}"),
            format!("refs/heads/{reference}"),
        ]
    }

    /// Returns the commit that a reference points at.
    pub fn commit(&self, reference: &str) -> Option<&'a str> {
        let names = Self::names(reference);
        let found = names.iter().find_map(|name| self.object(name));
        found.filter(|object| is_commit(object))
    }

    /// Returns a line of a commit, a space and a name for each tag.
    pub fn tags(&self) -> String {
        let mut lines = String::new();
        for (object, name) in self.iter() {
            let Some(tag) = name.strip_prefix("refs/tags/") else {
                continue;
            };
            if tag.ends_with(PEELED) {
                continue;
            }
            let commit = self.object(&format!("{name}{PEELED}")).unwrap_or(object);
            lines.extend([commit, " ", tag, "\n"]);
        }
        lines
    }

    fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let lines = self.listing.lines();
        lines.filter_map(|line| line.split_once('\t'))
    }

    fn object(&self, name: &str) -> Option<&'a str> {
        self.iter()
            .find_map(|(object, it)| (it == name).then_some(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_wins_over_branch_and_names_are_complete() {
        let [one, two, four, six, seven] = ["1", "2", "4", "6", "7"].map(|it| it.repeat(40));
        let listing = format!(
            "{one}\tHEAD\n{one}\trefs/heads/main\n{two}\trefs/heads/both\n{}\trefs/other/refs/heads/main\n\
             {four}\trefs/tags/both\n{}\trefs/tags/v1\n{six}\trefs/tags/v1^{{}}\n{seven}\trefs/tags/v2\n",
            "3".repeat(40),
            "5".repeat(40),
        );
        let refs = RemoteRefs::new(&listing);
        let check = |reference: &str, expect: Option<&String>| {
            let expect = expect.map(String::as_str);
            assert_eq!(refs.commit(reference), expect, "{reference}");
        };
        check("HEAD", Some(&one));
        check("main", Some(&one));
        check("both", Some(&four));
        check("refs/heads/both", Some(&two));
        check("v1", Some(&six));
        check("v2", Some(&seven));
        check("mai", None);
        assert_eq!(RemoteRefs::new("").commit("HEAD"), None);
        assert_eq!(RemoteRefs::new("x\tHEAD\n").commit("HEAD"), None);
        assert_eq!(refs.tags(), format!("{four} both\n{six} v1\n{seven} v2\n"));
    }
}
