//! What a camera makes of light: exposure and white balance, vignetting, response.

use super::super::pose::Vec3;

/// A camera's settings for one photo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Camera {
    /// Factors of red, green and blue light.
    pub(super) gains: [f64; 3],
    /// Share of the light that is lost in a corner.
    pub(super) vignetting: f64,
    /// Power of what is written.
    pub(super) response: f64,
}

impl Camera {
    /// The camera that writes what there is.
    pub(super) const PLAIN: Self = Self {
        gains: [1.0; 3],
        vignetting: 0.0,
        response: 1.0,
    };

    /// What is written, 0 to 1, of light whose place lies so far from the photo's middle, squared; 1 is a corner.
    pub(super) fn develop(&self, light: Vec3, r2: f64) -> Vec3 {
        let fall = 1.0 - self.vignetting * r2;
        [0, 1, 2].map(|i| encoded((self.gains[i] * fall * light[i]).min(1.0)).powf(self.response))
    }
}

/// Squared distance of a pixel's middle from that of a photo, in half diagonals.
pub(super) fn r2(corner: [f64; 2], size_px: [u32; 2]) -> f64 {
    let [half_x, half_y] = size_px.map(|side| 0.5 * f64::from(side));
    let [x, y] = [corner[0] + 0.5 - half_x, corner[1] + 0.5 - half_y];
    (x * x + y * y) / (half_x * half_x + half_y * half_y)
}

/// Light of a colour in sRGB (IEC 61966-2-1).
pub(super) fn light(color: Vec3) -> Vec3 {
    color.map(|value| {
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    })
}

/// And back.
fn encoded(light: f64) -> f64 {
    if light <= 0.003_130_8 {
        12.92 * light
    } else {
        1.055 * light.powf(1.0 / 2.4) - 0.055
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_camera_without_faults_writes_every_byte_as_it_is() {
        for byte in 0..=255_u8 {
            let value = f64::from(byte) / 255.0;
            let [written, ..] = Camera::PLAIN.develop(light([value; 3]), 0.7);
            assert!((written - value).abs() < 1e-6, "{byte} {written}");
        }
    }

    #[test]
    fn a_stop_doubles_light_and_corners_lose_what_is_asked_for() {
        let camera = Camera {
            gains: [2.0, 1.0, 0.5],
            vignetting: 0.4,
            response: 1.2,
        };
        for (place, fall) in [(0.0, 1.0), (1.0, 0.6)] {
            let found = light(camera.develop([0.2; 3], place).map(|v| v.powf(1.0 / 1.2)));
            for (found, gain) in found.iter().zip(camera.gains) {
                assert!((found - 0.2 * gain * fall).abs() < 1e-6, "{found}");
            }
        }
        assert!((r2([-0.5, -0.5], [40, 30]) - 1.0).abs() < 1e-12 && r2([19.5, 14.5], [40, 30]) == 0.0);
    }
}
