//! The second reading: rows into buckets by code, and buckets in order to the output.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use kiln_files::{open_regular, read_regular};

use super::code::CODE_BITS;
use super::models::OpenModel;
use super::survey::hexadecimal;
use super::{LEAST_MEMORY_BYTES, MergeError, Survey};

/// Gaussians of a chunk.
pub const CHUNK_GAUSSIANS: u64 = 1 << 17;
/// Most files that are written to at a time.
const MOST_BUCKETS: u64 = 256;
/// Bins of a histogram.
const BINS: u64 = 1 << 16;
/// Most bytes that wait for each of these files.
const MOST_BUFFER_BYTES: u64 = 1 << 16;

/// Consecutive Gaussians of the merged model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunk {
    /// The first of them.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Box of their centres, world units: smallest and largest corner.
    pub centers: [[f32; 3]; 2],
    /// Box of all places within three standard deviations of a centre.
    pub reach: [[f32; 3]; 2],
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// Bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    pub digest: String,
    /// The chunks, in the order of the file.
    pub chunks: Vec<Chunk>,
}

/// Codes from `low` up to `high`, which is not one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    low: u64,
    high: u64,
}

impl Span {
    /// Bits that codes are shifted by so that they fall into [`BINS`] bins.
    const fn shift(self) -> u32 {
        let last = self.high - 1 - self.low;
        let bits = u64::BITS - last.leading_zeros();
        bits.saturating_sub(BINS.trailing_zeros())
    }
}

/// Rows of consecutive codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    span: Span,
    count: u64,
}

/// Bins of equal width as consecutive buckets of at most `limit` rows, of more where there would be too many buckets or a bin
/// alone has more. Empty ones are left out.
fn buckets(histogram: &[u64], span: Span, shift: u32, limit: u64) -> Vec<Bucket> {
    let all: u64 = histogram.iter().sum();
    // Two neighbours have more than the limit together, so there are at most twice as many as full ones.
    let limit = limit.max((2 * all).div_ceil(MOST_BUCKETS - 1));
    let mut found: Vec<Bucket> = Vec::new();
    for (bin, count) in (0_u64..).zip(histogram) {
        let low = span.low + (bin << shift);
        let high = (low + (1 << shift)).min(span.high);
        match found.last_mut() {
            Some(last) if last.count + count <= limit => {
                last.span.high = high;
                last.count += count;
            }
            _ if *count > 0 => found.push(Bucket {
                span: Span { low, high },
                count: *count,
            }),
            _ => {}
        }
    }
    found
}

impl Survey {
    /// Writes the merged model, header and rows, to `out`. Buckets go to `scratch`, an empty folder, and are gone in the end; together
    /// they are as large as the model.
    ///
    /// # Errors
    /// [`MergeError`] when a model changed since it was read, or a file cannot be written: `named` is how messages call `out`.
    pub fn write(
        &self,
        out: &mut dyn Write,
        named: &Path,
        scratch: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<Merged, MergeError> {
        let memory = self.options.memory_bytes.max(LEAST_MEMORY_BYTES);
        let stride = self.layout.stride() as u64;
        let limit = (memory / (3 * stride)).max(1);
        let buffer_bytes = (memory / 8 / MOST_BUCKETS).min(MOST_BUFFER_BYTES) as usize;
        let span = Span {
            low: 0,
            high: 1 << CODE_BITS,
        };
        let parts = buckets(&self.histogram, span, span.shift(), limit);
        let sorter = Sorter {
            survey: self,
            scratch,
            limit,
            buffer_bytes,
            stop,
        };
        let header = self.header().to_string();
        let mut output = Output {
            survey: self,
            out,
            named,
            digest: Sha256::new(),
            bytes: 0,
            chunks: Vec::new(),
        };
        output.put(header.as_bytes())?;
        let mut files = sorter.files("b", &parts)?;
        for (model, kept) in self.models.iter().zip(&self.kept) {
            let open = OpenModel::open(&model.path)?;
            let is_same = open.layout.difference(&self.layout).is_none() && open.count == kept.trained;
            let mut found = 0;
            if is_same {
                open.pieces(|piece| {
                    sorter.go_on()?;
                    for row in piece.chunks_exact(self.layout.stride()) {
                        let place = self.layout.place(row);
                        let flat = self.ground.flat(place.map(f64::from));
                        if place.iter().all(|x| x.is_finite()) && model.core.contains(flat) {
                            found += 1;
                            files.append(self.options.frame.code(place), row)?;
                        }
                    }
                    Ok(())
                })?;
            }
            if !is_same || found != kept.kept {
                return Err(MergeError::Changed(model.path.clone()));
            }
        }
        let paths = files.close()?;
        for (bucket, path) in parts.iter().zip(&paths) {
            sorter.sort(*bucket, path, &mut output)?;
        }
        Ok(Merged {
            bytes: output.bytes,
            digest: hexadecimal(output.digest),
            chunks: output.chunks,
        })
    }
}

/// What every bucket is sorted with.
struct Sorter<'a> {
    survey: &'a Survey,
    scratch: &'a Path,
    /// Most rows that are sorted in memory.
    limit: u64,
    /// Bytes that wait for a file.
    buffer_bytes: usize,
    stop: &'a dyn Fn() -> bool,
}

