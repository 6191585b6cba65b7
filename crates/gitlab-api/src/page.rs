use crate::{ApiError, Client, Fault, Fresh, RequestContext};
use serde::de::DeserializeOwned;
use web::{Response, Url};

/// How many entries a page has; GitLab allows no more.
const PER_PAGE: usize = 100;
/// How many pages of one list are read.
const PAGES: usize = 200;
/// How many bytes of one list are read.
const BYTES: usize = 64 << 20;
/// Both limits, in words.
const LIMIT: &str = "200 pages or 64 MiB";

impl Client {
    /// Returns all entries of a list.
    pub(crate) async fn pages<T: DeserializeOwned>(
        &self,
        context: &RequestContext,
        url: Url,
    ) -> Result<Vec<T>, ApiError> {
        match self.pages_fresh(context, url, None).await? {
            Fresh::New { value, .. } => Ok(value),
            Fresh::Unchanged => Err(self.bad(Fault::Nonsense("that nothing changed"))),
        }
    }

    /// Returns all entries of a list, or that it still is the state that `etag` names.
    pub(crate) async fn pages_fresh<T: DeserializeOwned>(
        &self,
        context: &RequestContext,
        mut url: Url,
        etag: Option<&str>,
    ) -> Result<Fresh<Vec<T>>, ApiError> {
        url.query_pairs_mut()
            .append_pair("per_page", &PER_PAGE.to_string());
        let mut list: Vec<T> = Vec::new();
        let mut bytes = 0;
        for page in 0..PAGES {
            let is_first = page == 0;
            let response = self
                .send_get(context, &url, etag.filter(|_| is_first))
                .await?;
            if response.status == 304 {
                return Ok(Fresh::Unchanged);
            }
            let part: Vec<T> = self.read(&response)?;
            // An etag covers one page. It covers the whole list only while the first page is not full.
            let is_whole = is_first && part.len() < PER_PAGE;
            list.extend(part);
            bytes += response.body.len();
            let Some(next) = next_page(&url, &response) else {
                let etag = response.etag().filter(|_| is_whole).map(str::to_owned);
                return Ok(Fresh::New { value: list, etag });
            };
            if next == url {
                return Err(self.bad(Fault::Nonsense("a page that is followed by itself")));
            }
            if bytes > BYTES {
                break;
            }
            url = next;
        }
        Err(ApiError::TooMuch {
            context: Box::new(context.clone()),
            limit: LIMIT,
        })
    }
}

/// Returns the address of the next page.
///
/// Only the query is taken from the link. So the request stays on the same server whatever the link says, also when
/// a GitLab behind a proxy does not know its own address.
fn next_page(url: &Url, response: &Response) -> Option<Url> {
    let link = response.header("link").and_then(next_query);
    let query = match (link, response.header("x-next-page")) {
        (Some(query), _) => query.to_owned(),
        (None, Some(number)) => {
            let number: u32 = number.trim().parse().ok()?;
            with_page(url, number)
        }
        (None, None) => return None,
    };
    let mut next = url.clone();
    next.set_query(Some(&query));
    Some(next)
}

/// Returns the query of the next page in a `Link` header.
fn next_query(link: &str) -> Option<&str> {
    let links = link.split('<').skip(1).filter_map(|it| it.split_once('>'));
    let is_next = |rest: &str| rest.contains("rel=\"next\"") || rest.contains("rel=next");
    let (address, _) = { links }.find(|(_, rest)| is_next(rest))?;
    let (_, query) = address.split_once('?')?;
    query.split('#').next()
}

/// Returns the query of an address with another page number.
fn with_page(url: &Url, number: u32) -> String {
    let pairs = url.query_pairs().filter(|(key, _)| key != "page");
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query
        .extend_pairs(pairs)
        .append_pair("page", &number.to_string());
    query.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_the_links() {
        let check = |link: &str, expect: Option<&str>| {
            assert_eq!(next_query(link), expect, "{link}");
        };
        check(
            r#"<https://h/a?page=1>; rel="prev", <https://h/a?page=3&x=a,b>; rel="next""#,
            Some("page=3&x=a,b"),
        );
        check(
            r#"<https://h/a?cursor=1>; title="b"; rel=next"#,
            Some("cursor=1"),
        );
        check(r#"<https://h/a?page=1>; rel="first""#, None);
        check(r#"<https://h/a>; rel="next""#, None);
        check("<https://h/a?page=1", None);
        check("", None);
    }

    #[test]
    fn the_number_of_a_page_replaces_the_one_before() {
        let url = Url::parse("https://h/a?per_page=100&page=2&ref=a%2Fb").expect("an address");
        assert_eq!(with_page(&url, 3), "per_page=100&ref=a%2Fb&page=3");
    }
}
