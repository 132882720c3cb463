//! Draws models: what the camera sees of each splat, splats far to near into half floats, then the picture onto the page.

use js_sys::{Float32Array, Object, Uint8Array, Uint16Array};
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlCanvasElement, WebGl2RenderingContext as Gl, WebGlTexture, WebGlVertexArrayObject};

use super::beside::Beside;
use super::frusta::Frusta;
use super::gl::{Program, Target, shader};
use super::mesh::{GpuMesh, MeshLook};
use super::model::{GpuModel, Records};
use crate::camera::{Lens, Pose};
use crate::error_map::STOPS;
use crate::math::{Vec3, pow};
use crate::pack::ROW;
use crate::ply::Filter;
use crate::style::Style;

const GEOMETRY: &str = shader!("geometry.glsl");
const STYLE: &str = shader!("style.glsl");

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
    project: Program,
    splat: Program,
    resolve: Program,
    quads: WebGlVertexArrayObject,
    /// Of the scene shown, and of the one kept beside it.
    targets: [Option<Target>; 2],
    records: Option<Records>,
    /// What the records are of: number and changes of the model, camera and look.
    projected: Option<(u32, u32, Shot, Look)>,
    pub(super) model: Option<GpuModel>,
    pub(super) mesh: Option<GpuMesh>,
    /// Kept to be compared with.
    pub(super) kept: Kept,
    pub(super) frusta: Frusta,
}

/// A scene that is kept to be compared with.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) model: Option<GpuModel>,
    pub(super) mesh: Option<GpuMesh>,
    /// Behind everything, 0 to 1.
    pub(super) background: Vec3,
}

