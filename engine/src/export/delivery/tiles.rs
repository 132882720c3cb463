//! 3D Tiles 1.1: `tileset.json` over a tree of GLB files with Gaussians in SPZ.
//!
//! A tile is a part of the tree of leaves, at the level that leaves it with about as many Gaussians as a leaf has; its two
//! halves replace it (`REPLACE`) with a level more, down to the leaves with the model itself. Boxes are in the axes of tiles, z
//! up, and take in all tiles below.

use std::path::Path;

use kiln_formats::sog::levels::{Cloud, Node, each_leaf};
use kiln_formats::{Error, sog::Splats as _};
use serde_json::{Value, json};

use super::super::PlyComments;
use super::source::Source;
use super::tile::{self, EXTENSIONS};
use super::{DeliveryError, folder};

/// Name of the file that describes the tree.
pub(super) const INDEX: &str = "tileset.json";
/// Standard deviations that boxes take in.
const REACH: f64 = 3.0;
/// Geometric error for the median size of a tile's Gaussians. Viewers show halves where the error covers more than 16 pixels as
/// a rule: a standard deviation of two then.
const ERROR: f64 = 8.0;

/// A part of the tree.
struct Tile {
    /// Levels below the finest.
    height: usize,
    /// Its leaves.
    leaves: std::ops::Range<usize>,
    halves: Option<[usize; 2]>,
    /// What came of its leaves.
    content: Cloud,
    /// Gaussians of it.
    count: u64,
    uri: String,
    bounds: [[f32; 3]; 2],
    error: f64,
    /// Step of its positions, and how large half of its Gaussians are at least.
    position_step: [f64; 2],
}

/// What was written.
pub(super) struct Written {
    /// Gaussians of each level, finest first.
    pub(super) levels: Vec<u64>,
    /// Step of positions and size of Gaussians in the leaf where the step is largest for them.
    pub(super) position_step: [f64; 2],
}

/// Writes the folder.
pub(super) fn write(path: &Path, source: &mut Source<'_>, comments: PlyComments) -> Result<Written, DeliveryError> {
    let tree = source.tree()?;
    let stop = source.stop();
    folder::write(path, stop, |files| {
        let mut leaves = source.leaves(&tree, files.root()).map_err(|error| files.fail(error))?;
        let mut tiles = Vec::new();
        let root = add(&tree.root, leaves.sh_degree(), &mut tiles);
        let n_levels = tiles[root].height + 1;
        // both closures may keep an error
        let files = std::cell::RefCell::new(files);
        let mut gather = |leaf| {
            files.borrow_mut().check()?;
            leaves.read(leaf).map_err(|error| files.borrow_mut().fail(error))
        };
        each_leaf(&tree, n_levels, &mut gather, &mut |leaf, levels| {
            for tile in tiles.iter_mut().filter(|tile| tile.leaves.contains(&leaf)) {
                tile.content.append(&levels[tile.height]);
                if tile.leaves.end == leaf + 1 {
                    tile.count = tile.content.len() as u64;
                    finish(tile, comments, &mut files.borrow_mut())?;
                }
            }
            Ok(())
        })?;
        let text = serde_json::to_vec(&tileset(&mut tiles, root, comments.origin)).map_err(|e| Error::Io(e.into()))?;
        files.borrow_mut().put(INDEX, &text)?;
        let coarse = |tile: &Tile| tile.position_step[0] / tile.position_step[1];
        let leaves = tiles.iter().filter(|tile| tile.halves.is_none());
        let worst = leaves.max_by(|a, b| coarse(a).total_cmp(&coarse(b)));
        Ok(Written {
            levels: (0..n_levels).map(|height| shown(&tiles, root, height)).collect(),
            position_step: worst.map_or([0.0; 2], |tile| tile.position_step),
        })
    })
}

/// Gaussians that are shown where parts higher than this give way to their halves.
fn shown(tiles: &[Tile], at: usize, height: usize) -> u64 {
    match tiles[at].halves {
        Some(halves) if tiles[at].height > height => halves.map(|half| shown(tiles, half, height)).iter().sum(),
        _ => tiles[at].count,
    }
}

