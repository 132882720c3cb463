//! Moving the camera: orbit, fly, zoom, and the way to a given camera.

use crate::camera::Pose;
use crate::math::{Vec3, add, axis_angle, cross, dot, length, mat_mul, mat_vec, scale, sub};
use crate::run::cameras::Arrangement;

/// Radians a pixel of dragging turns.
const TURN_PER_PX: f32 = 0.005;
/// Nearest the view may come to straight up or down, as a cosine.
const POLE: f32 = 0.995;

/// How dragging moves the camera.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Around the target.
    #[default]
    Orbit,
    /// Around itself.
    Fly,
}

/// A journey to another pose.
#[derive(Clone, Copy, Debug)]
struct Journey {
    from: Pose,
    to: Pose,
    /// Seconds gone and in all.
    at_s: f32,
    of_s: f32,
}

/// The camera one looks through and how it moves.
#[derive(Clone, Debug)]
pub(crate) struct Navigator {
    pub(crate) pose: Pose,
    pub(crate) mode: Mode,
    /// Distance to the point that orbiting turns about.
    pub(crate) distance: f32,
    home: Pose,
    arrangement: Arrangement,
    journey: Option<Journey>,
}

impl Navigator {
    /// Starts at `home`.
    pub(crate) fn new(home: Pose, arrangement: Arrangement) -> Self {
        Self {
            pose: home,
            mode: Mode::default(),
            distance: ahead(&home, arrangement.target).unwrap_or(arrangement.radius),
            home,
            arrangement,
            journey: None,
        }
    }

    /// Size of the scene: the mean distance of its cameras from what they look at.
    pub(crate) fn reach(&self) -> f32 {
        self.arrangement.radius
    }

    /// What it moves about.
    pub(crate) fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// Calls another direction up: the camera and its home stay where they are and are levelled, or look at the target from
    /// aside where they would look along it.
    pub(crate) fn set_up(&mut self, up: Vec3) {
        self.arrangement.up = up;
        let Arrangement { target, radius, .. } = self.arrangement;
        let level = |pose: &Pose| {
            let steep = dot(pose.forward(), up).abs() > POLE;
            if steep {
                let aside = scale([up[1], up[2], up[0]], -radius);
                Pose::looking_at(add(add(target, aside), scale(up, 0.4 * radius)), target, up)
            } else {
                Pose::looking_at(pose.position, add(pose.position, pose.forward()), up)
            }
        };
        (self.pose, self.home) = (level(&self.pose), level(&self.home));
        self.journey = None;
    }

    fn target(&self) -> Vec3 {
        add(self.pose.position, scale(self.pose.forward(), self.distance))
    }

    /// Dragging by pixels: turns about the target or about itself.
    pub(crate) fn drag(&mut self, [dx, dy]: [f32; 2]) {
        self.journey = None;
        let (yaw, mut pitch) = (-dx * TURN_PER_PX, -dy * TURN_PER_PX);
        let up = self.arrangement.up;
        let turned = |pitch: f32| {
            let right = self.pose.rotation[0];
            let turn = mat_mul(axis_angle(up, yaw), axis_angle(right, pitch));
            (turn, mat_vec(turn, self.pose.forward()))
        };
        let steep = |direction: Vec3| dot(direction, up).abs();
        // Nearer to a pole than allowed only when it gets better.
        if steep(turned(pitch).1) > POLE && steep(turned(pitch).1) > steep(self.pose.forward()) {
            pitch = 0.0;
        }
        let (turn, _) = turned(pitch);
        let target = self.target();
        self.pose.rotation = self.pose.turned(turn);
        if self.mode == Mode::Orbit {
            self.pose.position = sub(target, scale(self.pose.forward(), self.distance));
        }
    }

    /// Moves along the picture's axes so that what is at the target's distance follows the pointer.
    pub(crate) fn pan(&mut self, [dx, dy]: [f32; 2], focal_px: f32) {
        self.journey = None;
        let by = self.distance / focal_px;
        self.step([-dx * by, -dy * by, 0.0]);
    }

    /// Comes nearer by a factor below 1, or goes away.
    pub(crate) fn zoom(&mut self, factor: f32) {
        self.journey = None;
        let nearest = self.reach() * 1e-3;
        let distance = (self.distance * factor).clamp(nearest, self.reach() * 1e3);
        self.step([0.0, 0.0, self.distance - distance]);
        self.distance = distance;
    }

    /// Flies for `seconds` in a direction given in camera axes; `fast` is a factor on the speed.
    pub(crate) fn fly(&mut self, direction: Vec3, fast: f32, seconds: f32) {
        self.journey = None;
        let speed = self.reach() * 0.5 * fast;
        self.step(scale(direction, speed * seconds.min(0.1)));
    }

    fn step(&mut self, by: Vec3) {
        self.pose.position = self.pose.to_world(by);
    }

    /// Sets out for another pose; takes no time when `seconds` is 0.
    pub(crate) fn go_to(&mut self, to: Pose, seconds: f32) {
        self.distance = ahead(&to, self.arrangement.target).unwrap_or(self.reach());
        if seconds <= 0.0 {
            self.pose = to;
            self.journey = None;
        } else {
            self.journey = Some(Journey {
                from: self.pose,
                to,
                at_s: 0.0,
                of_s: seconds,
            });
        }
    }

