//! A model on the GPU: its textures, the colours of the moment and the draw order.

use js_sys::{Object, Uint32Array};
use web_sys::{WebGl2RenderingContext as Gl, WebGlFramebuffer, WebGlTexture};

use super::gl::{Texels, texture_array, write_rows};
use crate::pack::{Layout, ROW};
use crate::ply::{Batch, Model};

/// Entries of the draw order in a row of its texture.
const ORDER_ROW: u32 = 4096;

/// Textures of one model.
pub(super) struct GpuModel {
    pub(super) about: Model,
    pub(super) layout: Layout,
    pub(super) geometry: WebGlTexture,
    pub(super) harmonics: Option<WebGlTexture>,
    pub(super) colors: WebGlTexture,
    pub(super) color_frame: WebGlFramebuffer,
    pub(super) order: WebGlTexture,
    /// Splats to draw, in that order.
    pub(super) drawn: u32,
    /// Splats uploaded.
    pub(super) loaded: u32,
    /// Camera position and SH degree that the colours are for.
    pub(super) colored_for: Option<([f32; 3], u32)>,
}

impl GpuModel {
    /// Takes the memory of a whole model.
    pub(super) fn new(gl: &Gl, about: Model) -> Result<Self, String> {
        let layout = Layout::new(about.count, about.degree);
        let Layout { rows, layers, .. } = layout;
        let size = |texels: u32| [ROW * texels, rows, layers];
        let geometry = texture_array(gl, Texels::Words, size(2))?;
        let harmonics = match layout.sh_texels() as u32 {
            0 => None,
            texels => Some(texture_array(gl, Texels::Words, size(texels))?),
        };
        let colors = texture_array(gl, Texels::Halves, size(1))?;
        let color_frame = gl.create_framebuffer().ok_or("the browser gave no framebuffer")?;
        let order = order_texture(gl, about.count)?;
        Ok(Self {
            about,
            layout,
            geometry,
            harmonics,
            colors,
            color_frame,
            order,
            drawn: 0,
            loaded: 0,
            colored_for: None,
        })
    }

    /// Uploads a batch; batches start at whole rows.
    pub(super) fn upload(&mut self, gl: &Gl, batch: &Batch) {
        self.rows(gl, &self.geometry, 2, batch.first, &batch.geometry);
        if let Some(harmonics) = &self.harmonics {
            self.rows(gl, harmonics, self.layout.sh_texels() as u32, batch.sh_first, &batch.sh);
        }
        self.loaded = self.loaded.max(batch.first + batch.len() as u32);
        self.colored_for = None;
    }

    fn rows(&self, gl: &Gl, texture: &WebGlTexture, texels: u32, first: u32, words: &[u32]) {
        let width = ROW * texels;
        for (k, part) in words.chunks(width as usize * 4).enumerate() {
            let (layer, y) = self.layout.place(first / ROW + k as u32);
            if part.len() as u32 == width * 4 {
                write_rows(gl, texture, [y, layer], width, part);
            } else {
                let mut padded = part.to_vec();
                padded.resize(width as usize * 4, 0);
                write_rows(gl, texture, [y, layer], width, &padded);
            }
        }
    }

    /// Takes a new draw order.
    pub(super) fn set_order(&mut self, gl: &Gl, order: &Uint32Array) {
        self.drawn = order.length().min(self.about.count);
        gl.active_texture(Gl::TEXTURE0);
        gl.bind_texture(Gl::TEXTURE_2D, Some(&self.order));
        let whole = self.drawn / ORDER_ROW;
        let part = |first: u32, width: u32, height: u32| {
            let words: Object = order.subarray(first, first + width * height).into();
            let _ = gl.tex_sub_image_2d_with_i32_and_i32_and_u32_and_type_and_opt_array_buffer_view(
                Gl::TEXTURE_2D,
                0,
                0,
                (first / ORDER_ROW) as i32,
                width as i32,
                height as i32,
                Gl::RED_INTEGER,
                Gl::UNSIGNED_INT,
                Some(&words),
            );
        };
        if whole > 0 {
            part(0, ORDER_ROW, whole);
        }
        if self.drawn > whole * ORDER_ROW {
            part(whole * ORDER_ROW, self.drawn - whole * ORDER_ROW, 1);
        }
    }

    pub(super) fn delete(&self, gl: &Gl) {
        gl.delete_texture(Some(&self.geometry));
        gl.delete_texture(self.harmonics.as_ref());
        gl.delete_texture(Some(&self.colors));
        gl.delete_framebuffer(Some(&self.color_frame));
        gl.delete_texture(Some(&self.order));
    }
}

/// A texture of one word a splat.
fn order_texture(gl: &Gl, count: u32) -> Result<WebGlTexture, String> {
    let texture = gl.create_texture().ok_or("the browser gave no texture")?;
    gl.bind_texture(Gl::TEXTURE_2D, Some(&texture));
    let rows = count.div_ceil(ORDER_ROW).max(1);
    gl.tex_storage_2d(Gl::TEXTURE_2D, 1, Gl::R32UI, ORDER_ROW as i32, rows as i32);
    for name in [Gl::TEXTURE_MIN_FILTER, Gl::TEXTURE_MAG_FILTER] {
        gl.tex_parameteri(Gl::TEXTURE_2D, name, Gl::NEAREST as i32);
    }
    Ok(texture)
}
