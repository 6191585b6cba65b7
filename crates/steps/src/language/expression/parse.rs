//! From words to a tree.

use super::error::ExpressionError;
use super::template::Part;
use super::token::{Token, Words};
use super::tree::{Binary, Conversion, Expression, Node, Unary};

/// Deeper nesting of parentheses and the like is refused, so that no expression exhausts the stack.
pub(super) const DEEPEST: usize = 64;

/// As high as a tree may be: a row of operators is a high tree, too.
const HIGHEST: usize = 256;

/// Words that are kept for later, and name nothing.
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

/// Reads an expression up to what cannot belong to it.
pub(super) fn expression(words: &mut Words<'_>) -> Result<Expression, ExpressionError> {
    let depth = words.depth();
    binary(words, 1, depth)
}

fn binary(words: &mut Words<'_>, least: u8, depth: usize) -> Result<Expression, ExpressionError> {
    let mut left = unary(words, depth)?;
    loop {
        if is_closing(words) {
            return Ok(left);
        }
        let Some(sign) = words.sign() else {
            return Ok(left);
        };
        let Some((operator, binds)) = Binary::of(sign).filter(|(_, binds)| *binds >= least) else {
            return Ok(left);
        };
        words.take(sign);
        let right = binary(words, binds + 1, depth + 1)?;
        let (at, below) = (left.at, left.height.max(right.height));
        left = grown(
            at,
            Node::Binary(operator, Box::new(left), Box::new(right)),
            below,
        )?;
    }
}

fn unary(words: &mut Words<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let at = words.place();
    check_depth(at, depth)?;
    let operator = if words.take("+") {
        Unary::Plus
    } else if words.take("-") {
        Unary::Minus
    } else if words.take("!") {
        Unary::Not
    } else {
        return postfix(words, depth);
    };
    let operand = unary(words, depth + 1)?;
    let below = operand.height;
    grown(at, Node::Unary(operator, Box::new(operand)), below)
}

fn postfix(words: &mut Words<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let mut value = primary(words, depth)?;
    loop {
        if is_closing(words) {
            return Ok(value);
        }
        let (at, mut below) = (value.at, value.height);
        let node = if words.take(".") {
            let place = words.place();
            match words.next()? {
                Some(Token::Name(name)) => Node::Property(Box::new(value), name),
                _ => return Err(ExpressionError::new(place, "a name is missing after `.`")),
            }
        } else if words.take("[") {
            let index = binary(words, 1, depth + 1)?;
            expect(words, "]")?;
            below = below.max(index.height);
            Node::Element(Box::new(value), Box::new(index))
        } else if words.take("(") {
            let (function, argument) = call(words, &value, depth)?;
            below = argument.height;
            Node::Call(function, Box::new(argument))
        } else {
            return Ok(value);
        };
        value = grown(at, node, below)?;
    }
}

fn call(
    words: &mut Words<'_>,
    called: &Expression,
    depth: usize,
) -> Result<(Conversion, Expression), ExpressionError> {
    let function = match &called.node {
        Node::Name(name) => match name.as_str() {
            "str" => Conversion::Str,
            "num" => Conversion::Num,
            "bool" => Conversion::Bool,
            _ => {
                let message = format!("there is no function {name}; there are str, num and bool");
                return Err(ExpressionError::new(called.at, message));
            }
        },
        _ => return Err(ExpressionError::new(called.at, "this is no function")),
    };
    let argument = binary(words, 1, depth + 1)?;
    words.take(",");
    expect(words, ")")?;
    Ok((function, argument))
}

fn primary(words: &mut Words<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let at = words.place();
    if is_closing(words) {
        return Err(ExpressionError::new(at, "an expression is missing"));
    }
    let node = match words.at_depth(depth).next()? {
        None => {
            return Err(ExpressionError::new(
                at,
                "the expression has no end: `}}` is missing",
            ));
        }
        Some(Token::Number(number)) => Node::Number(number),
        Some(Token::Text(parts)) => {
            let below = parts.iter().map(Part::height).max();
            return grown(at, Node::Text(parts), below.unwrap_or_default());
        }
        Some(Token::Name(name)) => named(name, at)?,
        Some(Token::Sign("(")) => {
            let inner = binary(words, 1, depth + 1)?;
            expect(words, ")")?;
            return Ok(Expression { at, ..inner });
        }
        Some(Token::Sign("[")) => {
            let values = array(words, depth)?;
            let below = values.iter().map(|it| it.height).max();
            return grown(at, Node::Array(values), below.unwrap_or_default());
        }
        Some(Token::Sign("{")) => {
            let values = structure(words, depth)?;
            let heights = values.iter().flat_map(|(key, it)| [key.height, it.height]);
            let below = heights.max().unwrap_or_default();
            return grown(at, Node::Struct(values), below);
        }
        Some(Token::Sign(sign)) => {
            let message = format!("a value is expected here, not `{sign}`");
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

fn array(words: &mut Words<'_>, depth: usize) -> Result<Vec<Expression>, ExpressionError> {
    let mut values = Vec::new();
    while !words.take("]") {
        values.push(binary(words, 1, depth + 1)?);
        if !words.take(",") {
            expect(words, "]")?;
            break;
        }
    }
    Ok(values)
}

fn structure(
    words: &mut Words<'_>,
    depth: usize,
) -> Result<Vec<(Expression, Expression)>, ExpressionError> {
    let mut values = Vec::new();
    while !words.take("}") {
        let key = key(words, depth)?;
        expect(words, ":")?;
        let value = binary(words, 1, depth + 1)?;
        values.push((key, value));
        if !words.take(",") {
            expect(words, "}")?;
            break;
        }
    }
    Ok(values)
}

/// Reads a key: a bare name stands for itself.
fn key(words: &mut Words<'_>, depth: usize) -> Result<Expression, ExpressionError> {
    let at = words.place();
    match words.first() {
        Some(first) if first.is_ascii_alphabetic() || first == '_' => match words.next()? {
            Some(Token::Name(name)) => grown(at, Node::Text(vec![Part::Text(name)]), 0),
            _ => Err(ExpressionError::new(at, "a key is expected here")),
        },
        Some('"' | '\'' | '(') => primary(words, depth + 1),
        _ => Err(ExpressionError::new(
            at,
            "a key is expected here: a name, a text, or an expression in parentheses",
        )),
    }
}

/// Whether the expression as a whole ends here. Two closing braces of structs are passed over by those who
/// read structs, who come first.
fn is_closing(words: &Words<'_>) -> bool {
    words.clone().closes()
}

fn expect(words: &mut Words<'_>, sign: &str) -> Result<(), ExpressionError> {
    let at = words.place();
    if words.take(sign) {
        return Ok(());
    }
    Err(ExpressionError::new(at, format!("`{sign}` is missing")))
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
