//! One window: opens addresses, runs scripts, waits, and remembers what the page complained about.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Browser;
use super::pipe::PATIENCE;

/// Between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(50);
/// What the browser says of scripts whose page went away before they answered.
const REPLACED: [&str; 3] = ["navigated or closed", "context was destroyed", "Cannot find context"];

/// Parameters that evaluate a script, and its promise when it is one.
fn evaluation(script: &str) -> Value {
    json!({ "expression": script, "awaitPromise": true, "returnByValue": true })
}

/// A window; it closes with the value.
#[derive(Debug)]
pub struct Page {
    browser: Arc<Browser>,
    target: String,
    session: String,
}

impl Page {
    /// A new window of `width` times `height` CSS pixels, one device pixel each.
    ///
    /// # Panics
    /// When the browser refuses.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        let browser = Browser::shared();
        let text = |value: &Value| value.as_str().expect("an identifier").to_owned();
        // A window of its own: the browser draws nothing in a tab behind another, and tests run side by side.
        let blank = json!({ "url": "about:blank", "newWindow": true, "width": width, "height": height });
        let target = text(&browser.call(None, "Target.createTarget", &blank)["targetId"]);
        let attach = json!({ "targetId": target, "flatten": true });
        let session = text(&browser.call(None, "Target.attachToTarget", &attach)["sessionId"]);
        let page = Self {
            browser,
            target,
            session,
        };
        for method in ["Page.enable", "Runtime.enable", "Log.enable"] {
            page.call(method, &json!({}));
        }
        page.resize(width, height);
        page.call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        page
    }

    /// Gives the window another size.
    ///
    /// # Panics
    /// When the browser refuses.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    fn call(&self, method: &str, parameters: &Value) -> Value {
        self.browser.call(Some(&self.session), method, parameters)
    }

    /// Goes to an address. The page loads on.
    ///
    /// # Panics
    /// When the browser cannot.
    pub fn go(&self, url: &str) {
        let result = self.call("Page.navigate", &json!({ "url": url }));
        assert!(result.get("errorText").is_none(), "{url}: {result}");
    }

    /// The value of a JavaScript expression, after its promise when it is one.
    ///
    /// # Panics
    /// When the script throws.
    #[must_use]
    pub fn eval(&self, script: &str) -> Value {
        let mut answer = self.call("Runtime.evaluate", &evaluation(script));
        assert!(answer.get("exceptionDetails").is_none(), "{script}: {answer}");
        answer["result"]["value"].take()
    }

    /// Runs statements for what they do.
    ///
    /// # Panics
    /// When they throw.
    pub fn run(&self, script: &str) {
        let _ = self.eval(&format!("{{ {script} }}; null"));
    }

    /// Whether an expression is true now. A page that is being replaced has no scripts to ask: the next look finds the new one.
    fn is_true(&self, script: &str) -> bool {
        let session = Some(self.session.as_str());
        match self.browser.pipe.call(session, "Runtime.evaluate", &evaluation(script)) {
            Ok(answer) => answer["result"]["value"] == json!(true),
            Err(error) if REPLACED.iter().any(|part| error.contains(part)) => false,
            Err(error) => self.browser.fail("Runtime.evaluate", &error),
        }
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// When it does not become true in time, with what the page says.
    pub fn wait(&self, condition: &str) {
        let end = Instant::now() + PATIENCE;
        let guarded = format!("(() => {{ try {{ return Boolean({condition}); }} catch {{ return false; }} }})()");
        while !self.is_true(&guarded) {
            if Instant::now() > end {
                let text = self.eval("document.body ? document.body.innerText.slice(0, 2000) : ''");
                let mut complaints = self.complaints();
                complaints.truncate(10);
                panic!("never true: {condition}\n{complaints:#?}\nthe page: {text}");
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Presses the mouse button once on the element that a selector names.
    ///
    /// # Panics
    /// When there is none.
    pub fn click(&self, selector: &str) {
        self.wait(&format!("document.querySelector({selector:?})"));
        self.run(&format!("document.querySelector({selector:?}).click()"));
    }

    /// Sets an input as a person would: the value, then the events.
    ///
    /// # Panics
    /// When there is none.
    pub fn set(&self, selector: &str, value: &str) {
        self.wait(&format!("document.querySelector({selector:?})"));
        self.run(&format!(
            "const input = document.querySelector({selector:?}); input.value = {value:?}; \
             for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind, {{ bubbles: true }}));"
        ));
    }

    /// Errors on the console, failed loads and exceptions that nobody caught.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let events = self.browser.pipe.events(&self.session);
        let said = events.iter().filter_map(|event| {
            let parameters = &event["params"];
            let bad = match event["method"].as_str()? {
                "Runtime.consoleAPICalled" => ["error", "assert"].contains(&parameters["type"].as_str()?),
                "Log.entryAdded" => parameters["entry"]["level"] == "error",
                _ => true,
            };
            bad.then(|| parameters.to_string())
        });
        said.collect()
    }

    /// Writes what the window shows into a PNG file.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn screenshot(&self, path: &Path) {
        let answer = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = base64(answer["data"].as_str().expect("a picture"));
        std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A browser that has gone already needs no closing of windows.
        let close = json!({ "targetId": self.target });
        let _ = self.browser.pipe.call(None, "Target.closeTarget", &close);
    }
}

/// Decodes base64 with padding.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text
        .bytes()
        .filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let (mut bytes, mut bits, mut n_bits) = (Vec::with_capacity(text.len() / 4 * 3), 0_usize, 0);
    for digit in digits {
        bits = (bits << 6 | digit) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits & 0xff) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_of_the_standard() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(base64(text), bytes.as_bytes());
        }
        assert_eq!(base64("//79"), [0xff, 0xfe, 0xfd]);
    }
}
