use super::UserAccounts;
use super::glab;
use super::netrc;
use super::private_file::PrivateFile;
use super::search::{Found, Looked};
use super::sources::{ABSENT, Source};
use crate::settings::TokenSource;
use gitlab_api::{Accounts, Instance, TokenKind};
use jiff::Timestamp;

impl UserAccounts {
    /// Looks for a token in all places, those that win first, up to the one that has one.
    pub(super) fn look(&self, instance: &Instance) -> Vec<Looked> {
        let mut looked = vec![self.look_in_settings(instance)];
        let own = self.own();
        let is_mine = own.as_ref().is_some_and(|it| self.is_mine(it.origin()));
        looked.extend(self.environment().look(instance, own.as_ref(), is_mine));
        looked.push(self.look_in_glab(instance));
        looked.push(self.look_in_netrc(instance));
        let first = looked
            .iter()
            .position(|it| matches!(it.found, Found::Token(_)));
        if let Some(first) = first {
            looked.truncate(first + 1);
        }
        looked
    }

    fn look_in_settings(&self, instance: &Instance) -> Looked {
        let settings = &self.config.settings;
        let Some(file) = &settings.file else {
            let place = settings.absent.as_deref().map(|file| self.shown(file));
            return Looked::nothing(place.as_deref().unwrap_or("config.toml"), ABSENT);
        };
        let place = self.shown(file);
        let entry = settings.instance(instance);
        // An entry for one server says nothing of another.
        let entry = entry.filter(|it| it.instance.origin() == instance.origin());
        let Some((entry, source)) = entry.and_then(|it| Some((it, it.token.as_ref()?))) else {
            return Looked::nothing(place, format!("no token for {instance}"));
        };
        match source {
            TokenSource::Given(token) => Looked::text(place, token.expose(), entry.token_kind),
            TokenSource::Variable(name) => {
                let place = format!("{name} (named by {place})");
                self.environment().variable(name, &place, entry.token_kind)
            }
            TokenSource::File(path) => {
                let place = format!("{} (named by {place})", self.shown(path));
                match PrivateFile::read(path) {
                    PrivateFile::Absent => Looked::nothing(place, ABSENT),
                    PrivateFile::Unusable(why) => Looked::nothing(place, why),
                    PrivateFile::Text(text) => Looked::text(place, &text, entry.token_kind),
                }
            }
        }
    }

    fn look_in_glab(&self, instance: &Instance) -> Looked {
        let Source {
            place,
            entries,
            silence,
        } = self.glab();
        let place = format!("{place} (glab)");
        if let Some(silence) = silence {
            return Looked::nothing(place, silence.clone());
        }
        let mut entries = entries.iter();
        let Some(host) = entries.find(|it| it.instance.origin() == instance.origin()) else {
            return Looked::nothing(place, format!("no host {}", instance.name()));
        };
        let Some((token, kind)) = &host.token else {
            let why = if host.in_keyring {
                "its token is in the keyring, where only `glab` finds it; `glab auth login` \
                 without the keyring puts it here"
            } else {
                "the host has no token"
            };
            return Looked::nothing(place, why);
        };
        if let Some(expiry) = &host.expiry
            && glab::is_over(expiry, Timestamp::now())
        {
            let why = format!("its token ended at {expiry}; `glab auth status` renews it");
            return Looked::nothing(place, why);
        }
        Looked::text(place, token, Some(*kind))
    }

    fn look_in_netrc(&self, instance: &Instance) -> Looked {
        let Source {
            place,
            entries,
            silence,
        } = self.netrc();
        if let Some(silence) = silence {
            return Looked::nothing(place.as_str(), silence.clone());
        }
        let origin = instance.origin();
        let nothing = || Looked::nothing(place.as_str(), format!("no machine {}", origin.host));
        let Some(entry) = netrc::entry_for(entries, &origin.host) else {
            return nothing();
        };
        // It knows hosts only. What a file names may be another server there, and a password for
        // all hosts is for none that a file or a checkout names.
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
            Some(password) => Looked::text(place, password, Some(kind)),
            None => Looked::nothing(place.as_str(), "no password there"),
        }
    }
}
