use super::error::RegistryError;
use super::{Descriptor, RepositoryClient};
use crate::{Digest, TagOrDigest};
use sha2::{Digest as _, Sha256};
use std::path::Path;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use web::{Incoming, Request};

impl RepositoryClient {
    /// Writes a blob to a new file, and verifies it meanwhile.
    ///
    /// # Errors
    ///
    /// When the registry does not provide it or the file cannot be written.
    pub async fn download(&self, blob: &Descriptor, to: &Path) -> Result<(), RegistryError> {
        let (digest, mut response) = self.open_blob(blob).await?;
        let mut file = File::create_new(to)
            .await
            .map_err(RegistryError::file(to))?;
        let mut hasher = Sha256::new();
        let mut remaining = blob.size;
        while let Some(chunk) = response.chunk().await? {
            let chunk = chunk.as_ref();
            // No more is written than the descriptor announces.
            remaining = match remaining.checked_sub(chunk.len() as u64) {
                Some(remaining) => remaining,
                None => return Err(self.mismatch(&digest)),
            };
            hasher.update(chunk);
            let written = file.write_all(chunk).await;
            written.map_err(RegistryError::file(to))?;
        }
        file.flush().await.map_err(RegistryError::file(to))?;
        if Digest::finish(hasher) != digest {
            return Err(self.mismatch(&digest));
        }
        Ok(())
    }

    /// Returns a small blob.
    ///
    /// # Errors
    ///
    /// When the registry does not provide it, or it is longer than `limit`.
    pub async fn read_blob(
        &self,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Vec<u8>, RegistryError> {
        let (digest, response) = self.open_blob(blob).await?;
        let response = response.read(limit).await?;
        if Digest::of(&response.body) != digest {
            return Err(self.mismatch(&digest));
        }
        Ok(response.body)
    }

    async fn open_blob(&self, blob: &Descriptor) -> Result<(Digest, Incoming), RegistryError> {
        let digest = blob.digest(&self.repository.to_string())?;
        let request = Request::get(self.url(&format!("blobs/{digest}"))?);
        let response = self.send(&self.web, request).await?;
        if response.status != 200 {
            let label = TagOrDigest::Digest(digest);
            return Err(self.unexpected(response.status, &label));
        }
        Ok((digest, response))
    }
}
