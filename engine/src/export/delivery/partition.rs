//! Gaussians that come in the order of a file and leave in that of leaves, in little memory.
//!
//! Neighbouring leaves share a bucket. One bucket alone stays in memory; more of them are files, which are read one after the
//! other and removed when they have been.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kiln_files::{open_appending, read_regular};
use kiln_formats::sog::Splats;
use kiln_formats::sog::levels::{Cloud, Tree};

use super::super::ExportError;
use super::{Chosen, DeliveryError};

/// Bytes of a bucket, at most, unless a leaf alone is larger.
const BUCKET_BYTES: usize = 64 << 20;
/// Bytes of a bucket that wait to be written.
const BUFFER_BYTES: usize = 1 << 17;

/// The buckets, being filled and then read.
pub(super) struct Partition {
    sh_degree: u32,
    folder: PathBuf,
    /// Bytes of a Gaussian: its number and its values.
    stride: usize,
    /// The bucket of each leaf, and of each Gaussian while they come.
    of_leaf: Vec<u32>,
    of_number: Vec<u32>,
    next: u32,
    /// What waits for each bucket.
    waiting: Vec<Vec<u8>>,
    /// The bucket in memory.
    open: (u32, Vec<u8>),
}

impl Partition {
    /// Without Gaussians yet; files go into `folder`.
    pub(super) fn new(tree: &Tree, sh_degree: u32, folder: &Path) -> Self {
        Self::with_buckets(tree, sh_degree, folder, BUCKET_BYTES)
    }

    fn with_buckets(tree: &Tree, sh_degree: u32, folder: &Path, bytes: usize) -> Self {
        let values = 14 + 3 * ((sh_degree as usize + 1).pow(2) - 1);
        let stride = 4 + 4 * values;
        let (mut bucket, mut filled) = (0, 0);
        let mut of_number = vec![0; tree.len()];
        let mut of_leaf = Vec::with_capacity(tree.n_leaves());
        for leaf in 0..tree.n_leaves() {
            let members = tree.members(leaf);
            if filled > 0 && filled + members.len() * stride > bytes {
                (bucket, filled) = (bucket + 1, 0);
            }
            filled += members.len() * stride;
            of_leaf.push(bucket);
            members.iter().for_each(|&member| of_number[member as usize] = bucket);
        }
        Self {
            sh_degree,
            folder: folder.to_owned(),
            stride,
            of_leaf,
            of_number,
            next: 0,
            waiting: vec![Vec::new(); bucket as usize + 1],
            open: (u32::MAX, Vec::new()),
        }
    }

    pub(super) const fn sh_degree(&self) -> u32 {
        self.sh_degree
    }

    /// Adds the Gaussians that come next.
    pub(super) fn add(&mut self, chosen: &Chosen<'_>) -> Result<(), DeliveryError> {
        let in_files = self.waiting.len() > 1;
        for index in 0..chosen.len() {
            let number = self.next;
            self.next += 1;
            // a file that grew since the first reading has more than the tree knows
            let Some(&bucket) = self.of_number.get(number as usize) else {
                return Err(self.changed());
            };
            let waiting = &mut self.waiting[bucket as usize];
            waiting.extend(number.to_le_bytes());
            let mean = Splats::mean(chosen, index);
            let values = mean
                .iter()
                .chain(&Splats::quat(chosen, index))
                .copied()
                .collect::<Vec<f32>>();
            let log_scales = Splats::log_scales(chosen, index);
            let opacity = [Splats::opacity(chosen, index)];
            let colour = Splats::sh0(chosen, index);
            let rest = Splats::rest(chosen, index);
            let all = values
                .iter()
                .chain(&log_scales)
                .chain(&opacity)
                .chain(&colour)
                .chain(rest);
            all.for_each(|value| waiting.extend(value.to_le_bytes()));
            if in_files && waiting.len() >= BUFFER_BYTES {
                self.flush(bucket)?;
            }
        }
        Ok(())
    }

    /// No more Gaussians come.
    pub(super) fn end(&mut self) -> Result<(), DeliveryError> {
        if self.next as usize != self.of_number.len() {
            return Err(self.changed());
        }
        self.of_number = Vec::new();
        if let [all] = &mut self.waiting[..] {
            self.open = (0, std::mem::take(all));
            return Ok(());
        }
        for bucket in 0..self.waiting.len() {
            self.flush(bucket as u32)?;
        }
        self.waiting = Vec::new();
        Ok(())
    }

