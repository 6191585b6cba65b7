use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A certificate authority that signs server certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Returns the authority's own certificate as PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Writes the authority's own certificate into a directory.
    pub(crate) fn write(&self, directory: &Path) -> PathBuf {
        let file = directory.join("authority.pem");
        std::fs::write(&file, self.pem()).expect("a file");
        file
    }

    /// Returns the TLS configuration of a server with this name.
    pub(crate) fn server(&self, name: &str) -> ServerConfig {
        self.signed(name, |_| {})
    }

    /// Returns the TLS configuration of a server with an expired certificate.
    pub(crate) fn expired(&self, name: &str) -> ServerConfig {
        self.signed(name, |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    /// Returns the TLS configuration of a server whose certificate is not valid yet.
    pub(crate) fn early(&self, name: &str) -> ServerConfig {
        self.signed(name, |params| params.not_before = date_time_ymd(3000, 1, 1))
    }

    fn signed(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate with its key")
    }
}
