//! `kiln view` over real sockets: what it serves, and what it refuses.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use kiln_tests::http::{self, Reply, get, request, send};
use kiln_tests::projects::MadeProject;
use kiln_tests::runs::{self, Scratch, outcome};
use kiln_tests::view::View;
use serde_json::Value;

/// Stands in every file that must never be sent.
const SECRET: &str = "this-stays-on-the-disk";

/// The golden run, copied to `to`.
fn golden(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/run");
    let copy = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copy.unwrap().success());
}

/// A folder of runs with traps around them.
fn runs_with_traps(scratch: &Scratch) -> std::path::PathBuf {
    let root = scratch.join("runs");
    fs::create_dir_all(root.join("sweep")).unwrap();
    golden(&root.join("a"));
    golden(&root.join("sweep/b c"));
    let outside = scratch.join("outside");
    fs::create_dir_all(&outside).unwrap();
    for name in ["run.json", "metrics.jsonl", "secret.txt"] {
        fs::write(outside.join(name), SECRET).unwrap();
    }
    for name in [
        "a/notes.txt",
        "a/secret.json",
        "a/.env",
        "loose.json",
        "a/events.out.tfevents.1",
    ] {
        fs::write(root.join(name), SECRET).unwrap();
    }
    fs::create_dir(root.join("a/checkpoints")).unwrap();
    fs::write(root.join("a/checkpoints/checkpoint_00000010.kiln"), SECRET).unwrap();
    fs::remove_file(root.join("a/memory.jsonl")).unwrap();
    symlink(outside.join("metrics.jsonl"), root.join("a/memory.jsonl")).unwrap();
    symlink(&outside, root.join("linked")).unwrap();
    symlink("/", root.join("a/eval/iteration_99")).unwrap();
    root
}

/// Whatever was asked: the answer holds no secret, no path of the machine and no token, and comes with the headers that
/// keep browsers from guessing.
fn assert_tight(reply: &Reply, view: &View, what: &str) {
    let text = format!("{:?}{}", reply.headers, reply.text());
    for word in [SECRET, &view.token, "kiln-hostile", "root:", "/tmp"] {
        assert!(!text.contains(word), "{what}: {text}");
    }
    if reply.headers.iter().any(|(name, _)| name == "content-security-policy") {
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{what}");
    }
}

#[test]
fn hostile_requests_get_nothing() {
    let scratch = Scratch::new("hostile");
    let view = View::start(&runs_with_traps(&scratch));
    let at = view.address;
    let token = format!("token={}", view.token);
    let fake = "0".repeat(view.token.len());

    // Without the right token there is no data, whatever the address looks like.
    for path in [
        "/runs.json",
        "/runs/a/run.json",
        "/runs",
        "/runs/",
        "/runs/nowhere",
        "/%72uns.json",
    ] {
        let tokens = [
            String::new(),
            "?token=".to_owned(),
            format!("?token={fake}"),
            format!("?token={}", &view.token[1..]),
            format!("?token={}0", view.token),
            format!("?Token={}", view.token),
            format!("?token=x&{token}"),
        ];
        for query in tokens {
            let reply = get(at, &format!("{path}{query}"), &[]);
            assert_eq!(reply.status, 403, "{path}{query}: {}", reply.text());
            assert_tight(&reply, &view, path);
        }
    }

    // With it, nothing outside the runs' own files.
    for path in [
        "/runs/../outside/run.json",
        "/runs/a/../../outside/secret.txt",
        "/runs/%2e%2e/outside/run.json",
        "/runs/%2e%2e%2foutside%2frun.json",
        "/runs/..%2foutside/run.json",
        "/runs/a/%2E%2E/%2e%2e/outside/secret.txt",
        "/runs/%252e%252e/outside/run.json",
        "/runs/a\\..\\..\\outside\\run.json",
        "/runs/..%5coutside%5crun.json",
        "/../outside/run.json",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/runs//etc/passwd",
        "/runs/%2fetc%2fpasswd",
        "/runs/a//etc/passwd",
        "/etc/passwd",
        "/runs/a/run.json%00.png",
        "/runs/a%00/run.json",
        "/runs/a/run.json/",
        "/runs/a/run.json%0d%0aX-Evil:%201",
        "/runs/a/%ff",
        "/runs/a/%",
        "/runs/linked/run.json",
        "/runs/linked/metrics.jsonl",
        "/runs/a/memory.jsonl",
        "/runs/a/eval/iteration_99/etc/passwd",
        "/runs/a/eval/iteration_99/metrics.json",
        "/runs/a/notes.txt",
        "/runs/a/secret.json",
        "/runs/a/.env",
        "/runs/a/events.out.tfevents.1",
        "/runs/a/checkpoints/checkpoint_00000010.kiln",
        "/runs/loose.json",
        "/runs/a",
        "/runs/a/",
        "/runs/a/eval",
        "/runs/a/eval/",
        "/runs",
        "/manifest.json",
        "/a/run.json",
    ] {
        let reply = view.get(path, &[]);
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
        assert_tight(&reply, &view, path);
    }
    let reply = view.get("/runs/a/run.json", &[]);
    assert_eq!(reply.status, 200, "and the right one is served");
}

