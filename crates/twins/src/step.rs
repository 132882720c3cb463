//! One view forward, and forward plus backward: the twins in the order of a training step.

use super::gaussian::{Gaussian, View};
use super::loss::{Loss, Weights, loss};
use super::plane_loss::{PlaneLoss, edge_weights, plain_gather, plain_loss, plane_gather, plane_loss};
use super::project::{Settings, Visible, project};
use super::project_backward::project_backward;
use super::rasterize::{Raster, TileLists, pixel_list, rasterize};
use super::rasterize_backward::{Gradient2d, ImageGradients, SurfaceGradients, rasterize_backward_of};
use super::surface::{self, Blended, Plane};
use super::{radix_sort, tile_grid, tile_intersect, tile_ranges};
use kiln_gaussians::Gaussians;
use kiln_kernels::plane_loss::{BLENDED, PLANES};
use kiln_scene::Camera;
use kiln_scene::math::{Real, Vec3};

/// Everything the forward pass makes of one view.
#[derive(Clone, Debug)]
pub struct Forward<R> {
    /// Records of the Gaussians that touch a tile, in id order.
    pub visible: Vec<Visible<R>>,
    /// Depth-sorted lists of the tiles.
    pub lists: TileLists,
    /// The image.
    pub raster: Raster<R>,
}

/// Everything one step computes short of the update.
#[derive(Clone, Debug)]
pub struct Step<R> {
    /// The forward pass.
    pub forward: Forward<R>,
    /// Loss, its terms and the image gradient.
    pub loss: Loss<R>,
    /// One record per visible Gaussian, in the order of [`Forward::visible`].
    pub gradients_2d: Vec<Gradient2d<R>>,
    /// One gradient per Gaussian of the model; zero for those not visible.
    pub gradients: Vec<Gaussian<R>>,
    /// [`Projected::mean_ndc_norm`](super::project_backward::Projected::mean_ndc_norm) per visible Gaussian.
    pub mean_ndc_norms: Vec<R>,
}

/// An 8-bit RGB image as the twins read it: byte / 255.
#[must_use]
pub fn target_from_u8<R: Real>(rgb: &[u8]) -> Vec<Vec3<R>> {
    rgb.as_chunks::<3>()
        .0
        .iter()
        .map(|p| p.map(|v| R::of(f64::from(v)) / R::of(255.0)))
        .collect()
}

/// Renders a view. `filter_3d` has one entry a Gaussian.
#[must_use]
pub fn forward<R: Real>(
    gaussians: &[Gaussian<R>],
    filter_3d: &[R],
    view: &View<R>,
    settings: &Settings,
    background: Vec3<R>,
) -> Forward<R> {
    let visible: Vec<Visible<R>> = gaussians
        .iter()
        .zip(filter_3d)
        .enumerate()
        .filter_map(|(id, (gaussian, &filter))| project(id as u32, gaussian, filter, view, settings))
        .collect();
    let grid = tile_grid(view.size_px[0], view.size_px[1]);
    let order = tile_intersect::depth_order(&visible, view.near_z);
    let pairs = tile_intersect::emit(&visible, &order, grid[0], settings);
    let (tiles, sorted) = radix_sort::sort_pairs(&pairs.tiles, &pairs.visible);
    let ranges = tile_ranges::tile_ranges(&tiles, (grid[0] * grid[1]) as usize);
    let lists = TileLists {
        ranges,
        visible: sorted,
    };
    let raster = rasterize(view.size_px, &visible, &lists, background);
    Forward { visible, lists, raster }
}

/// Forward and backward for one view. `target` has one entry a pixel.
#[must_use]
pub fn step<R: Real>(
    gaussians: &[Gaussian<R>],
    filter_3d: &[R],
    view: &View<R>,
    settings: &Settings,
    background: Vec3<R>,
    target: &[Vec3<R>],
    weights: Weights,
) -> Step<R> {
    let forward = forward(gaussians, filter_3d, view, settings, background);
    let loss = loss(view.size_px, &forward.raster.rgb, target, weights);
    backward(gaussians, filter_3d, view, settings, background, forward, loss, None)
}

/// What a step draws beside the image where its loss looks at surfaces.
#[derive(Clone, Debug)]
pub struct Drawn<R> {
    /// Planes of the visible Gaussians.
    pub planes: Vec<Plane<R>>,
    /// What each pixel blends of them.
    pub blended: Vec<Blended<R>>,
    /// Plane depth and normal of each pixel.
    pub map: Vec<(R, Vec3<R>)>,
}

