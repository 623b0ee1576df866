//! Unix: signals.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::StopSignal;

pub(super) struct SignalStream(Signal);

impl SignalStream {
    pub(super) fn listen(kind: StopSignal) -> io::Result<Self> {
        signal(match kind {
            StopSignal::Interrupt => SignalKind::interrupt(),
            StopSignal::Terminate => SignalKind::terminate(),
            StopSignal::Hangup => SignalKind::hangup(),
        })
        .map(Self)
    }

    pub(super) async fn recv(&mut self) -> Option<()> {
        self.0.recv().await
    }
}
