/// A path with stars in it, as `include: local` knows them: `**/` is any directories or none, `**`
/// is anything, and `*` is anything without a slash. Everything else means itself.
#[derive(Debug)]
pub(crate) struct Wildcard {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token {
    Byte(u8),
    /// Anything within one part of a path.
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

    /// Returns whether the pattern fits a whole path, in time proportional to both.
    pub(crate) fn fits(&self, path: &str) -> bool {
        let literal = self.tokens.iter().zip(path.bytes());
        let literal = literal.take_while(|(token, _)| matches!(token, Token::Byte(_)));
        if literal
            .into_iter()
            .any(|(&token, byte)| token != Token::Byte(byte))
        {
            return false;
        }
        let mut now = Places::new(self.tokens.len());
        let mut next = Places::new(self.tokens.len());
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

    fn step(&self, now: &Places, byte: u8, next: &mut Places) {
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

    /// Steps over tokens that may stand for nothing.
    fn skip_empty(&self, places: &mut Places) {
        for (at, token) in self.tokens.iter().enumerate() {
            if !matches!(token, Token::Byte(_)) && places.reached[at] {
                places.reached[at + 1] = true;
            }
        }
    }
}

/// How far a pattern fits what was read of a path, in all ways at once.
#[derive(Debug)]
struct Places {
    /// Whether the first n tokens fit.
    reached: Vec<bool>,
    /// Whether the n-th token is [`Token::Directories`] and has not ended yet.
    inside: Vec<bool>,
}

impl Places {
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
            assert!(wildcard.fits(path), "{pattern} fits {path}");
        }
        for path in others {
            assert!(!wildcard.fits(path), "{pattern} does not fit {path}");
        }
    }

    #[test]
    fn stars_mean_parts_directories_or_anything() {
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
    fn many_stars_cost_no_more_than_their_number() {
        let pattern = "**/*".repeat(50) + "x";
        assert!(!Wildcard::new(&pattern).fits(&"a/".repeat(500)));
    }
}
