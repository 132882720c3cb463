//! Meshes as people meet them: textures baked from photos, files that foreign readers open, `kiln eval --mesh`, `kiln render
//! --mesh`, and textures of `kiln mesh`.

mod files;
mod program;
mod scene;
mod texture;
