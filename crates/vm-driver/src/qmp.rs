//! The protocol with which QEMU is controlled, as far as memories are stored and read, and a port is asked for.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The pause between two looks at a migration.
const POLL: Duration = Duration::from_millis(20);

/// The largest speed, which is not limited by default.
const UNLIMITED: u64 = 1 << 40;

struct Monitor {
    stream: BufReader<UnixStream>,
    deadline: Instant,
}

impl Monitor {
    fn open(socket: &Path, limit: Duration) -> io::Result<Self> {
        // A short path to the same socket: its own may be longer than the 107 bytes of an address.
        let directory = File::open(socket.parent().unwrap_or(Path::new("/")))?;
        let name = socket.file_name().unwrap_or_default();
        let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string());
        let stream = UnixStream::connect(short.join(name))?;
        stream.set_read_timeout(Some(limit))?;
        let mut monitor = Self {
            stream: BufReader::new(stream),
            deadline: Instant::now() + limit,
        };
        // The greeting.
        monitor.read()?;
        monitor.command("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    fn read(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::Error::other("QEMU has ended"));
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn command(&mut self, name: &str, arguments: &Value) -> io::Result<Value> {
        let text = json!({ "execute": name, "arguments": arguments });
        // In one piece: after the end of `quit`, QEMU reads nothing more.
        self.stream
            .get_mut()
            .write_all(format!("{text}\n").as_bytes())?;
        loop {
            let mut answer = self.read()?;
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(format!("{name}: {}", error["desc"])));
            }
            // Events come in between.
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    /// Waits until a memory is completely stored or read.
    fn await_migration(&mut self) -> io::Result<()> {
        loop {
            let state = self.command("query-migrate", &json!({}))?;
            match state["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => {
                    return Err(io::Error::other(format!(
                        "it failed: {}",
                        state["error-desc"]
                    )));
                }
                _ if Instant::now() >= self.deadline => return Err(io::ErrorKind::TimedOut.into()),
                _ => thread::sleep(POLL),
            }
        }
    }
}

/// Stops a machine, and writes its memory to a file.
pub(crate) fn store(socket: &Path, file: &Path, limit: Duration) -> io::Result<()> {
    let mut monitor = Monitor::open(socket, limit)?;
    monitor.command("stop", &json!({}))?;
    monitor.command(
        "migrate-set-parameters",
        &json!({ "max-bandwidth": UNLIMITED }),
    )?;
    let file = driver_toolkit::quote(&file.display().to_string());
    monitor.command("migrate", &json!({ "uri": format!("exec:cat >{file}") }))?;
    monitor.await_migration()?;
    monitor.command("quit", &json!({}))?;
    Ok(())
}

/// Waits until a machine has its memory, and lets it go on.
pub(crate) fn resume(socket: &Path, limit: Duration) -> io::Result<()> {
    let mut monitor = Monitor::open(socket, limit)?;
    monitor.await_migration()?;
    monitor.command("cont", &json!({}))?;
    Ok(())
}

/// Returns the port of this host that leads to the machine's SSH server.
pub(crate) fn forwarded_port(socket: &Path, limit: Duration) -> io::Result<u16> {
    let mut monitor = Monitor::open(socket, limit)?;
    let command = json!({ "command-line": "info usernet" });
    let answer = monitor.command("human-monitor-command", &command)?;
    port_of(answer.as_str().unwrap_or_default())
        .ok_or_else(|| io::Error::other(format!("no forwarded port in {answer}")))
}

/// Reads the table of connections: protocol and state, file descriptor, source address, port.
fn port_of(table: &str) -> Option<u16> {
    let row = table.lines().find(|it| it.contains("[HOST_FORWARD]"))?;
    row.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_that_of_the_forwarding() {
        let table = "Hub -1 (net):\r\n  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n  \
                     TCP[ESTABLISHED]   14       10.0.2.15 41002       10.0.2.2    80     0     0\r\n  \
                     TCP[HOST_FORWARD]  11       127.0.0.1 38201       10.0.2.15    22     0     0\r\n";
        assert_eq!(port_of(table), Some(38201));
        assert_eq!(port_of("Hub -1 (net):\r\n"), None);
    }
}
