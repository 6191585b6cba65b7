//! A server that speaks TLS.

use gitlab_testkit::GitLab;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

fn ask(gitlab: &GitLab, roots: RootCertStore, name: &str) -> std::io::Result<String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("its provider knows them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).expect("it is a name");
    let session = ClientConnection::new(Arc::new(config), name).expect("it is set up");
    let mut stream = StreamOwned::new(session, TcpStream::connect(gitlab.address())?);
    stream.write_all(b"GET /x.yml HTTP/1.0\r\n\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

#[test]
fn client_must_trust_the_authority() {
    let gitlab = GitLab::start_tls();
    let url = gitlab.page("/x.yml", "x: 1");
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(gitlab.authority().unwrap()).unwrap();
    roots.add(authority).unwrap();
    for name in ["127.0.0.1", "localhost"] {
        let said = ask(&gitlab, roots.clone(), name).unwrap();
        assert!(said.ends_with("x: 1"), "{said}");
    }
    ask(&gitlab, roots, "example.com").unwrap_err();
    ask(&gitlab, RootCertStore::empty(), "127.0.0.1").unwrap_err();
}
