//! What is in a project, by GitLab's API.

use crate::Answer;
use gitlab_api::{ApiError, Client, Fresh, Tag, Thing, TreeEntry};
use std::sync::Arc;

/// Asks for the commit of a branch or tag, or of the default branch.
pub(super) async fn commit(
    client: &Client,
    project: &str,
    reference: Option<&str>,
    etag: Option<&str>,
) -> Result<Answer, ApiError> {
    let commit = client.commit(project, reference, etag).await?;
    Ok(answer(commit, |commit| commit.id.into_bytes().into()))
}

/// Asks for all tags.
pub(super) async fn tags(
    client: &Client,
    project: &str,
    etag: Option<&str>,
) -> Result<Answer, ApiError> {
    let tags = client.tags(project, etag).await?;
    Ok(answer(tags, |tags| tag_lines(&tags).into_bytes().into()))
}

/// Asks for what is in a file.
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

/// Asks which files there are.
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

/// Returns a line for each tag of a commit. Git allows no blanks in names, so what has some is none.
fn tag_lines(tags: &[Tag]) -> String {
    let is_name = |name: &str| !name.contains(|it: char| it.is_whitespace() || it.is_control());
    let tags = tags.iter().filter(|tag| is_name(&tag.name));
    tags.filter_map(|tag| Some(format!("{} {}\n", tag.commit.as_ref()?.id, tag.name)))
        .collect()
}

/// Returns a line for each file; one whose name breaks lines can be named by nobody.
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
    fn a_tag_is_a_line_if_it_can_be_one() {
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
    fn a_file_is_a_line_and_a_folder_is_none() {
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