impl Sorter<'_> {
    fn go_on(&self) -> Result<(), MergeError> {
        if (self.stop)() {
            Err(MergeError::Stopped)
        } else {
            Ok(())
        }
    }

    /// New files for buckets, named after `prefix`.
    fn files(&self, prefix: &str, parts: &[Bucket]) -> Result<Files, MergeError> {
        let open = |(number, part): (usize, &Bucket)| {
            let path = self.scratch.join(format!("{prefix}-{number}"));
            let file = File::create_new(&path).map_err(MergeError::write(&path))?;
            Ok(BucketFile {
                path,
                last: part.span.high - 1,
                left: part.count,
                file: BufWriter::with_capacity(self.buffer_bytes, file),
            })
        };
        let files = parts.iter().enumerate().map(open).collect::<Result<_, _>>()?;
        Ok(Files { files })
    }

    /// Sends the rows of a bucket in order to the output and removes its file.
    fn sort(&self, bucket: Bucket, path: &Path, output: &mut Output<'_>) -> Result<(), MergeError> {
        self.go_on()?;
        let stride = self.survey.layout.stride();
        let code = |row: &[u8]| self.survey.options.frame.code(self.survey.layout.place(row));
        if bucket.count <= self.limit {
            let rows = read_regular(path, u64::MAX).map_err(read_error(path))?;
            let mut order: Vec<(u64, u32)> = (0..)
                .zip(rows.chunks_exact(stride))
                .map(|(at, row)| (code(row), at))
                .collect();
            // Of equal codes the one that came first: its block, or its place in the file, is lower.
            order.sort_unstable();
            for (_, at) in order {
                let start = at as usize * stride;
                output.row(&rows[start..start + stride])?;
            }
        } else if bucket.span.high - bucket.span.low == 1 {
            // All of one code: they are in order as they came.
            self.rows(path, |row| output.row(row))?;
        } else {
            let shift = bucket.span.shift();
            let mut histogram = vec![0_u64; BINS as usize];
            self.rows(path, |row| {
                histogram[((code(row) - bucket.span.low) >> shift) as usize] += 1;
                Ok(())
            })?;
            let parts = buckets(&histogram, bucket.span, shift, self.limit);
            drop(histogram);
            let prefix = path.file_name().unwrap_or_default().to_string_lossy();
            let mut files = self.files(&prefix, &parts)?;
            self.rows(path, |row| files.append(code(row), row))?;
            let paths = files.close()?;
            fs::remove_file(path).map_err(MergeError::write(path))?;
            for (part, path) in parts.iter().zip(&paths) {
                self.sort(*part, path, output)?;
            }
            return Ok(());
        }
        fs::remove_file(path).map_err(MergeError::write(path))
    }

    fn rows(&self, path: &Path, mut take: impl FnMut(&[u8]) -> Result<(), MergeError>) -> Result<(), MergeError> {
        let mut row = vec![0; self.survey.layout.stride()];
        let mut file = BufReader::with_capacity(1 << 18, open_regular(path).map_err(read_error(path))?);
        loop {
            match file.read_exact(&mut row) {
                Ok(()) => take(&row)?,
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return self.go_on(),
                Err(e) => return Err(read_error(path)(e)),
            }
        }
    }
}

