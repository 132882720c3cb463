//! Colours of pixels from what their samples show.

use super::mesh_draw::{Drawn, Facet, ray_of, to_camera};
use kiln_kernels::mesh_draw::MeshView;
use kiln_scene::math::{Real, norm};

/// Lightness of a plain surface that faces the camera.
const PLAIN: f64 = 0.8;

/// What surfaces look like.
#[derive(Clone, Copy, Debug)]
pub enum Coat<'a> {
    /// A colour per vertex, 8 bits a channel.
    Colors(&'a [[u8; 3]]),
    /// Texture coordinates per corner, and a square texture of RGBA, row by row.
    Texture(&'a [[[f32; 2]; 3]], &'a [[u8; 4]]),
    /// Nothing: grey, lit from the camera.
    Plain,
}

/// RGB and the share left free of every pixel of a strip that `drawn` holds the samples of.
#[must_use]
pub fn shade<R: Real>(
    view: &MeshView,
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    coat: Coat<'_>,
    drawn: &Drawn<R>,
) -> Vec<[R; 4]> {
    let samples = view.samples;
    let share = R::of(1.0 / f64::from(samples * samples));
    let pixel = |at: u32| {
        let [column, row] = [at % view.width, at / view.width];
        let mut sum = [R::ZERO; 4];
        for sub in 0..samples * samples {
            let at = [column * samples + sub % samples, row * samples + sub / samples];
            let id = drawn.ids[(at[1] * view.width * samples + at[0]) as usize];
            let Some(corners) = triangles.get(id as usize) else {
                continue;
            };
            let Some(facet) = Facet::new(corners.map(|v| to_camera(view, positions[v as usize]))) else {
                continue;
            };
            let ray = ray_of(view, [at[0], at[1] + view.first_row * samples]);
            let b = facet.shares(ray);
            let color: [R; 3] = match coat {
                Coat::Plain => {
                    let r = [ray[0], ray[1], R::ONE];
                    let n = facet.inverse;
                    let cosine = (n[0] * r[0] + n[1] * r[1] + n[2]).abs() / (norm(n) * norm(r));
                    [R::of(PLAIN) * cosine; 3]
                }
                Coat::Colors(colors) => std::array::from_fn(|c| {
                    let of = |k: usize| R::of(f64::from(colors[corners[k] as usize][c]) / 255.0);
                    b[0] * of(0) + b[1] * of(1) + b[2] * of(2)
                }),
                Coat::Texture(uvs, texels) => {
                    let uv = uvs[id as usize];
                    let of = |k: usize, i: usize| R::of(f64::from(uv[k][i]));
                    bilinear(
                        texels,
                        [0, 1].map(|i| b[0] * of(0, i) + b[1] * of(1, i) + b[2] * of(2, i)),
                    )
                }
            };
            for (sum, value) in sum.iter_mut().zip([color[0], color[1], color[2], R::ONE]) {
                *sum += value;
            }
        }
        let [red, green, blue, covered] = sum.map(|x| x * share);
        let free = R::ONE - covered;
        let over = |color: R, channel: usize| color + free * R::of(f64::from(view.background[channel]));
        [over(red, 0), over(green, 1), over(blue, 2), free]
    };
    (0..view.width * view.rows).map(pixel).collect()
}

/// A square texture at a place, shares of its sides from the upper left corner.
fn bilinear<R: Real>(texels: &[[u8; 4]], uv: [R; 2]) -> [R; 3] {
    #[expect(clippy::cast_possible_truncation, reason = "sides of textures are small")]
    let side = (texels.len() as f64).sqrt().round() as i64;
    let at = uv.map(|x| x.max(R::ZERO).min(R::ONE) * R::of(side as f64) - R::of(0.5));
    let low = at.map(R::floor);
    let share = [at[0] - low[0], at[1] - low[1]];
    #[expect(clippy::cast_possible_truncation, reason = "texels are counted in few digits")]
    let first = low.map(|x| x.to_f64() as i64);
    let texel = |dx: i64, dy: i64, c: usize| {
        let [x, y] = [first[0] + dx, first[1] + dy].map(|v| v.clamp(0, side - 1));
        let at = usize::try_from(y * side + x).unwrap_or(0);
        R::of(f64::from(texels[at][c]) / 255.0)
    };
    let mix = |a: R, b: R, t: R| a * (R::ONE - t) + b * t;
    std::array::from_fn(|c| {
        mix(
            mix(texel(0, 0, c), texel(1, 0, c), share[0]),
            mix(texel(0, 1, c), texel(1, 1, c), share[0]),
            share[1],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textures_are_read_between_the_middles_of_their_texels() {
        let texels = [[0, 0, 0, 255], [255, 0, 0, 255], [0, 255, 0, 255], [255, 255, 255, 255]];
        let close = |uv: [f64; 2], wanted: [f64; 3]| {
            let found = bilinear(&texels, uv);
            assert!(
                found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12),
                "{uv:?} {found:?}"
            );
        };
        close([0.25, 0.25], [0.0; 3]);
        close([0.0, 0.0], [0.0; 3]);
        close([0.75, 0.25], [1.0, 0.0, 0.0]);
        close([0.5, 0.25], [0.5, 0.0, 0.0]);
        close([0.5, 0.5], [0.5, 0.5, 0.25]);
        close([1.0, 1.0], [1.0; 3]);
    }
}
