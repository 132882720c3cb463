//! A server from its start to Ctrl-C.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use super::address::{self, Listen, Names};
use super::respond::{Site, router};
use super::root::Root;
use super::token::Token;
use super::{ServeError, assets, connection, listens_beyond};

/// Threads that read from the disk.
const READERS: usize = 8;

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    runtime: Runtime,
    /// Ctrl-C, or a request to terminate. Listened for before anybody hears of the address, so that it ends a server that is about to
    /// start as well.
    end: Arc<Notify>,
    site: Site,
    router: Router,
}

impl Server {
    /// Starts listening for the runs in `folder`.
    ///
    /// # Errors
    /// [`ServeError`] when there is no such folder, the address is taken or needs permission, or the page is missing.
    pub fn bind(folder: &Path, listen: &Listen) -> Result<Self, ServeError> {
        if listens_beyond(listen.host) && !listen.remote {
            return Err(ServeError::Beyond {
                host: listen.host.to_string(),
            });
        }
        if assets::all().is_empty() {
            return Err(ServeError::NoPage);
        }
        let root = Root::open(folder)?;
        root.check()?;
        let wanted = SocketAddr::new(listen.host, listen.port);
        let fail = |source| ServeError::Listen {
            address: wanted,
            source,
        };
        let listener = TcpListener::bind(wanted).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS)
            .build()
            .map_err(ServeError::System)?;
        let end = Arc::new(Notify::new());
        let asked = Arc::clone(&end);
        kiln_system::for_each_signal(move |_| asked.notify_one()).map_err(ServeError::System)?;
        let site = Site {
            root,
            names: Names::of(listen),
            token: Token::random().map_err(ServeError::System)?,
        };
        Ok(Self {
            listener,
            address,
            runtime,
            end,
            router: router(site.clone()),
            site,
        })
    }

    /// The address to open, with the token; that of a project's map where the folder is a project.
    #[must_use]
    pub fn url(&self) -> String {
        let url = address::url(self.address, self.site.token.text(), kiln_system::is_wsl());
        match self.site.root.is_project() {
            true => url + "&tab=runs",
            false => url,
        }
    }

    /// Number of runs, comparisons and projects that the page would list now.
    #[must_use]
    pub fn listed(&self) -> usize {
        let root = &self.site.root;
        root.runs().len() + root.comparisons().len() + root.projects().len()
    }

    /// Answers one client that is not on the network: all that it sends, and all that it gets.
    #[must_use]
    pub fn answer(&self, requests: &[u8]) -> Vec<u8> {
        // On a task of its own, as clients on the network are answered.
        let answered = self
            .runtime
            .spawn(connection::answer(self.router.clone(), requests.to_vec()));
        self.runtime.block_on(answered).unwrap_or_default()
    }

    /// Answers until Ctrl-C or a request to terminate; answers under way are cut off.
    ///
    /// # Errors
    /// [`ServeError::System`] when the system refuses the listening socket.
    pub fn run(self) -> Result<(), ServeError> {
        let Self {
            listener,
            runtime,
            end,
            router,
            ..
        } = self;
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(connection::accept(listener, router));
            end.notified().await;
            Ok(())
        });
        // A reader that waits for a slow disk must not hold the program.
        runtime.shutdown_background();
        result.map_err(ServeError::System)
    }
}
