use crate::error::DockerError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The certificates for TLS with an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The directory with `ca.pem`, `cert.pem` and `key.pem`, any of which may be missing.
    pub directory: Option<PathBuf>,
    /// Whether the engine's certificate is checked.
    pub verify: bool,
}

impl TlsFiles {
    /// Reads the files.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, DockerError> {
        let provider = Arc::new(ring::default_provider());
        let wrong = |error: rustls::Error| DockerError::Config {
            message: "set up TLS for the container engine".to_owned(),
            source: Some(error.into()),
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(wrong)?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(provider)?);
        let certificates = self.read("cert.pem", read_certificates)?;
        let key = self.read("key.pem", |path| PrivateKeyDer::from_pem_file(path))?;
        let config = match (certificates, key) {
            (Some(certificates), Some(key)) => builder
                .with_client_auth_cert(certificates, key)
                .map_err(wrong)?,
            (None, None) => builder.with_no_client_auth(),
            (has_certificate, _) => {
                let missing = if has_certificate.is_some() {
                    "key.pem"
                } else {
                    "cert.pem"
                };
                return Err(DockerError::config(format!(
                    "{missing} is missing in {}",
                    self.directory.as_deref().unwrap_or(Path::new("")).display()
                )));
            }
        };
        Ok(Arc::new(config))
    }

    /// Returns a verifier of the directory's authority or of the system's, or one that trusts all.
    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, DockerError> {
        let wrong = |cause: String| {
            DockerError::config(format!("trust the authorities of the engine: {cause}"))
        };
        if !self.verify {
            return Ok(Arc::new(TrustAny(provider)));
        }
        let Some(authorities) = self.read("ca.pem", read_certificates)? else {
            let verifier = Verifier::new(provider).map_err(|error| wrong(error.to_string()))?;
            return Ok(Arc::new(verifier));
        };
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots
                .add(authority)
                .map_err(|error| wrong(error.to_string()))?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(|error| wrong(error.to_string()))?;
        Ok(verifier)
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Path) -> Result<T, rustls::pki_types::pem::Error>,
    ) -> Result<Option<T>, DockerError> {
        let Some(directory) = &self.directory else {
            return Ok(None);
        };
        let path = directory.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let content = read(&path).map_err(|error| {
            // The file may hold a key, so its content is not shown.
            let cause = match error {
                rustls::pki_types::pem::Error::Io(error) => error.to_string(),
                _ => "not in PEM format".to_owned(),
            };
            DockerError::config(format!("read {}: {cause}", path.display()))
        })?;
        Ok(Some(content))
    }
}

fn read_certificates(
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    CertificateDer::pem_file_iter(path)?.collect()
}

/// Trusts every certificate, as Docker and GitLab Runner do where `tls_verify` is not set.
#[derive(Debug)]
struct TrustAny(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
