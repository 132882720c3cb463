//! Triangles of a mesh in a tree of boxes.

use std::ops::Range;

use crate::Mesh;
use crate::mesh::centre;

/// Ranges this short are leaves.
const LEAF: usize = 6;
/// No box, and no place.
const NO_BOX: Box = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];

/// Lower and upper corner.
pub(crate) type Box = [[f32; 3]; 2];

/// Triangles, halved again and again along the axis in which their middles are widest, and the box of every half. At most
/// 4 B per triangle and 16 B of boxes; 12 B more while it is built.
#[derive(Clone, Debug)]
pub(crate) struct Boxes {
    order: Vec<u32>,
    /// Node 0 is unused, node 1 the root, nodes 2 i and 2 i + 1 the halves of node i.
    boxes: Vec<Box>,
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    number: usize,
    range: Range<usize>,
}

impl Boxes {
    /// Bytes per triangle at the peak.
    pub(crate) const BYTES: u64 = 32;

    /// A tree of these triangles of a mesh.
    pub(crate) fn new(mesh: &Mesh, order: Vec<u32>) -> Self {
        let centres: Vec<[f32; 3]> = mesh
            .triangles
            .iter()
            .map(|&t| centre(mesh.corners(t)).map(|x| x as f32))
            .collect();
        let mut tree = Self {
            order,
            boxes: vec![NO_BOX; 2],
        };
        let mut pending = vec![tree.root()];
        while let Some(node) = pending.pop() {
            if tree.boxes.len() <= node.number {
                tree.boxes.resize(node.number + 1, NO_BOX);
            }
            let corners = tree.triangles(&node).iter().flat_map(|&t| mesh.triangles[t as usize]);
            tree.boxes[node.number] = around(corners.map(|vertex| mesh.positions[vertex as usize]));
            let Some(halves) = tree.halves(&node) else {
                continue;
            };
            let part = &mut tree.order[node.range];
            let [low, high] = around(part.iter().map(|&t| centres[t as usize]));
            let width = |axis: usize| high[axis] - low[axis];
            let axis = (1..3).fold(
                0,
                |widest, axis| if width(axis) > width(widest) { axis } else { widest },
            );
            part.select_nth_unstable_by(halves[0].range.len(), |&a, &b| {
                centres[a as usize][axis]
                    .total_cmp(&centres[b as usize][axis])
                    .then(a.cmp(&b))
            });
            pending.extend(halves);
        }
        tree
    }

    /// The node of all triangles.
    pub(crate) fn root(&self) -> Node {
        Node {
            number: 1,
            range: 0..self.order.len(),
        }
    }

    /// The halves of a node; none of a leaf.
    pub(crate) fn halves(&self, node: &Node) -> Option<[Node; 2]> {
        if node.range.len() <= LEAF {
            return None;
        }
        let middle = node.range.start + node.range.len() / 2;
        let ranges = [node.range.start..middle, middle..node.range.end];
        let mut number = 2 * node.number;
        Some(ranges.map(|range| {
            number += 1;
            Node {
                number: number - 1,
                range,
            }
        }))
    }

    /// The triangles of a node.
    pub(crate) fn triangles(&self, node: &Node) -> &[u32] {
        &self.order[node.range.clone()]
    }

    /// The box around the triangles of a node.
    pub(crate) fn around(&self, node: &Node) -> Box {
        self.boxes[node.number]
    }
}

/// The box around places.
fn around(places: impl Iterator<Item = [f32; 3]>) -> Box {
    places.fold(NO_BOX, |[low, high], p| {
        [
            std::array::from_fn(|i| low[i].min(p[i])),
            std::array::from_fn(|i| high[i].max(p[i])),
        ]
    })
}
