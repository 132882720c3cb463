//! The mesh on the graphics device, and what the reader chose of it.

use js_sys::{Object, Uint8Array};
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlImageElement, WebGl2RenderingContext as Gl, WebGlBuffer, WebGlTexture, WebGlVertexArrayObject};

use super::gl::{Program, shader};
use super::renderer::{Shot, set_shot};
use crate::surface::{CORNER_BYTES, Surface};

/// Where the mesh is beside splats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Over the splats, as dense as chosen.
    #[default]
    Over,
    /// On the right of a line, with the splats on its left.
    Wipe,
    Alone,
}

impl Place {
    pub(super) const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Over, "over", "Over"),
        (Self::Wipe, "wipe", "Wipe"),
        (Self::Alone, "alone", "Alone"),
    ];

    pub(super) fn of_name(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|(_, id, _)| *id == name)
            .map_or(Self::Over, |(place, ..)| place)
    }
}

/// How the mesh is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeshLook {
    pub(super) place: Place,
    /// Opacity, or place of the line.
    pub(super) share: f32,
    pub(super) shaded: bool,
    pub(super) normals: bool,
    pub(super) wires: bool,
}

impl Default for MeshLook {
    fn default() -> Self {
        Self {
            place: Place::Over,
            share: 1.0,
            shaded: false,
            normals: false,
            wires: false,
        }
    }
}

/// A mesh that can be drawn.
pub(super) struct GpuMesh {
    program: Program,
    vertices: WebGlVertexArrayObject,
    buffer: WebGlBuffer,
    picture: Option<WebGlTexture>,
    pub(super) n_triangles: u32,
    /// The model of the run rather than a file that came beside it.
    pub(super) of_run: bool,
}

impl GpuMesh {
    /// Puts a mesh and its picture on the device.
    ///
    /// # Errors
    /// A sentence for the page.
    pub(super) fn new(gl: &Gl, surface: &Surface, picture: Option<&HtmlImageElement>) -> Result<Self, String> {
        let program = Program::new(gl, &[shader!("mesh.vert")], &[shader!("mesh.frag")])?;
        let missing = "the browser gave no buffer";
        let vertices = gl.create_vertex_array().ok_or(missing)?;
        let buffer = gl.create_buffer().ok_or(missing)?;
        gl.bind_vertex_array(Some(&vertices));
        gl.bind_buffer(Gl::ARRAY_BUFFER, Some(&buffer));
        while gl.get_error() != Gl::NO_ERROR && !gl.is_context_lost() {}
        let data: Object = Uint8Array::from(surface.corners.as_slice()).into();
        gl.buffer_data_with_array_buffer_view(Gl::ARRAY_BUFFER, &data, Gl::STATIC_DRAW);
        if gl.get_error() != Gl::NO_ERROR {
            gl.delete_buffer(Some(&buffer));
            return Err("the graphics memory does not hold the mesh; open one with fewer triangles".to_owned());
        }
        let stride = CORNER_BYTES as i32;
        for (location, size, kind, first) in [
            (0, 3, Gl::FLOAT, 0),
            (1, 2, Gl::FLOAT, 12),
            (2, 4, Gl::UNSIGNED_BYTE, 20),
            (3, 3, Gl::BYTE, 24),
        ] {
            gl.enable_vertex_attrib_array(location);
            gl.vertex_attrib_pointer_with_i32(location, size, kind, kind != Gl::FLOAT, stride, first);
        }
        gl.bind_vertex_array(None);
        let picture = picture.filter(|_| surface.has_uvs);
        Ok(Self {
            program,
            vertices,
            buffer,
            picture: picture.map(|image| texture(gl, image)).transpose()?,
            n_triangles: surface.n_triangles(),
            of_run: false,
        })
    }

    /// Draws onto the canvas between two columns of it, over what is there.
    pub(super) fn draw(&self, gl: &Gl, shot: &Shot, look: &MeshLook, near: f32, [left, right]: [i32; 2]) {
        self.program.bind(gl);
        set_shot(gl, &self.program, shot);
        gl.uniform1f(self.program.at("near"), near);
        for (name, on) in [
            ("textured", self.picture.is_some()),
            ("shaded", look.shaded),
            ("normals", look.normals),
            ("wires", look.wires),
        ] {
            gl.uniform1i(self.program.at(name), i32::from(on));
        }
        gl.active_texture(Gl::TEXTURE0);
        gl.bind_texture(Gl::TEXTURE_2D, self.picture.as_ref());
        gl.uniform1i(self.program.at("picture"), 0);
        let [width, height] = shot.lens.size;
        let line = match look.place {
            Place::Wipe => ((look.share * width as f32) as i32).clamp(left, right),
            Place::Over | Place::Alone => left,
        };
        gl.enable(Gl::SCISSOR_TEST);
        gl.scissor(line, 0, right - line, height as i32);
        if look.place != Place::Over {
            gl.clear_color(0.12, 0.125, 0.135, 1.0);
            gl.clear(Gl::COLOR_BUFFER_BIT);
        }
        let alpha = if look.place == Place::Over { look.share } else { 1.0 };
        gl.uniform1f(self.program.at("alpha"), alpha);
        gl.enable(Gl::DEPTH_TEST);
        gl.depth_func(Gl::LEQUAL);
        gl.clear(Gl::DEPTH_BUFFER_BIT);
        gl.enable(Gl::BLEND);
        gl.blend_func_separate(Gl::SRC_ALPHA, Gl::ONE_MINUS_SRC_ALPHA, Gl::ZERO, Gl::ONE);
        gl.bind_vertex_array(Some(&self.vertices));
        // First the depth alone: what is not dense shows one surface, not all behind it.
        for color in [false, true] {
            gl.color_mask(color, color, color, color);
            gl.draw_arrays(Gl::TRIANGLES, 0, 3 * self.n_triangles as i32);
        }
        gl.bind_vertex_array(None);
        gl.disable(Gl::BLEND);
        gl.disable(Gl::DEPTH_TEST);
        gl.disable(Gl::SCISSOR_TEST);
    }

    pub(super) fn delete(&self, gl: &Gl) {
        gl.delete_vertex_array(Some(&self.vertices));
        gl.delete_buffer(Some(&self.buffer));
        gl.delete_texture(self.picture.as_ref());
    }
}

/// A picture with smaller versions of itself; rows from the top, as texture coordinates count here.
fn texture(gl: &Gl, image: &HtmlImageElement) -> Result<WebGlTexture, String> {
    let texture = gl.create_texture().ok_or("the browser gave no texture")?;
    gl.bind_texture(Gl::TEXTURE_2D, Some(&texture));
    let image = image.unchecked_ref();
    let (internal, format) = (Gl::RGBA as i32, Gl::RGBA);
    let written = gl.tex_image_2d_with_u32_and_u32_and_html_image_element(
        Gl::TEXTURE_2D,
        0,
        internal,
        format,
        Gl::UNSIGNED_BYTE,
        image,
    );
    written.map_err(|_| "the picture of the mesh could not be put on the graphics device".to_owned())?;
    gl.generate_mipmap(Gl::TEXTURE_2D);
    gl.tex_parameteri(Gl::TEXTURE_2D, Gl::TEXTURE_MIN_FILTER, Gl::LINEAR_MIPMAP_LINEAR as i32);
    Ok(texture)
}
