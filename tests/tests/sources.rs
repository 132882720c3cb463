//! The sources themselves, without the engine: imports, links, modules of shaders, the viewer's bundle.

mod imports;
mod shaders;
mod viewer_bundle;
