//! The model between host and device: planes from Gaussians and back.

use std::ops::Range;

use super::StepTensors;
use kiln_gaussians::Gaussians;
use kiln_gaussians::layout::Storage;
use kiln_gaussians::layout::{self, PLANE_MEANS, PLANE_OPACITY, PLANE_QUATS, PLANE_SCALES};
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_kernels::counters::Counters;
use kiln_kernels::views::Chunk;
use kiln_program::Span;
use kiln_twins::codes::Rounding;
use kiln_twins::stored_adam::{color_value, color_words};

/// Writes `model` into the chunks, zeroes moments and statistics, sets the count. The 3D filter is written as given;
/// colours below f32 are rounded as in step 0 of seed 0.
///
/// # Errors
/// [`MemoryError::OutOfRange`] when the model has more Gaussians than the capacity.
pub fn write_model(gpu: &mut Gpu, t: &StepTensors, model: &Gaussians) -> Result<(), MemoryError> {
    let n = fitting(t, model.sh_degree, model.len())?;
    clear(gpu, t)?;
    for (index, chunk) in t.chunks.iter().enumerate().filter(|(_, chunk)| chunk.first < n) {
        let end = chunk.first.saturating_add(chunk.stride).min(n);
        write_chunk(gpu, t, index, model, chunk.first as usize..end as usize)?;
    }
    set_count(gpu, t, n)
}

/// Writes a model whose Gaussians come in parts: as [`write_model`] writes them all where they are stored as f32, with host
/// memory for one chunk.
pub struct ModelWriter<'a> {
    tensors: &'a StepTensors,
    /// Of the chunk in hand.
    waiting: Gaussians,
    /// Chunks that are written.
    chunks: usize,
    gaussians: u32,
}

