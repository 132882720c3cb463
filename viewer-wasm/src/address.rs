//! The page's address: what it shows, so that the address can be passed on.

use crate::camera::Pose;
use crate::math::{quat_of, rotation_of, unit_quat};
use crate::run::safe_path;

/// Most runs shown together.
pub(crate) const MAX_RUNS: usize = 4;

/// A tab of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tab {
    #[default]
    Splats,
    Metrics,
    Evaluation,
    Runs,
}

impl Tab {
    pub(crate) const ALL: [Self; 4] = [Self::Splats, Self::Metrics, Self::Evaluation, Self::Runs];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Splats => "splats",
            Self::Metrics => "metrics",
            Self::Evaluation => "evaluation",
            Self::Runs => "runs",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.name() == name)
    }
}

/// A free camera: pose and distance of the point it turns about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FreeView {
    pub(crate) pose: Pose,
    pub(crate) distance: f32,
}

/// Keys of how things are shown; the parts of the page that they are about write and read their values.
const LOOKS: [&str; 16] = [
    "style", "sh", "size", "photo", "share", "with", "beside", "split", "eval", "pick", "pair", "wipe", "smooth",
    "log", "span", "budget",
];

/// What the address says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Address {
    /// Folders of runs; the first is the one shown.
    pub(crate) runs: Vec<String>,
    pub(crate) iteration: Option<u64>,
    pub(crate) camera: Option<String>,
    pub(crate) view: Option<FreeView>,
    pub(crate) tab: Tab,
    /// Key and value of what is not as it is at first.
    pub(crate) looks: Vec<(&'static str, String)>,
    pub(crate) token: Option<String>,
    /// The token is kept elsewhere, and is not printed.
    pub(crate) hides_token: bool,
    /// Runs that were named but lie outside the page's folder.
    pub(crate) refused: Vec<String>,
}

impl Address {
    /// Reads the part behind the question mark.
    pub(crate) fn parse(query: &str) -> Self {
        let mut address = Self::default();
        for pair in query.trim_start_matches('?').split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value);
            match key {
                "run" => match safe_path(value.trim_end_matches('/')) {
                    Some(path) if address.runs.len() < MAX_RUNS => address.runs.push(path),
                    _ => address.refused.push(value),
                },
                "iter" => address.iteration = value.parse().ok(),
                "cam" => address.camera = Some(value).filter(|name| !name.is_empty()),
                "view" => address.view = free_view(&value),
                "tab" => address.tab = Tab::of_name(&value).unwrap_or_default(),
                "token" => address.token = Some(value).filter(|token| !token.is_empty()),
                key => {
                    let known = LOOKS.into_iter().find(|known| *known == key);
                    address.looks.extend(known.map(|known| (known, value)));
                }
            }
        }
        address
    }

    /// The part behind the question mark, with it; empty when there is nothing to say.
    pub(crate) fn print(&self) -> String {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        pairs.extend(self.runs.iter().map(|run| ("run", run.clone())));
        pairs.extend(self.iteration.map(|iteration| ("iter", iteration.to_string())));
        pairs.extend(self.camera.clone().map(|camera| ("cam", camera)));
        pairs.extend(self.view.map(|view| ("view", print_view(&view))));
        if self.tab != Tab::default() {
            pairs.push(("tab", self.tab.name().to_owned()));
        }
        pairs.extend(self.looks.iter().cloned());
        let token = self.token.clone().filter(|_| !self.hides_token);
        pairs.extend(token.map(|token| ("token", token)));
        let parts: Vec<_> = pairs
            .iter()
            .map(|(key, value)| format!("{key}={}", encode(value)))
            .collect();
        if parts.is_empty() {
            String::new()
        } else {
            format!("?{}", parts.join("&"))
        }
    }

    /// What the address says of one of [`LOOKS`].
    pub(crate) fn look(&self, key: &str) -> Option<&str> {
        let found = self.looks.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// What the address says of one of [`LOOKS`], when that is a number.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.look(key).and_then(crate::number::parse).filter(|v| v.is_finite())
    }

    /// The address of a file under the page, token included. `path` is not encoded yet.
    pub(crate) fn request(&self, path: &str) -> String {
        let token = self
            .token
            .as_ref()
            .map_or(String::new(), |token| format!("?token={}", encode(token)));
        encode(path) + &token
    }
}

