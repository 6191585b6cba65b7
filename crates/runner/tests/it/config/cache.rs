//! `[runners.cache]`.

use super::every_key::known;
use super::known::parse_with;
use runner::config::{
    AzureContainer, CacheBucket, CacheSettings, GcsAccount, GcsBucket, S3Bucket, S3Keys,
};

const RUNNER: &str = "[[runners]]\nname = \"one\"\nurl = \"https://gitlab.example\"\ntoken = \"glrt-abcdefghijkl\"\nexecutor = \"shell\"\n";

/// Reads these lines after those of a runner; the first one is line 6.
fn read(lines: &str) -> (Option<CacheSettings>, Vec<String>) {
    let file = parse_with(&format!("{RUNNER}{lines}"), &known());
    let problems = file.problems.iter();
    let problems = problems.map(|it| format!("{}:{}: {}", it.line, it.column, it.message));
    let [runner] = file.settings.runners.try_into().unwrap();
    (runner.cache, problems.collect())
}

fn bucket(lines: &str) -> CacheBucket {
    let (cache, problems) = read(lines);
    assert_eq!(problems, Vec::<String>::new(), "{lines}");
    cache.unwrap().bucket
}

#[test]
fn caches_are_on_this_host_without_a_type() {
    for lines in [
        "",
        "[runners.cache]",
        "[runners.cache.s3]\nBucketName = \"a\"",
    ] {
        assert_eq!(read(lines), (None, Vec::new()), "{lines}");
    }
}

#[test]
fn bucket_of_s3_has_the_defaults_of_gitlab_runner() {
    let amazon = S3Bucket {
        name: "a".to_owned(),
        server: None,
        region: "us-east-1".to_owned(),
        keys: None,
        insecure: false,
        path_style: false,
        dual_stack: true,
        accelerate: false,
        encryption: None,
    };
    let lead =
        "[runners.cache]\nType = \"s3\"\nMaxUploadedArchiveSize = 5368709120\n[runners.cache.s3]\n";
    let check = |lines: &str, expect: S3Bucket| {
        assert_eq!(bucket(&format!("{lead}{lines}")), CacheBucket::S3(expect));
    };
    check("BucketName = \"a\"", amazon.clone());
    check(
        "BucketName = \"a\"\nServerAddress = \"s3.amazonaws.com\"",
        amazon.clone(),
    );
    check(
        "BucketName = \"a.b\"\nAuthenticationType = \"iam\"\nAccessKey = \"k\"\nSecretKey = \"s\"",
        S3Bucket {
            name: "a.b".to_owned(),
            path_style: true,
            ..amazon.clone()
        },
    );
    check(
        "BucketName = \"a\"\nServerAddress = \"minio:9000\"\nInsecure = true\nAccessKey = \"k\"\nSecretKey = \"s\"",
        S3Bucket {
            server: Some("minio:9000".to_owned()),
            insecure: true,
            path_style: true,
            keys: Some(S3Keys {
                access_key: "k".into(),
                secret_key: "s".into(),
                session_token: "".into(),
            }),
            ..amazon
        },
    );
    let (cache, _) = read(&format!("{lead}BucketName = \"a\""));
    assert_eq!(cache.unwrap().largest_archive, Some(5 << 30));
}

#[test]
fn buckets_of_google_and_azure() {
    let gcs = |account| {
        CacheBucket::Gcs(GcsBucket {
            name: "a".to_owned(),
            account,
        })
    };
    let lead = "[runners.cache]\nType = \"gcs\"\n[runners.cache.gcs]\nBucketName = \"a\"\n";
    assert_eq!(bucket(lead), gcs(GcsAccount::Default));
    let keys = "AccessID = \"me\"\nPrivateKey = \"pem\"\n";
    let service = GcsAccount::Service {
        access_id: "me".to_owned(),
        private_key: "pem".into(),
    };
    assert_eq!(bucket(&format!("{lead}{keys}")), gcs(service));
    let file = "CredentialsFile = \"/gcs.json\"\n";
    let expect = gcs(GcsAccount::File("/gcs.json".into()));
    assert_eq!(bucket(&format!("{lead}{keys}{file}")), expect);
    let azure = "[runners.cache]\nType = \"azure\"\n[runners.cache.azure]\nContainerName = \"a\"\nAccountName = \"me\"\nAccountKey = \"k\"\n";
    let expect = AzureContainer {
        name: "a".to_owned(),
        account: "me".to_owned(),
        key: Some("k".into()),
        domain: "blob.core.windows.net".to_owned(),
    };
    assert_eq!(bucket(azure), CacheBucket::Azure(expect));
}

#[test]
fn what_is_missing_or_wrong_has_a_place() {
    let check = |lines: &str, expect: &[&str]| {
        let (cache, problems) = read(lines);
        assert_eq!(problems, expect, "{lines}");
        assert_eq!(cache, None, "{lines}");
    };
    check(
        "[runners.cache]\nType = \"S3\"",
        &["7:8: `Type` must be one of s3, gcs, azure, found \"S3\""],
    );
    check(
        "[runners.cache]\nType = \"s3\"",
        &["7:8: `Type = \"s3\"` needs a table [runners.cache.s3]"],
    );
    let s3 = "[runners.cache]\nType = \"s3\"\n[runners.cache.s3]\n";
    check(s3, &["8:16: `BucketName` is missing"]);
    let named = format!("{s3}BucketName = \"a\"\n");
    check(
        &format!("{named}AccessKey = \"k\""),
        &["8:16: `SecretKey` is missing"],
    );
    check(
        &format!("{named}SecretKey = \"k\""),
        &["8:16: `AccessKey` is missing"],
    );
    check(
        &format!("{named}AuthenticationType = \"access-key\""),
        &["8:16: `AccessKey` is missing"],
    );
    check(
        &format!("{named}ServerAddress = \"https://minio\""),
        &["10:17: `ServerAddress` must be a host, with or without a port"],
    );
    check(
        "[runners.cache]\nType = \"azure\"\n[runners.cache.azure]",
        &[
            "8:16: `ContainerName` is missing",
            "8:16: `AccountName` is missing",
        ],
    );
}
