//! The cameras of the scene as small pyramids, with their photographs where there are some.

use js_sys::{Float32Array, Object};
use web_sys::{HtmlImageElement, WebGl2RenderingContext as Gl, WebGlBuffer, WebGlTexture, WebGlVertexArrayObject};

use super::gl::{Program, Texels, shader, texture_array};
use super::renderer::{Shot, bind_array, set_shot};
use crate::frustum::{Outline, VERTEX_FLOATS};

/// Side of a thumbnail, texels.
const THUMBNAIL: u32 = 128;
/// Most thumbnails that are kept: 4 MiB.
pub(super) const THUMBNAILS: u32 = 64;

/// Lines and pictures of the cameras.
pub(super) struct Frusta {
    program: Program,
    vertices: WebGlVertexArrayObject,
    buffer: WebGlBuffer,
    /// One black texel until the first photograph comes.
    thumbnails: WebGlTexture,
    has_photographs: bool,
    fade: f32,
    n_lines: u32,
    n_triangles: u32,
}

impl Frusta {
    pub(super) fn new(gl: &Gl) -> Result<Self, String> {
        let program = Program::new(gl, &[shader!("line.vert")], &[shader!("line.frag")])?;
        let missing = "the browser gave no buffer";
        let vertices = gl.create_vertex_array().ok_or(missing)?;
        let buffer = gl.create_buffer().ok_or(missing)?;
        gl.bind_vertex_array(Some(&vertices));
        gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&buffer));
        for (location, size, first) in [(0, 3, 0), (1, 4, 3), (2, 3, 7)] {
            gl.enable_vertex_attrib_array(location);
            gl.vertex_attrib_pointer_with_i32(location, size, Gl::FLOAT, false, VERTEX_FLOATS as i32 * 4, first * 4);
        }
        gl.bind_vertex_array(None);
        Ok(Self {
            program,
            vertices,
            buffer,
            thumbnails: texture_array(gl, Texels::Bytes, [1, 1, 1])?,
            has_photographs: false,
            fade: 0.0,
            n_lines: 0,
            n_triangles: 0,
        })
    }

    /// Replaces all outlines, whose bases are `depth` away from their centres.
    pub(super) fn set(&mut self, gl: &Gl, outlines: &[Outline], depth: f32) {
        self.fade = depth * 1.6;
        let triangles = outlines.iter().flat_map(|outline| &outline.triangles);
        let lines = outlines.iter().flat_map(|outline| &outline.lines);
        let floats: Vec<f32> = triangles.chain(lines).flatten().copied().collect();
        let count = |of: fn(&Outline) -> usize| outlines.iter().map(of).sum::<usize>() as u32;
        self.n_triangles = count(|outline| outline.triangles.len());
        self.n_lines = count(|outline| outline.lines.len());
        gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&self.buffer));
        let data: Object = Float32Array::from(floats.as_slice()).into();
        gl.buffer_data_with_array_buffer_view(Gl::ARRAY_BUFFER, &data, Gl::STATIC_DRAW);
    }

    /// Puts a photograph into a slot below [`THUMBNAILS`]; it is drawn there at the slot's size.
    pub(super) fn set_thumbnail(&mut self, gl: &Gl, slot: u32, image: &HtmlImageElement) -> Result<(), String> {
        if !self.has_photographs {
            let texture = texture_array(gl, Texels::Bytes, [THUMBNAIL, THUMBNAIL, THUMBNAILS])?;
            gl.delete_texture(Some(&std::mem::replace(&mut self.thumbnails, texture)));
            self.has_photographs = true;
        }
        gl.bind_texture(Gl::TEXTURE_2D_ARRAY, Some(&self.thumbnails));
        let side = THUMBNAIL as i32;
        let canvas = super::dom::shrunk(image, THUMBNAIL)?;
        let written = gl.tex_sub_image_3d_with_html_canvas_element(
            Gl::TEXTURE_2D_ARRAY,
            0,
            0,
            0,
            slot as i32,
            side,
            side,
            1,
            Gl::RGBA,
            Gl::UNSIGNED_BYTE,
            &canvas,
        );
        written.map_err(|_| "a photograph could not be put on the graphics device".to_owned())
    }

    pub(super) fn draw(&self, gl: &Gl, shot: &Shot) {
        self.program.bind(gl);
        set_shot(gl, &self.program, shot);
        bind_array(gl, 0, &self.thumbnails);
        gl.uniform1f(self.program.at("fade"), self.fade);
        gl.uniform1i(self.program.at("thumbnails"), 0);
        gl.enable(Gl::BLEND);
        gl.blend_func(Gl::ONE, Gl::ONE_MINUS_SRC_ALPHA);
        gl.bind_vertex_array(Some(&self.vertices));
        gl.draw_arrays(Gl::TRIANGLES, 0, self.n_triangles as i32);
        gl.draw_arrays(Gl::LINES, self.n_triangles as i32, self.n_lines as i32);
        gl.bind_vertex_array(None);
        gl.disable(Gl::BLEND);
    }
}
