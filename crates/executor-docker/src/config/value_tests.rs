use super::{Cpus, Device, Gpus, Size, Ulimit};
use proptest::prelude::*;

#[test]
fn sizes_are_parsed_as_in_docker() {
    let check = |text: &str, expect: Option<i64>| {
        assert_eq!(text.parse::<Size>().ok().map(Size::get), expect, "{text:?}");
    };
    check("0", Some(0));
    check("1024", Some(1024));
    check("100b", Some(100));
    check("1k", Some(1 << 10));
    check("512m", Some(512 << 20));
    check("512 MB", Some(512 << 20));
    check("1GiB", Some(1 << 30));
    check("1.5g", Some(3 << 29));
    check("2T", Some(2 << 40));
    check("-1", Some(-1));
    for wrong in [
        "",
        "-2",
        "m",
        "1.m",
        ".5m",
        "1.2.3",
        "1x",
        "0x10",
        "1e3",
        "９m",
        "99999999999p",
        "1m m",
    ] {
        check(wrong, None);
    }
}

#[test]
fn processors_have_three_decimals() {
    let check = |text: &str, expect: Option<i64>| {
        assert_eq!(
            text.parse::<Cpus>().ok().map(Cpus::nanos),
            expect,
            "{text:?}"
        );
    };
    check("2", Some(2_000_000_000));
    check("1.5", Some(1_500_000_000));
    check("0.01", Some(10_000_000));
    for wrong in ["", "0", "0.0001", "-1", "1,5", "inf", "NaN", "1000001"] {
        check(wrong, None);
    }
}

#[test]
fn limits_are_soft_and_hard() {
    let check = |text: &str, expect: Option<(i64, i64)>| {
        let limit = text.parse::<Ulimit>().ok();
        assert_eq!(limit.map(|it| (it.soft, it.hard)), expect, "{text:?}");
    };
    check("99", Some((99, 99)));
    check("1024:4096", Some((1024, 4096)));
    check("1024:-1", Some((1024, -1)));
    check("-1", Some((-1, -1)));
    for wrong in ["", "a", "2:1", "-1:5", "-2", "1:2:3"] {
        check(wrong, None);
    }
}

#[test]
fn devices_have_a_path_and_permissions() {
    let check = |text: &str, expect: Option<[&str; 3]>| {
        let file = text.parse().ok().map(|device| match device {
            Device::File {
                host,
                container,
                permissions,
            } => [host, container, permissions],
            Device::Named(name) => [name, String::new(), String::new()],
        });
        let expect = expect.map(|it| it.map(str::to_owned));
        assert_eq!(file, expect, "{text:?}");
    };
    check("/dev/kvm", Some(["/dev/kvm", "/dev/kvm", "rwm"]));
    check("/dev/kvm:r", Some(["/dev/kvm", "/dev/kvm", "r"]));
    check("/dev/a:/dev/b", Some(["/dev/a", "/dev/b", "rwm"]));
    check("/dev/a:/dev/b:rw", Some(["/dev/a", "/dev/b", "rw"]));
    check("nvidia.com/gpu=0", Some(["nvidia.com/gpu=0", "", ""]));
    for wrong in [
        "",
        "dev/a",
        "/dev/a:b",
        "/dev/a:/b:rr",
        "/dev/a:/b:r:w",
        "a/b=",
        "=/",
        "a=b",
    ] {
        check(wrong, None);
    }
}

#[test]
fn gpus_are_parsed_as_in_dockers_command_line() {
    let check = |text: &str, expect: Result<serde_json::Value, &str>| {
        let read = text.parse::<Gpus>();
        match (read, expect) {
            (Ok(gpus), Ok(expect)) => {
                assert_eq!(
                    serde_json::to_value(gpus.request()).unwrap(),
                    expect,
                    "{text}"
                );
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (read, expect) => panic!("{text}: {read:?} is not {expect:?}"),
        }
    };
    let any = serde_json::json!([["gpu"]]);
    check(
        "all",
        Ok(serde_json::json!({"Count": -1, "Capabilities": any})),
    );
    check(
        "2",
        Ok(serde_json::json!({"Count": 2, "Capabilities": any})),
    );
    let two = serde_json::json!({"DeviceIDs": ["0", "GPU-3a"], "Capabilities": any});
    check("device=0,GPU-3a", Ok(two.clone()));
    check("\"device=0,GPU-3a\"", Ok(two));
    check(
        "all,capabilities=compute,utility,driver=nvidia,options=a=b,c=d",
        Ok(serde_json::json!({
            "Driver": "nvidia", "Count": -1,
            "Capabilities": [["compute", "utility", "gpu"]], "Options": {"a": "b", "c": "d"},
        })),
    );
    check(
        "capabilities=compute",
        Ok(serde_json::json!({"Count": 1, "Capabilities": [["compute", "gpu"]]})),
    );
    check("", Err("empty"));
    check("0", Err("count"));
    check("-1", Err("count"));
    check("count=1,device=0", Err("a count and devices"));
    check("device=0,device=1", Err("twice"));
    check("color=red", Err("unknown name"));
    check("driver=", Err("not one value"));
}

proptest! {
    #[test]
    fn every_text_is_parsed_or_refused(text in any::<String>()) {
        let size = text.parse::<Size>();
        if let Ok(size) = size {
            prop_assert!(size.get() >= -1);
        }
        if let Ok(cpus) = text.parse::<Cpus>() {
            prop_assert!(cpus.nanos() > 0);
        }
        if let Ok(Device::File { container, .. }) = text.parse() {
            prop_assert!(container.starts_with('/'));
        }
        let _ = text.parse::<Ulimit>();
        let _ = text.parse::<Gpus>();
    }
}
