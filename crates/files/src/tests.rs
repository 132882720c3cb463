#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::PathBuf;

use super::*;

/// A folder of a test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kiln-files-{}-{name}", std::process::id()));
        fs::remove_dir_all(&path).ok();
        fs::create_dir_all(path.join("scene/deep")).unwrap();
        for (file, text) in [("scene/a", "inside"), ("scene/deep/b", "below"), ("outside", "theirs")] {
            fs::write(path.join(file), text).unwrap();
        }
        Self(path.canonicalize().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn refused<T: std::fmt::Debug>(read: io::Result<T>, why: &str) {
    let found = read.unwrap_err().to_string();
    assert!(found.contains(why), "{found}");
}

#[test]
fn files_are_read_up_to_the_limit() {
    let folder = Folder::new("limit");
    let file = folder.0.join("scene/a");
    assert_eq!(read_text(&file, 6).unwrap(), "inside");
    assert_eq!(read_start(&file, 2).unwrap(), b"in");
    refused(read_regular(&file, 5), "it has 6 bytes, at most 5 are read");
    refused(open_regular(&folder.0), "it is a folder; name a regular file");
    assert_eq!(
        open_regular(&folder.0.join("none")).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    fs::write(&file, [0xff]).unwrap();
    refused(read_text(&file, 6), "not UTF-8");
    assert_eq!(open_filled(&file).unwrap().metadata().unwrap().len(), 1);
    fs::write(&file, "").unwrap();
    refused(open_filled(&file), "it is an empty file; copy or export it again");
    refused(open_filled(&folder.0), "it is a folder; name a regular file");
    assert_eq!(read_text(&file, 6).unwrap(), "");
}

/// None of these is waited for, or read without end.
#[cfg(target_os = "linux")]
#[test]
fn pipes_sockets_and_devices_are_refused_and_links_to_them() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::symlink;

    let folder = Folder::new("odd");
    let pipe = folder.0.join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let socket = folder.0.join("socket");
    let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (target, why) in [
        (pipe.as_path(), "it is a pipe; name a regular file"),
        (&socket, "it is a socket"),
        (Path::new("/dev/zero"), "it is a device"),
    ] {
        let link = folder.0.join("scene/link");
        symlink(target, &link).unwrap();
        refused(open_regular(target), why);
        refused(read_start(&link, 4), why);
        assert!(open_appending(&link).is_err());
        refused(open_inside(&folder.0.join("scene"), "link"), "it lies outside of");
        fs::remove_file(link).unwrap();
    }
    refused(open_inside(&folder.0, "pipe"), "it is a pipe");
    refused(open_appending(&pipe), "it is a pipe");
    // The system says that it is empty.
    refused(
        read_regular(Path::new("/proc/self/status"), 100),
        "at most 100 are read",
    );
}

#[test]
fn names_stay_in_their_folder() {
    let folder = Folder::new("inside");
    let scene = folder.0.join("scene");
    let read = |name: &str| read_inside(&scene, name, 100);
    assert_eq!(read("a").unwrap(), b"inside");
    assert_eq!(read("./deep/b").unwrap(), b"below");
    assert_eq!(read("deep/../a").unwrap(), b"inside");
    assert_eq!(read(scene.join("a").to_str().unwrap()).unwrap(), b"inside");
    let outside = folder.0.join("outside");
    for name in ["../outside", "deep/../../outside", outside.to_str().unwrap(), "../none"] {
        refused(read(name), "it lies outside of");
    }
    assert_eq!(read("none").unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(is_inside_name("deep/b") && !is_inside_name("../a") && !is_inside_name("/a") && !is_inside_name("a/../b"));
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_refused_and_a_mirrors_store_is_not() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new("links");
    let scene = folder.0.join("scene");
    symlink("../outside", scene.join("out")).unwrap();
    symlink("..", scene.join("up")).unwrap();
    symlink("deep/b", scene.join("in")).unwrap();
    for name in ["out", "up/outside"] {
        refused(read_inside(&scene, name, 100), "it lies outside of");
    }
    assert_eq!(read_inside(&scene, "in", 100).unwrap(), b"below");
    // The folder itself may be a link: its path is the user's own.
    symlink("scene", folder.0.join("named")).unwrap();
    assert_eq!(read_inside(&folder.0.join("named"), "in", 100).unwrap(), b"below");
    let (blobs, snapshot) = (folder.0.join("hub/blobs"), folder.0.join("hub/snapshots/1"));
    fs::create_dir_all(&blobs).unwrap();
    fs::create_dir_all(&snapshot).unwrap();
    fs::write(blobs.join("f00"), "mirrored").unwrap();
    symlink("../../blobs/f00", snapshot.join("means_l.webp")).unwrap();
    assert_eq!(read_inside(&snapshot, "means_l.webp", 100).unwrap(), b"mirrored");
}
