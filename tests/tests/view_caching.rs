//! What browsers may keep of `kiln view`: models, as long as they ask whether they still hold, and nothing that grows.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;

use kiln_tests::runs::Scratch;
use kiln_tests::view::View;

#[test]
fn models_are_kept_and_asked_for_again() {
    let scratch = Scratch::new("caching");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/run");
    let copy = Command::new("cp").arg("-r").arg(golden).arg(root.join("a")).status();
    assert!(copy.unwrap().success());
    let inside = "point_cloud/iteration_40/point_cloud.ply";
    let file = root.join("a").join(inside);
    fs::write(&file, b"0123456789").unwrap();
    let view = View::start(&root);
    let path = format!("/runs/a/{inside}");
    let whole = view.get(&path, &[]);
    let tag = whole.header("etag").unwrap().to_owned();
    assert_eq!(
        (whole.status, whole.header("cache-control")),
        (200, Some("private, no-cache"))
    );
    for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
        let kept = view.get(&path, &[&format!("If-None-Match: {known}")]);
        assert_eq!((kept.status, kept.body.len()), (304, 0), "{known}");
        assert_eq!(kept.header("etag"), Some(tag.as_str()));
    }
    // a range of the state that is known, and the whole of another one
    let rest = |of: &str| view.get(&path, &["Range: bytes=4-", &format!("If-Range: {of}")]);
    let known = rest(&tag);
    assert_eq!((known.status, &known.body[..]), (206, &b"456789"[..]));
    assert_eq!(known.header("etag"), Some(tag.as_str()));
    for other in [
        "\"x\"".to_owned(),
        format!("W/{tag}"),
        "Thu, 01 Jan 1970 00:00:00 GMT".to_owned(),
    ] {
        let whole = rest(&other);
        assert_eq!((whole.status, whole.body.len()), (200, 10), "{other}");
    }
    fs::write(&file, b"abcdefghij").unwrap();
    let changed = view.get(&path, &[&format!("If-None-Match: {tag}")]);
    assert_eq!((changed.status, &changed.body[..]), (200, &b"abcdefghij"[..]));
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    assert_eq!(rest(&tag).status, 200);
    // records grow: neither kept nor compared
    for record in ["metrics.jsonl", "run.json"] {
        let reply = view.get(&format!("/runs/a/{record}"), &["If-None-Match: *"]);
        assert_eq!(
            (reply.status, reply.header("cache-control"), reply.header("etag")),
            (200, Some("no-store"), None),
            "{record}"
        );
    }
}
