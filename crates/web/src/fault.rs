use crate::retry::Ending;
use crate::route::Proxy;
use crate::{Origin, WebError};
use rustls::CertificateError;
use std::error::Error;
use std::io;

/// Returns the meaning of a client's error, and how it bears on another attempt.
pub(crate) fn fault(
    error: &reqwest::Error,
    server: &Origin,
    proxy: Option<&Proxy>,
) -> (WebError, Ending) {
    let causes = causes(error);
    // Errors of this crate's own lookup arrive wrapped in those of the client.
    let own = causes
        .iter()
        .find_map(|cause| cause.downcast_ref::<WebError>());
    if let Some(own) = own {
        return (own.clone(), Ending::Settled);
    }
    let tls = causes
        .iter()
        .find_map(|cause| cause.downcast_ref::<rustls::Error>());
    if let Some(rustls::Error::InvalidCertificate(wrong)) = tls {
        return (untrusted(server, wrong), Ending::Settled);
    }
    let io = causes
        .iter()
        .rev()
        .find_map(|cause| cause.downcast_ref::<io::Error>());
    let root = causes.last().map(ToString::to_string);
    let reason = match (tls, io) {
        (Some(rustls::Error::InvalidMessage(_)), _) => "it does not speak TLS".to_owned(),
        (_, Some(error)) if error.raw_os_error().is_some() => error.kind().to_string(),
        _ => root.unwrap_or_default(),
    };
    let reason = match proxy {
        Some(proxy) => format!("through the proxy {proxy}: {reason}"),
        None => reason,
    };
    let broken = tls.is_none() && (!error.is_connect() || io.is_some_and(is_break));
    let ending = if broken && !error.is_builder() {
        Ending::Broken
    } else {
        Ending::Settled
    };
    let error = WebError::Unreachable {
        server: server.clone(),
        reason,
    };
    (error, ending)
}

fn is_break(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}

/// Returns an error and its causes, the root cause last.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> Vec<&'e (dyn Error + 'static)> {
    let mut causes = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        causes.push(cause);
        // The error inside an `io::Error` is not its `source`, so `get_ref` has to fetch it.
        let inner = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    causes
}

fn untrusted(server: &Origin, wrong: &CertificateError) -> WebError {
    use CertificateError as C;
    let own_authority = "if it is your own authority's, name the file with that authority's certificate: `ca-file` of the instance in your config.toml, or `SSL_CERT_FILE`";
    let (reason, help) = match wrong {
        // A bad signature is the result of another authority with the same name.
        C::UnknownIssuer | C::BadSignature => (
            "nobody who is trusted here has signed its certificate".to_owned(),
            own_authority.to_owned(),
        ),
        C::Other(_) if wrong.to_string().contains("CaUsedAsEndEntity") => (
            "its certificate is one of an authority, and not of a server".to_owned(),
            "let the server show a certificate that its authority signed for it".to_owned(),
        ),
        C::Expired | C::ExpiredContext { .. } => (
            "its certificate has expired".to_owned(),
            "the administrator of the server has to renew it; or the clock of this machine is wrong"
                .to_owned(),
        ),
        C::NotValidYet | C::NotValidYetContext { .. } => (
            "its certificate is not valid yet".to_owned(),
            "the clock of this machine or that of the server's authority is wrong".to_owned(),
        ),
        C::NotValidForNameContext { presented, .. } => (
            format!("its certificate is for {}", names(presented)),
            "ask it by the name that its certificate has".to_owned(),
        ),
        C::NotValidForName => (
            "its certificate is for another name".to_owned(),
            "ask it by the name that its certificate has".to_owned(),
        ),
        C::Revoked => (
            "its certificate was revoked".to_owned(),
            "the administrator of the server has to renew it".to_owned(),
        ),
        other => (
            format!("its certificate is refused: {other}"),
            own_authority.to_owned(),
        ),
    };
    WebError::Untrusted {
        server: server.clone(),
        reason,
        help,
    }
}

/// Lists a certificate's names, which arrive as `DnsName("gitlab.example")` and `IpAddress(10.0.0.1)`.
fn names(presented: &[String]) -> String {
    let names: Vec<_> = presented.iter().take(3).map(|name| bare(name)).collect();
    match (names.as_slice(), presented.len()) {
        ([], _) => "no name at all".to_owned(),
        (names, 4..) => format!("{} and more", names.join(", ")),
        (names, _) => names.join(", "),
    }
}

fn bare(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_names_are_listed() {
        let dns = |name: &str| format!("DnsName({name:?})");
        for (presented, expect) in [
            (vec![], "no name at all"),
            (vec![dns("a.example")], "a.example"),
            (
                vec![dns("a.example"), "IpAddress(10.0.0.1)".to_owned()],
                "a.example, 10.0.0.1",
            ),
            (vec!["something else".to_owned()], "something else"),
            (["a", "b", "c", "d"].map(dns).to_vec(), "a, b, c and more"),
        ] {
            assert_eq!(names(&presented), expect);
        }
    }

    #[test]
    fn root_cause_is_found_below_wrapping_errors() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::Expired);
        let error = io::Error::other(io::Error::other(tls));
        let causes = causes(&error);
        assert_eq!(causes.len(), 3);
        assert!(causes[2].is::<rustls::Error>());
    }
}
