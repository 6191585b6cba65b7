//! Certificates beside the file, which GitLab Runner uses without a key.

use super::known::known;
use runner::config::ConfigFile;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn certificates_of_a_host_are_used_unless_keys_name_others() {
    let directory = tempfile::tempdir().unwrap();
    let certificates = directory.path().join("certs");
    fs::create_dir(&certificates).unwrap();
    let check = |keys: &str, expect: [Option<&str>; 3]| {
        let path = directory.path().join("config.toml");
        let text = format!(
            "[[runners]]\nname = \"n\"\nurl = \"https://gitlab.example:8443/path\"\ntoken = \"t\"\nexecutor = \"shell\"\n{keys}"
        );
        let file = ConfigFile::parse(&path, &text, &known()).unwrap();
        let (settings, _) = file.into_settings().unwrap();
        let runner = &settings.runners[0];
        let files = [
            &runner.tls_ca_file,
            &runner.tls_cert_file,
            &runner.tls_key_file,
        ];
        let name = |path: &PathBuf| path.strip_prefix(&certificates).unwrap_or(path).to_owned();
        let files = files.map(|it| it.as_ref().map(name));
        assert_eq!(
            files,
            expect.map(|it| it.map(|it| Path::new(it).to_owned()))
        );
    };
    let none = [None; 3];
    check("", none);
    for name in [
        "gitlab.example.crt",
        "gitlab.example.auth.crt",
        "other.example.auth.key",
    ] {
        fs::write(certificates.join(name), "").unwrap();
    }
    check("", [Some("gitlab.example.crt"), None, None]);
    fs::write(certificates.join("gitlab.example.auth.key"), "").unwrap();
    let [client, key] = ["gitlab.example.auth.crt", "gitlab.example.auth.key"].map(Some);
    check("", [Some("gitlab.example.crt"), client, key]);
    check(
        "tls-ca-file = \"/own.pem\"\n",
        [Some("/own.pem"), client, key],
    );
    check(
        "tls-cert-file = \"/c\"\ntls-key-file = \"/k\"\n",
        [Some("gitlab.example.crt"), Some("/c"), Some("/k")],
    );
}
