//! `kiln view` from its arguments to its end.

use std::fs;
use std::process::Command;
use std::time::Instant;

use kiln_tests::http::send;
use kiln_tests::runs::{self, Scratch, outcome};
use kiln_tests::view::View;

use super::golden;

#[test]
fn it_ends_well_and_opens_a_browser() {
    let scratch = Scratch::new("ends");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    for signal in ["INT", "TERM"] {
        let (code, text) = View::start(&root).end(signal);
        assert_eq!(code, Some(0), "{signal}: {text}");
        assert!(text.contains("no run in"), "{text}");
    }
    // A browser that writes down what it is asked to open.
    let bin = scratch.join("bin");
    fs::create_dir(&bin).unwrap();
    let opened = scratch.join("opened");
    let script = format!(
        "#!/bin/sh\necho \"$1\" > '{0}.part' && mv '{0}.part' '{0}'\n",
        opened.display()
    );
    for name in ["xdg-open", "wslview"] {
        fs::write(bin.join(name), &script).unwrap();
        assert!(
            Command::new("chmod")
                .arg("+x")
                .arg(bin.join(name))
                .status()
                .unwrap()
                .success()
        );
    }
    let mut command = runs::kiln();
    let paths = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command
        .arg("view")
        .arg(&root)
        .args(["--port", "0", "--open"])
        .env("PATH", paths);
    let view = View::start_with(&mut command);
    let start = Instant::now();
    while !opened.exists() {
        assert!(start.elapsed().as_secs() < 20, "no browser was asked");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(fs::read_to_string(&opened).unwrap().trim_end(), view.url);
    // Without any browser it serves all the same.
    let mut command = runs::kiln();
    command
        .arg("view")
        .arg(&root)
        .args(["--port", "0", "--open"])
        .env("PATH", "/nowhere");
    let (code, text) = View::start_with(&mut command).end("INT");
    assert_eq!(code, Some(0));
    assert!(text.contains("open the address by hand"), "{text}");
}

#[test]
fn wrong_arguments_are_named() {
    let scratch = Scratch::new("wrong");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    let view = |arguments: &[&str]| {
        let mut command = runs::kiln();
        outcome(command.arg("view").arg(&root).args(arguments))
    };
    let (code, text) = outcome(runs::kiln().args(["view", "/nowhere/runs"]));
    assert_eq!(code, Some(4));
    assert!(text.contains("/nowhere/runs") && text.contains("hint: "), "{text}");
    let (code, text) = view(&["--host", "0.0.0.0"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--allow-remote") && text.contains("tunnel"), "{text}");
    let taken = View::start(&root);
    let (code, text) = view(&["--port", &taken.address.port().to_string()]);
    assert_eq!(code, Some(2));
    assert!(
        text.contains(&taken.address.to_string()) && text.contains("--port 0"),
        "{text}"
    );
    let mut remote = runs::kiln();
    remote.arg("view").arg(&root).args([
        "--host",
        "0.0.0.0",
        "--allow-remote",
        "--port",
        "0",
        "--allow-host",
        "Rig",
    ]);
    let remote = View::start_with(&mut remote);
    let with_host = |host: &str| {
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        send(remote.address, text.as_bytes()).status
    };
    assert_eq!(
        [with_host("10.1.2.3:80"), with_host("rig:80"), with_host("evil.example")],
        [200, 200, 403]
    );
    let (code, text) = remote.end("INT");
    assert_eq!(code, Some(0));
    assert!(text.contains("warning: ") && text.contains("other machines"), "{text}");
}

/// What cannot be shown is reported before an address is printed: files by their beginnings, folders of other formats by their index.
#[test]
fn what_is_no_model_is_not_served() {
    let scratch = Scratch::new("no-model");
    for (name, bytes, words) in [
        (
            "text.sog",
            &b"no archive at all"[..],
            "what it holds is no PLY, SPZ, SOG or GLB",
        ),
        (
            "cut.sog",
            b"PK\x03\x04 and nothing more",
            "its archive is truncated or no archive",
        ),
        ("bad.spz", b"\x1f\x8b\x08\0\0\0\0\0\0\xff", "copy or export it again"),
        ("other.spz", b"NGSP\x09\0\0\0\x01\0\0\0\0\0\0\0", "SPZ of version 9"),
        ("bad.ply", b"ply\nformat\n", "is it a PLY file?"),
        ("bad.glb", b"glTF\x01\0\0\0", "bad.glb: "),
        ("empty.ply", b"", "it is an empty file"),
        ("empty.sog", b"", "it is an empty file"),
    ] {
        let path = scratch.join(name);
        fs::write(&path, bytes).unwrap();
        for more in [&["--port", "0"][..], &["--export", "site"]] {
            let (code, text) = outcome(runs::kiln().arg("view").arg(&path).args(more));
            assert_eq!(code, Some(4), "{name}: {text}");
            assert!(text.contains(name) && text.contains(words), "{text}");
        }
    }
    for (index, words) in [
        ("tileset.json", "is a folder of 3D Tiles, which the page does not show"),
        ("meta.json", "is a folder of SOG without levels of detail"),
    ] {
        let folder = scratch.join(&index.replace('.', "-"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(index), "{}").unwrap();
        let (code, text) = outcome(runs::kiln().arg("view").arg(&folder).args(["--port", "0"]));
        assert_eq!(code, Some(4), "{text}");
        assert!(text.contains(words) && text.contains("--format streamed-sog"), "{text}");
        // beside runs it is a file like others
        golden(&folder.join("run"));
        let (code, text) = View::start(&folder).end("INT");
        assert_eq!(code, Some(0), "{text}");
    }
}