#[test]
fn hostile_forms_are_refused() {
    let scratch = Scratch::new("hostile");
    let view = View::start(&runs_with_traps(&scratch));
    let at = view.address;
    let target = format!("/runs.json?token={}", view.token);
    let with_host = |hosts: &str| format!("GET {target} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").into_bytes();
    let own = format!("Host: {at}\r\n");
    let long = format!("X-Long: {}", "x".repeat(64 << 10));
    let many: Vec<String> = (0..200).map(|i| format!("X-{i}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases: Vec<(&str, Vec<u8>, &[u16])> = vec![
        ("a name of another site", with_host("Host: evil.example\r\n"), &[403]),
        (
            "a name with ours in front",
            with_host("Host: localhost.evil.example\r\n"),
            &[403],
        ),
        ("another machine's number", with_host("Host: 192.168.1.2\r\n"), &[403]),
        ("an empty name", with_host("Host:\r\n"), &[403]),
        ("no name", with_host(""), &[400]),
        ("two names", with_host(&format!("{own}Host: evil.example\r\n")), &[400]),
        (
            "HTTP/1.0 without name",
            format!("GET {target} HTTP/1.0\r\n\r\n").into_bytes(),
            &[400],
        ),
        (
            "another origin",
            request(at, "GET", &target, &["Origin: http://evil.example"]),
            &[403],
        ),
        (
            "another port's origin",
            request(at, "GET", &target, &["Origin: http://127.0.0.1:1"]),
            &[403],
        ),
        ("no origin", request(at, "GET", &target, &["Origin: null"]), &[403]),
        (
            "origin asks for the page",
            request(at, "GET", "/", &["Origin: http://evil.example"]),
            &[403],
        ),
        (
            "our address whole",
            request(at, "GET", &format!("http://{at}{target}"), &[]),
            &[400],
        ),
        (
            "another address whole",
            request(at, "GET", "http://evil.example/", &[]),
            &[400],
        ),
        ("a tunnel", request(at, "CONNECT", "evil.example:443", &[]), &[400]),
        ("POST", request(at, "POST", &target, &["Content-Length: 0"]), &[405]),
        (
            "POST with a body",
            [request(at, "POST", &target, &["Content-Length: 3"]), b"abc".to_vec()].concat(),
            &[405],
        ),
        ("PUT", request(at, "PUT", "/runs/a/run.json", &[]), &[405]),
        ("DELETE", request(at, "DELETE", &target, &[]), &[405]),
        ("OPTIONS", request(at, "OPTIONS", "*", &[]), &[405]),
        ("TRACE", request(at, "TRACE", &target, &[]), &[405]),
        (
            "GET with a body",
            [request(at, "GET", &target, &["Content-Length: 3"]), b"abc".to_vec()].concat(),
            &[413],
        ),
        (
            "GET with pieces",
            [
                request(at, "GET", &target, &["Transfer-Encoding: chunked"]),
                b"1\r\na\r\n0\r\n\r\n".to_vec(),
            ]
            .concat(),
            &[413],
        ),
        ("a long header", request(at, "GET", &target, &[&long]), &[431]),
        ("many headers", request(at, "GET", &target, &many), &[431]),
        (
            "a long path",
            request(at, "GET", &format!("/{}", "a".repeat(100_000)), &[]),
            &[414, 431],
        ),
        (
            "a NUL in the path",
            request(at, "GET", "/runs/a\0/run.json", &[]),
            &[400],
        ),
        (
            "a control character in a header",
            request(at, "GET", &target, &["X: a\0b"]),
            &[400],
        ),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[0, 400, 505]),
        (
            "noise",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            &[0, 400],
        ),
    ];
    for (what, bytes, statuses) in cases {
        let reply = send(at, &bytes);
        assert!(
            statuses.contains(&reply.status),
            "{what}: {} {}",
            reply.status,
            reply.text()
        );
        assert_tight(&reply, &view, what);
        if reply.status == 405 {
            assert_eq!(reply.header("allow"), Some("GET, HEAD"), "{what}");
        }
    }
    // A name of this machine is fine with any port: a tunnel brings its own.
    for host in ["localhost:1", "127.0.0.1", "[::1]:8080"] {
        assert_eq!(send(at, &with_host(&format!("Host: {host}\r\n"))).status, 200, "{host}");
    }
    let origin = format!("Origin: http://{at}");
    assert_eq!(get(at, &target, &[&origin]).status, 200, "the page itself");
    let header = format!("X-Kiln-Token: {}", view.token);
    assert_eq!(get(at, "/runs.json", &[&header]).status, 200, "a program");
}

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