fn read_error(path: &Path) -> impl FnOnce(io::Error) -> MergeError {
    let path = path.to_owned();
    move |e| MergeError::model(&path, format!("cannot be read: {e}"))
}

/// Files of buckets, by ascending codes.
struct Files {
    files: Vec<BucketFile>,
}

struct BucketFile {
    path: PathBuf,
    /// Largest code.
    last: u64,
    /// Rows that were announced and did not come yet.
    left: u64,
    file: BufWriter<File>,
}

impl Files {
    fn append(&mut self, code: u64, row: &[u8]) -> Result<(), MergeError> {
        let at = self.files.partition_point(|bucket| bucket.last < code);
        // A row that nobody announced is one of a file that changed; the count of its block shows it.
        if let Some(bucket) = self.files.get_mut(at)
            && bucket.left > 0
        {
            bucket.left -= 1;
            bucket.file.write_all(row).map_err(MergeError::write(&bucket.path))?;
        }
        Ok(())
    }

    fn close(self) -> Result<Vec<PathBuf>, MergeError> {
        let close = |bucket: BucketFile| {
            let fail = MergeError::write(&bucket.path);
            if bucket.left > 0 {
                return Err(MergeError::Changed(bucket.path));
            }
            match bucket.file.into_inner() {
                Ok(_) => Ok(bucket.path),
                Err(e) => Err(fail(e.into_error())),
            }
        };
        self.files.into_iter().map(close).collect()
    }
}

/// The merged file while it grows.
struct Output<'a> {
    survey: &'a Survey,
    out: &'a mut dyn Write,
    named: &'a Path,
    digest: Sha256,
    bytes: u64,
    chunks: Vec<Chunk>,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), MergeError> {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(MergeError::write(self.named))
    }

    fn row(&mut self, row: &[u8]) -> Result<(), MergeError> {
        let layout = &self.survey.layout;
        let (place, reach) = (layout.place(row), layout.reach(row));
        let first = self.chunks.last().map_or(0, |chunk| chunk.first + chunk.count);
        let chunk = match self.chunks.last_mut() {
            Some(chunk) if chunk.count < CHUNK_GAUSSIANS => chunk,
            _ => {
                let nothing = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];
                self.chunks.push(Chunk {
                    first,
                    count: 0,
                    centers: nothing,
                    reach: nothing,
                });
                match self.chunks.last_mut() {
                    Some(chunk) => chunk,
                    None => return Ok(()),
                }
            }
        };
        chunk.count += 1;
        for ([low, high], far) in [(&mut chunk.centers, 0.0), (&mut chunk.reach, reach)] {
            for ((low, high), x) in low.iter_mut().zip(high).zip(place) {
                *low = low.min(x - far);
                *high = high.max(x + far);
            }
        }
        self.put(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_the_limit_and_part_what_is_larger() {
        let span = Span { low: 0, high: 1 << 20 };
        assert_eq!(span.shift(), 4);
        let mut histogram = vec![0; BINS as usize];
        for (bin, count) in [(3, 5), (9, 4), (10, 2), (700, 40), (701, 1)] {
            histogram[bin] = count;
        }
        let found = buckets(&histogram, span, 4, 10);
        let seen: Vec<(u64, u64, u64)> = found.iter().map(|b| (b.span.low, b.span.high, b.count)).collect();
        assert_eq!(
            seen,
            [(48, 160, 9), (160, 11200, 2), (11200, 11216, 40), (11216, 1 << 20, 1)]
        );
        let whole = buckets(&vec![1; BINS as usize], span, 4, 10);
        assert!(whole.len() <= MOST_BUCKETS as usize, "{}", whole.len());
        assert_eq!(whole.iter().map(|bucket| bucket.count).sum::<u64>(), BINS);
        assert_eq!(Span { low: 7, high: 8 }.shift(), 0);
        assert_eq!(Span { low: 0, high: 1 << 63 }.shift(), 47);
    }
}
