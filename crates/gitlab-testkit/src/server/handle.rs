use super::{etag, received};
use crate::answer::Answer;
use crate::fault::Plan;
use crate::world::World;
use crate::{Fault, Request, api};
use axum::body::Body;
use axum::extract::State;
use axum::http;
use axum::{Extension, Router};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{future, io};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf, repeat};
use tokio::task;
use tokio_util::io::ReaderStream;
use tokio_util::sync::CancellationToken;

/// Returns the routes of a GitLab, all of which lead to [`handle`].
pub(crate) fn router(world: Arc<World>) -> Router {
    Router::new().fallback(handle).with_state(world)
}

/// Responds to a request, or executes the plan for it.
async fn handle(
    State(world): State<Arc<World>>,
    Extension(cut): Extension<CancellationToken>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    // A body that fails to arrive counts as empty: the connection ends with it.
    let request = received::receive(request).await.request;
    let (number, plan) = world.arrived(&request);
    let (answer, body) = match plan {
        None => (usual(&world, &request).await, None),
        Some(Plan::Hold(mut released)) => {
            // An error means that the test dropped the `Held` guard, which also releases the request.
            let _ = released.wait_for(|released| *released).await;
            (usual(&world, &request).await, None)
        }
        Some(Plan::Fault(Fault::Close)) => {
            cut.cancel();
            future::pending().await
        }
        Some(Plan::Fault(fault)) => go_wrong(fault),
    };
    world.answered(number, &request, answer.status);
    answer.into_response(body)
}

async fn usual(world: &Arc<World>, request: &Request) -> Answer {
    let (world, asked) = (Arc::clone(world), request.clone());
    // Git runs in a child process, so the blocking pool does the work.
    let answer = task::spawn_blocking(move || api::answer(&world, &asked));
    let answer = answer.await.unwrap_or_else(|_| internal_error());
    etag::conditional(request, answer)
}

fn internal_error() -> Answer {
    Answer::message(500, "500 Internal Server Error")
}

/// Returns the response for a fault; the separate body is one that GitLab would not send.
fn go_wrong(fault: Fault) -> (Answer, Option<Body>) {
    let begun = Answer::text("");
    match fault {
        Fault::Close => (begun, None),
        Fault::Status(status) => (refusal(status), None),
        Fault::Page(page) => (page.answer, None),
        Fault::Redirect(to) => (Answer::redirect(&to), None),
        Fault::Long(bytes) => {
            let body = ReaderStream::new(repeat(b'#').take(bytes));
            (begun, Some(Body::from_stream(body)))
        }
        Fault::Cut(bytes) => {
            let body = ReaderStream::new(repeat(b'#').take(bytes / 2));
            let begun = begun.header("content-length", bytes.to_string());
            (begun, Some(Body::from_stream(body)))
        }
        Fault::Stall => {
            let body = ReaderStream::new(repeat(b'#').take(8).chain(Silent));
            (begun, Some(Body::from_stream(body)))
        }
    }
}

/// A body that yields no data and never ends.
struct Silent;

impl AsyncRead for Silent {
    fn poll_read(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        _buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

fn refusal(status: u16) -> Answer {
    match status {
        // GitLab's proxy sends these statuses itself.
        502..=504 => {
            let body = format!(
                "<html><title>{status}</title><body>GitLab is not responding</body></html>"
            );
            Answer::new(status, "text/html", body)
        }
        401 => Answer::unauthorized(),
        403 => Answer::forbidden(),
        429 => Answer::new(429, "text/plain", "Retry later\n").header("retry-after", "1"),
        _ => {
            let known = http::StatusCode::from_u16(status).ok();
            let reason = known.and_then(|it| it.canonical_reason()).unwrap_or("");
            Answer::message(status, &format!("{status} {reason}"))
        }
    }
}
