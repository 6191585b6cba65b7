//! The guide's page about keys.

use runner::config::key_table_markdown;

const PAGE: &str = include_str!("../../../../../docs/book/src/coming-from-gitlab-runner-keys.md");

/// Ends the part of the page that is not generated.
const MARK: &str = "<!-- Below this line is the text of key_table_markdown, which a failed test writes to a file. -->\n\n";

#[test]
fn the_page_has_the_table_of_all_keys() {
    let (_, tables) = PAGE.split_once(MARK).expect("the page has the mark");
    let expect = key_table_markdown();
    if tables != expect {
        let path = concat!(
            env!("CARGO_TARGET_TMPDIR"),
            "/coming-from-gitlab-runner-keys.md"
        );
        std::fs::write(path, &expect).unwrap();
        panic!("the page differs from the keys; the new table is in {path}");
    }
}