    pub(crate) fn go_home(&mut self, seconds: f32) {
        self.go_to(self.home, seconds);
    }

    /// Turns to a point, which it moves about from then on.
    pub(crate) fn turn_to(&mut self, point: Vec3, seconds: f32) {
        let to = Pose::looking_at(self.pose.position, point, self.arrangement.up);
        self.go_to(to, seconds);
        self.distance = length(sub(point, self.pose.position)).max(self.reach() * 1e-3);
    }

    /// Whether the camera is on its way to another pose.
    pub(crate) fn is_on_journey(&self) -> bool {
        self.journey.is_some()
    }

    /// Goes on with a journey; says whether the camera moved.
    pub(crate) fn advance(&mut self, seconds: f32) -> bool {
        let Some(journey) = &mut self.journey else {
            return false;
        };
        journey.at_s += seconds;
        let share = (journey.at_s / journey.of_s).min(1.0);
        if share >= 1.0 {
            self.pose = journey.to;
            self.journey = None;
        } else {
            let eased = share * share * (3.0 - 2.0 * share);
            self.pose = journey.from.towards(&journey.to, eased);
        }
        true
    }
}

/// Distance at which a pose passes a point; `None` when the point is behind or far off the axis.
fn ahead(pose: &Pose, point: Vec3) -> Option<f32> {
    let offset = sub(point, pose.position);
    let depth = dot(offset, pose.forward());
    let beside = length(cross(offset, pose.forward()));
    (depth > 0.0 && beside < depth).then_some(depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::close;

    fn navigator() -> Navigator {
        let up = [0.0, -1.0, 0.0];
        let home = Pose::looking_at([0.0, 0.0, -4.0], [0.0; 3], up);
        Navigator::new(
            home,
            Arrangement {
                target: [0.0; 3],
                up,
                radius: 4.0,
            },
        )
    }

    #[test]
    fn orbiting_keeps_the_target_in_the_middle_and_the_horizon_level() {
        let mut navigator = navigator();
        for _ in 0..50 {
            navigator.drag([37.0, -11.0]);
        }
        let target = navigator.pose.to_camera([0.0; 3]);
        assert!(close(&target, &[0.0, 0.0, 4.0], 1e-3), "{target:?}");
        assert!(navigator.pose.rotation[0][1].abs() < 1e-3, "right stays level");
        assert!(
            dot(navigator.pose.forward(), [0.0, -1.0, 0.0]).abs() < 0.999,
            "not over the pole"
        );
    }

    #[test]
    fn dragging_right_turns_the_scene_right_and_flying_looks_right() {
        let mut orbit = navigator();
        orbit.drag([50.0, 0.0]);
        // A point in front of the target moves right in the picture.
        assert!(orbit.pose.to_camera([0.0, 0.0, -1.0])[0] > 0.0);
        let mut fly = navigator();
        fly.mode = Mode::Fly;
        fly.drag([50.0, 0.0]);
        assert_eq!(fly.pose.position, [0.0, 0.0, -4.0]);
        assert!(
            fly.pose.to_camera([0.0; 3])[0] < 0.0,
            "looking right, the target is on the left"
        );
        fly.fly([0.0, 0.0, 1.0], 1.0, 0.05);
        assert!(length(sub(fly.pose.position, [0.0, 0.0, -4.0])) > 0.09);
    }

    #[test]
    fn zoom_and_pan_follow_the_pointer() {
        let mut navigator = navigator();
        navigator.zoom(0.5);
        assert!(close(&navigator.pose.position, &[0.0, 0.0, -2.0], 1e-5));
        navigator.pan([100.0, 0.0], 200.0);
        // 100 pixels at distance 2 with focal length 200 is 1 unit.
        let moved = navigator.pose.to_camera([0.0; 3]);
        assert!((moved[0] - 1.0).abs() < 1e-5, "{moved:?}");
    }

    #[test]
    fn another_axis_is_up_and_the_place_stays() {
        let mut navigator = navigator();
        navigator.set_up([0.0, 1.0, 0.0]);
        assert_eq!(navigator.pose.position, [0.0, 0.0, -4.0]);
        assert!(close(&navigator.pose.to_camera([0.0; 3]), &[0.0, 0.0, 4.0], 1e-5));
        assert!(navigator.pose.to_camera([0.0, 1.0, 0.0])[1] < -0.9, "up is up");
        navigator.set_up([0.0, 0.0, 1.0]);
        assert!(navigator.pose.to_camera([0.0, 0.0, 1.0])[1] < -0.5);
        assert!(navigator.pose.to_camera([0.0; 3])[2] > 3.0, "the target stays in sight");
    }

    #[test]
    fn a_journey_ends_where_it_should() {
        let mut navigator = navigator();
        let there = Pose::looking_at([3.0, 0.0, 0.0], [0.0; 3], [0.0, -1.0, 0.0]);
        navigator.go_to(there, 0.4);
        assert!(navigator.advance(0.2));
        assert!(navigator.pose != there && navigator.advance(0.3));
        assert_eq!(navigator.pose, there);
        assert!(!navigator.advance(0.1));
        assert!((navigator.distance - 3.0).abs() < 1e-5);
        navigator.go_home(0.0);
        assert_eq!(navigator.pose.position, [0.0, 0.0, -4.0]);
    }
}
