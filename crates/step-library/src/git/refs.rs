use super::revision::is_commit;

/// What git lists of a server: a line of an id, a tab and a name for each reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refs<'a>(pub(super) &'a str);

impl<'a> Refs<'a> {
    /// Returns the names to ask for, in the order in which they count. What follows an annotated tag's `^{}` is its commit.
    pub(super) fn names(name: &str) -> Vec<String> {
        vec![
            format!("refs/tags/{name}^{{}}"),
            format!("refs/tags/{name}"),
            format!("refs/heads/{name}"),
        ]
    }

    /// Returns the commit of a tag, or else of a branch.
    pub(super) fn commit(&self, name: &str) -> Option<&'a str> {
        let names = Self::names(name);
        names.iter().find_map(|name| self.named(name))
    }

    fn named(&self, name: &str) -> Option<&'a str> {
        let mut refs = self.0.lines().filter_map(|line| line.split_once('\t'));
        refs.find_map(|(id, it)| (it == name && is_commit(id)).then_some(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_counts_before_a_branch() {
        let id = |digit: char| digit.to_string().repeat(40);
        let listed = format!(
            "{}\trefs/heads/both\n{}\trefs/tags/both\n{}\trefs/tags/both^{{}}\n{}\trefs/heads/main\n",
            id('1'),
            id('2'),
            id('3'),
            id('4')
        );
        let refs = Refs(&listed);
        assert_eq!(refs.commit("both"), Some(&*id('3')));
        assert_eq!(refs.commit("main"), Some(&*id('4')));
        assert_eq!(refs.commit("mai"), None);
    }
}
