use crate::Request;
use crate::answer::Answer;
use crate::token::{Kind, Role, Token, Validity};
use crate::world::World;
use serde_json::json;

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) enum Who {
    Nobody,
    Known(Token),
}

/// How a token was sent, which determines the accepted kinds of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Private,
    Bearer,
    Job,
}

impl Who {
    /// Returns the sender of a request that needs one of these scopes.
    pub(crate) fn of(world: &World, request: &Request, scopes: &[&str]) -> Result<Self, Answer> {
        let Some((sent, value)) = sent(request) else {
            return Ok(Self::Nobody);
        };
        let state = world.state();
        let fits = |token: &&Token| {
            token.value == value
                && match token.kind {
                    Kind::Access => sent != Sent::Job,
                    Kind::OAuth => sent == Sent::Bearer,
                    Kind::Job => sent == Sent::Job,
                }
        };
        let known = state.tokens.iter().find(fits).cloned();
        drop(state);
        let token = known.ok_or_else(Answer::unauthorized)?;
        check(&token, scopes)?;
        Ok(Self::Known(token))
    }

    /// Returns the user whose Git password is `value`.
    pub(crate) fn of_password(world: &World, value: &str, scopes: &[&str]) -> Option<Self> {
        let state = world.state();
        let known = state.tokens.iter().find(|token| token.value == value);
        let token = known.cloned()?;
        drop(state);
        check(&token, scopes).is_ok().then_some(Self::Known(token))
    }

    /// Returns the role, if any.
    pub(crate) fn role(&self) -> Option<Role> {
        match self {
            Self::Nobody => None,
            Self::Known(token) => Some(token.role),
        }
    }

    /// Returns whether the caller is a job.
    pub(crate) fn is_job(&self) -> bool {
        matches!(self, Self::Known(token) if token.kind == Kind::Job)
    }
}

fn sent(request: &Request) -> Option<(Sent, String)> {
    let header = |name| request.header(name).map(str::to_owned);
    let bearer = || {
        let value = request.header("authorization")?;
        value.strip_prefix("Bearer ").map(str::to_owned)
    };
    header("private-token")
        .or_else(|| request.parameter("private_token"))
        .map(|value| (Sent::Private, value))
        .or_else(|| {
            header("job-token")
                .or_else(|| request.parameter("job_token"))
                .map(|value| (Sent::Job, value))
        })
        .or_else(|| bearer().map(|value| (Sent::Bearer, value)))
}

/// Refuses an expired token, or one without any of these scopes.
fn check(token: &Token, scopes: &[&str]) -> Result<(), Answer> {
    let invalid = |description: &str| {
        let error = json!({"error": "invalid_token", "error_description": description});
        let challenge = format!(
            "Bearer realm=\"Protected by OAuth 2.0\", error=\"invalid_token\", error_description=\"{description}\""
        );
        Answer::new(401, "application/json", error.to_string())
            .header("www-authenticate", challenge)
    };
    match token.validity {
        Validity::Active => {}
        Validity::Expired => {
            return Err(invalid(
                "Token is expired. You can either do re-authorization or token refresh.",
            ));
        }
        Validity::Revoked => {
            return Err(invalid(
                "Token was revoked. You have to re-authorize from the user.",
            ));
        }
    }
    let enough = |scope: &str| token.scopes.iter().any(|it| it == scope);
    if token.kind == Kind::Job || scopes.is_empty() || scopes.iter().any(|it| enough(it)) {
        return Ok(());
    }
    let error = json!({
        "error": "insufficient_scope",
        "error_description": "The request requires higher privileges than provided by the access token.",
        "scope": scopes.join(" "),
    });
    Err(Answer::new(403, "application/json", error.to_string()))
}
