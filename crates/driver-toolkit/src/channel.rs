//! The frames of the typed driver protocol, and the open calls.

use crate::stop::{Stop, StopLevel};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How many bytes of one call may be on their way in one direction.
const WINDOW: u64 = 1 << 20;

/// The longest payload that is sent in one frame.
const CHUNK: usize = 64 << 10;

/// The limits of what a runner sends.
const LONGEST_HEADER: usize = 4 << 20;
const LONGEST_PAYLOAD: usize = 16 << 20;

/// Ends a call with an error.
#[derive(Debug)]
pub(crate) struct Refusal {
    kind: &'static str,
    message: String,
}

impl Refusal {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }
}

/// A frame of the runner.
pub(crate) enum Frame {
    /// It opens a call.
    Call {
        call: Arc<Call>,
        name: String,
        params: Value,
        payload: Vec<u8>,
    },
    /// It belonged to an open call, or to one that has ended.
    Handled,
}

#[derive(Deserialize)]
struct Header {
    id: u32,
    call: Option<String>,
    #[serde(default)]
    params: Value,
    stop: Option<StopRequest>,
    ack: Option<Ack>,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct StopRequest {
    signal: String,
}

#[derive(Deserialize)]
struct Ack {
    bytes: u64,
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    last: bool,
}

/// The connection to the runner.
pub(crate) struct Channel {
    output: Arc<Mutex<File>>,
    calls: Mutex<HashMap<u32, Arc<Call>>>,
}

impl Channel {
    /// Takes standard input and output. What is printed elsewhere in this process goes to standard error from now on.
    pub(crate) fn open() -> io::Result<(Self, File)> {
        let input = File::from(rustix::io::dup(rustix::stdio::stdin())?);
        let output = File::from(rustix::io::dup(rustix::stdio::stdout())?);
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        let channel = Self {
            output: Arc::new(Mutex::new(output)),
            calls: Mutex::default(),
        };
        Ok((channel, input))
    }

    /// Reads the next frame; `None` at the end.
    pub(crate) fn next(&self, input: &mut impl Read) -> io::Result<Option<Frame>> {
        let mut lengths = [0; 8];
        if let Err(error) = input.read_exact(&mut lengths) {
            let is_end = error.kind() == ErrorKind::UnexpectedEof;
            return if is_end { Ok(None) } else { Err(error) };
        }
        let [h0, h1, h2, h3, p0, p1, p2, p3] = lengths;
        let size = |bytes| usize::try_from(u32::from_be_bytes(bytes)).unwrap_or(usize::MAX);
        let (header, payload) = (size([h0, h1, h2, h3]), size([p0, p1, p2, p3]));
        if header > LONGEST_HEADER || payload > LONGEST_PAYLOAD {
            return Err(io::Error::other(format!(
                "a frame has {header} and {payload} bytes, which is too long"
            )));
        }
        let mut text = vec![0; header];
        input.read_exact(&mut text)?;
        let mut bytes = vec![0; payload];
        input.read_exact(&mut bytes)?;
        let header: Header = serde_json::from_slice(&text)?;
        if let Some(name) = header.call {
            let call = Arc::new(Call {
                id: header.id,
                output: Arc::clone(&self.output),
                stop: Stop::new(),
                flow: Mutex::new(Flow {
                    room: WINDOW,
                    data: VecDeque::new(),
                    last: false,
                    stopped: None,
                }),
                changed: Condvar::new(),
            });
            lock(&self.calls).insert(header.id, Arc::clone(&call));
            return Ok(Some(Frame::Call {
                call,
                name,
                params: header.params,
                payload: bytes,
            }));
        }
        let call = lock(&self.calls).get(&header.id).cloned();
        if let Some(call) = call {
            if let Some(StopRequest { signal }) = header.stop {
                call.stop(StopLevel::from(signal.as_str()));
            }
            let mut flow = lock(&call.flow);
            flow.room += header.ack.map_or(0, |ack| ack.bytes);
            if let Some(Data { last }) = header.data {
                flow.last |= last;
                if !bytes.is_empty() {
                    flow.data.push_back(bytes);
                }
            }
            call.changed.notify_all();
        }
        Ok(Some(Frame::Handled))
    }

