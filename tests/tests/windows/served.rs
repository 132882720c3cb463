//! `kiln view` under Wine.

use std::process::Command;

use kiln_tests::view::View;

use super::program::{Both, helper};

#[test]
fn the_page_and_a_run_are_served() {
    let run = Both::runs().windows();
    // Its standard error is no pipe: see `program::wine`.
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec wine \"$@\" 2>/dev/null", "sh"])
        .arg(helper("kiln.exe"))
        .arg("view")
        .arg(run.parent().expect("a folder"))
        .args(["--port", "0"]);
    let view = View::start_with(&mut command);
    let page = view.get("/", &[]);
    assert_eq!(page.status, 200, "{}", page.text());
    let list = view.get("/runs.json", &[]);
    assert!(
        list.text().contains("windows") && list.text().contains("linux"),
        "{}",
        list.text()
    );
    let model = view.get("/runs/windows/point_cloud/iteration_40/point_cloud.ply", &[]);
    assert_eq!(model.status, 200);
    let tag = model.header("etag").expect("a tag").to_owned();
    let again = view.get(
        "/runs/windows/point_cloud/iteration_40/point_cloud.ply",
        &[&format!("If-None-Match: {tag}")],
    );
    assert_eq!(again.status, 304);
    let (code, text) = view.end("INT");
    assert_eq!(code, Some(0), "{text}");
}
