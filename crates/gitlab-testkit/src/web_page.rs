//! The pages for browsers: raw files and the sign-in page.

use crate::answer::Answer;
use crate::api::Call;

/// The scopes that allow reading a file.
const SCOPES: [&str; 3] = ["api", "read_api", "read_repository"];

/// Serves `/group/project/-/raw/<ref>/<path>`.
pub(crate) fn raw(call: &Call<'_>, project: &[&str], place: &[&str]) -> Result<Answer, Answer> {
    let sign_in = || Answer::redirect(&format!("{}/users/sign_in", call.world.url()));
    let project = match call.code(&project.join("/"), &SCOPES) {
        Ok(project) => project,
        // GitLab does not disclose to anonymous clients whether a project exists.
        Err(answer) if answer.status == 404 && call.is_anonymous() => return Err(sign_in()),
        Err(answer) => return Err(answer),
    };
    // A branch name may contain slashes, so try every split.
    let found = (1..place.len()).find_map(|length| {
        let commit = project.repository.commit_of(&place[..length].join("/"))?;
        let path = place[length..].join("/");
        project.repository.file(&commit, &path)
    });
    let not_there = || Answer::new(404, "text/html", "<html><title>Not Found</title></html>");
    let (_, bytes) = found.ok_or_else(not_there)?;
    Ok(Answer::text(bytes).header("cache-control", "max-age=60, public"))
}

/// Returns the sign-in page.
pub(crate) fn sign_in() -> Answer {
    Answer::new(200, "text/html", "<html><title>Sign in</title></html>")
}
