//! Explains errors to the user: the reason, and what the user can do.

use crate::{ApiError, Fault, Instance, RequestContext, Thing, TokenKind, TokenMatter};
use executor_core::HumanDuration;

/// Returns why a request failed.
pub(crate) fn reason(error: &ApiError) -> String {
    match error {
        ApiError::Unauthorized { context, matter } => unauthorized(context, *matter),
        ApiError::Forbidden {
            context,
            scopes,
            said,
        } => forbidden(context, scopes, said.as_deref()),
        ApiError::NotFound { context, missing } => not_found(context, *missing),
        ApiError::Rejected {
            context,
            status,
            said,
        } => {
            let RequestContext { instance, what, .. } = &**context;
            let said = said
                .as_deref()
                .map(|it| format!(": {it}"))
                .unwrap_or_default();
            format!("{instance} does not take the request for {what} (status {status}){said}")
        }
        ApiError::RateLimited { context, wait } => {
            let instance = &context.instance;
            let wait = wait.map(|it| format!("; there may be more in {}", HumanDuration(it)));
            let wait = wait.unwrap_or_default();
            format!("{instance} has had too many requests of this user or network{wait}")
        }
        ApiError::Server { instance, status } => {
            format!("{instance} is broken or overloaded (status {status})")
        }
        ApiError::BadAnswer { instance, fault } => bad_answer(instance, fault),
        ApiError::TooMuch { context, limit } => {
            let RequestContext { instance, what, .. } = &**context;
            format!("{instance} has more of {what} than are read, {limit}")
        }
        ApiError::Invalid { what, name } => {
            let kind = match what {
                Thing::Project => "the path of a project",
                Thing::Group => "the path of a group",
                Thing::Reference => "a branch, tag or commit",
                Thing::File => "the path of a file",
                Thing::Other => "a name",
            };
            format!("`{name}` cannot be {kind}")
        }
        ApiError::Web(error) => error.to_string(),
    }
}

/// Returns what the user can do.
pub(crate) fn help(error: &ApiError) -> Option<String> {
    match error {
        ApiError::Unauthorized { context, .. } => Some(match &context.token {
            Some((kind, found)) => renew(context, *kind, found),
            None => give(context),
        }),
        ApiError::Forbidden {
            context, scopes, ..
        } => Some(match (&context.token, context.needs) {
            (Some((TokenKind::Job, _)), _) => {
                let instance = &context.instance;
                format!(
                    "a job's token reads little: {}",
                    access_token(instance, wanted(context, scopes))
                )
            }
            (Some(_), _) if !scopes.is_empty() => {
                access_token(&context.instance, wanted(context, scopes))
            }
            (Some(_), Some(role)) => format!("it takes {role}"),
            (Some(_), None) => "ask its owner for a role that may read it".to_owned(),
            (None, _) => give(context),
        }),
        ApiError::NotFound { context, missing } => match (missing, &context.token) {
            (Thing::Project | Thing::Group, Some((TokenKind::Job, _))) => Some(
                "a job's token sees the projects that allow it: \
                 their settings, CI/CD, job token permissions"
                    .to_owned(),
            ),
            (Thing::Project | Thing::Group, Some(_)) => {
                Some("check its name, and that the token's owner is a member".to_owned())
            }
            (Thing::Project | Thing::Group, None) => Some(give(context)),
            _ => None,
        },
        ApiError::RateLimited { context, .. } if context.token.is_none() => {
            Some("who asks with a token may ask more often".to_owned())
        }
        ApiError::BadAnswer { fault, .. } => match fault {
            Fault::SignIn => Some(
                "check its address; a sign-in before it (SSO, a proxy) must let `/api/v4` pass"
                    .to_owned(),
            ),
            Fault::Page => Some(
                "check its address, with the path it is below; a proxy before it must leave \
                 `%2F` as it is"
                    .to_owned(),
            ),
            Fault::Elsewhere(origin) => Some(format!("name {origin} as the GitLab, if it is")),
            Fault::Nonsense(_) => None,
        },
        ApiError::Web(error) => error.help().map(str::to_owned),
        _ => None,
    }
}

fn unauthorized(context: &RequestContext, matter: TokenMatter) -> String {
    let RequestContext { instance, what, .. } = context;
    let Some((kind, found)) = &context.token else {
        return format!("{instance} shows {what} only with a token");
    };
    let matter = match (matter, kind) {
        (TokenMatter::Expired, _) => "it has expired",
        (TokenMatter::Revoked, _) => "it was revoked",
        (TokenMatter::Unsaid, TokenKind::Job) => {
            "the job it is of has ended, or it is not for this"
        }
        (TokenMatter::Unsaid, _) => "it is none of this GitLab's, or is no longer valid",
    };
    format!("{instance} refuses the token from {found}: {matter}")
}

fn forbidden(context: &RequestContext, scopes: &[String], said: Option<&str>) -> String {
    let RequestContext { instance, what, .. } = context;
    let Some((_, found)) = &context.token else {
        return format!("{instance} does not tell {what} to strangers");
    };
    if !scopes.is_empty() {
        let scope = wanted(context, scopes);
        return format!(
            "the token from {found} lacks the scope `{scope}` for {what} on {instance}"
        );
    }
    let said = said.map(|it| format!(": {it}")).unwrap_or_default();
    format!("{instance} does not tell {what} to the owner of the token from {found}{said}")
}

fn not_found(context: &RequestContext, missing: Thing) -> String {
    let RequestContext { instance, what, .. } = context;
    let around = match missing {
        Thing::Project => "project",
        Thing::Group => "group",
        _ => return format!("{instance} does not have {what}"),
    };
    match &context.token {
        Some((_, found)) => format!(
            "{what} cannot be had: {instance} has no such {around}, \
             or hides it from the owner of the token from {found}"
        ),
        None => format!(
            "{what} cannot be had: {instance} has no such {around}, \
             or hides it from strangers, and there is no token"
        ),
    }
}

fn bad_answer(instance: &Instance, fault: &Fault) -> String {
    match fault {
        Fault::SignIn => format!("{instance} answers with its page to sign in"),
        Fault::Page => format!("{instance} answers with a page, not as GitLab's API does"),
        Fault::Elsewhere(origin) => {
            format!("{instance} redirects to {origin}, which is not the GitLab that was named")
        }
        Fault::Nonsense(what) => format!("{instance} does not answer as GitLab's API does: {what}"),
    }
}

/// Returns the scope to suggest: the least one if it suffices.
fn wanted<'a>(context: &RequestContext, scopes: &'a [String]) -> &'a str {
    let enough = scopes.iter().find(|it| *it == context.scope);
    enough
        .or(scopes.first())
        .map_or(context.scope, String::as_str)
}

fn access_token(instance: &Instance, scope: &str) -> String {
    format!(
        "make an access token with the scope `{scope}` at \
         {instance}/-/user_settings/personal_access_tokens"
    )
}

/// Returns how to replace a refused token.
fn renew(context: &RequestContext, kind: TokenKind, found: &str) -> String {
    match kind {
        TokenKind::OAuth => "sign in again, with `glab auth login` if that keeps it".to_owned(),
        TokenKind::Access | TokenKind::Job => {
            let make = access_token(&context.instance, context.scope);
            format!("{make}, and put it into {found}")
        }
    }
}

/// Returns how to provide a token where there is none.
fn give(context: &RequestContext) -> String {
    let make = access_token(&context.instance, context.scope);
    if context.places.is_empty() {
        return make;
    }
    // A place may itself contain commas, so semicolons separate them.
    format!("{make}; searched: {}", context.places.join("; "))
}

#[cfg(test)]
mod tests;
