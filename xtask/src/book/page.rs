//! The links and anchors of a page of the guide.

/// The links and headings of a page.
#[derive(Debug)]
pub(super) struct Page {
    /// The targets of its links, each with its line, from 1.
    pub(super) links: Vec<(usize, String)>,
    /// The anchors of its headings.
    pub(super) anchors: Vec<String>,
}

impl Page {
    /// Parses the text of a page, and ignores links in code.
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self {
            links: Vec::new(),
            anchors: Vec::new(),
        };
        let mut is_code = false;
        for (at, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                page.take(at + 1, line);
            }
        }
        page
    }

    fn take(&mut self, number: usize, line: &str) {
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let anchor = self.free(anchor(title.trim()));
            self.anchors.push(anchor);
        }
        // Every second piece is inside backticks.
        let mut rest = line;
        while let Some(at) = rest.find(['`', ']']) {
            let behind = &rest[at + 1..];
            if rest[at..].starts_with('`') {
                rest = behind.split_once('`').map_or("", |(_, behind)| behind);
                continue;
            }
            rest = behind;
            if let Some((link, behind)) = behind.strip_prefix('(').and_then(|it| it.split_once(')'))
            {
                self.links.push((number, link.to_owned()));
                rest = behind;
            }
        }
    }

    /// Makes an anchor unique on the page.
    fn free(&self, anchor: String) -> String {
        let is_free = |anchor: &String| !self.anchors.contains(anchor);
        if is_free(&anchor) {
            return anchor;
        }
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        numbered.into_iter().find(is_free).unwrap_or(anchor)
    }
}

/// Returns the anchor that mdbook gives a heading.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then(|| c.to_ascii_lowercase()),
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_anchors_of_mdbook() {
        let page = Page::parse(
            "# `run [JOB...]` & more\n## As bitrab_x\n```sh\n# no heading\n```\n## As bitrab_x\n#none\n",
        );
        assert_eq!(
            page.anchors,
            ["run-job--more", "as-bitrab_x", "as-bitrab_x-1"]
        );
    }

    #[test]
    fn links_in_code_are_ignored() {
        let page = Page::parse("[`a`](a.md) and `[b](b.md)`, [c](c.md#x)\n```\n[d](d.md)\n```\n");
        let expect = [(1, "a.md".to_owned()), (1, "c.md#x".to_owned())];
        assert_eq!(page.links, expect);
    }
}
