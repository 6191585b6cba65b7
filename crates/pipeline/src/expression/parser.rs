use super::ExpressionError;
use super::lexer::{Token, TokenKind};
use super::recent::RecentPattern;
use super::tree::{Comparison, Node, NodeKind, Operator, Tree};
use crate::pattern::Pattern;
use std::ops::Range;

/// Builds the tree of an expression with two stacks, as GitLab does.
///
/// Two stacks take operators that stand behind their operands (`$A $B ==`), too. So a first look
/// at what may follow what finds the place of a mistake, and the stacks decide whether it is one.
pub(super) fn tree(text: &str, tokens: &[Token<'_>]) -> Result<Tree, ExpressionError> {
    let mut parser = Parser::default();
    let built = parser.run(text, tokens);
    built.map_err(|trouble| match trouble {
        Trouble::Error(error) => error,
        Trouble::Structure(error) => misplaced(text, tokens).unwrap_or(error),
    })?;
    Ok(Tree {
        nodes: parser.nodes,
    })
}

/// Why no tree could be built.
enum Trouble {
    /// A token is wrong in itself.
    Error(ExpressionError),
    /// The tokens do not fit together.
    Structure(ExpressionError),
}

#[derive(Default)]
struct Parser {
    nodes: Vec<Node>,
    /// Nodes that are no operand yet.
    operands: Vec<usize>,
    /// Operators and open parentheses that wait for operands.
    waiting: Vec<Waiting>,
}

struct Waiting {
    sign: Sign,
    range: Range<usize>,
}

/// What waits for operands.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Not,
    Comparison(Operator),
    Both,
    Either,
    Parenthesis,
}

impl Sign {
    /// Returns how loose it binds.
    fn rank(self) -> u8 {
        match self {
            Self::Not => 0,
            Self::Comparison(_) => 1,
            Self::Both => 2,
            Self::Either => 3,
            Self::Parenthesis => 4,
        }
    }
}

impl Parser {
    fn run(&mut self, text: &str, tokens: &[Token<'_>]) -> Result<(), Trouble> {
        for token in tokens {
            self.take(token)?;
        }
        while let Some(waiting) = self.waiting.pop() {
            self.apply(&waiting)?;
        }
        match self.operands.as_slice() {
            [_] => Ok(()),
            [] => {
                let error = ExpressionError::new(0..text.len(), "the expression is empty");
                Err(Trouble::Structure(error))
            }
            [_, second, ..] => {
                let range = self.nodes[*second].range.clone();
                let message = "no operator stands between two values";
                Err(Trouble::Structure(ExpressionError::new(range, message)))
            }
        }
    }

    fn take(&mut self, token: &Token<'_>) -> Result<(), Trouble> {
        let range = token.range.clone();
        let value = match token.kind {
            TokenKind::Open => return self.wait(Sign::Parenthesis, range),
            TokenKind::Close => return self.close(&range),
            TokenKind::Not => return self.wait(Sign::Not, range),
            TokenKind::Both => return self.operator(Sign::Both, range),
            TokenKind::Either => return self.operator(Sign::Either, range),
            TokenKind::Comparison(operator) => {
                return self.operator(Sign::Comparison(operator), range);
            }
            TokenKind::Input(name) => NodeKind::Input(name.to_owned()),
            TokenKind::Variable(name) => NodeKind::Variable(name.to_owned()),
            TokenKind::Text(text) => NodeKind::Text(text.to_owned()),
            TokenKind::Null => NodeKind::Null,
            TokenKind::Boolean(flag) => NodeKind::Boolean(flag),
            TokenKind::Pattern(literal) => {
                let pattern = Pattern::from_literal(literal);
                let error = |error| Trouble::Error(ExpressionError::pattern(range.clone(), error));
                NodeKind::Pattern(pattern.map_err(error)?)
            }
        };
        self.push(value, range);
        Ok(())
    }

    fn push(&mut self, kind: NodeKind, range: Range<usize>) {
        self.operands.push(self.nodes.len());
        self.nodes.push(Node { kind, range });
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "all that a token can lead to is alike"
    )]
    fn wait(&mut self, sign: Sign, range: Range<usize>) -> Result<(), Trouble> {
        self.waiting.push(Waiting { sign, range });
        Ok(())
    }

