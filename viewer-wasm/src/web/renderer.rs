//! Draws a model: colours for the camera, splats far to near into half floats, then the picture onto the page.

use js_sys::{Float32Array, Object, Uint8Array, Uint16Array};
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlCanvasElement, WebGl2RenderingContext as Gl, WebGlTexture, WebGlVertexArrayObject};

use super::frusta::Frusta;
use super::gl::{Program, Target};
use super::mesh::{GpuMesh, MeshLook};
use super::model::GpuModel;
use crate::camera::{Lens, Pose};
use crate::error_map::STOPS;
use crate::math::Vec3;
use crate::pack::ROW;
use crate::ply::Filter;
use crate::style::Style;

const GEOMETRY: &str = include_str!("shaders/geometry.glsl");
const STYLE: &str = include_str!("shaders/style.glsl");

/// Quads of an instance, as in the shader.
const QUADS: u32 = 256;

/// Radius of a point, pixels.
const POINT_PX: f32 = 1.5;

/// How splats are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// SH degree in use; the model's own when that is lower.
    pub(super) degree: u32,
    /// Factor on all scales.
    pub(super) scale: f32,
    pub(super) style: Style,
    /// Least and most of the scale of depths or counts.
    pub(super) range: [f32; 2],
    /// Behind everything, 0 to 1.
    pub(super) background: Vec3,
}

/// Camera and lens of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shot {
    pub(super) pose: Pose,
    pub(super) lens: Lens,
}

/// The canvas and everything needed to draw on it.
pub(super) struct Renderer {
    pub(super) gl: Gl,
    pub(super) canvas: HtmlCanvasElement,
    color: Program,
    splat: Program,
    resolve: Program,
    quads: WebGlVertexArrayObject,
    target: Option<Target>,
    pub(super) model: Option<GpuModel>,
    pub(super) mesh: Option<GpuMesh>,
    pub(super) frusta: Frusta,
}

impl Renderer {
    /// Prepares the canvas.
    ///
    /// # Errors
    /// A sentence for the page when the browser or device cannot do it.
    pub(super) fn new(canvas: HtmlCanvasElement) -> Result<Self, String> {
        let context = canvas.get_context("webgl2").ok().flatten();
        let gl = context.and_then(|context| context.dyn_into::<Gl>().ok());
        let gl = gl.ok_or("This browser offers no WebGL2, so splats cannot be drawn. Metrics and evaluation work.")?;
        let floats = ["EXT_color_buffer_float", "EXT_color_buffer_half_float"];
        if !floats.iter().any(|name| matches!(gl.get_extension(name), Ok(Some(_)))) {
            return Err("This graphics device cannot draw into half floats, which splats need.".to_owned());
        }
        let full = include_str!("shaders/full.vert");
        Ok(Self {
            color: Program::new(&gl, &[full], &[GEOMETRY, include_str!("shaders/color.frag")])?,
            splat: Program::new(
                &gl,
                &[GEOMETRY, STYLE, include_str!("shaders/splat.vert")],
                &[STYLE, include_str!("shaders/splat.frag")],
            )?,
            resolve: Program::new(&gl, &[full], &[STYLE, include_str!("shaders/resolve.frag")])?,
            quads: quads(&gl)?,
            frusta: Frusta::new(&gl)?,
            target: None,
            model: None,
            mesh: None,
            gl,
            canvas,
        })
    }

