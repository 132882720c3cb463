//! The checkpoint file: raw tensors, then a JSON footer that names, measures and digests them.
//!
//! ```text
//! "KILNCKP3" | tensor bytes ... | footer JSON | footer length u64 LE | SHA-256 of the footer | "KILNCKP3"
//! ```
//!
//! The footer comes last so that the file is written in one pass with bounded memory. Reading starts from the end,
//! checks the footer's digest, and checks every tensor's digest while it is read: a damaged or cut file is an error, never
//! a wrong model. Tensors fill the file without gaps, so the footer's digest, which covers theirs, stands for every byte
//! of the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use kiln_files::open_regular;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Its last byte counts versions of what the footer and the tensors hold.
const MAGIC: &[u8; 8] = b"KILNCKP3";
/// Length and digest of the footer, and the closing magic.
const TAIL_BYTES: u64 = 8 + 32 + 8;
/// No footer of ours comes near this; a larger one is damage.
const MAX_FOOTER_BYTES: u64 = 64 << 20;
const PIECE_BYTES: usize = 4 << 20;

/// What is wrong with a checkpoint file.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Cannot be opened or read.
    #[error("cannot read checkpoint `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Cut off, damaged or not a checkpoint.
    #[error("checkpoint `{}` is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// Whole, and no model that can be trained.
    #[error(
        "checkpoint `{}` holds values that are not numbers: {found} of the model's {rows} {what} have some; go on from an older \
         checkpoint, or train anew",
        path.display()
    )]
    NotNumbers {
        /// The file.
        path: PathBuf,
        /// Gaussians, or vertices, with such values.
        found: usize,
        /// All of them.
        rows: usize,
        /// What they are.
        what: &'static str,
    },
    /// Its contents are those of another version of Kiln.
    #[error("checkpoint `{}` is of format {found}, this version of Kiln reads {}", path.display(), char::from(MAGIC[7]))]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: char,
    },
    /// Sound, but of another run.
    #[error("checkpoint `{}` does not belong to this run: {what}", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Nothing is left to do from there.
    #[error("checkpoint `{}` is at iteration {iteration}, and the run is to end at {asked}", path.display())]
    Over {
        /// The file.
        path: PathBuf,
        /// Its iteration.
        iteration: u32,
        /// Iterations of the run.
        asked: u32,
    },
    /// There is nothing to resume from.
    #[error("`{}` holds no checkpoint", .0.display())]
    None(PathBuf),
}

/// A state that says which tensors hold what.
pub(super) trait Held {
    /// Groups of planes, a row for each Gaussian or vertex, whose words are all f32.
    fn floats(&self) -> &'static [&'static str];

    /// What a row is of.
    fn rows(&self) -> &'static str;
}

/// Rows of planes in which there are values that are no numbers.
#[derive(Default)]
struct Unknown(Vec<bool>);

impl Unknown {
    /// Looks at a piece of a plane, from byte `at` of it.
    fn look(&mut self, at: u64, piece: &[u8]) {
        let first = usize::try_from(at / 4).unwrap_or(usize::MAX);
        let words = piece.as_chunks::<4>().0;
        let end = first.saturating_add(words.len());
        if self.0.len() < end {
            self.0.resize(end, false);
        }
        for (row, word) in self.0[first..end].iter_mut().zip(words) {
            *row |= !f32::from_le_bytes(*word).is_finite();
        }
    }

    fn count(&self) -> usize {
        self.0.iter().filter(|row| **row).count()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    name: String,
    offset: u64,
    bytes: u64,
    sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Footer<T> {
    state: T,
    tensors: Vec<Entry>,
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes a checkpoint tensor by tensor.
pub(super) struct CheckpointWriter<W: Write> {
    out: W,
    at: u64,
    tensors: Vec<Entry>,
    open: Option<(String, u64, Sha256)>,
}

impl<W: Write> CheckpointWriter<W> {
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            at: MAGIC.len() as u64,
            tensors: Vec::new(),
            open: None,
        })
    }

    /// Starts the tensor `name`; bytes follow with [`CheckpointWriter::put`].
    pub(super) fn begin(&mut self, name: &str) {
        self.close();
        self.open = Some((name.to_owned(), self.at, Sha256::new()));
    }

    /// Appends bytes to the open tensor.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((_, _, digest)) = &mut self.open {
            digest.update(bytes);
        }
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn close(&mut self) {
        if let Some((name, offset, digest)) = self.open.take() {
            let sha256 = hex(&digest.finalize());
            self.tensors.push(Entry {
                name,
                offset,
                bytes: self.at - offset,
                sha256,
            });
        }
    }

    /// Writes the footer and gives the output back.
    pub(super) fn finish<T: Serialize>(mut self, state: &T) -> io::Result<W> {
        self.close();
        let footer = serde_json::to_vec(&Footer {
            state,
            tensors: std::mem::take(&mut self.tensors),
        })?;
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u64).to_le_bytes())?;
        self.out.write_all(&Sha256::digest(&footer))?;
        self.out.write_all(MAGIC)?;
        Ok(self.out)
    }
}

/// An opened checkpoint whose footer is sound.
#[derive(Debug)]
pub(super) struct CheckpointReader<T, R> {
    path: PathBuf,
    file: R,
    footer: Footer<T>,
}

