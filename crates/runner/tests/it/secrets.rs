//! Jobs with secrets from external stores.
//!
//! The stores are servers of this test that answer as the documentation of Vault, Google, Microsoft and AWS says: no Vault
//! could be had where these tests were written. A signed request was accepted by `moto`, an independent server that verifies signatures.

use crate::bench::{Bench, job};
use crate::secret_server::{SILENT, SecretServer};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use executor_core::Cancellation;
use job_runner::{SecretError, SecretStore};
use runner::{CloudEndpoints, SecretStores};
use serde_json::{Value, json};
use web::{Reach, Web, WebOptions};

const JWT: &str = "eyJhbGciOiJSUzI1NiJ9.id-token.c2lnbmF0dXJl";
const TOKEN: &str = "hvs.the-token-of-the-job";
const LOGIN: &str = "POST /v1/auth/jwt/login";

/// Returns a secret of a Vault whose address and token are variables of the job.
fn vault(engine: &str, path: &str, field: &str) -> Value {
    json!({"vault": {
        "server": {"url": "$VAULT_URL", "namespace": "team", "auth": {"name": "jwt", "path": "jwt",
            "data": {"jwt": "$VAULT_ID_TOKEN", "role": "ci"}}},
        "engine": {"name": engine, "path": "ops"}, "path": path, "field": field,
    }})
}

/// Returns a job with these secrets.
fn with_secrets(server: &SecretServer, script: &[&str], secrets: Value) -> Value {
    let mut payload = job(script);
    let variables = payload["variables"].as_array_mut().expect("variables");
    variables.push(json!({"key": "VAULT_URL", "value": server.url, "public": true}));
    variables.push(json!({"key": "VAULT_ID_TOKEN", "value": JWT, "masked": true}));
    payload["secrets"] = secrets;
    payload
}

