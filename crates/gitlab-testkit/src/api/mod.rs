//! The API endpoints, by path.

mod branches;
mod call;
mod commits;
mod files;
mod lint;
mod oneself;
mod projects;
mod protected;
mod tags;
mod templates;
mod tree;
mod variables;

pub(crate) use call::Call;

use crate::answer::Answer;
use crate::world::World;
use crate::{Request, git_http, web_page};

/// Routes a request and responds as GitLab does.
pub(crate) fn answer(world: &World, request: &Request) -> Answer {
    let page = world.state().pages.get(&request.path).cloned();
    if let Some(page) = page {
        return page.answer;
    }
    let call = Call { world, request };
    let Some(below) = request.path.strip_prefix(&world.root) else {
        return web_not_found();
    };
    let below = Request {
        path: below.to_owned(),
        ..request.clone()
    };
    let segments = below.segments();
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    let answer = match parts.as_slice() {
        ["api", "v4", rest @ ..] => api(&call, rest),
        ["users", "sign_in"] => Ok(web_page::sign_in()),
        _ if git_http::is_meant(&below.path) => Ok(git_http::answer(&call, &parts)),
        parts => web(&call, parts),
    };
    answer.unwrap_or_else(|refusal| refusal)
}

fn api(call: &Call<'_>, parts: &[&str]) -> Result<Answer, Answer> {
    let reads = matches!(call.request.method.as_str(), "GET" | "HEAD");
    let posts = call.request.method == "POST";
    match *parts {
        ["projects", id] if reads => projects::one(call, id),
        ["projects", id, "repository", "files", path, "raw"] if reads => files::raw(call, id, path),
        ["projects", id, "repository", "files", path] if reads => files::one(call, id, path),
        ["projects", id, "repository", "commits", name] if reads => commits::one(call, id, name),
        ["projects", id, "repository", "branches", name] if reads => branches::one(call, id, name),
        ["projects", id, "repository", "tags"] if reads => tags::list(call, id),
        ["projects", id, "repository", "tags", name] if reads => tags::one(call, id, name),
        ["projects", id, "repository", "tree"] if reads => tree::list(call, id),
        ["projects", id, "protected_branches"] if reads => protected::branches(call, id),
        ["projects", id, "protected_tags"] if reads => protected::tags(call, id),
        ["projects", id, "variables"] if reads => variables::of_project(call, id),
        ["projects", id, "ci", "lint"] if posts => lint::check(call, id),
        ["groups", id, "variables"] if reads => variables::of_group(call, id),
        ["admin", "ci", "variables"] if reads => variables::of_instance(call),
        ["templates", "gitlab_ci_ymls", key] if reads => templates::one(call, key),
        ["personal_access_tokens", "self"] if reads => oneself::token(call),
        ["user"] if reads => oneself::user(call),
        ["version"] if reads => oneself::version(call),
        _ => Err(Answer::error(404, "404 Not Found")),
    }
}

fn web(call: &Call<'_>, parts: &[&str]) -> Result<Answer, Answer> {
    let dash = parts.iter().position(|part| *part == "-");
    match dash.map(|at| parts.split_at(at)) {
        Some((project, ["-", "raw", place @ ..])) => web_page::raw(call, project, place),
        _ => Err(web_not_found()),
    }
}

fn web_not_found() -> Answer {
    Answer::new(404, "text/html", "<html><title>Not Found</title></html>")
}
