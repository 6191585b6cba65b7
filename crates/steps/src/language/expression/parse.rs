//! Parses expressions.

use super::ExpressionError;
use super::token::{Token, Tokens};
use super::tree::{Binary, Conversion, Expression, Node, Part, Unary};

/// The deepest nesting of parentheses and the like, so that no expression exhausts the stack.
pub(super) const DEEPEST: usize = 64;

/// The greatest height of a tree; a row of operators is a high tree, too.
const HIGHEST: usize = 256;

/// Tokens that are reserved, and cannot be names.
const RESERVED: [&str; 34] = [
    "array",
    "as",
    "break",
    "case",
    "const",
    "continue",
    "default",
    "else",
    "fallthrough",
    "float",
    "for",
    "func",
    "function",
    "goto",
    "if",
    "import",
    "in",
    "int",
    "let",
    "loop",
    "map",
    "namespace",
    "number",
    "object",
    "package",
    "range",
    "return",
    "string",
    "struct",
    "switch",
    "type",
    "var",
    "void",
    "while",
];

/// Parses an expression up to the first token that cannot belong to it.
pub(super) fn expression(tokens: &mut Tokens<'_>) -> Result<Expression, ExpressionError> {
    let depth = tokens.depth();
    binary(tokens, 1, depth)
}

fn binary(tokens: &mut Tokens<'_>, least: u8, depth: usize) -> Result<Expression, ExpressionError> {
    let mut left = unary(tokens, depth)?;
    loop {
        if is_closing(tokens) {
            return Ok(left);
        }
        let Some(sign) = tokens.sign() else {
            return Ok(left);
        };
        let Some((operator, binds)) = Binary::of(sign).filter(|(_, binds)| *binds >= least) else {
            return Ok(left);
        };
        tokens.take(sign);
        let right = binary(tokens, binds + 1, depth + 1)?;
        let (at, below) = (left.at, left.height.max(right.height));
        left = grown(
            at,
            Node::Binary(operator, Box::new(left), Box::new(right)),
            below,
        )?;
    }
}

fn unary(tokens: &mut Tokens<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let at = tokens.position();
    check_depth(at, depth)?;
    let operator = if tokens.take("+") {
        Unary::Plus
    } else if tokens.take("-") {
        Unary::Minus
    } else if tokens.take("!") {
        Unary::Not
    } else {
        return postfix(tokens, depth);
    };
    let operand = unary(tokens, depth + 1)?;
    let below = operand.height;
    grown(at, Node::Unary(operator, Box::new(operand)), below)
}

fn postfix(tokens: &mut Tokens<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let mut value = primary(tokens, depth)?;
    loop {
        if is_closing(tokens) {
            return Ok(value);
        }
        let (at, mut below) = (value.at, value.height);
        let node = if tokens.take(".") {
            let position = tokens.position();
            match tokens.next()? {
                Some(Token::Name(name)) => Node::Property(Box::new(value), name),
                _ => return Err(ExpressionError::new(position, "expected a name after `.`")),
            }
        } else if tokens.take("[") {
            let index = binary(tokens, 1, depth + 1)?;
            expect(tokens, "]")?;
            below = below.max(index.height);
            Node::Element(Box::new(value), Box::new(index))
        } else if tokens.take("(") {
            let (function, argument) = call(tokens, &value, depth)?;
            below = argument.height;
            Node::Call(function, Box::new(argument))
        } else {
            return Ok(value);
        };
        value = grown(at, node, below)?;
    }
}

fn call(
    tokens: &mut Tokens<'_>,
    called: &Expression,
    depth: usize,
) -> Result<(Conversion, Expression), ExpressionError> {
    let function = match &called.node {
        Node::Name(name) => match name.as_str() {
            "str" => Conversion::Str,
            "num" => Conversion::Num,
            "bool" => Conversion::Bool,
            _ => {
                let message = format!("unknown function {name}; known are str, num and bool");
                return Err(ExpressionError::new(called.at, message));
            }
        },
        _ => return Err(ExpressionError::new(called.at, "this is not a function")),
    };
    let argument = binary(tokens, 1, depth + 1)?;
    tokens.take(",");
    expect(tokens, ")")?;
    Ok((function, argument))
}

