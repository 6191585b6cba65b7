use super::{Row, table};
use std::fmt::Write as _;

const HEAD: &str = "\
# Keywords

<!-- Made from the table in crates/pipeline/src/parity; a test says how to make it anew. -->

Runwright reads every keyword of GitLab's language and refuses what GitLab refuses. A local run cannot do everything
that a server does, though, and some things are not built yet. This page says what happens to each keyword when you
`run` a pipeline here.

| local | what it means |
|---|---|
| yes | It is honoured. |
| note | It speaks to a server, and no job notices. `runwright lint --notes` shows it. |
| warning | The job runs without it, and may notice. `lint` and `run` say so once. |
| error | The job would not mean the same, so `run` refuses it before anything starts. Other jobs run. |

None of this makes a file invalid: `lint` ends with 0 if it has no errors of its own.
";

/// Returns the page of the guide that shows the table.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    push(&mut page, "Whole file", table::of_file());
    push(&mut page, "Jobs and `default`", table::of_jobs());
    page
}

fn push(page: &mut String, title: &str, rows: &[Row]) {
    let _ = write!(
        page,
        "\n## {title}\n\n| keyword | local | here |\n|---|---|---|\n"
    );
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| row.keyword);
    for row in rows {
        let (keyword, class) = (row.keyword, row.class.as_str());
        let _ = writeln!(page, "| `{keyword}` | {class} | {}. |", capital(row.text));
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
