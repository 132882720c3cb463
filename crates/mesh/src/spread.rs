//! Colours of vertices that nothing gives one.

/// Colours for all vertices of `triangles`: those without one take the mean of their neighbours', ring by ring from those that have
/// one outwards; grey where a piece has none. Takes the time of a walk over the triangles around vertices without a colour, however
/// far they are from one.
#[must_use]
pub fn colors(given: &[Option<[f32; 3]>], triangles: &[[u32; 3]]) -> Vec<[f32; 3]> {
    let mut known = given.to_vec();
    let around = Around::of(&known, triangles);
    let is_known = |known: &[Option<[f32; 3]>], vertex: u32| known.get(vertex as usize).is_some_and(Option::is_some);
    let borders = |vertex: &u32| {
        let mut corners = around.triangles(*vertex).flat_map(|t| triangles[t as usize]);
        corners.any(|other| is_known(&known, other))
    };
    let mut ring: Vec<u32> = (0..known.len() as u32)
        .filter(|&v| !is_known(&known, v))
        .filter(borders)
        .collect();
    while !ring.is_empty() {
        // Nobody hears of a neighbour in the same ring.
        let found: Vec<[f32; 3]> = ring
            .iter()
            .map(|&vertex| {
                let (mut sum, mut count) = ([0.0; 3], 0.0);
                for color in around
                    .triangles(vertex)
                    .flat_map(|t| triangles[t as usize])
                    .filter_map(|other| known.get(other as usize).copied().flatten())
                {
                    sum = std::array::from_fn(|i| sum[i] + color[i]);
                    count += 1.0;
                }
                sum.map(|c| c / count)
            })
            .collect();
        for (&vertex, color) in ring.iter().zip(found) {
            known[vertex as usize] = Some(color);
        }
        let corners = ring
            .iter()
            .flat_map(|&vertex| around.triangles(vertex))
            .flat_map(|t| triangles[t as usize]);
        let mut next: Vec<u32> = corners
            .filter(|&other| (other as usize) < known.len() && !is_known(&known, other))
            .collect();
        next.sort_unstable();
        next.dedup();
        ring = next;
    }
    known.into_iter().map(|color| color.unwrap_or([0.5; 3])).collect()
}

/// The triangles around each vertex without a colour, in their order.
struct Around {
    /// Where those of each vertex begin, and the end.
    first: Vec<u32>,
    triangles: Vec<u32>,
}

impl Around {
    fn of(known: &[Option<[f32; 3]>], triangles: &[[u32; 3]]) -> Self {
        let wanted = |vertex: u32| known.get(vertex as usize).is_some_and(Option::is_none);
        let mut first = vec![0_u32; known.len() + 1];
        for &vertex in triangles.as_flattened().iter().filter(|&&vertex| wanted(vertex)) {
            first[vertex as usize + 1] += 1;
        }
        for vertex in 0..known.len() {
            first[vertex + 1] += first[vertex];
        }
        let mut next = first.clone();
        let mut all = vec![0; first[known.len()] as usize];
        for (triangle, number) in triangles.iter().zip(0..) {
            for &vertex in triangle.iter().filter(|&&vertex| wanted(vertex)) {
                let at = &mut next[vertex as usize];
                all[*at as usize] = number;
                *at += 1;
            }
        }
        Self { first, triangles: all }
    }

    fn triangles(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        let [from, to] = [vertex, vertex + 1].map(|v| self.first[v as usize] as usize);
        self.triangles[from..to].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes;

    #[test]
    fn colors_spread_outwards() {
        let strip = [[0, 1, 2], [1, 2, 3], [2, 3, 4]];
        let red = Some([1.0, 0.0, 0.0]);
        let blue = Some([0.0, 0.0, 1.0]);
        let found = colors(&[red, blue, None, None, None, None], &strip);
        assert_eq!(found[5], [0.5; 3], "alone");
        assert_eq!(found[0], [1.0, 0.0, 0.0]);
        // Vertex 2 hears of 0 once and of 1 in two triangles; 3 hears of 1, and of 2 too late.
        let third = 1.0 / 3.0;
        assert_eq!(found[2], [third, 0.0, 2.0 * third]);
        assert_eq!(found[3], [0.0, 0.0, 1.0]);
        assert!((found[4][0] - 0.5 * third).abs() < 1e-6 && (found[4][2] - 2.5 * third).abs() < 1e-6);
    }

    /// A closed surface has millions of vertices that no view sees, a thousand edges from the next that one does. In rounds over all
    /// triangles this would take an hour.
    #[test]
    fn one_color_reaches_the_far_side_of_a_large_mesh() {
        let square = shapes::square(1200);
        let mut given = vec![None; square.positions().len()];
        given[0] = Some([0.25, 0.5, 0.75]);
        let found = colors(&given, square.triangles());
        assert!(found.iter().all(|color| *color == [0.25, 0.5, 0.75]));
    }
}