fn primary(tokens: &mut Tokens<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let at = tokens.position();
    if is_closing(tokens) {
        return Err(ExpressionError::new(at, "expected an expression"));
    }
    let node = match tokens.at_depth(depth).next()? {
        None => {
            return Err(ExpressionError::new(
                at,
                "unterminated expression: `}}` is missing",
            ));
        }
        Some(Token::Number(number)) => Node::Number(number),
        Some(Token::Text(parts)) => {
            let below = parts.iter().map(Part::height).max();
            return grown(at, Node::Text(parts), below.unwrap_or_default());
        }
        Some(Token::Name(name)) => named(name, at)?,
        Some(Token::Sign("(")) => {
            let inner = binary(tokens, 1, depth + 1)?;
            expect(tokens, ")")?;
            return Ok(Expression { at, ..inner });
        }
        Some(Token::Sign("[")) => {
            let values = array(tokens, depth)?;
            let below = values.iter().map(|it| it.height).max();
            return grown(at, Node::Array(values), below.unwrap_or_default());
        }
        Some(Token::Sign("{")) => {
            let values = structure(tokens, depth)?;
            let heights = values.iter().flat_map(|(key, it)| [key.height, it.height]);
            let below = heights.max().unwrap_or_default();
            return grown(at, Node::Struct(values), below);
        }
        Some(Token::Sign(sign)) => {
            let message = format!("expected a value, found `{sign}`");
            return Err(ExpressionError::new(at, message));
        }
    };
    grown(at, node, 0)
}

fn named(name: String, at: usize) -> Result<Node, ExpressionError> {
    Ok(match name.as_str() {
        "null" => Node::Null,
        "true" => Node::Boolean(true),
        "false" => Node::Boolean(false),
        word if RESERVED.contains(&word) => {
            let message = format!("`{word}` is a reserved word");
            return Err(ExpressionError::new(at, message));
        }
        _ => Node::Name(name),
    })
}

fn array(tokens: &mut Tokens<'_>, depth: usize) -> Result<Vec<Expression>, ExpressionError> {
    let mut values = Vec::new();
    while !tokens.take("]") {
        values.push(binary(tokens, 1, depth + 1)?);
        if !tokens.take(",") {
            expect(tokens, "]")?;
            break;
        }
    }
    Ok(values)
}

fn structure(
    tokens: &mut Tokens<'_>,
    depth: usize,
) -> Result<Vec<(Expression, Expression)>, ExpressionError> {
    let mut values = Vec::new();
    while !tokens.take("}") {
        let key = key(tokens, depth)?;
        expect(tokens, ":")?;
        let value = binary(tokens, 1, depth + 1)?;
        values.push((key, value));
        if !tokens.take(",") {
            expect(tokens, "}")?;
            break;
        }
    }
    Ok(values)
}

/// Parses a key; a bare name is a string.
fn key(tokens: &mut Tokens<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let at = tokens.position();
    match tokens.first() {
        Some(first) if first.is_ascii_alphabetic() || first == '_' => match tokens.next()? {
            Some(Token::Name(name)) => grown(at, Node::Text(vec![Part::Text(name)]), 0),
            _ => Err(ExpressionError::new(at, "expected a key")),
        },
        Some('"' | '\'' | '(') => primary(tokens, depth + 1),
        _ => Err(ExpressionError::new(
            at,
            "expected a key: a name, a string, or an expression in parentheses",
        )),
    }
}

/// Returns whether the whole expression ends here. Parsers of structs come first, and consume their closing braces
/// themselves.
fn is_closing(tokens: &Tokens<'_>) -> bool {
    tokens.clone().closes()
}

fn expect(tokens: &mut Tokens<'_>, sign: &str) -> Result<(), ExpressionError> {
    let at = tokens.position();
    if tokens.take(sign) {
        return Ok(());
    }
    Err(ExpressionError::new(at, format!("expected `{sign}`")))
}

fn grown(at: usize, node: Node, below: usize) -> Result<Expression, ExpressionError> {
    let height = below + 1;
    if height > HIGHEST {
        let message = format!("the expression has more than {HIGHEST} operators in a row");
        return Err(ExpressionError::new(at, message));
    }
    Ok(Expression { at, height, node })
}

fn check_depth(at: usize, depth: usize) -> Result<(), ExpressionError> {
    if depth > DEEPEST {
        let message = format!("the expression is nested deeper than {DEEPEST} levels");
        return Err(ExpressionError::new(at, message));
    }
    Ok(())
}
