use super::digest::Digest;
use super::manifest::Descriptor;
use super::registry::Registry;
use crate::error::Error;
use sha2::{Digest as _, Sha256};
use std::path::Path;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use web::Request;

impl Registry {
    /// Writes a blob to a file, and checks it while it comes.
    pub(super) async fn download(&self, blob: &Descriptor, to: &Path) -> Result<(), Error> {
        let what = self.image.to_string();
        let digest = blob.digest(&what)?;
        let request = Request::get(self.url(&format!("blobs/{digest}"))?);
        let mut answer = self.ask(&self.web, request).await?;
        if answer.status != 200 {
            return Err(self.unexpected(answer.status, &super::name::Label::Digest(digest)));
        }
        let failed = || Error::cache("write", to);
        let mut file = File::create_new(to).await.map_err(failed())?;
        let mut hasher = Sha256::new();
        let mut left = blob.size;
        while let Some(piece) = answer.chunk().await? {
            let piece = piece.as_ref();
            // No more is written than was said that there is.
            left = match left.checked_sub(piece.len() as u64) {
                Some(left) => left,
                None => return Err(self.other(&digest)),
            };
            hasher.update(piece);
            file.write_all(piece).await.map_err(failed())?;
        }
        file.flush().await.map_err(failed())?;
        if Digest::finish(hasher) != digest {
            return Err(self.other(&digest));
        }
        Ok(())
    }

    /// Returns a small blob.
    pub(super) async fn small(&self, blob: &Descriptor, limit: usize) -> Result<Vec<u8>, Error> {
        let digest = blob.digest(&self.image.to_string())?;
        let request = Request::get(self.url(&format!("blobs/{digest}"))?);
        let answer = self.ask(&self.web, request).await?;
        if answer.status != 200 {
            return Err(self.unexpected(answer.status, &super::name::Label::Digest(digest)));
        }
        let answer = answer.read(limit).await?;
        if Digest::of(&answer.body) != digest {
            return Err(self.other(&digest));
        }
        Ok(answer.body)
    }
}
