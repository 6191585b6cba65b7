use super::*;
use insta::assert_snapshot;
use std::time::Duration;
use web::Url;

const PROJECT: &str = "the commit `main` of `g/p`";

fn context(token: Option<TokenKind>, what: &str) -> Box<RequestContext> {
    Box::new(RequestContext {
        instance: instance(),
        token: token.map(|kind| (kind, "`GITLAB_TOKEN`".to_owned())),
        places: [
            "`GITLAB_TOKEN`",
            "the configuration of `glab`",
            "`~/.netrc`",
        ]
        .map(str::to_owned)
        .into(),
        what: what.to_owned(),
        needs: None,
        scope: "read_api",
    })
}

fn instance() -> Instance {
    Instance::parse("https://h/git").expect("an address")
}

/// Formats errors as the user sees them.
fn shown(errors: impl IntoIterator<Item = ApiError>) -> String {
    let lines = errors.into_iter().map(|error| match error.help() {
        Some(help) => format!("{error}\n  help: {help}\n"),
        None => format!("{error}\n"),
    });
    lines.collect()
}

#[test]
fn refused_token_is_named_by_its_origin() {
    let error = |kind, matter| ApiError::Unauthorized {
        context: context(kind, PROJECT),
        matter,
    };
    assert_snapshot!(shown([
        error(Some(TokenKind::Access), TokenMatter::Unsaid),
        error(Some(TokenKind::Access), TokenMatter::Expired),
        error(Some(TokenKind::OAuth), TokenMatter::Revoked),
        error(Some(TokenKind::Job), TokenMatter::Unsaid),
        error(None, TokenMatter::Unsaid),
    ]), @r"
    https://h/git refuses the token from `GITLAB_TOKEN`: it is none of this GitLab's, or is no longer valid
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens, and put it into `GITLAB_TOKEN`
    https://h/git refuses the token from `GITLAB_TOKEN`: it has expired
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens, and put it into `GITLAB_TOKEN`
    https://h/git refuses the token from `GITLAB_TOKEN`: it was revoked
      help: sign in again, with `glab auth login` if that keeps it
    https://h/git refuses the token from `GITLAB_TOKEN`: the job it is of has ended, or it is not for this
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens, and put it into `GITLAB_TOKEN`
    https://h/git shows the commit `main` of `g/p` only with a token
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens; searched: `GITLAB_TOKEN`; the configuration of `glab`; `~/.netrc`
    ");
}

#[test]
fn insufficient_token_is_explained() {
    let error = |kind, scopes: &[&str], needs, said: Option<&str>| {
        let mut context = context(kind, "the variables of the project `g/p`");
        context.needs = needs;
        ApiError::Forbidden {
            context,
            scopes: scopes.iter().map(|&it| it.to_owned()).collect(),
            said: said.map(str::to_owned),
        }
    };
    let role = Some("the role Maintainer in the project");
    assert_snapshot!(shown([
        error(Some(TokenKind::Access), &["api", "read_api"], role, None),
        error(Some(TokenKind::Access), &["api"], role, None),
        error(Some(TokenKind::Access), &[], role, Some("403 Forbidden")),
        error(Some(TokenKind::OAuth), &[], None, None),
        error(Some(TokenKind::Job), &[], role, Some("403 Forbidden")),
        error(None, &[], None, Some("403 Forbidden")),
    ]), @r"
    the token from `GITLAB_TOKEN` lacks the scope `read_api` for the variables of the project `g/p` on https://h/git
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens
    the token from `GITLAB_TOKEN` lacks the scope `api` for the variables of the project `g/p` on https://h/git
      help: make an access token with the scope `api` at https://h/git/-/user_settings/personal_access_tokens
    https://h/git does not tell the variables of the project `g/p` to the owner of the token from `GITLAB_TOKEN`: 403 Forbidden
      help: it takes the role Maintainer in the project
    https://h/git does not tell the variables of the project `g/p` to the owner of the token from `GITLAB_TOKEN`
      help: ask its owner for a role that may read it
    https://h/git does not tell the variables of the project `g/p` to the owner of the token from `GITLAB_TOKEN`: 403 Forbidden
      help: a job's token reads little: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens
    https://h/git does not tell the variables of the project `g/p` to strangers
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens; searched: `GITLAB_TOKEN`; the configuration of `glab`; `~/.netrc`
    ");
}

#[test]
fn missing_things_may_be_hidden() {
    let error = |kind, what: &str, missing| ApiError::NotFound {
        context: context(kind, what),
        missing,
    };
    let nowhere = {
        let mut context = context(None, PROJECT);
        context.places.clear();
        ApiError::NotFound {
            context,
            missing: Thing::Project,
        }
    };
    assert_snapshot!(shown([
        error(None, PROJECT, Thing::Project),
        nowhere,
        error(Some(TokenKind::Access), PROJECT, Thing::Project),
        error(Some(TokenKind::Job), PROJECT, Thing::Project),
        error(Some(TokenKind::Access), "the variables of the group `g`", Thing::Group),
        error(Some(TokenKind::Access), PROJECT, Thing::Reference),
        error(None, "the file `a.yml` of `g/p`", Thing::File),
    ]), @r"
    the commit `main` of `g/p` cannot be had: https://h/git has no such project, or hides it from strangers, and there is no token
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens; searched: `GITLAB_TOKEN`; the configuration of `glab`; `~/.netrc`
    the commit `main` of `g/p` cannot be had: https://h/git has no such project, or hides it from strangers, and there is no token
      help: make an access token with the scope `read_api` at https://h/git/-/user_settings/personal_access_tokens
    the commit `main` of `g/p` cannot be had: https://h/git has no such project, or hides it from the owner of the token from `GITLAB_TOKEN`
      help: check its name, and that the token's owner is a member
    the commit `main` of `g/p` cannot be had: https://h/git has no such project, or hides it from the owner of the token from `GITLAB_TOKEN`
      help: a job's token sees the projects that allow it: their settings, CI/CD, job token permissions
    the variables of the group `g` cannot be had: https://h/git has no such group, or hides it from the owner of the token from `GITLAB_TOKEN`
      help: check its name, and that the token's owner is a member
    https://h/git does not have the commit `main` of `g/p`
    https://h/git does not have the file `a.yml` of `g/p`
    ");
}

#[test]
fn invalid_responses_are_described() {
    let bad = |fault| ApiError::BadAnswer {
        instance: instance().into(),
        fault,
    };
    let other = Url::parse("https://other:8443/x?private_token=s3cret").expect("an address");
    let other = web::Origin::of(&other).expect("a server");
    assert_snapshot!(shown([
        bad(Fault::SignIn),
        bad(Fault::Page),
        bad(Fault::Elsewhere(other)),
        bad(Fault::Nonsense("a commit whose id is none")),
    ]), @r"
    https://h/git answers with its page to sign in
      help: check its address; a sign-in before it (SSO, a proxy) must let `/api/v4` pass
    https://h/git answers with a page, not as GitLab's API does
      help: check its address, with the path it is below; a proxy before it must leave `%2F` as it is
    https://h/git redirects to https://other:8443, which is not the GitLab that was named
      help: name https://other:8443 as the GitLab, if it is
    https://h/git does not answer as GitLab's API does: a commit whose id is none
    ");
}

#[test]
fn other_errors_name_gitlab_and_request() {
    let limited = |kind| ApiError::RateLimited {
        context: context(kind, PROJECT),
        wait: Some(Duration::from_mins(1)),
    };
    assert_snapshot!(shown([
        ApiError::Rejected {
            context: context(None, "the CI lint of `g/p`"),
            status: 400,
            said: Some("content is missing".to_owned()),
        },
        limited(None),
        limited(Some(TokenKind::Access)),
        ApiError::Server { instance: instance().into(), status: 502 },
        ApiError::TooMuch { context: context(None, "the tags of `g/p`"), limit: "200 pages or 64 MiB" },
        ApiError::Invalid { what: Thing::Project, name: "../x".to_owned() },
        ApiError::Invalid { what: Thing::Reference, name: "a\\nb".to_owned() },
        ApiError::from(web::WebError::TooLong(5)),
        ApiError::from(web::WebError::Refused {
            reason: "no".to_owned(),
            help: Some("allow it".to_owned()),
        }),
    ]), @r"
    https://h/git does not take the request for the CI lint of `g/p` (status 400): content is missing
    https://h/git has had too many requests of this user or network; there may be more in 1m
      help: who asks with a token may ask more often
    https://h/git has had too many requests of this user or network; there may be more in 1m
    https://h/git is broken or overloaded (status 502)
    https://h/git has more of the tags of `g/p` than are read, 200 pages or 64 MiB
    `../x` cannot be the path of a project
    `a\nb` cannot be a branch, tag or commit
    the answer has more than 5 bytes
    no
      help: allow it
    ");
}
