//! What a shader is to a program: its module, its bindings, and the types of what a pass gives to it.

use std::marker::PhantomData;

use super::Span;

/// How a shader uses a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads.
    Read,
    /// Writes without reading what was there.
    Write,
    /// Reads and writes.
    ReadWrite,
}

/// One storage-buffer binding of a shader.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Name, the same as in the GLSL source.
    pub name: &'static str,
    /// Direction.
    pub access: Access,
}

impl Binding {
    /// A binding that is only read.
    #[must_use]
    pub const fn read(name: &'static str) -> Self {
        let access = Access::Read;
        Self { name, access }
    }

    /// A binding that is only written.
    #[must_use]
    pub const fn write(name: &'static str) -> Self {
        let access = Access::Write;
        Self { name, access }
    }

    /// A binding that is read and written.
    #[must_use]
    pub const fn read_write(name: &'static str) -> Self {
        let access = Access::ReadWrite;
        Self { name, access }
    }
}

/// A compiled shader and its bindings in order.
#[derive(Debug)]
pub struct Shader {
    /// File name without extension, with its variant suffix.
    pub name: &'static str,
    /// SPIR-V words as bytes.
    pub spirv: &'static [u8],
    /// Bindings 0, 1, 2, ...
    pub bindings: &'static [Binding],
}

/// Named views, one a binding.
pub trait Bindings {
    /// The bindings; as many as there are views, and in the same order.
    const LIST: &'static [Binding];

    /// The views in the order of the bindings.
    fn views(&self) -> Vec<Span>;
}

/// A shader with the types of what a pass gives to it: views `B`, push constants `P`, specialisation constants `S`.
#[derive(Debug)]
pub struct Kernel<B, P = (), S = ()> {
    /// What runs.
    pub shader: Shader,
    gives: PhantomData<fn(B, P, S)>,
}

impl<B: Bindings, P: bytemuck::NoUninit, S: bytemuck::NoUninit> Kernel<B, P, S> {
    /// A kernel from its module.
    #[must_use]
    pub const fn new(name: &'static str, spirv: &'static [u8]) -> Self {
        let bindings = B::LIST;
        Self {
            shader: Shader { name, spirv, bindings },
            gives: PhantomData,
        }
    }
}
