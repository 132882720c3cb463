//! Connections that break.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::view_browser::stage::{RUN, Stage, drawn, messages, ready, status, window};

/// Bytes of a model's answer that come through before its connection is cut.
const THROUGH: usize = 20_000;

/// A way to a server that cuts the first answers to requests of a model, each after so many bytes.
struct BadLine {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl BadLine {
    fn to(server: SocketAddr, lets_through: Vec<usize>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        // It listens for as long as the program runs.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (counter, lets_through) = (Arc::clone(&counter), lets_through.clone());
                thread::spawn(move || pass_on(&client, server, &lets_through, &counter));
            }
        });
        Self { address, asked }
    }
}

/// Passes the requests of a client on, one after the other, and what is answered back.
fn pass_on(mut client: &TcpStream, server: SocketAddr, lets_through: &[usize], asked: &AtomicUsize) {
    let mut upstream = TcpStream::connect(server).unwrap();
    let room = Arc::new(AtomicUsize::new(usize::MAX));
    let (mut down, mut back) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
    let left = Arc::clone(&room);
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(got @ 1..) = back.read(&mut bytes) {
            let may = left.load(Ordering::SeqCst);
            if down.write_all(&bytes[..got.min(may)]).is_err() || got > may {
                break;
            }
            if may != usize::MAX {
                left.store(may - got, Ordering::SeqCst);
            }
        }
        let _ = down.shutdown(Shutdown::Both);
    });
    let mut bytes = [0; 4096];
    while let Ok(got @ 1..) = client.read(&mut bytes) {
        if String::from_utf8_lossy(&bytes[..got]).contains("point_cloud.ply") {
            let through = lets_through.get(asked.fetch_add(1, Ordering::SeqCst));
            room.store(through.copied().unwrap_or(usize::MAX), Ordering::SeqCst);
        }
        if upstream.write_all(&bytes[..got]).is_err() {
            break;
        }
    }
    let _ = upstream.shutdown(Shutdown::Both);
}

#[test]
fn a_download_that_breaks_goes_on_where_it_was() {
    let stage = Stage::shared();
    let whole = stage.page("");
    drawn(&whole);
    let splats = status(&whole)["splats"].clone();
    let line = BadLine::to(stage.view.address, vec![THROUGH; 2]);
    let page = window();
    page.go(&format!(
        "http://{}/?token={}&run={RUN}",
        line.address, stage.view.token
    ));
    ready(&page);
    drawn(&page);
    assert_eq!(status(&page)["splats"], splats, "all of them, none twice");
    let asked = line.asked.load(Ordering::SeqCst);
    assert!(asked >= 3, "the first and two for the rest: {asked}");
    assert_eq!(messages(&page), [""; 0]);
}

#[test]
fn a_download_that_cannot_go_on_is_given_up() {
    let stage = Stage::shared();
    let mut lets_through = vec![0; 40];
    lets_through[0] = THROUGH;
    let line = BadLine::to(stage.view.address, lets_through);
    let page = window();
    page.go(&format!(
        "http://{}/?token={}&run={RUN}",
        line.address, stage.view.token
    ));
    page.wait("document.getElementById('messages').textContent.includes('the connection broke')");
    let said = messages(&page).join("\n");
    assert!(said.contains("point_cloud.ply") && said.contains("reload"), "{said}");
    assert_eq!(status(&page)["loading"], false);
}
