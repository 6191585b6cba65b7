use super::error::server;
use super::{RegistryError, RepositoryClient};
use crate::{Digest, TagOrDigest};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use url::Url;
use web::{Body, Content, Limits, Method, Request};

/// How often a blob is sent when the connection breaks.
const ATTEMPTS: usize = 3;
/// The most pages of tags.
const MAX_PAGES: usize = 1_000;
/// The most bytes of a page of tags.
const MAX_PAGE: usize = 16 << 20;

#[derive(Deserialize)]
struct Tags {
    /// Some registries send null instead of an empty list.
    tags: Option<Vec<String>>,
}

/// A part of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileRegion {
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
}

/// A manifest to upload.
#[derive(Debug)]
pub struct ManifestDocument {
    /// The digest of `bytes`.
    pub digest: Digest,
    /// The media type.
    pub media_type: String,
    /// The manifest.
    pub bytes: Vec<u8>,
}

impl RepositoryClient {
    /// Uploads a part of a file as a blob, unless the registry has it, within `allowed` for each attempt.
    ///
    /// # Errors
    ///
    /// When the registry refuses or cannot be reached.
    pub async fn upload(
        &self,
        digest: &Digest,
        file: &Path,
        region: FileRegion,
        allowed: Duration,
    ) -> Result<(), RegistryError> {
        if self.has_blob(digest).await? {
            return Ok(());
        }
        let mut attempt = 1;
        loop {
            let sent = self.send_blob(digest, file, region, allowed).await;
            match sent {
                // An upload that broke off cannot be continued, so all of it is sent again.
                Err(error) if error.is_temporary() && attempt < ATTEMPTS => {
                    tracing::debug!(%digest, %error, "A blob is sent again.");
                    attempt += 1;
                }
                sent => return sent,
            }
        }
    }

    async fn has_blob(&self, digest: &Digest) -> Result<bool, RegistryError> {
        let request = Request {
            method: Method::Head,
            ..Request::get(self.url(&format!("blobs/{digest}"))?)
        };
        match self.send(&self.web, request).await?.status {
            200 => Ok(true),
            404 => Ok(false),
            status => Err(self.refused(status)),
        }
    }

    async fn send_blob(
        &self,
        digest: &Digest,
        file: &Path,
        region: FileRegion,
        allowed: Duration,
    ) -> Result<(), RegistryError> {
        let mut url = self.start_upload().await?;
        url.query_pairs_mut()
            .append_pair("digest", &digest.to_string());
        let body = Body {
            content_type: "application/octet-stream".to_owned(),
            content: Content::File {
                path: file.to_owned(),
                offset: region.offset,
                length: region.length,
            },
        };
        let request = Request {
            method: Method::Put(body),
            ..Request::get(url)
        };
        // The response starts once the whole body was sent.
        let patient = self.web.with_limits(Limits {
            deadline: allowed,
            overall: allowed,
            attempts: 1,
            ..Limits::default()
        });
        match self.send(&patient, request).await?.status {
            200..=299 => Ok(()),
            status => Err(self.refused(status)),
        }
    }

    /// Starts an upload; returns the address for the blob.
    async fn start_upload(&self) -> Result<Url, RegistryError> {
        let request = Request {
            method: Method::Post(Body::empty()),
            ..Request::get(self.url("blobs/uploads/")?)
        };
        let response = self.send(&self.web, request).await?;
        if !matches!(response.status, 200..=299) {
            return Err(self.refused(response.status));
        }
        let location = response.header("location");
        let url = location.and_then(|location| response.url.join(location).ok());
        url.ok_or_else(|| {
            RegistryError::malformed(server(&self.base), "it returns no address for an upload")
        })
    }

    /// Uploads a manifest under a tag or its digest.
    ///
    /// # Errors
    ///
    /// When the registry refuses or cannot be reached.
    pub async fn put(
        &self,
        document: &ManifestDocument,
        label: &TagOrDigest,
    ) -> Result<(), RegistryError> {
        let body = Body {
            content_type: document.media_type.clone(),
            content: Content::Bytes(document.bytes.clone()),
        };
        let request = Request {
            method: Method::Put(body),
            ..Request::get(self.url(&format!("manifests/{label}"))?)
        };
        match self.send(&self.web, request).await?.status {
            200..=299 => Ok(()),
            status => Err(self.refused(status)),
        }
    }

    /// Returns all tags of the repository; none if it does not exist yet.
    ///
    /// # Errors
    ///
    /// When the registry refuses, or has too many.
    pub async fn tags(&self) -> Result<Vec<String>, RegistryError> {
        let mut tags = Vec::new();
        let mut next = Some(self.url("tags/list?n=1000")?);
        for _ in 0..MAX_PAGES {
            let Some(url) = next else {
                return Ok(tags);
            };
            let response = self.send(&self.web, Request::get(url)).await?;
            match response.status {
                200 => {}
                404 => return Ok(tags),
                status => return Err(self.refused(status)),
            }
            let link = response.header("link").and_then(next_of);
            let link = link.and_then(|link| response.url.join(link).ok());
            next = link.filter(|it| it.origin() == self.base.origin());
            let page = response.read(MAX_PAGE).await?;
            let page: Tags = serde_json::from_slice(&page.body).map_err(|_| {
                RegistryError::malformed(server(&self.base), "its list of tags is invalid")
            })?;
            tags.extend(page.tags.into_iter().flatten());
        }
        Err(RegistryError::TooLarge {
            what: self.repository.to_string(),
            limit: MAX_PAGES as u64,
            unit: "pages of tags",
        })
    }

    /// Returns the error for the status of an upload.
    fn refused(&self, status: u16) -> RegistryError {
        match status {
            401 | 403 => self.denied(),
            404 => RegistryError::Refused {
                reason: format!(
                    "{} has no repository {}, or none you may publish to",
                    self.repository.registry(),
                    self.repository.path()
                ),
                help: Some("some registries require that you create it first".to_owned()),
            },
            status => RegistryError::Status {
                server: server(&self.base),
                what: self.repository.to_string(),
                status,
            },
        }
    }
}

/// Returns the address of the next page from a header `<URL>; rel="next"`.
fn next_of(header: &str) -> Option<&str> {
    let (url, rest) = header.trim().strip_prefix('<')?.split_once('>')?;
    rest.to_ascii_lowercase().contains("next").then_some(url)
}
