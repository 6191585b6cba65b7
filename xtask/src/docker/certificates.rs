//! Certificates for an engine and its clients, new for each engine.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Creates an authority and the certificates of a server and a client in the files that docker expects: `ca.pem`,
/// `cert.pem`, `key.pem`, and those of the server with the prefix `server-`.
///
/// # Errors
///
/// Fails when they cannot be created or written.
pub(super) fn make(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    // World-readable: some tests run without rights, and the engine behind the keys ends with the tests.
    let write = |name: &str, text: String| fs::write(directory.join(name), text);
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    write("ca.pem", authority.pem())?;
    for (name, host) in [("server-", "127.0.0.1"), ("", "client")] {
        let key = KeyPair::generate()?;
        let params = CertificateParams::new(vec![host.to_owned()])?;
        let certificate = params.signed_by(&key, &authority)?;
        write(&format!("{name}cert.pem"), certificate.pem())?;
        write(&format!("{name}key.pem"), key.serialize_pem())?;
    }
    Ok(())
}