    /// Draws onto the page; the mesh from a distance on, splats with half the pixels a side when `coarse`.
    pub(super) fn draw(
        &mut self,
        shot: &Shot,
        look: &Look,
        mesh: (&MeshLook, f32),
        frusta: bool,
        coarse: bool,
    ) -> Result<(), String> {
        let size = [self.canvas.width(), self.canvas.height()];
        let drawn = if coarse {
            size.map(|side| side.div_ceil(2))
        } else {
            size
        };
        let splat_shot = Shot {
            lens: shot.lens.fitted(drawn),
            ..*shot
        };
        if self.target.as_ref().is_none_or(|target| target.size != drawn) {
            if let Some(old) = self.target.take() {
                old.delete(&self.gl);
            }
            self.target = Some(Target::new(&self.gl, drawn, Gl::RGBA16F)?);
        }
        let Some(target) = self.target.take() else {
            return Ok(());
        };
        self.splats(&target, &splat_shot, look);
        let gl = &self.gl;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, None);
        gl.viewport(0, 0, size[0] as i32, size[1] as i32);
        self.resolve_onto(&target.texture, look, true);
        if let Some(surface) = &self.mesh {
            surface.draw(gl, shot, mesh.0, mesh.1);
        }
        if frusta {
            self.frusta.draw(gl, shot);
        }
        self.target = Some(target);
        Ok(())
    }

    /// The bytes of a picture at the lens's own size: RGBA, rows from the top.
    pub(super) fn picture(&mut self, shot: &Shot, look: &Look) -> Result<Uint8Array, String> {
        let size = shot.lens.size;
        let target = Target::new(&self.gl, size, Gl::RGBA16F)?;
        let bytes = Target::new(&self.gl, size, Gl::RGBA8)?;
        self.splats(&target, shot, look);
        let gl = &self.gl;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&bytes.frame));
        gl.viewport(0, 0, size[0] as i32, size[1] as i32);
        self.resolve_onto(&target.texture, look, false);
        let out = Uint8Array::new_with_length(size[0] * size[1] * 4);
        let (width, height) = (size[0] as i32, size[1] as i32);
        let view: &Object = out.as_ref();
        let read =
            gl.read_pixels_with_opt_array_buffer_view(0, 0, width, height, Gl::RGBA, Gl::UNSIGNED_BYTE, Some(view));
        target.delete(gl);
        bytes.delete(gl);
        read.map_err(|_| "the picture could not be read back".to_owned())?;
        Ok(out)
    }

    /// Depth of what is seen at a pixel of the canvas, from the top left; `None` where hardly anything is.
    pub(super) fn depth_at(&mut self, shot: &Shot, look: &Look, [x, y]: [u32; 2]) -> Option<f32> {
        let target = self.target.take()?;
        let look = Look {
            style: Style::Depth,
            ..*look
        };
        let by = |axis: usize| target.size[axis] as f32 / shot.lens.size[axis] as f32;
        let [x, y] = [x as f32 * by(0), y as f32 * by(1)].map(|v| v as u32);
        let shot = Shot {
            lens: shot.lens.fitted(target.size),
            ..*shot
        };
        self.splats(&target, &shot, &look);
        let out = Float32Array::new_with_length(4);
        let view: &Object = out.as_ref();
        // The picture lies with its first row at the bottom.
        let read =
            self.gl
                .read_pixels_with_opt_array_buffer_view(x as i32, y as i32, 1, 1, Gl::RGBA, Gl::FLOAT, Some(view));
        self.target = Some(target);
        read.ok()?;
        let [depth, alpha] = [out.get_index(0), out.get_index(3)];
        (alpha > 0.3).then(|| depth / alpha)
    }

    fn resolve_onto(&self, texture: &WebGlTexture, look: &Look, flip: bool) {
        let gl = &self.gl;
        self.resolve.bind(gl);
        gl.active_texture(Gl::TEXTURE0);
        gl.bind_texture(Gl::TEXTURE_2D, Some(texture));
        gl.uniform1i(self.resolve.at("picture"), 0);
        gl.uniform1i(self.resolve.at("flip"), i32::from(flip));
        let [r, g, b] = look.background;
        gl.uniform3f(self.resolve.at("background"), r, g, b);
        gl.uniform1i(self.resolve.at("style"), look.style as i32);
        gl.uniform2fv_with_f32_array(self.resolve.at("range"), &look.range);
        let ramp = STOPS.as_flattened().iter().map(|byte| f32::from(*byte) / 255.0);
        let ramp: Vec<f32> = ramp.collect();
        gl.uniform3fv_with_f32_array(self.resolve.at("ramp[0]"), &ramp);
        gl.disable(Gl::BLEND);
        gl.draw_arrays(Gl::TRIANGLES, 0, 3);
    }

    fn splats(&mut self, target: &Target, shot: &Shot, look: &Look) {
        let gl = &self.gl;
        if let Some(model) = &mut self.model {
            recolor(gl, &self.color, model, shot, look);
        }
        gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&target.frame));
        gl.viewport(0, 0, target.size[0] as i32, target.size[1] as i32);
        gl.clear_color(0.0, 0.0, 0.0, 0.0);
        gl.clear(Gl::COLOR_BUFFER_BIT);
        let Some(model) = &self.model else {
            return;
        };
        let program = &self.splat;
        program.bind(gl);
        bind_array(gl, 0, &model.geometry);
        bind_array(gl, 1, &model.colors);
        gl.uniform1i(program.at("geometry"), 0);
        gl.uniform1i(program.at("colors"), 1);
        gl.active_texture(Gl::TEXTURE2);
        gl.bind_texture(Gl::TEXTURE_2D, Some(&model.order));
        gl.uniform1i(program.at("order"), 2);
        gl.uniform1i(program.at("drawn"), model.drawn as i32);
        gl.uniform1i(program.at("layer_rows"), model.layout.rows as i32);
        set_shot(gl, program, shot);
        gl.uniform1f(program.at("variance"), model.about.filter.variance());
        let mip = matches!(model.about.filter, Filter::Mip(_));
        gl.uniform1i(program.at("compensated"), i32::from(mip));
        gl.uniform1f(program.at("scale_by"), look.scale);
        gl.uniform1i(program.at("style"), look.style as i32);
        gl.uniform1f(program.at("point_px"), POINT_PX);
        gl.enable(Gl::BLEND);
        let under = if look.style == Style::Counts {
            Gl::ONE
        } else {
            Gl::ONE_MINUS_SRC_ALPHA
        };
        gl.blend_func(Gl::ONE, under);
        gl.bind_vertex_array(Some(&self.quads));
        let (indices, batches) = (6 * QUADS as i32, model.drawn.div_ceil(QUADS) as i32);
        gl.draw_elements_instanced_with_i32(Gl::TRIANGLES, indices, Gl::UNSIGNED_SHORT, 0, batches);
        gl.bind_vertex_array(None);
        gl.disable(Gl::BLEND);
    }
}

