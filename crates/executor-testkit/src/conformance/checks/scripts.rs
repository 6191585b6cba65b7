//! Checks of script texts and of their standard input.

use crate::conformance::check::Outcome;
use crate::conformance::session::Session;
use crate::conformance::suite::{Suite, within};
use std::fmt::Write;
use std::sync::Arc;

async fn check(suite: &Arc<Suite>, script: &str, expect: &str) -> Outcome {
    let mut session = Session::open(suite).await?;
    let outcome = session.expect(script, expect).await;
    session.end(outcome).await
}

pub(in super::super) async fn multi_line_script(suite: Arc<Suite>) -> Outcome {
    let script = "\
greet() {
  echo \"hello, $1\"
}

for who in \"a b\" 'c'; do
  greet \"$who\"
done
cat <<'END'
  as it is: $HOME `id` \\ \"quoted\"
END
# A comment with an ' in it.
if [ 1 = 2 ]; then echo wrong; else
\techo 'two
lines'; fi
echo no newline at the end";
    let expect = "hello, a b\nhello, c\n  as it is: $HOME `id` \\ \"quoted\"\ntwo\nlines\n\
                  no newline at the end\n";
    check(&suite, script, expect).await
}

pub(in super::super) async fn unicode_script(suite: Arc<Suite>) -> Outcome {
    let text = "größe 日本語 🦀 ﷽ e\u{301}";
    check(
        &suite,
        &format!("# {text}\necho '{text}'"),
        &format!("{text}\n"),
    )
    .await
}

/// A script longer than the limit of a command argument.
pub(in super::super) async fn long_script(suite: Arc<Suite>) -> Outcome {
    let mut script = String::new();
    for number in 0..8000 {
        // Writing to a string cannot fail.
        let _ = writeln!(script, "total=$((total + {number})) # {}", "-".repeat(40));
    }
    script.push_str("echo $total\n");
    check(&suite, &script, "31996000\n").await
}

pub(in super::super) async fn empty_script(suite: Arc<Suite>) -> Outcome {
    check(&suite, "", "").await?;
    check(&suite, "\n# nothing\n", "").await
}

/// Standard input is empty, and commands that read it do not consume the script.
pub(in super::super) async fn standard_input_is_empty(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    // A shell reads a short script at once; of a long script, a part is left for commands to read.
    let rest = "# as long as the buffers of a shell\n".repeat(4000);
    let script = format!(
        "cat\nif read line; then echo \"read $line\"; else echo end; fi\n{rest}echo last line"
    );
    let expect = session.expect(&script, "end\nlast line\n");
    let outcome = within(suite.options.promptness, "a script that reads", expect).await;
    session.end(outcome.and_then(|expected| expected)).await
}
