/// A path with the wildcards of `include: local`: `**/` matches any number of directories, `**`
/// anything, and `*` anything without a slash. Everything else is literal.
#[derive(Debug)]
pub(crate) struct Wildcard {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token {
    Byte(u8),
    /// Anything within one path component.
    Part,
    /// Anything.
    Everything,
    /// Whole directories, or none.
    Directories,
}

impl Wildcard {
    pub(crate) fn new(pattern: &str) -> Self {
        let mut tokens = Vec::with_capacity(pattern.len());
        let mut rest = pattern.as_bytes();
        while let Some(&byte) = rest.first() {
            let (token, length) = match rest {
                [b'*', b'*', b'/', ..] => (Token::Directories, 3),
                [b'*', b'*', ..] => (Token::Everything, 2),
                [b'*', ..] => (Token::Part, 1),
                _ => (Token::Byte(byte), 1),
            };
            tokens.push(token);
            rest = &rest[length..];
        }
        Self { tokens }
    }

    /// Returns whether the pattern matches a whole path, in time proportional to the product of
    /// their lengths.
    pub(crate) fn is_match(&self, path: &str) -> bool {
        let literal = self.tokens.iter().zip(path.bytes());
        let literal = literal.take_while(|(token, _)| matches!(token, Token::Byte(_)));
        if literal
            .into_iter()
            .any(|(&token, byte)| token != Token::Byte(byte))
        {
            return false;
        }
        let mut now = Positions::new(self.tokens.len());
        let mut next = Positions::new(self.tokens.len());
        now.reached[0] = true;
        self.skip_empty(&mut now);
        for byte in path.bytes() {
            next.clear();
            self.step(&now, byte, &mut next);
            self.skip_empty(&mut next);
            std::mem::swap(&mut now, &mut next);
        }
        now.reached[self.tokens.len()]
    }

    fn step(&self, now: &Positions, byte: u8, next: &mut Positions) {
        for (at, &token) in self.tokens.iter().enumerate() {
            let reached = now.reached[at];
            match token {
                Token::Byte(own) => next.reached[at + 1] |= reached && own == byte,
                Token::Part => next.reached[at] |= reached && byte != b'/',
                Token::Everything => next.reached[at] |= reached,
                Token::Directories if reached || now.inside[at] => {
                    next.inside[at] = true;
                    next.reached[at + 1] |= byte == b'/';
                }
                Token::Directories => {}
            }
        }
    }

    /// Skips tokens that may match nothing.
    fn skip_empty(&self, positions: &mut Positions) {
        for (at, token) in self.tokens.iter().enumerate() {
            if !matches!(token, Token::Byte(_)) && positions.reached[at] {
                positions.reached[at + 1] = true;
            }
        }
    }
}

/// The set of positions in the pattern that match the path read so far.
#[derive(Debug)]
struct Positions {
    /// Whether the first n tokens match.
    reached: Vec<bool>,
    /// Whether the n-th token is a [`Token::Directories`] that is not complete yet.
    inside: Vec<bool>,
}

impl Positions {
    fn new(tokens: usize) -> Self {
        Self {
            reached: vec![false; tokens + 1],
            inside: vec![false; tokens + 1],
        }
    }

    fn clear(&mut self) {
        self.reached.fill(false);
        self.inside.fill(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, fitting: &[&str], others: &[&str]) {
        let wildcard = Wildcard::new(pattern);
        for path in fitting {
            assert!(wildcard.is_match(path), "{pattern} matches {path}");
        }
        for path in others {
            assert!(!wildcard.is_match(path), "{pattern} does not match {path}");
        }
    }

    #[test]
    fn stars_match_components_directories_or_anything() {
        check(
            "ci/*.yml",
            &["ci/a.yml", "ci/.yml"],
            &["ci/a/b.yml", "a.yml", "ci/a.yml2", "xci/a.yml"],
        );
        check(
            "ci/**/*.yml",
            &["ci/a.yml", "ci/a/b.yml", "ci/a/b/c.yml"],
            &["ci.yml", "cia.yml", "ci/a.txt"],
        );
        check("ci/**.yml", &["ci/a.yml", "ci/a/b.yml"], &["ci.yml"]);
        check("**/a.yml", &["a.yml", "x/a.yml", "x/y/a.yml"], &["xa.yml"]);
        check(
            "a*b*c.yml",
            &["abc.yml", "axbyc.yml"],
            &["a/b/c.yml", "ac.yml"],
        );
        check("[a].yml", &["[a].yml"], &["a.yml"]);
        check("*", &["a", ""], &["a/b"]);
    }

    #[test]
    fn many_stars_match_in_bounded_time() {
        let pattern = "**/*".repeat(50) + "x";
        assert!(!Wildcard::new(&pattern).is_match(&"a/".repeat(500)));
    }
}
