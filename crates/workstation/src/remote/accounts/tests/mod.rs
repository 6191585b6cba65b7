mod own;
mod tokens;
mod user;
mod ways;
