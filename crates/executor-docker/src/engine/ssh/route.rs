use crate::engine::address::Address;
use std::path::Path;

/// What the other side says when it has said where its engine is.
pub(super) const SAID: &str = "runwright-said";

/// The words by which ssh gets to a host, and what it starts there.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) program: String,
    options: Vec<String>,
    host: String,
    /// The engine's socket there, if the address names it.
    socket: Option<String>,
}

impl Route {
    /// Reads an address; `None` if it is not one of ssh.
    pub(super) fn new(command: &[String], address: &Address) -> Option<Self> {
        let Address::Ssh {
            user,
            host,
            port,
            socket,
        } = address
        else {
            return None;
        };
        let (program, options) = command.split_first()?;
        let mut options = options.to_vec();
        options.extend(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"].map(str::to_owned));
        if let Some(user) = user {
            options.extend(["-l".to_owned(), user.clone()]);
        }
        if let Some(port) = port {
            options.extend(["-p".to_owned(), port.to_string()]);
        }
        Some(Self {
            program: program.clone(),
            options,
            host: host.clone(),
            socket: socket.clone(),
        })
    }

    /// Returns the words for a connection of its own, over the login at `control` while there is one.
    pub(super) fn dial(&self, control: Option<&Path>) -> Vec<String> {
        let mut more = Vec::new();
        if let Some(control) = control {
            more.extend(["-o", "ControlMaster=no", "-S"].map(str::to_owned));
            more.push(control.display().to_string());
        }
        let mut there = vec!["docker".to_owned()];
        if let Some(socket) = &self.socket {
            there.extend(["--host".to_owned(), format!("unix://{socket}")]);
        }
        there.extend(["system", "dial-stdio"].map(str::to_owned));
        self.words(&more, &there)
    }

    /// Returns the words for a login that others use by `control`, and which says where the engine is. It ends with its
    /// standard input, so it does not outlive us whatever happens.
    pub(super) fn log_in(&self, control: &Path) -> Vec<String> {
        let more = [
            "-M",
            "-o",
            // What goes to the background is nobody's any more.
            "ControlPersist=no",
            // A host that is gone is noticed in 15 s, so that the next connection logs in anew.
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=3",
            "-S",
        ];
        let mut more = more.map(str::to_owned).to_vec();
        more.push(control.display().to_string());
        let ask = match &self.socket {
            Some(socket) => format!("echo unix://{socket}"),
            None => "docker context inspect --format '{{.Endpoints.docker.Host}}'".to_owned(),
        };
        // Every shell that people log in to understands this.
        self.words(&more, &[format!("{ask}; echo {SAID}; exec cat")])
    }

    /// Returns the words by which the login at `control` leads a socket here to one there.
    pub(super) fn forward(&self, control: &Path, here: &Path, there: &str) -> Vec<String> {
        let path = |path: &Path| path.display().to_string();
        let more = [
            "-S".to_owned(),
            path(control),
            "-O".to_owned(),
            "forward".to_owned(),
            "-L".to_owned(),
            format!("{}:{there}", path(here)),
        ];
        self.words(&more, &[])
    }

    /// Returns the words by which ssh says what it would do.
    pub(super) fn settings(&self) -> Vec<String> {
        self.words(&["-G".to_owned()], &[])
    }

    fn words(&self, more: &[String], there: &[String]) -> Vec<String> {
        let mut words = self.options.clone();
        words.extend_from_slice(more);
        // What follows is never an option, whatever it looks like.
        words.extend(["--".to_owned(), self.host.clone()]);
        words.extend_from_slice(there);
        words
    }
}

/// Returns the path of the engine's socket on the other side, from what was said there before [`SAID`].
pub(super) fn socket_of(said: &[String]) -> Option<&str> {
    // What a shell says when somebody logs in comes before.
    let path = said.last()?.trim().strip_prefix("unix://")?;
    // A colon would end it for ssh.
    (path.starts_with('/') && !path.contains(':')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(address: &str) -> Route {
        Route::new(&["ssh".to_owned()], &Address::parse(address).unwrap()).unwrap()
    }

    #[test]
    fn user_and_host_are_never_options() {
        let route = route("ssh://ci@host:2222/run/d.sock");
        let to = "-T -o BatchMode=yes -o ConnectTimeout=10 -l ci -p 2222";
        assert_eq!(
            route.dial(None).join(" "),
            format!("{to} -- host docker --host unix:///run/d.sock system dial-stdio")
        );
        assert_eq!(
            route
                .forward(Path::new("/c"), Path::new("/s"), "/run/d.sock")
                .join(" "),
            format!("{to} -S /c -O forward -L /s:/run/d.sock -- host")
        );
        let login = route.log_in(Path::new("/c"));
        assert!(login.contains(&"ControlPersist=no".to_owned()));
        let there = login.last().unwrap();
        assert_eq!(
            there,
            "echo unix:///run/d.sock; echo runwright-said; exec cat"
        );
    }

    #[test]
    fn the_socket_is_what_was_said_last() {
        let check = |said: &[&str], expect| {
            let said: Vec<_> = said.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(socket_of(&said), expect, "{said:?}");
        };
        check(
            &["Welcome!", "unix:///run/docker.sock\r"],
            Some("/run/docker.sock"),
        );
        check(&["unix:///old.sock", "tcp://host:2375"], None);
        check(&["unix:///a:b"], None);
        check(&["unix://relative"], None);
        check(&[], None);
    }
}
