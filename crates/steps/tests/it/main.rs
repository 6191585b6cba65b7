//! The service, its client and the proxy, on real processes and sockets.