#[test]
fn many_clients_and_idle_ones() {
    let scratch = Scratch::new("clients");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    golden(&root.join("a"));
    let bytes = vec![7_u8; 3 << 20];
    fs::write(root.join("a/input.ply"), &bytes).unwrap();
    let view = View::start(&root);
    // Connections that never finish their question, and one that never reads its answer.
    let mut idle: Vec<TcpStream> = (0..30).map(|_| TcpStream::connect(view.address).unwrap()).collect();
    for stream in &mut idle {
        stream.write_all(b"GET /runs.json HTTP/1.1\r\nHost: ").unwrap();
    }
    let mut lazy = TcpStream::connect(view.address).unwrap();
    let target = format!("/runs/a/input.ply?token={}", view.token);
    lazy.write_all(&request(view.address, "GET", &target, &[])).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..4 {
                    assert!(view.get("/runs/a/input.ply", &[]).body == bytes);
                    assert_eq!(view.get("/runs.json", &[]).text(), r#"["runs/a"]"#);
                }
            });
        }
    });
    // One connection for several requests.
    let mut stream = TcpStream::connect(view.address).unwrap();
    for _ in 0..3 {
        let target = format!("/runs.json?token={}", view.token);
        let text = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", view.address);
        stream.write_all(text.as_bytes()).unwrap();
        assert_eq!(http::read(&mut stream, false).status, 200);
    }
}