impl<'a> ModelWriter<'a> {
    /// Clears what is there.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn new(gpu: &mut Gpu, tensors: &'a StepTensors) -> Result<Self, MemoryError> {
        clear(gpu, tensors)?;
        Ok(Self {
            tensors,
            waiting: Gaussians {
                sh_degree: tensors.capacities.sh_degree,
                ..Gaussians::default()
            },
            chunks: 0,
            gaussians: 0,
        })
    }

    /// Puts the Gaussians of `model` at `places` behind those that came before.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when they are more than there is room for.
    pub fn append(&mut self, gpu: &mut Gpu, model: &Gaussians, places: &[usize]) -> Result<(), MemoryError> {
        let gaussians = self.gaussians as usize + places.len();
        self.gaussians = fitting(self.tensors, model.sh_degree, gaussians)?;
        let mut rest = places;
        while let Some(chunk) = self.tensors.chunks.get(self.chunks).filter(|_| !rest.is_empty()) {
            let room = (chunk.stride as usize).saturating_sub(self.waiting.len());
            let (now, later) = rest.split_at(rest.len().min(room));
            self.waiting.append(model.taken(now));
            if now.len() == room {
                self.flush(gpu)?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Writes what is left and sets the count.
    ///
    /// # Errors
    /// [`MemoryError::Vulkan`].
    pub fn finish(mut self, gpu: &mut Gpu) -> Result<(), MemoryError> {
        self.flush(gpu)?;
        set_count(gpu, self.tensors, self.gaussians)
    }

    fn flush(&mut self, gpu: &mut Gpu) -> Result<(), MemoryError> {
        let empty = Gaussians {
            sh_degree: self.waiting.sh_degree,
            ..Gaussians::default()
        };
        let full = std::mem::replace(&mut self.waiting, empty);
        if !full.is_empty() {
            write_chunk(gpu, self.tensors, self.chunks, &full, 0..full.len())?;
            self.chunks += 1;
        }
        Ok(())
    }
}

/// `gaussians` as a count.
///
/// # Errors
/// [`MemoryError::OutOfRange`] when there is no room for so many, or for their degree.
fn fitting(t: &StepTensors, sh_degree: u32, gaussians: usize) -> Result<u32, MemoryError> {
    let n = u32::try_from(gaussians).unwrap_or(u32::MAX);
    if n > t.capacities.n_cap || sh_degree != t.capacities.sh_degree {
        return Err(MemoryError::OutOfRange {
            tensor: "model".to_owned(),
            offset: 0,
            bytes: u64::from(n),
        });
    }
    Ok(n)
}

fn clear(gpu: &mut Gpu, t: &StepTensors) -> Result<(), MemoryError> {
    let mut program = kiln_program::Program::new("clear model");
    for chunk in &t.chunks {
        let all = [
            chunk.geometry,
            chunk.geometry_m,
            chunk.geometry_v,
            chunk.sh,
            chunk.sh_m,
            chunk.sh_v,
            chunk.filter_3d,
            chunk.statistics,
            chunk.visible_mask,
        ];
        for view in all {
            program.fill(view, 0);
        }
    }
    gpu.run(&program)
}

/// Writes the Gaussians of `model` numbered `ids` from the start of chunk `index` on; no more than it has room for.
fn write_chunk(
    gpu: &mut Gpu,
    t: &StepTensors,
    index: usize,
    model: &Gaussians,
    ids: Range<usize>,
) -> Result<(), MemoryError> {
    let Some(chunk) = t.chunks.get(index) else {
        return Ok(());
    };
    let put = |planes: u32, value: &(dyn Fn(usize, u32) -> f32 + Sync)| planes_of(planes, &ids, value);
    let geometry = put(layout::GEOMETRY_PLANES, &|i, p| geometry_value(model, i, p));
    write_planes(gpu, chunk, &chunk.geometry, &geometry)?;
    let colors = layout::sh_planes(model.sh_degree);
    match chunk.storage {
        Storage::Exact => write_planes(gpu, chunk, &chunk.sh, &put(colors, &|i, p| sh_value(model, i, p)))?,
        Storage::Half | Storage::Compact => {
            let mut words = vec![vec![0_u32; ids.len()]; chunk.planes.sh as usize];
            for (at, i) in ids.clone().enumerate() {
                let values: Vec<f32> = (0..colors).map(|p| sh_value(model, i, p)).collect();
                let rounding = Rounding::new(0, 0, u32::try_from(i).unwrap_or(u32::MAX));
                for (plane, word) in words.iter_mut().zip(color_words(&values, rounding)) {
                    if let Some(place) = plane.get_mut(at) {
                        *place = word;
                    }
                }
            }
            write_planes(gpu, chunk, &chunk.sh, &words)?;
        }
    }
    let filter = put(1, &|i, _| model.filter_3d.get(i).copied().unwrap_or(0.0));
    write_planes(gpu, chunk, &chunk.filter_3d, &filter)
}

/// The values of Gaussians `ids`, plane by plane.
fn planes_of(planes: u32, ids: &Range<usize>, value: &(dyn Fn(usize, u32) -> f32 + Sync)) -> Vec<Vec<f32>> {
    /// Gaussians at a time, whose values all lie in the processor's cache.
    const BLOCK: usize = 1024;
    /// Gaussians that are worth a thread.
    const PER_THREAD: usize = 1 << 16;
    let mut filled: Vec<Vec<f32>> = (0..planes).map(|_| Vec::with_capacity(ids.len())).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(ids.len().div_ceil(PER_THREAD)).max(1);
    let per_thread = filled.len().div_ceil(threads).max(1);
    let fill = |first: usize, planes: &mut [Vec<f32>]| {
        for start in ids.clone().step_by(BLOCK) {
            let block = start..(start + BLOCK).min(ids.end);
            for (plane, values) in (first as u32..).zip(&mut *planes) {
                values.extend(block.clone().map(|i| value(i, plane)));
            }
        }
    };
    std::thread::scope(|scope| {
        for (at, planes) in filled.chunks_mut(per_thread).enumerate() {
            let fill = &fill;
            if threads == 1 {
                fill(at * per_thread, planes);
            } else {
                scope.spawn(move || fill(at * per_thread, planes));
            }
        }
    });
    filled
}

fn set_count(gpu: &mut Gpu, t: &StepTensors, gaussians: u32) -> Result<(), MemoryError> {
    gpu.write(
        &t.shared.counters,
        &[Counters {
            gaussians,
            ..Counters::default()
        }],
    )
}

/// Reads the model back, filter included.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_model(gpu: &mut Gpu, t: &StepTensors) -> Result<Gaussians, MemoryError> {
    let counters: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let n = counters.first().map_or(0, |c| c.gaussians).min(t.capacities.n_cap);
    let rest = layout::sh_coefficients(t.capacities.sh_degree) - 1;
    let mut model = Gaussians {
        sh_degree: t.capacities.sh_degree,
        ..Gaussians::default()
    };
    for chunk in t.chunks.iter().filter(|c| c.first < n) {
        let count = (n - chunk.first).min(chunk.stride) as usize;
        let geometry = read_planes(gpu, chunk, &chunk.geometry, layout::GEOMETRY_PLANES, count)?;
        let sh = read_colors(gpu, chunk, layout::sh_planes(model.sh_degree), count)?;
        let filter = read_planes(gpu, chunk, &chunk.filter_3d, 1, count)?;
        let g = |plane: u32, i: usize| value(&geometry, plane, i);
        for i in 0..count {
            model.means.push(std::array::from_fn(|c| g(PLANE_MEANS + c as u32, i)));
            model.quats.push(std::array::from_fn(|c| g(PLANE_QUATS + c as u32, i)));
            model
                .log_scales
                .push(std::array::from_fn(|c| g(PLANE_SCALES + c as u32, i)));
            model.logit_opacities.push(g(PLANE_OPACITY, i));
            model.sh0.push(std::array::from_fn(|c| value(&sh, c as u32, i)));
            model.sh_rest.extend((0..3 * rest as u32).map(|p| value(&sh, 3 + p, i)));
            model.filter_3d.push(value(&filter, 0, i));
        }
    }
    Ok(model)
}

/// Reads every k-th Gaussian, filter included and with the constant colour only, for the least k that gives at most `most`;
/// and how many there are. Each is widened by the root of k, so that surfaces stay closed. Host memory: the sample and one
/// plane of a chunk.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_sample(gpu: &mut Gpu, t: &StepTensors, most: u32) -> Result<(Gaussians, u32), MemoryError> {
    let counters: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let n = counters.first().map_or(0, |c| c.gaussians).min(t.capacities.n_cap);
    let every = n.div_ceil(most.max(1)).max(1);
    let wider = 0.5 * (f64::from(every).ln() as f32);
    let mut sample = Gaussians::default();
    for chunk in t.chunks.iter().filter(|c| c.first < n) {
        let count = (n - chunk.first).min(chunk.stride) as usize;
        let first = ((every - chunk.first % every) % every) as usize;
        let mut planes = Vec::new();
        for plane in 0..layout::GEOMETRY_PLANES {
            let values: Vec<f32> = read_plane(gpu, chunk, &chunk.geometry, plane, count)?;
            planes.push(thinned(values, first, every));
        }
        let filter = thinned(read_plane(gpu, chunk, &chunk.filter_3d, 0, count)?, first, every);
        let mut colors = Vec::new();
        for channel in 0..3 {
            let values = match chunk.storage {
                Storage::Exact => read_plane(gpu, chunk, &chunk.sh, channel, count)?,
                Storage::Half | Storage::Compact => {
                    let words: Vec<u32> = read_plane(gpu, chunk, &chunk.sh, channel / 2, count)?;
                    let value = |word: &u32| color_value(&[*word], channel as usize % 2);
                    words.iter().map(value).collect()
                }
            };
            colors.push(thinned(values, first, every));
        }
        let g = |plane: u32, i: usize| value(&planes, plane, i);
        for (i, filter) in filter.into_iter().enumerate() {
            sample.means.push(std::array::from_fn(|c| g(PLANE_MEANS + c as u32, i)));
            sample.quats.push(std::array::from_fn(|c| g(PLANE_QUATS + c as u32, i)));
            let log_scales = std::array::from_fn(|c| g(PLANE_SCALES + c as u32, i) + wider);
            sample.log_scales.push(log_scales);
            sample.logit_opacities.push(g(PLANE_OPACITY, i));
            sample.sh0.push(std::array::from_fn(|c| value(&colors, c as u32, i)));
            sample.filter_3d.push(filter);
        }
    }
    Ok((sample, n))
}