impl<T: DeserializeOwned + Held> CheckpointReader<T, File> {
    /// Opens a file and checks every tensor, so that nothing has changed yet when it turns out to be damaged, or to hold what no step
    /// can go on from.
    pub(super) fn open_sound(path: &Path) -> Result<Self, CheckpointError> {
        let file = open_regular(path).map_err(|source| CheckpointError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::sound(path, file)
    }
}

impl<T: DeserializeOwned + Held, R: Read + Seek> CheckpointReader<T, R> {
    /// Reads the footer of `file`, which messages call `path`.
    fn new(path: &Path, mut file: R) -> Result<Self, CheckpointError> {
        let read = |source| CheckpointError::Read {
            path: path.to_owned(),
            source,
        };
        let damaged = |what: &str| CheckpointError::Damaged {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        let length = file.seek(SeekFrom::End(0)).map_err(read)?;
        file.rewind().map_err(read)?;
        if length < MAGIC.len() as u64 + TAIL_BYTES {
            return Err(damaged("it is shorter than an empty checkpoint"));
        }
        let mut head = [0; 8];
        file.read_exact(&mut head).map_err(read)?;
        file.seek(SeekFrom::Start(length - TAIL_BYTES)).map_err(read)?;
        let mut tail = [0; TAIL_BYTES as usize];
        file.read_exact(&mut tail).map_err(read)?;
        let (size, rest) = tail.split_at(8);
        let (digest, end) = rest.split_at(32);
        let other = head[..7] == MAGIC[..7] && head[7].is_ascii_alphanumeric() && head[7] != MAGIC[7];
        if other && end == head {
            return Err(CheckpointError::Format {
                path: path.to_owned(),
                found: char::from(head[7]),
            });
        }
        if &head != MAGIC || end != MAGIC {
            return Err(damaged("it does not begin and end as a checkpoint does"));
        }
        let size = u64::from_le_bytes(size.try_into().unwrap_or_default());
        if size > MAX_FOOTER_BYTES || size > length - TAIL_BYTES - MAGIC.len() as u64 {
            return Err(damaged("its footer has an impossible length"));
        }
        file.seek(SeekFrom::Start(length - TAIL_BYTES - size)).map_err(read)?;
        let mut footer = vec![0; usize::try_from(size).unwrap_or(0)];
        file.read_exact(&mut footer).map_err(read)?;
        if Sha256::digest(&footer).as_slice() != digest {
            return Err(damaged("its footer does not match its digest"));
        }
        let footer: Footer<T> =
            serde_json::from_slice(&footer).map_err(|e| damaged(&format!("its footer is not readable: {e}")))?;
        let mut end = MAGIC.len() as u64;
        for tensor in &footer.tensors {
            if tensor.offset != end {
                return Err(damaged("its tensors do not follow one another"));
            }
            end = end.saturating_add(tensor.bytes);
        }
        if end != length - TAIL_BYTES - size {
            return Err(damaged("its tensors do not end where its footer begins"));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            footer,
        })
    }

    /// [`CheckpointReader::open_sound`] on any reader.
    pub(super) fn sound(path: &Path, file: R) -> Result<Self, CheckpointError> {
        let mut reader = Self::new(path, file)?;
        let (floats, mut unknown) = (reader.state().floats(), Unknown::default());
        for index in 0..reader.footer.tensors.len() {
            let name = reader.footer.tensors[index].name.as_str();
            let group = name.rsplit_once('.').map_or(name, |(group, _)| group);
            match floats.contains(&group) {
                true => reader.read_entry(index, |at, piece| unknown.look(at, piece))?,
                false => reader.read_entry(index, |_, _| {})?,
            }
        }
        match unknown.count() {
            0 => Ok(reader),
            found => Err(CheckpointError::NotNumbers {
                path: path.to_owned(),
                found,
                rows: unknown.0.len(),
                what: reader.state().rows(),
            }),
        }
    }

    /// The state in the footer.
    pub(super) fn state(&self) -> &T {
        &self.footer.state
    }

    /// Reads tensor `name` of exactly `bytes` bytes in pieces, checking its digest at the end.
    pub(crate) fn read(&mut self, name: &str, bytes: u64, take: impl FnMut(u64, &[u8])) -> Result<(), CheckpointError> {
        let tensors = &self.footer.tensors;
        match tensors.iter().position(|tensor| tensor.name == name) {
            None => Err(self.damaged(format!("tensor `{name}` is missing"))),
            Some(index) if tensors[index].bytes != bytes => Err(self.damaged(format!(
                "tensor `{name}` has {} bytes, expected {bytes}",
                tensors[index].bytes
            ))),
            Some(index) => self.read_entry(index, take),
        }
    }

    fn damaged(&self, what: String) -> CheckpointError {
        CheckpointError::Damaged {
            path: self.path.clone(),
            what,
        }
    }

    fn read_entry(&mut self, index: usize, mut take: impl FnMut(u64, &[u8])) -> Result<(), CheckpointError> {
        let Some(Entry {
            name,
            offset,
            bytes,
            sha256,
        }) = self.footer.tensors.get(index).cloned()
        else {
            return Ok(());
        };
        let path = &self.path;
        let read = |source| CheckpointError::Read {
            path: path.clone(),
            source,
        };
        self.file.seek(SeekFrom::Start(offset)).map_err(read)?;
        let mut digest = Sha256::new();
        let mut piece = vec![0; usize::try_from(bytes).unwrap_or(PIECE_BYTES).min(PIECE_BYTES)];
        let mut at = 0u64;
        while at < bytes {
            let want = usize::try_from(bytes - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let Some(part) = piece.get_mut(..want) else { break };
            self.file.read_exact(part).map_err(read)?;
            digest.update(&*part);
            take(at, part);
            at += want as u64;
        }
        if hex(&digest.finalize()) != sha256 {
            return Err(self.damaged(format!("tensor `{name}` does not match its digest")));
        }
        Ok(())
    }
}