/// Adds a part of the tree below all that is in it, and gives its place.
fn add(node: &Node, sh_degree: u32, tiles: &mut Vec<Tile>) -> usize {
    let (height, leaves, halves) = match node {
        Node::Leaf(leaf) => (0, *leaf..leaf + 1, None),
        Node::Halves(both) => {
            let halves = [&both[0], &both[1]].map(|half| add(half, sh_degree, tiles));
            let [a, b] = halves.map(|half| &tiles[half]);
            (1 + a.height.max(b.height), a.leaves.start..b.leaves.end, Some(halves))
        }
    };
    tiles.push(Tile {
        height,
        uri: format!("{height}/{}.glb", leaves.start),
        leaves,
        halves,
        content: Cloud::new(sh_degree),
        count: 0,
        bounds: [[0.0; 3]; 2],
        error: 0.0,
        position_step: [0.0; 2],
    });
    tiles.len() - 1
}

/// Writes a tile whose leaves have all come.
fn finish(tile: &mut Tile, comments: PlyComments, files: &mut folder::Files<'_>) -> Result<(), Error> {
    let cloud = std::mem::take(&mut tile.content).in_morton_order();
    tile.bounds = cloud.bounds(REACH);
    if tile.halves.is_some() {
        let mut sizes: Vec<f64> = (0..cloud.len()).map(|index| cloud.size(index)).collect();
        let middle = sizes.len() / 2;
        tile.error = ERROR * *sizes.select_nth_unstable_by(middle, f64::total_cmp).1;
    }
    let (bytes, position_step) = tile::bytes(&cloud, comments).map_err(Error::Io)?;
    tile.position_step = position_step;
    files.put(&tile.uri, &bytes)
}

fn tileset(tiles: &mut [Tile], root: usize, origin: Option<[f64; 3]>) -> Value {
    // halves come before what they are halves of
    for at in 0..tiles.len() {
        let Some(halves) = tiles[at].halves else { continue };
        for half in halves {
            let ([low, high], error) = (tiles[half].bounds, tiles[half].error);
            let tile = &mut tiles[at];
            tile.error = tile.error.max(error);
            tile.bounds = [
                std::array::from_fn(|axis| tile.bounds[0][axis].min(low[axis])),
                std::array::from_fn(|axis| tile.bounds[1][axis].max(high[axis])),
            ];
        }
    }
    let [low, high] = tiles[root].bounds;
    let diagonal = (0..3).map(|axis| (f64::from(high[axis]) - f64::from(low[axis])).powi(2));
    let mut top = described(tiles, root);
    if let Some([x, y, z]) = origin.map(turned) {
        top["transform"] = json!([1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, x, y, z, 1.0]);
    }
    json!({
        "asset": { "version": "1.1", "generator": concat!("kiln ", env!("CARGO_PKG_VERSION")) },
        "extensionsUsed": ["3DTILES_content_gltf"],
        "extensionsRequired": ["3DTILES_content_gltf"],
        // where viewers look before they choose how to draw
        "extensions": { "3DTILES_content_gltf": { "extensionsUsed": EXTENSIONS, "extensionsRequired": EXTENSIONS } },
        // what is missing when nothing is shown
        "geometricError": diagonal.sum::<f64>().sqrt(),
        "root": top,
    })
}

fn described(tiles: &[Tile], at: usize) -> Value {
    let tile = &tiles[at];
    let [low, high] = tile.bounds.map(|corner| turned(corner.map(f64::from)));
    let middle: [f64; 3] = std::array::from_fn(|axis| (low[axis] + high[axis]) / 2.0);
    let half: [f64; 3] = std::array::from_fn(|axis| (high[axis] - low[axis]).abs() / 2.0);
    let ([x, y, z], [a, b, c]) = (middle, half);
    let mut value = json!({
        "boundingVolume": { "box": [x, y, z, a, 0.0, 0.0, 0.0, b, 0.0, 0.0, 0.0, c] },
        "geometricError": tile.error.min(f64::from(f32::MAX)),
        "refine": "REPLACE",
        "content": { "uri": tile.uri },
    });
    if let Some(halves) = tile.halves {
        value["children"] = halves.map(|half| described(tiles, half)).to_vec().into();
    }
    value
}

/// From the scene's axes to those of tiles: viewers turn the y axis of glTF, which is up there, into z.
fn turned([x, y, z]: [f64; 3]) -> [f64; 3] {
    [x, z, -y]
}
