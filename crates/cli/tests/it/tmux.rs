//! A real terminal in which the binary runs and whose screen can be read.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, is_of_slow_stage, wait_until_described};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

/// A terminal for one test, which ends with it.
#[derive(Debug)]
pub(crate) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Starts the binary in a terminal of this size. The shell that starts it prints its exit code.
    pub(crate) fn start(project: &Project, size: (u16, u16), arguments: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_runwright");
        let script = format!(
            "trap : INT; {}; {program} {arguments}; echo \"[exit code $?]\"; exec sleep 1000",
            surroundings(project)
        );
        Self::running(project, size, &script)
    }

    /// Starts the binary as a user does, from a shell that can suspend it.
    pub(crate) fn start_in_shell(project: &Project, size: (u16, u16), arguments: &str) -> Self {
        let script = format!(
            "{}; export PS1='> '; exec bash --norc --noprofile -i",
            surroundings(project)
        );
        let terminal = Self::running(project, size, &script);
        let program = env!("CARGO_BIN_EXE_runwright");
        terminal.wait_for(&[">"]);
        terminal.type_keys(&[&format!("{program} {arguments}"), "Enter"]);
        terminal
    }

    /// Starts a shell with this script.
    fn running(project: &Project, size: (u16, u16), script: &str) -> Self {
        let terminal = Self {
            // Two terminals of one test have different sockets, since the first may still be exiting.
            socket: project
                .scratch()
                .join(format!("tmux-{}x{}", size.0, size.1)),
        };
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let dir = project.dir();
        let dir = dir.to_str().unwrap();
        let start = [
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "-c",
            dir,
            "sh",
            "-c",
            script,
        ];
        let started = terminal.tmux(&start);
        assert!(started.status.success(), "{started:?}");
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(arguments);
        command
            .output()
            .expect("tmux is there: cargo xtask test brings it")
    }

    /// Returns all lines, including those scrolled off the screen; wrapped lines are joined.
    pub(crate) fn text(&self) -> String {
        let captured = self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]);
        let text = String::from_utf8_lossy(&captured.stdout);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Returns [`Self::text`] with times and paths replaced, and without lines that only a slow machine shows.
    pub(crate) fn normal_text(&self) -> String {
        let scratch = self.socket.parent().unwrap().to_str().unwrap();
        let text = self.text().replace(scratch, "SCRATCH");
        let lines = text.lines().filter(|line| !is_of_slow_stage(line));
        let lines: Vec<String> = lines.map(normalised).collect();
        lines.join("\n")
    }

    /// Waits until the text contains all of these.
    pub(crate) fn wait_for(&self, parts: &[&str]) {
        wait_until_described(
            || format!("{parts:?} in\n{}", self.text()),
            || {
                let text = self.text();
                parts.iter().all(|part| text.contains(part))
            },
        );
    }

    /// Types text literally.
    pub(crate) fn type_text(&self, text: &str) {
        assert!(self.tmux(&["send-keys", "-l", text]).status.success());
    }

    /// Returns all rows of the screen.
    pub(crate) fn screen(&self) -> String {
        let captured = self.tmux(&["capture-pane", "-p"]);
        let text = String::from_utf8_lossy(&captured.stdout);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    /// Returns the screen with times replaced, once it is stable.
    pub(crate) fn normal_screen(&self) -> String {
        let normal = || {
            let screen = self.screen();
            let lines: Vec<String> = screen.lines().map(normalised).collect();
            lines.join("\n")
        };
        let mut shown = normal();
        let what = || "a screen that stays as it is".to_owned();
        wait_until_described(what, || {
            std::thread::sleep(Duration::from_millis(100));
            let before = std::mem::replace(&mut shown, normal());
            before == shown
        });
        shown
    }

    /// Returns whether the program has enabled mouse events.
    pub(crate) fn has_mouse(&self) -> bool {
        let output = self.tmux(&["display-message", "-p", "#{mouse_any_flag}"]);
        output.stdout.starts_with(b"1")
    }

    /// Presses keys by tmux's names; other text is typed.
    pub(crate) fn type_keys(&self, keys: &[&str]) {
        for key in keys {
            self.press(key);
        }
    }

    /// Presses a key by tmux's name: `C-c`.
    pub(crate) fn press(&self, key: &str) {
        assert!(self.tmux(&["send-keys", key]).status.success());
    }

    /// Types a line and presses Enter.
    pub(crate) fn type_line(&self, line: &str) {
        assert!(self.tmux(&["send-keys", "-l", line]).status.success());
        self.press("Enter");
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let resized = self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
        assert!(resized.status.success(), "{resized:?}");
    }

    /// Returns whether the cursor is visible, lines wrap, and no alternate screen is open.
    pub(crate) fn is_as_before(&self) -> bool {
        let flags = "#{cursor_flag} #{wrap_flag} #{alternate_on} #{insert_flag}";
        let output = self.tmux(&["display-message", "-p", flags]);
        output.stdout.starts_with(b"1 1 0 0")
    }
}

/// Returns the shell commands that set up the process environment of a test.
fn surroundings(project: &Project) -> String {
    format!(
        "unset CI NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR LC_ALL LC_CTYPE; \
         export LANG=C.UTF-8 DOCKER_HOST=unix:///no/engine RUNWRIGHT_HOME='{}'",
        project.home().display()
    )
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Replaces the parts that differ between runs, and keeps columns aligned.
fn normalised(line: &str) -> String {
    if let Some((before, log)) = line.split_once("whole log: ") {
        let file = log.rsplit('/').next().unwrap_or_default();
        return format!("{before}whole log: .../{file}");
    }
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let (time, comma) = match word.strip_suffix(',') {
            Some(time) => (time, ","),
            None => (word, ""),
        };
        let number = time.strip_suffix('s');
        let is_time = number.is_some_and(|number| number.parse::<f64>().is_ok());
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_clock = word.contains(':') && word.split(':').all(digits);
        if !is_time && !is_clock {
            words.push(word.to_owned());
            continue;
        }
        // A longer time takes its extra width from the space before it.
        let mut width = word.len();
        while words.len() > 1 && words.last().is_some_and(String::is_empty) {
            words.pop();
            width += 1;
        }
        let sign = if is_time {
            format!("T.Ts{comma}")
        } else {
            "T:TT".to_owned()
        };
        let width = if width > word.len() { width } else { 0 };
        words.push(format!("{sign:>width$}"));
    }
    words.join(" ")
}
