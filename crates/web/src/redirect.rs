use crate::{Method, Origin, WebError};
use url::Url;

/// The target of a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// The address to request next.
    pub(crate) url: Url,
    /// The method to request it with.
    pub(crate) method: Method,
}

/// Returns the redirect in a response; `None` if the response is final.
///
/// A read follows every redirect. A posted body is not sent to another server, which may have no business with it,
/// and is not turned into a read, which would request something else. Only 303 says that the result is to be read
/// at another address.
pub(crate) fn redirect(
    asked: &Url,
    method: &Method,
    status: u16,
    location: Option<&str>,
) -> Result<Option<Redirect>, WebError> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = location else {
        return Ok(None);
    };
    let server = Origin::of(asked);
    let mut url = asked.join(location).map_err(|_| {
        let from = server.as_ref().map(ToString::to_string);
        WebError::Address(format!(
            "{} redirects to what is no address",
            from.unwrap_or_default()
        ))
    })?;
    let to = Origin::of(&url);
    // A server cannot choose the credentials of the next request.
    let (user, password) = if to == server {
        (
            asked.username().to_owned(),
            asked.password().map(str::to_owned),
        )
    } else {
        (String::new(), None)
    };
    // Both fail only for addresses that cannot have a user, where there is none to set.
    let _ = url.set_username(&user);
    let _ = url.set_password(password.as_deref());
    let method = match (method, status) {
        (Method::Head, _) => Method::Head,
        (Method::Get, _) | (_, 303) => Method::Get,
        (post, 307 | 308) if to == server => post.clone(),
        (_, _) => {
            return Err(match (server, to) {
                (Some(server), Some(to)) if server != to => WebError::Moved {
                    help: format!("name {to} instead of {server} in your settings"),
                    server,
                    to: to.to_string(),
                },
                (server, _) => WebError::Address(format!(
                    "{} redirects with {status} what was posted to it",
                    server.map(|server| server.to_string()).unwrap_or_default()
                )),
            });
        }
    };
    Ok(Some(Redirect { url, method }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = "https://me:secret@a.example/b/c?d";

    fn go(method: &Method, status: u16, location: &str) -> Result<Option<Redirect>, WebError> {
        let asked = Url::parse(ASKED).expect("an address");
        redirect(&asked, method, status, Some(location))
    }

    #[test]
    fn reads_follow_redirects() {
        for (location, expect) in [
            ("/x", "https://me:secret@a.example/x"),
            ("x", "https://me:secret@a.example/b/x"),
            ("?x", "https://me:secret@a.example/b/c?x"),
            ("//b.example/x", "https://b.example/x"),
            ("https://a.example:443/x", "https://me:secret@a.example/x"),
            (
                "https://you:other@a.example/x",
                "https://me:secret@a.example/x",
            ),
            ("https://you:other@b.example/x", "https://b.example/x"),
            ("https://a.example:444/x", "https://a.example:444/x"),
            ("http://a.example/x", "http://a.example/x"),
            ("file:///etc/passwd", "file:///etc/passwd"),
            ("data:text/plain,x", "data:text/plain,x"),
        ] {
            for status in [301, 302, 303, 307, 308] {
                for method in [Method::Get, Method::Head] {
                    let next = go(&method, status, location).expect("an address");
                    let next = next.expect("a redirect");
                    assert_eq!((next.url.as_str(), next.method), (expect, method));
                }
            }
        }
    }

    #[test]
    fn response_without_a_redirect_is_final() {
        let asked = Url::parse(ASKED).expect("an address");
        let at = |status, location| redirect(&asked, &Method::Get, status, location);
        for status in [200, 201, 300, 304, 305, 404, 502] {
            assert_eq!(at(status, Some("/x")).expect("an answer"), None);
        }
        assert_eq!(at(302, None).expect("an answer"), None);
        let error = at(302, Some("https://["))
            .expect_err("no address")
            .to_string();
        assert_eq!(error, "https://a.example redirects to what is no address");
    }

    #[test]
    fn posts_do_not_leave_their_server() {
        let post = Method::PostJson("{}".to_owned());
        let sent =
            |status, location| go(&post, status, location).map(|next| next.map(|next| next.method));
        for status in [307, 308] {
            assert_eq!(
                sent(status, "/x").expect("the same server"),
                Some(post.clone())
            );
        }
        assert_eq!(
            sent(303, "https://b.example/").expect("reading"),
            Some(Method::Get)
        );
        for status in [301, 302, 307, 308] {
            let error = sent(status, "https://b.example/x?secret").expect_err("another server");
            assert_eq!(
                error.to_string(),
                "https://a.example says that it is at https://b.example now"
            );
            assert_eq!(
                error.help(),
                Some("name https://b.example instead of https://a.example in your settings")
            );
        }
        let error = sent(301, "/x").expect_err("it would be another thing");
        assert_eq!(
            error.to_string(),
            "https://a.example redirects with 301 what was posted to it"
        );
    }
}
