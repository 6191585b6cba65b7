use super::archive::{Document, Region};
use super::digest::Digest;
use super::name::Label;
use super::registry::{Registry, server};
use crate::error::Error;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use url::Url;
use web::{Body, Content, Limits, Method, Request};

/// How often a blob is sent when the connection breaks.
const ATTEMPTS: usize = 3;
/// The most pages of tags that are read.
const MOST_PAGES: usize = 1_000;
/// The most bytes of a page of tags.
const LONGEST_PAGE: usize = 16 << 20;

#[derive(Deserialize)]
struct Tags {
    /// Some registries have none instead of an empty list.
    tags: Option<Vec<String>>,
}

impl Registry {
    /// Sends a blob, if the registry does not have it.
    pub(super) async fn upload(
        &self,
        digest: &Digest,
        archive: &Path,
        region: Region,
        allowed: Duration,
    ) -> Result<(), Error> {
        if self.has_blob(digest).await? {
            return Ok(());
        }
        let mut attempt = 1;
        loop {
            let sent = self.send_blob(digest, archive, region, allowed).await;
            match sent {
                // What was begun is of no use any more, so all is sent again.
                Err(error) if error.is_temporary() && attempt < ATTEMPTS => {
                    tracing::debug!(%digest, %error, "A blob is sent again.");
                    attempt += 1;
                }
                sent => return sent,
            }
        }
    }

    async fn has_blob(&self, digest: &Digest) -> Result<bool, Error> {
        let request = Request {
            method: Method::Head,
            ..Request::get(self.url(&format!("blobs/{digest}"))?)
        };
        match self.ask(&self.web, request).await?.status {
            200 => Ok(true),
            404 => Ok(false),
            status => Err(self.refused(status)),
        }
    }

    async fn send_blob(
        &self,
        digest: &Digest,
        archive: &Path,
        region: Region,
        allowed: Duration,
    ) -> Result<(), Error> {
        let mut url = self.begin().await?;
        url.query_pairs_mut()
            .append_pair("digest", &digest.to_string());
        let body = Body {
            content_type: "application/octet-stream".to_owned(),
            content: Content::File {
                path: archive.to_owned(),
                offset: region.offset,
                length: region.length,
            },
        };
        let request = Request {
            method: Method::Put(body),
            ..Request::get(url)
        };
        // The answer begins when all was sent.
        let patient = self.web.with_limits(Limits {
            deadline: allowed,
            overall: allowed,
            attempts: 1,
            ..Limits::default()
        });
        match self.ask(&patient, request).await?.status {
            200..=299 => Ok(()),
            status => Err(self.refused(status)),
        }
    }

    /// Returns where a blob is to be sent.
    async fn begin(&self) -> Result<Url, Error> {
        let request = Request {
            method: Method::Post(Body::empty()),
            ..Request::get(self.url("blobs/uploads/")?)
        };
        let answer = self.ask(&self.web, request).await?;
        if !matches!(answer.status, 200..=299) {
            return Err(self.refused(answer.status));
        }
        let location = answer.header("location");
        let url = location.and_then(|location| answer.url.join(location).ok());
        url.ok_or_else(|| Error::Malformed {
            what: server(&self.base),
            why: "it does not say where something is to be sent".to_owned(),
        })
    }

    /// Has a manifest under a tag or under its digest.
    pub(super) async fn put(&self, document: &Document, label: &Label) -> Result<(), Error> {
        let body = Body {
            content_type: document.media_type.clone(),
            content: Content::Bytes(document.bytes.clone()),
        };
        let request = Request {
            method: Method::Put(body),
            ..Request::get(self.url(&format!("manifests/{label}"))?)
        };
        match self.ask(&self.web, request).await?.status {
            200..=299 => Ok(()),
            status => Err(self.refused(status)),
        }
    }

    /// Returns all tags of the repository, which may not be there yet.
    pub(super) async fn tags(&self) -> Result<Vec<String>, Error> {
        let mut tags = Vec::new();
        let mut next = Some(self.url("tags/list?n=1000")?);
        for _ in 0..MOST_PAGES {
            let Some(url) = next else {
                return Ok(tags);
            };
            let answer = self.ask(&self.web, Request::get(url)).await?;
            match answer.status {
                200 => {}
                404 => return Ok(tags),
                status => return Err(self.refused(status)),
            }
            let link = answer.header("link").and_then(next_of);
            let link = link.and_then(|link| answer.url.join(link).ok());
            next = link.filter(|it| it.origin() == self.base.origin());
            let page = answer.read(LONGEST_PAGE).await?;
            let page: Tags = serde_json::from_slice(&page.body).map_err(|_| Error::Malformed {
                what: server(&self.base),
                why: "its list of tags is none".to_owned(),
            })?;
            tags.extend(page.tags.into_iter().flatten());
        }
        Err(Error::TooLarge {
            what: self.image.to_string(),
            limit: MOST_PAGES as u64,
            unit: "pages of tags",
        })
    }

    /// Says what a status means to whoever sends something.
    fn refused(&self, status: u16) -> Error {
        match status {
            401 | 403 => self.denied(),
            404 => Error::Refused(
                format!(
                    "{} has no repository {}, or none that may be published to",
                    self.image.registry, self.image.repository
                ),
                Some("some registries want it to be made first".to_owned()),
            ),
            status => Error::Answer {
                server: server(&self.base),
                what: self.image.to_string(),
                status,
            },
        }
    }
}

/// Returns where the next page is, of a header `<URL>; rel="next"`.
fn next_of(header: &str) -> Option<&str> {
    let (url, rest) = header.trim().strip_prefix('<')?.split_once('>')?;
    rest.to_ascii_lowercase().contains("next").then_some(url)
}
