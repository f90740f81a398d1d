//! Relays a stream: takes it apart into events, and sends on what is released of them.

use std::sync::Arc;

use reqwest::Response;

use super::body::Chunks;
use super::hold::{Dialect, Hold};
use super::route::Route;
use super::sse::{Event, Splitter};
use super::upstream::UpstreamFault;

/// Relays a stream to its end. It ends early when its reader goes away.
pub(super) async fn relay<D: Dialect>(route: Arc<Route>, mut response: Response, dialect: D, out: Chunks) {
    let mut relay = Relay {
        splitter: Splitter::new(route.settings.max_message_bytes),
        hold: Hold::new(&route, dialect),
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

/// A stream has come to its end, whatever it was.
struct Ended;

struct Relay<'r, D> {
    splitter: Splitter,
    hold: Hold<'r, D>,
    out: Chunks,
}

impl<D: Dialect> Relay<'_, D> {
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
