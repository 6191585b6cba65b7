//! Reads projects by GitLab's API.

use crate::Answer;
use gitlab_api::{ApiError, Client, Fresh, Tag, Thing, TreeEntry};
use std::sync::Arc;

/// Requests the commit of a branch or tag, or of the default branch.
pub(super) async fn commit(
    client: &Client,
    project: &str,
    reference: Option<&str>,
    etag: Option<&str>,
) -> Result<Answer, ApiError> {
    let commit = client.commit(project, reference, etag).await?;
    Ok(answer(commit, |commit| commit.id.into_bytes().into()))
}

/// Requests all tags.
pub(super) async fn tags(
    client: &Client,
    project: &str,
    etag: Option<&str>,
) -> Result<Answer, ApiError> {
    let tags = client.tags(project, etag).await?;
    Ok(answer(tags, |tags| tag_lines(&tags).into_bytes().into()))
}

/// Requests a file.
pub(super) async fn file(
    client: &Client,
    project: &str,
    sha: &str,
    path: &str,
    etag: Option<&str>,
) -> Result<Answer, ApiError> {
    match client.file(project, sha, path, etag).await {
        Ok(bytes) => Ok(answer(bytes, |bytes| bytes)),
        Err(ApiError::NotFound {
            missing: Thing::File,
            ..
        }) => Ok(Answer::Absent),
        Err(error) => Err(error),
    }
}

/// Requests the paths of all files.
pub(super) async fn tree(client: &Client, project: &str, sha: &str) -> Result<Answer, ApiError> {
    let entries = client.tree(project, sha).await?;
    Ok(Answer::Body {
        bytes: tree_lines(&entries).into_bytes().into(),
        etag: None,
    })
}

fn answer<T>(fresh: Fresh<T>, bytes: impl FnOnce(T) -> Arc<[u8]>) -> Answer {
    match fresh {
        Fresh::Unchanged => Answer::Unchanged,
        Fresh::New { value, etag } => Answer::Body {
            bytes: bytes(value),
            etag,
        },
    }
}

/// Returns a line for each tag of a commit. Git permits no spaces in names, so such tags are skipped.
fn tag_lines(tags: &[Tag]) -> String {
    let is_name = |name: &str| !name.contains(|it: char| it.is_whitespace() || it.is_control());
    let tags = tags.iter().filter(|tag| is_name(&tag.name));
    tags.filter_map(|tag| Some(format!("{} {}\n", tag.commit.as_ref()?.id, tag.name)))
        .collect()
}

/// Returns a line for each file, without those with a line break in their name.
fn tree_lines(entries: &[TreeEntry]) -> String {
    let files = entries.iter().filter(|entry| entry.kind == "blob");
    let files = files.filter(|entry| !entry.path.contains(['\n', '\r']));
    files.flat_map(|entry| [&*entry.path, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gitlab_api::Commit;

    #[test]
    fn invalid_tags_are_skipped() {
        let tag = |name: &str, id: Option<&str>| Tag {
            name: name.to_owned(),
            commit: id.map(|id| Commit { id: id.to_owned() }),
            protected: false,
        };
        let tags = [
            tag("1.0", Some("aa")),
            tag("2.0\nbb 3.0", Some("bb")),
            tag("of-a-blob", None),
            tag("ä/1", Some("cc")),
        ];
        assert_eq!(tag_lines(&tags), "aa 1.0\ncc ä/1\n");
    }

    #[test]
    fn only_files_are_listed() {
        let entry = |path: &str, kind: &str| TreeEntry {
            path: path.to_owned(),
            kind: kind.to_owned(),
        };
        let entries = [
            entry("a", "tree"),
            entry("a/b c.yml", "blob"),
            entry("sub", "commit"),
            entry("x\ny", "blob"),
            entry("d.yml", "blob"),
        ];
        assert_eq!(tree_lines(&entries), "a/b c.yml\nd.yml\n");
    }
}