/// Gives logarithms of the scales, opacity before the sigmoid and 3D filter of each Gaussian to `each`. Host memory: five planes of
/// a chunk.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_opacities(
    gpu: &mut Gpu,
    t: &StepTensors,
    each: &mut dyn FnMut([f32; 3], f32, f32),
) -> Result<(), MemoryError> {
    let counters: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let n = counters.first().map_or(0, |c| c.gaussians).min(t.capacities.n_cap);
    for chunk in t.chunks.iter().filter(|c| c.first < n) {
        let count = (n - chunk.first).min(chunk.stride) as usize;
        let mut planes: Vec<Vec<f32>> = Vec::new();
        for plane in [PLANE_SCALES, PLANE_SCALES + 1, PLANE_SCALES + 2, PLANE_OPACITY] {
            planes.push(read_plane(gpu, chunk, &chunk.geometry, plane, count)?);
        }
        let filter: Vec<f32> = read_plane(gpu, chunk, &chunk.filter_3d, 0, count)?;
        for (i, filter) in filter.into_iter().enumerate() {
            each(
                std::array::from_fn(|axis| value(&planes, axis as u32, i)),
                value(&planes, 3, i),
                filter,
            );
        }
    }
    Ok(())
}

fn thinned(values: Vec<f32>, first: usize, every: u32) -> Vec<f32> {
    values.into_iter().skip(first).step_by(every as usize).collect()
}

