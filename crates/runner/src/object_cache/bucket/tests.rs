//! The requests to buckets that no test has a server of: their addresses and headers.

use super::*;
use crate::object_cache::transport::converted;
use crate::object_cache::upload::{Archive, upload};
use async_trait::async_trait;
use executor_core::Cancellation;
use http::Response;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::gcp::GcpCredential;
use object_store::path::Path;
use object_store::{ClientOptions, StaticCredentialProvider};
use parking_lot::Mutex;

/// Answers each request like a bucket, and keeps the requests as lines.
#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl HttpConnector for Recorder {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Recorder {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let method = request.method().to_string();
        // Fails for a header that the transport does not know.
        let (request, _) = converted(request).await?;
        let url = &request.url;
        let query = url.query_pairs().map(|(name, _)| name.into_owned());
        let query: Vec<String> = query.collect();
        let (host, path) = (url.host_str().unwrap_or_default(), url.path());
        let scheme = url.scheme();
        self.0.lock().push(format!(
            "{method} {scheme}://{host}{path} {}",
            query.join(" ")
        ));
        let body = "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>u</UploadId>\
            </InitiateMultipartUploadResult>";
        let body = if query == ["uploads"] {
            body
        } else {
            "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
        };
        let response = Response::builder()
            .header("etag", "e")
            .header("last-modified", "Wed, 21 Oct 2015 07:28:00 GMT")
            .header("content-length", body.len());
        let body = HttpResponseBody::from(body.to_owned());
        Ok(response.body(body).expect("a response"))
    }
}

/// Uploads an archive of two parts and a small one, and returns the requests.
async fn requests(client: &dyn ObjectStore, recorder: &Recorder) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a");
    std::fs::write(&file, vec![0; 17 << 20]).expect("written");
    let name = Path::parse("project/1/a b#é").expect("a name");
    for size in [1, 17 << 20] {
        let archive = Archive {
            file: &file,
            size,
            names: "digest".to_owned(),
        };
        let sent = upload(client, &name, archive, &Cancellation::new()).await;
        sent.unwrap_or_else(|error| panic!("{}", executor_core::chain(&error)));
    }
    recorder.0.lock().clone()
}

#[tokio::test]
async fn google_gets_known_requests() {
    let recorder = Recorder::default();
    let bucket = GcsBucket {
        name: "b".to_owned(),
        account: GcsAccount::Default,
    };
    let credential = GcpCredential {
        bearer: "t".to_owned(),
    };
    let client = gcs(&bucket)
        .with_credentials(Arc::new(StaticCredentialProvider::new(credential)))
        .with_http_connector(recorder.clone())
        .build()
        .expect("a bucket");
    let object = "https://storage.googleapis.com/b/project%2F1%2Fa%20b%23%C3%A9";
    let mut found = requests(&client, &recorder).await;
    found[2..4].sort();
    assert_eq!(
        found,
        [
            format!("PUT {object} "),
            format!("POST {object} uploads"),
            format!("PUT {object} partNumber uploadId"),
            format!("PUT {object} partNumber uploadId"),
            format!("POST {object} uploadId"),
        ]
    );
}

#[tokio::test]
async fn azure_gets_known_requests() {
    let recorder = Recorder::default();
    let container = AzureContainer {
        name: "c".to_owned(),
        account: "me".to_owned(),
        key: Some("c2VjcmV0".into()),
        domain: "blob.example".to_owned(),
    };
    let client = azure(&container, &|_| None)
        .with_http_connector(recorder.clone())
        .build()
        .expect("a container");
    let object = "https://me.blob.example/c/project/1/a%20b%23%C3%A9";
    assert_eq!(
        requests(&client, &recorder).await,
        [
            format!("PUT {object} "),
            format!("PUT {object} comp blockid"),
            format!("PUT {object} comp blockid"),
            format!("PUT {object} comp"),
        ]
    );
}

fn amazon() -> S3Bucket {
    S3Bucket {
        name: "b".to_owned(),
        server: None,
        region: "eu-west-1".to_owned(),
        keys: None,
        insecure: false,
        path_style: false,
        dual_stack: true,
        accelerate: false,
        encryption: None,
    }
}

#[tokio::test]
async fn amazon_gets_known_requests() {
    let recorder = Recorder::default();
    let bucket = S3Bucket {
        encryption: Some(S3Encryption::Kms(Some("alias/key".to_owned()))),
        ..amazon()
    };
    let variables = |name: &str| name.starts_with("AWS_S").then(|| "secret".to_owned());
    let variables =
        |name: &str| variables(name).or((name == "AWS_ACCESS_KEY_ID").then(|| "k".to_owned()));
    let client = s3(&bucket, &variables)
        .with_http_connector(recorder.clone())
        .build()
        .expect("a bucket");
    let object = "https://b.s3.dualstack.eu-west-1.amazonaws.com/project/1/a%20b%23%C3%A9";
    let found = requests(&client, &recorder).await;
    assert_eq!(found.len(), 5);
    assert_eq!(found[0], format!("PUT {object} "));
    assert_eq!(found[1], format!("POST {object} uploads"));
    assert_eq!(found[4], format!("POST {object} uploadId"));
}

#[test]
fn servers_of_s3() {
    let check = |bucket: S3Bucket, expect: &str| {
        assert_eq!(s3_endpoint(&bucket), expect);
    };
    check(amazon(), "https://b.s3.dualstack.eu-west-1.amazonaws.com");
    check(
        S3Bucket {
            dual_stack: false,
            path_style: true,
            ..amazon()
        },
        "https://s3.eu-west-1.amazonaws.com",
    );
    check(
        S3Bucket {
            accelerate: true,
            ..amazon()
        },
        "https://b.s3-accelerate.dualstack.amazonaws.com",
    );
    check(
        S3Bucket {
            region: "cn-north-1".to_owned(),
            ..amazon()
        },
        "https://b.s3.dualstack.cn-north-1.amazonaws.com.cn",
    );
    check(
        S3Bucket {
            server: Some("minio:9000".to_owned()),
            insecure: true,
            path_style: true,
            ..amazon()
        },
        "http://minio:9000",
    );
}

#[test]
fn invalid_private_key_is_not_shown() {
    let bucket = CacheBucket::Gcs(GcsBucket {
        name: "b".to_owned(),
        account: GcsAccount::Service {
            access_id: "me@example".to_owned(),
            private_key: "hunter2hunter2".into(),
        },
    });
    let transport = Transport::new(web::Proxies::default()).expect("a transport");
    let error = client(&bucket, transport).expect_err("no key");
    let shown = crate::object_cache::failure::reason(&error);
    assert!(!shown.contains("hunter2"), "{shown}");
}