/// Uniforms that every program working in the world shares.
pub(super) fn set_shot(gl: &Gl, program: &Program, Shot { pose, lens }: &Shot) {
    let rows = pose.rotation.as_flattened();
    gl.uniform_matrix3fv_with_f32_array(program.at("world_to_camera"), true, rows);
    gl.uniform3fv_with_f32_array(program.at("camera"), &pose.position);
    gl.uniform2f(program.at("size_px"), lens.size[0] as f32, lens.size[1] as f32);
    gl.uniform2fv_with_f32_array(program.at("focal"), &lens.focal);
    gl.uniform2fv_with_f32_array(program.at("centre"), &lens.centre);
}

pub(super) fn bind_array(gl: &Gl, unit: u32, texture: &WebGlTexture) {
    gl.active_texture(Gl::TEXTURE0 + unit);
    gl.bind_texture(Gl::TEXTURE_2D_ARRAY, Some(texture));
}

/// Evaluates the harmonics of every splat when the camera moved.
fn recolor(gl: &Gl, program: &Program, model: &mut GpuModel, shot: &Shot, look: &Look) {
    let degree = look.degree.min(model.about.degree);
    let wanted = Some((shot.pose.position, degree));
    if model.colored_for == wanted || model.loaded == 0 {
        return;
    }
    model.colored_for = wanted;
    program.bind(gl);
    bind_array(gl, 0, &model.geometry);
    bind_array(gl, 1, model.harmonics.as_ref().unwrap_or(&model.geometry));
    gl.uniform1i(program.at("geometry"), 0);
    gl.uniform1i(program.at("harmonics"), 1);
    gl.uniform1i(program.at("layer_rows"), model.layout.rows as i32);
    gl.uniform1i(program.at("degree"), degree as i32);
    gl.uniform1i(program.at("sh_texels"), model.layout.sh_texels() as i32);
    gl.uniform3fv_with_f32_array(program.at("camera"), &shot.pose.position);
    gl.disable(Gl::BLEND);
    gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&model.color_frame));
    let rows = model.loaded.div_ceil(ROW);
    for layer in 0..rows.div_ceil(model.layout.rows) {
        let (texture, at) = (Some(&model.colors), Gl::COLOR_ATTACHMENT0);
        gl.framebuffer_texture_layer(Gl::FRAMEBUFFER, at, texture, 0, layer as i32);
        let rows = (rows - layer * model.layout.rows).min(model.layout.rows);
        gl.viewport(0, 0, ROW as i32, rows as i32);
        gl.uniform1i(program.at("layer"), layer as i32);
        gl.draw_arrays(Gl::TRIANGLES, 0, 3);
    }
}

/// Indices of the quads of one instance, four vertices each.
fn quads(gl: &Gl) -> Result<WebGlVertexArrayObject, String> {
    let missing = "the browser gave no buffer";
    let vertices = gl.create_vertex_array().ok_or(missing)?;
    gl.bind_vertex_array(Some(&vertices));
    let buffer = gl.create_buffer().ok_or(missing)?;
    gl.bind_buffer(Gl::ELEMENT_ARRAY_BUFFER, Some(&buffer));
    let indices: Vec<u16> = (0..QUADS as u16)
        .flat_map(|quad| [0, 1, 2, 2, 1, 3].map(|corner| quad * 4 + corner))
        .collect();
    let data: Object = Uint16Array::from(indices.as_slice()).into();
    gl.buffer_data_with_array_buffer_view(Gl::ELEMENT_ARRAY_BUFFER, &data, Gl::STATIC_DRAW);
    gl.bind_vertex_array(None);
    Ok(vertices)
}
