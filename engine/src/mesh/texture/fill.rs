//! Colours where no photo gave one: of the triangle, else of what is around.

use super::texels::NONE;

/// A square picture of which some texels are known.
pub(super) struct Canvas {
    side: usize,
    /// RGB and 255 where it is known, else 0.
    pub(super) texels: Vec<[u8; 4]>,
}

/// A level of the pyramid: the mean colour of the known texels under each, and how well it is known, 0 to 1.
struct Level {
    side: usize,
    values: Vec<[f32; 4]>,
}

impl Canvas {
    /// Nothing is known.
    pub(super) fn new(side: u32) -> Self {
        let side = side as usize;
        Self {
            side,
            texels: vec![[0; 4]; side * side],
        }
    }

    /// Gives unknown texels the mean of their triangle, where that has one.
    pub(super) fn fill_triangles(&mut self, owners: &[u32], triangles: usize) {
        let mut sums = vec![[0.0_f32; 4]; triangles];
        for (texel, owner) in self.texels.iter().zip(owners) {
            if let (255, Some(sum)) = (texel[3], sums.get_mut(*owner as usize)) {
                let [r, g, b, _] = texel.map(f32::from);
                *sum = [sum[0] + r, sum[1] + g, sum[2] + b, sum[3] + 1.0];
            }
        }
        for (texel, owner) in self.texels.iter_mut().zip(owners) {
            if let (0, true, Some(sum)) = (texel[3], *owner != NONE, sums.get(*owner as usize))
                && sum[3] > 0.0
            {
                let [r, g, b] = [0, 1, 2].map(|c| code(sum[c] / sum[3]));
                *texel = [r, g, b, 255];
            }
        }
    }

    /// Gives all unknown texels the mean of the nearest known ones, coarser the farther those are (pull-push, Gortler et al.
    /// 1996); black where nothing is known at all. Gives the picture as RGB.
    pub(super) fn into_rgb(mut self) -> Vec<u8> {
        if self.texels.iter().any(|texel| texel[3] == 0) {
            let mut levels = vec![self.first_level()];
            while let Some(next) = levels.last().and_then(Level::coarser) {
                levels.push(next);
            }
            for at in (1..levels.len()).rev() {
                let (fine, coarse) = levels.split_at_mut(at);
                if let (Some(fine), Some(coarse)) = (fine.last_mut(), coarse.first()) {
                    fine.take(coarse);
                }
            }
            if let Some(first) = levels.first() {
                let side = self.side;
                for (at, texel) in self.texels.iter_mut().enumerate().filter(|(_, texel)| texel[3] == 0) {
                    let [r, g, b, _] = first.at(at % side / 2, at / side / 2);
                    *texel = [code(r), code(g), code(b), 255];
                }
            }
        }
        self.texels.into_iter().flat_map(|[r, g, b, _]| [r, g, b]).collect()
    }

    /// Means of two by two texels.
    fn first_level(&self) -> Level {
        let value = |x: usize, y: usize| {
            let texel = self
                .texels
                .get(y * self.side + x)
                .filter(|_| x < self.side && y < self.side);
            texel.filter(|texel| texel[3] > 0).map_or([0.0; 4], |&[r, g, b, _]| {
                let [r, g, b] = [r, g, b].map(f32::from);
                [r, g, b, 1.0]
            })
        };
        Level::means(self.side, value)
    }
}

impl Level {
    /// Means of two by two values of a level of `side`, weighted by how well they are known.
    fn means(side: usize, value: impl Fn(usize, usize) -> [f32; 4]) -> Self {
        let half = side.div_ceil(2);
        let mean = |at: usize| {
            let (x, y) = (2 * (at % half), 2 * (at / half));
            let mut sum = [0.0_f32; 4];
            for [r, g, b, known] in [value(x, y), value(x + 1, y), value(x, y + 1), value(x + 1, y + 1)] {
                sum = [
                    sum[0] + known * r,
                    sum[1] + known * g,
                    sum[2] + known * b,
                    sum[3] + known,
                ];
            }
            match sum[3] > 0.0 {
                true => [sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3], sum[3].min(1.0)],
                false => [0.0; 4],
            }
        };
        Self {
            side: half,
            values: (0..half * half).map(mean).collect(),
        }
    }

    fn coarser(&self) -> Option<Self> {
        (self.side > 1).then(|| Self::means(self.side, |x, y| self.at(x, y)))
    }

    /// A value; nothing beyond the border.
    fn at(&self, x: usize, y: usize) -> [f32; 4] {
        let inside = x < self.side && y < self.side;
        let value = self.values.get(y * self.side + x).filter(|_| inside);
        value.copied().unwrap_or_default()
    }

    /// Takes unknown values from a coarser level.
    fn take(&mut self, coarse: &Self) {
        let side = self.side;
        for (at, value) in self.values.iter_mut().enumerate().filter(|(_, value)| value[3] == 0.0) {
            *value = coarse.at(at % side / 2, at / side / 2);
        }
    }
}

fn code(value: f32) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a byte"
    )]
    let code = (value + 0.5).clamp(0.0, 255.0) as u8;
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_stays_and_the_rest_is_near_it() {
        let mut canvas = Canvas::new(9);
        canvas.texels[0] = [200, 0, 0, 255];
        canvas.texels[80] = [0, 100, 0, 255];
        let rgb = canvas.into_rgb();
        assert_eq!((&rgb[..3], &rgb[240..]), (&[200, 0, 0][..], &[0, 100, 0][..]));
        // Beside the first, and beside the second.
        assert_eq!((&rgb[3..6], &rgb[30..33]), (&[200, 0, 0][..], &[200, 0, 0][..]));
        assert!(rgb.chunks(3).all(|texel| texel[0] > 0 || texel[1] > 0), "{rgb:?}");
        assert_eq!(Canvas::new(3).into_rgb(), [0; 27]);
        let mut full = Canvas::new(2);
        full.texels.fill([1, 2, 3, 255]);
        assert_eq!(full.into_rgb(), [1, 2, 3].repeat(4));
    }

    #[test]
    fn triangles_fill_their_own_texels() {
        let mut canvas = Canvas::new(3);
        let owners = [0, 0, 0, 1, 1, NONE, NONE, 2, 2];
        canvas.texels[0] = [10, 20, 30, 255];
        canvas.texels[1] = [20, 20, 33, 255];
        canvas.texels[7] = [9, 9, 9, 255];
        canvas.fill_triangles(&owners, 3);
        assert_eq!(canvas.texels[2], [15, 20, 32, 255]);
        assert_eq!(
            (canvas.texels[3], canvas.texels[5], canvas.texels[8]),
            ([0; 4], [0; 4], [9, 9, 9, 255])
        );
    }
}
