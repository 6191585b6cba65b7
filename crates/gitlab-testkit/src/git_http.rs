//! Git over HTTP, served by `git http-backend`.

use crate::answer::Answer;
use crate::api::Call;
use crate::git;
use crate::request;
use crate::who::Who;
use crate::world::Visibility;
use std::fs;
use std::io::Write as _;

/// The scopes that allow reading a repository.
const SCOPES: [&str; 3] = ["api", "read_repository", "write_repository"];

/// Returns whether a path belongs to Git's HTTP protocol.
pub(crate) fn is_meant(path: &str) -> bool {
    path.ends_with(".git/info/refs") || path.ends_with(".git/git-upload-pack")
}

/// Responds to a request of a Git client.
pub(crate) fn answer(call: &Call<'_>, parts: &[&str]) -> Answer {
    let path = parts.join("/");
    let (project, service) = path.split_once(".git/").unwrap_or((&path, ""));
    let basic = call
        .request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Basic "))
        .and_then(request::password);
    let who = match &basic {
        Some(password) => Who::of_password(call.world, password, &SCOPES),
        None => Some(Who::Nobody),
    };
    let Some(who) = who else { return denied() };
    let known = call.world.project(project);
    let seen = known.filter(|project| match &who {
        Who::Nobody => project.visibility == Visibility::Public,
        Who::Known(token) => token.sees(&project.path) || project.visibility != Visibility::Private,
    });
    let Some(project) = seen else {
        return match who {
            Who::Nobody => denied(),
            Who::Known(_) => Answer::new(
                404,
                "text/plain",
                "The project you were looking for could not be found or you don't have permission to view it.",
            ),
        };
    };
    if call.request.parameter("service").as_deref() == Some("git-receive-pack") {
        return Answer::new(
            403,
            "text/plain",
            "You are not allowed to push code to this project.",
        );
    }
    run(call, &project.path, service)
}

fn denied() -> Answer {
    let body = "HTTP Basic: Access denied. If a password was provided for Git authentication, the password was incorrect or you're required to use a token instead of a password.";
    Answer::new(401, "text/plain", body).header("www-authenticate", "Basic realm=\"GitLab\"")
}

/// Runs `git http-backend` for a request and returns its response.
fn run(call: &Call<'_>, project: &str, service: &str) -> Answer {
    // A file rather than a pipe: Git may write output before it has read all of its input.
    let folder = call.world.folder.path();
    let mut input = tempfile::tempfile_in(folder).expect("a file can be made");
    input
        .write_all(&call.request.body)
        .expect("it can be written");
    std::io::Seek::rewind(&mut input).expect("it can be read from its start");

    let header = |name| call.request.header(name).unwrap_or_default();
    let length = call.request.body.len().to_string();
    let place = format!("/{project}.git/{service}");
    let repositories = fs::canonicalize(folder.join("repositories")).expect("it is there");
    let mut command = git::command(folder);
    command.arg("http-backend").stdin(input);
    command.env("GIT_PROJECT_ROOT", repositories);
    command.env("GIT_HTTP_EXPORT_ALL", "1");
    for (name, value) in [
        ("PATH_INFO", place.as_str()),
        ("QUERY_STRING", &call.request.query),
        ("REQUEST_METHOD", &call.request.method),
        ("CONTENT_TYPE", header("content-type")),
        ("CONTENT_LENGTH", &length),
        ("HTTP_CONTENT_ENCODING", header("content-encoding")),
        ("GIT_PROTOCOL", header("git-protocol")),
        ("REMOTE_ADDR", "127.0.0.1"),
    ] {
        command.env(name, value);
    }
    let output = command.output().expect("git starts");
    read(&output.stdout)
}

/// Parses the output of a CGI program.
fn read(printed: &[u8]) -> Answer {
    let mut answer = Answer {
        status: 200,
        headers: Vec::new(),
        body: Vec::new(),
    };
    let mut rest = printed;
    loop {
        let length = rest.iter().position(|byte| *byte == b'\n');
        let Some(length) = length else {
            return Answer::message(500, "500 Internal Server Error");
        };
        let line = String::from_utf8_lossy(&rest[..length]);
        rest = &rest[length + 1..];
        let line = line.trim_end();
        if line.is_empty() {
            answer.body = rest.to_vec();
            return answer;
        }
        match line.split_once(": ") {
            Some(("Status", status)) => {
                let code = status.split(' ').next().and_then(|code| code.parse().ok());
                answer.status = code.unwrap_or(500);
            }
            Some((name, value)) => answer.headers.push((name.to_owned(), value.to_owned())),
            None => {}
        }
    }
}
