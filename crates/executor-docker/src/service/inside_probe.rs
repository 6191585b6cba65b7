//! Scripts that probe ports from inside a container, for an engine whose containers are not reachable from this host.

/// Returns a script that ends with 0 as soon as one of `ports` (or all of them) has a listener.
///
/// It reads the kernel's table, because an image may have no program that connects. Without `grep` it ends with 127.
pub(crate) fn wait_for_ports(ports: &[u16], all: bool) -> String {
    let listening = |port: &u16| {
        // The state 0A is a listening socket, whose remote port is 0.
        format!(
            "grep -qE ':{port:04X} [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null"
        )
    };
    let separator = if all { " && " } else { " || " };
    let tests: Vec<String> = ports.iter().map(listening).collect();
    let condition = tests.join(separator);
    format!(
        "command -v grep >/dev/null || exit 127; until {condition}; do sleep 0.1 2>/dev/null || sleep 1; done"
    )
}

/// Returns a script that ends with 0 as soon as a request succeeds, and with 127 without an HTTP client.
pub(crate) fn wait_for_http(port: u16, path: &str) -> String {
    let url = quoted(&format!("http://127.0.0.1:{port}{path}"));
    // A static busybox may crash with a timeout; then the script omits it, as the whole wait has a limit.
    format!(
        "if command -v wget >/dev/null; then get='wget -q -T 2 -O /dev/null'; bare='wget -q -O /dev/null'; \
         elif command -v curl >/dev/null; then get='curl -fsS -m 2 -o /dev/null'; bare=$get; else exit 127; fi; \
         until $get {url} 2>/dev/null; do \
         test $? -gt 128 && get=$bare; sleep 0.1 2>/dev/null || sleep 1; done"
    )
}

/// Returns a script that joins its input and output to a port, or ends with 127.
pub(crate) fn connect(port: u16) -> String {
    format!("command -v nc >/dev/null || exit 127; exec nc 127.0.0.1 {port}")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_written_as_the_kernel_does() {
        let script = wait_for_ports(&[80, 5432], false);
        assert!(script.contains(":0050 [0-9A-F]+:0000 0A "), "{script}");
        assert!(script.contains(" || grep -qE ':1538 "), "{script}");
        assert!(wait_for_ports(&[1, 2], true).contains(" && "));
    }

    #[test]
    fn a_path_cannot_leave_its_quotes() {
        let script = wait_for_http(80, "/'; reboot; '");
        assert!(
            script.contains(r"'http://127.0.0.1:80/'\''; reboot; '\'''"),
            "{script}"
        );
    }
}
