//! Requests that want more than they may have, and forms that are no requests.

use kiln_tests::http::{get, request, send};
use kiln_tests::runs::Scratch;
use kiln_tests::view::View;

use super::{assert_tight, runs_with_traps};

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
