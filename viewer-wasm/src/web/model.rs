//! A model on the GPU: its textures, the colours of the moment and the draw order.

use js_sys::{Object, Uint32Array};
use web_sys::{WebGl2RenderingContext as Gl, WebGlBuffer, WebGlFramebuffer, WebGlTexture, WebGlVertexArrayObject};

use super::gl::{Texels, texture_array, write_rows};
use crate::pack::{Layout, ROW};
use crate::ply::{Batch, Model};

/// Textures and buffers of one model.
pub(super) struct GpuModel {
    pub(super) about: Model,
    pub(super) layout: Layout,
    pub(super) geometry: WebGlTexture,
    pub(super) harmonics: Option<WebGlTexture>,
    pub(super) colors: WebGlTexture,
    pub(super) color_frame: WebGlFramebuffer,
    pub(super) vertices: WebGlVertexArrayObject,
    order: WebGlBuffer,
    /// Splats to draw, in the order of the buffer.
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
        let missing = "the browser gave no buffer";
        let color_frame = gl.create_framebuffer().ok_or(missing)?;
        let vertices = gl.create_vertex_array().ok_or(missing)?;
        let order = gl.create_buffer().ok_or(missing)?;
        gl.bind_vertex_array(Some(&vertices));
        gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&order));
        gl.buffer_data_with_i32(Gl::ARRAY_BUFFER, (about.count.max(1) * 4) as i32, Gl::DYNAMIC_DRAW);
        gl.enable_vertex_attrib_array(0);
        gl.vertex_attrib_i_pointer_with_i32(0, 1, Gl::UNSIGNED_INT, 4, 0);
        gl.vertex_attrib_divisor(0, 1);
        gl.bind_vertex_array(None);
        Ok(Self {
            about,
            layout,
            geometry,
            harmonics,
            colors,
            color_frame,
            vertices,
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
        gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&self.order));
        let view: &Object = order.as_ref();
        gl.buffer_sub_data_with_i32_and_array_buffer_view(Gl::ARRAY_BUFFER, 0, view);
    }

    pub(super) fn delete(&self, gl: &Gl) {
        gl.delete_texture(Some(&self.geometry));
        gl.delete_texture(self.harmonics.as_ref());
        gl.delete_texture(Some(&self.colors));
        gl.delete_framebuffer(Some(&self.color_frame));
        gl.delete_vertex_array(Some(&self.vertices));
        gl.delete_buffer(Some(&self.order));
    }
}
