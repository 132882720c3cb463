//! From a file on disk to pixels at training resolution: headers, decoding, undistortion, resizing, the store of decoded photos.

pub(super) mod decode;
pub(super) mod display;
mod exif;
pub(super) mod exr;
pub(super) mod header;
pub(super) mod images;
pub(super) mod jpeg;
pub(super) mod kept;
pub(super) mod photo;
pub(super) mod pixels;
pub(super) mod rectify;
pub(super) mod resize;
mod room;
pub(super) mod upright;
