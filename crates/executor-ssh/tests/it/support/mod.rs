pub(crate) mod fault_proxy;
pub(crate) mod run;
pub(crate) mod sshd;
