//! A disk in memory that fails at a chosen call and, in a power cut, loses what was not flushed.
//!
//! It keeps two states: what programs see, and what is durable. Content becomes durable with [`DiskFile::sync`], names
//! with [`Disk::sync_folder`]. After a power cut a name that was made, changed or removed since may be as before or as
//! after, one independent of the other, and content may be old, new, cut off anywhere or end in zeros.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Disk, DiskFile};
use kiln_scene::SplitMix64;

/// Most bytes that one call writes: callers must cope with short writes, and there are more calls to fail.
const WRITE_BYTES: usize = 61;

/// What happens at the call that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails and does nothing; later calls work.
    Refuse(ErrorKind),
    /// It and all later ones fail: the process is dead. A write leaves half of its bytes.
    Die,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

#[derive(Clone, Debug)]
enum Change {
    Link(PathBuf, Node),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl Change {
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Link(path, _) | Self::Unlink(path) | Self::Rename(path, _) => path.parent(),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        match self {
            Self::Link(path, node) => {
                names.insert(path.clone(), *node);
            }
            Self::Unlink(path) => {
                names.remove(path);
            }
            Self::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Bytes that it takes from the disk, with what is set aside.
    taken: u64,
}

#[derive(Clone, Debug, Default)]
struct State {
    contents: Vec<Content>,
    names: BTreeMap<PathBuf, Node>,
    durable: BTreeMap<PathBuf, Node>,
    /// Changes to names that are not durable, in order.
    pending: Vec<Change>,
    calls: u64,
    fault: Option<(u64, Fault)>,
    space: Option<u64>,
}

impl State {
    /// Counts a call; true when it is to be torn, an error when it is to fail.
    fn call(&mut self) -> io::Result<bool> {
        self.calls += 1;
        match self.fault {
            Some((at, Fault::Refuse(kind))) if at == self.calls => Err(kind.into()),
            Some((at, Fault::Die)) if at == self.calls => Ok(true),
            Some((at, Fault::Die)) if at < self.calls => Err(died()),
            _ => Ok(false),
        }
    }

    fn whole_call(&mut self) -> io::Result<()> {
        if self.call()? { Err(died()) } else { Ok(()) }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }

    fn has_folder(&self, path: Option<&Path>) -> io::Result<()> {
        match path.and_then(|path| self.names.get(path)) {
            Some(Node::Folder) => Ok(()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Lets a file take `bytes` bytes of the disk.
    fn take(&mut self, file: usize, bytes: u64) -> io::Result<()> {
        let linked = |index: &usize| self.names.values().any(|node| *node == Node::File(*index));
        let others = (0..self.contents.len()).filter(|index| *index != file).filter(linked);
        let used: u64 = others.map(|index| self.contents[index].taken).sum();
        if self.space.is_some_and(|space| used + bytes > space) {
            return Err(ErrorKind::StorageFull.into());
        }
        let taken = &mut self.contents[file].taken;
        *taken = bytes.max(*taken);
        Ok(())
    }
}

fn died() -> io::Error {
    io::Error::other("the process is dead")
}

/// The disk; clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDisk(Arc<Mutex<State>>);

/// Files of a disk after a power cut, or as they are seen, by path.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

impl SimulatedDisk {
    /// A disk with one durable folder.
    pub(crate) fn with_folder(folder: &Path) -> Self {
        let names = BTreeMap::from([(folder.to_owned(), Node::Folder)]);
        Self(Arc::new(Mutex::new(State {
            durable: names.clone(),
            names,
            ..State::default()
        })))
    }

    /// Another disk in the same state.
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Lets the `at`-th call from now on fail, the first being number 1.
    pub(crate) fn fail(&self, at: u64, fault: Fault) {
        let mut state = self.state();
        state.fault = Some((state.calls + at, fault));
    }

    /// Has room for `bytes` bytes of files.
    pub(crate) fn limit(&self, bytes: u64) {
        self.state().space = Some(bytes);
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// The files as programs see them.
    pub(crate) fn seen(&self) -> Files {
        let state = self.state();
        let file = |(path, node): (&PathBuf, &Node)| match node {
            Node::File(index) => Some((path.clone(), state.contents[*index].now.clone())),
            Node::Folder => None,
        };
        state.names.iter().filter_map(file).collect()
    }

    /// The files after a power cut. Seed 0 loses all that may be lost, seed 1 nothing.
    pub(crate) fn after_power_cut(&self, seed: u64) -> Files {
        let state = self.state();
        let mut random = SplitMix64::new(seed);
        let mut names = state.durable.clone();
        for change in &state.pending {
            if seed == 1 || (seed > 1 && random.next_u64() & 1 == 1) {
                change.apply(&mut names);
            }
        }
        let reachable = |path: &Path| {
            path.parent()
                .is_some_and(|above| names.get(above) == Some(&Node::Folder))
        };
        let mut files = Files::new();
        for (path, node) in &names {
            if let (Node::File(index), true) = (node, reachable(path)) {
                files.insert(path.clone(), left(&state.contents[*index], seed, &mut random));
            }
        }
        files
    }
}

/// What is left of a content.
fn left(content: &Content, seed: u64, random: &mut SplitMix64) -> Vec<u8> {
    let Content { now, durable, .. } = content;
    let cut = (random.next_u64() % (now.len() as u64 + 1)) as usize;
    match (seed, random.next_u64() % 4) {
        _ if now == durable => durable.clone(),
        (0, _) | (2.., 0) => durable.clone(),
        (1, _) | (_, 1) => now.clone(),
        (_, 2) => now[..cut].to_vec(),
        _ => [&now[..cut], &vec![0; now.len() - cut]].concat(),
    }
}

/// Writes files to a real folder, for readers of real files; `from` is the folder's simulated name.
pub(crate) fn lay_out(files: &Files, from: &Path, to: &Path) {
    fs::remove_dir_all(to).ok();
    fs::create_dir_all(to).unwrap();
    for (path, bytes) in files {
        if let Ok(name) = path.strip_prefix(from) {
            fs::create_dir_all(to.join(name).parent().unwrap()).unwrap();
            fs::write(to.join(name), bytes).unwrap();
        }
    }
}

impl Disk for SimulatedDisk {
    fn make_folder(&self, path: &Path) -> io::Result<bool> {
        let mut state = self.state();
        state.whole_call()?;
        if state.names.get(path) == Some(&Node::Folder) {
            return Ok(false);
        }
        state.has_folder(path.parent())?;
        state.change(Change::Link(path.to_owned(), Node::Folder));
        Ok(true)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        state.whole_call()?;
        state.has_folder(path.parent())?;
        let content = state.contents.len();
        state.contents.push(Content::default());
        state.change(Change::Link(path.to_owned(), Node::File(content)));
        Ok(Box::new(SimulatedFile {
            disk: self.clone(),
            content,
            at: 0,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole_call()?;
        if !state.names.contains_key(from) {
            return Err(ErrorKind::NotFound.into());
        }
        state.change(Change::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole_call()?;
        if !state.names.contains_key(path) {
            return Err(ErrorKind::NotFound.into());
        }
        state.change(Change::Unlink(path.to_owned()));
        Ok(())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut guard = self.state();
        guard.whole_call()?;
        let State { durable, pending, .. } = &mut *guard;
        pending.retain(|change| {
            let here = change.folder() == Some(path);
            if here {
                change.apply(durable);
            }
            !here
        });
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut state = self.state();
        state.whole_call()?;
        let inside = state.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.cloned().collect())
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    content: usize,
    at: usize,
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let torn = state.call()?;
        let bytes = &bytes[..bytes.len().min(WRITE_BYTES)];
        let bytes = if torn { &bytes[..bytes.len() / 2] } else { bytes };
        let end = self.at + bytes.len();
        state.take(self.content, end as u64)?;
        let now = &mut state.contents[self.content].now;
        now.resize(now.len().max(end), 0);
        now[self.at..end].copy_from_slice(bytes);
        self.at = end;
        if torn { Err(died()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SimulatedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let length = self.disk.state().contents[self.content].now.len() as i64;
        let at = match to {
            SeekFrom::Start(at) => at as i64,
            SeekFrom::Current(by) => self.at as i64 + by,
            SeekFrom::End(by) => length + by,
        };
        self.at = usize::try_from(at).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        Ok(self.at as u64)
    }
}

impl DiskFile for SimulatedFile {
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.whole_call()?;
        state.take(self.content, bytes)?;
        let now = &mut state.contents[self.content].now;
        now.resize(now.len().max(bytes as usize), 0);
        Ok(())
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.whole_call()?;
        let content = &mut state.contents[self.content];
        content.now.resize(bytes as usize, 0);
        content.taken = bytes;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.whole_call()?;
        let content = &mut state.contents[self.content];
        content.durable.clone_from(&content.now);
        Ok(())
    }
}
