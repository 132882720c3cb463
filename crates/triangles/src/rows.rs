//! Rows of a model or of an optimiser's moments: so many numbers per vertex, one vertex after the other.

/// Leaves the rows of these vertices, which ascend, in their order.
pub fn take<T: Copy>(rows: &mut Vec<T>, width: usize, vertices: &[u32]) {
    for (new, &old) in vertices.iter().enumerate() {
        let old = old as usize * width;
        rows.copy_within(old..old + width, new * width);
    }
    rows.truncate(vertices.len() * width);
}

/// Appends the mean of two rows for each new vertex.
pub fn append_means(rows: &mut Vec<f32>, width: usize, ends: &[[u32; 2]]) {
    rows.reserve_exact(ends.len() * width);
    for ends in ends {
        let [a, b] = ends.map(|end| end as usize * width);
        for k in 0..width {
            rows.push(0.5 * rows[a + k] + 0.5 * rows[b + k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_move_whole() {
        let mut rows: Vec<u32> = (0..15).collect();
        take(&mut rows, 3, &[0, 2, 4]);
        assert_eq!(rows, [0, 1, 2, 6, 7, 8, 12, 13, 14]);
        take(&mut rows, 3, &[]);
        assert!(rows.is_empty());
        let mut rows = vec![1.0, 10.0, 3.0, 20.0, f32::MAX, -4.0];
        append_means(&mut rows, 2, &[[0, 1], [2, 2]]);
        assert_eq!(rows[6..], [2.0, 15.0, f32::MAX, -4.0]);
    }
}
