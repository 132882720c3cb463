//! Where the Gaussians of levels come from: a model in memory, or a PLY file that is read in parts.

use std::path::Path;

use kiln_formats::sog::levels::{Cloud, LEAF, Tree};

use super::super::PlyParts;
use super::partition::Partition;
use super::{Chosen, DeliveryError, Stop};
use kiln_config::plugins::Subset;

/// Gaussians read at a time.
const PART: usize = 1 << 16;

/// The Gaussians of a delivery.
pub(super) enum Source<'a> {
    /// Of a model.
    Model(&'a Chosen<'a>),
    /// Of a file, with the part of it that is wanted; how many are the strongest is not known of parts.
    File(&'a mut PlyParts, Subset, Stop<'a>),
}

impl<'a> Source<'a> {
    /// Says when the delivery is not wanted any more.
    pub(super) const fn stop(&self) -> Stop<'a> {
        match self {
            Self::Model(chosen) => chosen.stop(),
            Self::File(.., stop) => *stop,
        }
    }

    /// The tree of leaves over the centres.
    pub(super) fn tree(&mut self) -> Result<Tree, DeliveryError> {
        let mut centres: Vec<[f32; 3]> = Vec::with_capacity(match self {
            Self::Model(chosen) => chosen.len(),
            Self::File(parts, ..) => parts.len(),
        });
        match self {
            Self::Model(chosen) => centres.extend((0..chosen.len()).map(|index| chosen.mean(index))),
            Self::File(parts, subset, stop) => {
                each_part(parts, subset, *stop, &mut |chosen| {
                    centres.extend((0..chosen.len()).map(|index| chosen.mean(index)));
                    Ok(())
                })?;
            }
        }
        Ok(Tree::new(&centres, LEAF))
    }

    /// The leaves of that tree; what does not fit into memory goes to files in `folder`.
    pub(super) fn leaves<'b>(&'b mut self, tree: &'b Tree, folder: &Path) -> Result<Leaves<'b>, DeliveryError> {
        match self {
            Self::Model(chosen) => Ok(Leaves::Model(chosen, tree)),
            Self::File(parts, subset, stop) => {
                let sh_degree = subset.sh_degree.unwrap_or(3).min(parts.sh_degree());
                let mut partition = Partition::new(tree, sh_degree, folder);
                each_part(parts, subset, *stop, &mut |chosen| partition.add(chosen))?;
                partition.end()?;
                Ok(Leaves::File(partition, tree))
            }
        }
    }
}

/// Passes the chosen Gaussians of all parts of a file, in its order.
fn each_part(
    parts: &mut PlyParts,
    subset: &Subset,
    stop: Stop<'_>,
    take: &mut dyn FnMut(&Chosen<'_>) -> Result<(), DeliveryError>,
) -> Result<(), DeliveryError> {
    let mut any = false;
    let mut bounds = None;
    for start in (0..parts.len()).step_by(PART) {
        stop.check()?;
        let part = parts.read(start..start + PART)?;
        match Chosen::new(&part, subset) {
            Ok(chosen) => {
                any = true;
                take(&chosen)?;
            }
            Err(DeliveryError::NoGaussians) => {}
            Err(DeliveryError::OutsideCrop { low, high }) => {
                let [lowest, highest] = bounds.get_or_insert([low, high]);
                for axis in 0..3 {
                    lowest[axis] = lowest[axis].min(low[axis]);
                    highest[axis] = highest[axis].max(high[axis]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    match (any, bounds) {
        (true, _) => Ok(()),
        (false, Some([low, high])) => Err(DeliveryError::OutsideCrop { low, high }),
        (false, None) => Err(DeliveryError::NoGaussians),
    }
}

/// Leaves to be read one after the other.
pub(super) enum Leaves<'a> {
    /// Of a model.
    Model(&'a Chosen<'a>, &'a Tree),
    /// Of a file.
    File(Partition, &'a Tree),
}

impl Leaves<'_> {
    /// SH degree of all.
    pub(super) fn sh_degree(&self) -> u32 {
        match self {
            Self::Model(chosen, _) => chosen.sh_degree(),
            Self::File(partition, _) => partition.sh_degree(),
        }
    }

    /// The Gaussians of a leaf; leaves are asked for in their order.
    pub(super) fn read(&mut self, leaf: usize) -> Result<Cloud, DeliveryError> {
        match self {
            Self::Model(chosen, tree) => {
                let mut cloud = Cloud::new(chosen.sh_degree());
                let members = tree.members(leaf).iter();
                members.for_each(|&member| cloud.push(*chosen, member as usize));
                Ok(cloud)
            }
            Self::File(partition, tree) => partition.read(leaf, tree.members(leaf)),
        }
    }
}
