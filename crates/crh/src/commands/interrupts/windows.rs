//! Windows: events of the console.

use std::io;

use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

use super::StopSignal;

pub(super) enum SignalStream {
    Interrupt(CtrlC),
    Terminate(CtrlBreak),
    Hangup(CtrlClose),
}

impl SignalStream {
    pub(super) fn listen(kind: StopSignal) -> io::Result<Self> {
        match kind {
            StopSignal::Interrupt => ctrl_c().map(Self::Interrupt),
            StopSignal::Terminate => ctrl_break().map(Self::Terminate),
            StopSignal::Hangup => ctrl_close().map(Self::Hangup),
        }
    }

    pub(super) async fn recv(&mut self) -> Option<()> {
        match self {
            Self::Interrupt(events) => events.recv().await,
            Self::Terminate(events) => events.recv().await,
            Self::Hangup(events) => events.recv().await,
        }
    }
}
