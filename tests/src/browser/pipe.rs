//! The DevTools protocol over two pipes: JSON messages that end with a NUL byte.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long an answer may take: machines that run tests are busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Events that are kept, by session.
const KEPT: [&str; 3] = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];

/// What came from the browser and was not taken yet.
#[derive(Debug, Default)]
struct Inbox {
    answers: HashMap<u64, Value>,
    events: HashMap<String, Vec<Value>>,
    closed: bool,
}

/// Both pipes of a browser.
#[derive(Debug)]
pub(super) struct Pipe {
    commands: Mutex<ChildStdin>,
    inbox: Arc<(Mutex<Inbox>, Condvar)>,
    next: AtomicU64,
}

impl Pipe {
    /// Reads answers on a thread of its own until the browser closes the pipe.
    pub(super) fn new(commands: ChildStdin, answers: ChildStdout) -> Self {
        let inbox = Arc::<(Mutex<Inbox>, Condvar)>::default();
        let shared = Arc::clone(&inbox);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(answers);
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                if let Ok(value) = serde_json::from_slice(&message) {
                    lock(&shared.0).take(value);
                    shared.1.notify_all();
                }
                message.clear();
            }
            lock(&shared.0).closed = true;
            shared.1.notify_all();
        });
        Self {
            commands: Mutex::new(commands),
            inbox,
            next: AtomicU64::new(1),
        }
    }

    /// Calls a method and waits for its answer.
    pub(super) fn call(&self, session: Option<&str>, method: &str, parameters: &Value) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        lock(&self.commands)
            .write_all(&bytes)
            .map_err(|error| error.to_string())?;
        let end = Instant::now() + PATIENCE;
        let (inbox, changed) = &*self.inbox;
        let mut inbox = lock(inbox);
        loop {
            if let Some(mut answer) = inbox.answers.remove(&id) {
                return match answer.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(answer["result"].take()),
                };
            }
            let left = end.saturating_duration_since(Instant::now());
            if inbox.closed || left.is_zero() {
                return Err(format!("no answer; pipe closed: {}", inbox.closed));
            }
            inbox = changed
                .wait_timeout(inbox, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// The events of a session so far.
    pub(super) fn events(&self, session: &str) -> Vec<Value> {
        lock(&self.inbox.0).events.get(session).cloned().unwrap_or_default()
    }
}

impl Inbox {
    fn take(&mut self, message: Value) {
        if let Some(id) = message["id"].as_u64() {
            self.answers.insert(id, message);
        } else if let (Some(session), Some(method)) = (message["sessionId"].as_str(), message["method"].as_str())
            && KEPT.contains(&method)
        {
            self.events.entry(session.to_owned()).or_default().push(message);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
