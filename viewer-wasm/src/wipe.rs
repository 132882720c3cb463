//! Two pictures on top of each other: one zoom and pan for both, and the line between them.

/// Most stage pixels a picture's pixel may take.
const MAX_PIXELS: f64 = 40.0;

/// Where the pictures lie on their stage; lengths in stage pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Width and height of the stage.
    pub(crate) stage: [f64; 2],
    /// Width and height of the pictures, their own pixels.
    pub(crate) picture: [f64; 2],
    /// Place of the line, 0 (left) to 1, in the stage.
    pub(crate) wipe: f64,
    /// Enlargement over the size at which the whole picture is seen.
    zoom: f64,
    /// Of the picture's middle from the stage's.
    offset: [f64; 2],
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            stage: [1.0; 2],
            picture: [1.0; 2],
            wipe: 0.5,
            zoom: 1.0,
            offset: [0.0; 2],
        }
    }
}

impl Frame {
    fn fit(&self) -> f64 {
        let ratio = |axis: usize| self.stage[axis].max(1.0) / self.picture[axis].max(1.0);
        ratio(0).min(ratio(1))
    }

    /// Stage pixels of one of the picture's pixels.
    pub(crate) fn pixels(&self) -> f64 {
        self.fit() * self.zoom
    }

    /// Left, top, width, height of the pictures.
    pub(crate) fn place(&self) -> [f64; 4] {
        let size = self.picture.map(|side| side * self.pixels());
        let corner = |axis: usize| 0.5 * (self.stage[axis] - size[axis]) + self.offset[axis];
        [corner(0), corner(1), size[0], size[1]]
    }

    /// Place of the line.
    pub(crate) fn wipe_px(&self) -> f64 {
        self.wipe * self.stage[0]
    }

    /// Moves the line.
    pub(crate) fn wipe_to(&mut self, px: f64) {
        self.wipe = (px / self.stage[0].max(1.0)).clamp(0.0, 1.0);
    }

    /// Enlarges about a point of the stage, which stays where it is.
    pub(crate) fn zoom(&mut self, factor: f64, at: [f64; 2]) {
        let most = (MAX_PIXELS / self.fit()).max(1.0);
        let zoom = (self.zoom * factor).clamp(1.0, most);
        let by = zoom / self.zoom;
        for ((offset, at), side) in self.offset.iter_mut().zip(at).zip(self.stage) {
            let from_middle = at - 0.5 * side;
            *offset = from_middle + (*offset - from_middle) * by;
        }
        self.zoom = zoom;
        self.keep_inside();
    }

    pub(crate) fn pan(&mut self, by: [f64; 2]) {
        for (offset, by) in self.offset.iter_mut().zip(by) {
            *offset += by;
        }
        self.keep_inside();
    }

    /// Shows the whole picture again.
    pub(crate) fn reset(&mut self) {
        (self.zoom, self.offset) = (1.0, [0.0; 2]);
    }

    /// An edge of the picture does not pass the stage's middle, and a whole picture stays in the middle.
    fn keep_inside(&mut self) {
        let size = self.picture.map(|side| side * self.pixels());
        for (offset, size) in self.offset.iter_mut().zip(size) {
            let most = if self.zoom <= 1.0 { 0.0 } else { 0.5 * size };
            *offset = offset.clamp(-most, most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame {
            stage: [800.0, 400.0],
            picture: [400.0, 300.0],
            ..Frame::default()
        }
    }

    #[test]
    fn the_whole_picture_is_in_the_middle_at_first() {
        let [x, y, width, height] = frame().place();
        assert!((height - 400.0).abs() < 1e-9 && (width - 1600.0 / 3.0).abs() < 1e-9);
        assert!((x - (800.0 - width) / 2.0).abs() < 1e-9 && y.abs() < 1e-9);
    }

    #[test]
    fn zooming_keeps_the_point_under_the_pointer() {
        let mut frame = frame();
        let at = [300.0, 150.0];
        let pixel = |frame: &Frame| {
            let [x, y, ..] = frame.place();
            [(at[0] - x) / frame.pixels(), (at[1] - y) / frame.pixels()]
        };
        let before = pixel(&frame);
        frame.zoom(3.0, at);
        let after = pixel(&frame);
        assert!((before[0] - after[0]).abs() < 1e-9 && (before[1] - after[1]).abs() < 1e-9);
        frame.zoom(1e9, at);
        assert_eq!(frame.pixels(), 40.0);
        frame.pan([1e9, 0.0]);
        assert!(frame.place()[0] <= 400.0 + 1e-6, "still on the stage");
        frame.zoom(1e-9, at);
        assert_eq!(frame.place(), self::frame().place());
    }

    #[test]
    fn the_line_follows_and_stays_on_the_stage() {
        let mut frame = frame();
        assert_eq!(frame.wipe_px(), 400.0);
        frame.wipe_to(200.0);
        assert_eq!(frame.wipe, 0.25);
        frame.wipe_to(-50.0);
        assert_eq!(frame.wipe_px(), 0.0);
        frame.zoom(2.0, [0.0, 0.0]);
        frame.reset();
        assert_eq!(frame.place(), self::frame().place());
    }
}
