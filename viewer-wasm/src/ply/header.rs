//! What headers say about splats, and why some are refused.

use kiln_formats::ply::Said;
use kiln_ply::{Element, Format, Header};

use super::{Filter, MIP_KERNEL, Refusal};

/// Reads the header that `bytes` begin with, and its length; `None` when its end is not there yet.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Header, usize)>, Refusal> {
    let read = Header::parse(bytes).map_err(|bad| format!("this is not a PLY file: line {}: {bad}", bad.line))?;
    if let Some((header, _)) = &read
        && header.format == Format::Ascii
    {
        let found = header.format.name();
        return Err(format!(
            "the PLY file is text (`{found}`), and binary ones are opened; `kiln export FILE -o out.ply` makes that of it"
        ));
    }
    Ok(read)
}

/// The element of that name, and the bytes of those before it.
pub(super) fn element<'a>(header: &'a Header, name: &str) -> Result<Option<(&'a Element, u64)>, Refusal> {
    header
        .fixed(name)
        .map_err(|list| format!("the PLY element `{}` has a list: this is a mesh, not splats", list.name))
}

/// The screen-space filter the comments ask for; without a word the published one of 3D Gaussian Splatting.
pub(super) fn filter(header: &Header) -> Filter {
    let said = Said::of(&header.comments);
    let kernel = said.kernel_size.and_then(crate::number::parse);
    let kernel = kernel
        .map(|size| size as f32)
        .filter(|size| size.is_finite() && *size >= 0.0);
    let flagged = |comment: &String| comment.strip_prefix("antialiased").map(str::trim) == Some("1");
    let mip = said.render_mode == Some("mip") || header.comments.iter().any(flagged);
    if mip {
        Filter::Mip(kernel.unwrap_or(MIP_KERNEL))
    } else {
        Filter::Classic
    }
}

/// The training iteration that a comment names.
pub(super) fn iteration(header: &Header) -> Option<u64> {
    Said::of(&header.comments).iteration?.parse().ok()
}
