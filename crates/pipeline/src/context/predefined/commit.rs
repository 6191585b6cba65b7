use super::{Phase, Values};
use crate::context::{PipelineContext, RefKind};
use crate::slug::slug;

/// The maximum number of bytes of a commit message in a variable.
const LONGEST_MESSAGE: usize = 100_000;

/// Adds the variables of the commit and its branch or tag.
pub(super) fn add(context: &PipelineContext, values: &mut Values) {
    let commit = &context.commit;
    let message = cut(&commit.message, LONGEST_MESSAGE);
    let description = cut(commit.description(), LONGEST_MESSAGE);
    let is_truncated = message.len() < commit.message.len();
    let mut add = |name: &str, value: &str| values.add(Phase::PrePipeline, name, value);
    add("CI_COMMIT_SHA", &commit.sha);
    add("CI_COMMIT_SHORT_SHA", commit.short_sha());
    add("CI_COMMIT_BEFORE_SHA", &commit.before_sha);
    add("CI_COMMIT_REF_NAME", &commit.ref_name);
    add("CI_COMMIT_REF_SLUG", &slug(&commit.ref_name));
    add("CI_COMMIT_REF_PROTECTED", &commit.is_protected.to_string());
    match context.ref_kind() {
        RefKind::Branch => add("CI_COMMIT_BRANCH", &commit.ref_name),
        RefKind::Tag => {
            add("CI_COMMIT_TAG", &commit.ref_name);
            add("CI_COMMIT_TAG_MESSAGE", &commit.tag_message);
        }
        RefKind::MergeRequest => {}
    }
    add("CI_COMMIT_MESSAGE", message);
    add("CI_COMMIT_MESSAGE_IS_TRUNCATED", &is_truncated.to_string());
    add("CI_COMMIT_TITLE", commit.title());
    add("CI_COMMIT_DESCRIPTION", description);
    add("CI_COMMIT_AUTHOR", &commit.author);
    add("CI_COMMIT_USER_LOGIN", &commit.user_login);
    add("CI_COMMIT_TIMESTAMP", &commit.timestamp);
}

/// Returns the start of a text, at most `longest` bytes.
pub(super) fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

#[cfg(test)]
pub(super) const LONGEST: usize = LONGEST_MESSAGE;
