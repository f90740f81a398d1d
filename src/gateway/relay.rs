//! Relays a stream: takes it apart into events, and sends on what is released of them.

use std::future::Future;
use std::sync::Arc;

use http::HeaderMap;
use reqwest::Response;

use super::body::Chunks;
use super::follow::Follow;
use super::route::Route;
use super::sse::{Event, Splitter};
use super::upstream::UpstreamFault;

/// A stream on its way to its reader.
pub(super) trait Relayed: Send + Sync + Sized + 'static {
    /// Returns headers before its first event.
    fn headers(&self) -> HeaderMap {
        HeaderMap::new()
    }

    /// Relays it to its end. It ends early when its reader goes away.
    fn relay(self, route: Arc<Route>, response: Response, out: Chunks) -> impl Future<Output = ()> + Send;
}

/// Streams whose events are followed one by one.
impl<F: Follow + 'static> Relayed for F {
    async fn relay(self, route: Arc<Route>, mut response: Response, out: Chunks) {
        let mut relay = Relay {
            splitter: Splitter::new(route.settings.max_message_bytes),
            hold: self,
            out,
        };
        loop {
            let end = match route.upstream.as_ref() {
                Some(upstream) => upstream.chunk(&mut response).await,
                None => Ok(None),
            };
            let ended = match end {
                Ok(Some(chunk)) => relay.take(&chunk).await,
                Ok(None) => relay.finish(None).await,
                Err(fault) => relay.finish(Some(fault)).await,
            };
            if ended.is_err() {
                return;
            }
        }
    }
}

/// Records that a stream has come to its end, in any way.
struct Ended;

struct Relay<F> {
    splitter: Splitter,
    hold: F,
    out: Chunks,
}

impl<F: Follow> Relay<F> {
    async fn take(&mut self, chunk: &[u8]) -> Result<(), Ended> {
        let events = match self.splitter.push(chunk) {
            Ok(events) => events,
            Err(fault) => {
                let last = self.hold.broken(&fault.to_string());
                return self.send_last(last).await;
            }
        };
        let waiting = self.splitter.waiting();
        for event in events {
            match self.hold.take(event, waiting).await {
                Ok(released) => self.send(released).await?,
                Err(last) => return self.send_last(last).await,
            }
        }
        match self.hold.wait_for(waiting).await {
            Ok(()) => Ok(()),
            Err(last) => self.send_last(last).await,
        }
    }

    async fn finish(&mut self, fault: Option<UpstreamFault>) -> Result<(), Ended> {
        match self.hold.release().await {
            Ok(released) => self.send(released).await?,
            Err(last) => return self.send_last(last).await,
        }
        match fault {
            None => Err(Ended),
            Some(fault) => {
                let last = self.hold.broken(&fault.to_string());
                self.send_last(last).await
            }
        }
    }

    async fn send(&self, events: Vec<Event>) -> Result<(), Ended> {
        for event in events {
            self.out.send(event.to_bytes().into()).await.map_err(|_| Ended)?;
        }
        Ok(())
    }

    async fn send_last(&self, events: Vec<Event>) -> Result<(), Ended> {
        self.send(events).await?;
        Err(Ended)
    }
}