    /// The Gaussians of a leaf, whose numbers ascend; leaves are asked for in their order.
    pub(super) fn read(&mut self, leaf: usize, members: &[u32]) -> Result<Cloud, DeliveryError> {
        let bucket = self.of_leaf[leaf];
        if self.open.0 != bucket {
            let path = self.path(bucket);
            // the last one is let go before the next comes
            self.open = (bucket, Vec::new());
            self.open.1 = read_regular(&path, u64::MAX).map_err(|e| ExportError::new(&path, e))?;
            fs::remove_file(&path).map_err(|e| ExportError::new(&path, e))?;
        }
        let mut cloud = Cloud::new(self.sh_degree);
        let mut rows = self.open.1.chunks_exact(self.stride);
        for member in members {
            let row = rows.find(|row| row[..4] == member.to_le_bytes());
            let row = row.ok_or_else(|| self.changed())?;
            push(&mut cloud, &row[4..]);
        }
        Ok(cloud)
    }

    fn path(&self, bucket: u32) -> PathBuf {
        self.folder.join(format!("bucket-{bucket}.tmp"))
    }

    fn flush(&mut self, bucket: u32) -> Result<(), DeliveryError> {
        let path = self.path(bucket);
        let waiting = &mut self.waiting[bucket as usize];
        let append = || -> io::Result<()> { open_appending(&path)?.write_all(waiting) };
        append().map_err(|e| ExportError::new(&path, e))?;
        waiting.clear();
        Ok(())
    }

    fn changed(&self) -> DeliveryError {
        let changed = io::Error::other("the model changed while it was read");
        ExportError::new(&self.folder, changed).into()
    }
}

/// Adds a Gaussian of its bytes.
fn push(cloud: &mut Cloud, row: &[u8]) {
    let mut values = row
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let mut next = || values.next().unwrap_or(0.0);
    cloud.means.push([next(), next(), next()]);
    cloud.quats.push([next(), next(), next(), next()]);
    cloud.log_scales.push([next(), next(), next()]);
    cloud.opacities.push(next());
    cloud.sh0.push([next(), next(), next()]);
    cloud.sh_rest.extend(values);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::plugins::Subset;
    use kiln_gaussians::Gaussians;

    /// Whatever the number of buckets, leaves hold what the model holds, and no file is left.
    #[test]
    fn leaves_are_those_of_the_model() {
        let n = 1000;
        let model = Gaussians {
            sh_degree: 1,
            means: (0..n)
                .map(|i| [(i * 7919 % n) as f32, (i * 31 % 97) as f32, 0.5])
                .collect(),
            quats: vec![[0.5, 0.5, -0.5, 0.5]; n],
            log_scales: (0..n).map(|i| [-3.0 - i as f32 * 1e-3, -4.0, -5.0]).collect(),
            logit_opacities: (0..n).map(|i| i as f32 * 0.01 - 5.0).collect(),
            sh0: vec![[0.1, 0.2, 0.3]; n],
            sh_rest: (0..n * 9).map(|i| i as f32).collect(),
            filter_3d: vec![0.0; n],
        };
        let chosen = Chosen::new(&model, &Subset::default()).unwrap();
        let tree = Tree::new(&model.means, 40);
        let folder = std::env::temp_dir().join(format!("kiln-partition-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for bytes in [1, 10_000, 1 << 20] {
            let mut partition = Partition::with_buckets(&tree, 1, &folder, bytes);
            partition.add(&chosen).unwrap();
            partition.end().unwrap();
            assert_eq!(fs::read_dir(&folder).unwrap().count() == 0, bytes == 1 << 20);
            for leaf in 0..tree.n_leaves() {
                let mut wanted = Cloud::new(1);
                let members = tree.members(leaf);
                members.iter().for_each(|&member| wanted.push(&chosen, member as usize));
                assert_eq!(partition.read(leaf, members).unwrap(), wanted);
            }
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        }
        let mut partition = Partition::with_buckets(&tree, 1, &folder, 1 << 20);
        assert!(partition.end().unwrap_err().to_string().contains("changed"));
        partition.add(&chosen).unwrap();
        assert!(partition.add(&chosen).unwrap_err().to_string().contains("changed"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
