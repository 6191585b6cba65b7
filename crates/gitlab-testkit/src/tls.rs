use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// An untrusted certificate authority, and a server certificate that it issued.
#[derive(Clone)]
pub(crate) struct Tls {
    /// The file with the authority's certificate.
    pub(crate) authority: PathBuf,
    pub(crate) acceptor: TlsAcceptor,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = f.debug_struct("Tls");
        all.field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// Creates both for the loopback address and `localhost`, and writes the authority's certificate to `folder`.
    pub(crate) fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let key = KeyPair::generate()?;
        let mut about = CertificateParams::new(Vec::new())?;
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        about.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        about
            .distinguished_name
            .push(DnType::CommonName, "Authority of a test");
        let certificate = about.self_signed(&key)?;
        let authority = folder.join("authority.pem");
        fs::write(&authority, certificate.pem())?;
        let issuer = Issuer::new(about, key);

        let key = KeyPair::generate()?;
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::try_from(key.serialize_der())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        Ok(Self {
            authority,
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }
}