    /// Takes an operator with two operands; what binds as tight and waits already goes first.
    fn operator(&mut self, sign: Sign, range: Range<usize>) -> Result<(), Trouble> {
        self.apply_up_to(sign)?;
        self.wait(sign, range)
    }

    fn apply_up_to(&mut self, sign: Sign) -> Result<(), Trouble> {
        let rank = sign.rank();
        while let Some(waiting) = self.waiting.pop_if(|waiting| waiting.sign.rank() <= rank) {
            self.apply(&waiting)?;
        }
        Ok(())
    }

    fn close(&mut self, range: &Range<usize>) -> Result<(), Trouble> {
        self.apply_up_to(Sign::Either)?;
        let Some(open) = self.waiting.pop() else {
            let error = ExpressionError::new(range.clone(), "the parenthesis `)` closes nothing");
            return Err(Trouble::Structure(error));
        };
        // The parentheses belong to what is in them, for those who show it.
        if let Some(&inner) = self.operands.last() {
            let inner = &mut self.nodes[inner].range;
            if inner.start > open.range.start {
                *inner = open.range.start..range.end;
            }
        }
        Ok(())
    }

    fn apply(&mut self, waiting: &Waiting) -> Result<(), Trouble> {
        let trouble =
            |message| Trouble::Structure(ExpressionError::new(waiting.range.clone(), message));
        let missing = || trouble("an operator lacks something to work on");
        let right = self.operands.pop().ok_or_else(missing)?;
        let mut left = right;
        if !matches!(waiting.sign, Sign::Not | Sign::Parenthesis) {
            left = self.operands.pop().ok_or_else(missing)?;
        }
        let kind = match waiting.sign {
            Sign::Not => NodeKind::Not(right),
            Sign::Both => NodeKind::Both(left, right),
            Sign::Either => NodeKind::Either(left, right),
            Sign::Comparison(operator) => NodeKind::Comparison(Comparison {
                operator,
                left,
                right,
                recent: RecentPattern::default(),
            }),
            Sign::Parenthesis => return Err(trouble("the parenthesis `(` is never closed")),
        };
        let ends = [
            &self.nodes[left].range,
            &self.nodes[right].range,
            &waiting.range,
        ];
        let start = ends.iter().map(|range| range.start).min().unwrap_or(0);
        let end = ends.iter().map(|range| range.end).max().unwrap_or(0);
        self.push(kind, start..end);
        Ok(())
    }
}

/// Finds the first token that cannot follow the one before it.
fn misplaced(text: &str, tokens: &[Token<'_>]) -> Option<ExpressionError> {
    let mut needs_value = true;
    let mut open: Vec<&Token<'_>> = Vec::new();
    for token in tokens {
        let shown = &text[token.range.clone()];
        let error = |message: String| Some(ExpressionError::new(token.range.clone(), message));
        match token.kind {
            TokenKind::Open | TokenKind::Not if needs_value => {
                if token.kind == TokenKind::Open {
                    open.push(token);
                }
            }
            TokenKind::Close if needs_value => {
                return error("something is missing before `)`".to_owned());
            }
            TokenKind::Close => {
                if open.pop().is_none() {
                    return error("the parenthesis `)` closes nothing".to_owned());
                }
            }
            TokenKind::Both | TokenKind::Either | TokenKind::Comparison(_) => {
                if needs_value {
                    return error(format!("something is missing before `{shown}`"));
                }
                needs_value = true;
            }
            _ if needs_value => needs_value = false,
            _ => {
                let error = error(format!("no operator stands before `{shown}`"))?;
                return Some(error.with_help("join conditions with `&&` or `||`"));
            }
        }
    }
    if needs_value {
        let last = tokens.last()?;
        let message = format!(
            "something is missing behind `{}`",
            &text[last.range.clone()]
        );
        return Some(ExpressionError::new(last.range.clone(), message));
    }
    let unclosed = open.pop()?;
    let message = "the parenthesis `(` is never closed";
    Some(ExpressionError::new(unclosed.range.clone(), message).with_help("add a `)`"))
}
