use super::call::{Call, READ};
use crate::answer::Answer;
use crate::token::Kind;
use crate::who::Who;
use serde_json::json;

/// `GET /personal_access_tokens/self`
pub(super) fn token(call: &Call<'_>) -> Result<Answer, Answer> {
    let Who::Known(token) = call.somebody(&[])? else {
        return Err(Answer::unauthorized());
    };
    if token.kind != Kind::Access {
        return Err(Answer::message(400, "400 Bad Request"));
    }
    Ok(Answer::json(&json!({
        "id": 1, "name": "test", "revoked": false, "created_at": "2024-01-01T00:00:00.000Z",
        "description": null, "scopes": token.scopes, "user_id": 1,
        "last_used_at": "2024-01-02T00:00:00.000Z", "active": true, "expires_at": "2099-01-01",
    })))
}

/// `GET /user`
pub(super) fn user(call: &Call<'_>) -> Result<Answer, Answer> {
    let who = call.somebody(&["api", "read_user", "read_api"])?;
    let mut json = json!({
        "id": 1, "username": "tester", "name": "Test", "state": "active", "locked": false,
        "web_url": format!("{}/tester", call.world.url()), "email": "test@example.com",
    });
    if let (Some(map), Who::Known(token)) = (json.as_object_mut(), &who)
        && token.is_admin
    {
        map.insert("is_admin".to_owned(), json!(true));
    }
    Ok(Answer::json(&json))
}

/// `GET /version`
pub(super) fn version(call: &Call<'_>) -> Result<Answer, Answer> {
    call.somebody(&[READ[0], READ[1], "read_user"])?;
    Ok(Answer::json(
        &json!({"version": "18.5.1-ee", "revision": "0123456789a"}),
    ))
}