/// Starts a server with a login, and the field `password` of one secret of each version of the engine.
async fn vault_server() -> SecretServer {
    let server = SecretServer::start().await;
    server.answer(LOGIN, 200, json!({"auth": {"client_token": TOKEN}}));
    server.answer(
        "GET /v1/ops/data/production/db",
        200,
        json!({"data": {"data": {"password": "tiger $HOME"}, "metadata": {}}}),
    );
    server.answer(
        "GET /v1/ops/api",
        200,
        json!({"data": {"password": "panther-and-lion", "ports": [8080, 8443]}}),
    );
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_vault_become_masked_variables() {
    let server = vault_server().await;
    let bench = Bench::new();
    let out = bench.dir.path().display();
    let script = [
        format!("cat \"$DB\" > {out}/db; cat \"$DB\""),
        format!("printf %s \"$API $PORTS\" > {out}/api; echo \"$API\" $PORTS"),
    ];
    let script = script.each_ref().map(String::as_str);
    let mut secrets = json!({
        "DB": vault("kv-v2", "production/db", "password"),
        "API": vault("kv-v1", "api", "password"),
        "PORTS": vault("generic", "api", "ports"),
    });
    secrets["API"]["file"] = json!(false);
    secrets["PORTS"]["file"] = json!(false);
    let id = bench.server.queue(with_secrets(&server, &script, secrets));
    let runner = bench.start();
    let end = bench.end_of(id).await;
    let log = bench.log(id);
    assert_eq!(end["state"], "success", "{log}");
    let written = |name: &str| std::fs::read_to_string(bench.dir.path().join(name)).expect("text");
    assert_eq!(written("db"), "tiger $HOME");
    assert_eq!(written("api"), "panther-and-lion [8080,8443]");
    for secret in ["tiger", "panther", "8080,8443", JWT, TOKEN] {
        assert!(!log.contains(secret), "{log}");
    }
    assert!(log.contains("Resolving secrets"), "{log}");
    runner.finish().await;
    bench.check();
    let [login, reads @ ..] = &server.calls()[..] else {
        panic!("no call");
    };
    assert_eq!(login.line, LOGIN);
    assert_eq!(login.header("x-vault-namespace"), Some("team"));
    let body: Value = serde_json::from_str(&login.body).expect("JSON");
    assert_eq!(body, json!({"jwt": JWT, "role": "ci"}));
    assert_eq!(reads.len(), 3, "{:?}", server.lines());
    for read in reads {
        assert_eq!(read.header("x-vault-token"), Some(TOKEN));
        assert_eq!(read.header("x-vault-namespace"), Some("team"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_secret_fails_the_job_unless_the_job_accepts_it() {
    let server = vault_server().await;
    let bench = Bench::new();
    let secrets = json!({
        "FIELD": vault("kv-v2", "production/db", "user"),
        "OTHER": vault("kv-v2", "staging/db", "password"),
    });
    let script = ["echo \"runs without '${FIELD-}${OTHER-}'\""];
    let payload = with_secrets(&server, &script, secrets);
    let mut accepts = payload.clone();
    accepts["id"] = job(&[])["id"].clone();
    let variables = accepts["variables"].as_array_mut().expect("variables");
    variables.push(json!({"key": "FF_SECRET_RESOLVING_FAILS_IF_MISSING", "value": "false"}));
    let first = bench.server.queue(payload);
    let second = bench.server.queue(accepts);
    let runner = bench.start();
    assert_eq!(bench.end_of(first).await["state"], "failed");
    let log = bench.log(first);
    assert!(
        log.contains("secret \"FIELD\" is not found in its store"),
        "{log}"
    );
    assert!(!log.contains("Preparing the"), "{log}");
    assert_eq!(bench.end_of(second).await["state"], "success");
    let log = bench.log(second);
    assert!(log.contains("secret \"FIELD\" is not found"), "{log}");
    assert!(log.contains("secret \"OTHER\" is not found"), "{log}");
    assert!(log.contains("runs without ''"), "{log}");
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_login_is_shown_without_the_token() {
    let server = vault_server().await;
    let why = format!("error validating token {JWT}: \u{1b}[1mexpired");
    server.answer(LOGIN, 400, json!({"errors": [why]}));
    let bench = Bench::new();
    let secrets = json!({"DB": vault("kv-v2", "production/db", "password")});
    let mut payload = with_secrets(&server, &["echo ran"], secrets);
    // The mask of the variable is not what keeps the token out.
    payload["variables"][2]["masked"] = json!(false);
    let id = bench.server.queue(payload);
    let runner = bench.start();
    assert_eq!(bench.end_of(id).await["state"], "failed");
    let log = bench.log(id);
    let expect = format!(
        "secret \"DB\": the login failed: {} answers 400: error validating token [MASKED]:  [1mexpired",
        server.url
    );
    assert!(log.contains(&expect), "{log}");
    assert!(!log.contains("id-token"), "{log}");
    runner.finish().await;
    bench.check();
    assert_eq!(server.lines(), [LOGIN]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_ends_a_call_under_way() {
    let server = vault_server().await;
    let read = "GET /v1/ops/data/production/db";
    server.answer(read, SILENT, json!(null));
    let bench = Bench::new();
    let secrets = json!({"DB": vault("kv-v2", "production/db", "password")});
    let id = bench
        .server
        .queue(with_secrets(&server, &["echo ran"], secrets));
    let runner = bench.start();
    server.wait_for(read).await;
    bench.server.set_job_status(id, "canceling");
    assert_eq!(bench.end_of(id).await["failure_reason"], "job_canceled");
    assert!(!bench.log(id).contains("ran"), "{}", bench.log(id));
    runner.finish().await;
    bench.check();
}

/// Returns stores whose clouds are all at `server`.
fn stores(server: &SecretServer) -> SecretStores {
    let web = Web::new(WebOptions {
        reach: Reach {
            anywhere: true,
            ..Reach::default()
        },
        ..WebOptions::default()
    });
    let endpoints = CloudEndpoints {
        google_sts: server.url.clone(),
        google_secrets: server.url.clone(),
        microsoft_login: server.url.clone(),
        aws_sts: format!("{}/sts/{{region}}", server.url),
        aws_secrets: format!("{}/secrets/{{region}}", server.url),
    };
    SecretStores::new(&web.expect("a client"), endpoints)
}

async fn resolve(stores: &SecretStores, definition: Value) -> Result<Option<String>, SecretError> {
    let value = stores.resolve(&definition, &Cancellation::new()).await?;
    Ok(value.map(|it| it.expose().to_owned()))
}

#[tokio::test]
async fn google_gets_the_token_in_exchange() {
    let server = SecretServer::start().await;
    let exchanged = json!({"access_token": "ya29.access", "token_type": "Bearer"});
    server.answer("POST /v1/token", 200, exchanged);
    let newest = "GET /v1/projects/12/secrets/db/versions/latest:access";
    let other = "GET /v1/projects/other/secrets/db/versions/3:access";
    server.answer(newest, 200, json!({"payload": {"data": "dGlnZXI="}}));
    server.answer(other, 200, json!({"payload": {"data": "bGlvbg=="}}));
    let definition = |name: &str, version: Value| {
        json!({"gcp_secret_manager": {"name": name, "version": version, "server": {"project_number": "12",
            "workload_identity_federation_pool_id": "pool", "workload_identity_federation_provider_id": "gitlab",
            "jwt": JWT}}})
    };
    let stores = stores(&server);
    let value = resolve(&stores, definition("db", json!(null))).await;
    assert_eq!(value.expect("a value").as_deref(), Some("tiger"));
    let value = resolve(&stores, definition("projects/other/secrets/db", json!(3))).await;
    assert_eq!(value.expect("a value").as_deref(), Some("lion"));
    let value = resolve(&stores, definition("none", json!("1"))).await;
    assert_eq!(value.expect("an answer"), None);
    let calls = server.calls();
    let lines: Vec<&str> = calls.iter().map(|it| it.line.as_str()).collect();
    let none = "GET /v1/projects/12/secrets/none/versions/1:access";
    assert_eq!(lines, ["POST /v1/token", newest, other, none]);
    let body: Value = serde_json::from_str(&calls[0].body).expect("JSON");
    assert_eq!(
        body,
        json!({
            "grantType": "urn:ietf:params:oauth:grant-type:token-exchange",
            "audience": "//iam.googleapis.com/projects/12/locations/global/workloadIdentityPools/pool/providers/gitlab",
            "scope": "https://www.googleapis.com/auth/cloud-platform",
            "requestedTokenType": "urn:ietf:params:oauth:token-type:access_token",
            "subjectTokenType": "urn:ietf:params:oauth:token-type:jwt",
            "subjectToken": JWT,
        })
    );
    assert_eq!(calls[1].header("authorization"), Some("Bearer ya29.access"));
}

#[tokio::test]
async fn azure_gets_the_token_as_an_assertion() {
    let server = SecretServer::start().await;
    let login = "POST /tenant/oauth2/v2.0/token";
    server.answer(login, 200, json!({"access_token": "eyJ.access"}));
    let newest = "GET /secrets/db?api-version=7.4";
    let second = "GET /secrets/db/2f?api-version=7.4";
    server.answer(newest, 200, json!({"value": "tiger", "id": "https://..."}));
    server.answer(second, 200, json!({"value": "lion"}));
    let url = format!("{}/", server.url);
    let definition = |version: Value| {
        json!({"azure_key_vault": {"name": "db", "version": version, "server": {"client_id": "app",
            "tenant_id": "tenant", "jwt": JWT, "url": url}}})
    };
    let stores = stores(&server);
    let value = resolve(&stores, definition(json!(null))).await;
    assert_eq!(value.expect("a value").as_deref(), Some("tiger"));
    let value = resolve(&stores, definition(json!("2f"))).await;
    assert_eq!(value.expect("a value").as_deref(), Some("lion"));
    let calls = server.calls();
    let lines: Vec<&str> = calls.iter().map(|it| it.line.as_str()).collect();
    assert_eq!(lines, [login, newest, second]);
    let form = "application/x-www-form-urlencoded";
    assert_eq!(calls[0].header("content-type"), Some(form));
    assert_eq!(
        calls[0].body,
        format!(
            "grant_type=client_credentials&client_id=app&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A\
             client-assertion-type%3Ajwt-bearer&client_assertion={JWT}&scope=https%3A%2F%2Fvault.azure.net%2F.default"
        )
    );
    assert_eq!(calls[1].header("authorization"), Some("Bearer eyJ.access"));
}

/// Returns a secret of AWS, with a role for the ID token.
fn aws(id: &str) -> Value {
    json!({"aws_secrets_manager": {"secret_id": id, "server": {
        "region": "eu-west-1", "jwt": JWT, "role_arn": "arn:aws:iam::1:role/ci", "role_session_name": "job 7",
    }}})
}

#[tokio::test]
async fn aws_gets_the_token_for_a_role_and_a_signed_request() {
    let server = SecretServer::start().await;
    let assumed = "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
        <AssumeRoleWithWebIdentityResult><Audience>a</Audience><Credentials><SessionToken>S/1+2==</SessionToken>\
        <SecretAccessKey>secret-key</SecretAccessKey><Expiration>2030-01-01T00:00:00Z</Expiration>\
        <AccessKeyId>ASIA1</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>\
        </AssumeRoleWithWebIdentityResponse>";
    server.answer("POST /sts/eu-west-1", 200, json!(assumed));
    let secrets = "POST /secrets/eu-west-1";
    let text = json!({"user": "u", "port": 5432, "hosts": []}).to_string();
    server.answer(secrets, 200, json!({"Name": "db", "SecretString": text}));
    let stores = stores(&server);
    let value = resolve(&stores, aws("db")).await;
    assert_eq!(value.expect("a value").as_deref(), Some(&*text));
    for (field, expect) in [("user", Some("u")), ("port", Some("5432")), ("no", None)] {
        let mut definition = aws("db");
        definition["aws_secrets_manager"]["field"] = json!(field);
        definition["aws_secrets_manager"]["version_stage"] = json!("AWSPREVIOUS");
        let value = resolve(&stores, definition).await;
        assert_eq!(value.expect("a value").as_deref(), expect, "{field}");
    }
    let calls = server.calls();
    assert_eq!(calls.len(), 5, "one login: {:?}", server.lines());
    assert_eq!(
        calls[0].body,
        format!(
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fci&\
             RoleSessionName=job+7&WebIdentityToken={JWT}"
        )
    );
    assert_eq!(calls[1].body, json!({"SecretId": "db"}).to_string());
    let previous = json!({"SecretId": "db", "VersionStage": "AWSPREVIOUS"});
    assert_eq!(calls[2].body, previous.to_string());
    let header = |name: &str| calls[1].header(name).unwrap_or_default().to_owned();
    assert_eq!(header("content-type"), "application/x-amz-json-1.1");
    assert_eq!(header("x-amz-target"), "secretsmanager.GetSecretValue");
    assert_eq!(header("x-amz-security-token"), "S/1+2==");
    let day = &header("x-amz-date")[..8];
    let signature = header("authorization");
    let expect = format!(
        "AWS4-HMAC-SHA256 Credential=ASIA1/{day}/eu-west-1/secretsmanager/aws4_request, SignedHeaders=\
         host;x-amz-content-sha256;x-amz-date;x-amz-security-token;x-amz-target, Signature="
    );
    assert!(signature.starts_with(&expect), "{signature}");

    let absent = json!({"__type": "com.amazonaws#ResourceNotFoundException", "Message": "no"});
    server.answer(secrets, 400, absent);
    let value = resolve(&stores, aws("other")).await;
    assert_eq!(value.expect("an answer"), None);
    let denied = json!({"__type": "AccessDeniedException", "Message": "not for S/1+2=="});
    server.answer(secrets, 400, denied);
    let error = resolve(&stores, aws("db")).await.expect_err("no value");
    let text = error.to_string();
    assert!(text.ends_with("answers 400: not for [MASKED]"), "{text}");
    let busy = json!({"__type": "ThrottlingException", "message": "Rate exceeded"});
    server.answer(secrets, 400, busy);
    let error = resolve(&stores, aws("db")).await.expect_err("no value");
    assert!(matches!(error, SecretError::Unavailable(_)), "{error:?}");
    server.answer(secrets, 200, json!({"SecretBinary": "AAE="}));
    let value = resolve(&stores, aws("db")).await;
    assert_eq!(value.expect("a value").as_deref(), Some("AAE="));
    let refusal =
        format!("<ErrorResponse><Error><Message>bad {JWT}</Message></Error></ErrorResponse>");
    server.answer("POST /sts/eu-west-1", 403, json!(refusal));
    let mut other = aws("db");
    other["aws_secrets_manager"]["role_arn"] = json!("arn:aws:iam::1:role/other");
    let error = resolve(&stores, other).await.expect_err("no value");
    let expect = format!("the login failed: {} answers 403: bad [MASKED]", server.url);
    assert_eq!(error.to_string(), expect);
}

#[tokio::test]
async fn gitlab_gets_the_login_with_each_request() {
    let server = SecretServer::start().await;
    let line = "GET /v1/secrets/kv/data/explicit/DB";
    server.answer(line, 200, json!({"data": {"data": {"value": "tiger"}}}));
    let definition = |auth: Value| {
        json!({"gitlab_secrets_manager": {
            "server": {"url": server.url, "inline_auth": auth},
            "engine": {"name": "kv-v2", "path": "secrets/kv"}, "path": "explicit/DB", "field": "value",
        }})
    };
    let stores = stores(&server);
    let new = json!({"path": "ns/auth/gitlab/cel/login", "jwt": JWT, "role": "project_7"});
    let old = json!({"auth_mount": "gitlab", "jwt": JWT, "role": "project_7"});
    for auth in [new, old] {
        let value = resolve(&stores, definition(auth)).await;
        assert_eq!(value.expect("a value").as_deref(), Some("tiger"));
    }
    let calls = server.calls();
    let paths = calls.iter().map(|it| it.header("x-vault-inline-auth-path"));
    let expect = ["ns/auth/gitlab/cel/login", "auth/gitlab/login"].map(Some);
    assert_eq!(paths.collect::<Vec<_>>(), expect);
    for (name, expect) in [("jwt", JWT), ("role", "project_7")] {
        let header = format!("x-vault-inline-auth-parameter-{name}");
        let bytes = URL_SAFE_NO_PAD.decode(calls[0].header(&header).expect("it"));
        let parameter: Value = serde_json::from_slice(&bytes.expect("base64")).expect("JSON");
        assert_eq!(parameter, json!({"key": name, "value": expect}));
    }
}

#[tokio::test]
async fn unusable_definitions_and_faults_are_named() {
    let server = vault_server().await;
    let stores = stores(&server);
    let known = |mut definition: Value| {
        definition["vault"]["server"]["url"] = json!(server.url);
        definition["vault"]["server"]["auth"]["data"]["jwt"] = json!(JWT);
        definition
    };
    let check = async |definition: Value, expect: &str| {
        let error = resolve(&stores, definition).await.expect_err("no value");
        assert!(matches!(error, SecretError::Refused(_)), "{error:?}");
        assert_eq!(error.to_string(), expect);
    };
    let mut of_aws = aws("db");
    of_aws["aws_secrets_manager"]["region"] = json!("example.org/");
    check(of_aws, "\"example.org/\" is not a region of AWS").await;
    let expect = "`aws_secrets_manager.role_arn` is missing";
    let no_role = json!({"secret_id": "db", "region": "eu-west-1"});
    check(json!({"aws_secrets_manager": no_role}), expect).await;
    check(json!({"akeyless": {}}), "`akeyless` is not supported").await;
    check(json!({"file": true}), "its store is not supported").await;
    let mut no_server = vault("kv-v2", "db", "password");
    no_server["vault"]["server"]["url"] = json!("");
    check(no_server, "`vault.server.url` is missing").await;
    let mut no_token = known(vault("kv-v2", "db", "password"));
    no_token["vault"]["server"]["auth"]["data"]["jwt"] = json!("");
    check(no_token, "`vault.server.auth.data.jwt` is missing").await;
    let expect = "`vault.engine.name` is \"pki\": expected kv-v1, kv-v2 or generic";
    check(known(vault("pki", "db", "password")), expect).await;
    let mut metadata = known(vault("kv-v2", "db", "password"));
    metadata["vault"]["server"]["url"] = json!("http://169.254.169.254");
    let error = resolve(&stores, metadata).await.expect_err("no value");
    assert!(
        error.to_string().starts_with("169.254.169.254 is for"),
        "{error}"
    );
    assert_eq!(server.lines(), Vec::<String>::new());
    server.answer("GET /v1/ops/data/db", 403, json!({"errors": [TOKEN]}));
    let expect = format!("{} answers 403: [MASKED]", server.url);
    check(known(vault("kv-v2", "db", "password")), &expect).await;
    server.answer("GET /v1/ops/data/db", 503, json!({}));
    let answer = resolve(&stores, known(vault("kv-v2", "db", "password"))).await;
    let error = answer.expect_err("no value");
    assert!(matches!(error, SecretError::Unavailable(_)), "{error:?}");
}