    /// Ends a call.
    pub(crate) fn close(&self, call: &Call, result: Result<Value, Refusal>) {
        lock(&self.calls).remove(&call.id);
        let end = match result {
            Ok(result) => json!({ "id": call.id, "result": result }),
            Err(Refusal { kind, message }) => {
                json!({ "id": call.id, "error": { "kind": kind, "message": message } })
            }
        };
        // Without a reader there is no runner, which the end of standard input shows too.
        let _ = call.send(&end, &[]);
    }

    /// Stops all open calls.
    pub(crate) fn stop_all(&self) {
        for call in lock(&self.calls).values() {
            call.stop(StopLevel::Kill);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open call.
pub(crate) struct Call {
    id: u32,
    output: Arc<Mutex<File>>,
    stop: Stop,
    flow: Mutex<Flow>,
    changed: Condvar,
}

/// What a call may send, and what it has received.
struct Flow {
    room: u64,
    data: VecDeque<Vec<u8>>,
    /// No more data follows.
    last: bool,
    stopped: Option<StopLevel>,
}

impl Call {
    pub(crate) fn stop_request(&self) -> &Stop {
        &self.stop
    }

    fn stop(&self, level: StopLevel) {
        self.stop.request(level);
        lock(&self.flow).stopped = self.stop.level();
        self.changed.notify_all();
    }

    /// Sends output of a script, when there is room.
    pub(crate) fn send_output(&self, stream: &str, bytes: &[u8]) -> io::Result<()> {
        self.send_flow(
            &json!({ "id": self.id, "output": { "stream": stream } }),
            bytes,
        )
    }

    /// Sends a line for the log of the job. A runner that is gone is not an error.
    pub(crate) fn log(&self, line: &str) {
        let end = line.floor_char_boundary(CHUNK);
        let _ = self.send(
            &json!({ "id": self.id, "log": {} }),
            format!("{}\n", &line[..end]).as_bytes(),
        );
    }

    /// Sends a part of an archive, when there is room.
    pub(crate) fn send_data(&self, bytes: &[u8]) -> io::Result<()> {
        self.send_flow(&json!({ "id": self.id, "data": {} }), bytes)
    }

    fn send_flow(&self, header: &Value, bytes: &[u8]) -> io::Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            let size = chunk.len() as u64;
            let flow = lock(&self.flow);
            // The runner may read no further after a kill.
            let waits = |flow: &mut Flow| flow.room < size && flow.stopped != Some(StopLevel::Kill);
            let mut flow = self
                .changed
                .wait_while(flow, waits)
                .unwrap_or_else(PoisonError::into_inner);
            if flow.room < size {
                return Err(ErrorKind::BrokenPipe.into());
            }
            flow.room -= size;
            drop(flow);
            self.send(header, chunk)?;
        }
        Ok(())
    }

    fn send(&self, header: &Value, payload: &[u8]) -> io::Result<()> {
        let text = serde_json::to_vec(header)?;
        let length = |size: usize| u32::try_from(size).map_err(io::Error::other);
        let mut frame = Vec::with_capacity(8 + text.len() + payload.len());
        frame.extend(length(text.len())?.to_be_bytes());
        frame.extend(length(payload.len())?.to_be_bytes());
        frame.extend(text);
        frame.extend(payload);
        lock(&self.output).write_all(&frame)
    }

    /// Returns a reader of the data that the runner sends.
    pub(crate) fn data(&self) -> CallData<'_> {
        CallData(self)
    }
}

/// The data of a call, as it arrives.
pub(crate) struct CallData<'c>(&'c Call);

impl Read for CallData<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self(call) = self;
        let flow = lock(&call.flow);
        let waits = |flow: &mut Flow| flow.data.is_empty() && !flow.last && flow.stopped.is_none();
        let mut flow = call
            .changed
            .wait_while(flow, waits)
            .unwrap_or_else(PoisonError::into_inner);
        if flow.stopped.is_some() {
            return Err(io::Error::other("stopped by the runner"));
        }
        let Some(mut first) = flow.data.pop_front() else {
            return Ok(0);
        };
        let count = first.len().min(buffer.len());
        buffer[..count].copy_from_slice(&first[..count]);
        if count < first.len() {
            flow.data.push_front(first.split_off(count));
        }
        drop(flow);
        call.send(&json!({ "id": call.id, "ack": { "bytes": count } }), &[])?;
        Ok(count)
    }
}
