//! A headless browser, driven over the DevTools protocol.
//!
//! [`Browser`] is the process and its pipe, [`Page`] one window of it, [`pixels`] compares pictures. Rendering is done by
//! the browser's own software driver, so tests see the same on every machine.

mod page;
mod pipe;
pub mod pixels;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::runs::Scratch;
pub use page::Page;
use pipe::Pipe;

/// How long the browser may take to end before it is killed.
const END: Duration = Duration::from_secs(5);

/// Everything that would make a difference between machines, or talk to others, is off.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--mute-audio",
    "--force-color-profile=srgb",
    "--lang=en-US",
    "about:blank",
];

/// A running browser with an empty profile; it ends with the value.
#[derive(Debug)]
pub struct Browser {
    pipe: Pipe,
    child: Mutex<Child>,
    // Removed after the browser has ended.
    _profile: Scratch,
}

impl Browser {
    /// The browser of this test program, started by the first test that asks and ended by the last that lets go.
    ///
    /// # Panics
    /// When there is no browser, or it does not start.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Browser>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let browser = Arc::new(Self::start());
            *shared = Arc::downgrade(&browser);
            browser
        })
    }

    fn start() -> Self {
        let program = xtask::system::browser().expect("a browser; `apt-get install chromium` brings one");
        let profile = Scratch::new("browser");
        let log = fs::File::create(profile.join("log.txt")).expect("a log");
        // The protocol's pipe is descriptor 3 for commands and 4 for answers; the shell puts ours there.
        let mut command = Command::new("sh");
        command.args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#]);
        command
            .arg(program)
            .arg(format!("--user-data-dir={}", profile.join("profile").display()));
        let mut child = command
            .args(FLAGS)
            .env("HOME", profile.join(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("a shell");
        let (commands, answers) = (child.stdin.take(), child.stdout.take());
        let browser = Self {
            pipe: Pipe::new(commands.expect("a pipe"), answers.expect("a pipe")),
            child: Mutex::new(child),
            _profile: profile,
        };
        let version = browser.call(None, "Browser.getVersion", &json!({}));
        assert!(version["product"].is_string(), "{version}");
        browser
    }

    /// Calls a method of the protocol, in the session of a page or of the browser itself.
    fn call(&self, session: Option<&str>, method: &str, parameters: &Value) -> Value {
        match self.pipe.call(session, method, parameters) {
            Ok(result) => result,
            Err(error) => self.fail(method, &error),
        }
    }

    fn fail(&self, method: &str, error: &str) -> ! {
        let log = fs::read_to_string(self._profile.join("log.txt")).unwrap_or_default();
        panic!("{method}: {error}\nthe browser's log:\n{log}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Whether it answers or not: what counts is that the process ends.
        let _ = self.pipe.call(None, "Browser.close", &json!({}));
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        while start.elapsed() < END {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}
