use super::call::{Call, READ};
use crate::answer::Answer;
use crate::who::Who;
use crate::world::Visibility;
use serde_json::json;

/// `GET /projects/:id`
pub(super) fn one(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    let who = call.who(&READ)?;
    let project = call.seen_project(id, &who)?;
    let url = call.world.url();
    let (group, name) = project.path.rsplit_once('/').unwrap_or(("", &project.path));
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = host.split([':', '/']).next().unwrap_or_default();
    let mut json = json!({
        "id": project.id,
        "description": null,
        "name": name,
        "name_with_namespace": project.path.replace('/', " / "),
        "path": name,
        "path_with_namespace": project.path,
        "default_branch": "main",
        "ssh_url_to_repo": format!("git@{host}:{}.git", project.path),
        "http_url_to_repo": format!("{url}/{}.git", project.path),
        "web_url": format!("{url}/{}", project.path),
        "namespace": {"id": 1, "name": group, "path": group, "kind": "group", "full_path": group},
    });
    if let (Some(map), Who::Known(_)) = (json.as_object_mut(), &who) {
        let visibility = match project.visibility {
            Visibility::Public => "public",
            Visibility::Internal => "internal",
            Visibility::Private => "private",
        };
        map.insert("visibility".to_owned(), json!(visibility));
        map.insert(
            "empty_repo".to_owned(),
            json!(project.repository.commit_of("HEAD").is_none()),
        );
        map.insert("archived".to_owned(), json!(false));
    }
    Ok(Answer::json(&json))
}