impl Kept {
    pub(super) fn is_there(&self) -> bool {
        self.model.is_some() || self.mesh.is_some()
    }
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
        let full = shader!("full.vert");
        Ok(Self {
            project: Program::new(&gl, &[full], &[GEOMETRY, STYLE, shader!("project.frag")])?,
            splat: Program::new(&gl, &[shader!("splat.vert")], &[STYLE, shader!("splat.frag")])?,
            resolve: Program::new(&gl, &[full], &[STYLE, shader!("resolve.frag")])?,
            quads: quads(&gl)?,
            frusta: Frusta::new(&gl)?,
            targets: [None, None],
            records: None,
            projected: None,
            model: None,
            mesh: None,
            kept: Kept::default(),
            gl,
            canvas,
        })
    }

    /// Draws onto the page; meshes from a distance on, splats with half the pixels a side when `coarse`. What is kept lies
    /// beside what is shown as chosen, up to a share of the width.
    pub(super) fn draw(
        &mut self,
        shot: &Shot,
        look: &Look,
        mesh: (&MeshLook, f32),
        (beside, share): (Beside, f32),
        frusta: bool,
        coarse: bool,
    ) -> Result<(), String> {
        if self.gl.is_context_lost() {
            return Ok(());
        }
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
        let alone = self.model.is_none() && self.mesh.is_none();
        let beside = match (self.kept.is_there(), beside) {
            (false, _) => Beside::Shown,
            (true, Beside::Shown) if !alone => Beside::Shown,
            (true, _) if alone => Beside::Kept,
            (true, beside) => beside,
        };
        for (side, unused) in [(0, beside == Beside::Kept), (1, beside == Beside::Shown)] {
            if let Some(old) = self.targets[side].take_if(|old| unused || old.size != drawn) {
                old.delete(&self.gl);
            }
            if !unused && self.targets[side].is_none() {
                self.targets[side] = Some(Target::new(&self.gl, drawn, Gl::RGBA16F)?);
            }
        }
        let targets = std::mem::take(&mut self.targets);
        let mut result = Ok(());
        for (target, kept) in targets.iter().zip([false, true]) {
            if let Some(target) = target {
                result = result.and(self.splats(target, &splat_shot, look, kept));
            }
        }
        let gl = &self.gl;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, None);
        gl.viewport(0, 0, size[0] as i32, size[1] as i32);
        let width = size[0] as i32;
        let line = (share * size[0] as f32) as i32;
        let [of_kept, of_shown] = match beside {
            Beside::Kept => [[0, width], [0, 0]],
            Beside::Shown | Beside::Difference => [[0, 0], [0, width]],
            Beside::Wipe => [[0, line], [line, width]],
        };
        let gain = if beside == Beside::Difference {
            // From as it is to 64 times.
            pow(2.0, f64::from(6.0 * share)) as f32
        } else {
            0.0
        };
        let sides = [
            (&targets[1], &self.kept.mesh, self.kept.background, of_kept),
            (&targets[0], &self.mesh, look.background, of_shown),
        ];
        for (target, surface, background, columns) in sides {
            let (Some(target), true) = (target, columns[0] < columns[1]) else {
                continue;
            };
            gl.enable(Gl::SCISSOR_TEST);
            gl.scissor(columns[0], 0, columns[1] - columns[0], size[1] as i32);
            gl.active_texture(Gl::TEXTURE1);
            gl.bind_texture(Gl::TEXTURE_2D, targets[1].as_ref().map(|kept| &kept.texture));
            self.resolve_onto(&target.texture, look, background, gain, true);
            gl.disable(Gl::SCISSOR_TEST);
            if let (Some(surface), true) = (surface, gain == 0.0) {
                surface.draw(gl, shot, mesh.0, mesh.1, columns);
            }
        }
        if frusta {
            self.frusta.draw(gl, shot);
        }
        self.targets = targets;
        result
    }

    /// The bytes of a picture at the lens's own size: RGBA, rows from the top.
    pub(super) fn picture(&mut self, shot: &Shot, look: &Look) -> Result<Uint8Array, String> {
        let size = shot.lens.size;
        let target = Target::new(&self.gl, size, Gl::RGBA16F)?;
        let bytes = Target::new(&self.gl, size, Gl::RGBA8)?;
        self.splats(&target, shot, look, false)?;
        let gl = &self.gl;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&bytes.frame));
        gl.viewport(0, 0, size[0] as i32, size[1] as i32);
        self.resolve_onto(&target.texture, look, look.background, 0.0, false);
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
        let target = self.targets[0].take()?;
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
        let drawn = self.splats(&target, &shot, &look, false);
        let out = Float32Array::new_with_length(4);
        let view: &Object = out.as_ref();
        // The picture lies with its first row at the bottom.
        let read =
            self.gl
                .read_pixels_with_opt_array_buffer_view(x as i32, y as i32, 1, 1, Gl::RGBA, Gl::FLOAT, Some(view));
        self.targets[0] = Some(target);
        drawn.ok()?;
        read.ok()?;
        let [depth, alpha] = [out.get_index(0), out.get_index(3)];
        (alpha > 0.3).then(|| depth / alpha)
    }

    /// Writes a target onto what is bound; with a gain its difference from the texture in unit 1.
    fn resolve_onto(&self, texture: &WebGlTexture, look: &Look, background: Vec3, gain: f32, flip: bool) {
        let gl = &self.gl;
        self.resolve.bind(gl);
        gl.active_texture(Gl::TEXTURE0);
        gl.bind_texture(Gl::TEXTURE_2D, Some(texture));
        gl.uniform1i(self.resolve.at("picture"), 0);
        gl.uniform1i(self.resolve.at("flip"), i32::from(flip));
        gl.uniform1i(self.resolve.at("other"), 1);
        gl.uniform1f(self.resolve.at("gain"), gain);
        gl.uniform3fv_with_f32_array(self.resolve.at("background"), &background);
        gl.uniform3fv_with_f32_array(self.resolve.at("other_background"), &self.kept.background);
        gl.uniform1i(self.resolve.at("style"), look.style as i32);
        gl.uniform2fv_with_f32_array(self.resolve.at("range"), &look.range);
        let ramp = STOPS.as_flattened().iter().map(|byte| f32::from(*byte) / 255.0);
        let ramp: Vec<f32> = ramp.collect();
        gl.uniform3fv_with_f32_array(self.resolve.at("ramp[0]"), &ramp);
        gl.disable(Gl::BLEND);
        gl.draw_arrays(Gl::TRIANGLES, 0, 3);
    }

    /// Draws the model that is shown, or the one that is kept, into a target.
    fn splats(&mut self, target: &Target, shot: &Shot, look: &Look, kept: bool) -> Result<(), String> {
        self.project(shot, look, kept)?;
        let gl = &self.gl;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&target.frame));
        gl.viewport(0, 0, target.size[0] as i32, target.size[1] as i32);
        gl.clear_color(0.0, 0.0, 0.0, 0.0);
        gl.clear(Gl::COLOR_BUFFER_BIT);
        let model = if kept { &self.kept.model } else { &self.model };
        let (Some(model), Some(records)) = (model, &self.records) else {
            return Ok(());
        };
        let program = &self.splat;
        program.bind(gl);
        bind_array(gl, 0, &records.ellipses);
        bind_array(gl, 1, &records.paints);
        gl.uniform1i(program.at("ellipses"), 0);
        gl.uniform1i(program.at("paints"), 1);
        gl.uniform1i(program.at("drawn"), model.drawn as i32);
        gl.uniform1i(program.at("record_rows"), records.layout.rows as i32);
        gl.uniform2f(
            program.at("size_px"),
            shot.lens.size[0] as f32,
            shot.lens.size[1] as f32,
        );
        gl.uniform1i(program.at("style"), look.style as i32);
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
        Ok(())
    }

    /// Writes down what a picture shows of each splat in the draw order, unless that is there.
    fn project(&mut self, shot: &Shot, look: &Look, kept: bool) -> Result<(), String> {
        let gl = &self.gl;
        let model = if kept { &self.kept.model } else { &self.model };
        let Some(model) = model.as_ref().filter(|model| model.drawn > 0) else {
            return Ok(());
        };
        let wanted = Some((model.number, model.changes, *shot, *look));
        if self.projected == wanted {
            return Ok(());
        }
        self.projected = None;
        let short = |records: &mut Records| records.layout.capacity() < model.drawn.into();
        if let Some(old) = self.records.take_if(short) {
            old.delete(gl);
        }
        if self.records.is_none() {
            // A little more than needed, as the next camera may see more.
            let room = model.drawn.saturating_add(model.drawn / 8).min(model.about.count);
            self.records = Some(Records::new(gl, room)?);
        }
        let Some(records) = &self.records else {
            return Ok(());
        };
        let program = &self.project;
        program.bind(gl);
        bind_array(gl, 0, &model.geometry);
        bind_array(gl, 1, model.harmonics.as_ref().unwrap_or(&model.geometry));
        gl.active_texture(Gl::TEXTURE2);
        gl.bind_texture(Gl::TEXTURE_2D, Some(&model.order));
        let mip = matches!(model.about.filter, Filter::Mip(_));
        for (name, value) in [
            ("geometry", 0),
            ("harmonics", 1),
            ("order", 2),
            ("drawn", model.drawn),
            ("layer_rows", model.layout.rows),
            ("record_rows", records.layout.rows),
            ("degree", look.degree.min(model.about.degree)),
            ("sh_texels", model.layout.sh_texels() as u32),
            ("compensated", mip.into()),
            ("style", look.style as u32),
        ] {
            gl.uniform1i(program.at(name), value as i32);
        }
        set_shot(gl, program, shot);
        gl.uniform1f(program.at("variance"), model.about.filter.variance());
        gl.uniform1f(program.at("scale_by"), look.scale);
        gl.uniform1f(program.at("point_px"), POINT_PX);
        gl.disable(Gl::BLEND);
        let rows = model.drawn.div_ceil(ROW);
        for layer in 0..rows.div_ceil(records.layout.rows) {
            records.bind(gl, layer);
            let rows = (rows - layer * records.layout.rows).min(records.layout.rows);
            gl.viewport(0, 0, ROW as i32, rows as i32);
            gl.uniform1i(program.at("layer"), layer as i32);
            gl.draw_arrays(Gl::TRIANGLES, 0, 3);
        }
        self.projected = wanted;
        Ok(())
    }

    /// Gives back what only the models of before needed.
    pub(super) fn forget_records(&mut self) {
        self.projected = None;
        if let Some(records) = self.records.take() {
            records.delete(&self.gl);
        }
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
