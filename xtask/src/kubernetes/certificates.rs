//! Certificates of a node, and the settings by which its programs and its administrator reach the API server.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

/// Whose certificates there are: file, common name, organization.
const CLIENTS: [(&str, &str, &str); 5] = [
    ("administrator", "administrator", "system:masters"),
    ("api", "kube-apiserver-kubelet-client", "system:masters"),
    ("controller-manager", "system:kube-controller-manager", ""),
    ("scheduler", "system:kube-scheduler", ""),
    ("kubelet", "system:node:node", "system:nodes"),
];

/// Writes all certificates and settings into a directory. `addresses` are those of the API server, the first for clients.
///
/// # Errors
///
/// When they cannot be created or written.
pub(super) fn make(directory: &Path, addresses: &[&str]) -> anyhow::Result<()> {
    let write = |name: &str, text: String| fs::write(directory.join(name), text);
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    write("ca.pem", authority.pem())?;
    let tokens = KeyPair::generate()?;
    write("tokens.pem", tokens.serialize_pem())?;
    write("tokens-public.pem", tokens.public_key_pem())?;
    let server = [("server", "kube-apiserver", "")];
    for (file, name, organization) in CLIENTS.into_iter().chain(server) {
        let mut hosts: Vec<_> = addresses.iter().map(|it| (*it).to_owned()).collect();
        hosts.push("kubernetes.default.svc".to_owned());
        let mut params = CertificateParams::new(hosts)?;
        params.distinguished_name.push(DnType::CommonName, name);
        if !organization.is_empty() {
            params
                .distinguished_name
                .push(DnType::OrganizationName, organization);
        }
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        write(&format!("{file}-cert.pem"), certificate.pem())?;
        write(&format!("{file}-key.pem"), key.serialize_pem())?;
        let at = |name: String| directory.join(name).display().to_string();
        let settings = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "test", "cluster": {
                "server": format!("https://{}:6443", addresses[0]),
                "certificate-authority": at("ca.pem".to_owned()),
            } }],
            "users": [{ "name": name, "user": {
                "client-certificate": at(format!("{file}-cert.pem")),
                "client-key": at(format!("{file}-key.pem")),
            } }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": name } }],
            "current-context": "test",
        });
        write(&format!("{file}.kubeconfig"), settings.to_string())?;
    }
    Ok(())
}
