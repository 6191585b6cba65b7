//! Certificates of an engine and of who may use it, fresh for each engine.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Makes an authority, and what it says of a server and a client, as docker has them in files: `ca.pem`, `cert.pem`,
/// `key.pem`, and those of the server with `server-` before.
///
/// # Errors
///
/// Fails when they cannot be made or written.
pub(super) fn make(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    // Everybody may read them: some tests have no rights, and what they open is gone with the tests.
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
