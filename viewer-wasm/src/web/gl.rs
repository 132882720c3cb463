//! Thin words for WebGL2: programs, textures, targets.

use js_sys::Uint32Array;
use web_sys::{WebGl2RenderingContext as Gl, WebGlFramebuffer, WebGlProgram, WebGlTexture, WebGlUniformLocation};

/// Text of a shader in `shaders`, without comments and indentation, which only readers of the source need.
macro_rules! shader {
    ($name:literal) => {{
        const SOURCE: &str = include_str!(concat!("shaders/", $name));
        const SLIM: [u8; $crate::slim::length(SOURCE)] = $crate::slim::without_comments(SOURCE);
        const TEXT: &str = $crate::slim::text(&SLIM);
        TEXT
    }};
}
pub(super) use shader;

/// Version line and precisions that every shader begins with.
const PROLOGUE: &str = "#version 300 es\nprecision highp float;\nprecision highp int;\n";

/// A linked program and its uniforms by name.
pub(super) struct Program {
    program: WebGlProgram,
    uniforms: Vec<(String, WebGlUniformLocation)>,
}

impl Program {
    pub(super) fn new(gl: &Gl, vertex: &[&str], fragment: &[&str]) -> Result<Self, String> {
        let program = gl.create_program().ok_or("the browser gave no WebGL program")?;
        for (kind, parts) in [(Gl::VERTEX_SHADER, vertex), (Gl::FRAGMENT_SHADER, fragment)] {
            let shader = gl.create_shader(kind).ok_or("the browser gave no WebGL shader")?;
            gl.shader_source(&shader, &(PROLOGUE.to_owned() + &parts.concat()));
            gl.compile_shader(&shader);
            if gl.get_shader_parameter(&shader, Gl::COMPILE_STATUS) != true {
                let log = gl.get_shader_info_log(&shader).unwrap_or_default();
                return Err(format!("a shader does not compile on this device: {log}"));
            }
            gl.attach_shader(&program, &shader);
            gl.delete_shader(Some(&shader));
        }
        gl.link_program(&program);
        if gl.get_program_parameter(&program, Gl::LINK_STATUS) != true {
            let log = gl.get_program_info_log(&program).unwrap_or_default();
            return Err(format!("the shaders do not link on this device: {log}"));
        }
        let count = gl.get_program_parameter(&program, Gl::ACTIVE_UNIFORMS).as_f64();
        let mut uniforms = Vec::new();
        for index in 0..count.unwrap_or(0.0) as u32 {
            if let Some(info) = gl.get_active_uniform(&program, index)
                && let Some(location) = gl.get_uniform_location(&program, &info.name())
            {
                uniforms.push((info.name(), location));
            }
        }
        Ok(Self { program, uniforms })
    }

    pub(super) fn bind(&self, gl: &Gl) {
        gl.use_program(Some(&self.program));
    }

    /// Where a uniform is; `None`, which WebGL ignores, when the compiler dropped it.
    pub(super) fn at(&self, name: &str) -> Option<&WebGlUniformLocation> {
        let found = self.uniforms.iter().find(|(known, _)| known == name);
        found.map(|(_, location)| location)
    }
}

/// What the texels of a texture array hold.
#[derive(Clone, Copy)]
pub(super) enum Texels {
    /// Four 32-bit words.
    Words,
    /// Two 32-bit words.
    Pairs,
    /// Four bytes.
    Bytes,
}

/// Width, height, layers.
pub(super) type Extent = [u32; 3];

/// A 2D-array texture with its memory, nearest texels only unless they are bytes.
pub(super) fn texture_array(gl: &Gl, texels: Texels, [width, height, layers]: Extent) -> Result<WebGlTexture, String> {
    let texture = gl.create_texture().ok_or("the browser gave no texture")?;
    gl.bind_texture(Gl::TEXTURE_2D_ARRAY, Some(&texture));
    let (format, filter) = match texels {
        Texels::Words => (Gl::RGBA32UI, Gl::NEAREST),
        Texels::Pairs => (Gl::RG32UI, Gl::NEAREST),
        Texels::Bytes => (Gl::RGBA8, Gl::LINEAR),
    };
    for (name, value) in [
        (Gl::TEXTURE_MIN_FILTER, filter),
        (Gl::TEXTURE_MAG_FILTER, filter),
        (Gl::TEXTURE_WRAP_S, Gl::CLAMP_TO_EDGE),
        (Gl::TEXTURE_WRAP_T, Gl::CLAMP_TO_EDGE),
    ] {
        gl.tex_parameteri(Gl::TEXTURE_2D_ARRAY, name, value as i32);
    }
    // Errors of earlier calls are not this one's.
    while gl.get_error() != Gl::NO_ERROR && !gl.is_context_lost() {}
    gl.tex_storage_3d(
        Gl::TEXTURE_2D_ARRAY,
        1,
        format,
        width as i32,
        height as i32,
        layers as i32,
    );
    if gl.get_error() == Gl::NO_ERROR {
        return Ok(texture);
    }
    gl.delete_texture(Some(&texture));
    let mib = (u64::from(width) * u64::from(height) * u64::from(layers) * 16) >> 20;
    Err(format!(
        "the graphics memory does not hold a texture of {mib} MiB; open a model with fewer Gaussians"
    ))
}

/// Writes texels of one row from a place on; `words` holds `width * 4` of them.
pub(super) fn write_texels(gl: &Gl, texture: &WebGlTexture, [x, y, layer]: Extent, width: u32, words: &Uint32Array) {
    gl.bind_texture(Gl::TEXTURE_2D_ARRAY, Some(texture));
    let _ = gl.tex_sub_image_3d_with_opt_array_buffer_view(
        Gl::TEXTURE_2D_ARRAY,
        0,
        x as i32,
        y as i32,
        layer as i32,
        width as i32,
        1,
        1,
        Gl::RGBA_INTEGER,
        Gl::UNSIGNED_INT,
        Some(words),
    );
}

/// A picture that is drawn into: half floats, so that hundreds of thin splats add up without rounding to bytes.
pub(super) struct Target {
    pub(super) frame: WebGlFramebuffer,
    pub(super) texture: WebGlTexture,
    pub(super) size: [u32; 2],
}

impl Target {
    pub(super) fn new(gl: &Gl, size: [u32; 2], format: u32) -> Result<Self, String> {
        let texture = gl.create_texture().ok_or("the browser gave no texture")?;
        gl.bind_texture(Gl::TEXTURE_2D, Some(&texture));
        gl.tex_storage_2d(Gl::TEXTURE_2D, 1, format, size[0] as i32, size[1] as i32);
        for name in [Gl::TEXTURE_MIN_FILTER, Gl::TEXTURE_MAG_FILTER] {
            gl.tex_parameteri(Gl::TEXTURE_2D, name, Gl::LINEAR as i32);
        }
        let frame = gl.create_framebuffer().ok_or("the browser gave no framebuffer")?;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, Some(&frame));
        gl.framebuffer_texture_2d(
            Gl::FRAMEBUFFER,
            Gl::COLOR_ATTACHMENT0,
            Gl::TEXTURE_2D,
            Some(&texture),
            0,
        );
        if gl.check_framebuffer_status(Gl::FRAMEBUFFER) != Gl::FRAMEBUFFER_COMPLETE {
            let [width, height] = size;
            return Err(format!(
                "this device cannot draw into a picture of {width} x {height} half floats"
            ));
        }
        Ok(Self { frame, texture, size })
    }

    pub(super) fn delete(&self, gl: &Gl) {
        gl.delete_framebuffer(Some(&self.frame));
        gl.delete_texture(Some(&self.texture));
    }
}