impl<R: Real> Drawn<R> {
    /// Draws the surfaces of what [`forward`] made; with `plane_depths` depths are those that are blended.
    #[must_use]
    pub fn new(gaussians: &[Gaussian<R>], forward: &Forward<R>, view: &View<R>, plane_depths: bool) -> Self {
        let planes: Vec<_> = forward
            .visible
            .iter()
            .map(|record| surface::plane_for(&gaussians[record.id as usize], view, plane_depths))
            .collect();
        let [width, height] = view.size_px;
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        let blended: Vec<_> = pixels
            .map(|[x, y]| {
                let list = pixel_list(&forward.lists, width, x, y);
                let pixel = [x, y].map(|v| R::of(f64::from(v)));
                surface::blend_pixel(&forward.visible, &planes, list, pixel, view)
            })
            .collect();
        let map = surface::depth_map(&blended, view, if plane_depths { &BLENDED } else { &PLANES });
        Self { planes, blended, map }
    }
}

/// [`step`] whose loss looks at surfaces too, with the weight `normals`; every pixel of the photo counts. With
/// [`Settings::plane_depths`] it is SuGaR's.
#[must_use]
#[expect(clippy::too_many_arguments, reason = "those of `step`, and a weight")]
pub fn surface_step<R: Real>(
    gaussians: &[Gaussian<R>],
    filter_3d: &[R],
    view: &View<R>,
    settings: &Settings,
    background: Vec3<R>,
    target: &[Vec3<R>],
    weights: Weights,
    normals: R,
) -> (Step<R>, PlaneLoss<R>) {
    let forward = forward(gaussians, filter_3d, view, settings, background);
    let loss = loss(view.size_px, &forward.raster.rgb, target, weights);
    let drawn = Drawn::new(gaussians, &forward, view, settings.plane_depths);
    let (of_planes, by_pixel) = if settings.plane_depths {
        let (of_planes, by_blended) = plain_loss(&drawn.blended, &drawn.map, |_| true, view, normals);
        let by_pixel = plain_gather(&drawn.map, &of_planes.by_normal, &by_blended, view);
        (of_planes, by_pixel)
    } else {
        let edges = edge_weights(view.size_px, target, |_| true);
        let of_planes = plane_loss(&drawn.blended, &drawn.map, &edges, view, normals);
        let by_pixel = plane_gather(&drawn.blended, &drawn.map, &of_planes.by_normal, view);
        (of_planes, by_pixel)
    };
    let by_transmittance: Vec<R> = of_planes.by_normal.iter().map(|(_, weight)| -*weight).collect();
    let surface = SurfaceGradients {
        planes: &drawn.planes,
        by_pixel: &by_pixel,
        by_transmittance: &by_transmittance,
    };
    let surface = Some(surface);
    let mut out = backward(gaussians, filter_3d, view, settings, background, forward, loss, surface);
    out.loss.total += of_planes.total;
    (out, of_planes)
}

/// From the gradients of the image, and of what is blended beside it, to those of the Gaussians.
#[expect(clippy::too_many_arguments, reason = "those of `step`, and what it made so far")]
fn backward<R: Real>(
    gaussians: &[Gaussian<R>],
    filter_3d: &[R],
    view: &View<R>,
    settings: &Settings,
    background: Vec3<R>,
    forward: Forward<R>,
    loss: Loss<R>,
    surface: Option<SurfaceGradients<'_, R>>,
) -> Step<R> {
    let by_image = ImageGradients {
        rgb: &loss.gradient,
        transmittance: None,
        surface,
    };
    let gradients_2d = rasterize_backward_of(
        view.size_px,
        &forward.visible,
        &forward.lists,
        background,
        &forward.raster,
        &by_image,
    );
    let mut gradients = vec![Gaussian::ZERO; gaussians.len()];
    let mut mean_ndc_norms = vec![R::ZERO; forward.visible.len()];
    for (i, (record, g)) in forward.visible.iter().zip(&gradients_2d).enumerate() {
        let id = record.id as usize;
        if let Some(out) = project_backward(&gaussians[id], filter_3d[id], view, settings, record, g) {
            gradients[id] = out.gradient;
            mean_ndc_norms[i] = out.mean_ndc_norm;
        }
    }
    Step {
        forward,
        loss,
        gradients_2d,
        gradients,
        mean_ndc_norms,
    }
}

/// [`step`] on a host model and camera.
#[must_use]
pub fn step_model<R: Real>(
    model: &Gaussians,
    camera: &Camera,
    settings: &Settings,
    background: Vec3<R>,
    target: &[Vec3<R>],
    weights: Weights,
) -> Step<R> {
    let filter: Vec<R> = model.filter_3d.iter().map(|&v| R::of(f64::from(v))).collect();
    step(
        &Gaussian::from_model(model),
        &filter,
        &View::new(camera),
        settings,
        background,
        target,
        weights,
    )
}

#[cfg(test)]
mod tests;
