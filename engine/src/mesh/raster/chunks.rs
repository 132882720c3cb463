//! A mesh in parts that one binding of each kind reaches: triangles in their order, with the vertices that they use.

use kiln_mesh::Mesh;

/// Most triangles of a chunk. Its vertices, three each at most, take 48 MiB.
pub const CHUNK_TRIANGLES: usize = 1 << 20;

/// No vertex of the present chunk.
const NONE: u32 = u32::MAX;

/// Where a mesh is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Triangles of a chunk but the last.
    triangles: usize,
    /// Vertices and triangles of each.
    sizes: Vec<[u32; 2]>,
}

/// What the device gets of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Content {
    /// Position bits and colour.
    pub(super) vertices: Vec<[u32; 4]>,
    /// Vertices of the chunk.
    pub(super) triangles: Vec<[u32; 3]>,
}

impl Chunks {
    /// Cuts a mesh into chunks of at most `triangles` triangles; one without triangles has one chunk of none.
    #[must_use]
    pub fn of(mesh: &Mesh, triangles: usize) -> Self {
        let triangles = triangles.max(1);
        let mut last = vec![NONE; mesh.positions().len()];
        let sizes = (0..).zip(mesh.triangles().chunks(triangles)).map(|(chunk, part)| {
            let mut vertices = 0;
            for &vertex in part.as_flattened() {
                if let Some(last) = last.get_mut(vertex as usize).filter(|last| **last != chunk) {
                    *last = chunk;
                    vertices += 1;
                }
            }
            [vertices, count(part.len())]
        });
        let mut sizes: Vec<[u32; 2]> = sizes.collect();
        if sizes.is_empty() {
            sizes.push([0, 0]);
        }
        Self { triangles, sizes }
    }

    /// The chunks of a mesh that is to come, with as many vertices as triangles: about half as many are its own, and some lie in two
    /// chunks.
    #[must_use]
    pub fn expected(count: u32, triangles: usize) -> Self {
        let most = u32::try_from(triangles.max(1)).unwrap_or(u32::MAX);
        let sizes = (0..count.div_ceil(most).max(1)).map(|chunk| [(count - chunk * most).min(most); 2]);
        Self {
            triangles: triangles.max(1),
            sizes: sizes.collect(),
        }
    }

    /// Vertices and triangles of each chunk.
    #[must_use]
    pub fn sizes(&self) -> &[[u32; 2]] {
        &self.sizes
    }

    /// Triangles before a chunk.
    pub(super) fn first(&self, chunk: usize) -> usize {
        chunk * self.triangles
    }

    /// The vertices of a chunk by their numbers in the mesh, in the order in which its triangles name them, and its triangles
    /// by their numbers in that order.
    pub(super) fn order(&self, mesh: &Mesh, chunk: usize) -> (Vec<u32>, Vec<[u32; 3]>) {
        let first = self.first(chunk).min(mesh.triangles().len());
        let end = (first + self.triangles).min(mesh.triangles().len());
        let part = mesh.triangles().get(first..end).unwrap_or_default();
        let mut own = vec![NONE; mesh.positions().len()];
        let mut vertices = Vec::with_capacity(self.sizes.get(chunk).map_or(0, |size| size[0] as usize));
        let mut triangles = Vec::with_capacity(part.len());
        for corners in part {
            triangles.push(corners.map(|vertex| {
                let Some(own) = own.get_mut(vertex as usize) else {
                    return 0;
                };
                if *own == NONE {
                    *own = count(vertices.len());
                    vertices.push(vertex);
                }
                *own
            }));
        }
        (vertices, triangles)
    }

    /// A chunk's vertices in that order, and its triangles.
    pub(super) fn content(&self, mesh: &Mesh, chunk: usize) -> Content {
        let (order, triangles) = self.order(mesh, chunk);
        let of = |all: Option<&[[f32; 3]]>, vertex: u32| {
            let found = all.and_then(|all| all.get(vertex as usize));
            found.copied().unwrap_or_default()
        };
        let vertices = order
            .into_iter()
            .map(|vertex| packed(of(Some(mesh.positions()), vertex), of(mesh.colors(), vertex)));
        Content {
            vertices: vertices.collect(),
            triangles,
        }
    }
}

/// Position bits and colour of a vertex.
pub(super) fn packed([x, y, z]: [f32; 3], color: [f32; 3]) -> [u32; 4] {
    let [r, g, b] = color_code(color);
    let color = u32::from_le_bytes([r, g, b, u8::MAX]);
    [x.to_bits(), y.to_bits(), z.to_bits(), color]
}

/// A colour in 8 bits a channel.
pub(super) fn color_code(color: [f32; 3]) -> [u8; 3] {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0.5 and 255.5"
    )]
    color.map(|x| (255.0 * x.clamp(0.0, 1.0) + 0.5) as u8)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn chunks_hold_every_triangle_with_its_own_vertices() {
        // A strip of triangles, and a vertex that none uses.
        let positions: Vec<[f32; 3]> = (0..12_u8).map(|i| [f32::from(i), f32::from(i % 2), 2.0]).collect();
        let triangles: Vec<[u32; 3]> = (0..9).map(|i| [i + 2, i, i + 1]).collect();
        let colors = positions.iter().map(|p| [p[0] / 20.0, 2.0, -1.0]).collect();
        let mesh = Mesh::new(positions.clone(), triangles.clone()).unwrap();
        let mesh = mesh.with_colors(colors).unwrap();
        for size in [1, 4, 9, 100] {
            let chunks = Chunks::of(&mesh, size);
            let mut back = Vec::new();
            for (chunk, &[vertices, triangles]) in chunks.sizes().iter().enumerate() {
                assert_eq!(chunks.first(chunk), back.len());
                let content = chunks.content(&mesh, chunk);
                assert_eq!(
                    [content.vertices.len(), content.triangles.len()],
                    [vertices, triangles].map(|n| n as usize)
                );
                back.extend(content.triangles.iter().map(|t| {
                    t.map(|v| {
                        let [x, y, z, color] = content.vertices[v as usize];
                        let at = [x, y, z].map(f32::from_bits);
                        assert_eq!(color.to_le_bytes()[1..], [255, 0, 255]);
                        positions.iter().position(|p| *p == at).unwrap() as u32
                    })
                }));
            }
            assert_eq!(back, triangles, "{size}");
        }
        let none = Chunks::of(&Mesh::default(), 5);
        assert_eq!(none.sizes(), [[0, 0]]);
        assert!(none.content(&Mesh::default(), 0).triangles.is_empty());
    }
}
