use crate::addresses::{is_metadata, meant, special_use};
use crate::hosts::{Hosts, is_inner_name, is_metadata_name, is_own_name};
use crate::{Origin, Reach, WebError};
use std::collections::HashSet;
use std::net::IpAddr;
use url::{Host, Url};

/// The parsed form of [`Reach`]. It decides without looking anything up.
#[derive(Debug)]
pub(crate) struct Rules {
    named: HashSet<Origin>,
    anywhere: bool,
    plain: Vec<Hosts>,
    private: Vec<Hosts>,
}

impl Rules {
    /// Parses the hosts that are let in.
    pub(crate) fn new(reach: &Reach) -> Result<Self, WebError> {
        let read = |texts: &[String], setting: &str| {
            let hosts = texts.iter().map(|text| Hosts::parse(text, setting));
            hosts.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            named: reach.named.clone(),
            anywhere: reach.anywhere,
            plain: read(&reach.plain, "allow-http")?,
            private: read(&reach.private, "allow-private")?,
        })
    }

    /// Returns the server of an address if the address alone does not rule it out.
    ///
    /// The addresses of a name are looked up later, and checked by [`Self::check_addresses`].
    pub(crate) fn check_url(&self, url: &Url) -> Result<Origin, WebError> {
        let server = Origin::of(url).ok_or_else(|| {
            WebError::Address(format!(
                "a `{}` address cannot be asked, only `https` ones",
                url.scheme()
            ))
        })?;
        // A refused host is reported before a refused scheme, as `https` would not help it.
        match url.host() {
            Some(Host::Ipv4(address)) => self.check_address(&server, address.into())?,
            Some(Host::Ipv6(address)) => self.check_address(&server, address.into())?,
            Some(Host::Domain(name)) if is_own_name(name) => self.check_name(&server, name)?,
            _ => {}
        }
        if server.scheme == "http" && !self.is_named(&server) && !self.is_plain(url) {
            return Err(WebError::Refused {
                reason: format!("{server} is not asked over plain `http`"),
                help: Some(format!(
                    "write `https`, or let it in with `allow-http = [\"{}\"]` under `[include]` in your config.toml",
                    server.host
                )),
            });
        }
        Ok(server)
    }

    /// Checks a server whose name a proxy will look up: the proxy may resolve more names than this machine.
    pub(crate) fn check_unseen(&self, server: &Origin, url: &Url) -> Result<(), WebError> {
        match url.host() {
            Some(Host::Domain(name)) if is_inner_name(name) => self.check_name(server, name),
            _ => Ok(()),
        }
    }

    /// Checks all addresses of a server's name. One refused address is enough, as any of them may be used.
    pub(crate) fn check_addresses(
        &self,
        server: &Origin,
        addresses: &[IpAddr],
    ) -> Result<(), WebError> {
        let mut each = addresses.iter();
        each.try_for_each(|address| self.check_address(server, *address))
    }

    fn check_address(&self, server: &Origin, address: IpAddr) -> Result<(), WebError> {
        let address = meant(address);
        let Some(what) = special_use(address) else {
            return Ok(());
        };
        let literal = literal(server) == Some(address);
        let exempt = if is_metadata(address) {
            // No GitLab is there: a name that leads there, in a remote for instance, is not the user's own choice.
            self.private.iter().any(|hosts| hosts.is_address(address))
        } else {
            let name = &server.host;
            let mut private = self.private.iter();
            self.is_named(server)
                || private.any(|hosts| hosts.has_name(name) || hosts.has_address(address))
        };
        if exempt {
            return Ok(());
        }
        let host = &server.host;
        let (at, let_in) = if literal {
            (String::new(), address.to_string())
        } else if is_metadata(address) {
            (format!(" is at {address}, which"), address.to_string())
        } else {
            (format!(" is at {address}, which"), host.clone())
        };
        Err(refused(format!("{host}{at} is for {what}"), &let_in))
    }

    fn check_name(&self, server: &Origin, name: &str) -> Result<(), WebError> {
        let mut private = self.private.iter();
        let is_named = self.is_named(server) && !is_metadata_name(name);
        if is_named || private.any(|hosts| hosts.has_name(name)) {
            return Ok(());
        }
        let reason = format!("{name} is a name of this machine or of a private network");
        Err(refused(reason, name))
    }

    /// Returns whether the user named a server, at this address or over `http` at the same host.
    fn is_named(&self, server: &Origin) -> bool {
        if self.anywhere {
            return true;
        }
        let unencrypted = || Origin {
            scheme: "http".to_owned(),
            port: 80,
            ..server.clone()
        };
        let usual = server.scheme == "https" && server.port == 443;
        self.named.contains(server) || usual && self.named.contains(&unencrypted())
    }

    fn is_plain(&self, url: &Url) -> bool {
        let mut plain = self.plain.iter();
        match url.host() {
            Some(Host::Domain(name)) => plain.any(|hosts| hosts.has_name(name)),
            Some(Host::Ipv4(address)) => plain.any(|hosts| hosts.has_address(address.into())),
            Some(Host::Ipv6(address)) => plain.any(|hosts| hosts.has_address(address.into())),
            None => false,
        }
    }
}

fn refused(reason: String, let_in: &str) -> WebError {
    WebError::Refused {
        reason,
        help: Some(format!(
            "if you trust it, let it in with `allow-private = [\"{let_in}\"]` under `[include]` in your config.toml"
        )),
    }
}

/// Returns the address in a server's host; `None` if the host is a name.
fn literal(server: &Origin) -> Option<IpAddr> {
    let host = server.host.trim_start_matches('[').trim_end_matches(']');
    host.parse().ok().map(meant)
}

#[cfg(test)]
mod tests;
