use super::UserAccounts;
use super::glab;
use super::netrc;
use super::private_file::PrivateFile;
use super::token_files::{ABSENT, TokenFile};
use super::token_search::{Found, TokenPlace};
use crate::settings::TokenSource;
use gitlab_api::{Accounts, Instance, TokenKind};
use jiff::Timestamp;

impl UserAccounts {
    /// Looks for a token in all places in order, up to the first that has one.
    pub(super) fn find_tokens(&self, instance: &Instance) -> Vec<TokenPlace> {
        let mut places = vec![self.find_in_settings(instance)];
        let own = self.own();
        let is_mine = own.as_ref().is_some_and(|it| self.is_mine(it.origin()));
        places.extend(
            self.process_env()
                .find_tokens(instance, own.as_ref(), is_mine),
        );
        places.push(self.find_in_glab(instance));
        places.push(self.find_in_netrc(instance));
        let first = places
            .iter()
            .position(|it| matches!(it.found, Found::Token(_)));
        if let Some(first) = first {
            places.truncate(first + 1);
        }
        places
    }

    fn find_in_settings(&self, instance: &Instance) -> TokenPlace {
        let settings = &self.config.settings;
        let Some(file) = &settings.file else {
            let place = settings.absent.as_deref().map(|file| self.shown(file));
            return TokenPlace::nothing(place.as_deref().unwrap_or("config.toml"), ABSENT);
        };
        let place = self.shown(file);
        let entry = settings.instance(instance);
        // An entry is for its server only.
        let entry = entry.filter(|it| it.instance.origin() == instance.origin());
        let Some((entry, source)) = entry.and_then(|it| Some((it, it.token.as_ref()?))) else {
            return TokenPlace::nothing(place, format!("no token for {instance}"));
        };
        match source {
            TokenSource::Given(token) => TokenPlace::text(place, token.expose(), entry.token_kind),
            TokenSource::Variable(name) => {
                let place = format!("{name} (named by {place})");
                self.process_env().variable(name, &place, entry.token_kind)
            }
            TokenSource::File(path) => {
                let place = format!("{} (named by {place})", self.shown(path));
                match PrivateFile::read(path) {
                    PrivateFile::Absent => TokenPlace::nothing(place, ABSENT),
                    PrivateFile::Unusable(why) => TokenPlace::nothing(place, why),
                    PrivateFile::Text(text) => TokenPlace::text(place, &text, entry.token_kind),
                }
            }
        }
    }

    fn find_in_glab(&self, instance: &Instance) -> TokenPlace {
        let TokenFile {
            place,
            entries,
            problem,
        } = self.glab();
        let place = format!("{place} (glab)");
        if let Some(problem) = problem {
            return TokenPlace::nothing(place, problem.clone());
        }
        let mut entries = entries.iter();
        let Some(host) = entries.find(|it| it.instance.origin() == instance.origin()) else {
            return TokenPlace::nothing(place, format!("no host {}", instance.name()));
        };
        let Some((token, kind)) = &host.token else {
            let why = if host.in_keyring {
                "its token is in the keyring, which only `glab` reads; `glab auth login` without the \
                 keyring puts it into this file"
            } else {
                "the host has no token"
            };
            return TokenPlace::nothing(place, why);
        };
        if let Some(expiry) = &host.expiry
            && glab::is_past(expiry, Timestamp::now())
        {
            let why = format!("its token ended at {expiry}; `glab auth status` renews it");
            return TokenPlace::nothing(place, why);
        }
        TokenPlace::text(place, token, Some(*kind))
    }

    fn find_in_netrc(&self, instance: &Instance) -> TokenPlace {
        let TokenFile {
            place,
            entries,
            problem,
        } = self.netrc();
        if let Some(problem) = problem {
            return TokenPlace::nothing(place.as_str(), problem.clone());
        }
        let origin = instance.origin();
        let nothing = || TokenPlace::nothing(place.as_str(), format!("no machine {}", origin.host));
        let Some(entry) = netrc::entry_for(entries, &origin.host) else {
            return nothing();
        };
        // Netrc names hosts only. Another port may be another server, and a password for all hosts must not go to a
        // server that only a file or a checkout names.
        let is_usual = origin.scheme == "https" && origin.port == 443;
        let is_meant = match entry.machine {
            Some(_) => is_usual || self.servers().contains(origin),
            None => self.is_mine(origin),
        };
        if !is_meant {
            return nothing();
        }
        let kind = match entry.login.as_deref() {
            Some("oauth2") => TokenKind::OAuth,
            Some("gitlab-ci-token") => TokenKind::Job,
            _ => TokenKind::Access,
        };
        match &entry.password {
            Some(password) => TokenPlace::text(place, password, Some(kind)),
            None => TokenPlace::nothing(place.as_str(), "no password there"),
        }
    }
}
