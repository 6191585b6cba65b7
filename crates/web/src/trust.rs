use crate::{Identity, WebError};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The trusted authorities: the system's, and those that the user named.
#[derive(Debug)]
pub(crate) struct Trust {
    authorities: Vec<CertificateDer<'static>>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    provider: Arc<CryptoProvider>,
    /// Created on first use: plain `http` needs no authorities, and a small container has none.
    config: OnceLock<Result<ClientConfig, String>>,
}

impl Trust {
    /// Reads the authorities that the user named.
    pub(crate) fn new(files: &[PathBuf], identity: Option<&Identity>) -> Result<Self, WebError> {
        let mut authorities = Vec::new();
        for file in files {
            let read = read(file).map_err(|reason| {
                WebError::Setup(format!(
                    "the certificates of `{}` cannot be read: {reason}",
                    file.display()
                ))
            })?;
            authorities.extend(read);
        }
        Ok(Self {
            authorities,
            identity: identity.map(read_identity).transpose()?,
            // Set explicitly, so that a default installed elsewhere in the program has no effect.
            provider: Arc::new(ring::default_provider()),
            config: OnceLock::new(),
        })
    }

    /// Returns a configuration that trusts these authorities, or why there are none.
    pub(crate) fn config(&self) -> Result<ClientConfig, String> {
        self.config.get_or_init(|| self.make()).clone()
    }

    /// Returns a configuration that trusts no server, for clients that use plain `http` only.
    pub(crate) fn none(&self) -> Result<ClientConfig, String> {
        let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let nobody = RootCertStore::empty();
        Ok(config.with_root_certificates(nobody).with_no_client_auth())
    }

    fn make(&self) -> Result<ClientConfig, String> {
        let authorities = self.authorities.iter().cloned();
        let verifier = Verifier::new_with_extra_roots(authorities, Arc::clone(&self.provider))
            .map_err(|error| match error {
                rustls::Error::General(text) => text,
                error => error.to_string(),
            })?;
        let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some((certificates, key)) = &self.identity else {
            return Ok(config.with_no_client_auth());
        };
        config
            .with_client_auth_cert(certificates.clone(), key.clone_key())
            .map_err(|error| format!("the certificate of this machine is unusable: {error}"))
    }
}

fn read_identity(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), WebError> {
    let unreadable = |file: &Path, reason: String| {
        WebError::Setup(format!("`{}` cannot be read: {reason}", file.display()))
    };
    let certificates = CertificateDer::pem_file_iter(&identity.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(&identity.certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&identity.key)
        .map_err(|error| unreadable(&identity.key, error.to_string()))?;
    Ok((certificates, key))
}

/// Reads the certificates of a PEM file, which holds one or several.
fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|_| "one of them is broken".to_owned())?;
    if certificates.is_empty() {
        return Err("there is none in PEM in it (`-----BEGIN CERTIFICATE-----`)".to_owned());
    }
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        let added = roots.add(certificate.clone());
        added.map_err(|_| "one of them is no certificate of an authority".to_owned())?;
    }
    Ok(certificates)
}
