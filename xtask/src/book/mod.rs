//! The user guide: every link resolves, every page is in the contents, and mdbook builds it.

mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::run;
use crate::tool::Tool;
use crate::workspace::Workspace;
use page::Page;

/// Built without the server and the watcher, which the check does not use.
const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    features: Some("search"),
};

/// The table of contents; the only page that it need not list.
const CONTENTS: &str = "SUMMARY.md";

/// Checks the guide, then builds it into `book` in cargo's target directory.
///
/// # Errors
///
/// Fails when a link is broken, a page is not in the contents, or mdbook cannot be built or fails.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let book = workspace.root.join("docs/book");
    let pages = read(&book.join("src"))?;
    let problems = problems(&pages);
    for problem in &problems {
        println!("docs/book/src/{problem}");
    }
    if !problems.is_empty() {
        bail!("the guide has {} broken links or pages", problems.len());
    }
    let target = workspace.target_directory.join("book");
    let mut command = Command::new(MDBOOK.program(workspace)?);
    command.stdin(Stdio::null()).env("MDBOOK_LOG", "warn");
    command
        .arg("build")
        .arg("--dest-dir")
        .arg(&target)
        .arg(&book);
    run::run(&mut command)
}

fn read(directory: &Path) -> anyhow::Result<BTreeMap<String, Page>> {
    let mut pages = BTreeMap::new();
    let context = || format!("read {}", directory.display());
    for entry in fs::read_dir(directory).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        pages.insert(name.into_owned(), Page::parse(&text));
    }
    Ok(pages)
}

/// Returns the problems of the pages, each with its location.
fn problems(pages: &BTreeMap<String, Page>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, page) in pages {
        for (line, link) in &page.links {
            if let Some(why) = why_broken(pages, name, link) {
                problems.push(format!("{name}:{line}: the link to {link:?} {why}"));
            }
        }
        let is_listed = pages
            .get(CONTENTS)
            .is_some_and(|contents| contents.links.iter().any(|(_, link)| link == name));
        if name != CONTENTS && !is_listed {
            problems.push(format!("{name}: the page is not in {CONTENTS}"));
        }
    }
    problems
}

/// Returns why a link on the page `from` is broken, if it is.
fn why_broken(pages: &BTreeMap<String, Page>, from: &str, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = if file.is_empty() { from } else { file };
    if file.contains('/') {
        return Some("leaves the book: its readers do not have the repository");
    }
    let Some(page) = pages.get(file) else {
        return Some("leads to no page");
    };
    let is_there = anchor.is_empty() || page.anchors.iter().any(|known| known == anchor);
    (!is_there).then_some("leads to no heading of that page")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pages: &[(&str, &str)], expect: &[&str]) {
        let pages = pages.iter();
        let pages = pages.map(|(name, text)| ((*name).to_owned(), Page::parse(text)));
        assert_eq!(problems(&pages.collect()), expect);
    }

    #[test]
    fn broken_links_are_found() {
        check(
            &[
                ("SUMMARY.md", "- [A](a.md)\n- [B](b.md)\n"),
                (
                    "a.md",
                    "# A\n\n[b](b.md#the-end), [top](#a), [web](https://example.com/x#y)\n",
                ),
                ("b.md", "# B\n\n## The end\n"),
            ],
            &[],
        );
        check(
            &[
                ("SUMMARY.md", "- [A](a.md)\n- [Gone](gone.md)\n"),
                ("a.md", "# A\n[x](#b) and\n[y](../README.md)\n"),
                ("lost.md", "# Lost\n"),
            ],
            &[
                "SUMMARY.md:2: the link to \"gone.md\" leads to no page",
                "a.md:2: the link to \"#b\" leads to no heading of that page",
                "a.md:3: the link to \"../README.md\" leaves the book: its readers do not have the repository",
                "lost.md: the page is not in SUMMARY.md",
            ],
        );
    }
}