/// Planes of colours, decoded.
fn read_colors(gpu: &mut Gpu, chunk: &Chunk, planes: u32, count: usize) -> Result<Vec<Vec<f32>>, MemoryError> {
    if chunk.storage == Storage::Exact {
        return read_planes(gpu, chunk, &chunk.sh, planes, count);
    }
    let words: Vec<Vec<u32>> = read_planes(gpu, chunk, &chunk.sh, chunk.planes.sh, count)?;
    let decoded = |plane: usize| {
        let words = words.get(plane / 2).into_iter().flatten();
        words.map(move |word| color_value(&[*word], plane % 2)).collect()
    };
    Ok((0..planes as usize).map(decoded).collect())
}

fn value(planes: &[Vec<f32>], plane: u32, i: usize) -> f32 {
    planes
        .get(plane as usize)
        .and_then(|p| p.get(i))
        .copied()
        .unwrap_or(0.0)
}

fn geometry_value(model: &Gaussians, i: usize, plane: u32) -> f32 {
    let pick = |values: &[f32], first: u32| values.get((plane - first) as usize).copied().unwrap_or(0.0);
    match plane {
        PLANE_MEANS..PLANE_QUATS => model.means.get(i).map_or(0.0, |m| pick(m, PLANE_MEANS)),
        PLANE_QUATS..PLANE_SCALES => model.quats.get(i).map_or(0.0, |q| pick(q, PLANE_QUATS)),
        PLANE_SCALES..PLANE_OPACITY => model.log_scales.get(i).map_or(0.0, |s| pick(s, PLANE_SCALES)),
        _ => model.logit_opacities.get(i).copied().unwrap_or(0.0),
    }
}

fn sh_value(model: &Gaussians, i: usize, plane: u32) -> f32 {
    if plane < 3 {
        return model
            .sh0
            .get(i)
            .and_then(|c| c.get(plane as usize))
            .copied()
            .unwrap_or(0.0);
    }
    let per_gaussian = 3 * model.rest_coefficients();
    model
        .sh_rest
        .get(i * per_gaussian + plane as usize - 3)
        .copied()
        .unwrap_or(0.0)
}

fn write_planes<T: bytemuck::NoUninit>(
    gpu: &mut Gpu,
    chunk: &Chunk,
    view: &Span,
    planes: &[Vec<T>],
) -> Result<(), MemoryError> {
    for (p, plane) in (0u64..).zip(planes) {
        gpu.write(
            &view.slice(p * 4 * u64::from(chunk.stride), 4 * u64::from(chunk.stride)),
            plane,
        )?;
    }
    Ok(())
}

fn read_planes<T: bytemuck::AnyBitPattern>(
    gpu: &mut Gpu,
    chunk: &Chunk,
    view: &Span,
    planes: u32,
    count: usize,
) -> Result<Vec<Vec<T>>, MemoryError> {
    (0..planes).map(|p| read_plane(gpu, chunk, view, p, count)).collect()
}

fn read_plane<T: bytemuck::AnyBitPattern>(
    gpu: &mut Gpu,
    chunk: &Chunk,
    view: &Span,
    plane: u32,
    count: usize,
) -> Result<Vec<T>, MemoryError> {
    let bytes = 4 * u64::from(chunk.stride);
    gpu.read(&view.slice(u64::from(plane) * bytes, bytes), count)
}
