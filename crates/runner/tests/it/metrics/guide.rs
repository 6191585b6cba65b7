//! The guide's page about metrics.

use runner::metric_table_markdown;

const PAGE: &str = include_str!("../../../../../docs/book/src/runner-metrics.md");

/// Ends the part of the page that is not generated.
const MARK: &str = "<!-- Below this line is the text of metric_table_markdown, which a failed test writes to a file. -->\n\n";

#[test]
fn the_page_has_the_table_of_all_metrics() {
    let (_, tables) = PAGE.split_once(MARK).expect("the page has the mark");
    let expect = metric_table_markdown();
    if tables != expect {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/runner-metrics.md");
        std::fs::write(path, &expect).unwrap();
        panic!("the page differs from the metrics; the new table is in {path}");
    }
}
