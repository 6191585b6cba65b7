use crate::Request;
use crate::answer::Answer;
use serde_json::Value;
use std::fmt::Write as _;
use url::form_urlencoded;

/// The maximum size of a page; the server caps larger requests.
const MOST: usize = 100;

/// Returns one page of a list by number, with GitLab's paging headers. `address` is the URL of the list.
pub(crate) fn numbered(request: &Request, address: &str, all: &[Value]) -> Answer {
    let per_page = per_page(request);
    let page = number(request, "page").unwrap_or(1);
    let pages = all.len().div_ceil(per_page).max(1);
    let start = (page - 1).saturating_mul(per_page).min(all.len());
    let end = start.saturating_add(per_page).min(all.len());
    let next = (page < pages).then_some(page + 1);
    let previous = (page > 1 && page <= pages + 1).then(|| page - 1);
    let mut links = Vec::new();
    let mut link = |page: usize, relation: &str| {
        let changed = [
            ("page", page.to_string()),
            ("per_page", per_page.to_string()),
        ];
        links.push(format!(
            "<{address}?{}>; rel=\"{relation}\"",
            query(request, &changed)
        ));
    };
    if let Some(previous) = previous {
        link(previous, "prev");
    }
    if let Some(next) = next {
        link(next, "next");
    }
    link(1, "first");
    link(pages, "last");
    let or_nothing = |page: Option<usize>| page.map(|it| it.to_string()).unwrap_or_default();
    Answer::json(&Value::from(&all[start..end]))
        .header("link", links.join(", "))
        .header("x-page", page.to_string())
        .header("x-per-page", per_page.to_string())
        .header("x-next-page", or_nothing(next))
        .header("x-prev-page", or_nothing(previous))
        .header("x-total", all.len().to_string())
        .header("x-total-pages", pages.to_string())
}

/// Returns the page of a list after the requested key, with a link to the next page.
pub(crate) fn keyed(
    request: &Request,
    address: &str,
    all: &[Value],
    key: impl Fn(&Value) -> String,
) -> Answer {
    let per_page = per_page(request);
    let start = request.parameter("page_token").and_then(|token| {
        let known = all.iter().position(|it| key(it) == token);
        known.map(|index| index + 1)
    });
    let start = start.unwrap_or(0);
    let end = (start + per_page).min(all.len());
    let answer = Answer::json(&Value::from(&all[start..end]));
    let last = all[start..end].last();
    match last {
        Some(last) if end < all.len() => {
            let changed = [
                ("page_token", key(last)),
                ("per_page", per_page.to_string()),
            ];
            let link = format!("<{address}?{}>; rel=\"next\"", query(request, &changed));
            answer.header("link", link)
        }
        _ => answer,
    }
}

/// Returns whether the request uses keyset pagination.
pub(crate) fn is_keyed(request: &Request) -> bool {
    request.parameter("pagination").as_deref() == Some("keyset")
}

fn per_page(request: &Request) -> usize {
    number(request, "per_page").unwrap_or(20).min(MOST)
}

fn number(request: &Request, name: &str) -> Option<usize> {
    let number = request.parameter(name)?.parse().ok()?;
    (number > 0).then_some(number)
}

/// Returns the query of a request with the `changed` parameters replaced.
fn query(request: &Request, changed: &[(&str, String)]) -> String {
    let mut text = String::new();
    let kept = form_urlencoded::parse(request.query.as_bytes())
        .filter(|(name, _)| changed.iter().all(|(it, _)| it != name))
        .filter(|(name, _)| name != "private_token");
    let all = kept.map(|(name, value)| (name.into_owned(), value.into_owned()));
    let changed = changed
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    for (name, value) in all.chain(changed) {
        let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        let _ = write!(
            text,
            "{}{name}={value}",
            if text.is_empty() { "" } else { "&" }
        );
    }
    text
}
