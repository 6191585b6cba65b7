mod git_routes;
mod own_gitlab;
mod tokens;
mod user;