#[test]
fn who_says_nothing_keeps_nobody_out() {
    let scratch = Scratch::new("silent");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    golden(&root.join("a"));
    let view = View::start(&root);
    // As many as the server holds and more: half a question, none at all, and one whole question with nothing after it.
    let mut silent = Vec::new();
    for said in [
        &b"GET /runs.json HTTP/1.1\r\nHost: "[..],
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        for _ in 0..70 {
            let mut stream = TcpStream::connect(view.address).unwrap();
            // One that was closed for another takes no more.
            let _ = stream.write_all(said);
            silent.push(stream);
        }
    }
    let start = Instant::now();
    for _ in 0..3 {
        assert_eq!(view.get("/runs.json", &[]).text(), r#"["runs/a"]"#);
    }
    // Silent connections are closed after 20 seconds in any case.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    drop(silent);
}

#[test]
fn a_pipe_does_not_hold_the_server() {
    let scratch = Scratch::new("pipe");
    let root = scratch.join("a");
    golden(&root);
    fs::remove_file(root.join("input.ply")).unwrap();
    let pipe = Command::new("mkfifo").arg(root.join("input.ply")).status();
    assert!(pipe.unwrap().success());
    let view = View::start(&root);
    // An answer that waits for the pipe's other end is another one, after half a minute.
    assert_eq!(view.get("/runs/a/input.ply", &[]).status, 404);
    assert_eq!(
        view.get("/runs.json", &[]).text(),
        r#"["runs/a"]"#,
        "the folder itself is the run"
    );
}

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

#[test]
fn an_export_holds_the_same_files() {
    let scratch = Scratch::new("export");
    let root = runs_with_traps(&scratch);
    let output = scratch.join("site");
    let export = |output: &Path| outcome(runs::kiln().arg("view").arg(&root).arg("--export").arg(output));
    let (code, text) = export(&output);
    assert_eq!((code, text.as_str()), (Some(0), ""));
    let view = View::start(&root);
    let index = view.get("/runs.json", &[]).body;
    assert_eq!(fs::read(output.join("runs.json")).unwrap(), index);
    assert_eq!(String::from_utf8_lossy(&index), r#"["runs/a","runs/sweep/b c"]"#);
    let mut files = Vec::new();
    let mut folders = vec![output.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    let names: Vec<String> = files
        .iter()
        .map(|file| file.strip_prefix(&output).unwrap().to_str().unwrap().to_owned())
        .collect();
    for name in [
        "index.html",
        "boot.js",
        "kiln_viewer_bg.wasm",
        "runs/a/run.json",
        "runs/a/point_cloud/iteration_40/point_cloud.ply",
        "runs/a/eval/gt/test/test_view.png",
        "runs/sweep/b c/metrics.jsonl",
    ] {
        assert!(names.iter().any(|own| own == name), "{name} is missing: {names:?}");
    }
    for (file, name) in files.iter().zip(&names) {
        let bytes = fs::read(file).unwrap();
        assert!(!fs::symlink_metadata(file).unwrap().is_symlink());
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{name}");
        if name != "kiln-export.json" {
            let reply = view.get(&format!("/{}", name.replace(' ', "%20")), &[]);
            assert_eq!(reply.status, 200, "{name}");
            assert!(reply.body == bytes, "{name}");
        }
    }
    assert_eq!(export(&output).0, Some(0), "an earlier export is replaced");
    let (code, text) = export(&scratch.join("outside"));
    assert_eq!(code, Some(7));
    assert!(text.contains("no earlier export"), "{text}");
    assert_eq!(fs::read_to_string(scratch.join("outside/secret.txt")).unwrap(), SECRET);
}

#[test]
fn a_project_is_served_as_kiln_status_says_it() {
    let scratch = Scratch::new("project");
    let folder = scratch.join("served");
    let (half, end) = (Some(20.0), None);
    let project = MadeProject::new(
        &folder.join("city"),
        &[
            ("b0000", [[end, end], [half, end]]),
            ("b0001a", [[half, end], [end, Some(5.0)]]),
            ("b0001b", [[half, Some(5.0)], [end, end]]),
        ],
    );
    project.done("b0000");
    let writer = project.running("b0001a", 160);
    project.merged();
    let view = View::start(&folder);
    let index = |view: &View| -> Value { serde_json::from_slice(&view.get("/projects.json", &[]).body).unwrap() };
    let found = index(&view);
    let (city, blocks) = (&found[0], found[0]["blocks"].as_array().unwrap());
    assert_eq!(
        (
            &city["path"],
            &city["name"],
            &city["merged"],
            city["map"].to_string().as_str()
        ),
        (
            &"runs/city".into(),
            &"city".into(),
            &"runs/city/merged".into(),
            "[1.0,0.5]"
        )
    );
    let mut command = runs::kiln();
    let said = command.arg("status").arg(&project.root).arg("--json").output().unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    for (block, said) in blocks.iter().zip(said["blocks"].as_array().unwrap()) {
        for (key, value) in said.as_object().unwrap() {
            assert_eq!(&block[key], value, "{key} of {block}");
        }
    }
    let shown = |block: &Value| {
        ["state", "area", "run", "half_of"]
            .map(|key| block[key].to_string())
            .join(" ")
    };
    assert_eq!(
        blocks.iter().map(shown).collect::<Vec<_>>(),
        [
            r#""done" [0.0,0.0,0.5,0.5] "runs/city/blocks/b0000/run" null"#,
            r#""running" [0.5,0.375,0.5,0.125] "runs/city/blocks/b0001a/run" "b0001""#,
            r#""waiting" [0.5,0.0,0.5,0.375] null "b0001""#,
        ]
    );
    let running = ["iteration", "iterations", "its", "eta_s", "gaussians"].map(|key| blocks[1][key].as_f64().unwrap());
    assert_eq!(running, [40.0, 160.0, 12.5, 9.6, 5.0].map(|value: f64| value));
    // Runs of blocks and the merged model are runs like others, whose missing files are made.
    let runs: Vec<String> = serde_json::from_slice(&view.get("/runs.json", &[]).body).unwrap();
    assert_eq!(
        runs,
        [
            "runs/city/merged",
            "runs/city/blocks/b0000/run",
            "runs/city/blocks/b0001a/run"
        ]
    );
    let merged = |name: &str| view.get(&format!("/runs/city/merged/{name}"), &[]);
    let record: Value = serde_json::from_slice(&merged("run.json").body).unwrap();
    assert_eq!(
        (
            &record["plys"][0]["gaussians"],
            &record["plys"][0]["iteration"],
            &record["name"]
        ),
        (&5.into(), &40.into(), &"city".into())
    );
    let cameras: Value = serde_json::from_slice(&merged("cameras.json").body).unwrap();
    assert_eq!(cameras.as_array().unwrap().len(), 2, "each once");
    assert_eq!(
        (merged("metrics.jsonl").status, merged("metrics.jsonl").body.len()),
        (200, 0)
    );
    assert_eq!(merged("point_cloud.ply").status, 200);
    for name in ["point_cloud.index.json", "input.ply", "point_cloud.ply/x", ""] {
        assert_eq!(merged(name).status, 404, "{name}");
    }
    for name in [
        "project.json",
        "blocks/b0000/block.json",
        "blocks/b0000/done.json",
        "blocks.txt",
    ] {
        assert_eq!(view.get(&format!("/runs/city/{name}"), &[]).status, 404, "{name}");
    }
    assert_eq!(get(view.address, "/projects.json", &[]).status, 403);

    // What is damaged is said, and the rest is shown.
    fs::write(project.block("b0001b").join("block.json"), "{").unwrap();
    fs::write(project.block("b0000").join("done.json"), "{\"version\": 1").unwrap();
    fs::create_dir(project.block("somebody")).unwrap();
    fs::write(project.root.join("progress.json"), "[").unwrap();
    let found = index(&view);
    let city = &found[0];
    let problem = city["problems"][0].as_str().unwrap();
    assert_eq!(problem, "city/blocks/somebody does not belong to the project");
    let states: Vec<&str> = city["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["damaged", "running", "damaged"]);
    let message = city["blocks"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("cannot read city/blocks/b0000/done.json: "),
        "{message}"
    );
    let (area, none) = (&city["blocks"][0]["area"], &city["blocks"][2]["area"]);
    assert!(area.is_array() && none.is_null(), "{city}");
    // Files of another place are not looked at.
    fs::write(scratch.join("secret.json"), format!("{{\"version\": {SECRET:?}}}")).unwrap();
    fs::remove_file(project.block("b0001b").join("block.json")).unwrap();
    symlink(scratch.join("secret.json"), project.block("b0001b").join("block.json")).unwrap();
    let reply = view.get("/projects.json", &[]);
    assert_tight(&reply, &view, "a link out of the folder");
    assert!(
        reply
            .text()
            .contains("city/blocks/b0001b/block.json leads out of the folder"),
        "{}",
        reply.text()
    );
    fs::write(project.root.join("project.json"), "").unwrap();
    assert_eq!(index(&view)[0]["blocks"].as_array().unwrap().len(), 0);
    drop(writer);
}

#[test]
fn another_nodes_training_is_told_by_its_driver() {
    let scratch = Scratch::new("progress");
    let project = MadeProject::new(
        &scratch.join("city"),
        &[("b0000", [[None; 2]; 2]), ("b0001", [[None; 2]; 2])],
    );
    project.done("b0001");
    let row = |name: &str| {
        format!(
            "{{\"name\": {name:?}, \"state\": \"running\", \"iteration\": 7, \"iterations\": 70, \"its\": 3.5, \"eta_s\": 18.0, \
             \"gaussians\": 99, \"attempts\": 1, \"node\": \"n1\", \"message\": null}}"
        )
    };
    let text = format!("{{\"version\": 1, \"blocks\": [{}, {}]}}", row("b0000"), row("b0001"));
    let progress = project.root.join("progress.json");
    fs::write(&progress, text).unwrap();
    // The folder itself is the project, and its address that of the map.
    let view = View::start(&project.root);
    assert!(view.url.ends_with("&tab=runs"), "{}", view.url);
    let states = || {
        let found: Value = serde_json::from_slice(&view.get("/projects.json", &[]).body).unwrap();
        assert_eq!((&found[0]["path"], &found[0]["name"]), (&"runs".into(), &"city".into()));
        let blocks = found[0]["blocks"].as_array().unwrap().clone();
        blocks
            .iter()
            .map(|block| format!("{} {}", block["state"], block["iteration"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(states(), ["\"running\" 7", "\"done\" 40"]);
    // A driver that is not there any more says nothing.
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    File::options()
        .write(true)
        .open(&progress)
        .unwrap()
        .set_modified(before)
        .unwrap();
    assert_eq!(states(), ["\"waiting\" 0", "\"done\" 40"]);
    let runs: Vec<String> = serde_json::from_slice(&view.get("/runs.json", &[]).body).unwrap();
    assert_eq!(runs, ["runs/blocks/b0001/run"]);
    assert_eq!(view.get("/runs/blocks/b0001/run/run.json", &[]).status, 200);
}
