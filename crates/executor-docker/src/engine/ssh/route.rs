use crate::engine::address::Address;
use std::path::Path;

/// The marker after the engine's address in the output of a login.
pub(super) const MARKER: &str = "runwright-said";

/// The arguments of ssh for a host.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) program: String,
    options: Vec<String>,
    host: String,
    /// The engine's socket there, if the address has it.
    socket: Option<String>,
}

impl Route {
    /// Returns the route; `None` unless the address is one of ssh.
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

    /// Returns the arguments for a separate connection, over the login at `control` if there is one.
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

    /// Returns the arguments for a login that others share by `control`, which prints the address of the engine. It ends
    /// with its standard input, so it does not outlive this process.
    pub(super) fn log_in(&self, control: &Path) -> Vec<String> {
        let more = [
            "-M",
            "-o",
            // A background process would outlive us.
            "ControlPersist=no",
            // Detects a lost host within 15 s, so that the next connection logs in again.
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
        // Every login shell understands this.
        self.words(&more, &[format!("{ask}; echo {MARKER}; exec cat")])
    }

    /// Returns the arguments with which the login at `control` forwards a local socket to a remote one.
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

    /// Returns the arguments with which ssh prints its settings.
    pub(super) fn settings(&self) -> Vec<String> {
        self.words(&["-G".to_owned()], &[])
    }

    fn words(&self, more: &[String], there: &[String]) -> Vec<String> {
        let mut words = self.options.clone();
        words.extend_from_slice(more);
        // Later arguments are not options.
        words.extend(["--".to_owned(), self.host.clone()]);
        words.extend_from_slice(there);
        words
    }
}

/// Returns the path of the engine's socket on the other side, from the lines before [`MARKER`].
pub(super) fn socket_of(said: &[String]) -> Option<&str> {
    // A login shell may print other lines before.
    let path = said.last()?.trim().strip_prefix("unix://")?;
    // ssh treats a colon as a separator.
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
    fn the_socket_is_in_the_last_line() {
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
