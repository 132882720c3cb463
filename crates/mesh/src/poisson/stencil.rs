//! Products of one-dimensional stencils of linear elements: mass (1/6, 4/6, 1/6), stiffness (-1, 2, -1), derivative
//! (1/2, 0, -1/2).

use super::blocks::{Block, Halo, NODES, SIDE, WIDE};

/// The stiffness of a node with itself: 3 x 2 x (4/6)^2.
pub(super) const MIDDLE: f32 = 8.0 / 3.0;
/// With a node across an edge of a cell; with one across a face it is 0.
const EDGE: f32 = -1.0 / 6.0;
/// With a node across a cell.
const CORNER: f32 = -1.0 / 12.0;

/// A row of values along x.
type Row = [f32; WIDE];

fn row(halo: &Halo, y: usize, z: usize) -> Row {
    let from = WIDE * (y + WIDE * z);
    std::array::from_fn(|x| halo[from + x])
}

fn sum(rows: [Row; 4]) -> Row {
    std::array::from_fn(|x| (rows[0][x] + rows[1][x]) + (rows[2][x] + rows[3][x]))
}

/// K M M + M K M + M M K times the values, at the block's own nodes.
pub(super) fn stiffness(halo: &Halo) -> Block {
    let mut block = [0.0; NODES];
    for (at, to) in block.chunks_exact_mut(SIDE).enumerate() {
        let (y, z) = (at % SIDE + 1, at / SIDE + 1);
        let middle = row(halo, y, z);
        let beside = sum([(y - 1, z), (y + 1, z), (y, z - 1), (y, z + 1)].map(|(y, z)| row(halo, y, z)));
        let across = [(y - 1, z - 1), (y + 1, z - 1), (y - 1, z + 1), (y + 1, z + 1)];
        let across = sum(across.map(|(y, z)| row(halo, y, z)));
        for (x, to) in to.iter_mut().enumerate() {
            *to = MIDDLE * middle[x + 1]
                + EDGE * ((beside[x] + beside[x + 2]) + across[x + 1])
                + CORNER * (across[x] + across[x + 2]);
        }
    }
    block
}

/// G M M x + M G M y + M M G z at the block's own nodes.
pub(super) fn divergence(field: &[Halo; 3]) -> Block {
    const MASS: [f32; 3] = [1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0];
    const SLOPE: [f32; 3] = [0.5, 0.0, -0.5];
    let mut block = [0.0; NODES];
    for (axis, halo) in field.iter().enumerate() {
        let along = |of: usize| if of == axis { SLOPE } else { MASS };
        let weights = [0, 1, 2].map(along);
        for (node, to) in block.iter_mut().enumerate() {
            let [x, y, z] = [node % SIDE, node / SIDE % SIDE, node / SIDE / SIDE];
            for (k, wz) in weights[2].into_iter().enumerate() {
                for (j, wy) in weights[1].into_iter().enumerate() {
                    let from = x + WIDE * (y + j + WIDE * (z + k));
                    let line =
                        weights[0][0] * halo[from] + weights[0][1] * halo[from + 1] + weights[0][2] * halo[from + 2];
                    *to += wz * wy * line;
                }
            }
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halo(f: impl Fn(f32, f32, f32) -> f32) -> Halo {
        std::array::from_fn(|at| f((at % WIDE) as f32, (at / WIDE % WIDE) as f32, (at / WIDE / WIDE) as f32))
    }

    #[test]
    fn stencils_derive() {
        // Minus the Laplacian of x^2 + 2 y^2 - z^2 / 2 is -5, and linear fields have none.
        let curved = halo(|x, y, z| x * x + 2.0 * y * y - 0.5 * z * z);
        assert!(stiffness(&curved).iter().all(|x| (x + 5.0).abs() < 1e-3));
        let flat = halo(|x, y, z| x - 3.0 * y + 7.0 * z);
        assert!(stiffness(&flat).iter().all(|x| x.abs() < 1e-3));
        // Weighted with the slope of an element, a field gives minus its divergence.
        let field = [
            halo(|x, y, _| 2.0 * x + y),
            halo(|x, y, _| x - 3.0 * y),
            halo(|x, _, z| x + 0.5 * z),
        ];
        assert!(divergence(&field).iter().all(|x| (x - 0.5).abs() < 1e-4));
    }
}
