//! A model on the GPU: its textures and the draw order; and what a picture shows of the splats in it.

use js_sys::{Array, Object, Uint32Array};
use web_sys::{WebGl2RenderingContext as Gl, WebGlFramebuffer, WebGlTexture};

use super::gl::{Texels, texture_array, write_texels};
use super::streaming::Streamed;
use super::worker::Piece;
use crate::pack::{GEOMETRY_WORDS, Layout, ROW};
use crate::ply::Model;

/// Entries of the draw order in a row of its texture.
const ORDER_ROW: u32 = 4096;

/// Textures of one model.
pub(super) struct GpuModel {
    /// Number that the worker knows it by.
    pub(super) number: u32,
    pub(super) about: Model,
    pub(super) layout: Layout,
    pub(super) geometry: WebGlTexture,
    pub(super) harmonics: Option<WebGlTexture>,
    pub(super) order: WebGlTexture,
    /// Splats to draw, in that order.
    pub(super) drawn: u32,
    /// Splats uploaded.
    pub(super) loaded: u32,
    /// Where only a part of it is held at a time.
    pub(super) streamed: Option<Streamed>,
    /// Counts the changes of splats and order.
    pub(super) changes: u32,
}

impl GpuModel {
    /// Takes the memory of a whole model.
    pub(super) fn new(gl: &Gl, number: u32, about: Model) -> Result<Self, String> {
        let layout = Layout::new(about.count, about.degree);
        let Layout { rows, layers, .. } = layout;
        let size = |texels: u32| [ROW * texels, rows, layers];
        let geometry = texture_array(gl, Texels::Words, size(2))?;
        let harmonics = match layout.sh_texels() as u32 {
            0 => None,
            texels => Some(texture_array(gl, Texels::Words, size(texels))?),
        };
        let order = order_texture(gl, about.count)?;
        Ok(Self {
            number,
            about,
            layout,
            geometry,
            harmonics,
            order,
            drawn: 0,
            loaded: 0,
            streamed: None,
            changes: 0,
        })
    }

    /// Uploads a piece.
    pub(super) fn upload(&mut self, gl: &Gl, piece: &Piece) {
        self.rows(gl, &self.geometry, 2, piece.first, &piece.geometry);
        if let Some(harmonics) = &self.harmonics {
            self.rows(gl, harmonics, self.layout.sh_texels() as u32, piece.sh_first, &piece.sh);
        }
        let splats = piece.geometry.length() / GEOMETRY_WORDS as u32;
        if self.streamed.is_none() {
            self.loaded = self.loaded.max(piece.first + splats);
        }
        self.changes += 1;
    }

    /// Writes splats from `first` on, row by row.
    fn rows(&self, gl: &Gl, texture: &WebGlTexture, texels: u32, first: u32, words: &Uint32Array) {
        let count = words.length() / (texels * 4);
        let mut done = 0;
        while done < count {
            let (row, x) = ((first + done) / ROW, (first + done) % ROW);
            let part = (ROW - x).min(count - done);
            let (layer, y) = self.layout.place(row);
            let words = words.subarray(done * texels * 4, (done + part) * texels * 4);
            write_texels(gl, texture, [x * texels, y, layer], part * texels, &words);
            done += part;
        }
    }

    /// Takes a new draw order.
    pub(super) fn set_order(&mut self, gl: &Gl, order: &Uint32Array) {
        self.drawn = order.length().min(self.about.count);
        self.changes += 1;
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
        gl.delete_texture(Some(&self.order));
    }
}

/// What a picture shows of each splat in the draw order; one at a time, whatever the model.
pub(super) struct Records {
    pub(super) layout: Layout,
    pub(super) ellipses: WebGlTexture,
    pub(super) paints: WebGlTexture,
    frame: WebGlFramebuffer,
}

impl Records {
    /// Room for `count` splats.
    pub(super) fn new(gl: &Gl, count: u32) -> Result<Self, String> {
        let layout = Layout::new(count, 0);
        let size = [ROW, layout.rows, layout.layers];
        let frame = gl.create_framebuffer().ok_or("the browser gave no framebuffer")?;
        Ok(Self {
            layout,
            ellipses: texture_array(gl, Texels::Words, size)?,
            paints: texture_array(gl, Texels::Pairs, size)?,
            frame,
        })
    }

    /// Has what is drawn next written to a layer.
    pub(super) fn bind(&self, gl: &Gl, layer: u32) {
        gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&self.frame));
        let places = [Gl::COLOR_ATTACHMENT0, Gl::COLOR_ATTACHMENT0 + 1];
        for (texture, at) in [&self.ellipses, &self.paints].into_iter().zip(places) {
            gl.framebuffer_texture_layer(Gl::FRAMEBUFFER, at, Some(texture), 0, layer as i32);
        }
        gl.draw_buffers(&places.map(wasm_bindgen::JsValue::from).into_iter().collect::<Array>());
    }

    pub(super) fn delete(&self, gl: &Gl) {
        gl.delete_texture(Some(&self.ellipses));
        gl.delete_texture(Some(&self.paints));
        gl.delete_framebuffer(Some(&self.frame));
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
