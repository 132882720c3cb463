//! What is served: the page, ranges of files, an index and files that change.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;

use kiln_tests::http::{get, request, send};
use kiln_tests::runs::Scratch;
use kiln_tests::view::View;
use serde_json::Value;

use super::{golden, runs_with_traps};

#[test]
fn the_page_comes_without_token_and_with_its_fences() {
    let scratch = Scratch::new("page");
    let view = View::start(&runs_with_traps(&scratch));
    let page = get(view.address, "/", &[]);
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    assert!(page.text().starts_with("<!doctype html>"));
    let policy = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "'wasm-unsafe-eval'",
        "frame-ancestors 'none'",
        "connect-src 'self'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(
        !policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"),
        "{policy}"
    );
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    for (name, media) in [
        ("/boot.js", "text/javascript"),
        ("/viewer.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/kiln_viewer_bg.wasm", "application/wasm"),
    ] {
        let plain = get(view.address, name, &[]);
        assert_eq!(
            (plain.status, plain.header("content-type")),
            (200, Some(media)),
            "{name}"
        );
        assert_eq!(plain.header("content-encoding"), None);
        let head = send(view.address, &request(view.address, "HEAD", name, &[]));
        assert_eq!(head.header("content-length"), plain.header("content-length"), "{name}");
        assert!(head.body.is_empty());
    }
    let wasm = |headers: &[&str]| get(view.address, "/kiln_viewer_bg.wasm", headers);
    let (plain, packed) = (wasm(&[]), wasm(&["Accept-Encoding: gzip, br"]));
    assert_eq!(packed.header("content-encoding"), Some("br"));
    assert!(
        packed.body.len() * 2 < plain.body.len(),
        "{} of {}",
        packed.body.len(),
        plain.body.len()
    );
    assert_eq!(wasm(&["Accept-Encoding: br;q=0"]).header("content-encoding"), None);
}

#[test]
fn ranges_give_exactly_the_bytes_asked_for() {
    let scratch = Scratch::new("ranges");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    golden(&root.join("a"));
    let inside = "point_cloud/iteration_40/point_cloud.ply";
    // Longer than the pieces that the server reads at once.
    let bytes: Vec<u8> = (0..1_000_003_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(root.join("a").join(inside), &bytes).unwrap();
    let view = View::start(&root);
    let path = format!("/runs/a/{inside}");
    let n = bytes.len();
    let whole = view.get(&path, &[]);
    assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    assert_eq!(whole.header("cache-control"), Some("private, no-cache"));
    assert!(whole.body == bytes);
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1-700000", 1, 700_001),
        ("bytes=999999-", 999_999, n),
        ("bytes=-5", n - 5, n),
        ("bytes=-9999999", 0, n),
        ("bytes=5-9999999", 5, n),
        ("bytes=1000002-1000002", n - 1, n),
    ] {
        let reply = view.get(&path, &[&format!("Range: {range}")]);
        assert_eq!(reply.status, 206, "{range}");
        let expected = format!("bytes {from}-{}/{n}", to - 1);
        assert_eq!(reply.header("content-range"), Some(expected.as_str()), "{range}");
        assert!(reply.body == bytes[from..to], "{range}");
    }
    for range in [
        "bytes=1000003-",
        "bytes=2000000-2000001",
        "bytes=-0",
        "bytes=99999999999999999999999-",
    ] {
        let reply = view.get(&path, &[&format!("Range: {range}")]);
        assert_eq!(
            (reply.status, reply.header("content-range")),
            (416, Some("bytes */1000003")),
            "{range}"
        );
        assert!(reply.body.is_empty(), "{range}");
    }
    for range in [
        "bytes=5-1",
        "bytes=a-",
        "bytes=0-1,5-6",
        "lines=0-1",
        "bytes",
        "bytes=-",
    ] {
        let reply = view.get(&path, &[&format!("Range: {range}")]);
        assert_eq!((reply.status, reply.body.len()), (200, n), "{range}");
    }
    let dated = view.get(&path, &["Range: bytes=0-1", "If-Range: \"x\""]);
    assert_eq!((dated.status, dated.body.len()), (200, n), "no validator can hold");
    let target = format!("{path}?token={}", view.token);
    let head = send(
        view.address,
        &request(view.address, "HEAD", &target, &["Range: bytes=10-19"]),
    );
    assert_eq!(
        (head.status, head.header("content-length"), head.body.len()),
        (206, Some("10"), 0)
    );
    let packed = view.get(&path, &["Accept-Encoding: br"]);
    assert_eq!((packed.header("content-encoding"), packed.body.len()), (None, n));
}

#[test]
fn the_index_and_a_growing_file_are_fresh() {
    let scratch = Scratch::new("fresh");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    let view = View::start(&root);
    let index = || serde_json::from_slice::<Value>(&view.get("/runs.json", &[]).body).unwrap();
    assert_eq!(index(), serde_json::json!([]));
    golden(&root.join("old"));
    fs::create_dir(root.join("sweep")).unwrap();
    golden(&root.join("sweep/new run"));
    let newer = root.join("sweep/new run/run.json");
    let text = fs::read_to_string(&newer).unwrap().replace("1750000000", "1750000001");
    fs::write(&newer, text).unwrap();
    assert_eq!(index(), serde_json::json!(["runs/sweep/new run", "runs/old"]));
    let run = view.get("/runs/sweep/new%20run/run.json", &[]);
    assert_eq!(
        (run.status, run.header("content-type")),
        (200, Some("application/json"))
    );

    let path = "/runs/old/metrics.jsonl";
    let file = root.join("old/metrics.jsonl");
    let mut known = view.get(path, &[]).body;
    let rest = |known: &[u8]| view.get(path, &[&format!("Range: bytes={}-", known.len())]);
    for line in [
        "{\"type\":\"train\",\"it\":50}\n",
        "{\"type\":\"tr",
        "ain\",\"it\":60}\n",
    ] {
        assert_eq!(rest(&known).status, 416, "nothing new");
        OpenOptions::new()
            .append(true)
            .open(&file)
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
        let reply = rest(&known);
        assert_eq!((reply.status, reply.text().as_str()), (206, line));
        known.extend(reply.body);
    }
    assert_eq!(known, fs::read(&file).unwrap());
    File::create(&file).unwrap();
    let replaced = rest(&known);
    assert_eq!(
        (replaced.status, replaced.header("content-range")),
        (416, Some("bytes */0"))
    );
}
