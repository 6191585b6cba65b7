use super::call::{Call, READ};
use crate::answer::Answer;
use crate::paging;
use crate::repository::Tag;
use crate::world::ProjectRecord;
use serde_json::{Value, json};

/// `GET /projects/:id/repository/tags`
pub(super) fn list(call: &Call<'_>, id: &str) -> Result<Answer, Answer> {
    let project = call.code_for(id, &call.who_or_job(&READ)?)?;
    let parameter = |name: &str| call.request.parameter(name);
    let order = parameter("order_by").unwrap_or_else(|| "updated".to_owned());
    let key = match order.as_str() {
        "updated" => "creatordate",
        "name" => "refname",
        "version" => "version:refname",
        _ => return Err(Answer::error(400, "order_by does not have a valid value")),
    };
    let order = match parameter("sort").as_deref() {
        Some("asc") => key.to_owned(),
        None | Some("desc") => format!("-{key}"),
        Some(_) => return Err(Answer::error(400, "sort does not have a valid value")),
    };
    let search = parameter("search").unwrap_or_default();
    let tags = project.repository.tags(&order);
    let found: Vec<Value> = tags
        .iter()
        .filter(|tag| is_found(&search, &tag.name))
        .map(|tag| json(&project, tag))
        .collect();
    let address = call.address();
    Ok(if paging::is_keyed(call.request) {
        let name = |tag: &Value| tag["name"].as_str().unwrap_or_default().to_owned();
        paging::keyed(call.request, &address, &found, name)
    } else {
        paging::numbered(call.request, &address, &found)
    })
}

/// `GET /projects/:id/repository/tags/:name`
pub(super) fn one(call: &Call<'_>, id: &str, name: &str) -> Result<Answer, Answer> {
    let project = call.code_for(id, &call.who_or_job(&READ)?)?;
    let tags = project.repository.tags("refname");
    let tag = tags.iter().find(|tag| tag.name == name);
    let tag = tag.ok_or_else(|| Answer::not_found("Tag"))?;
    Ok(Answer::json(&json(&project, tag)))
}

fn json(project: &ProjectRecord, tag: &Tag) -> Value {
    let is_object = tag.target != tag.commit;
    json!({
        "name": tag.name,
        "message": if is_object { tag.title.as_str() } else { "" },
        "target": tag.target,
        "commit": {
            "id": tag.commit, "short_id": &tag.commit[..8], "title": tag.title,
            "created_at": tag.date, "committed_date": tag.date,
        },
        "release": null,
        "protected": project.protects(&tag.name),
        "created_at": if is_object { Some(&tag.date) } else { None },
    })
}

/// Matches GitLab's search: `^1.` is a prefix, `1$` a suffix, any other text a substring.
fn is_found(search: &str, name: &str) -> bool {
    let (search, name) = (search.to_lowercase(), name.to_lowercase());
    match (search.strip_prefix('^'), search.strip_suffix('$')) {
        (Some(start), _) => name.starts_with(start),
        (None, Some(end)) => name.ends_with(end),
        (None, None) => name.contains(&search),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_matches_prefix_suffix_or_substring() {
        let check = |search: &str, name: &str, expect: bool| {
            assert_eq!(is_found(search, name), expect, "{search} {name}");
        };
        check("", "1.0", true);
        check("^1.", "1.0", true);
        check("^1.", "v1.0", false);
        check(".0$", "1.0", true);
        check(".0$", "1.0.1", false);
        check("V1", "v1.0", true);
    }
}
