/// One line of the input of a pre-push hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedRef {
    /// The local ref, as the user named it.
    pub local: String,
    /// Its commit; `None` if the ref is deleted.
    pub local_id: Option<String>,
    /// The ref on the server.
    pub remote: String,
    /// The commit of that; `None` if the ref is new.
    pub remote_id: Option<String>,
}

/// The refs of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pushed {
    /// The created and moved refs; deleted ones run nothing.
    pub refs: Vec<PushedRef>,
}

impl Pushed {
    /// Parses the standard input of the hook; invalid lines are left out.
    pub fn read(text: &str) -> Self {
        let refs = text.lines().filter_map(PushedRef::read);
        let moved =
            |pushed: &PushedRef| pushed.local_id.is_some() && pushed.local_id != pushed.remote_id;
        Self {
            refs: refs.filter(moved).collect(),
        }
    }

    /// Returns whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    /// Returns the one commit of the server that all refs are compared with, if there is one and the repository
    /// has it.
    pub fn base(&self, is_here: impl Fn(&str) -> bool) -> Option<&str> {
        let mut ids = self.refs.iter().map(|it| it.remote_id.as_deref());
        let first = ids.next()??;
        (ids.all(|id| id == Some(first)) && is_here(first)).then_some(first)
    }

    /// Returns whether another commit than `head` is pushed; `commit` resolves an id, which may be that of a tag.
    pub fn has_others_than(&self, head: &str, commit: impl Fn(&str) -> Option<String>) -> bool {
        let mut ids = self.refs.iter().filter_map(|it| it.local_id.as_deref());
        ids.any(|id| id != head && commit(id).as_deref() != Some(head))
    }
}

impl PushedRef {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut word = || words.next().map(ToOwned::to_owned);
        let (local, local_id, remote, remote_id) = (word()?, word()?, word()?, word()?);
        Some(Self {
            local,
            local_id: commit(local_id),
            remote,
            remote_id: commit(remote_id),
        })
    }
}

/// Returns the id, unless it is invalid or all zeros.
fn commit(id: String) -> Option<String> {
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && id.bytes().any(|byte| byte != b'0')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn deleted_and_unchanged_refs_are_left_out() {
        let count = |text: &str| Pushed::read(text).refs.len();
        assert_eq!(count(""), 0);
        assert_eq!(count("\n"), 0);
        assert_eq!(count("refs/heads/a aa refs/heads/a\n"), 0);
        assert_eq!(count(&format!("(delete) {NONE} refs/heads/a aa\n")), 0);
        assert_eq!(count("refs/heads/a aa refs/heads/a aa\n"), 0);
        assert_eq!(count(&format!("refs/heads/a aa refs/heads/a {NONE}\n")), 1);
    }

    #[test]
    fn base_is_the_commit_of_the_server() {
        let base = |text: &str| {
            let pushed = Pushed::read(text);
            pushed.base(|id| id != "ff").map(ToOwned::to_owned)
        };
        assert_eq!(base("r aa r bb\n"), Some("bb".to_owned()));
        assert_eq!(base("r aa r ff\n"), None);
        assert_eq!(base(&format!("r aa r {NONE}\n")), None);
        assert_eq!(base("r aa r bb\ns aa s cc\n"), None);
        assert_eq!(base("r aa r bb\ns cc s bb\n"), Some("bb".to_owned()));
        assert_eq!(base("r aa r --upload-pack=x\n"), None);
        let has_others = |head: &str| {
            // The tag `aa` is one of the commit `dd`.
            let commit = |id: &str| (id == "aa").then(|| "dd".to_owned());
            Pushed::read("r aa r bb\n").has_others_than(head, commit)
        };
        assert!(has_others("cc"));
        assert!(!has_others("aa") && !has_others("dd"));
    }
}
