//! Files of a host without the agent: streams of the host's `tar`.

use crate::connection::{Channel, Event};
use crate::error::SshError;
use crate::host::Host;
use crate::link::{Link, collect};
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, Cancellation, Retryability};
use fail_point::fail_point;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// The size of the pieces of an archive.
const PIECE: usize = 64 * 1024;

/// Transfers files with `tar`.
#[derive(Debug)]
pub(crate) struct TarTransfer {
    pub(crate) link: Arc<Link>,
    pub(crate) host: Host,
}

#[async_trait::async_trait]
impl FileTransfer for TarTransfer {
    async fn put(
        &self,
        directory: &str,
        mut archive: ByteStream,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let command = "mkdir -p -- \"$1\" && cd -- \"$1\" && exec tar -xf -";
        let mut channel = self
            .exec(command, &[directory.to_owned()], cancellation)
            .await?;
        let sending = async {
            let mut buffer = vec![0; PIECE];
            loop {
                let count = archive.read(&mut buffer).await?;
                if count == 0 {
                    return Ok(true);
                }
                if channel.input.write(buffer[..count].to_vec()).await.is_err() {
                    return Ok::<_, io::Error>(false);
                }
            }
        };
        let sent = tokio::select! {
            sent = sending => sent,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let sent = sent.map_err(|error| BuildError::system("ssh", "read the archive", error))?;
        drop(channel.input);
        let answer = tokio::select! {
            answer = collect(&mut channel.output) => answer,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let answer = answer.ok_or_else(|| self.broken())?;
        if answer.exit.code != 0 || answer.exit.signal.is_some() {
            let error =
                self.link
                    .host_error("unpack files with tar", &answer, Retryability::Permanent);
            return Err(error.into());
        }
        if sent {
            Ok(())
        } else {
            Err(self.broken().into())
        }
    }

    async fn get(
        &self,
        directory: &str,
        paths: &[String],
        cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        // A missing path is left out. Without any, tar would refuse to make an archive.
        let command = "cd -- \"$1\" || exit 1\nshift\n\
                       for path in \"$@\"; do\nshift\n\
                       if [ -e \"$path\" ] || [ -L \"$path\" ]; then set -- \"$@\" \"./$path\"; fi\ndone\n\
                       if [ $# = 0 ]; then head -c 1024 /dev/zero; else exec tar -cf - \"$@\"; fi";
        let words: Vec<_> = [directory.to_owned()]
            .into_iter()
            .chain(paths.iter().cloned())
            .collect();
        let channel = self.exec(command, &words, cancellation).await?;
        let Channel { output, input, .. } = channel;
        drop(input);
        Ok(Box::new(Archive {
            output,
            rest: Vec::new(),
            from: 0,
            stderr: Vec::new(),
        }))
    }
}

impl TarTransfer {
    async fn exec(
        &self,
        command: &str,
        words: &[String],
        cancellation: &Cancellation,
    ) -> Result<Channel, BuildError> {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let line = self.host.command(command, &words)?;
        let mut started = fail_point!(
            "executor_ssh::files::tar",
            self.link.exec(&line, cancellation).await
        )?;
        started.output.drop_until(&self.host.start_mark());
        Ok(started)
    }

    fn broken(&self) -> SshError {
        SshError::Broken {
            host: self.link.target.address(),
            source: None,
        }
    }
}

/// The output of `tar`; a failure of `tar` is an error at its end.
struct Archive {
    output: crate::connection::ChannelOutput,
    rest: Vec<u8>,
    from: usize,
    stderr: Vec<u8>,
}

impl AsyncRead for Archive {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.from == this.rest.len() {
            match std::task::ready!(this.output.poll_next(cx)) {
                Some(Event::Stdout(bytes)) => {
                    this.rest = bytes;
                    this.from = 0;
                }
                Some(Event::Stderr(bytes)) if this.stderr.len() < PIECE => {
                    this.stderr.extend_from_slice(&bytes);
                }
                Some(Event::Stderr(_)) => {}
                Some(Event::Ended(exit)) if exit.code == 0 && exit.signal.is_none() => {
                    return Poll::Ready(Ok(()));
                }
                Some(Event::Ended(exit)) => {
                    let why = String::from_utf8_lossy(&this.stderr);
                    let text = format!("tar ended with exit code {}: {}", exit.code, why.trim());
                    return Poll::Ready(Err(io::Error::other(text)));
                }
                None => return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            }
        }
        let left = &this.rest[this.from..];
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..count]);
        this.from += count;
        Poll::Ready(Ok(()))
    }
}