fn free_view(text: &str) -> Option<FreeView> {
    let numbers: Vec<f32> = text
        .split(',')
        .map_while(|part| crate::number::parse(part).map(|v| v as f32))
        .collect();
    let &[x, y, z, qw, qx, qy, qz, distance] = numbers.as_slice() else {
        return None;
    };
    let finite = numbers.iter().all(|v| v.is_finite()) && distance > 0.0;
    let rotation = rotation_of(unit_quat([qw, qx, qy, qz])?);
    finite.then_some(FreeView {
        pose: Pose {
            rotation,
            position: [x, y, z],
        },
        distance,
    })
}

fn print_view(view: &FreeView) -> String {
    let quat = quat_of(view.pose.rotation);
    let numbers = view.pose.position.iter().chain(&quat).chain([&view.distance]);
    numbers.map(|v| format!("{v:.4}")).collect::<Vec<_>>().join(",")
}

/// Percent-encodes all but letters, digits and `-_.~/,`.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/,".contains(&byte) {
            out.push(byte as char);
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 2;
            }
            None => out.push(if bytes[at] == b'+' { b' ' } else { bytes[at] }),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::math::close;

    #[test]
    fn an_address_comes_back_as_it_was() {
        let text =
            "?run=runs/garden%2016gb&run=runs/b&iter=7000&cam=DSC_1%26&tab=metrics&sh=1&log=loss,psnr&token=ab%2Bc";
        let address = Address::parse(text);
        assert_eq!(address.runs, ["runs/garden 16gb", "runs/b"]);
        assert_eq!((address.iteration, address.tab), (Some(7000), Tab::Metrics));
        assert_eq!(
            (address.camera.as_deref(), address.token.as_deref()),
            (Some("DSC_1&"), Some("ab+c"))
        );
        assert_eq!(
            (address.number("sh"), address.look("log")),
            (Some(1.0), Some("loss,psnr"))
        );
        assert_eq!(address.print(), text);
        assert_eq!(Address::parse("").print(), "");
        let hidden = Address {
            hides_token: true,
            ..address.clone()
        };
        assert_eq!(hidden.print(), text.replace("&token=ab%2Bc", ""));
        assert_eq!(address.request("runs/a b/run.json"), "runs/a%20b/run.json?token=ab%2Bc");
    }

    #[test]
    fn runs_outside_the_page_and_nonsense_are_refused() {
        let address =
            Address::parse("run=../x&run=http://evil&run=/etc&iter=x&tab=no&cam=&view=1,2&run=a&%zz=%zz&size=big");
        assert_eq!(address.runs, ["a"]);
        assert_eq!((address.refused.len(), address.number("size")), (3, None));
        assert_eq!(
            (address.iteration, address.tab, address.camera, address.view),
            (None, Tab::Splats, None, None)
        );
    }

    #[test]
    fn a_free_view_comes_back() {
        let pose = Pose::looking_at([1.0, 2.0, 3.0], [0.0; 3], [0.0, -1.0, 0.0]);
        let address = Address {
            view: Some(FreeView { pose, distance: 2.5 }),
            ..Address::default()
        };
        let back = Address::parse(&address.print()).view.unwrap();
        assert!(close(
            back.pose.rotation.as_flattened(),
            pose.rotation.as_flattened(),
            1e-3
        ));
        assert_eq!((back.pose.position, back.distance), ([1.0, 2.0, 3.0], 2.5));
        assert_eq!(Address::parse("view=0,0,0,0,0,0,0,1").view, None);
    }
}
