//! Many clients, silent ones, and a file that would hold whoever opens it.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use kiln_tests::http::{self, request};
use kiln_tests::runs::{self, Scratch};
use kiln_tests::view::View;

use super::golden;

/// An owner is answered by then, whoever else is there.
const AT_ONCE: Duration = Duration::from_secs(1);

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
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    drop(silent);
}

#[test]
fn who_speaks_slowly_keeps_nobody_out() {
    let scratch = Scratch::new("slow");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    golden(&root.join("a"));
    let view = View::start(&root);
    // Without a token, a byte each now and then, of a question that never ends.
    let start = Instant::now();
    let mut slow: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(view.address).unwrap()).collect();
    let mut question = b"GET /runs.json HTTP/1.1\r\nX-Slow: "
        .iter()
        .chain(std::iter::repeat(&b'a'));
    let mut speak = |slow: &mut Vec<TcpStream>| {
        let byte = [*question.next().unwrap()];
        slow.retain_mut(|stream| stream.write_all(&byte).is_ok());
        std::thread::sleep(Duration::from_millis(50));
    };
    for _ in 0..10 {
        speak(&mut slow);
        let asked = Instant::now();
        assert_eq!(view.get("/runs.json", &[]).text(), r#"["runs/a"]"#);
        assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
    }
    // Bytes are no progress: a question is to be whole within seconds.
    while !slow.is_empty() {
        speak(&mut slow);
        assert!(start.elapsed() < Duration::from_secs(20), "{} are held", slow.len());
    }
}

#[test]
fn few_descriptors_are_enough() {
    let scratch = Scratch::new("descriptors");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    golden(&root.join("a"));
    fs::write(root.join("a/input.ply"), vec![7_u8; 8 << 20]).unwrap();
    let kiln = runs::kiln();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 64; exec \"$0\" view \"$1\" --port 0"]);
    limited.arg(kiln.get_program()).arg(&root);
    let view = View::start_with(&mut limited);
    // Answers that nobody reads, and questions that never end.
    let target = format!("/runs/a/input.ply?token={}", view.token);
    let mut held = Vec::new();
    for at in 0..160 {
        let mut stream = TcpStream::connect(view.address).unwrap();
        let said = match at % 4 {
            0 => b"GET / HTTP/1.1\r\nHost: ".to_vec(),
            _ => request(view.address, "GET", &target, &[]),
        };
        // One that was closed for another takes no more.
        let _ = stream.write_all(&said);
        held.push(stream);
    }
    for _ in 0..3 {
        let asked = Instant::now();
        assert_eq!(view.get("/runs.json", &[]).text(), r#"["runs/a"]"#);
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    }
    drop(held);
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
